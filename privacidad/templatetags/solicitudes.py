"""What a list of requests says of each one besides its state."""

from __future__ import annotations

from typing import Any

from django import template

from privacidad.palabras import Etiqueta, espera

register = template.Library()


@register.filter
def esperas(solicitud: Any) -> list[Etiqueta]:
    """What a request waits for, as badges; it must have been read by ``con_resultado``."""
    return espera(solicitud, retenidos=solicitud.retenidos, sin_confirmar=solicitud.sin_confirmar)
