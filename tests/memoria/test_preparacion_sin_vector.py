"""M7: PostgreSQL 15 without pgvector, prepared by an owner who may create roles and is no superuser.

``preparar`` says who must do what, and everything but search by meaning works all the same.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from memoria.almacen import abrir_almacen
from memoria.busqueda import buscar_avisos
from memoria.hilos import abrir_checkpointer
from memoria.politica import Escritor, documento_preferencia, espacio
from tests.memoria.procesos import Proceso, ejecutar, gestionar, variables

BINARIOS = Path("/usr/lib/postgresql/15/bin")
AVISO = {"texto": "Cierran por inventario los días 2 y 3", "fecha": "2026-01-02"}


@pytest.fixture(scope="module")
def servidor15() -> Iterator[str]:
    """Debian's PostgreSQL 15 on a socket of its own; the folder of that socket."""
    if not (BINARIOS / "initdb").exists():
        motivo = f"falta PostgreSQL 15 en {BINARIOS} (paquete postgresql-15)"
        if os.environ.get("E2E"):
            pytest.fail(motivo)
        pytest.skip(motivo)
    carpeta = Path(tempfile.mkdtemp(prefix="pg15-"))
    datos = carpeta / "datos"

    def correr(programa: str, *argumentos: str) -> None:
        subprocess.run(
            [BINARIOS / programa, "-D", datos, *argumentos],
            check=True,
            stdout=subprocess.DEVNULL,  # the server inherits it: a pipe would stay open
            stderr=subprocess.DEVNULL,
            cwd=carpeta,
            user=usuario,
        )

    # PostgreSQL refuses to run as root.
    usuario = None
    if os.geteuid() == 0:
        usuario = next((u for u in ("postgres", "nobody") if _existe_usuario(u)), None)
        assert usuario, "no hay un usuario sin privilegios con el que arrancar PostgreSQL"
        shutil.chown(carpeta, usuario)
    opciones = f"-k {carpeta} -c listen_addresses='' -c fsync=off"
    try:
        correr("initdb", "-A", "trust", "-U", "postgres", "--no-sync", "-E", "UTF8", "--locale", "C.UTF-8")
        correr("pg_ctl", "-w", "-o", opciones, "-l", str(carpeta / "log"), "start")
        yield str(carpeta)
        correr("pg_ctl", "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(carpeta, ignore_errors=True)


def _existe_usuario(nombre: str) -> bool:
    try:
        pwd.getpwnam(nombre)
    except KeyError:
        return False
    return True


@pytest.fixture(scope="module")
def sin_rol_ni_permiso(servidor15: str) -> Proceso:
    """``preparar`` by an owner who may not create the roles, before anybody has."""
    with psycopg.connect(host=servidor15, user="postgres", dbname="postgres", autocommit=True) as admin:
        admin.execute("CREATE ROLE duena_llana LOGIN")
        admin.execute("CREATE DATABASE llana OWNER duena_llana")
    return gestionar("preparar", "--json", entorno=variables(servidor15, "llana", "duena_llana"))


@pytest.fixture(scope="module")
def urls(servidor15: str, sin_rol_ni_permiso: Proceso) -> dict[str, str]:
    with psycopg.connect(host=servidor15, user="postgres", dbname="postgres", autocommit=True) as admin:
        admin.execute("CREATE ROLE duena LOGIN CREATEROLE CREATEDB")
        admin.execute("CREATE DATABASE memoria OWNER duena")
    urls = variables(servidor15, "memoria", "duena")
    # With a password: the role that preparar makes must be able to enter with it.
    urls["PG_AGENTES"] = urls["PG_AGENTES"].replace("memoria_agentes@", "memoria_agentes:la-clave@")
    return urls


@pytest.fixture(scope="module")
def sin_preparar(urls: dict[str, str]) -> Proceso:
    """``doctor`` before there is anything, not even the web's role."""
    return gestionar("doctor", "--json", entorno=urls)


@pytest.fixture(scope="module")
def preparada(urls: dict[str, str], sin_preparar: Proceso) -> Proceso:
    return gestionar("preparar", "--json", entorno=urls)


def rojas(proceso: Proceso) -> dict[str, Any]:
    return {c["id"]: c for c in proceso.json["comprobaciones"] if not c["ok"]}


def test_without_the_roles_it_says_what_to_run(sin_rol_ni_permiso: Proceso) -> None:
    assert sin_rol_ni_permiso.codigo == 5
    assert "CREATE ROLE memoria_web LOGIN" in sin_rol_ni_permiso.json["error"]
    assert "Traceback" not in sin_rol_ni_permiso.errores


def test_doctor_on_an_untouched_database_is_red_and_calm(sin_preparar: Proceso) -> None:
    assert sin_preparar.codigo == 5
    assert not sin_preparar.json["ok"]
    assert {"conexion-web", "preparada", "roles", "extension-vector"} <= rojas(sin_preparar).keys()
    assert all(c["remedio"] for c in rojas(sin_preparar).values())
    assert "Traceback" not in sin_preparar.errores


def test_preparar_says_who_must_create_the_extension(preparada: Proceso) -> None:
    assert preparada.codigo == 5
    frase = preparada.json["error"]
    assert "CREATE EXTENSION vector" in frase
    assert "administrador" in frase
    assert "Traceback" not in preparada.errores


def test_the_roles_it_made_have_the_password_of_their_url(preparada: Proceso, servidor15: str) -> None:
    with psycopg.connect(host=servidor15, user="postgres", dbname="postgres") as admin:
        claves: dict[str, str | None] = dict(
            admin.execute(
                "SELECT rolname, rolpassword FROM pg_authid WHERE rolname LIKE 'memoria%'"
            ).fetchall()
        )
        atributos = admin.execute(
            "SELECT bool_or(rolsuper OR rolcreaterole OR rolcreatedb OR rolbypassrls) FROM pg_roles"
            " WHERE rolname LIKE 'memoria%'"
        ).fetchone()
    assert str(claves["memoria_agentes"]).startswith("SCRAM-SHA-256$")
    assert claves["memoria_web"] is None
    assert atributos == (False,)


def test_doctor_says_only_the_vectors_are_missing(preparada: Proceso, urls: dict[str, str]) -> None:
    doctor = gestionar("doctor", "--json", entorno=urls)
    assert doctor.codigo == 3
    assert rojas(doctor).keys() == {"extension-vector", "dimensiones-vector"}
    assert "CREATE EXTENSION vector" in rojas(doctor)["extension-vector"]["remedio"]


def test_the_site_answers_and_the_commands_run(preparada: Proceso, urls: dict[str, str]) -> None:
    codigo = """
import os, django
os.environ["DJANGO_SETTINGS_MODULE"] = "memoria.settings"
django.setup()
from django.core.management import call_command
from django.test import Client
sitio = Client(headers={"host": "localhost"})
print(*(sitio.get(ruta, secure=True).status_code for ruta in ("/readyz", "/admin/login/")))
call_command("barrer")
call_command("medir")
"""
    p = ejecutar(codigo, entorno=urls)
    assert p.codigo == 0, p.errores
    assert p.salida.startswith("200 200\n")


def test_preferences_are_written_read_and_erased(
    preparada: Proceso, urls: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    clave, documento = documento_preferencia("clientes", tipo="idioma", valor="gallego", hilo="h1")
    with abrir_almacen(urls["PG_AGENTES"], min_size=1) as almacen:
        assert "sin búsqueda por significado" in caplog.text
        for sujeto in ("C1", "C10"):
            almacen.put(espacio("clientes", sujeto), clave, documento)
        leido = almacen.get(espacio("clientes", "C1"), clave)
        assert leido is not None
        assert leido.value == documento
        assert [i.key for i in almacen.search(espacio("clientes", "C1"))] == [clave]
        with psycopg.connect(urls["DATABASE_URL"], autocommit=True) as web:
            cuenta = "SELECT * FROM langgraph.contar_sujeto('clientes.C1')"
            assert web.execute(cuenta).fetchone() == (1, 0, 0)
            assert web.execute("SELECT * FROM langgraph.borrar_sujeto('clientes.C1')").fetchone() == (1, 0)
            assert web.execute(cuenta).fetchone() == (0, 0, 0)
            assert web.execute("SELECT * FROM langgraph.borrar_hilos(ARRAY['h1'])").fetchone() == (0, 0, 0)
        assert almacen.get(espacio("clientes", "C1"), clave) is None
        assert almacen.get(espacio("clientes", "C10"), clave) is not None


def test_a_notice_is_put_and_read(preparada: Proceso, urls: dict[str, str]) -> None:
    nombre = espacio("proveedores", "P1")
    with abrir_almacen(urls["DATABASE_URL"], escritor=Escritor.COMPRAS, min_size=1) as almacen:
        almacen.put(nombre, "a", AVISO)
        leido = almacen.get(nombre, "a")
        assert leido is not None
        assert leido.value == AVISO
        assert [i.key for i in almacen.search(nombre)] == ["a"]
        # By its words, since not by its meaning.
        assert [i.key for i in buscar_avisos(almacen, "P1", "inventario")] == ["a"]


def test_threads_open(preparada: Proceso, urls: dict[str, str]) -> None:
    with abrir_checkpointer(urls["PG_AGENTES"]) as hilos:
        assert (
            hilos.get_tuple({"configurable": {"thread_id": "h", "__memoria_sujeto": ("clientes", "C9")}})
            is None
        )
