"""The store of the agents' memory as purchasing opens it: once per process, when first needed.

Lazily, because its pool has threads and they do not survive the fork of a web worker. A failed open is not
remembered: the next call tries again.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import psycopg
from django.db import connection

from memoria import entorno
from memoria.almacen import AlmacenMemoria, abrir_almacen
from memoria.conexion import ESQUEMA
from memoria.politica import Escritor

# A web worker serves few requests at once, and the embedded server allows 100 connections in all.
_CONEXIONES_MAXIMAS = 4

_candado = threading.Lock()
_recursos = ExitStack()
_almacen: AlmacenMemoria | None = None


def almacen() -> AlmacenMemoria:
    """The store of this process. Raises what :func:`memoria.almacen.abrir_almacen` raises."""
    global _almacen
    if _almacen is None:
        with _candado:
            if _almacen is None:
                _almacen = _recursos.enter_context(
                    abrir_almacen(
                        entorno.conninfo_web(),
                        escritor=Escritor.COMPRAS,
                        min_size=1,
                        max_size=_CONEXIONES_MAXIMAS,
                    )
                )
    return _almacen


@contextmanager
def almacen_de_la_transaccion() -> Iterator[AlmacenMemoria]:
    """The same store over Django's connection: what is put is part of the transaction that is open on it.

    For what must be written whole or not at all, together with rows of our own tables. To write only: what
    Django makes of a JSON column is not what the store expects to read.
    """
    modelo = almacen().modelo
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('search_path', %s, true)", [f"{ESQUEMA}, public"])
    conexion = connection.connection
    # Django binds on the client; the store asks for binary results, which only the server gives.
    de_django, conexion.cursor_factory = conexion.cursor_factory, psycopg.Cursor
    try:
        yield AlmacenMemoria(conexion, escritor=Escritor.COMPRAS, embeddings=modelo)
    finally:
        conexion.cursor_factory = de_django


@atexit.register
def cerrar() -> None:
    """Close the pool; the next call of :func:`almacen` opens it again."""
    global _almacen
    with _candado:
        _almacen = None
        _recursos.close()


def _olvidar() -> None:
    """In a forked child: its parent's connections are not ours to use, nor to close."""
    global _almacen, _candado, _recursos
    _candado, _recursos, _almacen = threading.Lock(), ExitStack(), None


os.register_at_fork(after_in_child=_olvidar)
