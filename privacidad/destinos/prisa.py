"""How long a page may wait for other systems. A command waits as long as each of them is given.

An external destination asks :func:`queda` before each call, limits the whole call to that, and makes it
inside :func:`midiendo`. Only the time spent so counts: what PostgreSQL takes is another matter.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from privacidad.errores import SinTiempo

#: Seconds, over all the destinations and all the calls that one page makes.
EN_UNA_PAGINA = 4.0

#: Seconds left, in a list of one; none when nobody is waiting.
_restante: ContextVar[list[float] | None] = ContextVar("prisa", default=None)


@contextmanager
def con_prisa() -> Iterator[None]:
    """Inside it all the calls to other systems together take little more than :data:`EN_UNA_PAGINA`."""
    marca = _restante.set([EN_UNA_PAGINA])
    try:
        yield
    finally:
        _restante.reset(marca)


def queda() -> float | None:
    """Seconds left for other systems, ``None`` if there is no limit. Raises :class:`SinTiempo` at zero."""
    restante = _restante.get()
    if restante is None:
        return None
    if restante[0] <= 0:
        raise SinTiempo
    return restante[0]


@contextmanager
def midiendo() -> Iterator[None]:
    """What is done inside spends of what is left, however it ends."""
    restante, empezo = _restante.get(), time.monotonic()
    try:
        yield
    finally:
        if restante is not None:
            restante[0] -= time.monotonic() - empezo
