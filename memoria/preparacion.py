"""Set up: schema, roles, LangGraph's own tables, indexes and permissions. Idempotent; run by a Job as the
owner.

Everything here goes over a connection of its own in autocommit, because LangGraph's ``setup()`` runs
``CREATE INDEX CONCURRENTLY``: it works the same when the caller is inside a transaction.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from typing import Any

import psycopg
from django.core.management import call_command
from django.db import ProgrammingError, connections
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.store.postgres import PostgresStore
from psycopg import sql
from psycopg.rows import DictRow, dict_row

from memoria import entorno
from memoria.almacen import DimensionDistinta, configuracion_indice, dimensiones
from memoria.conexion import ESQUEMA, con_esquema
from memoria.documentos.preparacion import preparar_documentos
from memoria.embeddings import ModeloEmbeddings
from memoria.permisos import PreparacionImposible, conceder, crear_roles

logger = logging.getLogger(__name__)

PG_MINIMO = 150000
PGVECTOR_MINIMO = (0, 5)
#: Highest schema version of LangGraph this code was written against, by its table of migrations.
VERSIONES_CONOCIDAS = {
    "store_migrations": len(PostgresStore.MIGRATIONS) - 1,
    "vector_migrations": len(PostgresStore.VECTOR_MIGRATIONS) - 1,
    "checkpoint_migrations": len(PostgresSaver.MIGRATIONS) - 1,
}
#: Nothing here waits longer than this for a lock: an agent queues behind whoever waits for a table.
ESPERA_MAXIMA = "30s"


def preparar(modelo: ModeloEmbeddings) -> dict[str, Any]:
    """Bring the database to what this version needs; a second run changes nothing.

    Returns ``{"esquema", "versiones", "extension_vector", "dims"}``; ``extension_vector`` is its version or
    ``None``, ``dims`` the dimensions of the vectors or ``None``.

    Raises :class:`PreparacionImposible`; when only pgvector is missing everything else has been set up by
    then.
    """
    with _propietario() as conexion:
        _comprobar_servidor(conexion)
        _comprobar_versiones(conexion)
        _comprobar_dimensiones(conexion, modelo)
        _guion(conexion, "esquema.sql")
        crear_roles(conexion)
        extension = _extension_vector(conexion)
        _migrar()
        _quitar_indices_a_medias(conexion)
        _tablas_de_langgraph(conexion, modelo if extension else None)
        _indices(conexion, "indices.sql")
        if extension:
            _indices(conexion, "indices_vectores.sql")
        _guion(conexion, "busqueda.sql")
        _indices(conexion, "indices_busqueda.sql")
        _exigir_duenos(conexion)
        preparar_documentos(conexion, modelo.dims if extension else None)
        conceder(conexion)
        resultado = {
            "esquema": ESQUEMA,
            "versiones": versiones(conexion),
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
    """Whether the tables of Django and of LangGraph are there and may be seen, for a cursor of any driver."""
    cursor.execute(_ESTA_PREPARADA)
    fila = cursor.fetchone()
    return bool(fila and (fila["lista"] if isinstance(fila, dict) else fila[0]))


# to_regclass() raises where the schema may not be entered.
_ESTA_PREPARADA = """
SELECT CASE WHEN has_schema_privilege(oid, 'USAGE') THEN
    to_regclass('langgraph.store') IS NOT NULL AND to_regclass('langgraph.checkpoints') IS NOT NULL
    AND to_regclass('public.hilos') IS NOT NULL
