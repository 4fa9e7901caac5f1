"""What purchasing does with supplier notices: write, correct, withdraw and search them."""

from __future__ import annotations

from compras.servicios.aviso import (
    componer,
    corregir,
    escribir,
    motivo_de_no_corregir,
    nueva_clave,
    quien_cambio,
)
from compras.servicios.hallazgo import Hallazgos, buscar
from compras.servicios.parecido import casi_iguales, parecidos
from compras.servicios.paso import ESCRIBIR, VER
from compras.servicios.retirada import DIAS_PARA_REPONER, reponer, retirar

__all__ = [
    "DIAS_PARA_REPONER",
    "ESCRIBIR",
    "VER",
    "Hallazgos",
    "buscar",
    "casi_iguales",
    "componer",
    "corregir",
    "escribir",
    "motivo_de_no_corregir",
    "nueva_clave",
    "parecidos",
    "quien_cambio",
    "reponer",
    "retirar",
]
