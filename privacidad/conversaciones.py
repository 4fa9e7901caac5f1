"""What a conversation says, as plain data, read from its latest checkpoint without instantiating anything.

A checkpoint is bytes that somebody else wrote. The agents' own reader refuses what is not on its list of
classes; here no class is made at all: of an object remain its name and what is inside it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import ormsgpack
from django.db import connection

#: Conversations read at a time.
LOTE = 50
MENSAJES = "messages"

Estado = dict[str, Any]


def leer(hilos: Sequence[str]) -> Iterator[tuple[str, list[Any], Estado]]:
    """``(thread, messages, the other values of its state)`` of each thread that has a checkpoint."""
    for desde in range(0, len(hilos), LOTE):
        estados: dict[str, Estado] = {}
        with connection.cursor() as cursor:
            cursor.execute(_ULTIMOS, {"hilos": list(hilos[desde : desde + LOTE])})
            for hilo, sueltos, canal, tipo, contenido in cursor:
                estado = estados.setdefault(hilo, dict(json.loads(sueltos)))
                if canal is not None:
                    estado[canal] = plano(tipo, contenido)
        for hilo, estado in estados.items():
            mensajes = estado.pop(MENSAJES, None)
            yield hilo, [_mensaje(m) for m in mensajes] if isinstance(mensajes, list) else [], _propio(estado)


def plano(tipo: str, contenido: bytes | memoryview | None) -> Any:
    """One serialised value as JSON data. What cannot be read is said so, never guessed."""
    if tipo in ("null", "empty") or contenido is None:
        return None
    datos = bytes(contenido)
    try:
        if tipo == "msgpack":
            return _en_json(ormsgpack.unpackb(datos, ext_hook=_extension, option=ormsgpack.OPT_NON_STR_KEYS))
        if tipo == "json":
            return json.loads(datos)
    except (ormsgpack.MsgpackDecodeError, ValueError):
        return {"ilegible": tipo}
    return _en_json(datos)


# The values of the latest checkpoint of each thread: the small ones are inside it, the rest are blobs.
_ULTIMOS = """
SELECT c.thread_id, coalesce(c.checkpoint -> 'channel_values', '{}')::text, b.channel, b.type, b.blob
FROM (
    SELECT DISTINCT ON (thread_id) thread_id, checkpoint
    FROM langgraph.checkpoints
    WHERE thread_id = ANY (%(hilos)s::text[]) AND checkpoint_ns = ''
    ORDER BY thread_id, checkpoint_id DESC
) AS c
LEFT JOIN langgraph.checkpoint_blobs b
    ON b.thread_id = c.thread_id AND b.checkpoint_ns = ''
    AND b.version = c.checkpoint -> 'channel_versions' ->> b.channel
ORDER BY c.thread_id
"""


def _extension(codigo: int, datos: bytes) -> Any:
    """An object of LangGraph's encoding is ``(module, name, what is inside, …)``: the class is not made."""
    try:
        partes = ormsgpack.unpackb(datos, ext_hook=_extension, option=ormsgpack.OPT_NON_STR_KEYS)
    except ormsgpack.MsgpackDecodeError:
        return {"ilegible": codigo}
    if not isinstance(partes, (list, tuple)) or len(partes) < 3:
        return partes
    return partes[2] if isinstance(partes[2], Mapping) else {str(partes[1]): partes[2]}


def _mensaje(mensaje: Any) -> Any:
    """A message with who says it first; anything else as it is."""
    if not isinstance(mensaje, dict) or "content" not in mensaje:
        return mensaje
    tipo = str(mensaje.get("type", ""))
    resto = {
        k: v
        for k, v in mensaje.items()
        if k not in ("type", "content") and v not in (None, "", [], {}, False)
    }
    return {"quien": _QUIEN.get(tipo, tipo), "texto": mensaje["content"], **resto}


_QUIEN = {"human": "persona", "ai": "agente", "tool": "herramienta", "system": "sistema"}


def _propio(estado: Estado) -> Estado:
    """The state without what is the engine's own bookkeeping."""
    return {
        k: v for k, v in estado.items() if v is not None and not k.startswith(("__", "branch:", "start:"))
    }


def _en_json(valor: Any) -> Any:
    if isinstance(valor, Mapping):
        return {str(k): _en_json(v) for k, v in valor.items()}
    if isinstance(valor, (list, tuple, set, frozenset)):
        return [_en_json(v) for v in valor]
    if isinstance(valor, (bytes, bytearray)):
        return {"base64": base64.b64encode(valor).decode()}
    return valor if valor is None or isinstance(valor, (str, int, float, bool)) else str(valor)
