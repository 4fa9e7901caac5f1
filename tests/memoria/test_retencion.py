"""The sweep deletes exactly what has expired, in short batches, and gets in nobody's way."""

from __future__ import annotations

import io
import json
import logging
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import psycopg
import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given, settings
from hypothesis import strategies as st

from memoria.busqueda import buscar_avisos
from memoria.comandos import Plazo
from memoria.models import Documento, Ejecucion
from memoria.politica import espacio
from memoria.retencion import barrer

#: (root namespace, seconds to expiry: negative is past; None never expires)
DOCUMENTOS = st.lists(
    st.tuples(
        st.sampled_from(["clientes", "proveedores", "empleados", "ajeno"]),
        st.one_of(st.none(), st.integers(-200_000, 200_000)),
    ),
    max_size=30,
)


def sembrar(conexion: psycopg.Connection, documentos: Sequence[tuple[str, float | None]]) -> None:
    """One document per entry; ``key`` is its position. Offset 0 expires at the transaction's now()."""
    with conexion.cursor() as cursor:
        cursor.executemany(
            """
            INSERT INTO langgraph.store (prefix, key, value, expires_at, ttl_minutes)
            VALUES (%s, %s, '{}', now() + make_interval(secs => %s), 60)
            """,
            [(f"{raiz}.S{i}", str(i), segundos) for i, (raiz, segundos) in enumerate(documentos)],
        )


def claves(conexion: psycopg.Connection) -> set[int]:
    return {int(f[0]) for f in conexion.execute("SELECT key FROM langgraph.store")}


@settings(max_examples=40)
@given(documentos=DOCUMENTOS, lote=st.integers(1, 12))
def test_exactly_the_expired_go(
    propietario: psycopg.Connection, documentos: list[tuple[str, int | None]], lote: int
) -> None:
    caducados = {i for i, (_, s) in enumerate(documentos) if s is not None and s <= 0}
    borrados: Counter[str] = Counter()
    with propietario.transaction(force_rollback=True):
        sembrar(propietario, documentos)
        previstos: dict[str, int] = dict(
            propietario.execute("SELECT * FROM langgraph.barrer_lote(%s, true)", [lote]).fetchall()
        )
        while nuevo := propietario.execute("SELECT * FROM langgraph.barrer_lote(%s)", [lote]).fetchall():
            assert sum(n for _, n in nuevo) <= lote
            borrados.update(dict(nuevo))
        assert claves(propietario) == set(range(len(documentos))) - caducados
        assert borrados == Counter(documentos[i][0] for i in caducados)
        assert previstos == borrados


def test_the_edge_is_the_instant_itself(propietario: psycopg.Connection) -> None:
    with propietario.transaction(force_rollback=True):
        sembrar(propietario, [("clientes", s) for s in (-1, -1e-6, 0, 1e-6, 1, None)])
        propietario.execute("SELECT * FROM langgraph.barrer_lote(100)")
        assert claves(propietario) == {3, 4, 5}


def test_what_expires_in_a_moment_stays(propietario: psycopg.Connection) -> None:
    sembrar(propietario, [("clientes", -1), ("clientes", 30), ("proveedores", None)])
    assert barrer(lote=10, plazo=Plazo(), simular=False)["borrados"] == 1
    assert claves(propietario) == {1, 2}


def test_batches_are_counted_and_the_last_may_be_short(propietario: psycopg.Connection) -> None:
    sembrar(propietario, [("clientes", -1)] * 5 + [("empleados", -1)] * 2)
    assert barrer(lote=3, plazo=Plazo(), simular=False) == {
        "borrados": 7,
        "por_espacio": {"clientes": 5, "empleados": 2},
        "lotes": 3,
        "simulado": False,
        "completo": True,
    }


def test_nothing_to_do_is_done(bd: str) -> None:
    assert barrer(lote=3, plazo=Plazo(), simular=False) == {
        "borrados": 0,
        "por_espacio": {},
        "lotes": 0,
        "simulado": False,
        "completo": True,
    }


@pytest.mark.parametrize("lote", [1, 3, 7, 100])
def test_a_dry_run_foretells_the_sweep_and_deletes_nothing(
    propietario: psycopg.Connection, lote: int
) -> None:
    sembrar(propietario, [("clientes", -1)] * 6 + [("proveedores", -9), ("clientes", 60)])
    previsto = barrer(lote=lote, plazo=Plazo(), simular=True)
    assert claves(propietario) == set(range(8))
    hecho = barrer(lote=lote, plazo=Plazo(), simular=False)
    assert previsto == {**hecho, "simulado": True}
    assert hecho["borrados"] == 7


