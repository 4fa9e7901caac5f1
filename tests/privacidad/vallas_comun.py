"""What the tests of fences share: writes that are refused, and an erasure held at its end."""

from __future__ import annotations

from typing import Any

import psycopg

from privacidad import servicios
from tests.esperas import EnOtroHilo, esperar_a_que_espere

NUEVO_DOCUMENTO = "INSERT INTO langgraph.store (prefix, key, value) VALUES (%s, 'x', '{}')"
NUEVO_HILO = "INSERT INTO hilos (thread_id, espacio, sujeto_id) VALUES (%s, 'clientes', %s)"


def intento(conexion: Any, sentencia: str, parametros: list[str]) -> str:
    """The SQLSTATE a statement is refused with; empty when it is not."""
    try:
        conexion.execute(sentencia, parametros)
    except psycopg.DatabaseError as error:
        return str(error.diag.sqlstate)
    return ""


class Retenida(EnOtroHilo):
    """An erasure that has deleted everything and waits, on a lock of ours, to write its evidence."""

    def __init__(self, solicitud: Any, propietario: Any) -> None:
        super().__init__(lambda: servicios.ejecutar(solicitud=solicitud))
        self._propietario = propietario
        self._freno = psycopg.connect(propietario.info.dsn)

    def __enter__(self) -> Any:
        self._freno.execute("LOCK TABLE privacidad_evidencia IN EXCLUSIVE MODE")
        super().__enter__()
        esperar_a_que_espere(self._propietario, 'INSERT INTO "privacidad_evidencia"%')
        return self

    def soltar(self) -> None:
        self._freno.rollback()

    def __exit__(self, *args: object) -> None:
        self._freno.close()
        super().__exit__(*args)
