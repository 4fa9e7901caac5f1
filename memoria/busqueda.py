"""Search of supplier notices, one function for screens and tools alike.

    hallados = buscar_avisos(almacen, "P101", "pedido mínimo")            # list[SearchItem], at most 3
    hallados = hallar_avisos(almacen, "P101", "pedido mínimo", limite=10, # list[Hallazgo]
                             desde=date(2026, 1, 1), importancia="alta")
    h = hallados[0]
    h.value["texto"], h.score
    h.marcas            # ((4, 10), …): where in value["texto"] the words of the question are
    h.trozos()          # [("OJO ", False), ("mínimo", True), …]: the same, cut, for a template to put <mark>
    h.por_significado   # its meaning is near the question's, whatever its words

``buscar_avisos`` is ``hallar_avisos`` without the filters. Nothing here returns markup: the texts are as they
were written and a template escapes them.

Two rankings inside one supplier's namespace, Spanish full text and meaning, fused by rank (the raw scores
have nothing in common). Both are exact: there is no approximate index to miss a notice. The measurements are
in ``docs/decisiones/0002-embeddings.md``.
"""

from __future__ import annotations

import logging
import re
import unicodedata
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any, NamedTuple

from langgraph.store.base import BaseStore, SearchItem

from memoria import politica
from memoria.almacen import AlmacenMemoria, en_texto
from memoria.embeddings import EmbeddingsNoDisponibles

logger = logging.getLogger(__name__)

#: A question is a sentence, not a document: what is longer is cut, and its beginning decides.
LARGO_MAXIMO_CONSULTA = 500


class Hallazgo(SearchItem):
    """A notice that answers the question, and why.

    ``marcas`` are the spans of ``value["texto"]``, in order and apart, that hold a word of the question;
    ``por_significado`` says whether its meaning alone would have brought it.
    """

    __slots__ = ("marcas", "por_significado")

    marcas: tuple[tuple[int, int], ...]
    por_significado: bool

    def __init__(
        self,
        namespace: tuple[str, ...],
        key: str,
        value: dict[str, Any],
        created_at: datetime,
        updated_at: datetime,
        score: float | None = None,
        *,
        marcas: tuple[tuple[int, int], ...] = (),
        por_significado: bool = False,
    ) -> None:
        super().__init__(namespace, key, value, created_at, updated_at, score)
        self.marcas = marcas
        self.por_significado = por_significado

    def trozos(self) -> list[tuple[str, bool]]:
        """``value["texto"]`` cut at :attr:`marcas`: each piece and whether it is marked."""
        return trozos(str(self.value.get("texto", "")), self.marcas)


def buscar_avisos(
    almacen: BaseStore, proveedor_id: str, consulta: str, *, limite: int = 3
) -> list[SearchItem]:
    """The notices of one supplier that answer ``consulta``, best first; an empty list is an answer too.

    ``score`` is the cosine similarity, or ``None`` where there are no vectors (no pgvector, or the endpoint
    that embeds is away: then full text alone decides). Never renews a notice, never returns one of another
    supplier.

    Raises ``PoliticaIncumplida`` for an empty ``proveedor_id``.
    """
    return [*hallar_avisos(almacen, proveedor_id, consulta, limite=limite)]


def hallar_avisos(
    almacen: BaseStore,
    proveedor_id: str,
    consulta: str,
    *,
    limite: int,
    desde: date | None = None,
    hasta: date | None = None,
    importancia: str | None = None,
    autor: str | None = None,
) -> list[Hallazgo]:
    """As :func:`buscar_avisos`, with why each was found, among the notices that pass the filters.

    ``desde`` and ``hasta`` (both included) bound ``fecha``; ``importancia`` and ``autor`` are those of the
    notice (one without ``importancia`` is normal).
    """
    namespace = politica.espacio("proveedores", proveedor_id)
    consulta = consulta.replace("\x00", " ")[:LARGO_MAXIMO_CONSULTA].strip()
    if not consulta:
        return []
    if not isinstance(almacen, AlmacenMemoria):
        # LangGraph's own stores (tests, a developer's laptop) know meaning only, or nothing at all.
        hallados = almacen.search(namespace, query=consulta, limit=limite, refresh_ttl=False)
        return [
            Hallazgo(a.namespace, a.key, a.value, a.created_at, a.updated_at, a.score, por_significado=True)
            for a in hallados
            if a.score is None or a.score >= politica.UMBRAL_POR_DEFECTO
        ]
    parametros = {
        "prefijo": ".".join(namespace),
        "palabras": en_palabras(consulta),
        "limite": limite,
        "desde": desde and desde.isoformat(),
        "hasta": hasta and hasta.isoformat(),
        "importancia": importancia,
        "autor": autor,
    }
    vector = _vector(almacen, consulta)
    if vector is None:
        return [_hallazgo(namespace, fila, None) for fila in almacen.consultar(_TEXTO_COMPLETO, parametros)]
    filas = almacen.consultar(_HIBRIDO, {**parametros, "vector": en_texto(vector)})
    umbral = almacen.modelo.umbral if almacen.modelo else politica.UMBRAL_POR_DEFECTO
    hay_respuesta = any(f["con_termino"] or f["similitud"] >= umbral for f in filas)
    return [_hallazgo(namespace, fila, umbral) for fila in filas] if hay_respuesta else []