def test_each_batch_is_a_statement_of_its_own_outside_any_transaction(
    propietario: psycopg.Connection,
) -> None:
    sembrar(propietario, [("clientes", -1)] * 5)
    with CaptureQueriesContext(connection) as consultas:
        barrer(lote=2, plazo=Plazo(), simular=False)
    assert len(consultas) == 3
    assert all("barrer_lote" in c["sql"] for c in consultas)
    assert not connection.in_atomic_block


def test_no_batch_starts_once_the_time_is_up(propietario: psycopg.Connection) -> None:
    sembrar(propietario, [("clientes", -1)] * 3)
    plazo = Plazo()
    plazo.parar(15, None)
    resultado = barrer(lote=1, plazo=plazo, simular=False)
    assert (resultado["borrados"], resultado["completo"]) == (0, False)
    assert len(claves(propietario)) == 3


def test_the_number_deleted_is_logged_and_nobody_is_named(
    propietario: psycopg.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    sembrar(propietario, [("clientes", -1)] * 3)
    with caplog.at_level(logging.INFO, "memoria.retencion"):
        barrer(lote=10, plazo=Plazo(), simular=False)
    assert "3 documentos" in caplog.text
    assert "clientes.S" not in caplog.text


def test_the_vectors_go_with_their_notice(almacen_compras: Any, propietario: psycopg.Connection) -> None:
    for clave in ("viejo", "nuevo"):
        almacen_compras.put(
            espacio("proveedores", "P1"), clave, {"texto": "Llega tarde", "fecha": "2026-01-02"}
        )
    propietario.execute("UPDATE langgraph.store SET expires_at = now() WHERE key = 'viejo'")
    barrer(lote=10, plazo=Plazo(), simular=False)
    assert propietario.execute("SELECT key FROM langgraph.store_vectors").fetchall() == [("nuevo",)]


class TestALaVez:
    """Several at once: sweeps share the work, writers win."""

    def test_two_sweeps_take_different_documents_without_waiting(
        self, propietario: psycopg.Connection, como: Any
    ) -> None:
        sembrar(propietario, [("clientes", -1)] * 10)
        uno, otro = como("memoria_web"), como("memoria_web")
        otro.execute("SET lock_timeout = '1s'")
        with uno.transaction():
            primero = uno.execute("SELECT sum(borrados) FROM langgraph.barrer_lote(4)").fetchone()
            segundo = otro.execute("SELECT sum(borrados) FROM langgraph.barrer_lote(100)").fetchone()
        assert (primero[0], segundo[0]) == (4, 6)
        assert claves(propietario) == set()

    def test_what_a_failed_sweep_had_taken_is_left_for_the_next(
        self, propietario: psycopg.Connection, como: Any
    ) -> None:
        sembrar(propietario, [("clientes", -1)] * 3)
        uno = como("memoria_web")
        with uno.transaction(force_rollback=True):
            uno.execute("SELECT * FROM langgraph.barrer_lote(2)")
            assert barrer(lote=10, plazo=Plazo(), simular=False)["borrados"] == 1
        assert len(claves(propietario)) == 2
        assert barrer(lote=10, plazo=Plazo(), simular=False)["borrados"] == 2

    def test_a_document_being_written_again_is_not_swept(
        self, propietario: psycopg.Connection, como: Any
    ) -> None:
        sembrar(propietario, [("clientes", -1), ("clientes", -1)])
        agente = como("memoria_agentes")
        with agente.transaction():
            agente.execute("UPDATE langgraph.store SET expires_at = now() + interval '1 day' WHERE key = '0'")
            assert barrer(lote=10, plazo=Plazo(), simular=False)["borrados"] == 1
        assert claves(propietario) == {0}
        assert barrer(lote=10, plazo=Plazo(), simular=False)["borrados"] == 0

    def test_a_dry_run_waits_for_nobody(self, propietario: psycopg.Connection, como: Any) -> None:
        sembrar(propietario, [("clientes", -1)] * 2)
        agente = como("memoria_agentes")
        with agente.transaction():
            agente.execute("SELECT FROM langgraph.store FOR UPDATE")
            assert barrer(lote=10, plazo=Plazo(), simular=True)["borrados"] == 2


class TestEntreBarridos:
    """M3: what has expired is hidden at once from whoever reads for an agent, long before the sweep."""

    def test_an_expired_preference_is_read_nowhere(
        self, almacen: Any, propietario: psycopg.Connection
    ) -> None:
        nombre = espacio("clientes", "C9")
        documento = {
            "texto": "Prefiere que se le hable en: gallego",
            "tipo": "idioma",
            "valor": "gallego",
            "origen": "cliente",
            "hilo": "h1",
        }
        almacen.put(nombre, "pref-idioma", documento)
        assert almacen.get(nombre, "pref-idioma") is not None
        propietario.execute("UPDATE langgraph.store SET expires_at = now()")
        assert almacen.get(nombre, "pref-idioma") is None
        assert almacen.search(nombre) == []
        assert almacen.search(("clientes",)) == []
        assert not Documento.objects.del_sujeto("clientes", "C9").vigentes().exists()
        # No read brought it back to life, and it waits for the sweep.
        assert Documento.objects.caducados().count() == 1

    def test_an_expired_notice_is_not_found(
        self, almacen_compras: Any, propietario: psycopg.Connection
    ) -> None:
        nombre = espacio("proveedores", "P1")
        almacen_compras.put(nombre, "a", {"texto": "Subida de precios en enero", "fecha": "2026-01-02"})
        assert buscar_avisos(almacen_compras, "P1", "subida de precios")
        propietario.execute("UPDATE langgraph.store SET expires_at = now()")
        assert buscar_avisos(almacen_compras, "P1", "subida de precios") == []
        assert almacen_compras.search(nombre, query="subida de precios") == []


def tardar(*, plazo: Plazo, simular: bool) -> dict[str, Any]:
    """The sweep of a room that has more to do than there is time."""
    while not plazo.agotado:
        time.sleep(0.05)
    return {"tardados": 1}


class TestOrden:
    """``manage.py barrer``."""

    def correr(self, **opciones: Any) -> tuple[dict[str, Any], str]:
        salida, errores = io.StringIO(), io.StringIO()
        call_command("barrer", json=True, stdout=salida, stderr=errores, **opciones)
        return json.loads(salida.getvalue()), errores.getvalue()

    def test_it_sweeps_and_records_the_counts(self, propietario: psycopg.Connection) -> None:
        sembrar(propietario, [("clientes", -1)] * 3 + [("empleados", -1)])
        datos, frase = self.correr(batch_size=2)
        assert (datos["borrados"], datos["lotes"], datos["simulado"]) == (4, 2, False)
        assert datos["por_espacio"] == {"clientes": 3, "empleados": 1}
        assert "Borrados 4 documentos caducados." in frase
        e = Ejecucion.objects.get()
        # Beside them, what other rooms swept: theirs to test.
        suyo = {"borrados": 4, "por_espacio": {"clientes": 3, "empleados": 1}, "lotes": 2}
        assert {k: e.recuento[k] for k in suyo} == suyo
        assert (e.codigo, e.simulada) == (0, False)

    def test_twice_in_a_row(self, propietario: psycopg.Connection) -> None:
        sembrar(propietario, [("clientes", -1)])
        assert [self.correr()[0]["borrados"], self.correr()[0]["borrados"]] == [1, 0]

    def test_a_dry_run_is_told_apart(self, propietario: psycopg.Connection) -> None:
        sembrar(propietario, [("clientes", -1)])
        datos, frase = self.correr(dry_run=True)
        assert (datos["borrados"], datos["simulado"]) == (1, True)
        assert "Se borraría 1 documento caducado." in frase
        assert len(claves(propietario)) == 1
        assert Ejecucion.objects.get().simulada

    def test_out_of_time_for_the_other_rooms_is_partial_too(
        self, propietario: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(apps.get_app_config("documentos"), "barrido", f"{__name__}.tardar", raising=False)
        sembrar(propietario, [("clientes", -1)])
        with pytest.raises(CommandError) as error:
            self.correr(max_seconds=1)
        assert error.value.returncode == 3
        assert Ejecucion.objects.get().recuento["borrados"] == 1

    def test_out_of_time_is_partial(self, propietario: psycopg.Connection) -> None:
        propietario.execute(
            """
            INSERT INTO langgraph.store (prefix, key, value, expires_at, ttl_minutes)
            SELECT 'clientes.C' || n, 'k', '{}', now() - interval '1 day', 1 FROM generate_series(1, 20000) n
            """
        )
        with pytest.raises(CommandError) as error:
            self.correr(batch_size=1, max_seconds=1)
        assert error.value.returncode == 3
        e = Ejecucion.objects.get()
        assert e.codigo == 3
        assert len(claves_de_texto(propietario)) == 20000 - e.recuento["borrados"]
        assert e.recuento["borrados"] > 0


def claves_de_texto(conexion: psycopg.Connection) -> list[Any]:
    return conexion.execute("SELECT prefix FROM langgraph.store").fetchall()
