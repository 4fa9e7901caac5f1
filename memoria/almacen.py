"""The store: LangGraph's ``PostgresStore`` with the memory policy on every path in and out.

``with abrir_almacen() as almacen:`` gives a drop-in ``BaseStore``. What it adds to the stock store:

* a write that breaks :mod:`memoria.politica` raises ``PoliticaIncumplida``, whichever method it came by;
* the lifetime of the namespace goes with every write, and the correction of a notice does not restart it;
* a read renews only where the policy says so, and only what has lost more than a day of its life;
* a re-put leaves no vector of a text that is no longer there;
* queries are embedded as queries, and no connection is held while an endpoint embeds.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple, cast

import orjson  # LangGraph's store needs it too
import psycopg
from langgraph.store.base import (
    GetOp,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchOp,
    TTLConfig,
    validate_op_namespace,
)
from langgraph.store.postgres import PostgresStore
from langgraph.store.postgres.base import (
    PLACEHOLDER,
    PostgresIndexConfig,
    _decode_ns_bytes,
    _namespace_prefix_condition,
    _row_to_search_item,
)
from psycopg import Cursor
from psycopg.errors import InsufficientPrivilege
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from memoria import entorno, politica
from memoria.conexion import Pool, abrir_pool
from memoria.embeddings import ErrorEmbeddings, ModeloEmbeddings, crear_embeddings
from memoria.politica import ESPACIOS, Escritor, PoliticaIncumplida
from memoria.vallas import traducir

logger = logging.getLogger(__name__)

TTL = TTLConfig(
    default_ttl=politica.VIDA_POR_DEFECTO_MINUTOS,
    refresh_on_read=True,
    omit_expired=True,
    # Off: three replicas would be three sweepers. `barrer` sweeps, from a CronJob.
    sweep_interval_minutes=None,
)
CAMPO_INCRUSTADO = "texto"
#: What one operation may fail with, and not the ones beside it.
_DE_UNA_OPERACION = (ValueError, psycopg.DatabaseError, ErrorEmbeddings)


class DimensionDistinta(RuntimeError):
    """The embedding model and the table of vectors do not have the same number of dimensions."""

    def __init__(self, modelo: int, tabla: int) -> None:
        super().__init__(
            f"El modelo de embeddings da vectores de {modelo} dimensiones y la tabla store_vectors es de "
            f"{tabla}: configure un modelo de {tabla}, o vacíe la tabla y ejecute «preparar» con el nuevo."
        )


@contextmanager
def abrir_almacen(
    conninfo: str | None = None,
    *,
    escritor: Escritor = Escritor.AGENTE,
    embeddings: ModeloEmbeddings | None = None,
    min_size: int = 2,
    max_size: int = 8,
) -> Iterator[AlmacenMemoria]:
    """Open the store over a pool of its own.

    ``conninfo`` defaults to ``PG_AGENTES``; ``embeddings`` to what ``EMBEDDINGS_*`` configure, or the
    embedded model. Without pgvector the store opens all the same and everything but search by meaning works.

    Raises :class:`memoria.entorno.VariableIncorrecta`, :class:`memoria.embeddings.ConfiguracionEmbeddings`,
    :class:`memoria.conexion.BaseSinPreparar`, :class:`memoria.conexion.BaseNoDisponible` and
    :class:`DimensionDistinta`.
    """
    modelo = embeddings or embeddings_configurados()
    with abrir_pool(conninfo or entorno.conninfo_agentes(), min_size=min_size, max_size=max_size) as pool:
        with pool.connection() as conexion:
            tabla = dimensiones(conexion.cursor())
        if tabla is None:
            logger.warning("No hay pgvector: el almacén funciona sin búsqueda por significado.")
        elif tabla != modelo.dims:
            raise DimensionDistinta(modelo.dims, tabla)
        yield AlmacenMemoria(pool, escritor=escritor, embeddings=modelo if tabla else None)


def embeddings_configurados() -> ModeloEmbeddings:
    """The model that ``EMBEDDINGS_*`` configure, or the embedded one."""
    e = entorno.embeddings()
    return crear_embeddings(url=e.url, modelo=e.modelo, dims=e.dims, api_key=e.api_key, umbral=e.umbral)


def dimensiones(cursor: Cursor[Any]) -> int | None:
    """Dimensions of ``store_vectors``; ``None`` when the table does not exist (no pgvector)."""
    cursor.execute(
        "SELECT atttypmod AS dims FROM pg_attribute"
        " WHERE attrelid = to_regclass('langgraph.store_vectors') AND attname = 'embedding'"
    )
    fila = cursor.fetchone()
    if fila is None:
        return None
    return int(fila["dims"] if isinstance(fila, dict) else fila[0])


def configuracion_indice(modelo: ModeloEmbeddings) -> PostgresIndexConfig:
    """Cosine over ``texto``, exact: no search inside a namespace uses HNSW, yet every put pays for it."""
    return {
        "dims": modelo.dims,
        "embed": modelo,
        "fields": [CAMPO_INCRUSTADO],
        "distance_type": "cosine",
        "ann_index_config": {"kind": "flat"},  # the stub omits "flat" here
    }


def en_texto(vector: Sequence[float]) -> str:
    """A vector as pgvector reads it; psycopg takes a millisecond over a list of 512 floats, this far less."""
    return orjson.dumps(list(vector)).decode()


class AlmacenMemoria(PostgresStore):
    """See the module. ``batch`` is all or nothing; ``abatch`` lets each operation stand for itself."""

    __slots__ = ("escritor", "modelo")

    def __init__(self, pool: Pool, *, escritor: Escritor, embeddings: ModeloEmbeddings | None) -> None:
        super().__init__(pool, index=configuracion_indice(embeddings) if embeddings else None, ttl=TTL)
        self.escritor = escritor
        self.modelo = embeddings

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run the operations; the writes among them in one transaction, after every check has passed.

        Raises ``PoliticaIncumplida`` (and then nothing was written).
        """
        lista = list(ops)
        return self._ejecutar(
            lista, {i: self._admitir(op) for i, op in enumerate(lista) if isinstance(op, PutOp)}
        )

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As :meth:`batch`, in a thread; but LangGraph may have put several callers into one call.

        So an operation that is refused, or that cannot be embedded, takes no neighbour down: the others are
        done, and then its error is raised.
        """
        return await asyncio.to_thread(self._cada_una, list(ops))

    def _cada_una(self, ops: list[Op]) -> list[Result]:
        try:
            return self.batch(ops)
        except _DE_UNA_OPERACION:
            if len(ops) == 1:
                raise
        # Something in it failed, and with it nothing was written: now each for itself.
        resultados: list[Result] = []
        errores: list[Exception] = []
        for op in ops:
            try:
                resultados += self.batch([op])
            except _DE_UNA_OPERACION as error:
                errores.append(error)
        if errores:
            raise errores[0]
        return resultados

    def consultar(self, consulta: str, parametros: Mapping[str, Any]) -> list[DictRow]:
        """Rows of one read-only statement of ours (a constant with named parameters) on the store's pool."""
        with self._cursor() as cursor:
            return cursor.execute(consulta, parametros).fetchall()  # a constant of ours

    @contextmanager
    def conexion(self) -> Iterator[psycopg.Connection[DictRow]]:
        """A connection of the store's pool, in autocommit, for the rooms with tables of their own."""
        with self._cursor() as cursor:
            yield cursor.connection

    # -- one batch ----------------------------------------------------------------------------------

    def _ejecutar(self, ops: list[Op], puestas: dict[int, _Puesta]) -> list[Result]:
        por_tipo: dict[type, list[tuple[int, Any]]] = defaultdict(list)
        for i, op in enumerate(ops):
            validate_op_namespace(op)
            por_tipo[type(op)].append((i, op))
        fichas = [(i, op) for i, op in por_tipo[SearchOp] if self._es_ficha(op)]
        # Embedding may be a call to an endpoint: it is done before a connection is taken.
        busquedas = self._vectores_de_consulta(
            [(i, op) for i, op in por_tipo[SearchOp] if not self._es_ficha(op)]
        )
        self._vectores_de_documentos(list(puestas.values()))
        resultados: list[Result] = [None] * len(ops)
        with self._cursor() as cursor:
            if por_tipo[GetOp]:
                self._batch_get_ops(por_tipo[GetOp], resultados, cursor)
            for indice, op in fichas:
                resultados[indice] = _leer_ficha(op, cursor)
            for consulta, parametros, indice in busquedas:
                cursor.execute(consulta, parametros)
                resultados[indice] = _filas_a_items(cursor)
            if por_tipo[ListNamespacesOp]:
                self._batch_list_namespaces_ops(por_tipo[ListNamespacesOp], resultados, cursor)
            if puestas:
                self._escribir(list(puestas.values()), cursor)
        return resultados

    # -- reads: the stock SQL, with our renewal in place of its own ---------------------------------

    def _get_batch_GET_ops_queries(  # noqa: N802 - the name is LangGraph's
        self, get_ops: Sequence[tuple[int, GetOp]]
    ) -> list[tuple[str, tuple[Any, ...], tuple[str, ...], list[Any]]]:
        grupos: dict[tuple[tuple[str, ...], bool], list[tuple[int, str]]] = defaultdict(list)
        for i, op in get_ops:
            grupos[op.namespace, op.refresh_ttl].append((i, op.key))
        consultas = []
        for (namespace, renovar), items in grupos.items():
            sql, parametros = _LEER_CLAVES, (".".join(namespace), [clave for _, clave in items])
            consultas.append((_renovando(sql) if renovar else sql, parametros, namespace, items))
        return consultas

    def _es_ficha(self, op: SearchOp) -> bool:
        """Whether it asks for all of one subject's documents, the read that comes before every model call."""
        return (
            len(op.namespace_prefix) == 2
            and op.namespace_prefix[0] in ESPACIOS
            and not op.filter
            and not (op.query and self.modelo)
        )

    def _vectores_de_consulta(
        self, search_ops: Sequence[tuple[int, SearchOp]]
    ) -> list[tuple[str, list[Any], int]]:
        sin_renovar = [(i, op._replace(refresh_ttl=False)) for i, op in search_ops]
        consultas, por_incrustar = self._prepare_batch_search_queries(sin_renovar)
        textos = dict(por_incrustar)
        resultado = []
        for n, ((sql, parametros), (i, op)) in enumerate(zip(consultas, search_ops, strict=True)):
            sql, parametros = _solo_del_sujeto(op, sql, parametros)
            if n in textos and self.modelo:
                vector = en_texto(self.modelo.embed_query(textos[n]))
                parametros = [vector if p is PLACEHOLDER else p for p in parametros]
            resultado.append((_renovando(sql) if op.refresh_ttl else sql, list(parametros), i))
        return resultado

    # -- writes -------------------------------------------------------------------------------------

    def _admitir(self, op: PutOp) -> _Puesta:
        """The write the policy allows for this operation. Raises ``PoliticaIncumplida``."""
        nombre, _ = politica.sujeto(op.namespace)
        if op.value is None:
            if ESPACIOS[nombre].escritor is not self.escritor:
                raise PoliticaIncumplida(politica.escritor_equivocado(ESPACIOS[nombre]))
            return _Puesta(".".join(op.namespace), op.key, None, 0, False, [])
        # A put without ttl arrives with the store's default: a safety net, not a wish of the caller.
        ttl = None if op.ttl == politica.VIDA_POR_DEFECTO_MINUTOS else op.ttl
        minutos = politica.comprobar_escritura(op.namespace, op.key, op.value, ttl, self.escritor)
        definicion = ESPACIOS[nombre]
        incrusta = definicion.incrusta and op.index is not False and self.modelo is not None
        return _Puesta(
            ".".join(op.namespace),
            op.key,
            dict(op.value),
            minutos,
            definicion.conserva_vida_al_corregir,
            [op.value[CAMPO_INCRUSTADO]] if incrusta else [],
        )

    def _vectores_de_documentos(self, puestas: list[_Puesta]) -> None:
        textos = [texto for puesta in puestas for texto in puesta.textos]
        if not textos or self.modelo is None:
            return
        vectores = iter(self.modelo.embed_documents(textos))
        for puesta in puestas:
            puesta.textos[:] = [en_texto(next(vectores)) for _ in puesta.textos]

    def _escribir(self, puestas: list[_Puesta], cursor: Cursor[DictRow]) -> None:
        conexion = cursor.connection
        varias = len(puestas) > 1  # one statement is atomic, and one round trip, by itself
        try:
            with (
                traducir(),
                conexion.transaction() if varias else nullcontext(),
                conexion.pipeline() if varias and self.supports_pipeline else nullcontext(),
            ):
                for p in puestas:
                    if p.valor is None:
                        # A row the policy hides would be "deleted" without a word.
                        cursor.execute("SELECT exigir_libre(%s, %s)", (p.prefijo, p.clave))
                        cursor.execute(
                            "DELETE FROM store WHERE prefix = %s AND key = %s", (p.prefijo, p.clave)
                        )
                        continue
                    datos = {
                        "prefijo": p.prefijo,
                        "clave": p.clave,
                        "valor": Jsonb(p.valor),
                        "minutos": p.minutos,
                        "conserva": p.conserva_vida,
                        "vector": p.textos[0] if p.textos else None,
                        "campo": CAMPO_INCRUSTADO,
                    }
                    cursor.execute(_PONER_CON_VECTOR if self.modelo else _PONER, datos)
        except InsufficientPrivilege:
            raise PoliticaIncumplida(
                "El usuario de esta conexión no puede escribir en ese espacio: los avisos se escriben con la "
                "conexión de la web y las preferencias con la de los agentes."
            ) from None


