"""Supplier notices from a CSV file, as spreadsheets and other systems write them.

Constant memory whatever the size: lines are taken in batches. A bad line is told by its number and the
reason, never by its text. Either the good ones are written, a batch a transaction, or all of them in one
transaction and none when there is a bad one. An import only adds: a notice that is already there stays as it
is, so that importing a file again undoes no correction.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from itertools import islice
from pathlib import Path
from time import strptime
from typing import Any, BinaryIO, NamedTuple

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _
from langgraph.store.base import PutOp

from compras import hoja, servicios
from compras.almacen import almacen_de_la_transaccion
from compras.errores import AvisoNoValido, frase_de
from compras.hoja import Fila
from compras.models import Proveedor, Retirada, validar_codigo, varios_codigos
from memoria import politica
from memoria.deteccion import hallar
from memoria.identificadores_form import NOMBRES
from memoria.models import Documento
from memoria.politica import Escritor, Importancia, PoliticaIncumplida

OBLIGATORIAS = ("proveedor_id", "fecha", "texto")
OPTATIVAS = ("aviso_id", "importancia", "asunto", "valido_hasta")
#: With their vectors, some megabytes; a batch is one transaction, and one call of a remote model.
AVISOS_POR_LOTE = 200
LINEAS_ENTRE_PREGUNTAS = 5000
# Spanish in UTF-8 that something read as Windows-1252 and wrote again.
_MAL_COPIADO = re.compile("Ã[\u00a0-\u00bf‘’“”‰š¼œ‡]|Â[¡¿ºª«»°]|â€|â‚¬")


@dataclass
class Importacion:
    """What an import did, or would do. ``siguiente_linea`` is where it stopped, when before the end.

    ``rechazados`` and ``avisados`` are ``{"linea": n, "motivo": "…"}``: what was not written, and what was
    and somebody should look at. ``anulada``: nothing was written, because not all could be.
    """

    creados: int = 0
    sin_cambios: int = 0
    proveedores_creados: list[str] = field(default_factory=list)
    rechazados: list[dict[str, Any]] = field(default_factory=list)
    avisados: list[dict[str, Any]] = field(default_factory=list)
    siguiente_linea: int | None = None
    anulada: bool = False
    #: The first of the new ones, for whoever wants to look before it is done.
    muestra: list[Renglon] = field(default_factory=list)

    @property
    def buenas(self) -> int:
        """Lines that could be read, new or not."""
        return self.creados + self.sin_cambios

    def rechazar(self, linea: int, motivo: str) -> None:
        self.rechazados.append({"linea": linea, "motivo": motivo})

    def avisar(self, linea: int, motivo: str) -> None:
        self.avisados.append({"linea": linea, "motivo": motivo})


class Renglon(NamedTuple):
    """One good line of the file."""

    linea: int
    proveedor_id: str
    clave: str
    documento: dict[str, Any]

    @property
    def lugar(self) -> tuple[str, str]:
        return politica.prefijo("proveedores", self.proveedor_id), self.clave

    @property
    def fecha(self) -> date:
        return date.fromisoformat(self.documento["fecha"])

    @property
    def es_importante(self) -> bool:
        return bool(self.documento["importancia"] == Importancia.ALTA)


def importar(
    origen: Path | BinaryIO,
    *,
    simulado: bool = False,
    todo_o_nada: bool = False,
    por_lote: int = AVISOS_POR_LOTE,
    por: User | None = None,
    muestra: int = 0,
    parar: Callable[[], bool] = lambda: False,
    progreso: Callable[[int], None] = lambda linea: None,
) -> Importacion:
    """Import the notices of ``origen``. Suppliers not known yet are added, with their code as their name.

    Nobody is the author of an imported notice. ``por`` is who asks for it, ``None`` for a command: a person
    needs the permission to write notices, and that of adding suppliers for lines of unknown ones. ``parar``
    is asked before each batch, ``progreso`` told the line after it. With ``simulado`` nothing is written; a
    line repeated in another batch of the same file then counts as one more new one.

    A line with a code that was merged goes where its notices went, and is told in ``avisados``.

    Raises ``SinPermiso``, ``FicheroNoValido``, and what the store raises.
    """
    if por is not None:
        servicios.exigir(por, servicios.ESCRIBIR)
    pasada = _Pasada(
        por_lote=por_lote,
        puede_anadir=por is None or por.has_perm(servicios.ANADIR),
        muestra=muestra,
        parar=parar,
        progreso=progreso,
    )
    if not todo_o_nada:
        return pasada.hacer(origen, simulado=simulado)
    # First without writing: a bad line at the end is found before anything is embedded, written or locked.
    prueba = pasada.hacer(origen, simulado=True)
    if simulado or prueba.rechazados or prueba.siguiente_linea:
        return prueba if simulado else _anular(prueba)
    with transaction.atomic():
        hecho = pasada.hacer(origen, simulado=False)
        if hecho.rechazados or hecho.siguiente_linea:
            transaction.set_rollback(True)
            return _anular(hecho)
    return hecho


def _anular(hecho: Importacion) -> Importacion:
    hecho.creados, hecho.proveedores_creados, hecho.anulada = 0, [], True
    return hecho


@dataclass(frozen=True)
class _Pasada:
    """One reading of the file, from the beginning to the end."""

    por_lote: int
    puede_anadir: bool
    muestra: int
    parar: Callable[[], bool]
    progreso: Callable[[int], None]

    def hacer(self, origen: Path | BinaryIO, *, simulado: bool) -> Importacion:
        hecho = Importacion()
        try:
            self._leer(origen, hecho, simulado=simulado)
        except hoja.LecturaParada:
            hecho.siguiente_linea = 2  # the first names the columns
        for told in (hecho.rechazados, hecho.avisados):
            told.sort(key=lambda r: r["linea"])
        hecho.proveedores_creados.sort()
        return hecho

    def _leer(self, origen: Path | BinaryIO, hecho: Importacion, *, simulado: bool) -> None:
        with hoja.abrir(origen, parar=self.parar) as fichero:
            filas = hoja.leer(fichero, obligatorias=OBLIGATORIAS, optativas=OPTATIVAS)
            renglones = _renglones(self._hasta_parar(filas, hecho), hecho)
            while lote := list(islice(renglones, self.por_lote)):
                if self.parar():
                    hecho.siguiente_linea = lote[0].linea
                    break
                with transaction.atomic():
                    self._guardar(lote, hecho, simulado=simulado)
                self.progreso(lote[-1].linea)

    def _hasta_parar(self, filas: Iterator[Fila], hecho: Importacion) -> Iterator[Fila]:
        """Lines that are all bad make no batch: it is asked among them too."""
        for cuantas, fila in enumerate(filas, 1):
            if cuantas % LINEAS_ENTRE_PREGUNTAS == 0 and self.parar():
                hecho.siguiente_linea = fila.linea
                return
            yield fila

    def _guardar(self, lote: list[Renglon], hecho: Importacion, *, simulado: bool) -> None:
        """One batch, in a transaction."""
        lote = list(_con_su_codigo(lote, hecho))
        codigos = {r.proveedor_id for r in lote}
        proveedores = servicios.sujetar(codigos) if not simulado else _leidos(codigos)
        lote = _redirigidos(lote, proveedores, hecho)
        guardados, retirados = _guardados(lote), _retirados(lote)
        nuevos: dict[tuple[str, str], Renglon] = {}
        desconocidos: set[str] = set()
        for renglon in lote:
            anterior = guardados.get(renglon.lugar)
            if anterior is not None:
                if _contenido(anterior) == _contenido(renglon.documento):
                    hecho.sin_cambios += 1
                    desconocidos |= {renglon.proveedor_id} - proveedores.keys()
                else:
                    hecho.rechazar(renglon.linea, _ya_hay_otro())
                continue
            motivo = self._motivo_de_no_anadir(renglon, proveedores)
            if renglon.lugar in retirados:
                motivo = _("Este aviso se retiró. Si hace falta otra vez, repóngalo en «Avisos retirados».")
            if motivo:
                hecho.rechazar(renglon.linea, motivo)
                continue
            desconocidos |= {renglon.proveedor_id} - proveedores.keys()
            nuevos[renglon.lugar] = renglon
            guardados[renglon.lugar] = renglon.documento
        self._anadir_proveedores(desconocidos - set(hecho.proveedores_creados), hecho, simulado=simulado)
        if nuevos and not simulado:
            _poner(nuevos, hecho)
        hecho.creados += len(nuevos)
        hecho.muestra += islice(nuevos.values(), self.muestra - len(hecho.muestra))

    def _motivo_de_no_anadir(self, renglon: Renglon, proveedores: dict[str, Proveedor]) -> str | None:
        proveedor = proveedores.get(renglon.proveedor_id)
        if proveedor is None:
            return (
                None
                if self.puede_anadir
                else _("El proveedor no está en la lista, y usted no puede añadir proveedores.")
            )
        return None if proveedor.activo else _("El proveedor está inactivo y no admite avisos nuevos.")

    def _anadir_proveedores(self, codigos: set[str], hecho: Importacion, *, simulado: bool) -> None:
        if not self.puede_anadir:
            return
        if not simulado:
            Proveedor.objects.bulk_create(
                [Proveedor(codigo=c, nombre=c) for c in sorted(codigos)], ignore_conflicts=True
            )
        hecho.proveedores_creados += codigos


def _poner(nuevos: dict[tuple[str, str], Renglon], hecho: Importacion) -> None:
    """Write them. What the database refuses (just erased, or restricted) leaves ``nuevos`` and is told."""
    try:
        with transaction.atomic(), almacen_de_la_transaccion() as almacen:
            almacen.batch([_op(r) for r in nuevos.values()])
        return
    except PoliticaIncumplida:
        pass  # one of them: which, they say one by one
    for lugar, renglon in list(nuevos.items()):
        try:
            with transaction.atomic(), almacen_de_la_transaccion() as almacen:
                almacen.batch([_op(renglon)])
        except PoliticaIncumplida as error:
            hecho.rechazar(renglon.linea, frase_de(error))
            del nuevos[lugar]


def _op(renglon: Renglon) -> PutOp:
    return PutOp(
        politica.espacio("proveedores", renglon.proveedor_id),
        renglon.clave,
        renglon.documento,
        ttl=politica.ESPACIOS["proveedores"].vida_minutos,
    )


def _ya_hay_otro() -> str:
    return _(
        "Ya hay un aviso de este proveedor con el mismo aviso_id y otro contenido: corríjalo en su pantalla."
    )


# -- the lines ---------------------------------------------------------------------------------------


def _renglones(filas: Iterator[Fila], hecho: Importacion) -> Iterator[Renglon]:
    """The good lines; the bad ones are noted in ``hecho``."""
    for fila in filas:
        if fila.campos is None:
            hecho.rechazar(fila.linea, _con_su_final(fila, fila.motivo))
            continue
        try:
            renglon = _renglon(fila.linea, fila.campos)
        except AvisoNoValido as error:
            hecho.rechazar(fila.linea, _con_su_final(fila, str(error)))
            continue
        for aviso in _dudas(fila):
            hecho.avisar(fila.linea, aviso)
        if identificadores := _identificadores(renglon.documento):
            hecho.avisar(
                fila.linea,
                _("Lleva datos de una persona: %(cuales)s. Déjelos solo si hacen falta.")
                % {"cuales": ", ".join(identificadores)},
            )
        yield renglon


def _con_su_final(fila: Fila, motivo: str) -> str:
    """A line whose quotes took others with it says which."""
    if fila.hasta <= fila.linea:
        return motivo
    return _("%(motivo)s Sus comillas se abren aquí y se cierran en la línea %(hasta)s.") % {
        "motivo": motivo,
        "hasta": fila.hasta,
    }


def _dudas(fila: Fila) -> Iterator[str]:
    if fila.sospechosa:
        yield _(
            "Sus comillas se cierran en la línea %(hasta)s, y dentro parece haber otras líneas del fichero: "
            "compruebe que no falta cerrarlas antes."
        ) % {"hasta": fila.hasta}
    if fila.campos and any(_MAL_COPIADO.search(v) for v in fila.campos.values()):
        yield _("Tiene letras mal copiadas, como «Ã±» por «ñ»: compruebe cómo se guardó el fichero.")


def _identificadores(documento: dict[str, Any]) -> list[str]:
    """Which kinds of personal identifier it holds, by name; never the identifiers."""
    clases = {h.clase for campo in ("texto", "asunto") for h in hallar(documento.get(campo, ""))}
    return sorted(str(NOMBRES[c]) for c in clases)


def _renglon(linea: int, fila: dict[str, str]) -> Renglon:
    if not fila["proveedor_id"]:
        raise AvisoNoValido(_("Falta el proveedor."))
    try:
        validar_codigo(fila["proveedor_id"])
    except ValidationError as error:
        raise AvisoNoValido(hoja.en_la_columna("proveedor_id", error.messages[0])) from error
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
        # All the rest has been looked at: it is the key.
        raise AvisoNoValido(
            _("El aviso_id tiene como mucho %(maximo)s caracteres, y ninguno invisible.")
            % {"maximo": politica.LARGO_MAXIMO_CLAVE}
        ) from error
    return Renglon(linea, fila["proveedor_id"], clave, documento)


def _fecha(texto: str, columna: str) -> date:
    for formato in hoja.FORMATOS_DE_FECHA:
        with suppress(ValueError):
            return date(*strptime(texto, formato)[:3])
    raise AvisoNoValido(
        _("La columna %(columna)s no es una fecha que exista, como 31/12/2026 o 2026-12-31.")
        % {"columna": columna}
    )


def _clave(proveedor_id: str, documento: dict[str, Any]) -> str:
    """The same line always gets the same key, so that importing it twice writes it once."""
    que_es = "\x1f".join((proveedor_id, documento["fecha"], documento["texto"]))
    return f"csv-{hashlib.sha256(que_es.encode()).hexdigest()[:32]}"


# -- what is there -----------------------------------------------------------------------------------


def _leidos(codigos: set[str]) -> dict[str, Proveedor]:
    proveedores = list(Proveedor.objects.select_related("fusionado_en").filter(codigo__in=codigos))
    return {p.codigo: p for p in [*(d for d in (p.fusionado_en for p in proveedores) if d), *proveedores]}


def _con_su_codigo(lote: list[Renglon], hecho: Importacion) -> Iterator[Renglon]:
    """The lines by the code of their supplier in the list: as in the forms, capitals make no other."""
    codigos = Proveedor.objects.de_codigos({r.proveedor_id for r in lote})
    nuevos = {c.lower(): c for c in hecho.proveedores_creados}
    for renglon in lote:
        escrito = renglon.proveedor_id
        codigo = codigos.get(escrito, nuevos.setdefault(escrito.lower(), escrito))
        if codigo is None:
            hecho.rechazar(renglon.linea, varios_codigos())
        elif codigo == escrito:
            yield renglon
        else:
            suya = renglon.clave == _clave(escrito, renglon.documento)
            clave = _clave(codigo, renglon.documento) if suya else renglon.clave
            yield renglon._replace(proveedor_id=codigo, clave=clave)


def _redirigidos(lote: list[Renglon], proveedores: dict[str, Proveedor], hecho: Importacion) -> list[Renglon]:
    """A line of a merged code is one of the supplier it was merged into, by the key its notice has there."""
    destinos = {c: p.fusionado_en.codigo for c, p in proveedores.items() if p.fusionado_en}
    suyos = [r for r in lote if r.proveedor_id in destinos]
    otras = {r.linea: servicios.clave_tras_fusion(r.proveedor_id, r.clave) for r in suyos}
    renombrados = set(
        Documento.objects.filter(
            prefix__in={politica.prefijo("proveedores", destinos[r.proveedor_id]) for r in suyos},
            key__in=otras.values(),
        ).values_list("prefix", "key")
        if suyos
        else ()
    )
    for renglon in suyos:
        hecho.avisar(
            renglon.linea,
            _("El código de proveedor se unió al %(codigo)s: el aviso es de ese.")
            % {"codigo": destinos[renglon.proveedor_id]},
        )

    def redirigido(renglon: Renglon) -> Renglon:
        destino, otra = destinos[renglon.proveedor_id], otras[renglon.linea]
        nuevo = renglon._replace(proveedor_id=destino)
        return (
            nuevo._replace(clave=otra)
            if (politica.prefijo("proveedores", destino), otra) in renombrados
            else nuevo
        )

    return [redirigido(r) if r.proveedor_id in destinos else r for r in lote]


def _guardados(lote: list[Renglon]) -> dict[tuple[str, str], dict[str, Any]]:
    """What the memory already holds in the places of this batch."""
    prefijos, claves = {r.lugar[0] for r in lote}, {r.clave for r in lote}
    filas = Documento.objects.filter(prefix__in=prefijos, key__in=claves)
    return {(f.prefix, f.key): f.value for f in filas}


def _retirados(lote: list[Renglon]) -> set[tuple[str, str]]:
    """The places whose notice somebody withdrew lately: a file from before does not bring it back."""
    filas = Retirada.objects.reponibles().filter(
        proveedor__codigo__in={r.proveedor_id for r in lote}, clave__in={r.clave for r in lote}
    )
    return {
        (politica.prefijo("proveedores", codigo), clave)
        for codigo, clave in filas.values_list("proveedor__codigo", "clave")
    }


def _contenido(documento: Any) -> dict[str, Any]:
    """A notice without who wrote it."""
    if not isinstance(documento, dict):
        return {}  # something else broke it: it is not what any line says
    return {"importancia": str(Importancia.NORMAL)} | {
        c: v for c, v in documento.items() if c not in ("autor", "origen")
    }
