"""Paths and files: what is taken is safe on every system, and what is written is read back the same."""

from __future__ import annotations

import os
import unicodedata
from pathlib import PurePosixPath, PureWindowsPath

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memoria.documentos import ficheros
from memoria.documentos.rutas import LARGO_MAXIMO_RUTA, RutaNoValida, comprobar_ruta, es_ruta, legible
from memoria.documentos.secciones import LARGO_SECCION, partir, titulo_de
from memoria.documentos.servicios import componer

# Pieces that go wrong together, and any text at all.
MALOS = [
    "..",
    ".",
    "",
    "\n",
    "\x00",
    "\\",
    "C:",
    "con",
    "NUL",
    "~",
    " ",
    "\u202e",
    "a\u0301",
    "\ud800",
    ".md",
]
TROZO = st.sampled_from([*MALOS, "a", "á", "portes"]) | st.text(max_size=6)
RUTA = st.lists(TROZO, max_size=5).flatmap(
    lambda partes: st.sampled_from(["/".join(partes), "/".join(partes) + ".md", "".join(partes) + ".md"])
)


@given(RUTA)
@example("a/../b.md")
@example("/a.md")
@example("a//b.md")
@example("con.md")
@example("a.md/b.md")
@example("a\u2028.md")
def test_what_is_taken_stays_inside_and_has_one_form(ruta: str) -> None:
    if not es_ruta(ruta):
        with pytest.raises(RutaNoValida, match=r"\.$"):
            comprobar_ruta(ruta)
        return
    assert comprobar_ruta(ruta) == ruta
    assert os.path.normpath(os.path.join("/raiz", ruta)) == f"/raiz/{ruta}"
    assert not PurePosixPath(ruta).is_absolute()
    assert not PureWindowsPath(ruta).is_absolute()
    assert not PureWindowsPath(ruta).drive
    assert not PureWindowsPath(ruta).is_reserved()
    assert all(p not in ("", ".", "..") for p in ruta.split("/"))
    assert unicodedata.normalize("NFC", ruta) == ruta
    assert ruta.isprintable()
    assert "\\" not in ruta
    assert ruta.endswith(".md")
    assert len(ruta.encode()) <= LARGO_MAXIMO_RUTA
    assert legible(ruta) == ruta


@pytest.mark.parametrize(
    "ruta", ["portes.md", "compras/portes.md", "a/b/c d.md", "año/ñandú-2026.md", "a.b.md"]
)
def test_plain_ones_are_taken(ruta: str) -> None:
    assert es_ruta(ruta)


@pytest.mark.parametrize(
    "ruta",
    [
        "", ".md", "a", "a.txt", "a.MD", "../a.md", "a/../b.md", "./a.md", "/a.md", "a//b.md", "a/", "a/.md",
        ".git/a.md", "a\\b.md", "C:/a.md", "a\n.md", "a\x00.md", "a\u200b.md", "a\u0301.md", " a.md",
        "a .md/b.md", "a./b.md", "x.md/a.md", "aux.md", "LPT1/a.md", "a?.md", "a\u00a0b.md", "\ue000.md",
        "a" * 201 + ".md", "/".join(["a" * 100] * 5) + ".md",
    ],
)  # fmt: skip
def test_these_are_refused(ruta: str) -> None:
    assert not es_ruta(ruta)


def test_any_name_can_be_told_in_one_line() -> None:
    assert legible(os.fsdecode(b"a\xff\n\x00\xe2\x80\xae.md")) == "a\\xff\\n\\x00\\u202e.md"
    assert legible("a\udcff.md") == "a\\xff.md"
    assert legible("ñandú.md") == "ñandú.md"


# -- a document as a file ---------------------------------------------------------------------------

TITULO = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=40).filter(str.strip)
TEXTO = st.lists(
    st.sampled_from(
        [
            "---",
            "titulo: x",
            "importancia: alta",
            "# Uno",
            "## Dos",
            "```",
            "",
            "\ufeff",
            "texto",
            "- lista",
            "\t",
        ]
    )
    | st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=10),
    max_size=8,
).map("\n".join)


