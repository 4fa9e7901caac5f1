"""Where the data of a person may be. A destination is one class; this tuple is the list of them.

To add one, write the class and put it here. The order is the order of erasing.
"""

from __future__ import annotations

from privacidad.destinos.base import Corte, Destino, Rastro, Recuento, Sujeto
from privacidad.destinos.casa import Casa
from privacidad.destinos.compras import Compras
from privacidad.destinos.documentos import Anotaciones, Documentos, Nombres, Retirados
from privacidad.destinos.hilos import Hilos
from privacidad.destinos.langfuse import Langfuse
from privacidad.destinos.memoria import Memoria
from privacidad.destinos.menciones import Menciones
from privacidad.errores import DestinoDesconocido

__all__ = ["DESTINOS", "Corte", "Destino", "Rastro", "Recuento", "Sujeto", "destino"]

DESTINOS: tuple[Destino, ...] = (
    Memoria(),
    Hilos(),
    Casa(),
    Compras(),
    Menciones(),
    Documentos(),
    Retirados(),
    Anotaciones(),
    Nombres(),
    Langfuse(),
)


def destino(nombre: str) -> Destino:
    """The destination of that name. Raises :class:`DestinoDesconocido`."""
    for d in DESTINOS:
        if d.nombre == nombre:
            return d
    raise DestinoDesconocido(nombre)
