"""What an open request keeps where it is: the seam that other applications ask before they move anything.

They do not know this application: its ``AppConfig`` names :func:`reclama`, and they ask whoever has one.
"""

from __future__ import annotations

from django.db.models import Q
from django.utils.translation import gettext as _

from memoria import politica
from privacidad.fuentes import retirados
from privacidad.models import Solicitud


def reclama(espacio: str, sujeto_id: str) -> str | None:
    """Why what is about this subject may not be moved or brought back now; ``None`` when it may.

    An open request looks for its subject's documents in one place, and for those that mention a person where
    its review found them: moved, they would be neither counted nor erased.
    """
    suya = Q(espacio=espacio, sujeto_id=sujeto_id)
    de_paso = Q(menciones__prefijo=politica.prefijo(espacio, sujeto_id))
    if espacio == "proveedores":
        # A query of few rows, the open mentions; the withdrawn notices of a supplier may be many.
        de_paso |= Q(menciones__in=retirados.menciones_en_los_de(sujeto_id))
    if not Solicitud.objects.abiertas().filter(suya | de_paso).exists():
        return None
    return _(
        "Privacidad está atendiendo una petición que afecta a los avisos de este proveedor. Hasta que "
        "termine no se pueden mover ni reponer."
    )
