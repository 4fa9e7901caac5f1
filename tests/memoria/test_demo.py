"""The demo as its users run it: in a process of its own, on an embedded server of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

RAIZ = Path(__file__).resolve().parents[2]
_AJENAS = ("DATABASE_URL", "DATABASE_URL_OWNER", "PG_AGENTES", "SECRET_KEY", "CLAVE_REGISTRO", "CLAVE_SELLO")


@pytest.fixture(scope="module")
def entorno(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    datos = tmp_path_factory.mktemp("demo")
    limpio = {k: v for k, v in os.environ.items() if k not in _AJENAS}
    return {**limpio, "DATOS": str(datos)}


def orden(entorno: dict[str, str], *partes: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "manage.py", *partes],
        cwd=RAIZ,
        env=entorno,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ejecutar(entorno: dict[str, str], *partes: str) -> tuple[int, Any]:
    with orden(entorno, *partes, "--json") as proceso:
        salida, errores = proceso.communicate(timeout=300)
    assert salida.count("\n") == 1, errores[-2000:]
    return proceso.returncode, json.loads(salida)


def test_a_killed_demo_is_taken_up_and_ends_whole(entorno: dict[str, str]) -> None:
    with orden(entorno, "demo", "--no-server") as primera:
        assert primera.stderr
        for linea in primera.stderr:
            if "formulario" in linea:  # preparing is done, people are being made and notices written
                break
        time.sleep(2)
        primera.send_signal(signal.SIGKILL)
    codigo, datos = ejecutar(entorno, "demo", "--no-server")
    assert codigo == 0
    assert {"url", "usuarios", "clientes", "avisos", "hilos"} <= set(datos)
    assert (datos["clientes"], datos["avisos"]) == (39, 150)
    assert {u["grupo"] for u in datos["usuarios"]} == {"compras", "dpo", "operaciones", "consulta", None}
    assert ejecutar(entorno, "demo", "--no-server")[1] == datos, "a second run keeps what is there"
    codigo, lista = ejecutar(entorno, "doctor")
    assert (codigo, lista["ok"]) == (0, True), [c for c in lista["comprobaciones"] if not c["ok"]]


def test_a_demo_that_is_told_to_stop_does_not_go_on_to_serve(
    tmp_path_factory: pytest.TempPathFactory, entorno: dict[str, str]
) -> None:
    propio = {**entorno, "DATOS": str(tmp_path_factory.mktemp("parada"))}
    with orden(propio, "demo", "--port", "8479") as proceso:
        assert proceso.stderr
        for linea in proceso.stderr:
            if "formulario" in linea:
                break
        proceso.send_signal(signal.SIGINT)
        _salida, errores = proceso.communicate(timeout=300)
    assert proceso.returncode == 3
    assert "repita la orden" in errores


def test_a_configured_database_is_not_filled(entorno: dict[str, str], base: str) -> None:
    ajeno = {**entorno, **{v: os.environ[v] for v in _AJENAS}}
    codigo, datos = ejecutar(ajeno, "demo", "--no-server")
    assert codigo == 2
    assert "DATABASE_URL" in datos["error"]


@pytest.mark.parametrize(
    ("variable", "valor"),
    [
        ("LOG_LEVEL", "ruidoso"),
        ("HTTPS", "quizás"),
        ("CSRF_TRUSTED_ORIGINS", "memoria.example"),
        ("ALLOWED_HOSTS", "http://x"),
        ("DATOS", "/proc/no"),
    ],
)
def test_a_malformed_variable_is_named_on_the_embedded_server_too(
    entorno: dict[str, str], variable: str, valor: str
) -> None:
    with orden({**entorno, variable: valor}, "doctor") as proceso:
        _salida, errores = proceso.communicate(timeout=300)
    assert proceso.returncode == 2
    assert variable in errores
    assert "Traceback" not in errores