@given(titulo=TITULO, importancia=st.sampled_from(["normal", "alta"]), texto=TEXTO)
@example(titulo="Uno", importancia="normal", texto="# Uno\n\ntexto")
@example(titulo="Portes", importancia="normal", texto="---\ntitulo: x\n---\ntexto")
@example(titulo="Portes", importancia="normal", texto="\ufefftexto")
def test_a_file_is_read_back_the_same(titulo: str, importancia: str, texto: str) -> None:
    titulo, texto, _ = componer(titulo=titulo, texto=texto, importancia=importancia)
    octetos = ficheros.escribir("a/portes.md", titulo, importancia, texto)
    assert ficheros.leer("a/portes.md", octetos) == (titulo, importancia, texto)


def test_an_ordinary_document_is_its_text_and_nothing_more() -> None:
    assert ficheros.escribir("portes.md", "Portes", "normal", "# Portes\n\nHola.") == b"# Portes\n\nHola.\n"
    assert ficheros.escribir("plazos-de-entrega.md", "Plazos de entrega", "normal", "Hola.") == b"Hola.\n"


@pytest.mark.parametrize(
    ("octetos", "titulo", "texto"),
    [
        (b"# Portes\r\n\r\nHola.\r\n", "Portes", "# Portes\n\nHola."),
        (b"\xef\xbb\xbf# Portes\n", "Portes", "# Portes"),
        (b"Hola.", "Portes y plazos", "Hola."),
        (b"", "Portes y plazos", ""),
        (b"---\ntags: [a]\n---\nHola.", "Portes y plazos", "---\ntags: [a]\n---\nHola."),
        (b"```\n# no\n```\n# Si #\n", "Si", "```\n# no\n```\n# Si #"),
        (b"---\ntitulo: Otro\n---\n# Portes\n", "Otro", "# Portes"),
        (b"---\nimportancia: normal\ntitulo:Otro \n---", "Otro", ""),
        (
            b"---\n\nuna raya y texto: nada m\xc3\xa1s\n---\n",
            "Portes y plazos",
            "---\n\nuna raya y texto: nada más\n---",
        ),
    ],
)
def test_what_a_file_says(octetos: bytes, titulo: str, texto: str) -> None:
    assert ficheros.leer("a/portes_y-plazos.md", octetos) == (titulo, "normal", texto)


@pytest.mark.parametrize(
    "octetos",
    [
        *(b"a\xff", b"a\x00b", "ñ".encode("latin-1"), b"---\nimportancia: x\n---\n"),
        b"---\ntitulo: Normas\nimportancia: alta\netiqueta: x\n---\nHola.",
        b"---\netiquetas:\n  - x\n\nTitulo: Normas\n---\nHola.",
        b"---\ntitulo: Uno\ntitulo: Otro\n---\nHola.",
    ],
)
def test_what_is_no_document(octetos: bytes) -> None:
    with pytest.raises(ficheros.FicheroNoValido):
        ficheros.leer("a.md", octetos)


# -- sections ---------------------------------------------------------------------------------------


@given(st.text(max_size=400) | TEXTO)
def test_sections_hold_every_word_and_are_short(texto: str) -> None:
    trozos = partir("Título", texto)
    assert trozos
    assert all(len(t.texto) <= LARGO_SECCION for t in trozos)
    assert all(t.encabezado.startswith("Título") for t in trozos)
    dicho = " ".join(f"{t.encabezado} {t.texto}" for t in trozos)
    assert {p for p in texto.split() if p.isalnum()} <= set(dicho.split())


def test_sections_know_what_they_are_under() -> None:
    texto = "# Portes\n\nUno.\n\n## Plazos\n\nDos.\n\n### Islas\n\nTres.\n\n## Precios\n\nCuatro.\n\n## Vacío"
    assert [tuple(t) for t in partir("Portes", texto)] == [
        ("Portes", "Uno."),
        ("Portes › Plazos", "Dos."),
        ("Portes › Plazos › Islas", "Tres."),
        ("Portes › Precios", "Cuatro."),
        ("Portes › Vacío", ""),
    ]


def test_a_long_section_is_cut_between_paragraphs() -> None:
    parrafo = "palabra " * 60
    trozos = partir("T", "\n\n".join([parrafo] * 10) + "\n\n" + "x" * 4000)
    assert len(trozos) > 4
    assert all(len(t.texto) <= LARGO_SECCION for t in trozos)


def test_the_title_is_the_first_heading_outside_code() -> None:
    assert titulo_de("hola\n~~~\n# no\n~~~\n## Sí ##\n# Otro") == "Sí"
    assert titulo_de("#hashtag\n\n    # código") is None
