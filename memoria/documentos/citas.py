"""What is recalled from documents, as it is handed to a model: quoted data that can pass for nothing else.

A list in JSON, one object per section. Whoever wrote the document chose every word of it, so nothing in it
may look like ours: JSON escapes what would close a text, each line of a quotation begins with ``> `` whatever
the document uses to break lines, and what people do not see (bidirectional marks, Unicode tags) is taken out.

No Django here: an agent's process imports it.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable
from datetime import datetime

from memoria.documentos.busqueda import Hallazgo

#: Sections handed over, characters of each, and of all together.
SECCIONES = 4
LARGO_CITA = 1200
LARGO_TOTAL = 3600
#: What is shorter says nothing: it is not begun.
LARGO_MINIMO = 100
#: How a line of a document begins. Nothing else that we write does.
MARCA = "> "
CORTADO = " […]"


def citar(hallados: Iterable[Hallazgo]) -> str:
    """The best of them, within the limits; ``[]`` when there is none."""
    citas: list[dict[str, str]] = []
    quedan = LARGO_TOTAL
    for h in list(hallados)[:SECCIONES]:
        if quedan < LARGO_MINIMO:
            break
        cita = _citada(h.texto, min(LARGO_CITA, quedan))
        quedan -= len(cita)
        citas.append(
            {
                "ruta": _una_linea(h.ruta),
                "seccion": _una_linea(h.encabezado),
                "actualizado": _dia(h.actualizada),
                "importancia": h.importancia,
                "cita": cita,
            }
        )
    return json.dumps(citas, ensure_ascii=False)


def _citada(texto: str, maximo: int) -> str:
    lineas = [_visible(linea) for linea in _SALTOS.split(texto)]
    cita = "\n".join(f"{MARCA}{linea}".rstrip() for linea in lineas)
    return cita if len(cita) <= maximo else cita[: max(0, maximo - len(CORTADO))].rstrip() + CORTADO


def _una_linea(texto: str) -> str:
    return _visible(" ".join(texto.split()))


def _visible(texto: str) -> str:
    return "".join(
        " " if c == "\t" else c for c in texto if c == "\t" or unicodedata.category(c) not in _OCULTAS
    )


def _dia(momento: datetime) -> str:
    return momento.date().isoformat()


#: Everything that breaks a line somewhere: what ``str.splitlines`` knows.
_SALTOS = re.compile("\r\n|[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]")
_OCULTAS = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
