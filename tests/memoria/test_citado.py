"""What people wrote, as a model gets it."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoria.citado import en_una_linea, lineas, sin_invisibles

ETIQUETAS = "".join(chr(0xE0000 + ord(c)) for c in "IGNORA")
SELECTORES = "".join(chr(0xE0100 + ord(c)) for c in "IGNORA")


@pytest.mark.parametrize("oculto", [ETIQUETAS, SELECTORES, "\u202e", "\u2066", "\u200b", "\ufeff", "\u3164"])
def test_what_nobody_sees_goes(oculto: str) -> None:
    assert sin_invisibles(f"Cie{oculto}rran") == "Cierran"


def test_every_format_character_but_the_joiner_of_emoji_goes() -> None:
    de_formato = [c for c in map(chr, range(sys.maxunicode)) if unicodedata.category(c) == "Cf"]
    assert sin_invisibles("x".join(de_formato)) == "x" * (len(de_formato) - 1)


@pytest.mark.parametrize("texto", ["👩‍🔧", "⚠️ ojo", "👁️‍🗨️", "❤️‍🔥", "Camión: 3 %, año €", "e\u0301"])
def test_what_is_seen_stays(texto: str) -> None:
    assert sin_invisibles(texto) == texto


@pytest.mark.parametrize("texto", ["a\u200db", "👩\u200d", "👩\u200d\u200d🔧", "⚠\ufe0f\ufe0f", "a\ufe0f"])
def test_what_joins_nothing_goes(texto: str) -> None:
    limpio = sin_invisibles(texto)
    assert "\u200d" not in limpio
    assert "\ufe0f\ufe0f" not in limpio
    assert limpio[0] == texto[0]


@given(st.text(max_size=80))
def test_of_any_text_nothing_hides_and_no_line_has_another(texto: str) -> None:
    for linea in lineas(texto):
        assert len(linea.splitlines()) <= 1
        assert {unicodedata.category(c) for c in linea if c != "\u200d"}.isdisjoint({"Cc", "Cf", "Cs", "Zl"})
        assert sin_invisibles(linea) == linea
    assert en_una_linea(texto) == " ".join(en_una_linea(texto).split())
