from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from memoria.documentos.models import Pagina

Escribir = Callable[..., Pagina]
Como = Callable[[str], psycopg.Connection]
TABLAS = ("documentos_pagina", "documentos_version", "documentos_seccion", "documentos_vector")


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


@pytest.fixture
def duena(propietario: psycopg.Connection, como: Como) -> Iterator[psycopg.Connection]:
    """A connection of the tables' owner that is no superuser, as in production."""
    propietario.execute("DROP ROLE IF EXISTS duena")
    propietario.execute("CREATE ROLE duena LOGIN NOSUPERUSER NOBYPASSRLS")
    propietario.execute("GRANT USAGE, CREATE ON SCHEMA public TO duena")
    antes = propietario.execute("SELECT current_user").fetchone()
    assert antes
    for tabla in TABLAS:
        propietario.execute(f"ALTER TABLE {tabla} OWNER TO duena")
    yield como("duena")
    propietario.execute(f'REASSIGN OWNED BY duena TO "{antes[0]}"')
    propietario.execute("DROP OWNED BY duena")
    propietario.execute("DROP ROLE duena")
