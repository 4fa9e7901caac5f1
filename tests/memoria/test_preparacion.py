"""``preparar``: idempotent, callable from anywhere, losing nothing, least privilege for each role."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connections, transaction
from langgraph.checkpoint.postgres import PostgresSaver
from psycopg.rows import dict_row

from memoria.almacen import DimensionDistinta, abrir_almacen, embeddings_configurados
from memoria.embeddings import ModeloEmbeddings
from memoria.models import Documento, Ejecucion, Hilo
from memoria.permisos import PreparacionImposible
from memoria.politica import Escritor, espacio
from memoria.preparacion import preparar
from tests.memoria.procesos import (
    RAIZ,
    arrancar,
    carpeta_del_servidor,
    ejecutar,
    gestionar,
    terminar,
    variables,
)

AVISO = {"texto": "Llega tarde", "fecha": "2026-01-02"}


class DeOchoDimensiones(ModeloEmbeddings):
    """A model of another size."""

    nombre, dims, umbral = "ocho", 8, 0.1

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0] + [0.0] * 7 for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0] + [0.0] * 7


def retrato(conexion: psycopg.Connection) -> dict[str, Any]:
    """What the catalogs say of both schemas. Ids are part of it: an object made again is a change."""
    return {nombre: conexion.execute(consulta).fetchall() for nombre, consulta in _RETRATO.items()}


_ESQUEMAS = "('public'::regnamespace, 'langgraph'::regnamespace)"
_RETRATO = {
    "esquemas": f"SELECT oid, nspname, nspacl::text FROM pg_namespace WHERE oid IN {_ESQUEMAS} ORDER BY 1",
    "relaciones": f"""
        SELECT oid, relname, relfilenode, relkind, relrowsecurity,
               ARRAY(SELECT a::text FROM unnest(relacl) a ORDER BY 1)
        FROM pg_class WHERE relnamespace IN {_ESQUEMAS} ORDER BY 1
    """,
    "columnas": f"""
        SELECT attrelid, attname, atttypid, atttypmod, attnotnull FROM pg_attribute
        WHERE attrelid IN (SELECT oid FROM pg_class WHERE relnamespace IN {_ESQUEMAS}) ORDER BY 1, 2
    """,
    "politicas": "SELECT oid, polname, polrelid, pg_get_expr(polqual, polrelid) FROM pg_policy ORDER BY 1",
    "restricciones": f"SELECT oid, conname FROM pg_constraint WHERE connamespace IN {_ESQUEMAS} ORDER BY 1",
    "funciones": f"""
        SELECT oid, proname, prosrc, proconfig, ARRAY(SELECT a::text FROM unnest(proacl) a ORDER BY 1)
        FROM pg_proc WHERE pronamespace IN {_ESQUEMAS} ORDER BY 1
    """,
    "migraciones": "SELECT app, name FROM public.django_migrations ORDER BY 1, 2",
    "grupos": "SELECT g.name, p.permission_id FROM auth_group g JOIN auth_group_permissions p"
    " ON p.group_id = g.id ORDER BY 1, 2",
    "roles": "SELECT oid, rolname, rolpassword, rolsuper FROM pg_authid"
    " WHERE rolname LIKE 'memoria%' ORDER BY 1",
}


@pytest.fixture
def base_nueva(base: str) -> Iterator[Callable[..., dict[str, str]]]:
    """``base_nueva("otra", dueno="x")``: an empty database on the same server; its URLs by variable."""
    servidor = carpeta_del_servidor(base)
    creadas: list[tuple[str, str]] = []
    with psycopg.connect(base, autocommit=True) as conexion:

        def crear(nombre: str, dueno: str = "postgres", extension: bool = False) -> dict[str, str]:
            creadas.append((nombre, dueno))
            if dueno != "postgres":
                conexion.execute(f"CREATE ROLE {dueno} LOGIN")
            conexion.execute(f"CREATE DATABASE {nombre} OWNER {dueno}")
            urls = variables(servidor, nombre, dueno)
            if extension:
                with entrar(urls, "postgres") as nueva:
                    nueva.execute("CREATE EXTENSION vector")
            return urls

        yield crear
        for nombre, dueno in creadas:
            conexion.execute(f"DROP DATABASE {nombre} WITH (FORCE)")
            if dueno != "postgres":
                conexion.execute(f"DROP ROLE {dueno}")


def entrar(urls: dict[str, str], rol: str) -> psycopg.Connection:
    partes = {**psycopg.conninfo.conninfo_to_dict(urls["DATABASE_URL"]), "user": rol}
    return psycopg.connect(psycopg.conninfo.make_conninfo("", **partes), autocommit=True)


class TestRepetir:
    def test_a_second_run_changes_nothing_at_all(self, propietario: psycopg.Connection) -> None:
        antes = retrato(propietario)
        preparar(embeddings_configurados())
        assert retrato(propietario) == antes

    def test_it_says_what_there_is(self, bd: str) -> None:
        resultado = preparar(embeddings_configurados())
        assert resultado["esquema"] == "langgraph"
        assert resultado["dims"] == embeddings_configurados().dims
        assert resultado["versiones"].keys() == {
            "store_migrations",
            "vector_migrations",
            "checkpoint_migrations",
        }
        assert resultado["extension_vector"][0].isdigit()

    @pytest.mark.parametrize("alias", ["default", "owner"])
    def test_from_inside_a_transaction_that_has_read_and_written(self, bd: str, alias: str) -> None:
        """M6. A lock on what the caller has touched would wait for the caller: for ever."""
        with transaction.atomic(using=alias):
            Hilo.objects.using(alias).create(thread_id="h", espacio="clientes", sujeto_id="C9")
            list(Documento.objects.using(alias).all())
            call_command("preparar", stdout=io.StringIO())
        assert Hilo.objects.filter(thread_id="h").exists()

    def test_the_callers_connection_is_left_in_place(self, bd: str) -> None:
        antes = connections["owner"]
        preparar(embeddings_configurados())
        assert connections["owner"] is antes

    def test_the_first_time_from_inside_a_transaction(
        self, base_nueva: Callable[..., dict[str, str]]
    ) -> None:
        urls = base_nueva("primera")
        p = ejecutar(_DENTRO_DE_ATOMIC, entorno=urls)
        assert p.codigo == 0, p.errores
        assert p.json["ok"]

    def test_two_at_once(self, base_nueva: Callable[..., dict[str, str]]) -> None:
        urls = base_nueva("a_la_vez")
        orden = (str(RAIZ / "manage.py"), "preparar", "--json")
        procesos = [terminar(p) for p in [arrancar(*orden, entorno=urls), arrancar(*orden, entorno=urls)]]
        assert sorted(p.codigo for p in procesos) in ([0, 0], [0, 4]), [p.errores for p in procesos]
        for p in procesos:
            assert ("dims" in p.json) == (p.codigo == 0)
        with entrar(urls, "postgres") as conexion:
            antes = retrato(conexion)
            otra = gestionar("preparar", "--json", entorno=urls)
            assert (otra.codigo, otra.json["dims"]) == (0, embeddings_configurados().dims)
            assert retrato(conexion) == antes

    def test_the_run_is_recorded(self, bd: str) -> None:
        call_command("preparar", stdout=io.StringIO())
        assert Ejecucion.objects.get(comando="preparar").codigo == 0

    def test_an_index_left_half_made_is_made_again(self, propietario: psycopg.Connection) -> None:
        propietario.execute(
            "UPDATE pg_index SET indisvalid = false"
            " WHERE indexrelid = 'langgraph.store_vectors_prefix_idx'::regclass"
        )
        preparar(embeddings_configurados())
        fila = propietario.execute(
            "SELECT indisvalid FROM pg_index"
            " WHERE indexrelid = 'langgraph.store_vectors_prefix_idx'::regclass"
        ).fetchone()
        assert fila == (True,)

    def test_a_row_policy_of_an_older_version_is_replaced(self, propietario: psycopg.Connection) -> None:
        antes = politicas(propietario)
        propietario.execute(
            """
            DROP POLICY memoria_agentes_anade ON langgraph.store;
            CREATE POLICY memoria_agentes_anade ON langgraph.store FOR INSERT TO memoria_agentes
                WITH CHECK (true);
            CREATE POLICY memoria_web_todo ON langgraph.store FOR ALL TO memoria_web USING (true);
            """
        )
        assert politicas(propietario) != antes
        preparar(embeddings_configurados())
        assert politicas(propietario) == antes


def politicas(conexion: psycopg.Connection) -> set[Any]:
    return set(
        conexion.execute(
            "SELECT tablename, policyname, cmd, roles::text, qual, with_check FROM pg_policies"
        ).fetchall()
    )


_DENTRO_DE_ATOMIC = """
import os, sys, django
os.environ["DJANGO_SETTINGS_MODULE"] = "memoria.settings"
django.setup()
from django.core.management import call_command
from django.db import connections, transaction
with transaction.atomic(), transaction.atomic(using="owner"):
    for alias in ("owner", "default"):
        with connections[alias].cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_class")
    call_command("preparar", json=True, stdout=sys.stderr)
