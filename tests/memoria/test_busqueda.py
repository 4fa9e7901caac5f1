"""Notice search: the right supplier only, by words and by meaning, and nothing when there is no answer."""

from __future__ import annotations

import csv
from pathlib import Path

import psycopg
import pytest
from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore

from memoria.almacen import AlmacenMemoria
from memoria.busqueda import buscar_avisos
from memoria.politica import PoliticaIncumplida, espacio

DATOS = Path(__file__).resolve().parents[2] / "benchmarks" / "datos" / "avisos.csv"


@pytest.fixture
def con_avisos(almacen_compras: AlmacenMemoria) -> AlmacenMemoria:
    with DATOS.open(encoding="utf-8", newline="") as fichero:
        almacen_compras.batch(
            PutOp(
                espacio("proveedores", f["proveedor_id"]),
                f["aviso_id"],
                {"texto": f["texto"], "fecha": f["fecha"]},
            )
            for f in csv.DictReader(fichero)
        )
    return almacen_compras


@pytest.mark.parametrize(
    ("consulta", "esperado"),
    [
        ("vacaciones de verano de la fábrica", "A101-01"),  # by meaning
        ("PEDIDO MINIMO EN EUROS", "A101-04"),  # case and accents
        ("la serie Brisa", "A101-05"),  # a name
    ],
)
def test_the_right_notice_is_among_the_three(
    con_avisos: AlmacenMemoria, consulta: str, esperado: str
) -> None:
    hallados = buscar_avisos(con_avisos, "P101", consulta)
    assert esperado in [a.key for a in hallados]
    assert len(hallados) <= 3
    assert all(a.score is not None and -1 <= a.score <= 1 for a in hallados)


def test_a_code_matches_only_itself(con_avisos: AlmacenMemoria) -> None:
    assert buscar_avisos(con_avisos, "P102", "TX-18")[0].key == "A102-03"


def test_no_notice_of_another_supplier(con_avisos: AlmacenMemoria) -> None:
    for proveedor in ("P101", "P10", "P1", "P_01", "p101"):
        for aviso in buscar_avisos(con_avisos, proveedor, "taladros retrasos pedido fábrica", limite=50):
            assert aviso.namespace == ("proveedores", proveedor)
            assert aviso.key.startswith("A101-")
    assert buscar_avisos(con_avisos, "P10", "pedido") == []


def test_what_has_expired_is_not_found(con_avisos: AlmacenMemoria, propietario: psycopg.Connection) -> None:
    assert buscar_avisos(con_avisos, "P101", "pedido mínimo")
    propietario.execute("UPDATE langgraph.store SET expires_at = now() - interval '1 second'")
    assert buscar_avisos(con_avisos, "P101", "pedido mínimo") == []


def test_searching_renews_nothing(con_avisos: AlmacenMemoria, propietario: psycopg.Connection) -> None:
    propietario.execute("UPDATE langgraph.store SET expires_at = now() + interval '3 days'")
    antes = propietario.execute("SELECT prefix, key, expires_at, xmin::text FROM langgraph.store").fetchall()
    buscar_avisos(con_avisos, "P101", "pedido mínimo")
    despues = propietario.execute(
        "SELECT prefix, key, expires_at, xmin::text FROM langgraph.store"
    ).fetchall()
    assert despues == antes


def test_without_vectors_the_words_still_find(
    con_avisos: AlmacenMemoria, propietario: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(con_avisos, "modelo", None)
    hallados = buscar_avisos(con_avisos, "P101", "pedido minimo")
    assert "A101-04" in [a.key for a in hallados]
    assert hallados[0].score is None
    assert buscar_avisos(con_avisos, "P101", "zzzz") == []


@pytest.mark.parametrize(
    "consulta", ["", "   ", "\x00", "' OR 1=1 --", "a & | ! :* ('", "%", "x" * 10_000, "¿?"]
)
def test_any_question_is_only_a_question(con_avisos: AlmacenMemoria, consulta: str) -> None:
    assert len(buscar_avisos(con_avisos, "P101", consulta)) <= 3


def test_no_supplier_is_no_question(con_avisos: AlmacenMemoria) -> None:
    with pytest.raises(PoliticaIncumplida):
        buscar_avisos(con_avisos, "", "pedido")


def test_twenty_own_notices_among_five_thousand_foreign_ones(
    con_avisos: AlmacenMemoria, propietario: psycopg.Connection
) -> None:
    """pgvector#671 (M13): a filtered approximate index would return too few; an exact one does not."""
    propietario.execute(
        """
        INSERT INTO langgraph.store (prefix, key, value, expires_at, ttl_minutes)
        SELECT 'proveedores.OTRO' || n % 50, 'k' || n, '{"texto": "otro", "fecha": "2026-01-01"}',
               now() + interval '1 day', 1440 FROM generate_series(1, 5000) n
        """
    )
    propietario.execute(
        """
        INSERT INTO langgraph.store_vectors (prefix, key, field_name, embedding)
        SELECT s.prefix, s.key, 'texto', (SELECT embedding FROM langgraph.store_vectors LIMIT 1)
        FROM langgraph.store s WHERE s.prefix LIKE 'proveedores.OTRO%'
        """
    )
    exactos = [
        clave
        for (clave,) in propietario.execute(
            "SELECT key FROM langgraph.store_vectors WHERE prefix = 'proveedores.P101'"
            " ORDER BY embedding <=> %s::vector",
            [str(con_avisos.modelo.embed_query("tazas"))],
        )
    ]
    assert len(exactos) == 14
    hallados = buscar_avisos(con_avisos, "P101", "tazas", limite=50)
    assert [a.key for a in hallados] != exactos  # the words count too, ...
    por_similitud = sorted(hallados, key=lambda a: -(a.score or 0))
    assert [a.key for a in por_similitud] == exactos  # ... and nobody is missing


def test_a_store_of_langgraph_answers_too() -> None:
    almacen = InMemoryStore()
    almacen.put(espacio("proveedores", "P1"), "a", {"texto": "uno", "fecha": "2026-01-01"})
    assert [a.key for a in buscar_avisos(almacen, "P1", "uno")] == ["a"]
    assert buscar_avisos(almacen, "P2", "uno") == []
