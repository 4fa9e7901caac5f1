"""What the tests of the purchasing pages share."""

from __future__ import annotations

from html import unescape
from typing import Any

from django.urls import reverse

from compras import lectura

LISTA, PROVEEDORES = "/compras/avisos/", "/compras/proveedores/"


def url(nombre: str, clave: str, codigo: str = "P1") -> str:
    return reverse(f"compras:{nombre}", args=[codigo, clave])


def texto_de(respuesta: Any) -> str:
    return unescape(respuesta.content.decode())


def retirada_de(clave: str, **campos: Any) -> dict[str, Any]:
    """What the page that withdraws a notice of P1 would send."""
    aviso = lectura.uno("P1", clave)
    assert aviso
    return {"motivo": "error", "version": aviso.version.isoformat(), **campos}


def datos_de(clave: str, **campos: Any) -> dict[str, Any]:
    """What the form of a notice of P1 would send: what it says now, but for ``campos``."""
    aviso = lectura.uno("P1", clave)
    assert aviso
    contenido = {c: v or "" for c, v in aviso.contenido.items()}
    return {**contenido, "version": aviso.version.isoformat(), **campos}