call_command("preparar", json=True, stdout=sys.stderr)
call_command("doctor", json=True)
"""


_DOS_VECES = """
import os, sys, django
os.environ["DJANGO_SETTINGS_MODULE"] = "memoria.settings"
django.setup()
from django.core.management import call_command
call_command("preparar", stdout=sys.stderr)
call_command("preparar", stdout=sys.stderr)
call_command("doctor", json=True)
"""


class TestNegarse:
    def test_a_newer_langgraph_has_been_here(self, propietario: psycopg.Connection) -> None:
        propietario.execute("INSERT INTO langgraph.store_migrations VALUES (99)")
        antes = retrato(propietario)
        try:
            with pytest.raises(CommandError, match=r"versión 99 en store_migrations.*actualice") as error:
                call_command("preparar", stdout=io.StringIO())
            assert error.value.returncode == 5
            assert retrato(propietario) == antes
        finally:
            propietario.execute("DELETE FROM langgraph.store_migrations WHERE v = 99")

    def test_vectors_of_another_dimension(
        self, almacen_compras: Any, propietario: psycopg.Connection
    ) -> None:
        """M10: both numbers, the remedy, and nothing lost."""
        almacen_compras.put(espacio("proveedores", "P1"), "a", AVISO)
        antes = retrato(propietario)
        hay = embeddings_configurados().dims
        with pytest.raises(DimensionDistinta, match=rf"8 dimensiones.*{hay}.*configure"):
            preparar(DeOchoDimensiones())
        assert retrato(propietario) == antes
        assert propietario.execute("SELECT count(*) FROM langgraph.store_vectors").fetchone() == (1,)

    def test_the_store_does_not_open_with_another_dimension(
        self, almacen_compras: Any, propietario: psycopg.Connection
    ) -> None:
        almacen_compras.put(espacio("proveedores", "P1"), "a", AVISO)
        hay = embeddings_configurados().dims
        with (
            pytest.raises(DimensionDistinta, match=rf"8 dimensiones.*{hay}"),
            abrir_almacen(
                os.environ["DATABASE_URL"], escritor=Escritor.COMPRAS, embeddings=DeOchoDimensiones()
            ),
        ):
            pass
        assert propietario.execute("SELECT count(*) FROM langgraph.store_vectors").fetchone() == (1,)

    def test_an_empty_table_takes_the_new_dimension(self, propietario: psycopg.Connection) -> None:
        """The remedy the error gives has to work."""
        assert propietario.execute("SELECT count(*) FROM langgraph.store_vectors").fetchone() == (0,)
        try:
            assert preparar(DeOchoDimensiones())["dims"] == 8
            indice = propietario.execute(
                "SELECT to_regclass('langgraph.store_vectors_prefix_idx') IS NOT NULL"
            )
            assert indice.fetchone() == (True,)
        finally:
            assert preparar(embeddings_configurados())["dims"] == embeddings_configurados().dims

    def test_an_old_pgvector(self, propietario: psycopg.Connection) -> None:
        propietario.execute("UPDATE pg_extension SET extversion = '0.4.4' WHERE extname = 'vector'")
        try:
            with pytest.raises(PreparacionImposible, match=r"0\.4\.4 es anterior al 0\.5"):
                preparar(embeddings_configurados())
        finally:
            propietario.execute("UPDATE pg_extension SET extversion = '0.8.5' WHERE extname = 'vector'")

    def test_a_user_who_may_not_create(self, base_nueva: Callable[..., dict[str, str]]) -> None:
        urls = base_nueva("ajena", extension=True)
        urls["DATABASE_URL_OWNER"] = urls["DATABASE_URL"]
        p = gestionar("preparar", "--json", entorno=urls)
        assert p.codigo == 5
        assert "DATABASE_URL_OWNER" in p.json["error"]
        assert "dueño" in p.json["error"]
        assert "Traceback" not in p.errores


class TestLoQueHabia:
    def test_pgvector_in_the_closed_schema_is_for_agents_too(
        self, base_nueva: Callable[..., dict[str, str]]
    ) -> None:
        """Its functions are nobody's to close; ours stay closed."""
        urls = base_nueva("vector_dentro")
        with entrar(urls, "postgres") as admin:
            admin.execute("CREATE SCHEMA langgraph; CREATE EXTENSION vector SCHEMA langgraph")
        p = gestionar("preparar", "--json", entorno=urls)
        assert p.codigo == 0, p.errores
        with entrar(urls, "memoria_agentes") as agentes:
            agentes.execute("SET search_path = langgraph, public")
            assert agentes.execute("SELECT '[1, 0]'::vector <=> '[1, 0]'::vector").fetchone() == (0.0,)
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                agentes.execute("SELECT langgraph.borrar_sujeto('clientes.C9')")

    def test_threads_of_before_without_an_owner(self, base_nueva: Callable[..., dict[str, str]]) -> None:
        """They are not ours to delete, nor to give to anybody."""
        urls = base_nueva("hilos_de_antes")
        with entrar(urls, "postgres") as admin:
            admin.execute("CREATE SCHEMA langgraph; SET search_path = langgraph")
            admin.row_factory = dict_row  # type: ignore[assignment]  # what LangGraph's savers are given
            PostgresSaver(admin).setup()  # type: ignore[arg-type]
            admin.execute(
                "INSERT INTO checkpoints (thread_id, checkpoint_id, checkpoint) VALUES ('h', 'c', '{}')"
            )
            p = gestionar("preparar", "--json", entorno=urls)
            assert p.codigo == 5
            assert "sin dueño" in p.json["error"]
            assert "Traceback" not in p.errores
            assert len(admin.execute("SELECT FROM checkpoints").fetchall()) == 1


