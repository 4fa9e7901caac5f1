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
from compras.servicios.hallazgo import Hallado, Hallazgos, buscar
from compras.servicios.parecido import casi_iguales, parecidos
from compras.servicios.paso import ESCRIBIR, VER, exigir
from compras.servicios.proveedor import (
    ANADIR,
    CAMBIAR,
    Fusion,
    cambiar_proveedor,
    clave_tras_fusion,
    crear_proveedor,
    fusionar,
    motivo_de_no_fusionar,
    sujetar,
    tras_la_fusion,
)
from compras.servicios.retirada import DIAS_PARA_REPONER, conservable, reponer, retirar

__all__ = [
    "ANADIR",
    "CAMBIAR",
    "DIAS_PARA_REPONER",
    "ESCRIBIR",
    "VER",
    "Fusion",
    "Hallado",
    "Hallazgos",
    "buscar",
    "cambiar_proveedor",
    "casi_iguales",
    "clave_tras_fusion",
    "componer",
    "conservable",
    "corregir",
    "crear_proveedor",
    "escribir",
    "exigir",
    "fusionar",
    "motivo_de_no_corregir",
    "motivo_de_no_fusionar",
    "nueva_clave",
    "parecidos",
    "quien_cambio",
    "reponer",
    "retirar",
    "sujetar",
    "tras_la_fusion",
]
