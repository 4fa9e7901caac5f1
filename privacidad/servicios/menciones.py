"""Deciding what becomes of a row of somebody else that names the person."""

from __future__ import annotations

import logging

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from privacidad import contenidos, registro, retenidos
from privacidad.destinos import DESTINOS, Sujeto
from privacidad.errores import DatoNoValido, TransicionNoPermitida
from privacidad.estados import Estado
from privacidad.models import Mencion, Solicitud
from privacidad.olvido import resumen_de_fila
from privacidad.servicios.paso import (
    DESPUES_DE_EJECUTAR,
    bloquear,
    cambia_lo_aprobado,
    exigir,
    guardar,
    texto_conservado,
)

logger = logging.getLogger(__name__)


def decidir_mencion(*, mencion: Mencion, decision: str, motivo: str, por: User) -> None:
    """Decide about the row of a mention, whatever identifiers it was found by: it goes or it stays.

    While the request is reviewed: what is approved is what had been decided. It may be decided again until
    then. ``borrar`` joins the preview, and the run deletes it with everything else. After a run, only what
    was found since, by what the person is now known by too, and by somebody who could have approved it. What
    is held back in another request stays, whoever it names.

    Raises :class:`SinPermiso`, :class:`CuatroOjos`, :class:`DatoNoValido` and :class:`TransicionNoPermitida`.
    """
    exigir(por, "tramitar_solicitud")
    if decision not in (Mencion.Decision.BORRAR, Mencion.Decision.CONSERVAR):
        raise DatoNoValido(_("Elija si ese dato se borra o se conserva."))
    with transaction.atomic():
        actual = bloquear(mencion.solicitud)
        # By its address: a new review writes the undecided ones down anew. Without one, the row has gone.
        suyas = Mencion.objects.filter(
            solicitud=actual, prefijo=mencion.prefijo, clave=mencion.clave
        ).exclude(clave="")
        if actual.estado != Estado.REVISADA and not (
            actual.estado in DESPUES_DE_EJECUTAR
            and suyas.filter(decision=Mencion.Decision.PENDIENTE).exists()
        ):
            raise TransicionNoPermitida(actual.referencia, actual.estado)
        if not suyas.exists():
            raise DatoNoValido(_("Ese dato ya no está, o ya no menciona a esta persona: vuelva a la lista."))
        if decision == Mencion.Decision.BORRAR:
            retenidos.exigir_suelto(mencion.prefijo, mencion.clave)
        cambia_lo_aprobado(actual, por=por, que="")
        clases = sorted(suyas.values_list("identificador", flat=True))
        decidido = {
            "decision": decision,
            "motivo": texto_conservado(motivo, actual),
            "por": por,
            "momento": timezone.now(),
        }
        suyas.update(**decidido)
        contar_lo_decidido(actual)
        contenido = contenidos.de_la_fila(mencion.prefijo, mencion.clave)
        registro.anotar(
            tipo="mencion",
            referencia=actual.referencia,
            resumen=actual.resumen,
            datos={
                "fila": resumen_de_fila(mencion.prefijo, mencion.clave),
                "identificadores": clases,
                "decision": decision,
                # A notice may be elsewhere in a copy that is restored: this goes with it.
                **({"contenido": contenido} if contenido else {}),
            },
        )
    for campo, valor in decidido.items():
        setattr(mencion, campo, valor)
    logger.info("%s mención decidida: %s", actual.referencia, decision)


def contar_lo_decidido(actual: Solicitud) -> None:
    """Put in its preview how much goes by what is decided about mentions, in the caller's transaction."""
    sujeto = Sujeto.capturar(actual.espacio, actual.sujeto_id)
    recuentos = {d.nombre: d.contar(sujeto) for d in DESTINOS if d.decidido_fila_a_fila}
    actual.vista_previa = {**actual.vista_previa, **recuentos}
    guardar(actual)
