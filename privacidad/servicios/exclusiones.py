"""Holding a row back from an erasure, and letting it go (art. 17(3) GDPR)."""

from __future__ import annotations

import logging

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from privacidad import estados, registro
from privacidad.destinos import Destino, Sujeto
from privacidad.destinos import destino as buscar_destino
from privacidad.errores import DatoNoValido, DestinoDesconocido, TransicionNoPermitida
from privacidad.models import Exclusion, Solicitud
from privacidad.resumenes import resumen
from privacidad.servicios.paso import bloquear, cambia_lo_aprobado, copiar, exigir

logger = logging.getLogger(__name__)


def excluir(*, solicitud: Solicitud, destino: str, clave: str, motivo: str, por: User) -> Exclusion:
    """Hold one row of the person back: the rest is erased, and the request stays partial until it is let go.

    ``clave`` addresses the row in its destination: the key of a document (``memoria``), a thread (``hilos``).
    From now on nobody changes or deletes it, by whatever door; after the run it is also withheld from the
    agents (see :mod:`privacidad.retenidos`). Held after the approval, it has to be approved again (see
    :func:`cambia_lo_aprobado`).

    Raises :class:`SinPermiso`, :class:`CuatroOjos`, :class:`DatoNoValido` and :class:`TransicionNoPermitida`.
    """
    exigir(por, "reservar_dato")
    if motivo not in Exclusion.Motivo.values:
        raise DatoNoValido(_("El motivo no es ninguno de los previstos: elija uno de la lista."))
    try:
        elegido = buscar_destino(destino)
    except DestinoDesconocido:
        # Its own sentence is of a run; nobody was about to erase anything here.
        raise DatoNoValido(
            _("De ese sitio no se puede retener nada: elija el dato de la lista de lo que hay.")
        ) from None
    if not elegido.admite_exclusiones:
        raise DatoNoValido(_("De ese destino no se puede retener nada suelto: se borra entero."))
    with transaction.atomic():
        actual = bloquear(solicitud)
        if actual.estado in estados.CERRADAS:
            raise TransicionNoPermitida(actual.referencia, actual.estado)
        if actual.exclusiones.activas().filter(destino=destino, clave=clave).exists():
            raise DatoNoValido(_("Ese dato ya está retenido en esta solicitud."))
        if not _hay(elegido, actual, clave):
            raise DatoNoValido(_("De esa persona no hay ese dato: elíjalo de la lista de lo que hay."))
        cambia_lo_aprobado(actual, por=por, que=_("Se retiene un dato."))
        exclusion = Exclusion.objects.create(
            solicitud=actual, destino=destino, clave=clave, motivo=motivo, por=por
        )
        # The database has marked it (sql/retenciones.sql), after waiting for whoever was deleting it.
        if not _hay(elegido, actual, clave):
            raise DatoNoValido(_("Ese dato se acaba de borrar: ya no hay nada que retener."))
        registro.anotar(
            tipo="exclusion",
            referencia=actual.referencia,
            resumen=actual.resumen,
            datos={"destino": destino, "motivo": motivo, "clave": resumen(clave)},
        )
    copiar(actual, solicitud)
    logger.info("%s dato retenido en %s", actual.referencia, destino)
    return exclusion


def liberar(*, exclusion: Exclusion, por: User) -> None:
    """Let a held row go: the next run erases it.

    Between the approval and the run, it is to be approved again; after the run, whoever lets it go could have
    approved it.

    Raises :class:`SinPermiso`, :class:`CuatroOjos` and :class:`DatoNoValido`.
    """
    exigir(por, "reservar_dato")
    with transaction.atomic():
        actual = bloquear(exclusion.solicitud)
        esta = Exclusion.objects.activas().filter(pk=exclusion.pk)
        if actual.estado in estados.CERRADAS or not esta.update(liberada=timezone.now()):
            raise DatoNoValido(_("Ese dato ya no está retenido."))
        cambia_lo_aprobado(actual, por=por, que=_("Se suelta un dato retenido."))
        registro.anotar(
            tipo="exclusion_liberada",
            referencia=actual.referencia,
            resumen=actual.resumen,
            datos={
                "destino": exclusion.destino,
                "motivo": exclusion.motivo,
                "clave": resumen(exclusion.clave),
            },
        )
    copiar(actual, exclusion.solicitud)
    exclusion.refresh_from_db(fields=["liberada"])
    logger.info("%s dato soltado en %s", actual.referencia, exclusion.destino)


def _hay(elegido: Destino, solicitud: Solicitud, clave: str) -> bool:
    """Whether the person has that row there now."""
    sujeto = Sujeto.capturar(solicitud.espacio, solicitud.sujeto_id, excluidos={elegido.nombre: (clave,)})
    return any(elegido.retenidos(sujeto).values())
