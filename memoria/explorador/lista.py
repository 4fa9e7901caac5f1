"""The subjects of a namespace, by pages, without counting the table or skipping over it.

A page starts where the other ended (keyset), so the last one costs what the first one does.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.db import connection

from memoria import politica

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
    hacia_atras = antes is not None and despues is None
    filas = (
        _filas(nombre, antes or "", _HACIA_ATRAS) if hacia_atras else _filas(nombre, despues or "", _ADELANTE)
    )
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


class _Fila(NamedTuple):
    prefix: str
    documentos: int
    caducados: int
    actualizado: datetime


def _filas(nombre: str, marca: str, consulta: str) -> list[_Fila]:
    with connection.cursor() as cursor:
        cursor.execute(consulta, [f"{nombre}.%", f"{nombre}.{marca}", ENTRADAS_POR_PAGINA + 1])
        return [_Fila(*f) for f in cursor.fetchall()]


# Byte by byte (the operators with tildes), whatever the collation of the database: it is the order of
# LangGraph's own index of prefixes, the one that also knows where a namespace ends. The ORM cannot order by
# it, and in any other order the last page of a namespace would read all the namespaces that follow.
_POR_SUJETO = """
SELECT prefix, count(*), count(*) FILTER (WHERE expires_at <= now()), max(updated_at)
FROM langgraph.store
WHERE prefix LIKE %s AND prefix {compara} %s
GROUP BY prefix
ORDER BY prefix USING {ordena}
LIMIT %s
"""
_ADELANTE = _POR_SUJETO.format(compara="~>~", ordena="~<~")
_HACIA_ATRAS = _POR_SUJETO.format(compara="~<~", ordena="~>~")


def _entrada(fila: _Fila) -> Entrada:
    try:
        sujeto_id = politica.sujeto(fila.prefix)[1]
    except politica.PoliticaIncumplida:
        sujeto_id = None
    return Entrada(fila.prefix, sujeto_id, fila.documentos, fila.caducados, fila.actualizado)


def _marca(fila: _Fila) -> str:
    return fila.prefix.partition(".")[2]
