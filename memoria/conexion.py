"""Connection pools to the schema of LangGraph."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from psycopg import Connection, OperationalError
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.errors import InsufficientPrivilege
from psycopg.rows import DictRow, dict_row
from psycopg_pool import ConnectionPool, PoolTimeout

ESQUEMA = "langgraph"
Pool = ConnectionPool[Connection[DictRow]]


class BaseSinPreparar(RuntimeError):
    """The database has not been set up."""

    def __init__(self, que: str) -> None:
        super().__init__(f"La base de datos no está preparada ({que}): ejecute antes «manage.py preparar».")


class BaseNoDisponible(RuntimeError):
    """PostgreSQL does not answer."""

    def __init__(self) -> None:
        super().__init__("PostgreSQL no responde: compruebe que está en marcha y la URL de conexión.")


@contextmanager
def abrir_pool(conninfo: str, *, min_size: int = 2, max_size: int = 8) -> Iterator[Pool]:
    """A psycopg pool whose unqualified names are LangGraph's tables.

    Raises :class:`BaseNoDisponible` when no connection can be had within ten seconds and
    :class:`BaseSinPreparar` when the tables are not there.
    """
    pool = ConnectionPool(
        con_esquema(conninfo),
        connection_class=Connection[DictRow],
        min_size=min_size,
        max_size=max_size,
        kwargs={"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row},
        open=False,
    )
    try:
        try:
            pool.open(wait=True, timeout=10)
            with pool.connection() as conexion:
                _comprobar(conexion)
        except (PoolTimeout, OperationalError):
            raise BaseNoDisponible from None
        yield pool
    finally:
        pool.close()


def con_esquema(conninfo: str) -> str:
    """``conninfo`` with the search path of LangGraph's tables, keeping any options it already has."""
    opciones: Any = conninfo_to_dict(conninfo).get("options") or ""
    return make_conninfo(conninfo, options=f"{opciones} -c search_path={ESQUEMA},public".strip())


def _comprobar(conexion: Connection[DictRow]) -> None:
    try:
        fila = conexion.execute(
            "SELECT to_regclass('langgraph.store') IS NOT NULL"
            " AND to_regclass('public.hilos') IS NOT NULL AS hay"
        ).fetchone()
    except InsufficientPrivilege:
        raise BaseSinPreparar("este usuario no tiene permiso sobre el esquema langgraph") from None
    if not fila or not fila["hay"]:
        raise BaseSinPreparar("faltan las tablas de LangGraph")
