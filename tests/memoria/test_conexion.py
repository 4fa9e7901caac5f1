"""The pool to LangGraph's tables, as it is configured."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from memoria.conexion import Pool, abrir_pool

CONSULTA = "SELECT prefix FROM store WHERE prefix = %s"


@pytest.fixture
def pool(bd: str) -> Iterator[Pool]:
    with abrir_pool(os.environ["PG_AGENTES"], min_size=1, max_size=1) as abierto:
        yield abierto


def preparadas(pool: Pool) -> int:
    """How many times the query of this test is prepared on the connection, as the server says."""
    with pool.connection() as conexion:
        fila = conexion.execute(
            "SELECT count(*) AS n FROM pg_prepared_statements"
            " WHERE statement LIKE 'SELECT prefix FROM store%'",
            prepare=False,
        ).fetchone()
        assert fila
        return int(fila["n"])


def test_a_query_is_prepared_from_its_first_execution_and_once(pool: Pool) -> None:
    """A run of an agent asks few things of each connection: the usual five executions would never come."""
    assert preparadas(pool) == 0
    for n in range(20):
        with pool.connection() as conexion:
            conexion.execute(CONSULTA, [f"clientes.C{n}"])
        assert preparadas(pool) == 1


def test_each_statement_is_its_own_transaction(pool: Pool) -> None:
    with pool.connection() as conexion:
        assert conexion.autocommit
