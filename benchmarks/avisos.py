"""The hand-written notices and the labelled questions in ``datos/``."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

DATOS = Path(__file__).parent / "datos"
AVISOS, CONSULTAS = DATOS / "avisos.csv", DATOS / "consultas.csv"


@dataclass(frozen=True)
class Aviso:
    proveedor_id: str
    aviso_id: str
    fecha: str
    texto: str


@dataclass(frozen=True)
class Consulta:
    proveedor_id: str
    texto: str
    relevantes: frozenset[str]
    tipo: str


def leer_avisos(fichero: Path = AVISOS) -> list[Aviso]:
    with fichero.open(encoding="utf-8", newline="") as f:
        return [
            Aviso(fila["proveedor_id"], fila["aviso_id"], fila["fecha"], fila["texto"])
            for fila in csv.DictReader(f)
        ]


def leer_consultas(fichero: Path = CONSULTAS) -> list[Consulta]:
    with fichero.open(encoding="utf-8", newline="") as f:
        return [
            Consulta(
                fila["proveedor_id"], fila["consulta"], frozenset(fila["relevantes"].split()), fila["tipo"]
            )
            for fila in csv.DictReader(f)
        ]
