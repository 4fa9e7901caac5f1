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
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TextIO

from django.utils.translation import gettext as _

#: Longest field read, in characters: far beyond any notice, so that one too long is told and not feared.
LARGO_MAXIMO_LEIDO = 4 * 1024 * 1024
_TROZO = 64 * 1024
_SEPARADORES = (";", ",", "\t")
#: Also the wide signs, which some spreadsheets take for the others. One apostrophe more before those it has:
#: so reading gives back exactly what was written, also of a text that began with "'=".
_PELIGROSA = re.compile("'*[=+\\-@\t\r\n＝＋－＠]")


class FicheroNoValido(Exception):
    """The file cannot be read. The message says why and what to do."""


class Fila(NamedTuple):
    """A line of the file by the names of its columns; or, without ``campos``, why it cannot be read."""

    linea: int
    campos: dict[str, str] | None
    motivo: str = ""


@contextmanager
def abrir(origen: Path | BinaryIO) -> Iterator[TextIO]:
    """The text of a file, or of what was uploaded. Raises :class:`FicheroNoValido`."""
    if not isinstance(origen, Path):
        envuelto = io.TextIOWrapper(origen, encoding=_codificacion(origen), newline="")
        try:
            yield envuelto
        finally:
            envuelto.detach()  # or it would close what is not ours
        return
    try:
        with origen.open("rb") as binario:
            yield io.TextIOWrapper(binario, encoding=_codificacion(binario), newline="")
    except FileNotFoundError:
        raise FicheroNoValido(_("No existe el fichero %(ruta)s.") % {"ruta": origen}) from None
    except (IsADirectoryError, PermissionError):
        raise FicheroNoValido(
            _("No se puede leer %(ruta)s: compruebe que es un fichero y sus permisos.") % {"ruta": origen}
        ) from None


def leer(fichero: TextIO, *, obligatorias: Sequence[str], optativas: Sequence[str] = ()) -> Iterator[Fila]:
    """The lines after the first, which names the columns; empty ones are left out. Other columns are ignored.

    Raises :class:`FicheroNoValido`.
    """
    with _limite_de_campo():
        lineas = _lineas(fichero)
        columnas, separador = _cabecera(next(lineas, ""), obligatorias, optativas)
        filas = csv.reader(lineas, delimiter=separador, strict=True)
        while True:
            linea = filas.line_num + 2  # the first was read apart
            try:
                valores = next(filas)
            except StopIteration:
                return
            except csv.Error:
                yield Fila(
                    linea,
                    None,
                    _("No se puede leer: las comillas no están bien puestas o hay un campo larguísimo."),
                )
                continue
            if any(v.strip() for v in valores):
                yield _fila(linea, columnas, valores)


def escribir(filas: Iterable[Sequence[str]]) -> str:
    """Those lines as CSV text, every cell inert."""
    texto = io.StringIO()
    csv.writer(texto, delimiter=";").writerows([inerte(celda) for celda in fila] for fila in filas)
    return texto.getvalue()


def inerte(celda: str) -> str:
    """What no spreadsheet takes for a formula."""
    return f"'{celda}" if _PELIGROSA.match(celda) else celda


def viva(celda: str) -> str:
    """The inverse of :func:`inerte`."""
    return celda[1:] if celda.startswith("'") and _PELIGROSA.match(celda) else celda


# -- reading -----------------------------------------------------------------------------------------


@contextmanager
def _limite_de_campo() -> Iterator[None]:
    antes = csv.field_size_limit(LARGO_MAXIMO_LEIDO)
    try:
        yield
    finally:
        csv.field_size_limit(antes)


def _codificacion(binario: BinaryIO) -> str:
    """UTF-8, with or without its mark, when all of it is; else what Windows writes in Spanish."""
    for codificacion in ("utf-8-sig", "cp1252"):
        decodificador = codecs.getincrementaldecoder(codificacion)()
        binario.seek(0)
        try:
            while trozo := binario.read(_TROZO):
                decodificador.decode(trozo)
            decodificador.decode(b"", final=True)
        except UnicodeDecodeError:
            continue
        binario.seek(0)
        return codificacion
    raise FicheroNoValido(_("El fichero no es texto en UTF-8 ni en Windows-1252: guárdelo como CSV UTF-8."))


def _cabecera(linea: str, obligatorias: Sequence[str], optativas: Sequence[str]) -> tuple[list[str], str]:
    """The names of the columns, and the separator that makes most sense of them."""
    posibles = []
    for separador in _SEPARADORES:
        columnas = [c.strip().casefold() for c in next(csv.reader([linea], delimiter=separador), [])]
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


def _fila(linea: int, columnas: list[str], valores: list[Any]) -> Fila:
    if len(valores) != len(columnas):
        return Fila(
            linea,
            None,
            _("Tiene %(hay)s columnas y la primera línea tiene %(debe)s.")
            % {"hay": len(valores), "debe": len(columnas)},
        )
    return Fila(linea, {c: viva(v.strip()) for c, v in zip(columnas, valores, strict=True)})
