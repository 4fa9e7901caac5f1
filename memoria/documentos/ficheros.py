"""A document as a file: its text, and before it what a file has no other place for.

A page of ordinary importance whose title is its first heading is its text and nothing more. Otherwise the
file begins with a block of two lines at most, which is read back the same. One with anything else in it is
refused::

    ---
    titulo: Portes y devoluciones
    importancia: alta
    ---
"""

from __future__ import annotations

import re
from typing import NamedTuple

from django.utils.translation import gettext as _

from memoria.documentos.models import LARGO_MAXIMO_TITULO
from memoria.documentos.secciones import titulo_de
from memoria.politica import Importancia


class Contenido(NamedTuple):
    """What a file says."""

    titulo: str
    importancia: str
    texto: str


class FicheroNoValido(ValueError):
    """A file cannot be a document. The message is the reason, and repeats nothing of what it says."""


def leer(ruta: str, octetos: bytes) -> Contenido:
    """What a file says. Raises :class:`FicheroNoValido`."""
    try:
        texto = octetos.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FicheroNoValido(_("No está en UTF-8: guárdelo en esa codificación.")) from None
    if "\x00" in texto:
        raise FicheroNoValido(_("Tiene octetos nulos: no es un texto."))
    texto = texto.replace("\r\n", "\n").replace("\r", "\n")
    datos: dict[str, str] = {}
    if m := _cabecera(texto):
        datos = _datos(m[1])
        texto = texto[m.end() :]
    texto = texto.strip("\n")
    importancia = datos.get("importancia", Importancia.NORMAL.value)
    if importancia not in tuple(Importancia):
        raise FicheroNoValido(_("Su importancia no es «normal» ni «alta»."))
    return Contenido(datos.get("titulo") or titulo_por_defecto(ruta, texto), importancia, texto)


def escribir(ruta: str, titulo: str, importancia: str, texto: str) -> bytes:
    """The inverse of :func:`leer`: what it gives is read back as the same."""
    datos = []
    if titulo != titulo_por_defecto(ruta, texto):
        datos.append(f"titulo: {titulo}")
    if importancia != Importancia.NORMAL:
        datos.append(f"importancia: {importancia}")
    cuerpo = f"{texto}\n" if texto else ""
    if datos or _cabecera(cuerpo) or cuerpo.startswith("\ufeff"):
        cabecera = datos or [f"importancia: {importancia}"]
        return "\n".join(["---", *cabecera, "---", cuerpo]).encode()
    return cuerpo.encode()


def titulo_por_defecto(ruta: str, texto: str) -> str:
    """Its first heading or, without one, its name: ``plazos-de-entrega.md`` is «Plazos de entrega»."""
    nombre = re.sub(r"[-_]+", " ", ruta.rpartition("/")[2].removesuffix(".md"))
    for posible in (titulo_de(texto) or "", nombre[:1].upper() + nombre[1:], ruta):
        if limpio := " ".join(posible.split())[:LARGO_MAXIMO_TITULO].strip():
            return limpio
    return ruta


def _cabecera(texto: str) -> re.Match[str] | None:
    """The block that a file begins with, if it is one of ours; any other is part of its text, and stays."""
    m = _BLOQUE.match(texto)
    return m if m and _NUESTRA.search(m[1]) else None


def _datos(bloque: str) -> dict[str, str]:
    """What a block of ours says. What would be left out of the document is not left out without a word."""
    datos: dict[str, str] = {}
    for linea in bloque.rstrip("\n").split("\n"):
        clave, dos_puntos, valor = linea.partition(":")
        if not dos_puntos or clave not in _CLAVES or clave in datos:
            raise FicheroNoValido(
                _(
                    "Su cabecera solo puede llevar una línea «titulo: …» y otra «importancia: …»: quite de "
                    "ella lo demás."
                )
            )
        datos[clave] = valor.strip()
    return datos


_CLAVES = frozenset({"titulo", "importancia"})
_BLOQUE = re.compile(r"---\n((?:[^\n]*\n){1,50}?)---(?:\n|\Z)")
_NUESTRA = re.compile(r"(?im)^(?:titulo|título|importancia)[ \t]*:")
