"""The functions in ``memoria/sql``: exact prefixes, and nothing that strangers may run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoria.politica import espacio, prefijo

Como = Callable[[str], psycopg.Connection]
ID = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=8)


def poner(conexion: psycopg.Connection, *prefijos: str) -> None:
    for p in prefijos:
        conexion.execute("INSERT INTO langgraph.store (prefix, key, value) VALUES (%s, 'k', '{}')", [p])


def quedan(conexion: psycopg.Connection) -> set[str]:
    return {f[0] for f in conexion.execute("SELECT prefix FROM langgraph.store")}


class TestSujeto:
    """M1: a subject is a whole label, and none of its characters is a wildcard."""

    @pytest.mark.parametrize(
        ("sujeto", "vecinos"),
        [
            ("C1", ["C10", "C", "c1", "C1x", "xC1"]),
            ("ana_1", ["anaX1", "ana_10", "ana%1"]),
            ("100%", ["100x", "1000"]),
            ("a\\b", ["a\\\\b", "ab", "a"]),
            ("a.b", ["a", "aXb", "a%b"]),
            ("%", ["x", "%%", "cualquiera"]),
        ],
    )
    def test_counting_and_erasing_touch_that_subject_alone(
        self, propietario: psycopg.Connection, como: Como, sujeto: str, vecinos: list[str]
    ) -> None:
        mio = prefijo("clientes", sujeto)
        otros = {prefijo("clientes", v) for v in vecinos} | {prefijo("empleados", sujeto)}
        poner(propietario, mio, *otros)
        web = como("memoria_web")
        assert web.execute("SELECT documentos FROM langgraph.contar_sujeto(%s)", [mio]).fetchone() == (1,)
        assert web.execute("SELECT documentos FROM langgraph.borrar_sujeto(%s)", [mio]).fetchone() == (1,)
        assert web.execute("SELECT documentos FROM langgraph.contar_sujeto(%s)", [mio]).fetchone() == (0,)
        assert quedan(propietario) == otros

    @settings(max_examples=60)
    @given(ids=st.sets(ID, min_size=1, max_size=8), datos=st.data())
    def test_any_ids(self, propietario: psycopg.Connection, ids: set[str], datos: st.DataObject) -> None:
        elegido = datos.draw(st.sampled_from(sorted(ids)))
        prefijos = {prefijo("clientes", i) for i in ids}
        mio = prefijo("clientes", elegido)
        with propietario.transaction(force_rollback=True):
            poner(propietario, *prefijos)
            borrados = propietario.execute(
                "SELECT documentos FROM langgraph.borrar_sujeto(%s)", [mio]
            ).fetchone()
            assert borrados == (1,)
            assert quedan(propietario) == prefijos - {mio}

    def test_what_hangs_below_the_subject_goes_too(self, propietario: psycopg.Connection, como: Como) -> None:
        poner(propietario, "clientes.C1", "clientes.C1.notas", "clientes.C1x.notas")
        fila = (
            como("memoria_web")
            .execute("SELECT documentos FROM langgraph.borrar_sujeto('clientes.C1')")
            .fetchone()
        )
        assert fila == (2,)
        assert quedan(propietario) == {"clientes.C1x.notas"}

    def test_vectors_are_counted_and_erased(
        self, almacen_compras: Any, propietario: psycopg.Connection, como: Como
    ) -> None:
        for sujeto in ("P1", "P10"):
            almacen_compras.put(
                espacio("proveedores", sujeto), "a", {"texto": "Llega tarde", "fecha": "2026-01-02"}
            )
        web = como("memoria_web")
        contar = "SELECT * FROM langgraph.contar_sujeto('proveedores.P1')"
        assert web.execute(contar).fetchone() == (1, 1, 0)
        assert web.execute("SELECT * FROM langgraph.borrar_sujeto('proveedores.P1')").fetchone() == (1, 1)
        assert web.execute(contar).fetchone() == (0, 0, 0)
        assert propietario.execute("SELECT prefix FROM langgraph.store_vectors").fetchall() == [
            ("proveedores.P10",)
        ]

    def test_a_vector_without_its_document_is_seen(self, propietario: psycopg.Connection, como: Como) -> None:
        propietario.execute(
            "SET session_replication_role = replica;"
            " INSERT INTO langgraph.store_vectors (prefix, key, field_name)"
            " VALUES ('clientes.C1', 'k', 'texto'); RESET session_replication_role"
        )
        web = como("memoria_web")
        assert web.execute("SELECT * FROM langgraph.contar_sujeto('clientes.C1')").fetchone() == (0, 1, 1)
        assert web.execute("SELECT * FROM langgraph.borrar_sujeto('clientes.C1')").fetchone() == (0, 1)
        assert web.execute("SELECT * FROM langgraph.contar_sujeto('clientes.C1')").fetchone() == (0, 0, 0)


class TestHilos:
    def test_only_the_named_threads_and_all_they_have(
        self, propietario: psycopg.Connection, como: Como
    ) -> None:
        for hilo in ("h1", "h10", "h%"):
            propietario.execute(
                "INSERT INTO public.hilos (thread_id, espacio, sujeto_id) VALUES (%s, 'clientes', 'C1')",
                [hilo],
            )
            propietario.execute(
                "INSERT INTO langgraph.checkpoints (thread_id, checkpoint_id, checkpoint)"
                " VALUES (%s, 'c', '{}')",
                [hilo],
            )
            propietario.execute(
                "INSERT INTO langgraph.checkpoint_blobs VALUES (%s, '', 'k', '1', 'x', '')", [hilo]
            )
            propietario.execute(
                "INSERT INTO langgraph.checkpoint_writes VALUES (%s, '', 'c', 't', 0, 'k', 'x', '', '')",
                [hilo],
            )
        web = como("memoria_web")
        assert web.execute("SELECT * FROM langgraph.contar_hilos(ARRAY['h1'])").fetchone() == (1, 1, 1)
        assert web.execute("SELECT * FROM langgraph.borrar_hilos(ARRAY['h1', 'h%'])").fetchone() == (2, 2, 2)
        assert web.execute("SELECT * FROM langgraph.contar_hilos(ARRAY['h1', 'h%'])").fetchone() == (0, 0, 0)
        assert propietario.execute("SELECT thread_id FROM langgraph.checkpoints").fetchall() == [("h10",)]

    def test_a_checkpoint_of_an_unregistered_thread_is_refused(self, bd: str, como: Como) -> None:
        with pytest.raises(psycopg.errors.ForeignKeyViolation):
            como("memoria_agentes").execute(
                "INSERT INTO langgraph.checkpoints (thread_id, checkpoint_id, checkpoint)"
                " VALUES ('nadie', 'c', '{}')"
            )

    def test_the_registry_keeps_the_owner_while_anything_of_the_thread_is_left(
        self, propietario: psycopg.Connection, como: Como
    ) -> None:
        propietario.execute(
            "INSERT INTO public.hilos (thread_id, espacio, sujeto_id) VALUES ('h1', 'clientes', 'C1');"
            "INSERT INTO langgraph.checkpoint_blobs VALUES ('h1', '', 'k', '1', 'x', '')"
        )
        with pytest.raises(psycopg.errors.ForeignKeyViolation):
            como("memoria_web").execute("DELETE FROM public.hilos WHERE thread_id = 'h1'")


class TestFunciones:
    def test_each_fixes_its_search_path_and_is_closed_to_the_public(
        self, propietario: psycopg.Connection
    ) -> None:
        filas = propietario.execute(
            """
            SELECT proname, prosecdef, proconfig, proacl::text[] FROM pg_proc
            WHERE pronamespace = 'langgraph'::regnamespace
            """
        ).fetchall()
        assert {"contar_sujeto", "borrar_sujeto", "contar_hilos", "borrar_hilos", "barrer_lote"} <= {
            f[0] for f in filas
        }
        for nombre, definidora, configuracion, permisos in filas:
            if definidora:
                assert "search_path=pg_catalog" in configuracion, nombre
            assert not any(p.startswith("=") for p in permisos), nombre

    def test_a_table_of_the_caller_cannot_stand_in_for_ours(
        self, propietario: psycopg.Connection, como: Como
    ) -> None:
        poner(propietario, "clientes.C1")
        web = como("memoria_web")
        web.execute("CREATE TEMP TABLE store (prefix text, key text); SET search_path = pg_temp, langgraph")
        assert web.execute("SELECT documentos FROM langgraph.borrar_sujeto('clientes.C1')").fetchone() == (1,)
        assert quedan(propietario) == set()
