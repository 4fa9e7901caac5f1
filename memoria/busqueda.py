"""Search of supplier notices, one function for screens and tools alike.

Two rankings inside one supplier's namespace, Spanish full text and meaning, fused by rank (the raw scores
have nothing in common). Both are exact: there is no approximate index to miss a notice. The measurements are
in ``docs/decisiones/0002-embeddings.md``.
"""

from __future__ import annotations

import logging
from typing import Any

from langgraph.store.base import BaseStore, SearchItem

from memoria import politica
from memoria.almacen import AlmacenMemoria, en_texto
from memoria.embeddings import EmbeddingsNoDisponibles

logger = logging.getLogger(__name__)

#: A question is a sentence, not a document: what is longer is cut, and its beginning decides.
LARGO_MAXIMO_CONSULTA = 500


def buscar_avisos(
    almacen: BaseStore, proveedor_id: str, consulta: str, *, limite: int = 3
) -> list[SearchItem]:
    """The notices of one supplier that answer ``consulta``, best first; an empty list is an answer too.

    ``score`` is the cosine similarity, or ``None`` where there are no vectors (no pgvector, or the endpoint
    that embeds is away: then full text alone decides). Nothing comes back when no notice has a word of the
    question and the nearest one is under the model's threshold. Never renews a notice, never returns one of
    another supplier.

    Raises ``PoliticaIncumplida`` for an empty ``proveedor_id``.
    """
    namespace = politica.espacio("proveedores", proveedor_id)
    consulta = consulta.replace("\x00", " ")[:LARGO_MAXIMO_CONSULTA].strip()
    if not consulta:
        return []
    if not isinstance(almacen, AlmacenMemoria):
        # LangGraph's own stores (tests, a developer's laptop) know meaning only, or nothing at all.
        hallados = almacen.search(namespace, query=consulta, limit=limite, refresh_ttl=False)
        return [a for a in hallados if a.score is None or a.score >= politica.UMBRAL_POR_DEFECTO]
    parametros = {"prefijo": ".".join(namespace), "consulta": consulta, "limite": limite}
    vector = _vector(almacen, consulta)
    if vector is None:
        return [_item(namespace, fila) for fila in almacen.consultar(_TEXTO_COMPLETO, parametros)]
    filas = almacen.consultar(_HIBRIDO, {**parametros, "vector": en_texto(vector)})
    umbral = almacen.modelo.umbral if almacen.modelo else politica.UMBRAL_POR_DEFECTO
    hay_respuesta = any(f["con_termino"] or f["similitud"] >= umbral for f in filas)
    return [_item(namespace, fila) for fila in filas] if hay_respuesta else []


def _vector(almacen: AlmacenMemoria, consulta: str) -> list[float] | None:
    if almacen.modelo is None:
        return None
    try:
        return almacen.modelo.embed_query(consulta)
    except EmbeddingsNoDisponibles as error:
        logger.warning("Búsqueda de avisos sin vectores: %s", error)
        return None


def _item(namespace: tuple[str, ...], fila: dict[str, Any]) -> SearchItem:
    return SearchItem(
        namespace=namespace,
        key=fila["key"],
        value=fila["value"],
        created_at=fila["created_at"],
        updated_at=fila["updated_at"],
        score=fila["similitud"],
    )


# memoria/sql/busqueda.sql normalises the notices the same way.
_NORMALIZADA = (
    "regexp_replace(regexp_replace(normalize(lower(%(consulta)s::text), NFKD), '[\\u0300-\\u036f]', '', 'g'),"
    " '[^a-z0-9]+', ' ', 'g')"
)

# The stemmer cuts alike words at different places ("devolucion", "devolu"): a term also matches what begins
# with it and its own beginnings up to five letters shorter. Codes and short words match only themselves. A
# notice scores the rarity, among this supplier's notices, of the terms it has.
_LEXICO = f"""
terminos AS MATERIALIZED (
    SELECT lexeme,
           (CASE WHEN length(lexeme) < 4 OR lexeme ~ '[0-9]' THEN quote_literal(lexeme)
                 ELSE quote_literal(lexeme) || ':*' || coalesce((
                     SELECT string_agg(' | ' || quote_literal(left(lexeme, n)), '')
                     FROM generate_series(greatest(4, length(lexeme) - 5), length(lexeme) - 1) AS n), '')
            END)::tsquery AS termino
    FROM unnest(to_tsvector('pg_catalog.spanish', {_NORMALIZADA}))
),
pregunta AS MATERIALIZED (
    SELECT string_agg('(' || termino::text || ')', ' | ')::tsquery AS alguno FROM terminos
),
candidatos AS MATERIALIZED (
    SELECT key, lexemas FROM store
    WHERE prefix = %(prefijo)s AND expires_at > now() AND lexemas @@ (SELECT alguno FROM pregunta)
),
aciertos AS MATERIALIZED (
    SELECT key, lexeme FROM candidatos JOIN terminos ON lexemas @@ termino
),
pesos AS (
    SELECT lexeme, ln(1 + (total - count(*) + 0.5) / (count(*) + 0.5)) AS peso
    FROM aciertos,
         (SELECT count(*) AS total FROM store WHERE prefix = %(prefijo)s AND expires_at > now()) AS avisos
    GROUP BY lexeme, total
),
lexico AS (
    SELECT key, row_number() OVER (ORDER BY sum(peso) DESC, key DESC) AS puesto
    FROM aciertos JOIN pesos USING (lexeme)
    GROUP BY key
    ORDER BY puesto
    LIMIT 50
)
"""

_TEXTO_COMPLETO = f"""
WITH {_LEXICO}
SELECT s.key, s.value, s.created_at, s.updated_at, NULL AS similitud
FROM lexico JOIN store s ON s.prefix = %(prefijo)s AND s.key = lexico.key
ORDER BY puesto
LIMIT %(limite)s
"""

# Reciprocal rank fusion, k = 60 (Cormack, Clarke and Büttcher, SIGIR 2009). A notice that has no vector yet
# can still be found by its words.
_HIBRIDO = f"""
WITH {_LEXICO},
semantico AS (
    SELECT key, row_number() OVER (ORDER BY distancia, key DESC) AS puesto
    FROM (
        SELECT s.key, v.embedding <=> %(vector)s::vector AS distancia
        FROM store s JOIN store_vectors v ON v.prefix = s.prefix AND v.key = s.key
        WHERE s.prefix = %(prefijo)s AND s.expires_at > now()
        ORDER BY distancia
        LIMIT 50
    ) AS cercanos
),
fusion AS (
    SELECT key, sum(1.0 / (60 + puesto)) AS puntos, bool_or(con_termino) AS con_termino
    FROM (
        SELECT key, puesto, false AS con_termino FROM semantico
        UNION ALL
        SELECT key, puesto, true FROM lexico
    ) AS dos
    GROUP BY key
)
SELECT s.key, s.value, s.created_at, s.updated_at, con_termino,
       coalesce(1 - (v.embedding <=> %(vector)s::vector), 0) AS similitud
FROM fusion
JOIN store s ON s.prefix = %(prefijo)s AND s.key = fusion.key
LEFT JOIN store_vectors v ON v.prefix = s.prefix AND v.key = s.key
ORDER BY puntos DESC, similitud DESC, s.key DESC
LIMIT %(limite)s
"""
