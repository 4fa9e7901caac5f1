"""Deciding whether what is erased leaves a sealed copy, and opening one (*bloqueo*, LOPDGDD 32)."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from datetime import date, datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from memoria import politica
from privacidad import copias, estados, plazos, registro
from privacidad.errores import DatoNoValido, TransicionNoPermitida
from privacidad.estados import Estado
from privacidad.models import Copia, Solicitud
from privacidad.resumenes import resumen, resumen_de_usuario
from privacidad.servicios.paso import (
    bloquear,
    cambia_lo_aprobado,
    copiar,
    exigir,
    guardar,
    texto_breve,
    texto_conservado,
)

logger = logging.getLogger(__name__)

#: The longest limitation of actions that can concern such data, in years: a later date is a typing mistake.
ANIOS_MAXIMOS = 10
#: Words of a text that are compared together with the digest of an id.
PALABRAS_DE_UN_ID = 3


def decidir_copia(*, solicitud: Solicitud, hasta: date | None, motivo: str | None, por: User) -> None:
    """Write down, before the erasure runs, until when a sealed copy is kept (``hasta``) or why there is none.

    When nobody decides, there is none, for the reason in ``MOTIVO_SIN_COPIA``. Decided after the approval, it
    has to be approved again (see :func:`cambia_lo_aprobado`).

    Raises :class:`SinPermiso`, :class:`CuatroOjos`, :class:`DatoNoValido`, and
    :class:`TransicionNoPermitida` when it is closed.
    """
    exigir(por, "reservar_dato")
    if (hasta is None) == (not motivo):
        raise DatoNoValido(
            _("Indique hasta cuándo se guarda la copia, o por qué no la hay: una de las dos cosas.")
        )
    if hasta is not None:
        _comprobar_fecha(hasta)
    with transaction.atomic():
        actual = bloquear(solicitud)
        if actual.estado in estados.CERRADAS or actual.estado == Estado.EN_CURSO:
            raise TransicionNoPermitida(actual.referencia, actual.estado)
        _comprobar_la_hecha(Copia.objects.filter(solicitud=actual).first(), hasta)
        razon = texto_conservado(motivo, actual) if motivo else ""
        cambia_lo_aprobado(actual, por=por, que=_("Se decide otra cosa sobre la copia bloqueada."))
        actual.copia_hasta = hasta
        actual.motivo_sin_copia = razon
        guardar(actual)
        registro.anotar(
            tipo="copia_decidida",
            referencia=actual.referencia,
            resumen=actual.resumen,
            datos={"hasta": hasta.isoformat() if hasta else None},
        )
    copiar(actual, solicitud)
    logger.info("%s copia bloqueada: %s", actual.referencia, "sí" if hasta else "no")


def abrir_copia(*, copia: Copia, motivo: str, por: User) -> Iterator[bytes]:
    """All the lines of a sealed copy. That it was opened, by whom and why, is registered before the first is
    read: who, as a keyed digest.

    Raises :class:`SinPermiso` and :class:`DatoNoValido` here; reading raises what
    :func:`privacidad.copias.leer` does.
    """
    exigir(por, "abrir_copia")
    solicitud = copia.solicitud
    razon = texto_breve(motivo)
    if _nombra(razon, solicitud):
        raise DatoNoValido(_("El texto se conserva y repite un identificador de la persona: quítelo."))
    with transaction.atomic():
        if not Copia.objects.select_for_update().filter(pk=copia.pk, destruida__isnull=True).exists():
            raise DatoNoValido(_("Esa copia ya se ha destruido."))
        registro.anotar(
            tipo="copia_abierta",
            referencia=solicitud.referencia,
            resumen=solicitud.resumen,
            datos={"motivo": razon, "por": resumen_de_usuario(por)},
        )
    logger.info("%s copia bloqueada abierta", solicitud.referencia)
    return copias.leer(copia, de_otros=True)


def _comprobar_la_hecha(copia: Copia | None, hasta: date | None) -> None:
    """A request has one copy: once it was destroyed only the reason for there being no other can be given."""
    if copia is None:
        return
    if not copia.destruida:
        raise DatoNoValido(_("La copia ya está hecha: se destruirá en su fecha."))
    if hasta is not None:
        raise DatoNoValido(
            _(
                "La copia que se guardó se destruyó el %(dia)s, y de una solicitud no se guarda otra: "
                "escriba por qué no hay copia de lo que se borre ahora."
            )
            % {"dia": date_format(timezone.localtime(copia.destruida, plazos.MADRID), "DATE_FORMAT")}
        )


def _comprobar_fecha(hasta: date) -> None:
    if not isinstance(hasta, date) or isinstance(hasta, datetime):
        raise DatoNoValido(_("La fecha de destrucción debe ser un día, sin hora."))
    hoy = plazos.hoy()
    if hasta <= hoy:
        raise DatoNoValido(_("La fecha de destrucción debe ser posterior a hoy."))
    if hasta.year > hoy.year + ANIOS_MAXIMOS:
        raise DatoNoValido(
            _("Una copia se guarda como mucho %(anios)s años: compruebe la fecha.") % {"anios": ANIOS_MAXIMOS}
        )


def _nombra(texto: str, solicitud: Solicitud) -> bool:
    """Whether some words of the text are the subject's id: a closed request holds only its digest."""
    palabras = re.split(r"\s+", texto)
    tramos = {
        " ".join(palabras[i : i + n]).strip(".,;:()«»\"'")
        for n in range(1, PALABRAS_DE_UN_ID + 1)
        for i in range(len(palabras))
    }
    return any(resumen(politica.prefijo(solicitud.espacio, t)) == solicitud.resumen for t in tramos - {""})