class _Puesta(NamedTuple):
    """One admitted write; ``textos`` holds what is embedded and, once embedded, its vector as text."""

    prefijo: str
    clave: str
    valor: dict[str, Any] | None
    minutos: int
    conserva_vida: bool
    textos: list[str]


def _solo_del_sujeto(op: SearchOp, sql: str, parametros: list[Any]) -> tuple[str, list[Any]]:
    """The stock search, not looking for what is deeper than the subject, where the policy lets nothing be.

    Under a row policy a LIKE is not trusted to choose the rows: it would read the whole table.
    """
    if len(op.namespace_prefix) != 2 or op.namespace_prefix[0] not in ESPACIOS:
        return sql, parametros
    condicion, (_, patron) = _namespace_prefix_condition(tuple(op.namespace_prefix))
    sin_patron = list(parametros)
    sin_patron.remove(patron)
    return sql.replace(condicion, "store.prefix = %s"), sin_patron


def _filas_a_items(cursor: Cursor[DictRow]) -> Any:
    return [_row_to_search_item(_decode_ns_bytes(f["prefix"]), cast(Any, f)) for f in cursor.fetchall()]


def _leer_ficha(op: SearchOp, cursor: Cursor[DictRow]) -> Any:
    """One subject's documents; renewed in a second statement, on the one read a day that has to."""
    prefijo = ".".join(op.namespace_prefix)
    cursor.execute(_LEER_FICHA, (prefijo, op.limit, op.offset))
    filas = cursor.fetchall()
    if op.refresh_ttl and ESPACIOS[op.namespace_prefix[0]].renueva_al_leer:
        renovables = [f["key"] for f in filas if f["renovable"]]
        if renovables:
            cursor.execute(_RENOVAR_FICHA, (prefijo, renovables))
    return [_row_to_search_item(tuple(op.namespace_prefix), cast(Any, f)) for f in filas]


