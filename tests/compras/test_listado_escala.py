"""What a page of the list costs: no index is lost, whichever page and whatever the filter."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from compras import lectura, listado
from compras.listado import Filtros

AVISOS = 20_000


@pytest.fixture(scope="module")
def muchos(_propietario: psycopg.Connection, base: str) -> Iterator[psycopg.Connection]:
    """Twenty thousand notices of four hundred suppliers, and as many documents that are not notices."""
    _propietario.execute(
        """
        INSERT INTO langgraph.store (prefix, key, value, created_at, expires_at)
        SELECT CASE WHEN n %% 2 = 0 THEN 'proveedores.P' || n %% 800 ELSE 'clientes.C' || n END, 'A' || n,
               jsonb_build_object('texto', 'Aviso ' || n, 'fecha', (date '2026-11-29' - n %% 90)::text,
                                  'importancia', CASE WHEN n %% 2000 = 0 THEN 'alta' ELSE 'normal' END)
               || CASE WHEN n %% 5 = 0 OR n %% 2 = 1 THEN '{}'
                  ELSE jsonb_build_object('autor', (n %% 30)::text) END,
               now() - make_interval(secs => n), now() + interval '9 days'
        FROM generate_series(1, %s) n
        """,
        [2 * AVISOS],
    )
    # A supplier with as many as a hundred others, a notice with an author of its own, some expired.
    _propietario.execute(
        "UPDATE langgraph.store SET prefix = 'proveedores.GRANDE' WHERE prefix IN"
        " (SELECT 'proveedores.P' || n FROM generate_series(2, 200, 2) n)"
    )
    _propietario.execute(
        "UPDATE langgraph.store SET value = value || '{\"autor\": \"999\"}' WHERE key = 'A20000'"
    )
    _propietario.execute(
        "UPDATE langgraph.store SET expires_at = now() - interval '1 hour' WHERE key LIKE 'A1000_'"
    )
    # Every row is looked at: of a sample taken by chance the planner would think otherwise now and then.
    _propietario.execute("SET default_statistics_target = 1000")
    _propietario.execute("VACUUM ANALYZE langgraph.store")
    _propietario.execute("RESET default_statistics_target")
    yield _propietario
    _propietario.execute("DELETE FROM langgraph.store")
    _propietario.execute("VACUUM ANALYZE langgraph.store")


FILTROS = {
    "todos": Filtros(estado="todos"),
    "vigentes": Filtros(),
    "proveedor": Filtros(proveedor="P700"),
    "proveedor grande": Filtros(proveedor="GRANDE"),
    "alta": Filtros(importancia="alta"),
    "normal": Filtros(importancia="normal"),
    "autor": Filtros(autor="8"),
    "autor raro": Filtros(autor="999"),
    "autor que no hay": Filtros(autor="1000"),
    "importados": Filtros(autor=listado.SIN_AUTOR),
    "fechas": Filtros(desde=date(2026, 10, 1), hasta=date(2026, 10, 3)),
    "fechas sin ninguno": Filtros(desde=date(2020, 10, 1), hasta=date(2020, 10, 3)),
    "caducados": Filtros(estado="caducado"),
    "varios": Filtros(proveedor="GRANDE", importancia="alta", desde=date(2026, 10, 1)),
}


def coste(filtros: Filtros, **marca: str) -> tuple[int, list[str]]:
    """Pages of the database that a page of the list reads, and how it reads them."""
    with CaptureQueriesContext(connection) as hechas:
        listado.pagina(filtros, **marca)
    (consulta,) = hechas
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {consulta['sql']}")
        plan: Any = cursor.fetchone()[0]
    plan = json.loads(plan) if isinstance(plan, str) else plan
    raiz = plan[0]["Plan"]
    return raiz["Shared Hit Blocks"] + raiz["Shared Read Blocks"], list(_recorridos(raiz))


def _recorridos(nodo: dict[str, Any]) -> Iterator[str]:
    if "Scan" in nodo["Node Type"]:
        yield f"{nodo['Node Type']} {nodo.get('Index Name', nodo.get('Relation Name', ''))}"
    for hijo in nodo.get("Plans", ()):
        yield from _recorridos(hijo)


@pytest.mark.parametrize("nombre", FILTROS)
def test_ninguna_pagina_lee_la_tabla(muchos: psycopg.Connection, nombre: str) -> None:
    """First, in the middle and last: some rows for each that is shown, by an index."""
    filtros = FILTROS[nombre]
    marcas: list[str] = []
    marca: dict[str, str] = {}
    while (pagina := listado.pagina(filtros, **marca)).siguiente:
        marcas.append(pagina.siguiente)
        marca = {"despues": pagina.siguiente}
    sitios: list[dict[str, str]] = [{}]
    if marcas:
        medio = marcas[len(marcas) // 2]
        sitios += [{"despues": medio}, {"despues": marcas[-1]}, {"antes": medio}, {"antes": marcas[-1]}]
    for sitio in sitios:
        paginas, recorridos = coste(filtros, **sitio)
        assert recorridos
        assert not any(r.startswith("Seq Scan") for r in recorridos), (nombre, recorridos)
        # 51 rows, each perhaps on a page of its own, the few that a filter skips, and the way down the index;
        # of a short range of dates PostgreSQL may read all and sort it. The table has 1,400 pages.
        assert paginas <= 300, (nombre, sitio.keys(), paginas, recorridos)


def test_los_recuentos_del_panel_no_leen_la_tabla(muchos: psycopg.Connection) -> None:
    ahora = timezone.now()
    with CaptureQueriesContext(connection) as hechas:
        assert lectura.escritos_desde(ahora - timedelta(seconds=600)) > 0
        lectura.caducan_antes_de(ahora + timedelta(days=7))
    for consulta in hechas:
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN {consulta['sql']}")
            plan = "\n".join(f[0] for f in cursor.fetchall())
        assert "Seq Scan" not in plan, plan


def test_se_recorre_entera_por_todos_los_filtros_y_en_orden(muchos: psycopg.Connection) -> None:
    vistos = [(a.fecha, a.escrito, a.proveedor_id, a.clave) for t in listado.recorrer(Filtros()) for a in t]
    assert len(vistos) == len(set(vistos)) == AVISOS - 5
    fechas = [(f, e) for f, e, _, _ in vistos]
    assert fechas == sorted(fechas, reverse=True)
