"""The English catalogue is complete: every text of the source is in it, translated, and compiled."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from babel.messages import Catalog
from babel.messages.extract import extract
from babel.messages.mofile import read_mo
from babel.messages.pofile import read_po
from django.utils import translation
from django.utils.translation.template import templatize

RAIZ = Path(__file__).resolve().parent.parent
PO = RAIZ / "locale" / "en" / "LC_MESSAGES" / "django.po"
PALABRAS: dict[str, tuple[int | tuple[int, str], ...] | None] = {
    **dict.fromkeys(("_", "gettext", "gettext_lazy", "gettext_noop"), None),
    **dict.fromkeys(("ngettext", "ngettext_lazy"), (1, 2)),
    **dict.fromkeys(("pgettext", "pgettext_lazy"), ((1, "c"), 2)),
    **dict.fromkeys(("npgettext", "npgettext_lazy"), ((1, "c"), 2, 3)),
}
#: Singular and, where there is one, plural; and the context.
Texto = tuple[tuple[str, ...], str | None]


@pytest.fixture(scope="module")
def catalogo() -> Catalog:
    with PO.open("rb") as fichero:
        return read_po(fichero, locale="en")


@pytest.fixture(scope="module")
def textos() -> set[Texto]:
    encontrados = set(_textos_del_codigo())
    assert len(encontrados) > 400, "the extraction itself finds too little"
    assert any(contexto for _cadenas, contexto in encontrados)
    assert any(len(cadenas) == 2 for cadenas, _contexto in encontrados)
    return encontrados


def test_every_text_of_the_source_is_in_the_catalogue(catalogo: Catalog, textos: set[Texto]) -> None:
    en_catalogo = {(_cadenas(m.id), m.context) for m in catalogo if m.id}
    faltan = sorted(cadenas for cadenas, contexto in textos if (cadenas, contexto) not in en_catalogo)
    assert faltan == [], "run `make mensajes` and translate"


def test_no_text_is_used_both_with_plural_and_without(textos: set[Texto]) -> None:
    """gettext keeps one entry for both, and the plural alone is translated: a context tells them apart."""
    con_plural = {(cadenas[0], contexto) for cadenas, contexto in textos if len(cadenas) == 2}
    sin_plural = {(cadenas[0], contexto) for cadenas, contexto in textos if len(cadenas) == 1}
    assert con_plural & sin_plural == set(), "give one of the two a context"


def test_no_template_writes_words_or_quotation_marks_that_no_catalogue_has() -> None:
    """What is left of a template without its tags: names of the product, of formats and of languages."""
    sueltas = {}
    for plantilla in sorted((RAIZ / "templates").rglob("*.html")):
        palabras = set(re.findall(r"[\w«»“”¿¡]+", _sin_etiquetas(plantilla.read_text()))) - SIN_TRADUCIR
        if palabras:
            sueltas[plantilla.name] = palabras
    assert sueltas == {}, "put them in a translate tag; a quotation is a <q>"


def test_the_links_between_pages_are_written_in_one_place() -> None:
    escritos = [p.name for p in (RAIZ / "templates").rglob("*.html") if 'class="paginas"' in p.read_text()]
    assert escritos == ["_paginas.html"]


#: Names that are the same in every language, and the languages, each in its own.
SIN_TRADUCIR = {"Memoria", "Español", "English", "PDF", "CSV"}
#: Of a template, what nobody reads, and what is translated.
MUDAS = (
    r"{#.*?#}",
    r"{% comment.*?endcomment %}",
    r"{% blocktranslate.*?endblocktranslate %}",
    r"{% block bodyclass %}.*?{% endblock %}",
    r"{%.*?%}|{{.*?}}",
    r"<(script|style)\b.*?</\1>",
    r"<[^>]*>",
)


def _sin_etiquetas(plantilla: str) -> str:
    for muda in MUDAS:
        plantilla = re.sub(muda, " ", plantilla, flags=re.DOTALL)
    return html.unescape(plantilla).replace("›", " ")


def test_no_text_of_the_catalogue_is_gone_from_the_source(catalogo: Catalog, textos: set[Texto]) -> None:
    sobran = sorted(_cadenas(m.id) for m in catalogo if m.id and (_cadenas(m.id), m.context) not in textos)
    assert sobran == [], "run `make mensajes`"


def test_every_text_of_the_catalogue_is_translated(catalogo: Catalog) -> None:
    sin_traducir = [m.id for m in catalogo if m.id and (m.fuzzy or not _traducido(m.id, m.string))]
    assert sin_traducir == []


def test_translations_keep_their_placeholders(catalogo: Catalog) -> None:
    for mensaje in catalogo:
        if mensaje.id:
            originales = [_huecos(texto) for texto in _cadenas(mensaje.id)]
            for traducida in _cadenas(mensaje.string):
                assert _huecos(traducida) in originales, mensaje.id


def test_translations_keep_the_markup(catalogo: Catalog) -> None:
    """Tags with their attributes; and English quotation marks, not the Spanish ones."""
    for mensaje in catalogo:
        if mensaje.id:
            originales = [sorted(re.findall(r"<[^>]+>", texto)) for texto in _cadenas(mensaje.id)]
            for traducida in _cadenas(mensaje.string):
                assert sorted(re.findall(r"<[^>]+>", traducida)) in originales, mensaje.id
                assert not re.search("[«»]", traducida), mensaje.id


def test_translations_keep_the_shape_of_the_text(catalogo: Catalog) -> None:
    """How it begins (capital or not) and how it ends, which the page around it counts on."""
    for mensaje in catalogo:
        if mensaje.id:
            for original, traducida in zip(_cadenas(mensaje.id), _cadenas(mensaje.string), strict=True):
                assert _final(traducida) == _final(original), mensaje.id
                if original[0].isalpha() and traducida[0].isalpha() and not traducida[:2].isupper():  # "WAL"
                    assert traducida[0].isupper() == original[0].isupper(), mensaje.id


def test_the_compiled_catalogue_is_that_of_the_source(catalogo: Catalog) -> None:
    with PO.with_suffix(".mo").open("rb") as fichero:
        compilado = read_mo(fichero)
    assert _traducciones(compilado) == _traducciones(catalogo), "run `make mensajes`"


def test_django_reads_the_compiled_catalogue() -> None:
    with translation.override("en-gb"):
        assert translation.gettext("Retirar el aviso") == "Withdraw the notice"
        assert translation.pgettext("avisos", "Vigentes") == "Current"
        assert translation.npgettext("recuento", "hilo", "hilos", 1) == "thread"
        assert translation.npgettext("recuento", "hilo", "hilos", 2) == "threads"


def _textos_del_codigo() -> Iterator[Texto]:
    for paquete in ("memoria", "compras", "privacidad"):
        for fichero in (RAIZ / paquete).rglob("*.py"):
            if "migrations" not in fichero.parts:
                yield from _extraer(fichero.read_bytes())
    for fichero in (RAIZ / "templates").rglob("*.*"):
        # What is left of a template is not indented as Python is; within parentheses that does not matter.
        yield from _extraer(f"(\n{templatize(fichero.read_text(encoding='utf-8'))}\n)".encode())


def _extraer(fuente: bytes) -> Iterator[Texto]:
    for _linea, mensaje, _comentarios, contexto in extract("python", io.BytesIO(fuente), keywords=PALABRAS):
        cadenas = _cadenas(mensaje)
        if cadenas and cadenas[0]:
            yield cadenas, contexto


def _traducciones(catalogo: Catalog) -> dict[object, tuple[str, ...]]:
    return {(_cadenas(m.id)[0], m.context): _cadenas(m.string) for m in catalogo if m.id}


def _traducido(original: object, traduccion: object) -> bool:
    cadenas = _cadenas(traduccion)
    return len(cadenas) == len(_cadenas(original)) and all(c.strip() for c in cadenas)


def _cadenas(texto: object) -> tuple[str, ...]:
    """The strings of a text: one, or singular and plural."""
    if isinstance(texto, (tuple, list)):
        return tuple(str(c) for c in texto)
    return (str(texto),) if texto else ()


def _huecos(texto: str) -> list[str]:
    return sorted(re.findall(r"%(?:\(\w+\))?[sd]", texto))


def _final(texto: str) -> str:
    return texto[-1] if texto[-1] in ".:…?! \n" else ""
