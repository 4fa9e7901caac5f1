"""Markdown of a document to HTML that can be shown.

Two barriers, each enough by itself: the parser writes no raw HTML and refuses dangerous addresses, and what
it wrote goes through a list of the only tags, attributes and schemes allowed. Images are told and not shown:
one from elsewhere would tell its server who reads what.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

import nh3
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block import table as tabla
from markdown_it.token import Token

from memoria.documentos.rutas import es_ruta

ETIQUETAS = frozenset(
    {"p", "br", "hr", "h2", "h3", "h4", "h5", "h6", "strong", "em", "s", "code", "pre", "blockquote"}
    | {"ul", "ol", "li", "a", "table", "thead", "tbody", "tr", "th", "td"}
)
ESQUEMAS = frozenset({"http", "https", "mailto"})
#: Of all the tables of a document. Each row is filled up to the columns of its heading, so a few bytes may be
#: a great many cells, and each costs whoever reads some 30 µs and 10 bytes.
CELDAS_MAXIMAS = 10_000

#: From paths of documents to the addresses of those that exist.
Enlazar = Callable[[set[str]], Mapping[str, str]]


def a_html(texto: str, *, desde: str = "", enlazar: Enlazar = lambda _rutas: {}) -> SafeString:
    """The document as safe HTML. A link to another one, relative to ``desde``, leads to its page.

    ``enlazar`` is asked once, for all the paths that the document links to.
    """
    analizador = _analizador()
    fichas = analizador.parse(texto)
    _bajar_titulos(fichas)
    _arreglar_enlaces([hija for ficha in fichas for hija in ficha.children or []], desde, enlazar)
    html = nh3.clean(
        analizador.renderer.render(fichas, analizador.options, {}),
        tags=set(ETIQUETAS),
        attributes={"a": {"href", "title"}, "ol": {"start"}},
        url_schemes=set(ESQUEMAS),
        link_rel="noopener noreferrer nofollow",
        strip_comments=True,
    )
    return mark_safe(html)  # noqa: S308 - it has just been through nh3


def _analizador() -> MarkdownIt:
    analizador = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    analizador.block.ruler.at("table", _tabla_con_tope, {"alt": ["paragraph", "reference"]})
    analizador.add_render_rule("image", _imagen)
    return analizador


def _tabla_con_tope(estado: StateBlock, primera: int, fin: int, en_silencio: bool) -> bool:
    """A table or, past ``CELDAS_MAXIMAS``, its lines as they were written: nothing of it is left unsaid."""
    if not tabla(estado, primera, fin, True):
        return False
    if en_silencio:
        return True
    ultima = primera
    while ultima < fin and not estado.isEmpty(ultima) and estado.sCount[ultima] >= estado.blkIndent:
        ultima += 1
    rayas = estado.src[estado.bMarks[primera + 1] + estado.tShift[primera + 1] : estado.eMarks[primera + 1]]
    celdas = (rayas.strip().strip("|").count("|") + 1) * (ultima - primera - 1)
    if estado.env.get("celdas", 0) + celdas <= CELDAS_MAXIMAS:
        estado.env["celdas"] = estado.env.get("celdas", 0) + celdas
        return tabla(estado, primera, fin, False)
    estado.line = ultima
    ficha = estado.push("code_block", "code", 0)
    ficha.content = estado.getLines(primera, ultima, estado.blkIndent, False)
    ficha.map = [primera, ultima]
    return True


def _imagen(self: RendererHTML, fichas: Sequence[Token], indice: int, opciones: Any, entorno: Any) -> str:
    return "<em>[" + escape(_("imagen: %(texto)s") % {"texto": fichas[indice].content or "…"}) + "]</em>"


def _bajar_titulos(fichas: Sequence[Token]) -> None:
    """Below the title of the page, its only h1, and with no level left out, whatever levels were written."""
    pila: list[int] = []
    for ficha in fichas:
        if ficha.type == "heading_open":
            nivel = int(ficha.tag[1])
            pila = [*(n for n in pila if n < nivel), nivel]
        if ficha.type in ("heading_open", "heading_close"):
            ficha.tag = f"h{min(6, len(pila) + 1)}"


def _arreglar_enlaces(fichas: Sequence[Token], desde: str, enlazar: Enlazar) -> None:
    """Of this site only other documents can be linked to: a relative address is not one of ours."""
    internos: list[tuple[Token, str | None]] = []
    for ficha in fichas:
        destino = str(ficha.attrs.get("href", ""))
        if ficha.type == "link_open" and not _ESQUEMA.match(destino):  # with one, the list of schemes decides
            internos.append((ficha, _resolver(desde, unquote(destino.partition("#")[0]))))
    direcciones = enlazar({ruta for _, ruta in internos if ruta}) if internos else {}
    for ficha, ruta in internos:
        if ruta and ruta in direcciones:
            ficha.attrs["href"] = direcciones[ruta]
        else:
            ficha.attrs.pop("href", None)


def _resolver(desde: str, destino: str) -> str | None:
    """``destino`` as a path of the space, seen from the document ``desde``; ``None`` when it is none."""
    partes = [] if destino.startswith("/") else desde.split("/")[:-1]
    for parte in destino.lstrip("/").split("/"):
        if parte == "..":
            if not partes:
                return None
            partes.pop()
        elif parte != ".":
            partes.append(parte)
    ruta = "/".join(partes)
    return ruta if es_ruta(ruta) else None


_ESQUEMA = re.compile(r"(?i)[a-z][a-z0-9+.-]*:")