ELSE false END AS lista
FROM pg_namespace WHERE nspname = 'langgraph'
"""


@contextmanager
def _propietario() -> Iterator[psycopg.Connection[DictRow]]:
    with psycopg.connect(
        con_esquema(entorno.conninfo_propietario()), autocommit=True, row_factory=dict_row
    ) as conexion:
        conexion.execute(f"SET lock_timeout = '{ESPERA_MAXIMA}'")
        try:
            yield conexion
        except psycopg.errors.InsufficientPrivilege as error:
            raise _sin_permiso(error) from error


def _sin_permiso(error: psycopg.errors.InsufficientPrivilege) -> PreparacionImposible:
    return PreparacionImposible(
        f"El usuario de DATABASE_URL_OWNER (o DATABASE_URL) no puede preparar la base "
        f"({error.diag.message_primary}): use el dueño de la base de datos."
    )


def _comprobar_servidor(conexion: psycopg.Connection[DictRow]) -> None:
    if conexion.info.server_version < PG_MINIMO:
        raise PreparacionImposible(
            f"PostgreSQL {conexion.info.server_version // 10000} es anterior al 15, el mínimo: actualícelo."
        )


def versiones(conexion: psycopg.Connection[DictRow]) -> dict[str, int]:
    """Schema versions of LangGraph found, by its table of migrations."""
    encontradas = {}
    for tabla in VERSIONES_CONOCIDAS:
        if _existe(conexion, f"{ESQUEMA}.{tabla}"):
            consulta = sql.SQL("SELECT max(v) AS v FROM {}").format(sql.Identifier(ESQUEMA, tabla))
            fila = conexion.execute(consulta).fetchone()
            if fila and fila["v"] is not None:
                encontradas[tabla] = fila["v"]
    return encontradas


def _comprobar_versiones(conexion: psycopg.Connection[DictRow]) -> None:
    """A newer LangGraph has been here: its schema is not ours to touch."""
    if not _existe(conexion, f"{ESQUEMA}.store"):
        return
    for tabla, version in versiones(conexion).items():
        if version > VERSIONES_CONOCIDAS[tabla]:
            raise PreparacionImposible(
                f"El esquema de LangGraph va por la versión {version} en {tabla} y esta aplicación conoce "
                f"hasta la {VERSIONES_CONOCIDAS[tabla]}: actualice la aplicación antes de preparar."
            )


def _comprobar_dimensiones(conexion: psycopg.Connection[DictRow], modelo: ModeloEmbeddings) -> None:
    """A table with vectors of another dimension is refused before anything is touched."""
    tabla = dimensiones(conexion.cursor())
    if tabla in (None, modelo.dims):
        return
    fila = conexion.execute("SELECT EXISTS (SELECT FROM langgraph.store_vectors) AS hay").fetchone()
    if fila and fila["hay"]:
        raise DimensionDistinta(modelo.dims, tabla)


def _existe(conexion: psycopg.Connection[DictRow], tabla: str) -> bool:
    fila = conexion.execute("SELECT to_regclass(%s) IS NOT NULL AS hay", [tabla]).fetchone()
    return bool(fila and fila["hay"])


def _extension_vector(conexion: psycopg.Connection[DictRow]) -> str | None:
    """Version of pgvector, made if it can be; ``None`` when it cannot."""
    instalada = _vector_instalada(conexion)
    if instalada is None:
        try:
            conexion.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
        except (psycopg.errors.InsufficientPrivilege, psycopg.errors.FeatureNotSupported):
            return None  # not allowed to, or not installed on the server
        instalada = _vector_instalada(conexion)
    version, esquema = instalada or (None, None)
    if version and esquema not in ("public", ESQUEMA):
        raise PreparacionImposible(
            f"La extensión «vector» está en el esquema {esquema}, donde no se busca: que un administrador "
            "ejecute ALTER EXTENSION vector SET SCHEMA public."
        )
    if version and tuple(int(n) for n in version.split(".")[:2]) < PGVECTOR_MINIMO:
        raise PreparacionImposible(
            f"pgvector {version} es anterior al 0.5, el mínimo: que un administrador lo actualice y ejecute "
            "ALTER EXTENSION vector UPDATE."
        )
    return version


def _vector_instalada(conexion: psycopg.Connection[DictRow]) -> tuple[str, str] | None:
    """``(version, schema)`` of pgvector in this database."""
    fila = conexion.execute(
        "SELECT extversion, extnamespace::regnamespace::text AS esquema"
        " FROM pg_extension WHERE extname = 'vector'"
    ).fetchone()
    return (fila["extversion"], fila["esquema"]) if fila else None


def _migrar() -> None:
    """Django's migrations, over a fresh connection: the caller's may be inside a transaction."""
    del_llamante = connections["owner"]
    connections["owner"] = del_llamante.copy()
    try:
        with connections["owner"].cursor() as cursor:
            cursor.execute(f"SET lock_timeout = '{ESPERA_MAXIMA}'")
        call_command("migrate", database="owner", interactive=False, verbosity=0)
    except ProgrammingError as error:
        if isinstance(error.__cause__, psycopg.errors.InsufficientPrivilege):
            raise _sin_permiso(error.__cause__) from error
        raise
    finally:
        connections["owner"].close()
        connections["owner"] = del_llamante


def _quitar_indices_a_medias(conexion: psycopg.Connection[DictRow]) -> None:
    """An interrupted CREATE INDEX CONCURRENTLY leaves an invalid index; IF NOT EXISTS would keep it."""
    for fila in conexion.execute(_INDICES_A_MEDIAS).fetchall():
        logger.warning("se rehace el índice %s, que quedó a medias", fila["indice"])
        conexion.execute(
            sql.SQL("DROP INDEX CONCURRENTLY {}").format(sql.Identifier(ESQUEMA, fila["indice"]))
        )


_INDICES_A_MEDIAS = """
SELECT c.relname AS indice
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE c.relnamespace = 'langgraph'::regnamespace AND NOT i.indisvalid
"""


def _tablas_de_langgraph(conexion: psycopg.Connection[DictRow], modelo: ModeloEmbeddings | None) -> None:
    if modelo and dimensiones(conexion.cursor()) not in (None, modelo.dims):
        # Empty, or _comprobar_dimensiones would have refused: LangGraph makes it again with the new
        # dimensions.
        conexion.execute("DROP TABLE langgraph.store_vectors; DELETE FROM langgraph.vector_migrations")
    PostgresStore(conexion, index=configuracion_indice(modelo) if modelo else None).setup()
    PostgresSaver(conexion).setup()


def _exigir_duenos(conexion: psycopg.Connection[DictRow]) -> None:
    try:
        _guion(conexion, "hilos.sql")
    except psycopg.errors.ForeignKeyViolation:
        # Not repeated: it names a thread.
        raise PreparacionImposible(
            "Hay hilos de LangGraph sin dueño en la tabla «hilos», de antes de preparar esta base: anote en "
            "ella de quién es cada uno, o bórrelos, y repita «preparar»."
        ) from None


def _guion(conexion: psycopg.Connection[DictRow], nombre: str) -> None:
    conexion.execute(
        resources.files("memoria").joinpath("sql", nombre).read_text(encoding="utf-8")
    )  # our own file


def _indices(conexion: psycopg.Connection[DictRow], nombre: str) -> None:
    """One by one: statements sent together share a transaction, and CREATE INDEX CONCURRENTLY takes none."""
    guion = resources.files("memoria").joinpath("sql", nombre).read_text(encoding="utf-8")
    for sentencia in guion.split(";\n"):
        if sentencia.strip():
            conexion.execute(sentencia)  # our own file
