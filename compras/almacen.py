"""The store of the agents' memory as purchasing opens it: once per process, when first needed.

Lazily, because its pool has threads and they do not survive the fork of a web worker. A failed open is not
remembered: the next call tries again.
"""

from __future__ import annotations

import atexit
import os
import threading
from contextlib import ExitStack

from memoria import entorno
from memoria.almacen import AlmacenMemoria, abrir_almacen
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
