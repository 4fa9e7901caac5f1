"""The harness: a row is a list of cases, a case compares one operation of ours with a peer's.

What decides is the ratio of the two medians, measured in the same run with the operations taking turns
(A B A B): whatever slows the machine down slows both.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from benchmarks.banco import Banco

#: Operations before the measured ones: connections opened, statements prepared, model loaded.
CALENTAMIENTO = 10

#: One operation, told its number: from 0 up to the operations of the run plus the warm-up.
Operacion = Callable[[int], object]


@dataclass(frozen=True)
class Caso:
    """One line of the table before it is measured.

    ``objetivo`` is the highest ratio that counts as reached; ``None`` for a line that only informs.
    ``unidad`` is "ms" (median of each operation) or "B de WAL" (mean bytes of write-ahead log per
    operation, each side in a block of its own after a checkpoint, since the log is one for the whole
    server).
    """

    trabajo: str
    nuestra: Operacion
    par: Operacion
    objetivo: float | None
    unidad: str = "ms"


@dataclass(frozen=True)
class Linea:
    """One line of the table. ``razon`` is ``None`` when the peer's figure is zero."""

    id: str
    trabajo: str
    unidad: str
    nuestro: float
    par: float
    razon: float | None
    objetivo: float | None
    alcanzado: bool | None
    operaciones: int


class Fila(Protocol):
    """A module ``bNN_name.py``. Its cases come one by one: what stands before a ``yield`` prepares it."""

    ID: str

    def casos(self, banco: Banco) -> Iterator[Caso]: ...


def medir(fila: Fila, banco: Banco) -> Iterator[Linea]:
    for caso in fila.casos(banco):
        n = banco.tamanos.operaciones
        nuestro, par = _wal(caso, banco, n) if caso.unidad == "B de WAL" else _tiempo(caso, n)
        razon = nuestro / par if par else None
        alcanzado = None if caso.objetivo is None else razon is not None and razon <= caso.objetivo
        yield Linea(
            fila.ID, caso.trabajo, caso.unidad, nuestro, par, razon, caso.objetivo, alcanzado, operaciones=n
        )


def _tiempo(caso: Caso, n: int) -> tuple[float, float]:
    """Medians in milliseconds."""
    nuestros, pares = [], []
    for i in range(n + CALENTAMIENTO):
        nuestros.append(_milisegundos(caso.nuestra, i))
        pares.append(_milisegundos(caso.par, i))
    return median(nuestros[CALENTAMIENTO:]), median(pares[CALENTAMIENTO:])


def _milisegundos(operacion: Operacion, i: int) -> float:
    antes = time.perf_counter()
    operacion(i)
    return (time.perf_counter() - antes) * 1000


def _wal(caso: Caso, banco: Banco, n: int) -> tuple[float, float]:
    """Mean bytes of log per operation."""
    por_operacion = []
    for operacion in (caso.nuestra, caso.par):
        banco.propietario.execute("CHECKPOINT")
        antes = banco.wal()
        for i in range(n):
            operacion(i)
        por_operacion.append((banco.wal() - antes) / n)
    return por_operacion[0], por_operacion[1]


def tabla(lineas: list[Linea]) -> Iterator[str]:
    """The lines as they are printed."""
    ancho = max((len(linea.trabajo) for linea in lineas), default=0)
    yield (
        f"{'id':4}{'trabajo':{ancho + 2}}{'nuestro':>12}{'par':>12}  {'':9}"
        f"{'razón':>7}{'objetivo':>10}  alcanzado"
    )
    for linea in lineas:
        cifra = "{:12.3f}" if linea.unidad == "ms" else "{:12,.0f}"
        yield (
            f"{linea.id:4}{linea.trabajo:{ancho + 2}}"
            f"{cifra.format(linea.nuestro)}{cifra.format(linea.par)}  {linea.unidad:9}"
            + (f"{linea.razon:7.3f}" if linea.razon is not None else f"{'–':>7}")
            + (f"{linea.objetivo:10.2f}" if linea.objetivo is not None else f"{'–':>10}")
            + {True: "  sí", False: "  NO", None: "  –"}[linea.alcanzado]
        )