_VIGENTE = "(s.expires_at IS NULL OR s.expires_at > now())"
_RENOVABLE = (
    "s.expires_at > now() AND s.expires_at < now() + "
    f"make_interval(mins => s.ttl_minutes - {politica.RENOVACION_PEREZOSA_MINUTOS})"
)

# The stock search also looks for what is deeper than the subject (LIKE), where the policy lets nothing be.
# Its pattern keeps PostgreSQL from reusing a plan, and planning takes longer than reading.
_LEER_FICHA = f"""
SELECT s.key, s.value, s.created_at, s.updated_at, ({_RENOVABLE}) AS renovable
FROM store s
WHERE s.prefix = %s AND {_VIGENTE}
ORDER BY s.updated_at DESC
LIMIT %s OFFSET %s
"""

_RENOVAR_FICHA = f"""
UPDATE store s
SET expires_at = now() + make_interval(mins => s.ttl_minutes)
WHERE s.prefix = %s AND s.key = ANY(%s) AND {_RENOVABLE}
"""

_LEER_CLAVES = f"""
SELECT s.prefix, s.key, s.value, s.created_at, s.updated_at
FROM store s
WHERE s.prefix = %s AND s.key = ANY(%s) AND {_VIGENTE}
"""

_RENUEVAN = " OR ".join(f"s.prefix LIKE '{e.nombre}.%%'" for e in ESPACIOS.values() if e.renueva_al_leer)


