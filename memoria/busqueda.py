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

What comes back has a reason of its own: a word of the question that tells (or one of its group in
:mod:`memoria.vocabulario`), or a similarity of meaning (the cosine, -1 to 1) that reaches the model's
threshold. Those are ranked twice, by similarity and by the share of the question they have in their words (a
rare word counts more than a common one, and one of the same group for 0.7 of the word itself), and both
rankings are fused by rank: 1 / (60 + place) in each, with equals in the same place. Both are exact: there is
no approximate index to miss a notice. Then, to tell apart what is about as good, half a place for a notice of
importance "alta", up to half for a recent one and half less for one past its ``valido_hasta``, which is still
found: "¿cuándo cerraron?" is a question too. Nothing comes back when neither words nor meaning hold: see
:func:`_hay_respuesta`. The measurements are in ``docs/decisiones/0004-busqueda.md``.

For other tables, what this takes from :mod:`memoria.terminos` is importable from here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

from langgraph.store.base import BaseStore, SearchItem

from memoria import erratas, politica, vocabulario
from memoria.almacen import CAMPO_INCRUSTADO, AlmacenMemoria, en_texto
from memoria.embeddings import incrustar_pregunta
from memoria.terminos import (
    PESO_AFIN,
    TERMINOS,
    coberturas_sql,
    en_palabras,
    en_terminos,
    lexico,
    normalizada,
    palabras,
    termino,
    tramos,
    trozos,
)

__all__ = [
    "LARGO_MAXIMO_CONSULTA",
    "Hallazgo",
    "buscar_avisos",
    "en_palabras",
    "en_terminos",
    "hallar_avisos",
    "lexico",
    "normalizada",
    "palabras",
    "tramos",
    "trozos",
]

#: A question is a sentence, not a document: what is longer is cut, and its beginning decides.
LARGO_MAXIMO_CONSULTA = 500
# What a text of PostgreSQL cannot hold.
_INDECIBLES = re.compile("[\x00\ud800-\udfff]")
#: Of the question's telling words, one in so many must be in the supplier's notices to answer by words alone.
PARTE_QUE_BASTA = 3


class Hallazgo(SearchItem):
    """A notice that answers the question, and why.

    ``marcas`` are the spans of ``value["texto"]``, in order and apart, that hold a word of the question;
    ``por_significado`` says whether its meaning alone would have brought it: its similarity reaches the
    threshold of the model.
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
    that embeds is away or answers something else: then full text alone decides). Never renews a notice, never
    returns one of another supplier.

    Raises ``PoliticaIncumplida`` for a ``proveedor_id`` that is empty or that no database could hold, and
    ``ValueError`` for a ``limite`` under 1.
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
    notice (one without ``importancia`` is normal). A store that is not ours has none: ``ValueError``.

    The notices of a code that was joined to another are under the other one: that is where they are found.
    """
    namespace = politica.espacio("proveedores", proveedor_id)
    if _INDECIBLES.search(proveedor_id):
        raise politica.PoliticaIncumplida(
            "El código del proveedor lleva caracteres que no se pueden guardar: indíquelo como está en la"
            " lista de proveedores."
        )
    if limite < 1:
        raise ValueError(f"El límite de avisos es de 1 en adelante, y vale {limite}.")
    filtrado = any(f is not None for f in (desde, hasta, importancia, autor))
    if filtrado and not isinstance(almacen, AlmacenMemoria):
        raise ValueError("Los filtros de avisos necesitan el almacén de memoria.almacen.abrir_almacen().")
    consulta = _INDECIBLES.sub(" ", consulta)[:LARGO_MAXIMO_CONSULTA].strip()
    if not consulta:
        return []
    if not isinstance(almacen, AlmacenMemoria):
        # LangGraph's own stores (tests, a developer's laptop) know meaning only, or nothing at all.
        hallados = almacen.search(namespace, query=consulta, limit=limite, refresh_ttl=False)
        return [
            Hallazgo(
                *(a.namespace, a.key, a.value, a.created_at, a.updated_at, a.score),
                por_significado=a.score is not None,
            )
            for a in hallados
            if a.score is None or a.score >= politica.UMBRAL_POR_DEFECTO
        ]
    terminos = en_terminos(consulta)
    umbral = math.inf
    parametros: dict[str, Any] = {"prefijo": ".".join(namespace), "limite": limite} | _de_la_pregunta(
        terminos
    )
    if filtrado:
        parametros |= {
            "desde": desde and desde.isoformat(),
            "hasta": hasta and hasta.isoformat(),
            "importancia": importancia,
            "autor": autor,
        }
    vector = incrustar_pregunta(almacen.modelo, consulta)
    if vector is not None and almacen.modelo is not None:
        parametros["vector"] = en_texto(vector)
        umbral = almacen.modelo.umbral
    parametros["umbral"] = umbral
    filas = _filas(almacen, parametros)
    corregidos = _corregir(almacen, parametros, filas)
    if corregidos != terminos:
        terminos = corregidos
        parametros |= _de_la_pregunta(terminos)
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


