"""The mirrors are read and never written: not by the ORM, and not by the role that stands behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from django.core.exceptions import FieldDoesNotExist
from django.db import ProgrammingError, connection, models
from psycopg import sql
from psycopg.errors import InsufficientPrivilege

from memoria.models import ESPEJOS, Checkpoint, CheckpointBlob, CheckpointWrite, Documento, VectorDocumento
from memoria.politica import documento_preferencia, espacio
from memoria.querysets import EspejoDeSoloLectura
from tests.memoria.explorador_comun import crear_hilo

AVISO = {"texto": "Cierran en agosto", "fecha": "2026-11-29"}
TABLAS_DE_HILOS = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")


Contenido = Callable[[], Any]


@pytest.fixture
def escrito(almacen: Any, almacen_compras: Any, hilos: Any, propietario: psycopg.Connection) -> Contenido:
    """Something in each of LangGraph's tables; calling it tells all that is there, row versions included."""
    for nombre, tipo in (("clientes", "idioma"), ("empleados", "seccion")):
        clave, documento = documento_preferencia(nombre, tipo=tipo, valor="v", hilo="h1")
        almacen.put(espacio(nombre, "X"), clave, documento)
    almacen_compras.put(espacio("proveedores", "P1"), "a1", AVISO)
    crear_hilo(hilos, "h1", "X")
    propietario.execute(
        """
        INSERT INTO langgraph.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
            VALUES ('h1', '', 'messages', '1', 'empty', NULL);
        INSERT INTO langgraph.checkpoint_writes
            (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, blob)
            VALUES ('h1', '', 'c', 't', 0, 'messages', '')
        """
    )

    def todo() -> Any:
        tablas = ("store", "store_vectors", *TABLAS_DE_HILOS)
        return {
            t: propietario.execute(f"SELECT xmin::text, t::text FROM langgraph.{t} t ORDER BY 2").fetchall()
            for t in tablas
        }

    assert all(todo().values())
    return todo


# -- the ORM ------------------------------------------------------------------------------------------

#: Each takes the model and one row of it. The last ones are the low-level doors the public ones go through.
ESCRITURAS: dict[str, Callable[[Any, Any], Any]] = {
    "save": lambda m, o: o.save(),
    "save_force_insert": lambda m, o: o.save(force_insert=True),
    "save_force_update": lambda m, o: o.save(force_update=True),
    "save_update_fields": lambda m, o: o.save(update_fields=[]),
    "save_base": lambda m, o: o.save_base(),
    "save_base_raw": lambda m, o: o.save_base(raw=True),
    "model_save_base": lambda m, o: models.Model.save_base(o, raw=True),
    "delete": lambda m, o: o.delete(),
    "create": lambda m, o: m.objects.create(**_campos(o)),
    "get_or_create": lambda m, o: m.objects.get_or_create(pk=("no",) * len(o.pk), defaults=_campos(o)),
    "update_or_create": lambda m, o: m.objects.update_or_create(pk=o.pk, defaults={}),
    "bulk_create": lambda m, o: m.objects.bulk_create([o]),
    "bulk_create_ignore": lambda m, o: m.objects.bulk_create([o], ignore_conflicts=True),
    "bulk_create_upsert": lambda m, o: m.objects.bulk_create(
        [o], update_conflicts=True, unique_fields=["pk"], update_fields=[_campo_libre(o)]
    ),
    "bulk_update": lambda m, o: m.objects.bulk_update([o], [_campo_libre(o)]),
    "update": lambda m, o: m.objects.update(**{_campo_libre(o): models.F(_campo_libre(o))}),
    "filter_update": lambda m, o: m.objects.filter(pk=o.pk).update(**{_campo_libre(o): None}),
    "queryset_delete": lambda m, o: m.objects.all().delete(),
    "filter_delete": lambda m, o: m.objects.filter(pk=o.pk).delete(),
    "exclude_order_delete": lambda m, o: m.objects.exclude(pk=("no",) * len(o.pk)).order_by("pk").delete(),
    "raw_delete": lambda m, o: m.objects.all()._raw_delete("default"),
    "using_delete": lambda m, o: m.objects.using("default").all().delete(),
    "base_manager_delete": lambda m, o: m._base_manager.all().delete(),
    "base_manager_update": lambda m, o: m._base_manager.update(**{_campo_libre(o): None}),
    "default_manager_create": lambda m, o: m._default_manager.create(**_campos(o)),
    "insert": lambda m, o: m.objects._insert([o], fields=m._meta.local_concrete_fields, using="default"),
    "update_values": lambda m, o: m.objects.filter(pk=o.pk)._update([]),
    "asave": lambda m, o: asyncio.run(o.asave()),
    "adelete": lambda m, o: asyncio.run(o.adelete()),
    "acreate": lambda m, o: asyncio.run(m.objects.acreate(**_campos(o))),
    "aget_or_create": lambda m, o: asyncio.run(m.objects.aget_or_create(pk=o.pk)),
    "aupdate_or_create": lambda m, o: asyncio.run(m.objects.aupdate_or_create(pk=o.pk, defaults={})),
    "abulk_create": lambda m, o: asyncio.run(m.objects.abulk_create([o])),
    "abulk_update": lambda m, o: asyncio.run(m.objects.abulk_update([o], [_campo_libre(o)])),
    "aupdate": lambda m, o: asyncio.run(m.objects.aupdate(**{_campo_libre(o): None})),
    "queryset_adelete": lambda m, o: asyncio.run(m.objects.all().adelete()),
}


