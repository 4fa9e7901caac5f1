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

Each notice scores its similarity of meaning (the cosine, -1 to 1) plus the share of the question it has in
its words (0 to 1: a rare word counts more than a common one, and a word of the same group of
:mod:`memoria.vocabulario` counts for 0.7 of the word itself). Both are exact: there is no approximate index
to miss a notice. Then, to tell apart what is as good, 0.02 more for a notice of importance "alta", up to 0.02
for a recent one and 0.02 less for one past its ``valido_hasta``, which is still found: "¿cuándo cerraron?" is
a question too. Nothing comes back when neither words nor meaning hold: see :func:`_hay_respuesta`. The
measurements are in ``docs/decisiones/0004-busqueda.md``.

For other tables: :func:`normalizada` makes their column of lexemes, :func:`lexico` ranks their rows by the
words of a question given as :func:`en_palabras` (the words alone) or :func:`en_terminos` (and their groups),
and :func:`tramos` and :func:`trozos` say where they matched.
"""

from __future__ import annotations

import logging
import math
import re
import unicodedata
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any, NamedTuple

from langgraph.store.base import BaseStore, SearchItem

from memoria import erratas, politica, vocabulario
from memoria.almacen import CAMPO_INCRUSTADO, AlmacenMemoria, en_texto
from memoria.embeddings import EmbeddingsNoDisponibles

logger = logging.getLogger(__name__)

#: A question is a sentence, not a document: what is longer is cut, and its beginning decides.
LARGO_MAXIMO_CONSULTA = 500
#: Of the question's telling words, one in so many must be in the supplier's notices to answer by words alone.
PARTE_QUE_BASTA = 3


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

    The notices of a code that was joined to another are under the other one: that is where they are found.
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
    terminos = en_terminos(consulta)
    parametros: dict[str, Any] = {"prefijo": ".".join(namespace), "palabras": terminos, "limite": limite}
    if any(f is not None for f in (desde, hasta, importancia, autor)):
        parametros |= {
            "desde": desde and desde.isoformat(),
            "hasta": hasta and hasta.isoformat(),
            "importancia": importancia,
            "autor": autor,
        }
    vector = _vector(almacen, consulta)
    umbral = math.inf
    if vector is not None:
        parametros["vector"] = en_texto(vector)
        umbral = almacen.modelo.umbral if almacen.modelo else politica.UMBRAL_POR_DEFECTO
    filas = _filas(almacen, parametros)
    corregidos = _corregir(almacen, parametros, filas)
    if corregidos != terminos:
        terminos = parametros["palabras"] = corregidos
        filas = _filas(almacen, parametros)
    if not _hay_respuesta(filas, terminos, umbral):
        vigente = _codigo_vigente(almacen, proveedor_id)
        if vigente == proveedor_id:
            return []
        return hallar_avisos(
            almacen,
            vigente,
            consulta,
            limite=limite,
            desde=desde,
            hasta=hasta,
            importancia=importancia,
            autor=autor,
        )
    return [_hallazgo(namespace, fila, terminos, umbral) for fila in filas]


def _filas(almacen: AlmacenMemoria, parametros: dict[str, Any]) -> list[dict[str, Any]]:
    filtrado = "desde" in parametros
    if "vector" in parametros:
        return almacen.consultar(_HIBRIDO_FILTRADO if filtrado else _HIBRIDO, parametros)
    return almacen.consultar(_TEXTO_COMPLETO_FILTRADO if filtrado else _TEXTO_COMPLETO, parametros)


def _codigo_vigente(almacen: AlmacenMemoria, proveedor_id: str) -> str:
    """Asked only where nothing was found: a code that is in use costs nothing more."""
    (fila,) = almacen.consultar("SELECT proveedor_vigente(%(codigo)s) AS codigo", {"codigo": proveedor_id})
    return str(fila["codigo"])


def _vector(almacen: AlmacenMemoria, consulta: str) -> list[float] | None:
    if almacen.modelo is None:
        return None
    try:
        return almacen.modelo.embed_query(consulta)
    except EmbeddingsNoDisponibles as error:
        logger.warning("Búsqueda de avisos sin vectores: %s", error)
        return None


def _corregir(almacen: AlmacenMemoria, parametros: dict[str, Any], filas: list[dict[str, Any]]) -> list[str]:
    """The terms, those that nobody knows having now the words they may be a slip of."""
    terminos: list[str] = parametros["palabras"]
    hallados = dict(zip(filas[0]["huecos"] or [], filas[0]["veces"] or [], strict=True)) if filas else {}
    dudosos = [
        n
        for n, termino in enumerate(terminos)
        if len(termino) >= erratas.LARGO_MINIMO
        and termino.isalpha()  # no words of any group after it, no figures
        and not hallados.get(n + 1)
        and not vocabulario.es_generica(termino)
    ]
    if not dudosos:
        return terminos
    escritas = almacen.consultar(
        _VOCES,
        {
            "prefijo": parametros["prefijo"],
            "dudosas": [terminos[n] for n in dudosos],
            "iniciales": [terminos[n][0] for n in dudosos],
        },
    )[0]
    corregidos = list(terminos)
    for n, raiz in zip(dudosos, escritas["raices"], strict=True):
        lexemas = erratas.parecidas(raiz, escritas["voces"] or [])
        conocidas = vocabulario.conocidas()
        voces = erratas.parecidas(terminos[n], conocidas.palabras)
        voces |= erratas.parecidas(terminos[n], conocidas.comienzos, comienzos=True)
        afines = [vocabulario.afines(voz) for voz in voces]
        palabras_afines = voces.union(*(a.palabras for a in afines if a))
        comienzos = lexemas.union(*(a.comienzos for a in afines if a))
        if palabras_afines or comienzos:
            corregidos[n] = _termino(
                terminos[n], vocabulario.Afines(frozenset(palabras_afines), frozenset(comienzos))
            )
    return corregidos


def _hay_respuesta(filas: list[dict[str, Any]], terminos: list[str], umbral: float) -> bool:
    """Whether what was found is an answer at all.

    It is when some notice is as near in meaning as the model's threshold asks, or when the supplier's notices
    speak of what is asked: of the words that tell, a third must be in some notice, or another of their
    group. A word that tells is one that is not generic ("producto") and that is in some group, or in some
    notice: if the groups know it and no notice has it, nothing was written on that.
    """
    if not filas:
        return False
    if any(f["similitud"] is not None and f["similitud"] >= umbral for f in filas):
        return True
    veces = dict(zip(filas[0]["huecos"] or [], filas[0]["veces"] or [], strict=True))
    cuentan = [hueco for hueco, n in veces.items() if n or "\t" in terminos[hueco - 1]]
    dicen = [h for h in cuentan if not vocabulario.es_generica(terminos[h - 1].partition("\t")[0])]
    # Of a question with generic words alone ("pedidos") they are what is asked.
    preguntadas = dicen or cuentan
    hallados: int = sum(veces[h] > 0 for h in preguntadas)
    return hallados > 0 and hallados * PARTE_QUE_BASTA >= len(preguntadas)


def _hallazgo(
    namespace: tuple[str, ...], fila: dict[str, Any], terminos: list[str], umbral: float
) -> Hallazgo:
    similitud = fila["similitud"]
    texto = str(fila["value"].get("texto", ""))
    marcas = tramos(texto, [*(fila["posiciones"] or []), *_posiciones_de_codigos(texto, terminos)])
    return Hallazgo(
        namespace=namespace,
        key=fila["key"],
        value=fila["value"],
        created_at=fila["created_at"],
        updated_at=fila["updated_at"],
        score=similitud,
        marcas=marcas,
        # Nothing to highlight: only its meaning can have brought it.
        por_significado=similitud is not None and (similitud >= umbral or not marcas),
    )


def _posiciones_de_codigos(texto: str, terminos: list[str]) -> Iterator[int]:
    """Where the codes of the question are, whose parts count only one after the other."""
    codigos = [termino.split(" ") for termino in terminos if " " in termino and "\t" not in termino]
    if not codigos:
        return
    del_texto = [palabra.texto for palabra in palabras(texto)]
    for partes in codigos:
        for n in range(len(del_texto) - len(partes) + 1):
            if del_texto[n : n + len(partes)] == partes:
                yield from range(n + 1, n + len(partes) + 1)


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


def en_terminos(consulta: str) -> list[str]:
    """As :func:`en_palabras`, each word followed by those of its groups (see ``TERMINOS``)."""
    terminos = []
    for palabra in en_palabras(consulta):
        afines = None if " " in palabra else vocabulario.afines(palabra)
        terminos.append(_termino(palabra, afines) if afines else palabra)
    return terminos


def _termino(palabra: str, afines: vocabulario.Afines) -> str:
    comienzos = " | ".join(f"'{comienzo}':*" for comienzo in sorted(afines.comienzos))
    return f"{palabra}\t{' '.join(sorted(afines.palabras))}\t{comienzos}"


def tramos(texto: str, posiciones: list[int]) -> tuple[tuple[int, int], ...]:
    """The spans of the words at those positions (from 1), those of one code joined."""
    buscadas = set(posiciones)
    unidos: list[tuple[int, int]] = []
    for n, palabra in enumerate(palabras(texto), start=1):
        if n not in buscadas:
            continue
        if unidos and n - 1 in buscadas and _UNIDOS.fullmatch(texto, unidos[-1][1], palabra.inicio):
            unidos[-1] = (unidos[-1][0], palabra.fin)
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
# and short words match only themselves. What follows a word are, after tabs, the words of its groups and
# their beginnings: they are in `termino` and not in `propio`.
TERMINOS = r"""
palabras AS (
    SELECT hueco, split_part(todo, E'\t', 1) AS palabra,
           to_tsvector('pg_catalog.spanish', split_part(todo, E'\t', 2)) AS afines,
           split_part(todo, E'\t', 3) AS comienzos
    FROM unnest(%(palabras)s::text[]) WITH ORDINALITY AS p (todo, hueco)
),
propios AS MATERIALIZED (
    SELECT hueco, afines, comienzos,
           CASE WHEN palabra ~ '[0-9]' THEN phraseto_tsquery('pg_catalog.spanish', palabra)
                ELSE (SELECT CASE WHEN length(lexeme) < 4 THEN quote_literal(lexeme)
                                  ELSE quote_literal(lexeme) || ':*' || coalesce((
                                      SELECT string_agg(' | ' || quote_literal(left(lexeme, n)), '')
                                      FROM generate_series(greatest(4, length(lexeme) - 5),
                                                           length(lexeme) - 1) AS n), '')
                             END::tsquery
                      FROM unnest(to_tsvector('pg_catalog.spanish', palabra)))
           END AS propio
    FROM palabras
),
terminos AS MATERIALIZED (
    SELECT hueco, propio,
           concat_ws(' | ', '(' || nullif(propio::text, '') || ')', nullif(comienzos, ''),
                     (SELECT string_agg(quote_literal(lexeme), ' | ') FROM unnest(afines))
           )::tsquery AS termino
    FROM propios
    WHERE numnode(propio) > 0
)"""
#: What a word of the same group counts for, the word itself being 1.
PESO_AFIN = 0.7


def _coberturas(total: str) -> str:
    """CTEs ``pesos`` and ``coberturas``, from ``terminos``, ``aciertos`` and how many rows there are."""
    return f"""