def _vector(almacen: AlmacenMemoria, consulta: str) -> list[float] | None:
    if almacen.modelo is None:
        return None
    try:
        return almacen.modelo.embed_query(consulta)
    except EmbeddingsNoDisponibles as error:
        logger.warning("Búsqueda de avisos sin vectores: %s", error)
        return None


def _hallazgo(namespace: tuple[str, ...], fila: dict[str, Any], umbral: float | None) -> Hallazgo:
    similitud = fila["similitud"]
    return Hallazgo(
        namespace=namespace,
        key=fila["key"],
        value=fila["value"],
        created_at=fila["created_at"],
        updated_at=fila["updated_at"],
        score=similitud,
        marcas=tramos(str(fila["value"].get("texto", "")), fila["posiciones"] or []),
        por_significado=umbral is not None and similitud >= umbral,
    )


# -- words and where they are ---------------------------------------------------------------------


class Palabra(NamedTuple):
    """One normalised word of a text, and where it is in it."""

    texto: str
    inicio: int
    fin: int


def palabras(texto: str) -> Iterator[Palabra]:
    """The words of ``texto`` as PostgreSQL sees them after :func:`normalizada`: the n-th has position n."""
    letras, origen = [], []
    for i, caracter in enumerate(texto):
        for parte in unicodedata.normalize("NFKD", caracter):
            if not "\u0300" <= parte <= "\u036f":
                letras.append(parte.lower() if parte.isascii() else " ")
                origen.append(i)
    for hallada in _PALABRA.finditer("".join(letras)):
        inicio, fin = hallada.span()
        yield Palabra(hallada[0], origen[inicio], origen[fin - 1] + 1)


_PALABRA = re.compile(r"[a-z]+|[0-9]+")
# Spaces are no part of a code: "camión 18" is two words, "TX-18" and "tx18" are one.
_UNIDOS = re.compile(r"[-./_]?")
_PLURAL = re.compile(r"\b([a-z]{3,})s\b")


def en_palabras(consulta: str) -> list[str]:
    """The question as the parameter ``palabras`` of :func:`lexico`: words, and codes with a space inside."""
    juntas: list[str] = []
    anterior: Palabra | None = None
    for palabra in palabras(consulta):
        es_codigo = (
            anterior is not None
            and anterior.texto.isdigit() != palabra.texto.isdigit()
            and _UNIDOS.fullmatch(consulta, anterior.fin, palabra.inicio)
        )
        if es_codigo:
            juntas[-1] += f" {palabra.texto}"
        else:
            juntas.append(palabra.texto)
        anterior = palabra
    return [_PLURAL.sub(r"\1", palabra) for palabra in juntas]


def tramos(texto: str, posiciones: list[int]) -> tuple[tuple[int, int], ...]:
    """The spans of the words at those positions (from 1), neighbours without a gap joined."""
    buscadas = set(posiciones)
    unidos: list[tuple[int, int]] = []
    for n, palabra in enumerate(palabras(texto), start=1):
        if n not in buscadas:
            continue
        if unidos and unidos[-1][1] >= palabra.inicio:
            unidos[-1] = (unidos[-1][0], max(unidos[-1][1], palabra.fin))
        else:
            unidos.append((palabra.inicio, palabra.fin))
    return tuple(unidos)


def trozos(texto: str, marcas: tuple[tuple[int, int], ...]) -> list[tuple[str, bool]]:
    """``texto`` cut at ``marcas``; put together again, the pieces are the text."""
    piezas: list[tuple[str, bool]] = []
    desde = 0
    for inicio, fin in marcas:
        piezas += [(texto[desde:inicio], False), (texto[inicio:fin], True)]
        desde = fin
    piezas.append((texto[desde:], False))
    return [(pieza, marcada) for pieza, marcada in piezas if pieza]


# -- the SQL --------------------------------------------------------------------------------------


def normalizada(expresion: str) -> str:
    """SQL for the words of a text expression: lower case, no accents, letters apart from digits, no plural s.

    ``unaccent`` is not everywhere. Left alone, the parser reads "TX-18" as the word "tx" and the number -18,
    and the stemmer, which relies on accents, cuts "minimo" and "minimos" at different places.
    :func:`palabras` counts the same words. memoria/sql/busqueda.sql spells it out for the notices.
    """
    sin_acentos = f"regexp_replace(normalize({expresion}, NFKD), '[\\u0300-\\u036f]', '', 'g')"
    palabras_sueltas = f"regexp_replace(lower({sin_acentos} COLLATE \"C\"), '[^a-z0-9]+', ' ', 'g')"
    letras_y_cifras = (
        f"regexp_replace({palabras_sueltas}, '([a-z])(?=[0-9])|([0-9])(?=[a-z])', '\\1\\2 ', 'g')"
    )
    return f"regexp_replace({letras_y_cifras}, '\\m([a-z]{{3,}})s\\M', '\\1', 'g')"


