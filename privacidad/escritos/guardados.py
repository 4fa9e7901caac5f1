"""Whether each document that was issued is still there and the one that was issued, by the register.

The table of the documents is append-only, and a superuser goes past that. What is altered is told, and never
served. What the columns beside the data of a document say is in the data as well, and those are sealed: the
pages say what the data say, and a column that contradicts them is told.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection

from privacidad import registro
from privacidad.escritos.datos import huella
from privacidad.models import Asiento, Escrito, Solicitud

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
        and registro.esta_en_su_sitio(emitido)
        and emitido.referencia == solicitud.referencia
        and propias == guardadas == {cual: emitido.datos.get(cual) for cual in propias}
    )


class Emitido(NamedTuple):
    """What a page says of a document: what it is and when it was issued, by what was sealed."""

    numero: str
    que: str
    momento: datetime

    @classmethod
    def segun(cls, datos: dict[str, Any]) -> Emitido:
        """By the data of a document that is :func:`intacto`."""
        return cls(
            datos["numero"],
            str(Escrito.Tipo(datos["tipo"]).label),
            datetime.fromisoformat(datos["emitido"]),
        )


def de_la_solicitud(solicitud: Solicitud) -> list[tuple[str, Emitido | None]]:
    """The documents of a request, the oldest first: the number of each and what it is, if it is intact."""
    return [
        (escrito.numero, Emitido.segun(escrito.datos) if intacto(escrito) else None)
        for escrito in solicitud.escritos.sin_sellar().order_by("pk")
    ]


def alterados() -> list[str]:
    """The documents that are not what the register says was issued, or of which a column says something else
    than the document: ``SUP-2026-0001 (CER-2026-0001)``."""
    return [_nombre(g.referencia, g.numero) for g in _por_lotes() if not _coincide(g)]


def perdidos() -> list[str]:
    """The documents that were issued by the register and are not here, named alike.

    Not those that were lost with a restore (see :data:`privacidad.registro.EN_LO_RESTAURADO`).
    """
    with connection.cursor() as cursor:
        cursor.execute(_PERDIDOS)
        return [_nombre(*fila) for fila in cursor.fetchall()]


def _nombre(referencia: str, numero: str) -> str:
    return f"{referencia} ({numero})"


class _Guardado(NamedTuple):
    referencia: str
    numero: str
    tipo: str
    #: As text, and so are the data: what cannot be read must not stop the walk.
    emitido: str
    #: Of the evidence it is the document of, where the log was: that tells one from another.
    evidencia: str | None
    datos: str
    #: Of its bytes, the one that is stored and the one of its entry; then those of its data.
    huella_pdf: str
    guardada: str
    guardada_datos: str
    emitida: str | None
    emitida_datos: str | None


def _coincide(g: _Guardado) -> bool:
    try:
        datos = json.loads(g.datos)
        propia = huella(datos)
        evidencias = datos.get("evidencias") or [{"posicion_wal": None}]
        dicho = (
            *(datos["referencia"], datos["numero"], datos["tipo"]),
            *(datetime.fromisoformat(datos["emitido"]), evidencias[-1]["posicion_wal"]),
        )
        # On paper a moment is told to the second.
        emitido = datetime.fromisoformat(g.emitido).replace(microsecond=0)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):  # they are not even data of one
        return False
    return dicho == (g.referencia, g.numero, g.tipo, emitido, g.evidencia) and (
        (g.huella_pdf, propia) == (g.guardada, g.guardada_datos) == (g.emitida, g.emitida_datos)
    )


def _por_lotes() -> Iterator[_Guardado]:
    ultimo = -1
    while True:
        with connection.cursor() as cursor:
            cursor.execute(_ESCRITOS, [ultimo, LOTE])
            filas = cursor.fetchall()
        for _numero, *campos in filas:
            yield _Guardado(*campos)
        if not filas:
            return
        ultimo = filas[-1][0]


# The bytes are digested there: they need not travel. An evidence that is not here is told as missing, and its
# document is not altered for that.
_ESCRITOS = """
SELECT e.id, s.referencia, e.numero, e.tipo, to_jsonb(e.emitido) #>> '{}',
       CASE WHEN v.id IS NOT NULL THEN v.posicion_wal
            WHEN e.evidencia_id IS NOT NULL THEN e.datos #>> '{evidencias,-1,posicion_wal}' END,
       e.datos::text, encode(sha256(e.pdf), 'hex'), e.huella, e.huella_datos,
       a.datos ->> 'huella', a.datos ->> 'huella_datos'
FROM (SELECT * FROM public.privacidad_escrito WHERE id > %s ORDER BY id LIMIT %s) e
JOIN public.privacidad_solicitud s ON s.id = e.solicitud_id
LEFT JOIN public.privacidad_evidencia v ON v.id = e.evidencia_id
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