pesos AS MATERIALIZED (
    SELECT hueco, count(key) AS veces,
           ln(1 + ({total} - count(key) + 0.5) / (count(key) + 0.5))::float8 AS peso
    FROM terminos LEFT JOIN aciertos USING (hueco)
    GROUP BY hueco
),
coberturas AS (
    SELECT key, sum(peso * grado) / (SELECT sum(peso) FROM pesos) AS cobertura
    FROM aciertos JOIN pesos USING (hueco)
    GROUP BY key
)"""


def lexico(tabla: str, clave: str, condicion: str) -> str:
    """CTEs that end in ``lexico (key, cobertura, puesto)``: the 50 best rows of ``tabla``, best first.

    ``tabla`` has a column ``lexemas``; ``clave`` is its key among the rows that fulfil ``condicion``.
    ``cobertura`` is the share of the question a row has, each term weighing by its rarity among those rows.
    Takes the parameter ``palabras``. On the way, ``coberturas (key, cobertura)`` has all rows with a term and
    ``pesos (hueco, veces, peso)`` every term. Each row is compared with each term.
    """
    return f"""{TERMINOS},
aciertos AS MATERIALIZED (
    SELECT {clave} AS key, hueco, CASE WHEN lexemas @@ propio THEN 1 ELSE {PESO_AFIN} END AS grado
    FROM {tabla} JOIN terminos ON lexemas @@ termino
    WHERE {condicion}
),
{_coberturas(f"(SELECT count(*) FROM {tabla} WHERE {condicion})")},
lexico AS (
    SELECT key, cobertura, row_number() OVER (ORDER BY cobertura DESC, key DESC) AS puesto
    FROM coberturas
    ORDER BY puesto
    LIMIT 50
)"""


# The same for the notices of a supplier, looking the words up in an index (memoria/sql/busqueda.sql).
_LEXICO = f"""{TERMINOS},
censo AS MATERIALIZED (
    SELECT count(*) FILTER (WHERE expires_at > now()) AS vigentes,
           array_agg(key) FILTER (WHERE expires_at <= now()) AS caducados
    FROM store WHERE prefix = %(prefijo)s
),
aciertos AS MATERIALIZED (
    SELECT a.key, a.hueco, CASE WHEN a.es_propio THEN 1 ELSE {PESO_AFIN} END AS grado
    FROM (
        SELECT array_agg(hueco) AS huecos, array_agg(termino) AS terminos, array_agg(propio) AS propios
        FROM terminos
    ) AS t, LATERAL avisos_con(%(prefijo)s, huecos, terminos, propios) AS a
),
{_coberturas("(SELECT vigentes FROM censo)")}"""

# A parameter that is NULL filters nothing.
_FILTROS = """key IN (
    SELECT key FROM store
    WHERE prefix = %(prefijo)s
      AND (%(desde)s::text IS NULL OR value ->> 'fecha' >= %(desde)s)
      AND (%(hasta)s::text IS NULL OR value ->> 'fecha' <= %(hasta)s)
      AND (%(importancia)s::text IS NULL OR coalesce(value ->> 'importancia', 'normal') = %(importancia)s)
      AND (%(autor)s::text IS NULL OR value ->> 'autor' = %(autor)s)
    )"""

#: Highest sum of the weights that only tell apart what is as good.
PESO_LEVE = 0.02
# Months, so that no text can fail as a date: what was stored by other hands may hold any.
_MESES = "substr(s.value ->> 'fecha', 1, 4)::int * 12 + substr(s.value ->> 'fecha', 6, 2)::int"
_LEVES = f"""{PESO_LEVE} * (
        (s.value ->> 'importancia' IS NOT DISTINCT FROM 'alta')::int
        - (coalesce(s.value ->> 'valido_hasta', '9') < current_date::text)::int
        + CASE WHEN s.value ->> 'fecha' ~ '^\\d{{4}}-\\d\\d-\\d\\d$' THEN greatest(0, least(1,
              1 - (extract(year FROM now()) * 12 + extract(month FROM now()) - ({_MESES})) / 12.0))
          ELSE 0 END
    )"""
# Only those that the weights could still bring among the first are weighed.
_ORDENADOS = f"""
bastante AS (
    SELECT coalesce(
        (SELECT puntos FROM puntuados ORDER BY puntos DESC OFFSET %(limite)s - 1 LIMIT 1), '-Infinity'
    ) - {3 * PESO_LEVE} AS puntos
)
SELECT s.key, s.value, s.created_at, s.updated_at, p.similitud,
       (SELECT array_agg(hueco ORDER BY hueco) FROM pesos) AS huecos,
       (SELECT array_agg(veces ORDER BY hueco) FROM pesos) AS veces,
       (
           SELECT array_agg(posicion ORDER BY posicion)
           FROM unnest(s.lexemas) AS l (lexeme, positions, weights), unnest(positions) AS posicion
           WHERE EXISTS (SELECT FROM terminos WHERE array_to_tsvector(ARRAY[lexeme]) @@ termino)
       ) AS posiciones
