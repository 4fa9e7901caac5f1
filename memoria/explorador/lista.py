"""The subjects of a namespace, by pages, without counting the table or skipping over it.

A page starts where the other ended (keyset), so the last one costs what the first one does.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memoria import politica
from memoria.models import Documento

ENTRADAS_POR_PAGINA = 50


@dataclass(frozen=True)
class Entrada:
    """One subject; ``sujeto_id`` is ``None`` for a prefix that no code of ours can have written."""

    prefijo: str
    sujeto_id: str | None
    documentos: int
    caducados: int
    actualizado: datetime


@dataclass(frozen=True)
class Pagina:
    """``anterior`` and ``siguiente`` are the marks of the neighbouring pages, ``None`` where there is none.

    A mark is the label of a subject, as the store has it.
    """

    entradas: list[Entrada]
    anterior: str | None
    siguiente: str | None


def pagina_de_sujetos(nombre: str, *, despues: str | None = None, antes: str | None = None) -> Pagina:
    """The page that follows the mark ``despues``, or the one that ends before ``antes``; else the first."""
    consulta = Documento.objects.del_espacio(nombre).por_sujeto()
    hacia_atras = antes is not None and despues is None
    if hacia_atras:
        consulta = consulta.filter(prefix__lt=f"{nombre}.{antes}").order_by("-prefix")
    else:
        consulta = consulta.order_by("prefix")
        if despues is not None:
            consulta = consulta.filter(prefix__gt=f"{nombre}.{despues}")
    filas: list[dict[str, Any]] = list(consulta[: ENTRADAS_POR_PAGINA + 1])
    hay_mas = len(filas) > ENTRADAS_POR_PAGINA
    filas = filas[:ENTRADAS_POR_PAGINA]
    if hacia_atras:
        filas.reverse()
    hay_antes = hay_mas if hacia_atras else despues is not None
    hay_despues = True if hacia_atras else hay_mas
    return Pagina(
        entradas=[_entrada(f) for f in filas],
        anterior=_marca(filas[0]) if filas and hay_antes else None,
        siguiente=_marca(filas[-1]) if filas and hay_despues else None,
    )


def _entrada(fila: dict[str, Any]) -> Entrada:
    try:
        sujeto_id = politica.sujeto(fila["prefix"])[1]
    except politica.PoliticaIncumplida:
        sujeto_id = None
    return Entrada(fila["prefix"], sujeto_id, fila["documentos"], fila["caducados"], fila["actualizado"])


def _marca(fila: dict[str, Any]) -> str:
    return str(fila["prefix"]).partition(".")[2]