def _de_la_pregunta(terminos: list[str]) -> dict[str, Any]:
    """The parameters that say what is asked: the terms, and the places of those that may tell."""
    return {
        "palabras": terminos,
        "especificas": [
            n for n, t in enumerate(terminos, 1) if not vocabulario.es_generica(t.partition("\t")[0])
        ],
        "con_grupo": [n for n, t in enumerate(terminos, 1) if "\t" in t],
    }


def _filas(almacen: AlmacenMemoria, parametros: dict[str, Any]) -> list[dict[str, Any]]:
    filtrado = "desde" in parametros
    if "vector" in parametros:
        return almacen.consultar(_HIBRIDO_FILTRADO if filtrado else _HIBRIDO, parametros)
    return almacen.consultar(_TEXTO_COMPLETO_FILTRADO if filtrado else _TEXTO_COMPLETO, parametros)


def _codigo_vigente(almacen: AlmacenMemoria, proveedor_id: str) -> str:
    """Asked only where nothing was found: a code that is in use costs nothing more."""
    (fila,) = almacen.consultar("SELECT proveedor_vigente(%(codigo)s) AS codigo", {"codigo": proveedor_id})
    return str(fila["codigo"])


def _corregir(almacen: AlmacenMemoria, parametros: dict[str, Any], filas: list[dict[str, Any]]) -> list[str]:
    """The terms, with those that nobody knows widened to the words they may be a slip of."""
    terminos: list[str] = parametros["palabras"]
    hallados = dict(zip(filas[0]["huecos"] or [], filas[0]["veces"] or [], strict=True)) if filas else {}
    dudosos = [
        n
        for n, voz in enumerate(terminos)
        if len(voz) >= erratas.LARGO_MINIMO
        and voz.isalpha()  # no words of any group after it, no figures
        and not hallados.get(n + 1)
        and not vocabulario.es_generica(voz)
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
        if raiz is None:
            continue  # a stop word ("sobre"): known to everybody, and in no notice
        lexemas = erratas.parecidas(raiz, escritas["voces"] or [])
        conocidas = vocabulario.conocidas()
        # A whole word has its ending too: of five letters, "plato" would be a slip of "plazo".
        voces = erratas.parecidas(terminos[n], conocidas.palabras, minimo=erratas.LARGO_MINIMO + 1)
        voces |= erratas.parecidas(terminos[n], conocidas.comienzos, comienzos=True)
        afines = [vocabulario.afines(voz) for voz in voces]
        palabras_afines = voces.union(*(a.palabras for a in afines if a))
        comienzos = lexemas.union(*(a.comienzos for a in afines if a))
        if palabras_afines or comienzos:
            corregidos[n] = termino(
                terminos[n], vocabulario.Afines(frozenset(palabras_afines), frozenset(comienzos))
            )
    return corregidos


def _hay_respuesta(filas: list[dict[str, Any]], terminos: list[str], umbral: float) -> bool:
    """Whether what was found is an answer at all.

    It is when some notice (also one past the limit) is as near in meaning as the model's threshold asks, or
    when the supplier's notices speak of what is asked: of the words that tell, a third must be in some
    notice, or another of their group. A word that tells is one that is not generic ("producto") and that is
    in some group, or in some notice: if the groups know it and no notice has it, nothing was written on that.
    """
    if not filas:
        return False
    mejor = filas[0]["mejor_similitud"]
    if mejor is not None and mejor >= umbral:
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
        por_significado=similitud is not None and similitud >= umbral,
    )


def _posiciones_de_codigos(texto: str, terminos: list[str]) -> Iterator[int]:
    """Where the codes of the question are, whose parts count only one after the other."""
    codigos = [t.split(" ") for t in terminos if " " in t and "\t" not in t]
    if not codigos:
        return
    del_texto = [palabra.texto for palabra in palabras(texto)]
    for partes in codigos:
        for n in range(len(del_texto) - len(partes) + 1):
            if del_texto[n : n + len(partes)] == partes:
                yield from range(n + 1, n + len(partes) + 1)


