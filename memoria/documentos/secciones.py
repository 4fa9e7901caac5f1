"""A document cut at its headings into the parts that are searched and quoted.

A part knows the headings it is under, so that "Plazos" is found as "Portes › Plazos".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

#: In characters: what a model embeds without losing the end, and a person reads at a glance.
LARGO_SECCION = 1500
#: A longer trail of headings says no more.
LARGO_ENCABEZADO = 300
SEPARADOR = " › "

_TITULO = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#*)?[ \t]*")
_VALLA = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")


class Trozo(NamedTuple):
    """One part of a document: the headings above it, and its text."""

    encabezado: str
    texto: str


def partir(titulo: str, texto: str) -> list[Trozo]:
    """The parts of a document, in order; one at least, so that a document of one title is found too."""
    trozos = []
    apartados = list(_por_titulos(texto))
    for n, (encabezados, cuerpo) in enumerate(apartados):
        # The first heading usually repeats the title.
        propios = encabezados[1:] if encabezados[:1] == [titulo] else encabezados
        rastro = SEPARADOR.join([titulo, *propios])
        if len(rastro) > LARGO_ENCABEZADO:
            # No word is lost: what does not fit above goes below.
            cuerpo = f"{SEPARADOR.join(encabezados)}\n\n{cuerpo}"
        partes = list(_por_parrafos(cuerpo))
        es_hoja = n + 1 == len(apartados) or len(apartados[n + 1][0]) <= len(encabezados)
        if not partes and encabezados and es_hoja:
            partes = [""]  # nothing below it; its own words are words of the document
        trozos += [Trozo(rastro[:LARGO_ENCABEZADO], parte) for parte in partes]
    return trozos or [Trozo(titulo[:LARGO_ENCABEZADO], "")]


def titulo_de(texto: str) -> str | None:
    """The first heading of a document, whatever its level; ``None`` when it has none."""
    for _, titulo in _lineas(texto):
        if titulo and titulo[1]:
            return titulo[1]
    return None


def _lineas(texto: str) -> Iterator[tuple[str, tuple[int, str] | None]]:
    """Each line, with its level and text when it is a heading. A ``#`` inside a code block is none."""
    valla = ""
    for linea in texto.split("\n"):
        if m := _VALLA.fullmatch(linea):
            if not valla:
                valla = m[1]
            elif m[1].startswith(valla) and not m[2].strip():
                valla = ""
        elif not valla and (m := _TITULO.fullmatch(linea)):
            yield linea, (len(m[1]), (m[2] or "").strip())
            continue
        yield linea, None


def _por_titulos(texto: str) -> Iterator[tuple[list[str], str]]:
    pila: list[tuple[int, str]] = []
    cuerpo: list[str] = []
    for linea, titulo in _lineas(texto):
        if titulo is None:
            cuerpo.append(linea)
            continue
        yield [t for _, t in pila if t], "\n".join(cuerpo)
        nivel = titulo[0]
        pila = [*(p for p in pila if p[0] < nivel), titulo]
        cuerpo = []
    yield [t for _, t in pila if t], "\n".join(cuerpo)


def _por_parrafos(cuerpo: str) -> Iterator[str]:
    """The body in parts of at most ``LARGO_SECCION``, cut between paragraphs, else lines, else anywhere."""
    parte = ""
    for parrafo in re.split(r"\n[ \t]*\n", cuerpo):
        for trozo in _cortar(parrafo.strip("\n")):
            if parte and len(parte) + len(trozo) + 2 > LARGO_SECCION:
                yield parte
                parte = ""
            parte = f"{parte}\n\n{trozo}" if parte else trozo
    if parte.strip():
        yield parte


def _cortar(parrafo: str) -> Iterator[str]:
    while len(parrafo) > LARGO_SECCION:
        corte = max(parrafo.rfind(c, LARGO_SECCION // 2, LARGO_SECCION) for c in "\n ")
        corte = corte if corte > 0 else LARGO_SECCION
        yield parrafo[:corte].rstrip()
        parrafo = parrafo[corte:].lstrip()
    if parrafo.strip():
        yield parrafo
