"""What an erasure leaves because it is held back stays out of use (LOPDGDD 32)."""

from __future__ import annotations

from django.utils.translation import gettext as _

from memoria import politica
from privacidad import registro
from privacidad.models import Exclusion, Restriccion, Solicitud


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
                datos={"limitacion": limitacion.pk, "alcance": "documento"},
            )


def _motivo(exclusion: Exclusion, solicitud: Solicitud) -> str:
    return _("Retenido en la supresión %(referencia)s: %(motivo)s.") % {
        "referencia": solicitud.referencia,
        "motivo": exclusion.get_motivo_display(),
    }
