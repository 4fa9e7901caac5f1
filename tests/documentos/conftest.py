from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memoria.documentos.models import Pagina

Escribir = Callable[..., Pagina]


@pytest.fixture
def escribir(persona: Callable[..., Any]) -> Escribir:
    """``escribir("portes.md", "# Portes\\n…")``: a document of purchasing, written by somebody."""
    from django.contrib.auth.models import Permission

    from memoria.documentos import servicios

    autora = persona("compras", nombre="quien-escribe")
    autora.user_permissions.set(Permission.objects.filter(content_type__app_label="documentos"))

    def uno(
        ruta: str, texto: str = "Lo que dice.", *, espacio: str = "compras", titulo: str = "", **mas: Any
    ) -> Pagina:
        return servicios.crear(
            espacio=espacio,
            ruta=ruta,
            titulo=titulo or ruta.rpartition("/")[2].removesuffix(".md").capitalize(),
            texto=texto,
            por=autora,
            **mas,
        )

    return uno
