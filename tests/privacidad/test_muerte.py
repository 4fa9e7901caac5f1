"""SIGKILL before every event of a run: all of it or none, and the next pass ends at zero."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from privacidad import plazos, registro, servicios
from privacidad.estados import Estado
from privacidad.models import Evidencia, Gestion, Solicitud
from tests.esperas import esperar

RAIZ = Path(__file__).resolve().parents[2]


def test_se_le_mate_donde_se_le_mate_queda_todo_o_nada(
    hasta: Callable[..., Any],
    preferencia: Callable[..., None],
    conversacion: Callable[..., None],
    propietario: Any,
    dpo: Any,
    volcado: Callable[..., dict[str, list[Any]]],
    fuera: Any,
    proceso: Callable[..., dict[str, Any]],
) -> None:
    preferencia("OTRO")
    conversacion("OTRO", "h-OTRO")
    fuera.filas["OTRO"] = 1

    def preparar(sujeto: str) -> Any:
        for tipo in ("idioma", "horario"):
            preferencia(sujeto, tipo)
        for letra in "ab":
            conversacion(sujeto, f"h-{sujeto}-{letra}")
        fuera.filas[sujeto] = 3
        solicitud = hasta(Estado.REVISADA, sujeto)
        hasta_cuando = plazos.hoy() + timedelta(days=30)
        servicios.decidir_copia(solicitud=solicitud, hasta=hasta_cuando, motivo=None, por=dpo)
        servicios.aprobar(solicitud=solicitud, por=_otra(solicitud))
        return solicitud

    preparar("CALENTAMIENTO")
    assert proceso(orden="pasada")["codigo"] == 0  # what is loaded now is loaded in every fork
    entera = preparar("ENTERA")
    vivida = proceso(orden="ejecutar", referencia=entera.referencia)
    assert vivida["estado"] == Estado.COMPLETADA
    sucesos = vivida["sucesos"]
    assert len(sucesos) >= 50, sucesos
    assert sucesos.count("COMMIT") >= 3
    assert sucesos.count("HTTP DELETE") == 1
    otros = _de_otros(propietario)
    confirmado = sucesos.index("COMMIT") + 1  # dying before it leaves nothing, after it everything
    vistas = {"todo": 0, "nada": 0}

    for n in range(1, len(sucesos) + 1):
        sujeto = f"M{n}"
        solicitud = preparar(sujeto)
        tenia = _lo_que_hay(propietario, sujeto)
        assert proceso(orden="ejecutar", referencia=solicitud.referencia, muere=n) == {"senal": 9}, n
        _esperar_a_que_no_quede_nadie(propietario)

        hay = _lo_que_hay(propietario, sujeto)
        solicitud = Solicitud.objects.get(pk=solicitud.pk)
        donde = f"killed before event {n}: {sucesos[n - 1]}"
        if n <= confirmado:
            vistas["nada"] += 1
            assert hay == tenia, donde
            assert solicitud.estado == Estado.APROBADA, donde
            assert not solicitud.evidencias.exists(), donde
            assert not hasattr(solicitud, "copia"), donde
            assert fuera.filas[sujeto] == 3, donde
        else:
            vistas["todo"] += 1
            assert not any(hay.values()), donde
            assert solicitud.estado in (Estado.PARCIAL, Estado.COMPLETADA), donde
            assert solicitud.evidencias.get().resultado == Evidencia.Resultado.BORRADO, donde
            assert solicitud.copia.trozos.exists(), donde
        assert registro.verificar().ok, donde

        pasada = proceso(orden="pasada")
        assert pasada["codigo"] == 0, (donde, pasada)
        solicitud = Solicitud.objects.get(pk=solicitud.pk)
        assert solicitud.estado == Estado.COMPLETADA, donde
        assert not any(_lo_que_hay(propietario, sujeto).values()), donde
        assert fuera.filas[sujeto] == 0, donde
        assert solicitud.gestiones.get(destino="fuera").estado == Gestion.Estado.HECHA, donde
        assert solicitud.evidencias.count() == 1, donde
        assert registro.verificar().ok, donde
    assert min(vistas.values()) >= 5, vistas
    assert _de_otros(propietario) == otros
    assert fuera.filas["OTRO"] == 1


def _otra(solicitud: Any) -> Any:
    """Somebody who may approve and did not receive it."""
    from django.contrib.auth.models import User

    return User.objects.get(username="dpo-dos")


def _lo_que_hay(propietario: Any, sujeto: str) -> dict[str, int]:
    return {
        tabla: propietario.execute(f"SELECT count(*) FROM {tabla} WHERE {donde}", [de % sujeto]).fetchone()[0]
        for tabla, donde, de in (
            ("langgraph.store", "prefix = %s", "clientes.%s"),
            ("hilos", "sujeto_id = %s", "%s"),
            ("langgraph.checkpoints", "starts_with(thread_id, %s)", "h-%s-"),
            ("langgraph.checkpoint_blobs", "starts_with(thread_id, %s)", "h-%s-"),
            ("langgraph.checkpoint_writes", "starts_with(thread_id, %s)", "h-%s-"),
        )
    }


def _de_otros(propietario: Any) -> list[str]:
    """Every row of customer OTRO, all columns."""
    filas: list[str] = []
    for tabla, donde in (
        ("langgraph.store", "prefix = 'clientes.OTRO'"),
        ("hilos", "thread_id = 'h-OTRO'"),
        ("langgraph.checkpoints", "thread_id = 'h-OTRO'"),
        ("langgraph.checkpoint_blobs", "thread_id = 'h-OTRO'"),
        ("langgraph.checkpoint_writes", "thread_id = 'h-OTRO'"),
    ):
        filas += [f[0] for f in propietario.execute(f"SELECT to_jsonb(t)::text FROM {tabla} t WHERE {donde}")]
    assert len(filas) == 5
    return sorted(filas)


def _esperar_a_que_no_quede_nadie(propietario: Any) -> None:
    """The server notices that a client died when it next reads from it, and rolls back."""
    esperar(
        lambda: not propietario.execute(ABIERTAS).fetchone(),
        "the session of the killed process is still there",
    )


#: The test's own session of the web is idle outside any transaction; the killed one had its own.
ABIERTAS = """
SELECT pid FROM pg_stat_activity
WHERE application_name = 'muerte' AND datname = current_database()
"""


@pytest.fixture
def fuera() -> Iterator[Any]:
    """Another system: rows by subject, over HTTP. GET counts them, DELETE takes them."""
    filas: dict[str, int] = {}

    class Peticion(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._responder(filas.get(unquote(self.path[1:]), 0))

        def do_DELETE(self) -> None:
            sujeto = unquote(self.path[1:])
            cuantas = filas.get(sujeto, 0)
            filas[sujeto] = 0
            self._responder(cuantas)

        def _responder(self, cuantas: int) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(str(cuantas).encode())

        def log_message(self, format: str, *args: Any) -> None:
            pass

    servidor = ThreadingHTTPServer(("127.0.0.1", 0), Peticion)
    servidor.filas = filas  # type: ignore[attr-defined]
    hilo = threading.Thread(target=servidor.serve_forever)
    hilo.start()
    yield servidor
    servidor.shutdown()
    servidor.server_close()
    hilo.join()


@pytest.fixture
def proceso(bd: str, otro_dpo: Any, fuera: Any) -> Iterator[Callable[..., dict[str, Any]]]:
    """``proceso(orden=…)``: an order to ``muerte.py``, and its answer."""
    url = f"http://127.0.0.1:{fuera.server_address[1]}"
    with subprocess.Popen(
        [sys.executable, "-m", "tests.privacidad.muerte", url],
        cwd=RAIZ,
        env={**os.environ, "PGAPPNAME": "muerte", "LOG_LEVEL": "CRITICAL", "PYTHONWARNINGS": "ignore"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as hijo:
        entrada, salida = hijo.stdin, hijo.stdout
        assert entrada
        assert salida

        def mandar(**orden: Any) -> dict[str, Any]:
            entrada.write(json.dumps(orden) + "\n")
            entrada.flush()
            return json.loads(salida.readline())  # type: ignore[no-any-return]

        yield mandar
        entrada.close()
        hijo.wait(30)
