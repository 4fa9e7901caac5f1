"""Set up: schema, roles, LangGraph's own tables, indexes and permissions. Idempotent; run by a Job as the owner.

Everything here goes over a connection of its own in autocommit, because LangGraph's ``setup()`` runs
``CREATE INDEX CONCURRENTLY``: it works the same when the caller is inside a transaction.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import resources
from typing import Any

import psycopg
from django.core.management import call_command
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.store.postgres import PostgresStore
from psycopg import sql
from psycopg.rows import DictRow, dict_row

from memoria import entorno
from memoria.almacen import DimensionDistinta, configuracion_indice, dimensiones
from memoria.conexion import ESQUEMA, con_esquema
from memoria.embeddings import ModeloEmbeddings
from memoria.models import modelos_solo_anexar
from memoria.politica import ESPACIOS, Escritor
from memoria.servidor import ROL_AGENTES, ROL_WEB

logger = logging.getLogger(__name__)

PG_MINIMO = 150000
PGVECTOR_MINIMO = (0, 5)
#: Highest schema version of LangGraph this code was written against, by its table of migrations.
VERSIONES_CONOCIDAS = {
    "store_migrations": len(PostgresStore.MIGRATIONS) - 1,
    "vector_migrations": len(PostgresStore.VECTOR_MIGRATIONS) - 1,
    "checkpoint_migrations": len(PostgresSaver.MIGRATIONS) - 1,
}
_ROL_DE = {Escritor.AGENTE: ROL_AGENTES, Escritor.COMPRAS: ROL_WEB}
_TABLAS_DE_HILOS = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")


class PreparacionImposible(RuntimeError):
    """``preparar`` cannot go on. The message says who must do what."""


def preparar(modelo: ModeloEmbeddings) -> dict[str, Any]:
    """Bring the database to what this version needs; a second run changes nothing.

    Returns ``{"esquema", "versiones", "extension_vector", "dims"}``; ``extension_vector`` is its version or
    ``None``, ``dims`` the dimensions of the vectors or ``None``.

    Raises :class:`PreparacionImposible`; when only pgvector is missing everything else has been set up by then.
    """
    with _propietario() as conexion:
        _comprobar_servidor(conexion)
        _comprobar_versiones(conexion)
        _guion(conexion, "esquema.sql")
        _crear_roles(conexion)
        call_command("migrate", database="owner", interactive=False, verbosity=0)
        extension = _extension_vector(conexion)
        _tablas_de_langgraph(conexion, modelo if extension else None)
        if extension:
            _guion(conexion, "indices.sql")
        _guion(conexion, "busqueda.sql")
        _guion(conexion, "hilos.sql")
        _permisos(conexion)
        resultado = {
            "esquema": ESQUEMA,
            "versiones": _versiones(conexion),
            "extension_vector": extension,
            "dims": dimensiones(conexion.cursor()),
        }
    if extension is None:
        raise PreparacionImposible(
            "Falta la extensión «vector» de PostgreSQL y este usuario no puede crearla: que un administrador "
            "instale pgvector y ejecute CREATE EXTENSION vector en esta base, y repita «preparar». "
            "Mientras tanto todo funciona menos la búsqueda por significado."
        )
    return resultado


def esta_preparada(cursor: Any) -> bool:
    """Whether the tables of Django and of LangGraph are there, for a cursor of any driver."""
    cursor.execute(
        "SELECT to_regclass('langgraph.store') IS NOT NULL AND to_regclass('langgraph.checkpoints') IS NOT NULL"
        " AND to_regclass('public.hilos') IS NOT NULL AS lista"
        " FROM pg_namespace WHERE nspname = 'langgraph'"
    )
    fila = cursor.fetchone()
    return bool(fila and (fila["lista"] if isinstance(fila, dict) else fila[0]))


@contextmanager
def _propietario() -> Iterator[psycopg.Connection[DictRow]]:
    with psycopg.connect(
        con_esquema(entorno.conninfo_propietario()), autocommit=True, row_factory=dict_row
    ) as conexion:
        yield conexion


def _comprobar_servidor(conexion: psycopg.Connection[DictRow]) -> None:
    if conexion.info.server_version < PG_MINIMO:
        raise PreparacionImposible(
            f"PostgreSQL {conexion.info.server_version // 10000} es anterior al 15, el mínimo: actualícelo."
        )


def _versiones(conexion: psycopg.Connection[DictRow]) -> dict[str, int]:
    versiones = {}
    for tabla in VERSIONES_CONOCIDAS:
        if _existe(conexion, f"{ESQUEMA}.{tabla}"):
            consulta = sql.SQL("SELECT max(v) AS v FROM {}").format(sql.Identifier(ESQUEMA, tabla))
            fila = conexion.execute(consulta).fetchone()
            if fila and fila["v"] is not None:
                versiones[tabla] = fila["v"]
    return versiones


def _comprobar_versiones(conexion: psycopg.Connection[DictRow]) -> None:
    """A newer LangGraph has been here: its schema is not ours to touch."""
    if not _existe(conexion, f"{ESQUEMA}.store"):
        return
    for tabla, version in _versiones(conexion).items():
        if version > VERSIONES_CONOCIDAS[tabla]:
            raise PreparacionImposible(
                f"El esquema de LangGraph va por la versión {version} en {tabla} y esta aplicación conoce hasta la "
                f"{VERSIONES_CONOCIDAS[tabla]}: actualice la aplicación antes de preparar."
            )


def _existe(conexion: psycopg.Connection[DictRow], tabla: str) -> bool:
    fila = conexion.execute("SELECT to_regclass(%s) IS NOT NULL AS hay", [tabla]).fetchone()
    return bool(fila and fila["hay"])


def _crear_roles(conexion: psycopg.Connection[DictRow]) -> None:
    for rol in (ROL_WEB, ROL_AGENTES):
        if conexion.execute("SELECT FROM pg_roles WHERE rolname = %s", [rol]).fetchone() is None:
            try:
                conexion.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(rol)))
            except psycopg.errors.InsufficientPrivilege:
                raise PreparacionImposible(
                    f"Falta el rol {rol} y este usuario no puede crearlo: que un administrador ejecute "
                    f"CREATE ROLE {rol} LOGIN y repita «preparar»."
                ) from None
            except (psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):
                logger.debug("rol %s creado a la vez por otra ejecución", rol)


def _extension_vector(conexion: psycopg.Connection[DictRow]) -> str | None:
    """Version of pgvector, made if it can be; ``None`` when it cannot."""
    version = _version_vector(conexion)
    if version is None:
        try:
            conexion.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
        except (psycopg.errors.InsufficientPrivilege, psycopg.errors.FeatureNotSupported):
            return None  # not allowed to, or not installed on the server
        version = _version_vector(conexion)
    if version and tuple(int(n) for n in version.split(".")[:2]) < PGVECTOR_MINIMO:
        raise PreparacionImposible(
            f"pgvector {version} es anterior al 0.5, el mínimo: que un administrador lo actualice y ejecute "
            "ALTER EXTENSION vector UPDATE."
        )
    return version


def _version_vector(conexion: psycopg.Connection[DictRow]) -> str | None:
    fila = conexion.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
    return fila["extversion"] if fila else None


def _tablas_de_langgraph(conexion: psycopg.Connection[DictRow], modelo: ModeloEmbeddings | None) -> None:
    tabla = dimensiones(conexion.cursor())
    if modelo and tabla is not None and tabla != modelo.dims:
        raise DimensionDistinta(modelo.dims, tabla)
    PostgresStore(conexion, index=configuracion_indice(modelo) if modelo else None).setup()
    PostgresSaver(conexion).setup()


def _permisos(conexion: psycopg.Connection[DictRow]) -> None:
    with conexion.transaction():
        _guion(conexion, "permisos.sql")
        _guion(conexion, "funciones.sql")
        for modelo in modelos_solo_anexar():
            conexion.execute(
                sql.SQL("REVOKE UPDATE, DELETE, TRUNCATE ON {} FROM {}").format(
                    sql.Identifier(modelo._meta.db_table), sql.Identifier(ROL_WEB)
                )
            )
        for tabla, politicas in _politicas_de_fila(conexion):
            conexion.execute(
                sql.SQL("ALTER TABLE {} ENABLE ROW LEVEL SECURITY").format(sql.Identifier(ESQUEMA, tabla))
            )
            for nombre, definicion in politicas:
                identificadores = sql.Identifier(nombre), sql.Identifier(ESQUEMA, tabla)
                conexion.execute(sql.SQL("DROP POLICY IF EXISTS {} ON {}").format(*identificadores))
                conexion.execute(
                    sql.SQL("CREATE POLICY {} ON {} ").format(*identificadores) + sql.SQL(definicion)  # type: ignore[arg-type]  # built below from constants only
                )


def _politicas_de_fila(
    conexion: psycopg.Connection[DictRow],
) -> Iterable[tuple[str, list[tuple[str, str]]]]:
    """Row policies by table: everybody who may read reads all; each namespace is written by its own role."""
    for tabla in ("store", "store_vectors"):
        if not _existe(conexion, f"{ESQUEMA}.{tabla}"):
            continue
        if tabla == "store_vectors":
            conexion.execute(f"GRANT INSERT, UPDATE, DELETE ON langgraph.store_vectors TO {ROL_WEB}")
            conexion.execute(
                f"REVOKE INSERT, UPDATE, DELETE ON langgraph.vector_migrations FROM {ROL_AGENTES}"
            )
        politicas = []
        for escritor, rol in _ROL_DE.items():
            suyos = " OR ".join(
                f"starts_with(prefix, '{e.nombre}.')" for e in ESPACIOS.values() if e.escritor is escritor
            )
            politicas += [
                (f"{rol}_lee", f"FOR SELECT TO {rol} USING (true)"),
                (f"{rol}_anade", f"FOR INSERT TO {rol} WITH CHECK ({suyos})"),
                (f"{rol}_cambia", f"FOR UPDATE TO {rol} USING ({suyos}) WITH CHECK ({suyos})"),
                (f"{rol}_borra", f"FOR DELETE TO {rol} USING ({suyos})"),
            ]
        yield tabla, politicas
    for tabla in _TABLAS_DE_HILOS:
        yield (
            tabla,
            [
                (f"{ROL_WEB}_lee", f"FOR SELECT TO {ROL_WEB} USING (true)"),
                (f"{ROL_AGENTES}_todo", f"FOR ALL TO {ROL_AGENTES} USING (true) WITH CHECK (true)"),
            ],
        )


def _guion(conexion: psycopg.Connection[DictRow], nombre: str) -> None:
    conexion.execute(resources.files("memoria").joinpath("sql", nombre).read_text(encoding="utf-8"))  # type: ignore[arg-type]  # our own file
