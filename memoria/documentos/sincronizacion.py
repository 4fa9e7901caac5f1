"""A folder of Markdown and the documents of a space, made to agree in one direction or the other.

Each page remembers the digest of the file it was last read from, or written to. So what changed on one side
only is never undone from the other: importing leaves alone a page that changed in the application while its
file did not, and exporting leaves alone a file that changed while its page did not. Where both changed the
file wins an import (what the page said stays in its history), and is refused an export (a file has none).
Nothing is ever deleted, on either side: what is on one only is counted and told.

Constant memory: files are read one by one and written to the database in batches.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from memoria.documentos import ficheros, indice, servicios
from memoria.documentos.acceso import en_espacio
from memoria.documentos.carpeta import Carpeta, FicheroRechazado, Hallado
from memoria.documentos.errores import DocumentoNoValido
from memoria.documentos.ficheros import Contenido, FicheroNoValido
from memoria.documentos.models import Accion, Pagina, Version
from memoria.documentos.rutas import RutaNoValida

#: A batch is written when it has so many bytes, however few files they are.
OCTETOS_POR_LOTE = 4_000_000
#: Names told of what is on one side only: more of them would hide the result.
NOMBRES_CONTADOS = 50

Avisar = Callable[[str], None]
T = TypeVar("T")


@dataclass
class Hecho:
    """What was done, or would have been."""

    creados: int = 0
    actualizados: int = 0
    sin_cambios: int = 0
    #: ``[{"ruta", "motivo"}, …]``, by name.
    rechazados: list[dict[str, str]] = field(default_factory=list)
    #: Of those without changes, the ones where the other side has something newer.
    mas_recientes: int = 0
    #: On the other side only.
    sobran: int = 0
    completo: bool = True

    def rechazar(self, ruta: str, motivo: str) -> None:
        self.rechazados.append({"ruta": ruta, "motivo": motivo})

    @property
    def vistos(self) -> int:
        return self.creados + self.actualizados + self.sin_cambios + len(self.rechazados)


class _Leido(NamedTuple):
    ruta: str
    contenido: Contenido
    huella: str


def importar(
    carpeta: Carpeta, espacio: str, *, lote: int, simular: bool, parar: Callable[[], bool], avisar: Avisar
) -> Hecho:
    """From the folder to the documents. Safe to repeat: the second time nothing changes."""
    hecho = Hecho()
    for hallados in _por_lotes(carpeta.recorrer(), lote):
        if parar():
            hecho.completo = False
            return hecho
        leidos = list(_leidos(hallados, hecho))
        try:
            parcial = _importar_lote(espacio, leidos, simular)
        except IntegrityError:
            # Somebody wrote one of those paths at the same moment: now it is there to be compared with.
            parcial = _importar_lote(espacio, leidos, simular)
        hecho.creados += parcial.creados
        hecho.actualizados += parcial.actualizados
        hecho.sin_cambios += parcial.sin_cambios
        hecho.mas_recientes += parcial.mas_recientes
        hecho.rechazados += parcial.rechazados
        avisar(_("Ficheros leídos: %(n)s.") % {"n": hecho.vistos})
    for pagina in _paginas(espacio, lote):
        if not _esta(carpeta, pagina.ruta):
            hecho.sobran += 1
            if hecho.sobran <= NOMBRES_CONTADOS:
                avisar(_("Solo en la aplicación: %(ruta)s") % {"ruta": pagina.ruta})
    return hecho


def exportar(
    carpeta: Carpeta, espacio: str, *, lote: int, simular: bool, parar: Callable[[], bool], avisar: Avisar
) -> Hecho:
    """From the documents to the folder. Safe to repeat: the second time nothing changes."""
    hecho = Hecho()
    for paginas in _por_lotes_de_paginas(espacio, lote):
        if parar():
            hecho.completo = False
            return hecho
        huellas: dict[int, str] = {}
        for pagina in paginas:
            try:
                huellas[pagina.pk] = _exportar_una(carpeta, pagina, hecho, simular)
            except (FicheroRechazado, RutaNoValida) as error:
                hecho.rechazar(pagina.ruta, str(error))
        if not simular:
            _recordar(espacio, paginas, huellas)
        avisar(_("Documentos vistos: %(n)s.") % {"n": hecho.vistos})
    for rutas in _por_lotes((h.nombre for h in carpeta.recorrer() if not h.motivo), lote):
        with en_espacio(espacio):
            conocidas = set(
                Pagina.objects.vivas().filter(espacio=espacio, ruta__in=rutas).values_list("ruta", flat=True)
            )
        for ruta in rutas:
            if ruta not in conocidas:
                hecho.sobran += 1
                if hecho.sobran <= NOMBRES_CONTADOS:
                    avisar(_("Solo en la carpeta: %(ruta)s") % {"ruta": ruta})
    return hecho


# -- importing ------------------------------------------------------------------------------------


def _leidos(hallados: Iterable[Hallado], hecho: Hecho) -> Iterator[_Leido]:
    for hallado in hallados:
        if hallado.motivo:
            hecho.rechazar(hallado.nombre, hallado.motivo)
            continue
        try:
            contenido = ficheros.leer(hallado.nombre, hallado.octetos)
            titulo, texto, _motivo = servicios.componer(**contenido._asdict())
        except (FicheroNoValido, DocumentoNoValido) as error:
            hecho.rechazar(hallado.nombre, str(error))
            continue
        yield _Leido(
            hallado.nombre, Contenido(titulo, contenido.importancia, texto), _huella(hallado.octetos)
        )


def _importar_lote(espacio: str, leidos: list[_Leido], simular: bool) -> Hecho:
    hecho = Hecho()
    nuevas: list[Pagina] = []
    cambiadas: list[Pagina] = []
    iguales: list[Pagina] = []
    with en_espacio(espacio):
        existentes = {
            p.ruta: p
            for p in Pagina.objects.filter(espacio=espacio, ruta__in=[x.ruta for x in leidos])
            .select_for_update()
            .order_by("pk")
        }
        ocupadas = servicios.rutas_con_otras_mayusculas(espacio, [x.ruta for x in leidos])
        del_lote: set[str] = set()
        for leido in leidos:
            pagina = existentes.get(leido.ruta)
            if pagina is None:
                if leido.ruta in ocupadas or leido.ruta.lower() in del_lote:
                    hecho.rechazar(leido.ruta, servicios.otras_mayusculas())
                    continue
                del_lote.add(leido.ruta.lower())
                nuevas.append(
                    Pagina(
                        espacio=espacio,
                        ruta=leido.ruta,
                        huella_fichero=leido.huella,
                        **leido.contenido._asdict(),
                    )
                )
            elif pagina.borrada:
                hecho.rechazar(
                    leido.ruta, _("Se borró en la aplicación: recupérelo allí o quite el fichero.")
                )
            elif _dice(pagina) == leido.contenido:
                if pagina.huella_fichero != leido.huella:
                    pagina.huella_fichero = leido.huella
                    iguales.append(pagina)
                hecho.sin_cambios += 1
            elif pagina.huella_fichero == leido.huella:
                hecho.sin_cambios += 1
                hecho.mas_recientes += 1
            else:
                pagina.titulo, pagina.importancia, pagina.texto = leido.contenido
                pagina.huella_fichero, pagina.autor = leido.huella, None
                pagina.version += 1
                pagina.actualizada = timezone.now()
                cambiadas.append(pagina)
        hecho.creados, hecho.actualizados = len(nuevas), len(cambiadas)
        Pagina.objects.bulk_create(nuevas)
        Pagina.objects.bulk_update(
            cambiadas,
            ["titulo", "importancia", "texto", "huella_fichero", "autor", "version", "actualizada"],
        )
        Pagina.objects.bulk_update(iguales, ["huella_fichero"])
        escritas = [*nuevas, *cambiadas]
        Version.objects.bulk_create(
            servicios.version_de(p, Accion.CREADA if p.version == 1 else Accion.IMPORTADA, "", None)
            for p in escritas
        )
        indice.reindexar(escritas)
        if simular:
            transaction.set_rollback(True)
    return hecho


# -- exporting ------------------------------------------------------------------------------------


def _exportar_una(carpeta: Carpeta, pagina: Pagina, hecho: Hecho, simular: bool) -> str:
    """The digest of the file as it is left. Raises :class:`FicheroRechazado` and :class:`RutaNoValida`."""
    hay = carpeta.leer(pagina.ruta)
    if hay is not None:
        if _contenido(pagina.ruta, hay) == _dice(pagina):
            hecho.sin_cambios += 1
            return _huella(hay)
        if _huella(hay) != pagina.huella_fichero:
            raise FicheroRechazado(
                _("El fichero dice otra cosa que no salió de aquí: impórtelo antes, o apártelo.")
            )
    octetos = ficheros.escribir(pagina.ruta, pagina.titulo, pagina.importancia, pagina.texto)
    if not simular:
        carpeta.escribir(pagina.ruta, octetos)
    if hay is None:
        hecho.creados += 1
    else:
        hecho.actualizados += 1
    return _huella(octetos)


def _recordar(espacio: str, paginas: list[Pagina], huellas: dict[int, str]) -> None:
    """Keep the digests that changed. Nothing else of the page is written: somebody may be editing it."""
    cambiadas = [p for p in paginas if huellas.get(p.pk, p.huella_fichero) != p.huella_fichero]
    for pagina in cambiadas:
        pagina.huella_fichero = huellas[pagina.pk]
    with en_espacio(espacio):
        Pagina.objects.bulk_update(cambiadas, ["huella_fichero"])


# -- pieces ---------------------------------------------------------------------------------------


def _dice(pagina: Pagina) -> Contenido:
    return Contenido(pagina.titulo, pagina.importancia, pagina.texto)


def _contenido(ruta: str, octetos: bytes) -> Contenido | None:
    try:
        return ficheros.leer(ruta, octetos)
    except FicheroNoValido:
        return None


def _huella(octetos: bytes) -> str:
    return hashlib.sha256(octetos).hexdigest()


def _esta(carpeta: Carpeta, ruta: str) -> bool:
    try:
        return carpeta.existe(ruta)
    except RutaNoValida:
        return False


def _paginas(espacio: str, lote: int) -> Iterator[Pagina]:
    for paginas in _por_lotes_de_paginas(espacio, lote, con_texto=False):
        yield from paginas


def _por_lotes_de_paginas(espacio: str, lote: int, *, con_texto: bool = True) -> Iterator[list[Pagina]]:
    desde = 0
    while True:
        with en_espacio(espacio):
            vivas = Pagina.objects.vivas().filter(espacio=espacio, pk__gt=desde).order_by("pk")
            paginas = list((vivas if con_texto else vivas.sin_texto())[:lote])
        if not paginas:
            return
        desde = paginas[-1].pk
        yield paginas


def _por_lotes(cosas: Iterable[T], lote: int) -> Iterator[list[T]]:
    """So many at a time, or fewer when what they hold is large."""
    juntas: list[T] = []
    octetos = 0
    for cosa in cosas:
        juntas.append(cosa)
        octetos += len(cosa.octetos) if isinstance(cosa, Hallado) else 0
        if len(juntas) >= lote or octetos >= OCTETOS_POR_LOTE:
            yield juntas
            juntas, octetos = [], 0
    if juntas:
        yield juntas
