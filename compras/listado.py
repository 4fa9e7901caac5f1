"""The list of notices: filters, order and pages, at the same cost on the first page as on the last.

A page begins where the other ended (keyset), and every order and filter here is one that an index of
``memoria/sql/indices.sql`` serves: the expressions below are those of the indexes, to the letter.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, NamedTuple

from django.db.models import BooleanField, Q, TextField
from django.db.models.expressions import RawSQL

from compras.lectura import ESPACIO, Aviso, de_fila, de_todos
from memoria.models import Documento
from memoria.politica import Importancia
from memoria.querysets import DocumentoQuerySet

AVISOS_POR_PAGINA = 50
#: In ``autor``: what nobody of this application wrote.
SIN_AUTOR = "nadie"
# A damaged notice may have no date: it goes last. Byte by byte ("C"), which is the order of dates and, unlike
# that of a language, the same on every server and after every upgrade of one.
_FECHA = "(left(COALESCE(value ->> 'fecha', ''), 40) COLLATE \"C\")"
_AUTOR = "COALESCE(left(value ->> 'autor', 40), '')"
_POSICION = f'({_FECHA}, created_at, (prefix COLLATE "C"), (key COLLATE "C"))'
_POSICION_DEL_PROVEEDOR = f'({_FECHA}, created_at, (key COLLATE "C"))'


@dataclass(frozen=True)
class Filtros:
    """What the list shows; what is empty filters nothing.

    ``estado``: "vigente", "caducado" or "todos". ``autor``: the id of a user, or :data:`SIN_AUTOR`. ``desde``
    and ``hasta``, both included, are about the date of the notice.
    """

    proveedor: str = ""
    estado: str = "vigente"
    importancia: str = ""
    autor: str = ""
    desde: date | None = None
    hasta: date | None = None


@dataclass(frozen=True)
class Pagina:
    """``anterior`` and ``siguiente`` are the marks of the pages beside it, ``None`` where there is none."""

    avisos: list[Aviso]
    anterior: str | None
    siguiente: str | None


class MarcaNoValida(ValueError):
    """The mark of a page was not made here."""


class Marca(NamedTuple):
    """A place in the list, as the values of ``_POSICION``."""

    fecha: str
    escrito: datetime
    prefijo: str
    clave: str


def pagina(filtros: Filtros, *, despues: str | None = None, antes: str | None = None) -> Pagina:
    """Notices by date, newest first: those after the mark ``despues``, or those that end before ``antes``.

    Raises ``MarcaNoValida``.
    """
    hacia_atras = antes is not None and despues is None
    marca = antes if hacia_atras else despues
    filas = _filas(
        filtros, leer_marca(marca) if marca is not None else None, AVISOS_POR_PAGINA + 1, hacia_atras
    )
    hay_mas = len(filas) > AVISOS_POR_PAGINA
    filas = filas[:AVISOS_POR_PAGINA]
    if hacia_atras:
        filas.reverse()
    hay_antes = hay_mas if hacia_atras else despues is not None
    hay_despues = True if hacia_atras else hay_mas
    return Pagina(
        [de_fila(f) for f in filas],
        anterior=escribir_marca(filas[0]) if filas and hay_antes else None,
        siguiente=escribir_marca(filas[-1]) if filas and hay_despues else None,
    )


def recorrer(filtros: Filtros, *, por_tanda: int = 500) -> Iterator[list[Aviso]]:
    """All of them, a batch at a time and each batch a query: no cursor is held open while somebody downloads.

    What is restricted (art. 18 GDPR) is not among them: it is stored, and does not travel.
    """
    marca: Marca | None = None
    while filas := _filas(filtros, marca, por_tanda, limitados=False):
        yield [de_fila(f) for f in filas]
        if len(filas) < por_tanda:
            return
        marca = _marca(filas[-1])


def _filas(
    filtros: Filtros,
    marca: Marca | None,
    cuantas: int,
    hacia_atras: bool = False,
    *,
    limitados: bool = True,
) -> list[Documento]:
    consulta = filtrados(filtros)
    if not limitados:
        consulta = consulta.filter(limitado=False)
    # Of one supplier the prefix is no part of the order: its index has it before everything else.
    posicion = _POSICION_DEL_PROVEEDOR if filtros.proveedor else _POSICION
    if marca is not None:
        valores = [
            v for campo, v in marca._asdict().items() if not (filtros.proveedor and campo == "prefijo")
        ]
        consulta = consulta.filter(
            _sql(f"{posicion} {'>' if hacia_atras else '<'} ({', '.join(['%s'] * len(valores))})", *valores)
        )
    campos = [_FECHA, "created_at", *([] if filtros.proveedor else ['prefix COLLATE "C"']), 'key COLLATE "C"']
    if filtros.autor and not filtros.proveedor:
        # It is the same for all of them; but under a row policy PostgreSQL does not see it, and would sort.
        campos.insert(0, _AUTOR)
    orden = [RawSQL(c, []) for c in campos]  # noqa: S611 - constants of this module
    consulta = consulta.order_by(*(o.asc() if hacia_atras else o.desc() for o in orden))
    fecha = RawSQL(_FECHA, [], output_field=TextField())  # noqa: S611 - a constant of this module
    return list(consulta.annotate(orden_fecha=fecha)[:cuantas])


def filtrados(filtros: Filtros) -> DocumentoQuerySet[Documento]:
    """The rows that pass, in no order."""
    consulta = de_todos()
    if filtros.proveedor:
        consulta = consulta.del_sujeto(ESPACIO, filtros.proveedor)
    if filtros.estado == "vigente":
        consulta = consulta.vigentes()
    elif filtros.estado == "caducado":
        consulta = consulta.caducados()
    if filtros.importancia == Importancia.ALTA:
        consulta = consulta.filter(_sql("value ->> 'importancia' = 'alta'"))
    elif filtros.importancia:
        # The field may be missing, and then it is normal.
        consulta = consulta.filter(_sql("value ->> 'importancia' IS DISTINCT FROM 'alta'"))
    if filtros.autor:
        autor = "" if filtros.autor == SIN_AUTOR else filtros.autor
        consulta = consulta.filter(_sql(f"{_AUTOR} = %s", autor))
    if filtros.desde:
        consulta = consulta.filter(_sql(f"{_FECHA} >= %s", filtros.desde.isoformat()))
    if filtros.hasta:
        consulta = consulta.filter(_sql(f"{_FECHA} <= %s", filtros.hasta.isoformat()))
    return consulta


def _sql(condicion: str, *valores: Any) -> Q:
    # The ORM writes the same in other words, and an index is used for its own expression only.
    return Q(RawSQL(condicion, valores, output_field=BooleanField()))  # noqa: S611 - constants of this module


# -- marks ------------------------------------------------------------------------------------------


def _marca(fila: Any) -> Marca:
    return Marca(fila.orden_fecha, fila.created_at, fila.prefix, fila.key)


def escribir_marca(fila: Any) -> str:
    """Nothing of what a notice says: its date, when it was written, and where it is."""
    fecha, escrito, prefijo, clave = _marca(fila)
    valores = [fecha, escrito.isoformat(), prefijo, clave]
    return base64.urlsafe_b64encode(json.dumps(valores).encode()).decode()


def leer_marca(marca: str) -> Marca:
    """The values a page begins after. Raises ``MarcaNoValida``."""
    try:
        fecha, escrito, prefijo, clave = json.loads(base64.urlsafe_b64decode(marca.encode()))
        momento = datetime.fromisoformat(escrito)
        if momento.tzinfo is None:
            raise MarcaNoValida
        # In UTC it is what was written here, or a moment that no calendar has (OverflowError).
        momento = momento.astimezone(UTC)
        # `encode`: half a surrogate is no text that PostgreSQL can be asked about.
        textos_validos = all(b"\x00" not in t.encode() for t in (fecha, prefijo, clave))
    except (binascii.Error, ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise MarcaNoValida from error
    if not textos_validos:
        raise MarcaNoValida
    return Marca(fecha, momento, prefijo, clave)
