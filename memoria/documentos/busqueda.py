"""Hybrid search in the documents of one owner space, the same for screens and for the agents' tool.

Two rankings of the sections of a space, Spanish full text and meaning, fused by rank; then recency and
importance, as weights mild enough to order what is alike and not to bring up what does not answer. Both
rankings are exact. Where there is no pgvector, or the endpoint that embeds is away, full text alone decides.

No Django here: an agent's process imports it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg
from langgraph.store.base import BaseStore
from psycopg.errors import InsufficientPrivilege, UndefinedColumn, UndefinedTable
from psycopg.rows import dict_row

from memoria.almacen import AlmacenMemoria, en_texto
from memoria.busqueda import LARGO_MAXIMO_CONSULTA, en_terminos, lexico, tramos, trozos
from memoria.documentos.espacios import comprobar_espacio, en_espacio
from memoria.embeddings import ModeloEmbeddings, incrustar_pregunta

logger = logging.getLogger(__name__)

Conectar = Callable[[], AbstractContextManager[psycopg.Connection[Any]]]

#: What importance adds to the score of a section, and what having been changed today does. At the top of both
#: rankings one place is worth 1.6 %: neither lifts a section over one that answers better by both.
PESO_IMPORTANCIA = 0.015
PESO_RECIENTE = 0.01
#: Days in which what being recent adds halves.
SEMIVIDA_DIAS = 180
#: Sections whose similarity falls in the same step are as near as one another: less is noise of the model.
ESCALON = 0.05
#: To answer by its words alone: of the terms of the question one in three must be in some document of the
#: space, and of those a section must have this share, each by its rarity.
TERMINOS_CONOCIDOS = 3
COBERTURA_MINIMA = 0.2
#: Sections of one document in an answer, so that a long one does not take every place.
SECCIONES_POR_PAGINA = 2


@dataclass(frozen=True)
class Hallazgo:
    """A section that answers the question, and why. ``similitud`` is ``None`` where there are no vectors.

    ``marcas`` are the spans of ``texto`` that hold a word of the question.
    """

    pagina_id: int
    ruta: str
    titulo: str
    encabezado: str
    texto: str
    importancia: str
    actualizada: datetime
    similitud: float | None
    marcas: tuple[tuple[int, int], ...]
    por_significado: bool

    def trozos(self) -> list[tuple[str, bool]]:
        """``texto`` cut at :attr:`marcas`: each piece and whether it is marked."""
        return trozos(self.texto, self.marcas)


def buscar_documentos(
    conectar: Conectar,
    espacio: str,
    consulta: str,
    *,
    modelo: ModeloEmbeddings | None,
    limite: int,
) -> list[Hallazgo]:
    """The sections of ``espacio`` that answer ``consulta``, best first; an empty list is an answer too.

    ``conectar`` lends a connection, in autocommit or not, once the question has been embedded. ``modelo`` is
    the one that embedded the sections, or ``None`` where there are no vectors.

    Raises :class:`memoria.documentos.espacios.EspacioDesconocido`.
    """
    consulta = consulta.replace("\x00", " ")[:LARGO_MAXIMO_CONSULTA].strip()
    if not consulta:
        return []
    comprobar_espacio(espacio)
    # Embedding may be a call to an endpoint: no connection is held meanwhile.
    vector = incrustar_pregunta(modelo, consulta)
    parametros: dict[str, Any] = {
        "espacio": espacio,
        "palabras": en_terminos(consulta),
        "limite": limite,
        "por_pagina": SECCIONES_POR_PAGINA,
        "umbral": 0.0,
    }
    if vector is not None and modelo is not None:
        parametros |= {"vector": en_texto(vector), "modelo": modelo.nombre, "umbral": modelo.umbral}
    with conectar() as conexion, en_espacio(conexion, espacio):
        # The type and the operators of pgvector may live in either schema.
        conexion.execute("SET LOCAL search_path = public, langgraph")
        with conexion.cursor(row_factory=dict_row) as cursor:
            filas = cursor.execute(TEXTO if vector is None else HIBRIDA, parametros).fetchall()
    return [_hallazgo(fila, parametros["umbral"]) for fila in filas]


def recordar(store: BaseStore | None, espacio: str, consulta: str, *, limite: int) -> list[Hallazgo]:
    """The same for an agent, over the connections of its store.

    Nothing comes back where there is nothing to ask: no store, one that is not in PostgreSQL, or a database
    that was prepared before there were documents.
    """
    if not isinstance(store, AlmacenMemoria):
        return []
    try:
        return buscar_documentos(store.conexion, espacio, consulta, modelo=store.modelo, limite=limite)
    except (UndefinedTable, UndefinedColumn, InsufficientPrivilege) as error:
        logger.warning("La base no tiene documentos (%s): ejecute «preparar».", type(error).__name__)
        return []


def _hallazgo(fila: dict[str, Any], umbral: float) -> Hallazgo:
    similitud = fila["similitud"]
    return Hallazgo(
        pagina_id=fila["pagina_id"],
        ruta=fila["ruta"],
        titulo=fila["titulo"],
        encabezado=fila["encabezado"],
        texto=fila["texto"],
        importancia=fila["importancia"],
        actualizada=fila["actualizada"],
        similitud=similitud,
        marcas=tramos(fila["texto"], fila["posiciones"] or []),
        por_significado=similitud is not None and similitud >= umbral,
    )


# The row policy says the same; said here too, a policy is not all that stands between two spaces. Under one
# PostgreSQL does not trust `@@` to choose the rows (it might tell of those that are hidden), so the sections
# of the space are read one after the other and an index of lexemes would serve nobody.
_DEL_ESPACIO = "espacio = %(espacio)s"

_LEXICO = lexico("public.documentos_seccion", "id", _DEL_ESPACIO)

# Where in the text the words of the question are.
_POSICIONES = """(
    SELECT array_agg(posicion ORDER BY posicion)
    FROM unnest(s.lexemas) AS l (lexeme, positions, weights), unnest(positions) AS posicion
    WHERE EXISTS (SELECT FROM terminos WHERE array_to_tsvector(ARRAY[lexeme]) @@ termino)
)"""

# A heading with nothing below answers nothing, and neither does a letter.
_DICE_ALGO = r"length(regexp_replace(s.texto, '[\s[:punct:]]', '', 'g')) > 1"

# Outer part of both: the weights of the page, no more than some sections of each, the best ones.
_FINAL = f"""
pesadas AS (
    SELECT f.key, f.similitud, p.id AS pagina_id, p.ruta, p.titulo, p.importancia, p.actualizada,
           f.puntos
           * (1 + CASE WHEN p.importancia = 'alta' THEN {PESO_IMPORTANCIA} ELSE 0 END)
           * (1 + {PESO_RECIENTE} * power(
                 0.5, greatest(0, extract(epoch FROM now() - p.actualizada)) / (86400 * {SEMIVIDA_DIAS})))
           AS puntos
    FROM fusion f
    JOIN public.documentos_seccion s ON s.id = f.key
    JOIN public.documentos_pagina p ON p.id = s.pagina_id
    WHERE p.{_DEL_ESPACIO} AND p.borrada IS NULL AND {_DICE_ALGO}
),
repartidas AS (
    SELECT *, row_number() OVER (PARTITION BY pagina_id ORDER BY puntos DESC, key) AS orden FROM pesadas
)
SELECT r.pagina_id, r.ruta, r.titulo, r.importancia, r.actualizada, r.similitud,
       s.encabezado, s.texto, {_POSICIONES} AS posiciones
