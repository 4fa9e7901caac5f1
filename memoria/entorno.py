"""The environment variables that both the agent library and Django need, read when asked for.

Django's own variables are read in ``settings.py``; these are here because an agent has no settings.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TypeVar

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from memoria import servidor

T = TypeVar("T", int, float)


class VariableIncorrecta(RuntimeError):
    """An environment variable is missing or malformed. The message names it and says what it should be."""


@dataclass(frozen=True)
class EntornoEmbeddings:
    """``EMBEDDINGS_*``. With ``url`` empty the embedded model is used."""

    url: str | None
    modelo: str | None
    dims: int | None
    api_key: str | None
    umbral: float | None


@dataclass(frozen=True)
class EntornoModelo:
    """``LLM_*``: an OpenAI-compatible chat endpoint. With ``url`` empty there is no model."""

    url: str | None
    modelo: str | None
    api_key: str | None


def conninfo_agentes() -> str:
    """The connection of the agents (``PG_AGENTES``), starting the embedded server when nothing is set."""
    servidor.asegurar()
    return _conninfo("PG_AGENTES")


def conninfo_web() -> str:
    """The connection of the web and of the commands (``DATABASE_URL``)."""
    return _conninfo("DATABASE_URL")


def conninfo_propietario() -> str:
    """The connection that may create and migrate (``DATABASE_URL_OWNER``, or ``DATABASE_URL``)."""
    return _conninfo("DATABASE_URL_OWNER" if os.environ.get("DATABASE_URL_OWNER") else "DATABASE_URL")


def usuario_y_clave(variable: str) -> tuple[str, str]:
    """User and password that a connection variable carries, each empty where it carries none, or is not set.

    Raises :class:`VariableIncorrecta`.
    """
    partes = conninfo_to_dict(_conninfo(variable) if os.environ.get(variable) else "")
    return str(partes.get("user") or ""), str(partes.get("password") or "")


def embeddings() -> EntornoEmbeddings:
    return EntornoEmbeddings(
        url=os.environ.get("EMBEDDINGS_URL") or None,
        modelo=os.environ.get("EMBEDDINGS_MODEL") or None,
        dims=_numero("EMBEDDINGS_DIMS", int, "un número entero de dimensiones, por ejemplo 1024"),
        api_key=os.environ.get("EMBEDDINGS_API_KEY") or None,
        umbral=_numero("EMBEDDINGS_UMBRAL", float, "un número entre -1 y 1, por ejemplo 0.4"),
    )


def modelo() -> EntornoModelo:
    return EntornoModelo(
        url=os.environ.get("LLM_URL") or None,
        modelo=os.environ.get("LLM_MODEL") or None,
        api_key=os.environ.get("LLM_API_KEY") or None,
    )


def _conninfo(variable: str) -> str:
    valor = os.environ.get(variable, "")
    if not valor:
        raise VariableIncorrecta(f"Falta la variable {variable}: una URL postgresql:// (vea .env.example).")
    try:
        partes = conninfo_to_dict(valor)
    except ProgrammingError:
        partes = {}
    if not partes.get("dbname") or not _PUERTOS.fullmatch(str(partes.get("port") or "")):
        # The value is not repeated: it usually holds a password.
        raise VariableIncorrecta(
            f"La variable {variable} no es una conexión válida: "
            "debe ser como postgresql://usuario:clave@servidor:5432/base."
        )
    return valor


_PUERTOS = re.compile(r"(\d+(,\d+)*)?")  # libpq takes a list, one for each host


def _numero(variable: str, tipo: type[T], que: str) -> T | None:
    valor = os.environ.get(variable, "")
    if not valor:
        return None
    try:
        return tipo(valor)
    except ValueError:
        raise VariableIncorrecta(f"La variable {variable} vale «{valor}» y debe ser {que}.") from None