def _campos(fila: models.Model) -> dict[str, Any]:
    return {c.attname: getattr(fila, c.attname) for c in fila._meta.local_concrete_fields}


def _campo_libre(fila: models.Model) -> str:
    """A field outside the key."""
    return fila._meta.local_concrete_fields[-1].attname


@pytest.mark.parametrize("modelo", ESPEJOS, ids=lambda m: m.__name__)
@pytest.mark.parametrize("como_escribe", ESCRITURAS)
def test_no_way_of_writing_through_a_mirror(
    escrito: Contenido, modelo: type[models.Model], como_escribe: str
) -> None:
    antes = escrito()
    fila = modelo._default_manager.first()
    with pytest.raises(EspejoDeSoloLectura):
        ESCRITURAS[como_escribe](modelo, fila)
    assert escrito() == antes


def test_every_method_of_a_queryset_that_writes_is_in_the_list() -> None:
    """A Django that brings another way to write must make somebody look here."""
    escriben = {n for n, f in vars(models.QuerySet).items() if getattr(f, "alters_data", False)}
    assert escriben == {
        *("create", "acreate", "bulk_create", "abulk_create", "bulk_update", "abulk_update"),
        *("get_or_create", "aget_or_create", "update_or_create", "aupdate_or_create"),
        *("update", "aupdate", "_update", "_insert", "delete", "adelete", "_raw_delete"),
    }


def test_nothing_points_at_a_mirror() -> None:
    """No relation leads to one, so no cascade and no related manager can write there."""
    for modelo in ESPEJOS:
        assert [r.related_model for r in modelo._meta.related_objects] == []
        assert not [f for f in modelo._meta.get_fields() if f.is_relation]


def test_the_collector_of_deletions_is_stopped_too(escrito: Contenido) -> None:
    """``Collector`` deletes by itself, under the queryset: there it is the role that refuses."""
    from django.db.models.deletion import Collector

    antes = escrito()
    colector = Collector(using="default")
    colector.collect(Checkpoint.objects.all())
    with pytest.raises((EspejoDeSoloLectura, ProgrammingError)):
        colector.delete()
    assert escrito() == antes


@pytest.mark.parametrize("modelo", [Checkpoint, CheckpointBlob, CheckpointWrite], ids=lambda m: m.__name__)
@pytest.mark.parametrize(
    "orden",
    [
        "DELETE FROM {t} RETURNING *",
        "UPDATE {t} SET thread_id = thread_id RETURNING *",
        "INSERT INTO {t} SELECT * FROM {t} RETURNING *",
        "WITH x AS (DELETE FROM {t} RETURNING *) SELECT * FROM x",
    ],
    ids=["delete", "update", "insert", "in_a_select"],
)
def test_a_raw_query_that_writes_is_refused_by_the_role(
    escrito: Contenido, modelo: type[models.Model], orden: str
) -> None:
    antes = escrito()
    with pytest.raises(ProgrammingError, match="permission denied"):
        list(modelo._default_manager.raw(orden.format(t=modelo._meta.db_table)))
    assert escrito() == antes


@pytest.mark.parametrize("nombre", ["clientes", "empleados"])
def test_a_raw_query_touches_no_document_of_a_person(escrito: Contenido, nombre: str) -> None:
    antes = escrito()
    for orden in (
        "DELETE FROM langgraph.store {f} RETURNING *",
        "UPDATE langgraph.store SET value = '{{}}' {f} RETURNING *",
    ):
        # Django maps no composite key out of a raw query and says so, but by then the statement has run.
        with pytest.raises(FieldDoesNotExist):
            list(Documento.objects.raw(orden.format(f=f"WHERE prefix = '{nombre}.X'")))
    assert escrito() == antes


# -- the roles ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tabla", TABLAS_DE_HILOS)
@pytest.mark.parametrize(
    "orden",
    [
        "DELETE FROM langgraph.{t}",
        "UPDATE langgraph.{t} SET thread_id = 'otro'",
        "INSERT INTO langgraph.{t} SELECT * FROM langgraph.{t}",
        "TRUNCATE langgraph.{t}",
        "DROP TABLE langgraph.{t}",
        "ALTER TABLE langgraph.{t} DISABLE ROW LEVEL SECURITY",
    ],
    ids=lambda o: o.split()[0].lower(),
)
def test_the_web_only_reads_the_threads(
    escrito: Contenido, como: Callable[[str], psycopg.Connection], tabla: str, orden: str
) -> None:
    antes = escrito()
    web = como("memoria_web")
    assert web.execute(f"SELECT count(*) FROM langgraph.{tabla}").fetchone() == (1,)
    with pytest.raises(InsufficientPrivilege):
        web.execute(orden.format(t=tabla))
    assert escrito() == antes


