"""How well personal identifiers are told from the numbers retail texts are full of: recall and precision.

``python -m benchmarks.identificadores`` prints one line for the texts the rules were tuned on, one for those
held out, and one for all. An identifier counts as found when its kind and its exact place are right.
The texts are in ``tests/memoria/datos/``, one a line; in them ``⟦telefono|612 345 678⟧`` marks an identifier.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from memoria.deteccion import hallar

DATOS = Path(__file__).resolve().parent.parent / "tests" / "memoria" / "datos"
CONJUNTOS = ("ajuste", "reserva")
_ETIQUETA = re.compile(r"⟦(\w+)\|([^⟧]*)⟧")

Tramo = tuple[str, int, int]


class Medida(NamedTuple):
    """Counts of identifiers: ``bien`` found, ``de_mas`` found where there is none, ``de_menos`` missed."""

    textos: int
    bien: int
    de_mas: int
    de_menos: int

    @property
    def recall(self) -> float:
        return self.bien / (self.bien + self.de_menos)

    @property
    def precision(self) -> float:
        return self.bien / (self.bien + self.de_mas)


def leer(conjunto: str) -> list[tuple[str, set[Tramo]]]:
    """``[(text, {(kind, start, end)})]``."""
    lineas = (DATOS / f"identificadores_{conjunto}.txt").read_text(encoding="utf-8").splitlines()
    return [_sin_etiquetas(linea) for linea in lineas]


def medir(*conjuntos: str) -> Medida:
    textos = [par for conjunto in conjuntos for par in leer(conjunto)]
    bien = de_mas = de_menos = 0
    for texto, esperados in textos:
        hallados = {(str(h.clase), h.inicio, h.fin) for h in hallar(texto)}
        bien += len(hallados & esperados)
        de_mas += len(hallados - esperados)
        de_menos += len(esperados - hallados)
    return Medida(len(textos), bien, de_mas, de_menos)


def _sin_etiquetas(linea: str) -> tuple[str, set[Tramo]]:
    texto, tramos, desde = "", set(), 0
    for m in _ETIQUETA.finditer(linea):
        texto += linea[desde : m.start()]
        tramos.add((m[1], len(texto), len(texto) + len(m[2])))
        texto += m[2]
        desde = m.end()
    return texto + linea[desde:], tramos


if __name__ == "__main__":
    print(f"{'set':<10}{'texts':>7}{'found':>7}{'extra':>7}{'missed':>8}{'recall':>9}{'precision':>11}")
    for nombre, conjuntos in (("tuned on", CONJUNTOS[:1]), ("held out", CONJUNTOS[1:]), ("all", CONJUNTOS)):
        m = medir(*conjuntos)
        print(
            f"{nombre:<10}{m.textos:>7}{m.bien:>7}{m.de_mas:>7}{m.de_menos:>8}{m.recall:>9.3f}{m.precision:>11.3f}"
        )
