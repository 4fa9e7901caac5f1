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
from markdown_it.token import Token

from memoria.documentos.rutas import es_ruta

ETIQUETAS = frozenset(
    {"p", "br", "hr", "h2", "h3", "h4", "h5", "h6", "strong", "em", "s", "code", "pre", "blockquote"}
    | {"ul", "ol", "li", "a", "table", "thead", "tbody", "tr", "th", "td"}
)
ESQUEMAS = frozenset({"http", "https", "mailto"})

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
    analizador.add_render_rule("image", _imagen)
    return analizador


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