class TestDuenoSinPrivilegios:
    """The cluster made the extension and the roles (as CloudNativePG does); the owner is nobody special."""

    def test_it_prepares_and_grants_only_what_is_its_own(
        self, base_nueva: Callable[..., dict[str, str]]
    ) -> None:
        urls = base_nueva("cnpg", dueno="duena_cnpg", extension=True)
        with entrar(urls, "postgres") as admin:
            admin.execute("CREATE TABLE public.ajena (n int); CREATE SEQUENCE public.ajena_seq")
        p = ejecutar(_DOS_VECES, entorno=urls)
        assert p.codigo == 0, p.errores
        assert p.json["ok"]
        with entrar(urls, "memoria_web") as web:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                web.execute("SELECT * FROM public.ajena")
            assert web.execute("SELECT * FROM langgraph.contar_sujeto('clientes.C9')").fetchone() == (0, 0, 0)


#: statement, whether the web may, whether an agent may
MATRIZ = [
    ("SELECT FROM langgraph.store", True, True),
    ("SELECT FROM langgraph.store_vectors", True, True),
    ("SELECT FROM langgraph.checkpoints", True, True),
    ("SELECT FROM langgraph.store_migrations", True, True),
    ("INSERT INTO langgraph.store (prefix, key, value) VALUES ('clientes.C9', 'k', '{}')", False, True),
    ("INSERT INTO langgraph.store (prefix, key, value) VALUES ('empleados.E1', 'k', '{}')", False, True),
    ("INSERT INTO langgraph.store (prefix, key, value) VALUES ('proveedores.P1', 'k', '{}')", True, False),
    ("INSERT INTO langgraph.store (prefix, key, value) VALUES ('otros.X', 'k', '{}')", False, False),
    ("INSERT INTO langgraph.store (prefix, key, value) VALUES ('clientesX.C9', 'k', '{}')", False, False),
    ("INSERT INTO langgraph.store (prefix, key, value) VALUES ('proveedores', 'k', '{}')", False, False),
    ("UPDATE langgraph.store SET prefix = 'proveedores.P1' WHERE prefix = 'clientes.S1'", None, False),
    ("UPDATE langgraph.store SET prefix = 'clientes.C9' WHERE prefix = 'proveedores.S1'", False, None),
    ("TRUNCATE langgraph.store CASCADE", False, False),
    ("INSERT INTO public.hilos (thread_id, espacio, sujeto_id) VALUES ('h', 'clientes', 'C9')", True, True),
    ("INSERT INTO langgraph.checkpoint_writes VALUES ('S', '', 'c', 't', 1, 'k', 'x', '', '')", False, True),
    ("DELETE FROM langgraph.checkpoint_writes", False, True),
    ("UPDATE langgraph.checkpoints SET parent_checkpoint_id = 'x'", False, True),
    ("DELETE FROM langgraph.checkpoint_blobs", False, True),
    ("INSERT INTO langgraph.store_migrations VALUES (99)", False, False),
    ("DELETE FROM langgraph.vector_migrations", False, False),
    ("DELETE FROM langgraph.checkpoint_migrations", False, False),
    ("SELECT FROM public.auth_user", True, False),
    ("SELECT FROM public.django_session", True, False),
    ("SELECT FROM public.memoria_ejecucion", True, False),
    # The last verification of the register is there: it tells whether the end of the register was cut.
    ("DELETE FROM public.memoria_ejecucion", False, False),
    ("TRUNCATE public.memoria_ejecucion", False, False),
    ("SELECT FROM public.django_migrations", True, False),
    ("DELETE FROM public.django_migrations", False, False),
    ("SELECT * FROM langgraph.contar_sujeto('clientes.C9')", True, False),
    ("SELECT * FROM langgraph.borrar_sujeto('clientes.C9')", True, False),
    ("SELECT * FROM langgraph.contar_hilos(ARRAY['h'])", True, False),
    ("SELECT * FROM langgraph.borrar_hilos(ARRAY['h'])", True, False),
    ("SELECT * FROM langgraph.barrer_lote(1)", True, False),
    ("CREATE TABLE langgraph.mia (n int)", False, False),
    ("CREATE TABLE public.mia (n int)", False, False),
    ("ALTER TABLE langgraph.store DISABLE ROW LEVEL SECURITY", False, False),
    ("DROP TABLE langgraph.store_vectors", False, False),
    ("CREATE ROLE intruso", False, False),
    ("SET ROLE postgres", False, False),
    ("COPY (SELECT 1) TO PROGRAM 'true'", False, False),
]
CASOS = [
    (rol, sentencia, puede)
    for sentencia, web, agentes in MATRIZ
    for rol, puede in (("memoria_web", web), ("memoria_agentes", agentes))
    if puede is not None
]


