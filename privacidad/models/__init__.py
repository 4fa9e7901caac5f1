"""The models of privacy, by room."""

from privacidad.models.base import SoloAnexar
from privacidad.models.derechos import Copia, Expediente, Mencion, Restriccion, TrozoCopia
from privacidad.models.evidencia import Evidencia, Exclusion, Gestion
from privacidad.models.registro import Asiento, Escrito
from privacidad.models.solicitud import (
    AMPLIADA,
    APROBAR,
    PASO_REHECHO,
    UN_ENVIO,
    UNA_ABIERTA,
    Canal,
    Paso,
    Solicitud,
)

__all__ = [
    "AMPLIADA",
    "APROBAR",
    "PASO_REHECHO",
    "UNA_ABIERTA",
    "UN_ENVIO",
    "Asiento",
    "Canal",
    "Copia",
    "Escrito",
    "Evidencia",
    "Exclusion",
    "Expediente",
    "Gestion",
    "Mencion",
    "Paso",
    "Restriccion",
    "Solicitud",
    "SoloAnexar",
    "TrozoCopia",
]
