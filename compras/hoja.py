"""CSV as spreadsheets write and read it, both ways.

Reading takes UTF-8 with or without its mark and Windows-1252, fields apart by ``;``, ``,`` or a tab, quoted
line breaks, and columns in any order. The file is read twice, in constant memory: once to know its encoding,
once to take its lines. Writing gives what a Spanish Excel opens with a double click: UTF-8 with its mark, and
``;``.

A cell that begins with ``=``, ``+``, ``-``, ``@``, a tab or a return is a formula to a spreadsheet, and what
is in a notice was typed by somebody. It is written with an apostrophe before it, which reading takes away
(https://owasp.org/www-community/attacks/CSV_Injection).
"""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
import stat
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TextIO

from django.utils.translation import gettext as _

#: Longest field read, in characters: far beyond any notice, so that one too long is told and not feared.
LARGO_MAXIMO_LEIDO = 4 * 1024 * 1024
# Of the whole process, so it is set once: to put it back after each file would be a race between two threads.
csv.field_size_limit(LARGO_MAXIMO_LEIDO)
#: Lines of a text between quotes. One that has more is one whose quotes nobody closed.
LINEAS_POR_REGISTRO = 500
_TROZO = 64 * 1024
_SEPARADORES = (";", ",", "\t")
#: Also the wide signs, which some spreadsheets take for the others. One apostrophe more before those it has:
#: so reading gives back exactly what was written, also of a text that began with "'=".
_PELIGROSA = re.compile("'*[=+\\-@\t\r\n＝＋－＠]")
#: How a day is written, in files and in forms: as machines do, and as Spanish spreadsheets do.
FORMATOS_DE_FECHA = ("%Y-%m-%d", "%d/%m/%Y")
_FECHA = re.compile(r"\d{4}-\d\d?-\d\d?|\d\d?/\d\d?/\d{4}")
# A byte that is not UTF-8; and the letters, quotes and signs (and the mark of UTF-8) whose bytes nobody would
# write together in Windows-1252: "Ã±", "Â¿", "â‚¬". Others may be: «SÍ» ends in two that are a Greek sign.
_MALA = re.compile("[\udc80-\udcff]")
_BUENA = re.compile("[\u0080-\u00ff\u2000-\u2fff\ufeff]")


class FicheroNoValido(Exception):
    """The file cannot be read. The message says why and what to do."""


class Fila(NamedTuple):
    """A line of the file by the names of its columns; or, without ``campos``, why it cannot be read."""

    linea: int
    campos: dict[str, str] | None
    motivo: str = ""
    #: The last line it takes.
    hasta: int = 0
    #: It can be read, and yet what is between its quotes looks like lines of the file.
    sospechosa: bool = False


class LecturaParada(Exception):
    """Whoever reads was asked to stop before there was a line to read."""


def _nunca() -> bool:
    return False