@pytest.mark.parametrize("nombre", ["clientes", "empleados"])
def test_the_web_writes_no_document_of_a_person(
    escrito: Contenido, como: Callable[[str], psycopg.Connection], nombre: str
) -> None:
    antes = escrito()
    web = como("memoria_web")
    de_alguien = (f"{nombre}.X",)
    assert len(web.execute("SELECT FROM langgraph.store WHERE prefix = %s", de_alguien).fetchall()) == 1
    assert web.execute("DELETE FROM langgraph.store WHERE prefix = %s", de_alguien).rowcount == 0
    assert web.execute("UPDATE langgraph.store SET value = '{}' WHERE prefix = %s", de_alguien).rowcount == 0
    with pytest.raises(InsufficientPrivilege):
        web.execute("INSERT INTO langgraph.store (prefix, key, value) VALUES (%s, 'k', '{}')", de_alguien)
    # Not by moving a notice there either, nor by an upsert over what is there.
    with pytest.raises(InsufficientPrivilege):
        web.execute("UPDATE langgraph.store SET prefix = %s WHERE prefix = 'proveedores.P1'", de_alguien)
    with pytest.raises(InsufficientPrivilege):
        web.execute(
            "INSERT INTO langgraph.store (prefix, key, value) SELECT prefix, key, '{}' FROM langgraph.store"
            " WHERE prefix = %s ON CONFLICT (prefix, key) DO UPDATE SET value = EXCLUDED.value",
            de_alguien,
        )
    assert escrito() == antes


@pytest.mark.parametrize("tabla", ["store", "store_vectors"])
def test_agents_write_no_notice(
    escrito: Contenido, como: Callable[[str], psycopg.Connection], tabla: str
) -> None:
    antes = escrito()
    agentes = como("memoria_agentes")
    assert agentes.execute(f"DELETE FROM langgraph.{tabla} WHERE prefix = 'proveedores.P1'").rowcount == 0
    assert escrito() == antes


#: Of documents what is searched and quoted, by row policies of its own: tests/documentos/test_espacios.py.
DE_LOS_AGENTES = {"hilos", "documentos_pagina", "documentos_seccion", "documentos_vector"}


def _tablas(propietario: psycopg.Connection) -> set[str]:
    return {
        f[0]
        for f in propietario.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
    }


def test_agents_read_nothing_of_djangos(
    propietario: psycopg.Connection, como: Callable[[str], psycopg.Connection]
) -> None:
    agentes = como("memoria_agentes")
    ajenas = _tablas(propietario) - DE_LOS_AGENTES
    assert {"auth_user", "django_session", "django_admin_log", "memoria_ejecucion"} <= ajenas
    leidas = [t for t in ajenas if _puede(agentes, t)]
    assert leidas == []


def test_a_role_without_grants_reads_nothing(
    propietario: psycopg.Connection, como: Callable[[str], psycopg.Connection]
) -> None:
    propietario.execute("CREATE ROLE cualquiera LOGIN")
    try:
        otro = como("cualquiera")
        assert [t for t in _tablas(propietario) if _puede(otro, t)] == []
        for tabla in ("store", "checkpoints"):
            with pytest.raises(InsufficientPrivilege):
                otro.execute(f"SELECT 1 FROM langgraph.{tabla}")
        for funcion in _funciones(propietario):
            with pytest.raises(InsufficientPrivilege):
                otro.execute(f"SELECT * FROM {funcion}")
        with pytest.raises(InsufficientPrivilege):
            otro.execute("CREATE TABLE public.mia (a int)")
        otro.close()
    finally:
        propietario.execute("DROP ROLE cualquiera")


def _funciones(propietario: psycopg.Connection) -> list[str]:
    """A call of every function of the closed schema, with NULL for its arguments."""
    filas = propietario.execute(
        """
        SELECT format('%s(%s)', p.oid::regproc, string_agg('NULL::' || a::regtype, ', ' ORDER BY n))
        FROM pg_proc p LEFT JOIN unnest(p.proargtypes) WITH ORDINALITY AS t (a, n) ON true
        WHERE pronamespace = 'langgraph'::regnamespace AND prorettype <> 'trigger'::regtype
        GROUP BY p.oid
        """
    ).fetchall()
    assert len(filas) >= 5
    return [f[0] for f in filas]


def _puede(conexion: psycopg.Connection, tabla: str) -> bool:
    try:
        conexion.execute(sql.SQL("SELECT 1 FROM public.{} LIMIT 1").format(sql.Identifier(tabla)))
    except InsufficientPrivilege:
        return False
    return True


def test_the_pages_run_as_the_web(bd: str) -> None:
    """Or none of the above would say anything about the site."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT rolname, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user")
        assert cursor.fetchone() == ("memoria_web", False, False)


def test_a_mirrors_name_says_nothing_of_anybody(escrito: Contenido) -> None:
    for modelo in (Documento, VectorDocumento):
        for fila in modelo.objects.all():
            assert "X" not in str(fila)
            assert "Cierran" not in str(fila)
