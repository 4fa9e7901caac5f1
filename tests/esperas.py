"""Waiting for another session, thread or process: until it is so, never for a time that may be too short."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

import psycopg
import pytest
from django.db import connections

#: Seconds. Whoever comes to them has failed: a test that passes waits for what it needs and no longer.
LIMITE = 300

T = TypeVar("T")


def esperar(condicion: Callable[[], T], si_no: str) -> T:
    """What ``condicion`` gives as soon as it is true; the test fails with ``si_no`` if it never is."""
    fin = time.monotonic() + LIMITE
    while not (hallado := condicion()):
        if time.monotonic() > fin:
            pytest.fail(si_no)
        time.sleep(0.01)
    return hallado


def esperando(propietario: psycopg.Connection, sentencia: str = "%") -> list[int]:
    """The process ids of the sessions that wait for a lock in a statement like that (``ILIKE``)."""
    propietario.execute("SELECT pg_stat_clear_snapshot()")  # or a transaction would see that of its start
    return [fila[0] for fila in propietario.execute(_ESPERANDO, [sentencia])]


def esperar_a_que_espere(
    propietario: psycopg.Connection, sentencia: str = "%", cuantas: int = 1
) -> list[int]:
    """Until so many sessions wait so; their process ids."""
    return esperar(
        lambda: pids if len(pids := esperando(propietario, sentencia)) >= cuantas else [],
        "nobody came to wait for a lock",
    )


_ESPERANDO = """
SELECT pid FROM pg_stat_activity
WHERE wait_event_type = 'Lock' AND backend_type = 'client backend' AND pid <> pg_backend_pid()
  AND query ILIKE %s
"""


class EnOtroHilo:
    """A call in a thread, with connections of its own. As a context manager: it is over when the block is."""

    def __init__(self, llamada: Callable[[], Any]) -> None:
        self._llamada = llamada
        self._valor: Any = None
        self._error: BaseException | None = None
        self._hilo = threading.Thread(target=self._correr, daemon=True)

    def empezar(self) -> EnOtroHilo:
        self._hilo.start()
        return self

    def en_marcha(self) -> bool:
        return self._hilo.is_alive()

    def resultado(self) -> Any:
        """What it returned, once it has; raises what it raised."""
        self._hilo.join(LIMITE)
        assert not self._hilo.is_alive(), "it does not end"
        if self._error:
            raise self._error
        return self._valor

    def __enter__(self) -> Any:
        return self.empezar()

    def __exit__(self, *args: object) -> None:
        self._hilo.join(LIMITE)

    def _correr(self) -> None:
        try:
            self._valor = self._llamada()
        except BaseException as error:  # noqa: BLE001 - raised again by resultado()
            self._error = error
        finally:
            connections.close_all()


def a_la_vez(*llamadas: Callable[[], T]) -> list[T]:
    """All of them at the same moment, each in a thread of its own; what each returned, in their order."""
    salida = threading.Barrier(len(llamadas))

    def cuando_esten_todos(llamada: Callable[[], T]) -> Callable[[], T]:
        def correr() -> T:
            salida.wait(LIMITE)
            return llamada()

        return correr

    hilos = [EnOtroHilo(cuando_esten_todos(llamada)).empezar() for llamada in llamadas]
    return [hilo.resultado() for hilo in hilos]