@contextmanager
def abrir(origen: Path | BinaryIO, *, parar: Callable[[], bool] = _nunca) -> Iterator[TextIO]:
    """The text of a file, or of what was uploaded.

    ``parar`` is asked while the encoding is looked for. Raises :class:`FicheroNoValido` and
    :class:`LecturaParada`.
    """
    if not isinstance(origen, Path):
        envuelto = io.TextIOWrapper(origen, encoding=_codificacion(origen, parar), newline="")
        try:
            yield envuelto
        finally:
            envuelto.detach()  # or it would close what is not ours
        return
    try:
        # Not blocking: to open a pipe nobody writes to would wait for ever.
        abierto = os.open(origen, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise FicheroNoValido(_("No existe el fichero %(ruta)s.") % {"ruta": origen}) from None
    except OSError:
        raise _ilegible(origen) from None
    if not stat.S_ISREG(os.fstat(abierto).st_mode):
        os.close(abierto)
        raise _ilegible(origen)  # a device may have no end
    with open(abierto, "rb") as binario:
        yield io.TextIOWrapper(binario, encoding=_codificacion(binario, parar), newline="")


def leer(fichero: TextIO, *, obligatorias: Sequence[str], optativas: Sequence[str] = ()) -> Iterator[Fila]:
    """The lines after the first, which names the columns; empty ones are left out. Other columns are ignored.

    Quotes that are opened and not closed well cost the line where they are opened and no other: reading goes
    on at the next. Raises :class:`FicheroNoValido`.
    """
    lineas = _lineas(fichero)
    columnas, separador = _cabecera(next(lineas, ""), obligatorias, optativas)
    for desde, renglones, valores in _registros(lineas, separador):
        hasta = desde + len(renglones) - 1
        if valores is None:
            yield Fila(desde, None, _mal_puestas(desde, hasta), desde)
        elif any(v.strip() for v in valores):
            yield _fila(desde, hasta, columnas, valores, _parecen_filas(renglones, columnas, separador))


def escribir(filas: Iterable[Sequence[str]]) -> str:
    """Those lines as CSV text, every cell inert."""
    texto = io.StringIO()
    csv.writer(texto, delimiter=";").writerows([inerte(celda) for celda in fila] for fila in filas)
    return texto.getvalue()


def en_la_columna(columna: str, motivo: str) -> str:
    """A reason that does not say by itself which column it is about."""
    return _("Columna %(columna)s. %(motivo)s") % {"columna": columna, "motivo": motivo}


def inerte(celda: str) -> str:
    """What no spreadsheet takes for a formula."""
    return f"'{celda}" if _PELIGROSA.match(celda) else celda


def viva(celda: str) -> str:
    """The inverse of :func:`inerte`."""
    return celda[1:] if celda.startswith("'") and _PELIGROSA.match(celda) else celda


# -- reading -----------------------------------------------------------------------------------------


def _ilegible(ruta: Path) -> FicheroNoValido:
    return FicheroNoValido(
        _("No se puede leer %(ruta)s: compruebe que es un fichero y sus permisos.") % {"ruta": ruta}
    )


def _codificacion(binario: BinaryIO, parar: Callable[[], bool]) -> str:
    """UTF-8, with or without its mark, when all of it is; else what Windows writes in Spanish.

    A file of both is neither: whichever were chosen, some of its letters would be stored as others.
    """
    binario.seek(0)
    _no_utf16(binario.read(_TROZO))
    vista = _Vista()
    for trozo in _trozos(binario, parar):
        vista.mirar(trozo)
    vista.mirar(b"", final=True)
    if vista.malas:
        if vista.buenas:
            raise FicheroNoValido(vista.frase())
        try:
            decodificador = codecs.getincrementaldecoder("cp1252")()
            for trozo in _trozos(binario, parar):
                decodificador.decode(trozo)
        except UnicodeDecodeError:
            raise FicheroNoValido(
                _("El fichero no es texto en UTF-8 ni en Windows-1252: guárdelo como CSV UTF-8.")
            ) from None
    binario.seek(0)
    return "cp1252" if vista.malas else "utf-8-sig"


def _trozos(binario: BinaryIO, parar: Callable[[], bool]) -> Iterator[bytes]:
    binario.seek(0)
    while trozo := binario.read(_TROZO):
        if parar():
            raise LecturaParada
        yield trozo


def _no_utf16(principio: bytes) -> None:
    """By its mark or, without one, because every other byte of what is mostly letters is zero."""
    par = len(principio) // 2
    ceros = abs(principio[0::2].count(0) - principio[1::2].count(0))
    if principio.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or (par > 20 and ceros > 0.8 * par):
        raise FicheroNoValido(
            _("El fichero está en UTF-16 («texto Unicode»): guárdelo como CSV UTF-8 y vuelva a elegirlo.")
        )


class _Vista:
    """What a file looks like as UTF-8: the bytes that are not, and the Spanish letters that are."""

    def __init__(self) -> None:
        self.malas = self.buenas = 0
        self._primera_mala = self._primera_buena = 0
        self._linea, self._tras_cr = 1, False
        self._decodificador = codecs.getincrementaldecoder("utf-8")("surrogateescape")

    def mirar(self, trozo: bytes, *, final: bool = False) -> None:
        texto = self._decodificador.decode(trozo, final=final)
        malas, buenas = _MALA.findall(texto), _BUENA.findall(texto)
        if malas and not self.malas:
            self._primera_mala = self._linea_de(texto, _MALA)
        if buenas and not self.buenas:
            self._primera_buena = self._linea_de(texto, _BUENA)
        self.malas += len(malas)
        self.buenas += len(buenas)
        self._linea += self._saltos(texto)
        self._tras_cr = texto.endswith("\r") if texto else self._tras_cr

    def frase(self) -> str:
        if self.buenas >= self.malas:
            return _(
                "El fichero está en UTF-8, pero la línea %(linea)s tiene letras que no lo están: escríbalas "
                "de nuevo y guárdelo como CSV UTF-8."
            ) % {"linea": self._primera_mala}
        return _(
            "El fichero está en Windows-1252, pero la línea %(linea)s tiene letras en UTF-8: escríbalas de "
            "nuevo y guárdelo como CSV UTF-8."
        ) % {"linea": self._primera_buena}

    def _linea_de(self, texto: str, que: re.Pattern[str]) -> int:
        hallada = que.search(texto)
        return self._linea + (self._saltos(texto[: hallada.start()]) if hallada else 0)

    def _saltos(self, texto: str) -> int:
        partido = self._tras_cr and texto.startswith("\n")  # between two pieces
        return texto.count("\n") + texto.count("\r") - texto.count("\r\n") - partido


def _cabecera(linea: str, obligatorias: Sequence[str], optativas: Sequence[str]) -> tuple[list[str], str]:
    """The names of the columns, and the separator that makes most sense of them."""
    posibles = []
    for separador in _SEPARADORES:
        try:
            columnas = [c.strip().casefold() for c in next(csv.reader([linea], delimiter=separador), [])]
        except csv.Error:
            raise FicheroNoValido(
                _("En la primera línea hay un nombre de columna larguísimo: no es un CSV.")
            ) from None
        posibles.append((columnas, separador))
    columnas, separador = max(posibles, key=lambda p: len(set(obligatorias) & set(p[0])))
    faltan = [c for c in obligatorias if c not in columnas]
    if faltan:
        raise FicheroNoValido(
            _(
                "En la primera línea faltan columnas: %(faltan)s. El fichero debe ser un CSV separado por "
                "«;», por «,» o por tabuladores cuya primera línea dé los nombres de las columnas."
            )
            % {"faltan": ", ".join(faltan)}
        )
    repetidas = [c for c in (*obligatorias, *optativas) if columnas.count(c) > 1]
    if repetidas:
        raise FicheroNoValido(
            _("En la primera línea hay columnas repetidas: %(cuales)s. Deje una de cada.")
            % {"cuales": ", ".join(repetidas)}
        )
    return columnas, separador


def _lineas(fichero: TextIO) -> Iterator[str]:
    """The lines of the file, never holding more of it than a field may be long."""
    while linea := fichero.readline(2 * LARGO_MAXIMO_LEIDO):
        if len(linea) == 2 * LARGO_MAXIMO_LEIDO:
            raise FicheroNoValido(
                _("Hay una línea de más de %(maximo)s millones de caracteres: no es un CSV.")
                % {"maximo": 2 * LARGO_MAXIMO_LEIDO // 1_000_000}
            )
        yield linea


def _registros(lineas: Iterator[str], separador: str) -> Iterator[tuple[int, list[str], list[str] | None]]:
    """Where each record begins, its lines, and its cells; without cells, they cannot be told.

    A record that cannot be read gives back every line but its first, to be read on their own. That also holds
    for one that goes on for too long, or to the end of the file.
    """
    devueltas: deque[str] = deque()
    numero = 2  # the first was read apart
    while True:
        tomadas: list[str] = []
        try:
            valores = next(csv.reader(_tomar(devueltas, lineas, tomadas), delimiter=separador, strict=True))
        except StopIteration:
            return
        except csv.Error:
            yield numero, tomadas, None
            devueltas.extendleft(reversed(tomadas[1:]))
            numero += 1
            continue
        yield numero, tomadas, valores
        numero += len(tomadas)


def _tomar(devueltas: deque[str], lineas: Iterator[str], tomadas: list[str]) -> Iterator[str]:
    """The lines of one record, as its reader asks for them, noted in ``tomadas``."""
    largo = 0
    while len(tomadas) < LINEAS_POR_REGISTRO and largo <= LARGO_MAXIMO_LEIDO:
        linea = devueltas.popleft() if devueltas else next(lineas, "")
        if not linea:
            return
        largo += len(linea)
        tomadas.append(linea)
        yield linea


def _mal_puestas(desde: int, hasta: int) -> str:
    if hasta == desde:
        return _("No se puede leer: las comillas no están bien puestas o hay un campo larguísimo.")
    return _(
        "Se abren unas comillas que no se cierran bien: se han buscado hasta la línea %(hasta)s. Las "
        "siguientes a esta se han leído una a una."
    ) % {"hasta": hasta}


def _parecen_filas(renglones: list[str], columnas: list[str], separador: str) -> bool:
    """Whether any line of a record but its first could be one of the file: as many cells, and a date."""
    return any(
        len(celdas := renglon.split(separador)) >= len(columnas)
        and any(_FECHA.fullmatch(c.strip().strip('"')) for c in celdas)
        for renglon in renglones[1:]
    )


def _fila(linea: int, hasta: int, columnas: list[str], valores: list[Any], sospechosa: bool) -> Fila:
    if len(valores) != len(columnas):
        return Fila(
            linea,
            None,
            _("Tiene %(hay)s columnas y la primera línea tiene %(debe)s.")
            % {"hay": len(valores), "debe": len(columnas)},
            hasta,
        )
    campos = {c: viva(v.strip()) for c, v in zip(columnas, valores, strict=True)}
    return Fila(linea, campos, hasta=hasta, sospechosa=sospechosa)
