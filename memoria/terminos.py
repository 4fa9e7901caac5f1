"""The words of a text, the terms of a question, and what rows of a table have them.

:func:`normalizada` makes a column of lexemes, :func:`lexico` ranks rows by the words of a question given as
:func:`en_palabras` (the words alone) or :func:`en_terminos` (and those of their groups in
:mod:`memoria.vocabulario`), and :func:`tramos` and :func:`trozos` say where they matched.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from memoria import vocabulario


class Palabra(NamedTuple):
    """One normalised word of a text, and where it is in it."""

    texto: str
    inicio: int
    fin: int


def palabras(texto: str) -> Iterator[Palabra]:
    """The words of ``texto`` as PostgreSQL sees them after :func:`normalizada`: the n-th has position n.

    They may differ in characters that only one of the two knows. Between Unicode 14 (Python 3.11) and 16
    (PostgreSQL 18) those are the 36 outlined letters and digits, U+1CCD6 to U+1CCF9: after one of them a
    mark would be a word off.
    """
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
        terminos.append(termino(palabra, afines) if afines else palabra)
    return terminos


def termino(palabra: str, afines: vocabulario.Afines) -> str:
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


# What another word of the family may have after a stem, as the stemmer leaves it: it cuts no "-ción" without
# its accent, no "-amos" without its s, and nothing too near the beginning. The number is how many letters the
# stem must have: what makes of a short one another thing asks for more. Diminutives and the like are not
# here: "planta" and "plantilla", "corte" and "cortina", "carta" and "cartón" are no family.
FINALES = {
    3: ("am", "em", "im"),
    4: (
        *("iam", "abam", "arem", "erem", "irem", "arn", "ern", "irn", "er", "ir"),
        *("acion", "icion", "cion", "amient", "imient", "aj", "ad"),
        *("ador", "edor", "idor", "ant", "abl", "ibl"),
    ),
    5: (
        *("i", "ion", "anci", "enci", "ent", "or", "ist", "z"),
        *("al", "eri", "ori", "atori", "ic"),
    ),
    6: ("iz",),
}
# Of one family by their letters, and not by what they say at a shop.
FALSOS_AMIGOS = (
    *(("import", "importacion"), ("tempor", "temporal"), ("prim", "primer")),
    *(("cart", "carter"), ("barr", "barrer"), ("cost", "coster")),
)


def _lista(filas: Iterable[tuple[object, ...]]) -> str:
    return ", ".join(
        "(" + ", ".join(f"'{v}'" if isinstance(v, str) else str(v) for v in f) + ")" for f in filas
    )


_FINALES = _lista((final, minimo) for minimo, finales in FINALES.items() for final in finales)

# Each word of the question as a term. The stemmer cuts alike words at different places ("factur",
# "facturacion"): a term also matches its stem with one of those endings more, or less. Codes match only
# themselves. That a lexeme begins so is asked first: one look, and most rows go no further. What follows a
# word are, after tabs, the words of its groups and their beginnings: in `termino` and not in `propio`.
TERMINOS = rf"""
finales (final, minimo) AS (VALUES {_FINALES}),
ajenos (corto, largo) AS (VALUES {_lista(FALSOS_AMIGOS)}),
palabras AS (
    SELECT hueco, split_part(todo, E'\t', 1) AS palabra,
           to_tsvector('pg_catalog.spanish', split_part(todo, E'\t', 2)) AS afines,
           split_part(todo, E'\t', 3) AS comienzos
    FROM unnest(%(palabras)s::text[]) WITH ORDINALITY AS p (todo, hueco)
),
propios AS MATERIALIZED (
    SELECT hueco, afines, comienzos,
           CASE WHEN palabra ~ '[0-9]' THEN phraseto_tsquery('pg_catalog.spanish', palabra)
                ELSE (SELECT format('%%L:* & (%%L%%s)%%s', lexeme, lexeme, (
                          SELECT string_agg(format(' | %%L', lexeme || final), '') FROM finales
                          WHERE length(lexeme) >= minimo
                            AND (lexeme, lexeme || final) NOT IN (TABLE ajenos)
                      ), (
                          SELECT string_agg(format(' | %%L', left(lexeme, -length(final))), '') FROM finales
                          WHERE right(lexeme, length(final)) = final
                            AND length(lexeme) - length(final) >= minimo
                            AND (left(lexeme, -length(final)), lexeme) NOT IN (TABLE ajenos)
                      ))::tsquery
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


def coberturas_sql(total: str) -> str:
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
{coberturas_sql(f"(SELECT count(*) FROM {tabla} WHERE {condicion})")},
lexico AS (
    SELECT key, cobertura, row_number() OVER (ORDER BY cobertura DESC, key DESC) AS puesto
    FROM coberturas
    ORDER BY puesto
    LIMIT 50
)"""
