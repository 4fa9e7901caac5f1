"""What ``preparar`` makes besides the migrations: the lexemes of each section and the table of vectors.

Both depend on more than the models do: the lexemes on how questions are normalised, the vectors on pgvector
and on the dimensions of the model. Idempotent.
"""

from __future__ import annotations

import hashlib
import logging
from typing import Any

import psycopg
from psycopg import sql

from memoria.busqueda import normalizada

logger = logging.getLogger(__name__)

#: The text first: the position of a lexeme is then that of its word in it.
_PALABRAS = normalizada("texto || ' ' || encabezado")
LEXEMAS = f"to_tsvector('pg_catalog.spanish', {_PALABRAS})"


def preparar_documentos(conexion: psycopg.Connection[Any], dims: int | None) -> None:
    """Bring the tables of documents to what this version needs, as their owner.

    ``dims`` are the dimensions of the embedding model, or ``None`` where there is no pgvector. Vectors of
    other dimensions are thrown away: the texts are here, and ``sincronizar_documentos`` makes them again.
    """
    with conexion.transaction():
        _lexemas(conexion)
        if dims is not None:
            _vectores(conexion, dims)


def _lexemas(conexion: psycopg.Connection[Any]) -> None:
    """The comment of the column is the digest of its expression: one made by an earlier version is remade."""
    version = hashlib.sha256(LEXEMAS.encode()).hexdigest()[:16]
    hallada = _valor(conexion, _VERSION_DE_LEXEMAS)
    if hallada == version:
        return
    conexion.execute("ALTER TABLE public.documentos_seccion DROP COLUMN IF EXISTS lexemas")
    conexion.execute(
        "ALTER TABLE public.documentos_seccion"
        f" ADD COLUMN lexemas tsvector GENERATED ALWAYS AS ({LEXEMAS}) STORED"
    )
    conexion.execute(
        sql.SQL("COMMENT ON COLUMN public.documentos_seccion.lexemas IS {}").format(sql.Literal(version))
    )


def _vectores(conexion: psycopg.Connection[Any], dims: int) -> None:
    hay = _valor(conexion, _DIMS)
    if hay == dims:
        return
    if hay is not None:
        logger.warning("Los vectores de los documentos eran de %s dimensiones: se quitan y se rehacen.", hay)
        conexion.execute("DROP TABLE public.documentos_vector")
    conexion.execute(sql.SQL(_TABLA).format(dims=sql.Literal(dims)))


def _valor(conexion: psycopg.Connection[Any], consulta: str) -> Any:
    fila = conexion.execute(consulta).fetchone()
    if fila is None:
        return None
    return next(iter(fila.values())) if isinstance(fila, dict) else fila[0]


_VERSION_DE_LEXEMAS = """
SELECT col_description(attrelid, attnum) FROM pg_attribute
WHERE attrelid = 'public.documentos_seccion'::regclass AND attname = 'lexemas' AND NOT attisdropped
"""
_DIMS = """
SELECT atttypmod FROM pg_attribute
WHERE attrelid = to_regclass('public.documentos_vector') AND attname = 'embedding'
"""
# A vector goes with its section, and is in the section's space: the key says both. No approximate index: the
# row policy would keep a search from using it.
_TABLA = """
CREATE TABLE public.documentos_vector (
    seccion_id bigint PRIMARY KEY,
    espacio text NOT NULL,
    modelo text NOT NULL,
    embedding vector({dims}) NOT NULL,
    FOREIGN KEY (seccion_id, espacio) REFERENCES public.documentos_seccion (id, espacio) ON DELETE CASCADE
);
CREATE INDEX documentos_vector_espacio ON public.documentos_vector (espacio);
ALTER TABLE public.documentos_vector ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.documentos_vector FORCE ROW LEVEL SECURITY;
CREATE POLICY espacio ON public.documentos_vector
    USING (espacio = current_setting('memoria.espacio', true))
    WITH CHECK (espacio = current_setting('memoria.espacio', true));
"""
