"""Running an approved request from a page: now, if it fits in the time a page has."""

from __future__ import annotations

from django.contrib.auth.models import User

from privacidad import avance
from privacidad.errores import SupresionGrande
from privacidad.models import Evidencia, Solicitud
from privacidad.servicios.paso import exigir
from privacidad.servicios.solicitud import ejecutar


def ejecutar_ahora(*, solicitud: Solicitud, por: User) -> Evidencia:
    """Run it, as :func:`ejecutar`, unless it is so large that the scheduled command must.

    Raises :class:`SupresionGrande`: nothing has changed, and the request stays approved for the next pass of
    ``ejecutar_supresiones``. Besides, the errors of :func:`ejecutar`.
    """
    exigir(por, "ejecutar_solicitud")
    if avance.es_grande(solicitud):
        raise SupresionGrande(avance.filas(solicitud))
    return ejecutar(solicitud=solicitud, por=por)
