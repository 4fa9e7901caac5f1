"""The addresses of the pages beside one, as ``templates/memoria/_paginas.html`` takes them."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Page


def vecinas(pagina: Page[Any], **filtro: str) -> dict[str, str | None]:
    """``anterior`` and ``siguiente`` of a page with a number,
    ``None`` where there is none; both keep ``filtro``."""

    def enlace(numero: int) -> str:
        return f"?{urlencode({**filtro, 'pagina': numero})}"

    return {
        "anterior": enlace(pagina.number - 1) if pagina.has_previous() else None,
        "siguiente": enlace(pagina.number + 1) if pagina.has_next() else None,
    }