def _renovando(sql: str) -> str:
    """Wrap a read so that it also renews the rows it returns, lazily and only where the policy renews.

    The stock store rewrites ``expires_at`` on every read: a row version, its index entries and their WAL each
    time. Here a document that has lost less than a day of its life is left alone.
    """
    return f"""
WITH leidos AS ({sql}),
renovados AS (
    UPDATE store s
    SET expires_at = now() + make_interval(mins => s.ttl_minutes)
    FROM leidos l
    WHERE s.prefix = l.prefix AND s.key = l.key AND ({_RENUEVAN}) AND {_RENOVABLE}
)
SELECT * FROM leidos
"""


_PONER = """
INSERT INTO store AS s (prefix, key, value, created_at, updated_at, expires_at, ttl_minutes)
VALUES (%(prefijo)s, %(clave)s, %(valor)s, now(), now(),
        now() + make_interval(mins => %(minutos)s::int), %(minutos)s::int)
ON CONFLICT (prefix, key) DO UPDATE SET
    value = EXCLUDED.value,
    updated_at = now(),
    expires_at = CASE WHEN %(conserva)s::bool AND s.expires_at > now()
                      THEN s.expires_at ELSE EXCLUDED.expires_at END,
    ttl_minutes = CASE WHEN %(conserva)s::bool AND s.expires_at > now()
                       THEN s.ttl_minutes ELSE EXCLUDED.ttl_minutes END
"""

# One statement, so a reader never sees a text with the vector of another one. The vectors of any other field
# name are those of an earlier shape of the document (lg#8214): they go.
_PONER_CON_VECTOR = f"""
WITH sobrantes AS (
    DELETE FROM store_vectors
    WHERE prefix = %(prefijo)s AND key = %(clave)s
      AND (%(vector)s::vector IS NULL OR field_name <> %(campo)s)
),
puesto AS ({_PONER} RETURNING s.prefix, s.key)
INSERT INTO store_vectors AS v (prefix, key, field_name, embedding, created_at, updated_at)
SELECT prefix, key, %(campo)s, %(vector)s::vector, now(), now()
FROM puesto WHERE %(vector)s::vector IS NOT NULL
ON CONFLICT (prefix, key, field_name) DO UPDATE SET embedding = EXCLUDED.embedding, updated_at = now()
"""
