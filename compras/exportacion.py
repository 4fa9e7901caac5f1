"""The notices of a filter as CSV: streamed, in constant memory, and who took them is written down."""

from __future__ import annotations

from collections.abc import Iterator

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.utils.timezone import localtime
from django.utils.translation import gettext as _

from compras import hoja, listado, servicios
from compras.lectura import Aviso
from compras.listado import Filtros
from compras.models import Proveedor

#: The first seven are those that :mod:`compras.importacion` reads; the rest are for the eyes.
COLUMNAS = (
    "proveedor_id",
    "aviso_id",
    "fecha",
    "importancia",
    "asunto",
    "texto",
    "valido_hasta",
    "proveedor",
    "caduca",
)


def exportar(*, filtros: Filtros, por: User) -> Iterator[bytes]:
    """The pieces of the file. Raises ``SinPermiso`` at once, not when the first piece is asked for.

    The log has a line from the beginning, so that no export is without one; how many notices left is added at
    the end, also when whoever was downloading went away.
    """
    servicios.exigir(por, servicios.VER)
    asiento = LogEntry.objects.create(
        user_id=por.pk,
        content_type=ContentType.objects.get_for_model(Proveedor),
        object_repr="CSV",
        action_flag=CHANGE,
        change_message=_("Descarga de avisos empezada."),
    )
    return _trozos(filtros, asiento)


def _trozos(filtros: Filtros, asiento: LogEntry) -> Iterator[bytes]:
    cuantos = 0
    try:
        yield ("\ufeff" + hoja.escribir([COLUMNAS])).encode()
        for tanda in listado.recorrer(filtros):
            nombres = Proveedor.objects.nombres_de({a.proveedor_id for a in tanda if a.proveedor_id})
            cuantos += len(tanda)
            yield hoja.escribir(_fila(a, nombres) for a in tanda).encode()
    finally:
        asiento.change_message = _("Avisos descargados: %(cuantos)s.") % {"cuantos": cuantos}
        asiento.save(update_fields=["change_message"])


def _fila(aviso: Aviso, nombres: dict[str, str]) -> list[str]:
    codigo = aviso.proveedor_id or ""
    return [
        codigo,
        aviso.clave,
        aviso.fecha.isoformat() if aviso.fecha else "",
        aviso.importancia,
        aviso.asunto,
        aviso.texto,
        aviso.valido_hasta.isoformat() if aviso.valido_hasta else "",
        nombres.get(codigo, ""),
        localtime(aviso.caduca).date().isoformat() if aviso.caduca else "",
    ]