FROM repartidas r JOIN public.documentos_seccion s ON s.id = r.key
WHERE r.orden <= %(por_pagina)s
ORDER BY r.puntos DESC, r.key
LIMIT %(limite)s
"""

# By its words: sections with as much of the question share a place. A term that no document has says nothing
# of which one answers.
_POR_PALABRAS = f"""
conocidos AS (
    SELECT sum(peso) / nullif(sum(peso) FILTER (WHERE veces > 0), 0) AS escala,
           count(*) FILTER (WHERE veces > 0) * {TERMINOS_CONOCIDOS} >= count(*) AS bastan
    FROM pesos
),
por_palabras AS (
    SELECT key, bastan AND cobertura * escala >= {COBERTURA_MINIMA} AS responde,
           rank() OVER (ORDER BY round(cobertura::numeric, 3) DESC) AS lugar
    FROM lexico, conocidos
)"""

TEXTO = f"""
WITH {_LEXICO},
{_POR_PALABRAS},
fusion AS (
    SELECT key, 1.0 / (60 + lugar) AS puntos, NULL::float8 AS similitud
    FROM por_palabras WHERE responde
),
{_FINAL}
"""

# Reciprocal rank fusion, k = 60 (Cormack, Clarke and Büttcher, SIGIR 2009). A section with too few words of
# the question answers from the model's threshold on. One that has no vector yet is found by its words.
HIBRIDA = f"""
WITH {_LEXICO},
{_POR_PALABRAS},
cercanas AS MATERIALIZED (
    SELECT seccion_id AS key, embedding <=> %(vector)s::vector AS distancia
    FROM public.documentos_vector
    WHERE {_DEL_ESPACIO} AND modelo = %(modelo)s
    ORDER BY distancia
    LIMIT 50
),
por_significado AS (
    SELECT key, rank() OVER (ORDER BY floor(distancia / {ESCALON})) AS lugar FROM cercanas
),
sumadas AS (
    SELECT key, sum(1.0 / (60 + lugar)) AS puntos, bool_or(responde) AS responde
    FROM (
        SELECT key, lugar, false AS responde FROM por_significado
        UNION ALL
        SELECT key, lugar, responde FROM por_palabras
    ) AS dos
    GROUP BY key
),
fusion AS (
    SELECT u.key, u.puntos, 1 - (v.embedding <=> %(vector)s::vector) AS similitud
    FROM sumadas u
    LEFT JOIN public.documentos_vector v
        ON v.seccion_id = u.key AND v.{_DEL_ESPACIO} AND v.modelo = %(modelo)s
    WHERE u.responde OR 1 - (v.embedding <=> %(vector)s::vector) >= %(umbral)s
),
{_FINAL}
"""
