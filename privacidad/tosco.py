"""A coarse pattern for the search of mentions: cheap, and never blind to what the exact one would find.

The exact patterns (:mod:`memoria.identificadores`) are for folded text, and both folding a text and matching
them cost the database some forty microseconds a row. This one is for the text as it is stored: of each
identifier a few characters that stand together in every way it can be written, in either case, with or
without accents. A text with anything less usual in it passes whatever it says, to be folded and looked at.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable
from typing import TYPE_CHECKING

import phonenumbers

from memoria.identificadores import Clase, Identificador, plegar

if TYPE_CHECKING:
    from privacidad.identificadores import Buscados

#: Enough of a number, and of a word, for few other rows to have it. Longer ones cost more than they save.
_FIGURAS, _LETRAS = 5, 8
#: What is shorter would let most rows pass.
_MINIMO = 3
#: Beyond Latin-1, the signs that texts are full of and that fold to no letter and no figure.
_SIGNOS = "‘’“”–—…•€"


def patron_tosco(buscados: Iterable[Identificador]) -> str | None:
    """One regular expression of PostgreSQL for the JSON text of a document; ``None`` when there is none that
    serves, as for a name in Greek letters, and every row must be looked at."""
    trozos = [_trozo(i) for i in buscados]
    if not trozos or None in trozos:
        return None
    return "|".join([_INUSUAL, *dict.fromkeys(t for t in trozos if t)])


def patrones(buscados: Buscados) -> dict[str, str | None]:
    """The parameters of :func:`nombra`."""
    return {
        "patron": "|".join(f"(?:{i.patron})" for _clase, i in buscados),
        "tosco": patron_tosco(i for _clase, i in buscados),
    }


def nombra(texto: str, por_plegar: str | None = None) -> str:
    """The SQL condition that ``texto``, an expression of SQL, may name somebody: first the coarse pattern, on
    the text as it is, so that few rows are folded. It finds too much rather than too little.

    ``por_plegar``, where it is not ``texto`` itself, is what is folded.
    """
    plegado = f"lower(regexp_replace(normalize({por_plegar or texto}, NFKD), '[{_TILDES}]', '', 'g'))"
    return (
        f"CASE WHEN %(tosco)s::text IS NULL OR {texto} ~ %(tosco)s THEN {plegado} ~ %(patron)s ELSE false END"
    )


#: Accents on their own, as PostgreSQL's regular expressions write them.
_TILDES = r"\u0300-\u036f"


def _trozo(identificador: Identificador) -> str | None:
    if identificador.clase in (Clase.TELEFONO, Clase.NIF):
        # Written with anything between one character and the next. The end of it, since what comes before
        # (a country's code, leading zeros, the letter of a NIE) may not be there.
        final = _numero(identificador)[-_FIGURAS:]
        return _ENTRE.join(_CLASES[c] for c in final) if len(final) >= _MINIMO else None
    # In these no accent or sign ever breaks a run of letters, or of figures. Figures are the rarer.
    tandas = re.findall("[0-9]+|[a-z]+", plegar(identificador.valor))
    mejor = max(tandas, key=lambda t: (t.isdigit() and len(t) > _MINIMO, len(t)), default="")
    return "".join(_CLASES[c] for c in mejor[:_LETRAS]) if len(mejor) >= _MINIMO else None


def _numero(identificador: Identificador) -> str:
    if identificador.clase is Clase.TELEFONO:
        return phonenumbers.national_significant_number(phonenumbers.parse(identificador.valor))
    valor = plegar(identificador.valor)
    return (valor if valor[0].isdigit() else valor[1:]).lstrip("0")


def _clases() -> dict[str, str]:
    """Of each letter and figure, everything in Latin-1 that folds to it: ``e`` → ``[eEÈÉÊËèéêë]``."""
    suyos = {c: {c, c.upper()} for c in string.digits + string.ascii_lowercase}
    for caracter in map(chr, range(0x80, 0x100)):
        if (plegado := plegar(caracter)) in suyos:
            suyos[plegado].add(caracter)
    return {c: "".join(sorted(todos)) for c, todos in suyos.items()}


_LATINOS = _clases()
_CLASES = {c: f"[{todos}]" for c, todos in _LATINOS.items()}
#: Anything but a letter or a figure; in JSON text a line break or a tab is a backslash and a letter.
_ENTRE = rf"(?:[^{''.join(_LATINOS.values())}]|\\[bfnrt])*"
#: What folding may turn into a letter or a figure, or take away from between two: all but Latin-1 without
#: its fractions (¼ ½ ¾), and those signs. And control characters, which JSON writes as \u0007.
_INUSUAL = rf"[^\u0001-\u00bb\u00bf-\u00ff{_SIGNOS}]|\\u"
