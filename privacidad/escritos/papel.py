"""An A4 sheet in black and white: headings, paragraphs, name and value, tables, "página 1 de 2".

Only the core fonts every reader has: nothing is embedded, so a page is small and the same bytes come out
every time. They know the characters of Windows-1252; any other is printed as its code, ``[U+4E2D]``, and the
sheet says so at the end.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from datetime import datetime

from django.conf import settings
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from fpdf import FPDF
from fpdf.enums import XPos, YPos
from fpdf.fonts import FontFace

_CODIFICACION = "windows-1252"
_CUERPO = 10
_NEGRO = 0


class Papel(FPDF):
    """One document, in the language in force. ``momento`` and ``identidad`` (32 hexadecimal digits) make its
    bytes repeatable. ``apaisado``: with the long side down, for a wide table."""

    def __init__(
        self,
        *,
        titulo: str,
        numero: str,
        responsable: str,
        momento: datetime,
        identidad: str,
        apaisado: bool = False,
    ) -> None:
        super().__init__(orientation="landscape" if apaisado else "portrait", format="A4")
        self.core_fonts_encoding = _CODIFICACION
        self._cabecera = imprimible(responsable)
        self._numero = imprimible(numero)
        self._identidad = identidad[:32].upper()
        self._sustituidos = False
        # No mark for "how many pages": it would be replaced in a person's own words too, and it takes up more
        # room than the number that replaces it.
        self.alias_nb_pages("")
        self.set_margins(20, 20, 20)
        self.set_auto_page_break(True, margin=22)
        self.set_lang(get_language() or settings.LANGUAGE_CODE)
        self.set_title(f"{titulo} {self._numero}")
        self.set_author(self._cabecera)
        self.set_producer("Memoria")
        self.set_creation_date(momento)
        self.set_text_color(_NEGRO)
        self.add_page()
        self._linea(titulo, "B", 17, 8)
        self.ln(2)

    def header(self) -> None:
        if not self._cabecera:
            return
        self._linea(self._cabecera, "", 9, 4.5)
        self._raya(1.5)
        self.ln(5)

    def file_id(self) -> str:
        return f"<{self._identidad}><{self._identidad}>"

    def apartado(self, texto: str) -> None:
        """A heading; it never stays alone at the foot of a page."""
        if self.will_page_break(24):
            self.add_page()
        self.ln(3)
        self._linea(texto, "B", 11.5, 6)
        self.ln(1)

    def parrafo(self, texto: str, *, negrita: bool = False) -> None:
        self._linea(texto, "B" if negrita else "", _CUERPO, 5)
        self.ln(1.5)

    def fijo(self, texto: str) -> None:
        """A text to be copied character by character, such as a digest."""
        self.set_font("Courier", size=9.5)
        self._celda(texto, 5)
        self.ln(1.5)

    def ficha(self, pares: Sequence[tuple[str, str]]) -> None:
        """Names and values, one pair a line, the values aligned."""
        self.set_font("Helvetica", size=_CUERPO)
        with self.table(
            col_widths=(50, 120),
            borders_layout="NONE",
            first_row_as_headings=False,
            line_height=5,
            padding=(0.4, 0),
            text_align="LEFT",
            v_align="TOP",
        ) as tabla:
            for nombre, valor in pares:
                fila = tabla.row()
                fila.cell(self._texto(nombre), style=FontFace(emphasis="B"))
                fila.cell(self._texto(valor))
        self.ln(1.5)

    def tabla(
        self,
        cabecera: Sequence[str],
        filas: Sequence[Sequence[str]],
        anchos: Sequence[float],
        numeros: int = 0,
    ) -> None:
        """A table ruled in black, its heading on each page. The last ``numeros`` columns are numbers."""
        self.set_font("Helvetica", size=9)
        alineadas = ["LEFT"] * (len(cabecera) - numeros) + ["RIGHT"] * numeros
        with self.table(
            col_widths=tuple(anchos),
            headings_style=FontFace(emphasis="B"),
            line_height=4.6,
            padding=1,
            text_align=tuple(alineadas),
            v_align="TOP",
        ) as tabla:
            for fila in (cabecera, *filas):
                celdas = tabla.row()
                for celda in fila:
                    celdas.cell(self._texto(celda))
        self.ln(2.5)

    def bytes(self) -> bytes:
        """The finished document."""
        if self._sustituidos:
            self._linea(
                _("Los caracteres que no se pueden imprimir figuran por su código: [U+…]."),
                "",
                8,
                4,
            )
        self._paginar()
        return bytes(self.output())

    def _paginar(self) -> None:
        """The foot of each page, once it is known how many there are."""
        self.set_auto_page_break(False)
        total = self.pages_count
        for numero in range(1, total + 1):
            self.page = numero
            # Which font is in force is a state of each page, and a font that is already set is not set again.
            self.set_font("Courier", size=8)
            self.set_font("Helvetica", size=8)
            self.set_y(-17)
            self._raya(0)
            self.cell(85, 6, self._numero)
            pagina = _("página %(numero)s de %(total)s") % {"numero": numero, "total": total}
            self.cell(0, 6, imprimible(pagina), align="R")

    def _texto(self, texto: str) -> str:
        limpio = imprimible(texto)
        # Not compared with the text itself: normalising and tabs change it and replace nothing.
        self._sustituidos = self._sustituidos or any(not _cabe(c) for c in _normal(texto))
        return limpio

    def _linea(self, texto: str, estilo: str, tamano: float, alto: float) -> None:
        self.set_font("Helvetica", estilo, tamano)
        self._celda(texto, alto)

    def _celda(self, texto: str, alto: float) -> None:
        self.multi_cell(0, alto, self._texto(texto), align="L", new_x=XPos.LMARGIN, new_y=YPos.NEXT)

    def _raya(self, margen: float) -> None:
        self.set_draw_color(_NEGRO)
        self.line(self.l_margin, self.get_y() + margen, self.w - self.r_margin, self.get_y() + margen)


def imprimible(texto: str) -> str:
    """The text with every character the fonts lack as ``[U+20AC]``: seen, and never an error."""
    return "".join(c if _cabe(c) else f"[U+{ord(c):04X}]" for c in _normal(texto))


def _normal(texto: str) -> str:
    return unicodedata.normalize("NFC", texto).replace("\r\n", "\n").replace("\r", "\n").replace("\t", "    ")


def _cabe(caracter: str) -> bool:
    if caracter == "\n":
        return True
    # A soft hyphen would be taken for a place to break a word, and vanish.
    if not caracter.isprintable() and caracter != "\u00a0":
        return False
    try:
        caracter.encode(_CODIFICACION)
    except UnicodeEncodeError:
        return False
    return True