@pytest.mark.parametrize(("rol", "sentencia", "puede"), CASOS, ids=[f"{r}: {s}"[:80] for r, s, _ in CASOS])
def test_each_role_may_what_it_needs_and_no_more(
    propietario: psycopg.Connection,
    como: Callable[[str], psycopg.Connection],
    rol: str,
    sentencia: str,
    puede: bool,
) -> None:
    propietario.execute(
        """
        INSERT INTO langgraph.store (prefix, key, value)
            VALUES ('clientes.S1', 'k', '{}'), ('proveedores.S1', 'k', '{}');
        INSERT INTO public.hilos (thread_id, espacio, sujeto_id) VALUES ('S', 'clientes', 'S1');
        """
    )
    conexion = como(rol)
    if puede:
        conexion.execute(sentencia)
    else:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            conexion.execute(sentencia)


@pytest.mark.parametrize(
    ("rol", "propias", "ajenas"),
    [("memoria_web", "proveedores", "clientes"), ("memoria_agentes", "clientes", "proveedores")],
)
def test_a_row_of_another_writer_is_seen_and_never_changed(
    propietario: psycopg.Connection,
    como: Callable[[str], psycopg.Connection],
    rol: str,
    propias: str,
    ajenas: str,
) -> None:
    propietario.execute(
        "INSERT INTO langgraph.store (prefix, key, value)"
        " VALUES ('clientes.S1', 'k', '{}'), ('empleados.S1', 'k', '{}'), ('proveedores.S1', 'k', '{}')"
    )
    conexion = como(rol)
    assert conexion.execute("SELECT count(*) FROM langgraph.store").fetchone() == (3,)
    conexion.execute("UPDATE langgraph.store SET value = '1'")
    conexion.execute("DELETE FROM langgraph.store WHERE value = '1'")
    quedan = {f[0] for f in propietario.execute("SELECT prefix FROM langgraph.store")}
    assert f"{ajenas}.S1" in quedan
    assert f"{propias}.S1" not in quedan


def test_the_public_has_nothing_in_the_closed_schema(propietario: psycopg.Connection) -> None:
    propietario.execute("CREATE ROLE cualquiera LOGIN")
    info = psycopg.conninfo.conninfo_to_dict(os.environ["DATABASE_URL_OWNER"])
    try:
        with (
            psycopg.connect(host=info["host"], dbname=info["dbname"], user="cualquiera") as conexion,
            pytest.raises(psycopg.errors.InsufficientPrivilege, match="langgraph"),
        ):
            conexion.execute("SELECT FROM langgraph.store")
    finally:
        propietario.execute("DROP ROLE cualquiera")
