"""What the tests of the purchasing pages share."""

from __future__ import annotations

from html import unescape
from typing import Any

from django.urls import reverse

LISTA, PROVEEDORES = "/compras/avisos/", "/compras/proveedores/"


def url(nombre: str, clave: str, codigo: str = "P1") -> str:
    return reverse(f"compras:{nombre}", args=[codigo, clave])


def texto_de(respuesta: Any) -> str:
    return unescape(respuesta.content.decode())
