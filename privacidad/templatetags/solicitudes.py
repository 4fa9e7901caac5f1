"""What a list of requests says of each one besides its state."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from typing import Any

from django import template

from privacidad import cortes, evidencias
from privacidad.models import Asiento, Escrito, Evidencia
from privacidad.palabras import Etiqueta, Linea, espera

register = template.Library()


@register.filter
def esperas(solicitud: Any) -> list[Etiqueta]:
    """What a request waits for, as badges; it must have been read by ``con_resultado``."""
    return espera(solicitud, retenidos=solicitud.retenidos, sin_confirmar=solicitud.sin_confirmar)


@register.filter
def ampliacion_sin_valor(solicitud: Any) -> dict[str, Any] | None:
    """The document that told the person a deadline which is another now: an older request was linked since.

    ``{"numero", "hasta"}``; ``None`` when there is none, or nothing is to be answered any more.
    """
    if not solicitud.abierta:
        return None
    dicho = (
        Escrito.objects.filter(solicitud=solicitud, tipo=Escrito.Tipo.AMPLIACION)
        .values_list("numero", "datos__vence")
        .first()
    )
    if dicho is None or dicho[1] == solicitud.vence.isoformat():
        return None
    return {"numero": dicho[0], "hasta": date.fromisoformat(dicho[1])}


@register.filter
def de_lo_que_volvio(solicitud: Any) -> datetime | None:
    """Of a request whose next run erases only what is back: of before when."""
    corte = cortes.de(solicitud) if solicitud.abierta else None
    return corte.momento if corte else None


@register.filter
def copia_perdida(solicitud: Any) -> bool:
    """Whether a restore took the sealed copy away and it is not here again. One that was decided since is
    still to be made."""
    if not solicitud.copia_hasta or not solicitud.evidencias.exists():
        return False
    ultimo = (
        Asiento.objects.filter(
            resumen=solicitud.resumen,
            referencia=solicitud.referencia,
            tipo__in=["copia_decidida", "copia_sellada", "copia_perdida"],
        )
        .order_by("numero")
        .last()
    )
    return ultimo is not None and ultimo.tipo != "copia_decidida"


@register.filter
def quedan(lineas: Iterable[Linea]) -> int:
    """How many rows an erasure left: those that are held back."""
    return sum(linea.despues or 0 for linea in lineas)


@register.filter
def alterada(evidencia: Evidencia) -> bool:
    """Whether an evidence is not the one that the register says was written."""
    return evidencias.alterada(evidencia)
