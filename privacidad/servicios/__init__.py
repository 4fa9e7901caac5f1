"""Every change in privacy, one function each: keyword-only, checked, registered, in one transaction."""

from privacidad.servicios.exclusiones import excluir, liberar
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
    "denegar",
    "ejecutar",
    "excluir",
    "identificar",
    "liberar",
    "recibir",
    "retirar",
    "revisar",
]
