"""The list of suppliers from a CSV file (``codigo,nombre,activo``): whatever purchasing's own system exports.

Unlike a notice, a supplier is known better elsewhere: an import adds the new ones and brings the others up to
date. It removes none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from compras import hoja
from compras.hoja import Fila
from compras.models import Proveedor, varios_codigos

OBLIGATORIAS = ("codigo", "nombre")
OPTATIVAS = ("activo",)
_SI = frozenset({"1", "s", "si", "sí", "true", "verdadero", "activo", "x"})
_NO = frozenset({"0", "n", "no", "false", "falso", "inactivo"})


@dataclass
class ImportacionProveedores:
    """What an import did, or would do; ``rechazados`` is ``{"linea": n, "motivo": "…"}``."""

    creados: int = 0
    actualizados: int = 0
    sin_cambios: int = 0
    rechazados: list[dict[str, Any]] = field(default_factory=list)
    siguiente_linea: int | None = None

    def rechazar(self, linea: int, motivo: str) -> None:
        self.rechazados.append({"linea": linea, "motivo": motivo})


class _Linea(NamedTuple):
    linea: int
    codigo: str
    nombre: str
    activo: bool | None  # the file does not say


def importar_proveedores(
    origen: Path | BinaryIO,
    *,
    simulado: bool = False,
    por_lote: int = 1000,
    parar: Callable[[], bool] = lambda: False,
) -> ImportacionProveedores:
    """Add and update the suppliers of ``origen``. A batch is one transaction.

    Raises ``FicheroNoValido``.
    """
    hecho = ImportacionProveedores()
    try:
        with hoja.abrir(origen, parar=parar) as fichero:
            lineas = _buenas(hoja.leer(fichero, obligatorias=OBLIGATORIAS, optativas=OPTATIVAS), hecho)
            while lote := list(islice(lineas, por_lote)):
                if parar():
                    hecho.siguiente_linea = lote[0].linea
                    break
                with transaction.atomic():
                    _guardar(lote, hecho, simulado=simulado)
    except hoja.LecturaParada:
        hecho.siguiente_linea = 2  # the first names the columns
    hecho.rechazados.sort(key=lambda r: r["linea"])
    return hecho


def _buenas(filas: Iterator[Fila], hecho: ImportacionProveedores) -> Iterator[_Linea]:
    vistos: dict[str, int] = {}
    for fila in filas:
        if fila.campos is None:
            hecho.rechazar(fila.linea, fila.motivo)
            continue
        try:
            linea = _linea(fila.linea, fila.campos)
        except ValidationError as error:
            columna, (motivo, *_mas) = next(iter(error.message_dict.items()))
            hecho.rechazar(fila.linea, hoja.en_la_columna(columna, motivo))
            continue
        primera = vistos.setdefault(linea.codigo.lower(), linea.linea)
        if primera != linea.linea:
            hecho.rechazar(
                linea.linea,
                _("Su código está ya en la línea %(linea)s: deje una de las dos.") % {"linea": primera},
            )
            continue
        yield linea


def _linea(linea: int, campos: dict[str, str]) -> _Linea:
    escrito = campos.get("activo", "").casefold()
    if escrito and escrito not in _SI | _NO:
        raise ValidationError({"activo": _("Dice «sí» o «no».")})
    Proveedor(codigo=campos["codigo"], nombre=campos["nombre"]).clean_fields()
    return _Linea(linea, campos["codigo"], campos["nombre"], escrito in _SI if escrito else None)


def _guardar(lote: list[_Linea], hecho: ImportacionProveedores, *, simulado: bool) -> None:
    codigos = Proveedor.objects.de_codigos({r.codigo for r in lote})
    conocidos = {
        p.codigo: p
        for p in Proveedor.objects.select_for_update(no_key=True)
        .filter(codigo__in=[c for c in codigos.values() if c])
        .order_by("pk")
    }
    nuevos: dict[str, Proveedor] = {}
    cambiados: dict[str, Proveedor] = {}
    for r in lote:
        codigo = codigos.get(r.codigo, r.codigo)
        if codigo is None:
            hecho.rechazar(r.linea, varios_codigos())
            continue
        proveedor = conocidos.get(codigo)
        if proveedor is None:
            nuevos[r.codigo] = Proveedor(codigo=r.codigo, nombre=r.nombre, activo=r.activo is not False)
            hecho.creados += 1
            continue
        if r.activo and proveedor.fusionado_en_id:
            hecho.rechazar(r.linea, _("Este código se unió a otro y no se puede activar."))
            continue
        activo = proveedor.activo if r.activo is None else r.activo
        if (proveedor.nombre, proveedor.activo) == (r.nombre, activo):
            hecho.sin_cambios += 1
            continue
        proveedor.nombre, proveedor.activo = r.nombre, activo
        cambiados[codigo] = proveedor
        hecho.actualizados += 1
    if simulado:
        return
    # Somebody may have added one of them since it was looked for: then it is brought up to date.
    Proveedor.objects.bulk_create(
        nuevos.values(),
        update_conflicts=True,
        unique_fields=["codigo"],
        update_fields=["nombre", "activo"],
    )
    Proveedor.objects.bulk_update(cambiados.values(), ["nombre", "activo"])
