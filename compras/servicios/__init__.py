"""What purchasing does with supplier notices: write, correct, withdraw and search them."""

from __future__ import annotations

from compras.servicios.aviso import componer, corregir, escribir, motivo_de_no_corregir, nueva_clave
from compras.servicios.hallazgo import Hallazgos, buscar
from compras.servicios.paso import ESCRIBIR, VER
from compras.servicios.retirada import retirar

__all__ = [
    "ESCRIBIR",
    "VER",
    "Hallazgos",
    "buscar",
    "componer",
    "corregir",
    "escribir",
    "motivo_de_no_corregir",
    "nueva_clave",
    "retirar",
]
