"""Whether each document that was issued is still there and the one that was issued, by the register.

The table of the documents is append-only, and a superuser goes past that. What is altered is told, and never
served.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from django.db import connection

from privacidad import registro
from privacidad.escritos.datos import huella
from privacidad.models import Asiento, Escrito

#: Documents read at a time: the data of each holds the text of every statement that ran.
LOTE = 50


def intacto(escrito: Escrito) -> bool:
    """Whether what is stored has the digests that the register says it was issued with."""
    solicitud = escrito.solicitud
    emitido = Asiento.objects.filter(
        tipo="escrito_emitido", resumen=solicitud.resumen, datos__numero=escrito.numero
    ).last()
    propias = {"huella": hashlib.sha256(escrito.pdf).hexdigest(), "huella_datos": huella(escrito.datos)}
    guardadas = {"huella": escrito.huella, "huella_datos": escrito.huella_datos}
    return (
        emitido is not None
        and emitido.referencia == solicitud.referencia
        and propias == guardadas == {cual: emitido.datos.get(cual) for cual in propias}
    )


def alterados() -> list[str]:
    """The documents that are not what the register says was issued: ``SUP-2026-0001 (CER-2026-0001)``."""
    return [
        _nombre(referencia, numero)
        for referencia, numero, datos, *huellas in _por_lotes()
        if not _coincide(datos, *huellas)
    ]


def perdidos() -> list[str]:
    """The documents that were issued by the register and are not here, named alike.

    Not those that were lost with a restore (see :data:`privacidad.registro.EN_LO_RESTAURADO`).
    """
    with connection.cursor() as cursor:
        cursor.execute(_PERDIDOS)
        return [_nombre(*fila) for fila in cursor.fetchall()]


def _nombre(referencia: str, numero: str) -> str:
    return f"{referencia} ({numero})"


def _coincide(
    datos: str, huella_pdf: str, guardada: str, guardada_datos: str, emitida: str | None, de_datos: str | None
) -> bool:
    try:
        propia = huella(json.loads(datos))
    except (ValueError, RecursionError):
        return False
    return (huella_pdf, propia) == (guardada, guardada_datos) == (emitida, de_datos)


def _por_lotes() -> Iterator[tuple[Any, ...]]:
    """Of each document, its request and number, its data as text, the digest of its bytes, the two that are
    stored beside it and the two of its entry."""
    ultimo = -1
    while True:
        with connection.cursor() as cursor:
            cursor.execute(_ESCRITOS, [ultimo, LOTE])
            filas = cursor.fetchall()
        for _numero, *campos in filas:
            yield tuple(campos)
        if not filas:
            return
        ultimo = filas[-1][0]


# The bytes are digested there: they need not travel.
_ESCRITOS = """
SELECT e.id, s.referencia, e.numero, e.datos::text, encode(sha256(e.pdf), 'hex'), e.huella, e.huella_datos,
       a.datos ->> 'huella', a.datos ->> 'huella_datos'
FROM (SELECT * FROM public.privacidad_escrito WHERE id > %s ORDER BY id LIMIT %s) e
JOIN public.privacidad_solicitud s ON s.id = e.solicitud_id
LEFT JOIN LATERAL (
    SELECT datos FROM public.privacidad_asiento
    WHERE tipo = 'escrito_emitido' AND resumen = s.resumen AND referencia = s.referencia
      AND datos ->> 'numero' = e.numero AND datos ->> 'tipo' = e.tipo
    ORDER BY numero DESC LIMIT 1
) a ON true
ORDER BY e.id
"""
_PERDIDOS = f"""
SELECT a.referencia, a.datos ->> 'numero'
FROM public.privacidad_asiento a
WHERE a.tipo = 'escrito_emitido'
  AND NOT EXISTS (SELECT FROM public.privacidad_escrito e WHERE e.numero = a.datos ->> 'numero')
  AND NOT {registro.EN_LO_RESTAURADO}
ORDER BY a.numero
"""
