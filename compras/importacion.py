"""Supplier notices from a CSV file, as spreadsheets and other systems write them.

The file is read twice, in constant memory: once to know its encoding, once to take its lines in batches. A
bad line is told by its number and the reason, never by its text; the good ones are written. An import only
adds: a notice that is already there stays as it is, so that importing a file again undoes no correction.
"""

from __future__ import annotations

import codecs
import csv
import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from django.utils.translation import gettext as _
from langgraph.store.base import PutOp

from compras import servicios
from compras.errores import AvisoNoValido
from compras.models import Proveedor
from memoria import politica
from memoria.almacen import AlmacenMemoria
from memoria.models import Documento
from memoria.politica import Escritor, Importancia, PoliticaIncumplida

OBLIGATORIAS = ("proveedor_id", "fecha", "texto")
OPTATIVAS = ("aviso_id", "importancia", "asunto", "valido_hasta")
#: Longest field read, in characters: far beyond any notice, so that one too long is told and not feared.
LARGO_MAXIMO_LEIDO = 4 * 1024 * 1024
_TROZO = 64 * 1024


class FicheroNoValido(Exception):
    """The file cannot be read as notices. The message says why and what to do."""


@dataclass
class Importacion:
    """What an import did. ``siguiente_linea`` is where it stopped, when it stopped before the end."""

    creados: int = 0
    sin_cambios: int = 0
    proveedores_creados: int = 0
    rechazados: list[dict[str, Any]] = field(default_factory=list)
    siguiente_linea: int | None = None

    def rechazar(self, linea: int, motivo: str) -> None:
        self.rechazados.append({"linea": linea, "motivo": motivo})


class Renglon(NamedTuple):
    """One good line of the file."""

    linea: int
    proveedor_id: str
    clave: str
    documento: dict[str, Any]

    @property
    def lugar(self) -> tuple[str, str]:
        return politica.prefijo("proveedores", self.proveedor_id), self.clave


def importar(
    ruta: Path,
    *,
    almacen: AlmacenMemoria,
    simulado: bool = False,
    por_lote: int = 200,
    parar: Callable[[], bool] = lambda: False,
) -> Importacion:
    """Import the notices of ``ruta``. Suppliers not known yet are added, with their code as their name.

    Nobody is the author of an imported notice. ``parar`` is asked before each batch. With ``simulado``
    nothing is written; a line repeated in another batch of the same file then counts as one more new one.

    Raises :class:`FicheroNoValido`, and what the store raises.
    """
    hecho = Importacion()
    with _limite_de_campo(), _abrir(ruta) as fichero:
        renglones = _renglones(_lector(fichero), hecho)
        while lote := list(islice(renglones, por_lote)):
            if parar():
                hecho.siguiente_linea = lote[0].linea
                break
            _guardar(lote, hecho, almacen, simulado=simulado)
    hecho.rechazados.sort(key=lambda r: r["linea"])
    return hecho


# -- the file ---------------------------------------------------------------------------------------


@contextmanager
def _limite_de_campo() -> Iterator[None]:
    antes = csv.field_size_limit(LARGO_MAXIMO_LEIDO)
    try:
        yield
    finally:
        csv.field_size_limit(antes)


@contextmanager
def _abrir(ruta: Path) -> Iterator[TextIO]:
    try:
        codificacion = _codificacion(ruta)
        with ruta.open(encoding=codificacion, newline="") as fichero:
            yield fichero
    except FileNotFoundError:
        raise FicheroNoValido(_("No existe el fichero %(ruta)s.") % {"ruta": ruta}) from None
    except (IsADirectoryError, PermissionError):
        raise FicheroNoValido(
            _("No se puede leer %(ruta)s: compruebe que es un fichero y sus permisos.") % {"ruta": ruta}
        ) from None


def _codificacion(ruta: Path) -> str:
    """UTF-8, with or without its mark, when all of it is; else what Windows writes in Spanish."""
    for codificacion in ("utf-8-sig", "cp1252"):
        decodificador = codecs.getincrementaldecoder(codificacion)()
        try:
            with ruta.open("rb") as fichero:
                while trozo := fichero.read(_TROZO):
                    decodificador.decode(trozo)
                decodificador.decode(b"", final=True)
        except UnicodeDecodeError:
            continue
        return codificacion
    raise FicheroNoValido(_("El fichero no es texto en UTF-8 ni en Windows-1252: guárdelo como CSV UTF-8."))


class _Lector(NamedTuple):
    filas: Any  # csv.reader has no public type
    columnas: list[str]


def _lector(fichero: TextIO) -> _Lector:
    """A reader just past the header, with whichever separator makes sense of it."""
    lineas = _lineas(fichero)
    cabecera = next(lineas, "")
    for separador in (";", ","):
        columnas = [c.strip().casefold() for c in next(csv.reader([cabecera], delimiter=separador), [])]
        if set(OBLIGATORIAS) & set(columnas):
            break
    faltan = [c for c in OBLIGATORIAS if c not in columnas]
    if faltan:
        raise FicheroNoValido(
            _(
                "En la primera línea faltan columnas: %(faltan)s. El fichero debe ser un CSV separado por "
                "«;» o por «,» cuya primera línea dé los nombres de las columnas."
            )
            % {"faltan": ", ".join(faltan)}
        )
    repetidas = [c for c in (*OBLIGATORIAS, *OPTATIVAS) if columnas.count(c) > 1]
    if repetidas:
        raise FicheroNoValido(
            _("En la primera línea hay columnas repetidas: %(cuales)s. Deje una de cada.")
            % {"cuales": ", ".join(repetidas)}
        )
    return _Lector(csv.reader(lineas, delimiter=separador, strict=True), columnas)


