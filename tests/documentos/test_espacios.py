"""Two spaces never mix, whoever asks: seen from inside the database, as each role."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from django.db import connection, transaction

from memoria.documentos.acceso import en_espacio
from memoria.documentos.espacios import ESPACIOS, EspacioDesconocido
from memoria.documentos.models import Pagina, Seccion, Version
from tests.documentos.conftest import TABLAS, Como, Escribir

LEGIBLES = {
    "memoria_web": TABLAS,
    "memoria_agentes": ("documentos_pagina", "documentos_seccion", "documentos_vector"),
    "duena": TABLAS,
}


@pytest.fixture
def dos_espacios(escribir: Escribir) -> dict[str, int]:
    """One document in purchasing and one in the shop, each with history, sections and vectors."""
    return {
        e: escribir("portes.md", f"# Portes\n\nPortes de {e}.", espacio=e).pk for e in ("compras", "sala")
    }


def entrar(como: Como, duena: psycopg.Connection, rol: str) -> psycopg.Connection:
    return duena if rol == "duena" else como(rol)


def en(conexion: psycopg.Connection, espacio: str) -> None:
    conexion.execute("SELECT set_config('memoria.espacio', %s, true)", [espacio])


def intentar(conexion: psycopg.Connection, espacio: str | None, consulta: str, parametros: Any = None) -> int:
    """Run a statement in a transaction of its own, with the space set; how many rows it touched."""
    with conexion.transaction():
        if espacio is not None:
            en(conexion, espacio)
        return conexion.execute(consulta, parametros).rowcount


@pytest.mark.parametrize("rol", LEGIBLES)
def test_with_the_space_set_only_its_rows_are_read(
    dos_espacios: dict[str, int], como: Como, duena: psycopg.Connection, rol: str
) -> None:
    conexion = entrar(como, duena, rol)
    for tabla in LEGIBLES[rol]:
        for espacio in ("compras", "sala"):
            with conexion.transaction():
                en(conexion, espacio)
                vistas = conexion.execute(f"SELECT DISTINCT espacio FROM {tabla}").fetchall()
            assert vistas == [(espacio,)], tabla


@pytest.mark.parametrize("rol", LEGIBLES)
@pytest.mark.parametrize("ajuste", [None, "", "cliente", "COMPRAS", "compras ", "*", "%"])
def test_with_no_space_or_another_there_is_nothing(
    dos_espacios: dict[str, int], como: Como, duena: psycopg.Connection, rol: str, ajuste: str | None
) -> None:
    conexion = entrar(como, duena, rol)
    with conexion.transaction():
        if ajuste is not None:
            en(conexion, ajuste)
        for tabla in LEGIBLES[rol]:
            assert conexion.execute(f"SELECT count(espacio) FROM {tabla}").fetchone() == (0,), tabla


def test_the_space_ends_with_its_transaction(dos_espacios: dict[str, int], como: Como) -> None:
    web = como("memoria_web")
    with web.transaction():
        en(web, "compras")
    assert web.execute("SELECT count(*) FROM documentos_pagina").fetchone() == (0,)


@pytest.mark.parametrize("rol", ["memoria_web", "duena"])
def test_rows_of_another_space_are_not_changed_nor_deleted(
    dos_espacios: dict[str, int], como: Como, duena: psycopg.Connection, propietario: Any, rol: str
) -> None:
    conexion = entrar(como, duena, rol)
    for consulta in (
        "UPDATE documentos_pagina SET texto = 'mal' WHERE espacio = 'compras'",
        "UPDATE documentos_seccion SET texto = 'mal' WHERE espacio = 'compras'",
        "DELETE FROM documentos_vector WHERE espacio = 'compras'",
        "DELETE FROM documentos_seccion WHERE espacio = 'compras'",
        "DELETE FROM documentos_pagina WHERE espacio = 'compras'",
    ):
        assert intentar(conexion, "sala", consulta) == 0, consulta
        assert intentar(conexion, None, consulta) == 0, consulta
    assert propietario.execute(
        "SELECT texto LIKE '%Portes de compras%' FROM documentos_pagina WHERE espacio = 'compras'"
    ).fetchone() == (True,)
    assert propietario.execute(
        "SELECT count(*) FROM documentos_vector WHERE espacio = 'compras'"
    ).fetchone() == (1,)


@pytest.mark.parametrize("rol", ["memoria_web", "duena"])
@pytest.mark.parametrize("ajuste", [None, "sala"])
def test_nothing_is_written_into_another_space(
    dos_espacios: dict[str, int], como: Como, duena: psycopg.Connection, rol: str, ajuste: str | None
) -> None:
    conexion = entrar(como, duena, rol)
    pagina = dos_espacios["compras"]
    for consulta in (
        "INSERT INTO documentos_pagina (espacio, ruta, titulo, texto, importancia, version, huella_fichero)"
        " VALUES ('compras', 'otra.md', 't', '', 'normal', 1, '')",
        "INSERT INTO documentos_version"
        " (espacio, pagina_id, numero, accion, titulo, texto, importancia, motivo)"
        f" VALUES ('compras', {pagina}, 2, 'creada', 't', '', 'normal', '')",
        "INSERT INTO documentos_seccion (espacio, pagina_id, orden, encabezado, texto)"
        f" VALUES ('compras', {pagina}, 9, '', '')",
        "INSERT INTO documentos_vector (espacio, seccion_id, modelo, embedding)"
        f" VALUES ('compras', {pagina}, 'm', array_fill(0, ARRAY[512])::vector)",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
            intentar(conexion, ajuste, consulta)


@pytest.mark.parametrize("rol", ["memoria_web", "duena"])
def test_a_row_is_not_moved_to_another_space(
    dos_espacios: dict[str, int], como: Como, duena: psycopg.Connection, rol: str
) -> None:
    conexion = entrar(como, duena, rol)
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
        intentar(conexion, "sala", "UPDATE documentos_pagina SET espacio = 'compras', ruta = 'x.md'")


def test_what_hangs_from_a_page_is_in_its_space(dos_espacios: dict[str, int], como: Como) -> None:
    """Also where the policy would let it be: the key has both halves."""
    web = como("memoria_web")
    consulta = (
        "INSERT INTO documentos_seccion (espacio, pagina_id, orden, encabezado, texto)"
        " VALUES ('sala', %s, 9, '', '')"
    )
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        intentar(web, "sala", consulta, [dos_espacios["compras"]])


def test_agents_read_and_nothing_else(dos_espacios: dict[str, int], como: Como) -> None:
    agentes = como("memoria_agentes")
    for consulta in (
        "UPDATE documentos_pagina SET titulo = 'x'",
        "DELETE FROM documentos_seccion",
        "INSERT INTO documentos_vector SELECT * FROM documentos_vector",
        "SELECT * FROM documentos_version",
        "SELECT autor_id FROM documentos_pagina",
        "SELECT texto FROM documentos_pagina",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied"):
            intentar(agentes, "compras", consulta)


def test_the_web_does_not_rewrite_history(dos_espacios: dict[str, int], como: Como) -> None:
    web = como("memoria_web")
    for consulta in ("UPDATE documentos_version SET texto = ''", "DELETE FROM documentos_version"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied"):
            intentar(web, "compras", consulta)


def test_the_function_that_erases_versions_stays_in_its_space(
    dos_espacios: dict[str, int], como: Como, propietario: psycopg.Connection
) -> None:
    web = como("memoria_web")
    pagina = dos_espacios["compras"]
    for ajuste, borradas in ((None, 0), ("sala", 0), ("compras", 1)):
        with web.transaction():
            if ajuste:
                en(web, ajuste)
            fila = web.execute("SELECT documentos_borrar_versiones(ARRAY[%s], ARRAY[1])", [pagina]).fetchone()
        assert fila == (borradas,)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        como("memoria_agentes").execute("SELECT documentos_borrar_versiones(ARRAY[1], ARRAY[1])")


def test_every_table_of_documents_is_forced(propietario: psycopg.Connection) -> None:
    """A new table of the app without its policy fails here."""
    filas = propietario.execute(
        "SELECT relname, relrowsecurity, relforcerowsecurity,"
        "       (SELECT count(*) FROM pg_policy WHERE polrelid = c.oid)"
        " FROM pg_class c WHERE relkind = 'r' AND relname LIKE 'documentos\\_%'"
    ).fetchall()
    assert {f[0] for f in filas} == set(TABLAS)
    assert all(f[1:] == (True, True, 1) for f in filas)


# -- Django's side --------------------------------------------------------------------------------


def test_outside_a_block_the_models_see_nothing(escribir: Escribir) -> None:
    escribir("portes.md")
    assert [m.objects.count() for m in (Pagina, Version, Seccion)] == [0, 0, 0]
    with en_espacio("compras"):
        assert [m.objects.count() for m in (Pagina, Version, Seccion)] == [1, 1, 1]
        perezosa = Pagina.objects.all()
    assert list(perezosa) == []


def test_a_block_inside_another_gives_it_back(escribir: Escribir) -> None:
    escribir("a.md")
    escribir("b.md", espacio="sala")
    with en_espacio("compras"):
        with en_espacio("sala"):
            assert [p.ruta for p in Pagina.objects.all()] == ["b.md"]
        assert [p.ruta for p in Pagina.objects.all()] == ["a.md"]
        with pytest.raises(ZeroDivisionError), en_espacio("sala"):
            raise ZeroDivisionError
        assert [p.ruta for p in Pagina.objects.all()] == ["a.md"]


def test_an_error_leaves_the_connection_with_no_space(bd: str) -> None:
    with pytest.raises(ZeroDivisionError), en_espacio("compras"):
        raise ZeroDivisionError
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT coalesce(current_setting('memoria.espacio', true), '')")
        assert cursor.fetchone() == ("",)


def test_there_is_no_other_space(bd: str) -> None:
    with pytest.raises(EspacioDesconocido, match=", ".join(ESPACIOS)), en_espacio("proveedores"):
        pass
