"""Documents whose shape is not the policy's: what something else than the store wrote, or broke."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

from memoria.politica import ESPACIOS, PoliticaIncumplida, clave_preferencia, comprobar_guardado

#: Some seconds of work: the shape is looked at in Python, where the policy is written.
DOCUMENTOS_QUE_SE_MIRAN = 200_000
_FILAS_POR_PAGINA = 2_000


def contar_danados(conexion: BaseDatabaseWrapper) -> tuple[int, int]:
    """``(damaged, looked at)`` among the documents in force, the first ones by prefix up to the cap.

    Only their shape: where a document is and what its key is are questions a count in SQL answers.
    """
    danados = vistos = 0
    for fila in _vigentes(conexion, hasta=DOCUMENTOS_QUE_SE_MIRAN):
        vistos += 1
        danados += _esta_danado(*fila)
    return danados, vistos


def _vigentes(conexion: BaseDatabaseWrapper, *, hasta: int) -> Iterator[tuple[str, str, Any]]:
    """``(prefix, key, value)``, a page at a time: constant memory and no long snapshot."""
    ultimo = ("", "")
    while hasta > 0:
        with conexion.cursor() as cursor:
            cursor.execute(_PAGINA, [*ultimo, min(hasta, _FILAS_POR_PAGINA)])
            filas = cursor.fetchall()
        if not filas:
            return
        yield from ((prefijo, clave, json.loads(valor)) for prefijo, clave, valor in filas)
        ultimo = filas[-1][:2]
        hasta -= len(filas)


_PAGINA = """
SELECT prefix, key, value::text FROM langgraph.store
WHERE (prefix, key) > (%s, %s) AND (expires_at IS NULL OR expires_at > now())
ORDER BY prefix, key
LIMIT %s
"""


def _esta_danado(prefijo: str, clave: str, valor: Any) -> bool:
    espacio = ESPACIOS.get(prefijo.partition(".")[0])
    if espacio is None or prefijo.count(".") != 1:
        return False
    if espacio.tipos and clave not in map(clave_preferencia, espacio.tipos):
        return False
    try:
        comprobar_guardado(prefijo, clave, valor)
    except PoliticaIncumplida:
        return True
    return False