def _lineas(fichero: TextIO) -> Iterator[str]:
    """The lines of the file, never holding more of it than a field may be long."""
    while linea := fichero.readline(2 * LARGO_MAXIMO_LEIDO):
        if len(linea) == 2 * LARGO_MAXIMO_LEIDO:
            raise FicheroNoValido(
                _("Hay una línea de más de %(maximo)s millones de caracteres: no es un CSV de avisos.")
                % {"maximo": 2 * LARGO_MAXIMO_LEIDO // 1_000_000}
            )
        yield linea


def _renglones(lector: _Lector, hecho: Importacion) -> Iterator[Renglon]:
    """The good lines; the bad ones are noted in ``hecho``."""
    while True:
        linea = lector.filas.line_num + 2  # the header was read apart
        try:
            valores = next(lector.filas)
        except StopIteration:
            return
        except csv.Error:
            hecho.rechazar(
                linea,
                _("No se puede leer: las comillas no están bien puestas o hay un campo larguísimo."),
            )
            continue
        if not any(v.strip() for v in valores):
            continue
        try:
            yield _renglon(linea, lector.columnas, valores)
        except AvisoNoValido as error:
            hecho.rechazar(linea, str(error))


def _renglon(linea: int, columnas: list[str], valores: list[str]) -> Renglon:
    if len(valores) != len(columnas):
        raise AvisoNoValido(
            _("Tiene %(hay)s columnas y la primera línea tiene %(debe)s.")
            % {"hay": len(valores), "debe": len(columnas)}
        )
    fila = {c: v.strip() for c, v in zip(columnas, valores, strict=True)}
    if not fila["proveedor_id"]:
        raise AvisoNoValido(_("Falta el proveedor."))
    documento = servicios.componer(
        texto=fila["texto"],
        fecha=_fecha(fila["fecha"], "fecha"),
        importancia=fila.get("importancia", "").casefold() or Importancia.NORMAL,
        asunto=fila.get("asunto", ""),
        valido_hasta=_fecha(fila["valido_hasta"], "valido_hasta") if fila.get("valido_hasta") else None,
    )
    clave = fila.get("aviso_id") or _clave(fila["proveedor_id"], documento)
    try:
        politica.comprobar_escritura(
            politica.espacio("proveedores", fila["proveedor_id"]), clave, documento, None, Escritor.COMPRAS
        )
    except PoliticaIncumplida as error:
        raise AvisoNoValido(str(error)) from error
    return Renglon(linea, fila["proveedor_id"], clave, documento)


def _fecha(texto: str, columna: str) -> date:
    try:
        fecha = date.fromisoformat(texto)
    except ValueError:
        fecha = None
    if fecha is None or fecha.isoformat() != texto:
        raise AvisoNoValido(_("La columna %(columna)s no es una fecha AAAA-MM-DD.") % {"columna": columna})
    return fecha


def _clave(proveedor_id: str, documento: dict[str, Any]) -> str:
    """The same line always gets the same key, so that importing it twice writes it once."""
    que_es = "\x1f".join((proveedor_id, documento["fecha"], documento["texto"]))
    return f"csv-{hashlib.sha256(que_es.encode()).hexdigest()[:32]}"


# -- one batch --------------------------------------------------------------------------------------


def _guardar(lote: list[Renglon], hecho: Importacion, almacen: AlmacenMemoria, *, simulado: bool) -> None:
    guardados = _guardados(lote)
    nuevos: dict[tuple[str, str], Renglon] = {}
    for renglon in lote:
        anterior = guardados.get(renglon.lugar)
        if anterior is None:
            nuevos[renglon.lugar] = renglon
            guardados[renglon.lugar] = renglon.documento
        elif _contenido(anterior) == _contenido(renglon.documento):
            hecho.sin_cambios += 1
        else:
            hecho.rechazar(
                renglon.linea,
                _(
                    "Ya hay un aviso de este proveedor con el mismo aviso_id y otro contenido: "
                    "corríjalo en su pantalla."
                ),
            )
    hecho.proveedores_creados += _asegurar_proveedores({r.proveedor_id for r in nuevos.values()}, simulado)
    if nuevos and not simulado:
        almacen.batch(
            PutOp(
                politica.espacio("proveedores", r.proveedor_id),
                r.clave,
                r.documento,
                ttl=politica.ESPACIOS["proveedores"].vida_minutos,
            )
            for r in nuevos.values()
        )
    hecho.creados += len(nuevos)


def _guardados(lote: list[Renglon]) -> dict[tuple[str, str], dict[str, Any]]:
    """What the memory already holds in the places of this batch."""
    prefijos, claves = {r.lugar[0] for r in lote}, {r.clave for r in lote}
    filas = Documento.objects.filter(prefix__in=prefijos, key__in=claves)
    return {(f.prefix, f.key): f.value for f in filas}


def _contenido(documento: dict[str, Any]) -> dict[str, Any]:
    """A notice without who wrote it."""
    return {"importancia": str(Importancia.NORMAL)} | {
        c: v for c, v in documento.items() if c not in ("autor", "origen")
    }


def _asegurar_proveedores(codigos: Iterable[str], simulado: bool) -> int:
    pedidos = set(codigos)
    nuevos = pedidos - set(Proveedor.objects.filter(codigo__in=pedidos).values_list("codigo", flat=True))
    if not simulado:
        Proveedor.objects.bulk_create(
            [Proveedor(codigo=c, nombre=c) for c in sorted(nuevos)], ignore_conflicts=True
        )
    return len(nuevos)
