"""Withholding a document, or a whole card, from every agent while it is contested (art. 18 GDPR)."""

from __future__ import annotations

import logging

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from memoria.models import Documento
from privacidad import registro, retenidos
from privacidad.errores import DatoNoValido
from privacidad.identificadores import descodificada
from privacidad.models import Restriccion, Solicitud
from privacidad.resumenes import resumen
from privacidad.servicios.paso import exigir, regla, texto_breve
from privacidad.servicios.solicitud import prefijo_de

logger = logging.getLogger(__name__)

#: The constraint that allows one restriction in force over the same thing.
EN_VIGOR = "una_restriccion_en_vigor"


def restringir(*, espacio: str, sujeto_id: str, motivo: str, por: User, clave: str = "") -> Restriccion:
    """Withhold one document, or with no ``clave`` the whole card, from every agent until it is lifted.

    It holds from the commit, whatever the agents do: they neither read it nor write over it (see
    ``memoria/sql/limitaciones.sql``). It is not swept when it expires.

    Raises :class:`SinPermiso`, and :class:`DatoNoValido` when there is no such document or it is withheld.
    """
    exigir(por, "restringir_dato")
    prefijo = prefijo_de(espacio, sujeto_id)
    razon = texto_breve(motivo, sujeto_id)
    suyos = Documento.objects.del_sujeto(espacio, sujeto_id)
    try:
        with transaction.atomic():
            esperar_supresion(resumen(prefijo))
            if not (suyos.filter(key=clave) if clave else suyos).exists():
                raise DatoNoValido(
                    _("De esa persona no hay ese dato en la memoria: no hay nada que limitar.")
                )
            restriccion = Restriccion.objects.create(prefijo=prefijo, clave=clave, motivo=razon, por=por)
            registro.anotar(tipo="limitacion", resumen=resumen(prefijo), datos=_datos(restriccion))
    except IntegrityError as error:
        if regla(error) != EN_VIGOR:
            raise
        raise DatoNoValido(_("Ese dato ya está limitado.")) from None
    logger.info("limitación %s de %s en vigor", restriccion.pk, espacio)
    return restriccion


def levantar(*, restriccion: Restriccion, motivo: str, por: User) -> None:
    """End a restriction. The person is told before it ends (art. 18(3) GDPR), by whoever lifts it.

    Raises :class:`SinPermiso`, and :class:`DatoNoValido` when it has ended, or keeps out of use what an
    erasure left because it is held back.
    """
    exigir(por, "restringir_dato")
    razon = texto_breve(motivo, descodificada(restriccion.prefijo.partition(".")[2]))
    with transaction.atomic():
        esperar_supresion(resumen(restriccion.prefijo))
        retenidos.exigir_que_no_lo_aparte(restriccion)
        en_vigor = Restriccion.objects.filter(pk=restriccion.pk, levantada__isnull=True)
        if not en_vigor.update(levantada=timezone.now(), motivo_levantada=razon):
            raise DatoNoValido(_("Esa limitación ya no está en vigor."))
        registro.anotar(
            tipo="limitacion_levantada", resumen=resumen(restriccion.prefijo), datos=_datos(restriccion)
        )
    restriccion.refresh_from_db()
    logger.info("limitación %s levantada", restriccion.pk)


def esperar_supresion(de: str) -> None:
    """Wait for an erasure of this subject that is running, or make it wait for the caller's transaction.

    What names the person and is written while they are erased would be left behind; and what changes their
    documents would wait for it while it waits for that.
    """
    list(Solicitud.objects.abiertas().filter(resumen=de).select_for_update().values_list("pk"))


def _datos(restriccion: Restriccion) -> dict[str, str | int]:
    """What the register says of a restriction: never the address of what it is over."""
    if not restriccion.clave:
        return {"limitacion": restriccion.pk, "alcance": "ficha"}
    # By its digest, it is found again in a restored copy (privacidad/restauracion/datos_reaplicados.py).
    return {"limitacion": restriccion.pk, "alcance": "documento", "clave": resumen(restriccion.clave)}
