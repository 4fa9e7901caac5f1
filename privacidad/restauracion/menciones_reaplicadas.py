"""Rows of other people that were erased because they named somebody, erased again on a restored copy.

Each is found by the digest of the address it was decided about. A notice of a supplier may have had another
one when the copy was made: it has been put back since, or withdrawn, or its supplier was joined to another.
What it says has gone with it, so it is found by the digest of that too. One that is found by neither is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple

from django.db import connection, transaction

from memoria.models import Documento
from privacidad import fuentes, registro
from privacidad.contenidos import Contenido, de_los_avisos, de_los_retirados
from privacidad.fuentes import Fuente
from privacidad.fuentes.retirados import RETIRADOS
from privacidad.models import Asiento
from privacidad.olvido import resumen_de_fila

Direccion = tuple[str, str]


def borrar(lote: int) -> Iterator[int]:
    """Erase them, ``lote`` at a time, each time in one transaction with its entry; how many rows went."""
    decididas = _decididas()
    direcciones = _en_la_memoria(decididas, lote)
    while estas := list(islice(direcciones, lote)):
        yield _borrar_filas(estas)
    for fuente in fuentes.FUENTES:
        yield _borrar_de(fuente, decididas)


def buscar_las_nuevas(lote: int, *, desde: int) -> None:
    """Write down in the register which such row, of an erasure after entry number ``desde``, is not found
    here.

    It may never have been in the copy, or it is here at another place and saying something else.
    """
    nuevas = [d for d in _decididas() if d.suprimida > desde]
    if not nuevas:
        return
    filas = {resumen_de_fila(*d) for d in _en_la_memoria(nuevas, lote)}
    for fuente in fuentes.FUENTES:
        filas |= {resumen_de_fila(*f.direccion) for f in _en_la_fuente(fuente, nuevas)}
    dichos = {c.resumen for c in (*de_los_avisos(lote), *de_los_retirados())}
    for d in nuevas:
        if d.fila not in filas and d.contenido not in dichos:
            registro.anotar(tipo="mencion_sin_hallar", referencia=d.referencia, datos={"fila": d.fila})


def sin_hallar() -> list[str]:
    """The references of the erasures with a row that was not found, and of whose person nobody has looked for
    mentions since."""
    with connection.cursor() as cursor:
        cursor.execute(_SIN_HALLAR)
        return [referencia for (referencia,) in cursor.fetchall()]


class _Decidida(NamedTuple):
    """A row that it was decided to erase, in a request that was run afterwards."""

    referencia: str
    fila: str
    #: The digest of what it said; empty in the oldest entries, and of what never moves.
    contenido: str
    momento: datetime
    #: The entry of the first erasure since.
    suprimida: int


def _decididas() -> list[_Decidida]:
    """Each was decided by a person, so they are few."""
    with connection.cursor() as cursor:
        cursor.execute(_DECIDIDAS)
        return [_Decidida(*fila) for fila in cursor.fetchall()]


# The last decision about each row, where the erasure it was decided for was run.
_DECIDIDAS = """
SELECT d.referencia, d.fila, d.contenido, d.momento, s.numero FROM (
    SELECT DISTINCT ON (referencia, datos ->> 'fila')
           referencia, datos ->> 'fila' AS fila, coalesce(datos ->> 'contenido', '') AS contenido,
           datos ->> 'decision' AS decision, numero, momento
    FROM public.privacidad_asiento WHERE tipo = 'mencion'
    ORDER BY referencia, datos ->> 'fila', numero DESC
) d
CROSS JOIN LATERAL (
    SELECT min(s.numero) AS numero FROM public.privacidad_asiento s
    WHERE s.tipo = 'supresion' AND s.referencia = d.referencia AND s.numero > d.numero
) s
WHERE d.decision = 'borrar' AND s.numero IS NOT NULL
ORDER BY d.numero
"""


# A review looks for mentions, and so does another request that comes in while one is open.
_SIN_HALLAR = """
SELECT m.referencia FROM public.privacidad_asiento m
WHERE m.tipo = 'mencion_sin_hallar' AND NOT EXISTS (
    SELECT FROM public.privacidad_asiento s
    JOIN public.privacidad_asiento b
      ON b.resumen = s.resumen AND b.tipo IN ('revisada', 'vinculada') AND b.numero > m.numero
    WHERE s.tipo = 'supresion' AND s.referencia = m.referencia
)
GROUP BY m.referencia ORDER BY m.referencia
"""


def _por_fila(decididas: list[_Decidida]) -> dict[str, datetime]:
    por_fila: dict[str, datetime] = {}
    for d in decididas:
        por_fila[d.fila] = max(d.momento, por_fila.get(d.fila, d.momento))
    return por_fila


def _en_la_memoria(decididas: list[_Decidida], lote: int) -> Iterator[Direccion]:
    """Those of the store, as they were when it was decided."""
    por_fila = _por_fila(decididas)
    if not por_fila:
        return
    # What is held back in the request of whoever it is about stays, whoever else it names.
    antiguos = Documento.objects.filter(updated_at__lte=max(por_fila.values()), retenido=False)
    for prefijo, clave, escrito in antiguos.values_list("prefix", "key", "updated_at").iterator(lote):
        momento = por_fila.get(resumen_de_fila(prefijo, clave))
        if momento and escrito <= momento:
            yield prefijo, clave
    for movido in _movidos(decididas, de_los_avisos(lote)):
        yield movido.direccion


def _en_la_fuente(fuente: Fuente, decididas: list[_Decidida]) -> list[Any]:
    filas = list(fuente.reencontradas(_por_fila(decididas)))
    if fuente is RETIRADOS:
        movidas = (RETIRADOS.fila_de(m.direccion) for m in _movidos(decididas, de_los_retirados()))
        filas += [f for f in movidas if f is not None and f not in filas]
    return filas


def _movidos(decididas: list[_Decidida], contenidos: Iterator[Contenido]) -> Iterator[Contenido]:
    """Those that say what one that was decided on said, and did so by then: the review would have found them
    too, had both been there. One about which it was decided that it stays does."""
    por_contenido: dict[str, datetime] = {}
    for d in decididas:
        if d.contenido:
            por_contenido[d.contenido] = max(d.momento, por_contenido.get(d.contenido, d.momento))
    if not por_contenido:
        return
    conservadas = set(
        Asiento.objects.filter(tipo="mencion", datos__decision="conservar").values_list(
            "datos__fila", flat=True
        )
    )
    for c in contenidos:
        momento = por_contenido.get(c.resumen)
        if momento and c.desde <= momento and resumen_de_fila(*c.direccion) not in conservadas:
            yield c


def _borrar_filas(direcciones: list[Direccion]) -> int:
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT documentos, vectores FROM langgraph.borrar_filas(%s::text[], %s::text[])",
                [[p for p, _c in direcciones], [c for _p, c in direcciones]],
            )
            documentos, vectores = cursor.fetchone()
        if documentos:
            registro.anotar(
                tipo="reaplicada",
                datos={"borrados": {"menciones": {"documentos": documentos, "vectores": vectores}}},
            )
    return int(documentos)


def _borrar_de(fuente: Fuente, decididas: list[_Decidida]) -> int:
    """The same, of what is not in the store. Returns how many rows that were decided on went."""
    with transaction.atomic():
        recuento = fuente.borrar(_en_la_fuente(fuente, decididas))
        if any(recuento.values()):
            registro.anotar(tipo="reaplicada", datos={"borrados": {fuente.NOMBRE: recuento}})
    return sum(recuento[que] for que in fuente.FILAS)
