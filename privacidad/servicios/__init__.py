"""Every change in privacy, one function each: keyword-only, checked, registered, in one transaction."""

from privacidad.servicios.escritos import descargar
from privacidad.servicios.exclusiones import excluir, liberar
from privacidad.servicios.menciones import decidir_mencion
from privacidad.servicios.solicitud import (
    ampliar,
    aprobar,
    denegar,
    ejecutar,
    identificar,
    recibir,
    retirar,
    revisar,
)

__all__ = [
    "ampliar",
    "aprobar",
    "decidir_mencion",
    "denegar",
    "descargar",
    "ejecutar",
    "excluir",
    "identificar",
    "liberar",
    "recibir",
    "retirar",
    "revisar",
]
