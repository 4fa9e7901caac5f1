"""What is held back from an erasure: nobody changes it meanwhile, and what a run leaves stays out of use
(LOPDGDD 32).

That nobody does is held by the database (``memoria/sql/retenciones.sql``); here it is said in a sentence
with the number of the request, and asked before anything is begun.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DatabaseError
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from memoria import politica
from memoria.vallas import CODIGO_RETENIDO
from privacidad import registro
from privacidad.errores import DatoNoValido
from privacidad.models import Exclusion, Restriccion, Solicitud
from privacidad.resumenes import resumen
from privacidad.servicios.paso import DESPUES_DE_EJECUTAR


def exigir_suelto(prefijo: str, clave: str) -> None:
    """Raises :class:`DatoNoValido`, with the number of the request, when that document is held back."""
    if exclusion := _que_lo_retiene(prefijo, clave):
        raise DatoNoValido(
            _(
                "Ese dato está retenido en la solicitud %(referencia)s: mientras lo esté no se puede cambiar "
                "ni borrar."
            )
            % {"referencia": exclusion.solicitud.referencia}
        )


def exigir_que_no_lo_aparte(restriccion: Restriccion) -> None:
    """Raises :class:`DatoNoValido` when that restriction keeps out of use what a run left: see
    :func:`apartar`."""
    exclusion = _que_lo_retiene(restriccion.prefijo, restriccion.clave)
    if exclusion and exclusion.solicitud.estado in DESPUES_DE_EJECUTAR:
        raise DatoNoValido(
            _(
                "Esa limitación aparta lo que se retiene en la solicitud %(referencia)s: dura hasta que se "
                "suelte allí."
            )
            % {"referencia": exclusion.solicitud.referencia}
        )


@contextmanager
def traducir(frase: Promise) -> Iterator[None]:
    """Say ``frase`` (:class:`DatoNoValido`) when the database refuses because of a hold: one that came while
    we were at it."""
    try:
        yield
    except DatabaseError as error:
        if getattr(error.__cause__, "sqlstate", None) != CODIGO_RETENIDO:
            raise
        raise DatoNoValido(str(frase)) from None


def apartar(solicitud: Solicitud) -> None:
    """Withhold from the agents every document the erasure of this request has left, in its transaction.

    It is withheld as what is contested is (:mod:`privacidad.servicios.limitacion`), in the name of whoever
    held it back. The run that erases it ends the restriction (see :class:`privacidad.destinos.casa.Casa`). A
    thread that is held back cannot be withheld so: the person who goes on with it is its owner.
    """
    prefijo = politica.prefijo(solicitud.espacio, solicitud.sujeto_id)
    for exclusion in solicitud.exclusiones.activas().filter(destino="memoria").select_related("por"):
        limitacion, nueva = Restriccion.objects.get_or_create(
            prefijo=prefijo,
            clave=exclusion.clave,
            levantada=None,
            defaults={"motivo": _motivo(exclusion, solicitud), "por": exclusion.por},
        )
        if nueva:
            registro.anotar(
                tipo="limitacion",
                referencia=solicitud.referencia,
                resumen=solicitud.resumen,
                datos={
                    "limitacion": limitacion.pk,
                    "alcance": "documento",
                    "clave": resumen(exclusion.clave),
                },
            )


def _que_lo_retiene(prefijo: str, clave: str) -> Exclusion | None:
    de_quien = ".".join(prefijo.split(".")[:2])  # a subject may have namespaces below theirs
    return (
        Exclusion.objects.activas()
        .filter(
            destino="memoria",
            clave=clave,
            solicitud__resumen=resumen(de_quien),
            solicitud__cerrada__isnull=True,
        )
        .select_related("solicitud")
        .first()
    )


def _motivo(exclusion: Exclusion, solicitud: Solicitud) -> str:
    return _("Retenido en la supresión %(referencia)s: %(motivo)s.") % {
        "referencia": solicitud.referencia,
        "motivo": exclusion.get_motivo_display(),
    }
