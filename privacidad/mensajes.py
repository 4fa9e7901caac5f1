"""The messages of a conversation as a person reads them: who said what, and what the agent looked up.

Of a message as :mod:`privacidad.conversaciones` gives it. What an agent does between two sentences is a call
of a tool, which has no text of its own: it is told in words. The documents of a person are in Spanish.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def lineas(mensaje: Any) -> Iterator[str]:
    """What one message says, a line each; none when it says nothing."""
    if not isinstance(mensaje, Mapping):
        yield _escrito(mensaje)
        return
    quien = str(mensaje.get("quien") or "sin autor")
    if texto := _texto(mensaje.get("texto")):
        yield f"{_AUTORES.get(quien, quien)}: {texto}"
    for llamada in _lista(mensaje.get("tool_calls")):
        yield f"el agente {_hizo(llamada)}{_con(_dato(llamada, 'args'))}"
    for llamada in _lista(mensaje.get("invalid_tool_calls")):
        yield f"el agente no llegó a hacerlo: {_hizo(llamada)}{_con(_dato(llamada, 'args'))}"


def _texto(contenido: Any) -> str:
    """The text of a message, which may come in parts; what is no text is left as JSON, but for the calls:
    those are told from their own list."""
    partes = contenido if isinstance(contenido, list) else [contenido]
    textos = (
        parte["text"] if isinstance(parte, Mapping) and isinstance(parte.get("text"), str) else parte
        for parte in partes
        if parte not in (None, "", [], {})
        and not (isinstance(parte, Mapping) and parte.get("type") in _LLAMADAS)
    )
    return "\n".join(map(_escrito, textos)).strip()


def _hizo(llamada: Any) -> str:
    nombre = str(_dato(llamada, "name") or "")
    return _HIZO.get(nombre) or (f"usó la herramienta «{nombre}»" if nombre else "usó una herramienta")


def _con(argumentos: Any) -> str:
    if argumentos in (None, "", {}, []):
        return ""
    if not isinstance(argumentos, Mapping):
        return f" ({_escrito(argumentos)})"
    return f" ({'; '.join(f'{k}: {_escrito(v)}' for k, v in argumentos.items())})"


def _dato(llamada: Any, cual: str) -> Any:
    return llamada.get(cual) if isinstance(llamada, Mapping) else None


def _lista(valor: Any) -> Sequence[Any]:
    return valor if isinstance(valor, list) else ()


def _escrito(valor: Any) -> str:
    return valor if isinstance(valor, str) else json.dumps(valor, ensure_ascii=False)


#: How a call is called inside the parts of a message, by each maker of models.
_LLAMADAS = ("tool_use", "tool_call", "function_call", "invalid_tool_call")
_AUTORES = {"herramienta": "respuesta que recibió el agente", "sistema": "instrucciones al agente"}
#: What each tool of the agents does (``memoria.agentes.herramientas``). A test sees that none is missing.
_HIZO = {
    "recordar_preferencia": "anotó una preferencia",
    "preferencias": "consultó lo que se recuerda de la persona",
    "avisos_proveedor": "consultó los avisos del proveedor",
    "consultar_documentos": "consultó los documentos de la casa",
}
