"""``manage.py`` and other programs as processes of their own: for exit codes and streams."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg

RAIZ = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Proceso:
    """How a process ended."""

    codigo: int
    salida: str
    errores: str

    @property
    def json(self) -> Any:
        """Its standard output, which must be one JSON object and nothing else."""
        return json.loads(self.salida)


def gestionar(*argumentos: str, entorno: dict[str, str] | None = None) -> Proceso:
    """Run ``manage.py`` with these arguments; ``entorno`` is added to the tests' own (empty: removed)."""
    return terminar(arrancar(str(RAIZ / "manage.py"), *argumentos, entorno=entorno))


def ejecutar(codigo: str, *, entorno: dict[str, str] | None = None) -> Proceso:
    """Run a few lines of Python."""
    return terminar(arrancar("-c", codigo, entorno=entorno))


def arrancar(*argumentos: str, entorno: dict[str, str] | None = None) -> subprocess.Popen[str]:
    variables = {**os.environ, "PYTHONPATH": str(RAIZ), "PYTHONUTF8": "1", **(entorno or {})}
    return subprocess.Popen(
        [sys.executable, *argumentos],
        cwd=RAIZ,
        env={k: v for k, v in variables.items() if v},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


def terminar(proceso: subprocess.Popen[str]) -> Proceso:
    """Wait for it. A process that does not end in five minutes is killed and the test fails."""
    try:
        salida, errores = proceso.communicate(timeout=300)
    finally:
        proceso.kill()
    return Proceso(proceso.returncode, salida, errores)


def variables(servidor: str, base: str, dueno: str) -> dict[str, str]:
    """The three URLs for ``base`` on the server whose socket is in the folder ``servidor``."""
    roles = {"DATABASE_URL_OWNER": dueno, "DATABASE_URL": "memoria_web", "PG_AGENTES": "memoria_agentes"}
    return {v: f"postgresql://{rol}@/{base}?host={quote(servidor, safe='')}" for v, rol in roles.items()}


def carpeta_del_servidor(url: str) -> str:
    return str(psycopg.conninfo.conninfo_to_dict(url)["host"])
