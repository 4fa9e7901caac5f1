"""What a conversation says, as plain data, read from its latest checkpoint without instantiating anything:
of the threads that are there, and of those that are sealed in a copy.

A checkpoint is bytes that somebody else wrote. The agents' own reader refuses what is not on its list of
classes; here no class is made at all: of an object remain its name and what is inside it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import ormsgpack
from django.db import connection

#: Conversations read at a time.
LOTE = 50
MENSAJES = "messages"
#: What a conversation is kept in, in the order it is sealed (:mod:`privacidad.sellables`).
TABLAS = ("hilos", "checkpoints", "checkpoint_blobs", "checkpoint_writes")

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
            yield hilo, *_dicho(estado)


def es_de_alguna(linea: bytes) -> bool:
    """Whether a line of a sealed copy is of a row of a conversation."""
    return linea.endswith(_FINALES)


# ``jsonb`` writes the longer name last.
_FINALES = tuple(f'"tabla": "{tabla}"}}'.encode() for tabla in TABLAS)


class Sellada(NamedTuple):
    """A conversation that was sealed. ``creado`` and ``visto`` as they are in the copy."""

    hilo: str
    creado: str | None
    visto: str | None
    mensajes: list[Any]
    estado: Estado


def leer_selladas(lineas: Callable[[], Iterator[bytes]]) -> Iterator[Sellada]:
    """The conversations in the lines of a copy, each as :func:`leer` gives those that are there.

    ``lineas`` is asked for them twice: the rows of a thread are not together, so first it is seen how many
    values of its latest checkpoint there are, and then each thread is given when it has the last of them. In
    memory are the threads that are not complete yet, and of each of the others a few lines.
    """
    hilos: dict[str, _Hilo] = {}
    for tabla, fila in _filas(lineas()):
        hilo = hilos.setdefault(fila["thread_id"], _Hilo())
        if tabla == "hilos":
            hilo.creado, hilo.visto = fila.get("creado"), fila.get("visto")
        elif tabla == "checkpoints":
            hilo.mirar(fila)
        elif tabla == "checkpoint_blobs":
            hilo.quedan += hilo.es_suyo(fila)
    for nombre in [n for n, h in hilos.items() if not h.quedan]:
        yield hilos.pop(nombre).sellada(nombre)
    for tabla, fila in _filas(lineas()):
        nombre = fila["thread_id"]
        if tabla != "checkpoint_blobs" or nombre not in hilos or not hilos[nombre].es_suyo(fila):
            continue
        hilo = hilos[nombre]
        hilo.estado[fila["channel"]] = _de_base64(fila)
        hilo.quedan -= 1
        if not hilo.quedan:
            yield hilos.pop(nombre).sellada(nombre)


def fila_legible(fila: Estado) -> Estado:
    """A sealed row with what its bytes say, as ``contenido``, in their place."""
    if "blob" not in fila:
        return fila
    contenido = _de_base64(fila)
    legible = [_mensaje(m) for m in contenido] if isinstance(contenido, list) else _mensaje(contenido)
    return {**{k: v for k, v in fila.items() if k != "blob"}, "contenido": legible}


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


class _Hilo:
    """What is read so far of a sealed thread: the values of its latest checkpoint, as :data:`_ULTIMOS`."""

    def __init__(self) -> None:
        self.creado: str | None = None
        self.visto: str | None = None
        self.estado: Estado = {}
        #: How many values of the checkpoint are still to come.
        self.quedan = 0
        self._ultimo = ""
        self._versiones: Estado = {}

    def mirar(self, fila: Estado) -> None:
        # Those of a thread come before its values.
        if not fila["checkpoint_ns"] and fila["checkpoint_id"] > self._ultimo:
            punto = fila["checkpoint"]
            self._ultimo = fila["checkpoint_id"]
            self._versiones = punto.get("channel_versions") or {}
            self.estado = dict(punto.get("channel_values") or {})

    def es_suyo(self, fila: Estado) -> bool:
        """Whether a value is one of that checkpoint."""
        version = self._versiones.get(fila["channel"])
        return not fila["checkpoint_ns"] and version is not None and str(version) == fila["version"]

    def sellada(self, nombre: str) -> Sellada:
        return Sellada(nombre, self.creado, self.visto, *_dicho(self.estado))


def _filas(lineas: Iterable[bytes]) -> Iterator[tuple[str, Estado]]:
    for linea in lineas:
        if es_de_alguna(linea):
            datos = json.loads(linea)
            yield datos["tabla"], datos["fila"]


def _de_base64(fila: Estado) -> Any:
    blob = fila["blob"]
    return plano(fila["type"], None if blob is None else base64.b64decode(blob))


def _dicho(estado: Estado) -> tuple[list[Any], Estado]:
    """The messages among the values of a state, and the other values."""
    mensajes = estado.pop(MENSAJES, None)
    return [_mensaje(m) for m in mensajes] if isinstance(mensajes, list) else [], _propio(estado)


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
