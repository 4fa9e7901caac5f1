"""The quick search of notices finds what comparing each notice with each word and each vector finds."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.base import PutOp
from psycopg.types.json import Jsonb

from benchmarks.avisos import DATOS, leer_avisos, leer_consultas
from memoria import busqueda
from memoria.almacen import AlmacenMemoria, en_texto
from memoria.politica import espacio, prefijo

# Each notice with each term, each vector; nothing is looked up.
EXHAUSTIVA = f"""
WITH {busqueda.lexico("store", "key", "prefix = %(prefijo)s AND expires_at > now()")},
comparados AS MATERIALIZED (
    SELECT s.key, coalesce(nullif(1 - (v.embedding <=> %(vector)s::vector), 'NaN'), 0) AS similitud,
           c.cobertura
    FROM store s
    LEFT JOIN store_vectors v ON v.prefix = s.prefix AND v.key = s.key
    LEFT JOIN coberturas c ON c.key = s.key
    WHERE s.prefix = %(prefijo)s AND s.expires_at > now() AND (v.key IS NOT NULL OR c.key IS NOT NULL)
),
{busqueda._ORDENADOS}
"""

PALABRAS = [
    *("cierre", "cierran", "vacaciones", "agosto", "pedido", "mínimo", "retraso", "entrega", "descarga"),
    *("muelle", "tarifa", "precio", "devolución", "abono", "garantía", "tx-18", "tx18", "lote", "taladro"),
    *("huelga", "transporte", "camión", "factura", "el", "de", "portes"),
]


def _comparar(almacen: AlmacenMemoria, parametros: dict[str, Any]) -> None:
    """Same notices, same order, same counts of each word."""
    esperadas = almacen.consultar(EXHAUSTIVA, parametros)
    filas = busqueda._filas(almacen, parametros)
    assert [_vista(f) for f in filas] == [_vista(f) for f in esperadas]
    assert [f["similitud"] for f in filas] == pytest.approx([f["similitud"] for f in esperadas])


def _vista(fila: dict[str, Any]) -> tuple[Any, ...]:
    return fila["key"], fila["huecos"], fila["veces"], fila["posiciones"]


def _parametros(proveedor: str, consulta: str, vector: list[float], limite: int = 3) -> dict[str, Any]:
    return {
        "prefijo": prefijo("proveedores", proveedor),
        "limite": limite,
        "umbral": 0.2,
        "vector": en_texto(vector),
    } | busqueda._de_la_pregunta(busqueda.en_terminos(consulta))


@pytest.mark.parametrize(
    ("avisos", "consultas"),
    [
        (["avisos.csv"], "consultas.csv"),
        (["avisos_propios.csv"], "consultas_propias.csv"),
        (["avisos.csv", "avisos_propios.csv"], "consultas_posteriores.csv"),
    ],
)
def test_on_the_labelled_questions(
    almacen_compras: AlmacenMemoria, avisos: list[str], consultas: str
) -> None:
    almacen_compras.batch(
        PutOp(espacio("proveedores", a.proveedor_id), a.aviso_id, {"texto": a.texto, "fecha": a.fecha})
        for fichero in avisos
        for a in leer_avisos(DATOS / fichero)
    )
    assert almacen_compras.modelo
    for consulta in leer_consultas(DATOS / consultas):
        vector = almacen_compras.modelo.embed_query(consulta.texto)
        _comparar(almacen_compras, _parametros(consulta.proveedor_id, consulta.texto, vector))


@given(
    semilla=st.integers(0, 2**32 - 1),
    cuantos=st.integers(0, 120),
    consulta=st.lists(st.sampled_from(PALABRAS), min_size=1, max_size=5).map(" ".join),
    limite=st.sampled_from([1, 3, 30]),
    dispersion=st.sampled_from([0.0, 0.05, 1.0]),
)
@settings(max_examples=40)
def test_on_any_notices(
    almacen_compras: AlmacenMemoria,
    propietario: psycopg.Connection,
    semilla: int,
    cuantos: int,
    consulta: str,
    limite: int,
    dispersion: float,
) -> None:
    """Some past their date, some with no vector or a void one, and another supplier with the same words."""
    propietario.execute("DELETE FROM langgraph.store")
    azar, normal = random.Random(semilla), np.random.default_rng(semilla)  # noqa: S311 - no secret
    pregunta = normal.normal(size=512)
    for n in range(cuantos):
        quien = prefijo("proveedores", azar.choice(["P1", "P1", "P1", "P1.2"]))
        texto = " ".join(azar.choices(PALABRAS, k=azar.randint(1, 8)))
        documento = {"texto": texto, "fecha": azar.choice(["2026-11-01", "2020-01-01"])}
        if azar.random() < 0.2:
            documento["importancia"] = "alta"
        vida = timedelta(days=azar.choice([9, 9, 9, -1]))
        propietario.execute(
            "INSERT INTO langgraph.store (prefix, key, value, expires_at, ttl_minutes)"
            " VALUES (%s, %s, %s, now() + %s, 1440)",
            [quien, f"k{n}", Jsonb(documento), vida],
        )
        if azar.random() < 0.9:
            vector = pregunta * azar.choice([1, -1, 0]) + dispersion * normal.normal(size=512)
            propietario.execute(
                "INSERT INTO langgraph.store_vectors (prefix, key, field_name, embedding)"
                " VALUES (%s, %s, 'texto', %s::vector)",
                [quien, f"k{n}", en_texto(vector.tolist())],
            )
    _comparar(almacen_compras, _parametros("P1", consulta, pregunta.tolist(), limite))


# -- the index ----------------------------------------------------------------------------------------


def test_a_word_of_any_length_is_written_and_found(almacen_compras: AlmacenMemoria) -> None:
    """A lexeme has at most 2,046 bytes, and with the mark of its supplier it would have more."""
    ahi = espacio("proveedores", "P1")
    largas = {n: "x" * n for n in (254, 256, 480, 505, 506, 2030, 2040, 2046, 2047, 4000)}
    for n, larga in largas.items():
        almacen_compras.put(ahi, str(n), {"texto": larga, "fecha": "2026-11-01"})
    for n in (254, 256, 480):
        consulta = largas[n]
        hallado = busqueda.buscar_avisos(almacen_compras, "P1", consulta, limite=20)
        assert str(n) in [a.key for a in hallado]


def test_the_words_of_a_restricted_notice_are_not_counted_for_agents(
    almacen: AlmacenMemoria, almacen_compras: AlmacenMemoria, propietario: psycopg.Connection
) -> None:
    for clave in "ab":
        almacen_compras.put(
            espacio("proveedores", "P1"), clave, {"texto": "Huelga del muelle", "fecha": "2026-11-01"}
        )
    for tabla in ("store", "store_vectors"):
        propietario.execute(f"UPDATE langgraph.{tabla} SET limitado = true WHERE key = 'a'")
    assert almacen.modelo
    parametros = _parametros("P1", "huelga", almacen.modelo.embed_query("huelga"))
    for quien, claves in ((almacen, ["b"]), (almacen_compras, ["b", "a"])):
        filas = busqueda._filas(quien, parametros)
        assert [f["key"] for f in filas] == claves
        assert filas[0]["veces"] == [len(claves)]
        _comparar(quien, parametros)


@pytest.mark.parametrize("rol", ["memoria_web", "memoria_agentes"])
def test_the_words_are_looked_up_in_their_index(
    como: Callable[[str], psycopg.Connection], propietario: psycopg.Connection, rol: str
) -> None:
    """With enough notices (of few, reading them all is cheaper), whoever read the table first."""
    propietario.execute(
        """
        INSERT INTO langgraph.store (prefix, key, value, expires_at, ttl_minutes)
        SELECT 'proveedores.P' || n % 40, 'k' || n, '{"texto": "pedido de taladros", "fecha": "2026-01-01"}',
               now() + interval '1 day', 1440 FROM generate_series(1, 4000) n
        """
    )
    propietario.execute("ANALYZE langgraph.store")
    antes = _usos(propietario)
    conexion = como(rol)
    conexion.execute("SET search_path = langgraph, public")
    assert conexion.execute("SELECT count(*) FROM store WHERE prefix = 'proveedores.P7'").fetchone() == (100,)
    halladas = conexion.execute(
        "SELECT key FROM avisos_con('proveedores.P7', ARRAY[1], ARRAY['taladr'::tsquery],"
        " ARRAY['x'::tsquery])"
    ).fetchall()
    assert len(halladas) == 100
    conexion.execute("SELECT pg_stat_force_next_flush()")
    conexion.execute("SELECT")
    assert _usos(propietario) > antes


def _usos(propietario: psycopg.Connection) -> int:
    fila = propietario.execute(
        "SELECT pg_stat_get_numscans('langgraph.store_avisos_palabras_idx'::regclass),"
        " pg_stat_clear_snapshot()"
    ).fetchone()
    assert fila
    return int(fila[0])