FROM puntuados p, LATERAL (
    -- One by one (OFFSET 0): they are few, which the planner cannot know.
    SELECT * FROM store WHERE prefix = %(prefijo)s AND key = p.key OFFSET 0
) AS s
WHERE p.puntos >= (SELECT puntos FROM bastante)
ORDER BY p.puntos + {_LEVES} DESC, s.key DESC
LIMIT %(limite)s
"""


def _texto_completo(filtros: str) -> str:
    return f"""
WITH {_LEXICO},
puntuados AS MATERIALIZED (
    SELECT key, NULL::float8 AS similitud, cobertura AS puntos FROM coberturas WHERE {filtros}
),
{_ORDENADOS}
"""


# The model gives no vector of length zero but for a text that says nothing: it is like no other.
_SIMILITUD = "coalesce(nullif(1 - distancia, 'NaN'), 0)"


# A notice that has no vector yet can still be found by its words.
def _hibrido(filtros: str) -> str:
    return f"""
WITH {_LEXICO},
puntuados AS MATERIALIZED (
    SELECT key, {_SIMILITUD} AS similitud, {_SIMILITUD} + coalesce(cobertura, 0) AS puntos
    FROM (
        SELECT key, embedding <=> %(vector)s::vector AS distancia FROM store_vectors
        WHERE prefix = %(prefijo)s AND field_name = '{CAMPO_INCRUSTADO}'
          AND key NOT IN (SELECT unnest(caducados) FROM censo)
    ) AS v FULL JOIN coberturas USING (key)
    WHERE {filtros}
),
{_ORDENADOS}
"""


# To mend slips by. Of a supplier with more notices, the words of the last ones: reading all those of 5,000
# would take longer than the search.
_VOCES = """
SELECT (
    SELECT array_agg(DISTINCT lexeme)
    FROM (
        SELECT lexemas FROM store WHERE prefix = %(prefijo)s AND expires_at > now()
        ORDER BY created_at DESC LIMIT 500
    ) AS ultimos, unnest(lexemas)
    WHERE left(lexeme, 1) = ANY (%(iniciales)s)
) AS voces, (
    SELECT array_agg(coalesce((ts_lexize('pg_catalog.spanish_stem', palabra))[1], palabra) ORDER BY n)
    FROM unnest(%(dudosas)s::text[]) WITH ORDINALITY AS d (palabra, n)
) AS raices
"""

_TEXTO_COMPLETO, _TEXTO_COMPLETO_FILTRADO = _texto_completo("true"), _texto_completo(_FILTROS)
_HIBRIDO, _HIBRIDO_FILTRADO = _hibrido("true"), _hibrido(_FILTROS)
