"""A process that runs erasures and kills itself, for the kill test. Not a test: ``test_muerte.py`` starts it.

It reads one JSON object a line and answers one:

* ``{"orden": "ejecutar", "referencia": r, "muere": n}`` runs ``servicios.ejecutar`` in a fork, with
  connections of its own, which sends itself SIGKILL before event ``n``; without ``n`` it lives, and says what
  they were;
* ``{"orden": "pasada"}`` is ``ejecutar_supresiones``, here, leaving no connection for the forks to share.

An event is a statement, a commit or a call to the destination outside: between two of them nothing happens.
"""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import urllib.request
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import django

django.setup()

from django.core.management import call_command  # noqa: E402 - needs the settings
from django.core.management.base import CommandError  # noqa: E402
from django.db import connection, connections  # noqa: E402

from privacidad import destinos, servicios, supresion  # noqa: E402
from privacidad.destinos import Destino, Recuento, Sujeto  # noqa: E402
from privacidad.models import Solicitud  # noqa: E402


class Fuera(Destino):
    """A destination that is not in PostgreSQL: a small HTTP server that keeps rows by subject."""

    nombre = "fuera"
    etiqueta = "Otro sistema"
    etiquetas = {"filas": "filas"}
    externo = True

    def __init__(self, url: str, suceso: Callable[[str], None]) -> None:
        self._url = url
        self._suceso = suceso

    def contar(self, sujeto: Sujeto) -> Recuento:
        return self._pedir("GET", sujeto)

    def suprimir(self, sujeto: Sujeto) -> Recuento:
        return self._pedir("DELETE", sujeto)

    def parametros(self, sujeto: Sujeto) -> dict[str, str]:
        return {}

    def _pedir(self, metodo: str, sujeto: Sujeto) -> Recuento:
        self._suceso(f"HTTP {metodo}")
        peticion = urllib.request.Request(f"{self._url}/{quote(sujeto.sujeto_id, safe='')}", method=metodo)
        with urllib.request.urlopen(peticion, timeout=10) as respuesta:
            return {"filas": int(respuesta.read())}


class Sucesos:
    """Counts the events of this process and, before one of them, ends it as ``kill -9`` does."""

    def __init__(self, muere: int | None) -> None:
        self.vistos: list[str] = []
        self._muere = muere

    def __call__(self, que: str) -> None:
        self.vistos.append(que)
        if len(self.vistos) == self._muere:
            os.kill(os.getpid(), signal.SIGKILL)

    def sentencia(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        self(" ".join(str(sql).split()[:4]))
        return execute(sql, params, many, context)

    def vigilar_confirmaciones(self) -> None:
        confirmar = connection._commit  # type: ignore[attr-defined]  # the one place every commit passes

        def contada() -> None:
            self("COMMIT")
            confirmar()

        connection._commit = contada  # type: ignore[attr-defined]


def ejecutar(referencia: str, muere: int | None, url: str) -> dict[str, Any]:
    sucesos = Sucesos(muere)
    conocer(Fuera(url, sucesos))
    solicitud = Solicitud.objects.get(referencia=referencia)
    sucesos.vigilar_confirmaciones()
    with connection.execute_wrapper(sucesos.sentencia):
        servicios.ejecutar(solicitud=solicitud)
    sucesos("FIN")
    return {"sucesos": sucesos.vistos, "estado": solicitud.estado}


def pasada() -> dict[str, Any]:
    salida = io.StringIO()
    codigo = 0
    try:
        call_command("ejecutar_supresiones", "--json", stdout=salida, stderr=io.StringIO())
    except CommandError as error:
        codigo = error.returncode
    finally:
        connections.close_all()
    return {"codigo": codigo, **json.loads(salida.getvalue())}


def conocer(fuera: Fuera) -> None:
    conocidos = (d for d in destinos.DESTINOS if d.nombre != fuera.nombre)
    destinos.DESTINOS = (*conocidos, fuera)
    supresion.DESTINOS = destinos.DESTINOS  # type: ignore[attr-defined]  # in this process alone


def en_otro_proceso(referencia: str, muere: int | None, url: str) -> dict[str, Any]:
    """What a fork answers; ``{"senal": 9}`` when it died."""
    leer, escribir = os.pipe()
    hijo = os.fork()
    if not hijo:
        os.close(leer)
        os.write(escribir, json.dumps(ejecutar(referencia, muere, url)).encode())
        os._exit(0)
    os.close(escribir)
    with os.fdopen(leer, "rb") as respuesta:
        texto = respuesta.read()
    _, estado = os.waitpid(hijo, 0)
    if os.WIFSIGNALED(estado):
        return {"senal": os.WTERMSIG(estado)}
    return json.loads(texto) if texto else {"error": os.WEXITSTATUS(estado)}


def atender(url: str) -> None:
    conocer(Fuera(url, lambda que: None))
    for linea in sys.stdin:
        orden = json.loads(linea)
        if orden["orden"] == "pasada":
            hecho = pasada()
        else:
            hecho = en_otro_proceso(orden["referencia"], orden.get("muere"), url)
        sys.stdout.write(json.dumps(hecho) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    atender(sys.argv[1])
