"""Every change in privacy, one function each: keyword-only, checked, registered, in one transaction."""

from privacidad.servicios.acceso import (
    descargar_expediente,
    pedir_expediente,
    producir,
    producir_pedido,
)
from privacidad.servicios.copia import abrir_copia, decidir_copia
from privacidad.servicios.ejecucion import ejecutar_ahora
from privacidad.servicios.escritos import descargar
from privacidad.servicios.exclusiones import excluir, liberar
from privacidad.servicios.limitacion import levantar, restringir
from privacidad.servicios.menciones import decidir_mencion
from privacidad.servicios.rectificacion import borrar_dato, rectificar
from privacidad.servicios.solicitud import (
    ampliar,
    aprobar,
    codigo_vigente,
    conocido,
    denegar,
    ejecutar,
    identificar,
    recibir,
    retirar,
    revisar,
)
from privacidad.servicios.vigilancia import reabrir, reabrir_fuera, verificar

__all__ = [
    "abrir_copia",
    "ampliar",
    "aprobar",
    "borrar_dato",
    "codigo_vigente",
    "conocido",
    "decidir_copia",
    "decidir_mencion",
    "denegar",
    "descargar",
    "descargar_expediente",
    "ejecutar",
    "ejecutar_ahora",
    "excluir",
    "identificar",
    "levantar",
    "liberar",
    "pedir_expediente",
    "producir",
    "producir_pedido",
    "reabrir",
    "reabrir_fuera",
    "recibir",
    "rectificar",
    "restringir",
    "retirar",
    "revisar",
    "verificar",
]
