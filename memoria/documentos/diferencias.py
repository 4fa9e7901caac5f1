"""What changed between two texts, line by line."""

from __future__ import annotations

import difflib
from typing import NamedTuple

#: Lines kept around a change.
CONTEXTO = 3
#: With more lines, comparing them all would keep a page waiting: only what is the same at both ends is left
#: out.
LINEAS_COMPARABLES = 4000


class Linea(NamedTuple):
    """``signo``: ``"+"`` it is new, ``"-"`` it went, ``" "`` it stays, ``"…"`` there are more that stay."""

    signo: str
    texto: str


def diferencias(antes: str, despues: str) -> list[Linea]:
    """The lines that changed, with some around them; empty when nothing did."""
    a, b = antes.split("\n"), despues.split("\n")
    if len(a) + len(b) > LINEAS_COMPARABLES:
        return _en_bloque(a, b)
    lineas: list[Linea] = []
    for grupo in difflib.SequenceMatcher(None, a, b, autojunk=False).get_grouped_opcodes(CONTEXTO):
        if grupo[0][1] > 0 or grupo[0][3] > 0:
            lineas.append(Linea("…", ""))
        for que, a1, a2, b1, b2 in grupo:
            if que == "equal":
                lineas += [Linea(" ", x) for x in a[a1:a2]]
            else:
                lineas += [Linea("-", x) for x in a[a1:a2]]
                lineas += [Linea("+", x) for x in b[b1:b2]]
    return lineas


def _en_bloque(a: list[str], b: list[str]) -> list[Linea]:
    inicio = 0
    while inicio < min(len(a), len(b)) and a[inicio] == b[inicio]:
        inicio += 1
    fin = 0
    while fin < min(len(a), len(b)) - inicio and a[-1 - fin] == b[-1 - fin]:
        fin += 1
    quitadas = [Linea("-", x) for x in a[inicio : len(a) - fin]]
    puestas = [Linea("+", x) for x in b[inicio : len(b) - fin]]
    return [Linea("…", ""), *quitadas, *puestas] if quitadas or puestas else []