# -- the SQL --------------------------------------------------------------------------------------

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
{coberturas_sql("(SELECT vigentes FROM censo)")}"""

# A parameter that is NULL filters nothing.
_FILTROS = """key IN (
    SELECT key FROM store
    WHERE prefix = %(prefijo)s
      AND (%(desde)s::text IS NULL OR value ->> 'fecha' >= %(desde)s)
      AND (%(hasta)s::text IS NULL OR value ->> 'fecha' <= %(hasta)s)
      AND (%(importancia)s::text IS NULL OR coalesce(value ->> 'importancia', 'normal') = %(importancia)s)
      AND (%(autor)s::text IS NULL OR value ->> 'autor' = %(autor)s)
    )"""

#: Of the fusion by rank: how much the first places of a ranking stand out from the next ones.
K_FUSION = 60
#: Each of the weights that only tell apart what is about as good: half of what parts a first place from a
#: second, so that a valid notice moves up a place in one of the two rankings at most.
PESO_LEVE = (1 / (K_FUSION + 1) - 1 / (K_FUSION + 2)) / 2
# Months, so that no text can fail as a date: what was stored by other hands may hold any.
_MESES = "substr(s.value ->> 'fecha', 1, 4)::int * 12 + substr(s.value ->> 'fecha', 6, 2)::int"
_LEVES = f"""{PESO_LEVE:.9f} * (
        (s.value ->> 'importancia' IS NOT DISTINCT FROM 'alta')::int
        - (coalesce(s.value ->> 'valido_hasta', '9') < current_date::text)::int
        + CASE WHEN s.value ->> 'fecha' ~ '^\\d{{4}}-\\d\\d-\\d\\d$' THEN greatest(0, least(1,
              1 - (extract(year FROM now()) * 12 + extract(month FROM now()) - ({_MESES})) / 12.0))
          ELSE 0 END
    )"""
# From `comparados (key, similitud, cobertura)`. What is under the threshold of similarity needs a word
# that is not generic; where the question has generic words alone, any will do. Places are among what is left,
# and equals have the same. (Sums in another order differ in their last bits; `real` has fewer.)
# Only those that the weights could still bring among the first are weighed.
_ORDENADOS = f"""
elegidos AS MATERIALIZED (
    SELECT key, similitud, coalesce(cobertura, 0)::real AS cobertura FROM comparados
    WHERE similitud >= %(umbral)s::float8 OR key IN (
        SELECT key FROM aciertos
        WHERE hueco = ANY (%(especificas)s::bigint[]) OR NOT EXISTS (
            SELECT FROM pesos
            WHERE hueco = ANY (%(especificas)s::bigint[])
              AND (veces > 0 OR hueco = ANY (%(con_grupo)s::bigint[]))
        )
    )
),
lugares AS (
    SELECT key, similitud, cobertura, rank() OVER (ORDER BY similitud DESC) AS por_significado,
           rank() OVER (ORDER BY cobertura DESC) AS por_palabras
    FROM elegidos
),
puntuados AS MATERIALIZED (
    SELECT key, similitud, 1 / ({K_FUSION} + por_significado)::float8
           + CASE WHEN cobertura > 0 THEN 1 / ({K_FUSION} + por_palabras)::float8 ELSE 0 END AS puntos
    FROM lugares
),
bastante AS (
    SELECT coalesce(
        (SELECT puntos FROM puntuados ORDER BY puntos DESC OFFSET %(limite)s - 1 LIMIT 1), '-Infinity'
    ) - {3 * PESO_LEVE:.9f} AS puntos
)
SELECT s.key, s.value, s.created_at, s.updated_at, p.similitud,
       (SELECT max(similitud) FROM puntuados) AS mejor_similitud,
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
comparados AS (
    SELECT key, NULL::float8 AS similitud, cobertura FROM coberturas WHERE {filtros}
),
{_ORDENADOS}
"""


# The model gives no vector of length zero but for a text that says nothing: it is like no other.
_SIMILITUD = "coalesce(nullif(1 - distancia, 'NaN'), 0)"


# A notice that has no vector yet can still be found by its words.
def _hibrido(filtros: str) -> str:
    return f"""
WITH {_LEXICO},
comparados AS MATERIALIZED (
    SELECT key, {_SIMILITUD} AS similitud, cobertura
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
    SELECT array_agg((ts_lexize('pg_catalog.spanish_stem', palabra))[1] ORDER BY n)
    FROM unnest(%(dudosas)s::text[]) WITH ORDINALITY AS d (palabra, n)
) AS raices
"""

_TEXTO_COMPLETO, _TEXTO_COMPLETO_FILTRADO = _texto_completo("true"), _texto_completo(_FILTROS)
_HIBRIDO, _HIBRIDO_FILTRADO = _hibrido("true"), _hibrido(_FILTROS)
