"""The path of a document: relative, in one normal form, and the same on every file system.

``compras/portes.md``: folders separated by ``/``, a name that ends in ``.md``. What a path may not be is
refused with a reason; nothing is silently corrected, or two names would be one document.
"""

from __future__ import annotations

import re
import unicodedata

from django.utils.translation import gettext as _

#: In bytes of UTF-8: a file system keeps names of up to 255, and the temporary name is a little longer.
LARGO_MAXIMO_SEGMENTO = 200
LARGO_MAXIMO_RUTA = 400
#: Control characters, line and paragraph separators, and what no file name of Windows may hold.
_PROHIBIDOS = re.compile(r'[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\\:*?"<>|]')
_RESERVADOS = re.compile(r"(?i)(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?")


class RutaNoValida(ValueError):
    """That is no path of a document. The message says why and does not repeat it."""


def comprobar_ruta(ruta: str) -> str:
    """``ruta``, if it is the path of a document. Raises :class:`RutaNoValida`."""
    if not ruta:
        raise RutaNoValida(_("La ruta está vacía: escriba una como «portes.md»."))
    if _PROHIBIDOS.search(ruta):
        raise RutaNoValida(
            _(
                "La ruta tiene caracteres que un nombre de fichero no admite en todas partes (saltos de "
                'línea, invisibles, o uno de \\ : * ? " < > |).'
            )
        )
    if len(ruta.encode()) > LARGO_MAXIMO_RUTA:
        raise RutaNoValida(_("La ruta es demasiado larga: use nombres más cortos."))
    if unicodedata.normalize("NFC", ruta) != ruta:
        raise RutaNoValida(_("La ruta tiene acentos separados de su letra: vuelva a escribirla."))
    if not ruta.isprintable():
        raise RutaNoValida(_("La ruta tiene caracteres invisibles: vuelva a escribir el nombre."))
    *carpetas, nombre = ruta.split("/")
    for segmento in (*carpetas, nombre):
        _comprobar_segmento(segmento)
    if not nombre.endswith(".md") or nombre == ".md":
        raise RutaNoValida(_("El nombre de un documento termina en «.md»."))
    if any(c.lower().endswith(".md") for c in carpetas):
        raise RutaNoValida(_("Una carpeta no termina en «.md»: se confundiría con un documento."))
    return ruta


def es_ruta(ruta: str) -> bool:
    """Whether :func:`comprobar_ruta` takes it."""
    try:
        comprobar_ruta(ruta)
    except RutaNoValida:
        return False
    return True


def legible(nombre: str) -> str:
    """A file name as it can be told to a person, whatever is in it: one line, no invisible characters."""
    return "".join(_visible(c) for c in nombre)


def _visible(caracter: str) -> str:
    codigo = ord(caracter)
    if 0xDC80 <= codigo <= 0xDCFF:  # a byte that is not UTF-8, as Python keeps it in a name
        return f"\\x{codigo - 0xDC00:02x}"
    if unicodedata.category(caracter) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return caracter.encode("unicode_escape", "surrogatepass").decode()
    return caracter


def _comprobar_segmento(segmento: str) -> None:
    if not segmento:
        raise RutaNoValida(_("La ruta no empieza ni termina en «/» ni tiene dos seguidas."))
    if segmento.startswith("."):
        raise RutaNoValida(_("Ninguna parte de la ruta empieza por un punto."))
    if segmento != segmento.strip() or segmento.endswith("."):
        raise RutaNoValida(_("Ninguna parte de la ruta empieza ni termina en espacio, ni termina en punto."))
    if len(segmento.encode()) > LARGO_MAXIMO_SEGMENTO:
        raise RutaNoValida(_("Una parte de la ruta es demasiado larga: use nombres más cortos."))
    if _RESERVADOS.fullmatch(segmento):
        raise RutaNoValida(_("Una parte de la ruta es un nombre que Windows se reserva: elija otro."))
