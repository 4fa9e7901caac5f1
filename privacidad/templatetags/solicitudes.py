"""What a list of requests says of each one besides its state."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import template

from privacidad.palabras import Etiqueta, Linea, espera

register = template.Library()


@register.filter
def esperas(solicitud: Any) -> list[Etiqueta]:
    """What a request waits for, as badges; it must have been read by ``con_resultado``."""
    return espera(solicitud, retenidos=solicitud.retenidos, sin_confirmar=solicitud.sin_confirmar)


@register.filter
def quedan(lineas: Iterable[Linea]) -> int:
    """How many rows an erasure left: those that are held back."""
    return sum(linea.despues or 0 for linea in lineas)
