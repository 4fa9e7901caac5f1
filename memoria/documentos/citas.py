"""What is recalled from documents, as it is handed to a model: quoted data that can pass for nothing else.

A list in JSON, one object per section. Whoever wrote the document chose every word of it, so nothing in it
may look like ours: JSON escapes what would close a text, each line of a quotation begins with ``> `` whatever
the document uses to break lines, and what people do not see is taken out (:mod:`memoria.citado`).

No Django here: an agent's process imports it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime

from memoria.citado import en_una_linea, lineas
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
                "ruta": en_una_linea(h.ruta),
                "seccion": en_una_linea(h.encabezado),
                "actualizado": _dia(h.actualizada),
                "importancia": h.importancia,
                "cita": cita,
            }
        )
    return json.dumps(citas, ensure_ascii=False)


def _citada(texto: str, maximo: int) -> str:
    cita = "\n".join(f"{MARCA}{linea}".rstrip() for linea in lineas(texto))
    return cita if len(cita) <= maximo else cita[: max(0, maximo - len(CORTADO))].rstrip() + CORTADO


def _dia(momento: datetime) -> str:
    return momento.date().isoformat()
