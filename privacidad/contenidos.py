"""What a notice of a supplier says, as a keyed digest: it goes with the notice when that is moved.

A notice is put back, withdrawn, or its supplier is joined to another; what it says stays the same. So after
a restore it can be told from the others wherever it was when the copy was made.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection

from memoria.models import Documento
from privacidad.fuentes.retirados import RETIRADOS
from privacidad.registro import canonico
from privacidad.resumenes import resumen

_ESPACIO = "proveedores"


class Contenido(NamedTuple):
    direccion: tuple[str, str]
    resumen: str
    #: Since when it says so, or has been there.
    desde: datetime


def de_la_fila(prefijo: str, clave: str) -> str:
    """That of the row at that address; empty when it is no notice, or is not there."""
    if fila := RETIRADOS.fila_de((prefijo, clave)):
        return next((c.resumen for c in _retirados("id = %s", fila.numero)), "")
    if prefijo.split(".")[0] != _ESPACIO:
        return ""
    valor = Documento.objects.filter(prefix=prefijo, key=clave).values_list("value", flat=True).first()
    return "" if valor is None else _resumen(valor)


def de_los_avisos(lote: int) -> Iterator[Contenido]:
    """Those of the store, but what is held back in the request of whoever it is about."""
    avisos = Documento.objects.filter(prefix__startswith=f"{_ESPACIO}.", retenido=False)
    filas = avisos.values_list("prefix", "key", "value", "updated_at").iterator(lote)
    for prefijo, clave, valor, escrito in filas:
        yield Contenido((prefijo, clave), _resumen(valor), escrito)


def de_los_retirados() -> Iterator[Contenido]:
    return _retirados("true")


def _retirados(condicion: str, *parametros: int) -> Iterator[Contenido]:
    with connection.chunked_cursor() as cursor:
        cursor.execute(
            f"SELECT id, documento::text, momento FROM public.compras_retirada WHERE {condicion}", parametros
        )
        for numero, documento, momento in cursor:
            yield Contenido((RETIRADOS.RAIZ, str(numero)), _resumen(json.loads(documento)), momento)


def _resumen(valor: Any) -> str:
    return resumen(f"aviso\n{canonico(valor)}")
