"""The owner spaces of documents: one per kind of agent, and how a connection is put into one.

The database holds the rule: row-level security, enabled and forced, shows and takes only the rows of the
space that the transaction says, and none when it says nothing (``migrations/0002_seguridad.py``). This module
is the only place that says it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

#: One per agent. The context of a run says which is read; neither a model nor a request ever names it.
ESPACIOS: tuple[str, ...] = ("compras", "sala", "cliente")
#: The setting that the row policies look at, in force until the end of the transaction.
AJUSTE = "memoria.espacio"


class EspacioDesconocido(ValueError):
    """There is no such owner space."""

    def __init__(self) -> None:
        super().__init__(f"Ese espacio de documentos no existe; los que hay son: {', '.join(ESPACIOS)}.")


def comprobar_espacio(espacio: str) -> str:
    """``espacio``, if there is such a space. Raises :class:`EspacioDesconocido`."""
    if espacio not in ESPACIOS:
        raise EspacioDesconocido
    return espacio


@contextmanager
def en_espacio(conexion: psycopg.Connection[Any], espacio: str) -> Iterator[None]:
    """A transaction in which ``conexion`` sees and writes the documents of ``espacio`` and of no other.

    Raises :class:`EspacioDesconocido`.
    """
    comprobar_espacio(espacio)
    with conexion.transaction():
        conexion.execute(PONER, [espacio])
        yield


#: True: until the end of the transaction. A pooled connection goes back with nothing set.
PONER = f"SELECT set_config('{AJUSTE}', %s, true)"