# Each word of the question as a term. The stemmer cuts alike words at different places ("devolucion",
# "devolv"): a term also matches what begins with it and its own beginnings up to five letters shorter. Codes
# and short words match only themselves.
TERMINOS = r"""
terminos AS MATERIALIZED (
    SELECT hueco,
           CASE WHEN palabra ~ '[0-9]' THEN phraseto_tsquery('pg_catalog.spanish', palabra)
                ELSE (SELECT CASE WHEN length(lexeme) < 4 THEN quote_literal(lexeme)
                                  ELSE quote_literal(lexeme) || ':*' || coalesce((
                                      SELECT string_agg(' | ' || quote_literal(left(lexeme, n)), '')
                                      FROM generate_series(greatest(4, length(lexeme) - 5),
                                                           length(lexeme) - 1) AS n), '')
                             END::tsquery
                      FROM unnest(to_tsvector('pg_catalog.spanish', palabra)))
           END AS termino
    FROM unnest(%(palabras)s::text[]) WITH ORDINALITY AS p (palabra, hueco)
),
pregunta AS MATERIALIZED (
    SELECT string_agg('(' || termino::text || ')', ' | ')::tsquery AS alguno
    FROM terminos WHERE numnode(termino) > 0
)"""


def lexico(tabla: str, clave: str, condicion: str) -> str:
    """CTEs that end in ``lexico (key, puesto)``: the 50 best rows of ``tabla`` with a term, best first.

    ``tabla`` has a column ``lexemas``; ``clave`` is its key among the rows that fulfil ``condicion``. A row
    scores the rarity, among those rows, of the terms it has. Takes the parameter ``palabras``.
    """
    return f"""{TERMINOS},
candidatos AS MATERIALIZED (
    SELECT {clave} AS key, lexemas FROM {tabla}
    WHERE {condicion} AND lexemas @@ (SELECT alguno FROM pregunta)
),
aciertos AS MATERIALIZED (
    SELECT key, hueco FROM candidatos JOIN terminos ON lexemas @@ termino
),
pesos AS (
    SELECT hueco, ln(1 + (total - count(*) + 0.5) / (count(*) + 0.5)) AS peso
    FROM aciertos, (SELECT count(*) AS total FROM {tabla} WHERE {condicion}) AS todas
    GROUP BY hueco, total
),
lexico AS (
    SELECT key, row_number() OVER (ORDER BY sum(peso) DESC, key DESC) AS puesto
    FROM aciertos JOIN pesos USING (hueco)
    GROUP BY key
    ORDER BY puesto
    LIMIT 50
)"""


_PROPIOS = "prefix = %(prefijo)s AND expires_at > now()"
# A parameter that is NULL filters nothing.
_FILTROS = """(%(desde)s::text IS NULL OR s.value ->> 'fecha' >= %(desde)s)
  AND (%(hasta)s::text IS NULL OR s.value ->> 'fecha' <= %(hasta)s)
  AND (%(importancia)s::text IS NULL OR coalesce(s.value ->> 'importancia', 'normal') = %(importancia)s)
  AND (%(autor)s::text IS NULL OR s.value ->> 'autor' = %(autor)s)"""
# Where in the text the words of the question are.
_POSICIONES = """(
    SELECT array_agg(posicion ORDER BY posicion)
    FROM unnest(s.lexemas) AS l (lexeme, positions, weights), unnest(positions) AS posicion
    WHERE EXISTS (SELECT FROM terminos WHERE array_to_tsvector(ARRAY[lexeme]) @@ termino)
) AS posiciones"""

_TEXTO_COMPLETO = f"""
WITH {lexico("store", "key", _PROPIOS)}
SELECT s.key, s.value, s.created_at, s.updated_at, NULL AS similitud, {_POSICIONES}
FROM lexico JOIN store s ON s.prefix = %(prefijo)s AND s.key = lexico.key
WHERE {_FILTROS}
ORDER BY puesto
LIMIT %(limite)s
"""

# Reciprocal rank fusion, k = 60 (Cormack, Clarke and Büttcher, SIGIR 2009). A notice that has no vector yet
# can still be found by its words.
_HIBRIDO = f"""
WITH {lexico("store", "key", _PROPIOS)},
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
       coalesce(1 - (v.embedding <=> %(vector)s::vector), 0) AS similitud, {_POSICIONES}
FROM fusion
JOIN store s ON s.prefix = %(prefijo)s AND s.key = fusion.key
LEFT JOIN store_vectors v ON v.prefix = s.prefix AND v.key = s.key
WHERE {_FILTROS}
ORDER BY puntos DESC, similitud DESC, s.key DESC
LIMIT %(limite)s
"""
