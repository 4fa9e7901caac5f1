"""Rows that change their place, and whoever looks for something in every place at once.

A search of several tables is several statements, and each sees what is committed when it begins: a row that
goes meanwhile from one that is still to be read to one that was read is in none. So whoever moves rows holds
a lock of PostgreSQL, shared, until the end of its transaction, and whoever searches holds it alone.

A move asks for it before it looks at anything that a search writes down, and after the locks it shares with
an erasure (``sql/vallas.sql``); a search, before the register of privacy. In that order nobody who has it
waits for somebody who wants it.
"""

from __future__ import annotations

from django.db import OperationalError, connection
from psycopg.errors import LockNotAvailable

#: A number of ours: PostgreSQL's advisory locks have no names.
CERROJO = "hashtextextended('memoria:mudanzas', 0)"
#: What a move waits for a search, and a search for the moves in flight.
ESPERA = "8s"


class EsperaAgotada(Exception):
    """Others have not ended in ``ESPERA``. The transaction can only be rolled back."""


def mover() -> None:
    """No search begins, and none is under way, until this transaction ends. Raises :class:`EsperaAgotada`."""
    _pedir("pg_advisory_xact_lock_shared")


def buscar() -> None:
    """Nothing is moved until this transaction ends. Raises :class:`EsperaAgotada`."""
    _pedir("pg_advisory_xact_lock")


def _pedir(funcion: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('lock_timeout')")
        antes = cursor.fetchone()[0]
        cursor.execute("SELECT set_config('lock_timeout', %s, true)", [ESPERA])
        try:
            cursor.execute(f"SELECT {funcion}({CERROJO})")
        except OperationalError as error:
            if isinstance(error.__cause__, LockNotAvailable):
                raise EsperaAgotada from error
            raise
        cursor.execute("SELECT set_config('lock_timeout', %s, true)", [antes])
