"""The words of the trade and the slips of the pen."""

from __future__ import annotations

import re

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoria import vocabulario
from memoria.erratas import LARGO_MINIMO, parecidas

LETRAS = "abcdefghijklmnopqrstuvwxyz"


@pytest.mark.parametrize(
    ("palabra", "otra"),
    [("vacacione", "cierre"), ("tarifa", "precio"), ("devolucion", "abono"), ("huelguista", "sindic")],
)
def test_words_of_one_group_find_each_other(palabra: str, otra: str) -> None:
    afines = vocabulario.afines(palabra)
    assert afines
    assert otra in afines.palabras | afines.comienzos or any(otra.startswith(c) for c in afines.comienzos)


@pytest.mark.parametrize("palabra", ["zanahoria", "x", "", "18", "tx 18", "cerradura"])
def test_a_word_of_no_group_has_none(palabra: str) -> None:
    assert vocabulario.afines(palabra) is None


@pytest.mark.parametrize(
    ("palabra", "generica"), [("producto", True), ("condicione", True), ("cambios", True), ("huelga", False)]
)
def test_generic_words_in_singular_and_plural(palabra: str, generica: bool) -> None:
    assert vocabulario.es_generica(palabra) is generica


def test_every_word_of_the_groups_can_match(propietario: psycopg.Connection) -> None:
    """As the question writes it; one that PostgreSQL takes for a stop word would never be found."""
    conocidas = vocabulario.conocidas()
    for voz in conocidas.palabras | conocidas.comienzos:
        assert re.fullmatch("[a-z]{2,}", voz)
    filas = propietario.execute(
        "SELECT voz FROM unnest(%s::text[]) AS voz WHERE length(to_tsvector('pg_catalog.spanish', voz)) = 0",
        [sorted(conocidas.palabras)],
    ).fetchall()
    assert filas == []


@pytest.mark.parametrize(
    ("palabra", "hay"),
    [
        ("certficado", True),  # missing
        ("certifiicado", True),  # too many
        ("certificsdo", True),  # wrong
        ("certifciado", True),  # swapped
        ("certificado", False),  # itself is no slip
        ("xertificado", False),  # the first letter
        ("crtifcado", False),  # two slips
    ],
)
def test_one_slip(palabra: str, hay: bool) -> None:
    assert parecidas(palabra, ["certificado", "caja"]) == ({"certificado"} if hay else set())


def test_a_beginning_is_compared_with_a_beginning() -> None:
    assert parecidas("vacasiones", ["vacacion"], comienzos=True) == {"vacacion"}
    assert parecidas("vacasiones", ["vacacion"]) == set()


def test_short_words_and_codes_are_left_alone() -> None:
    assert parecidas("caja", ["faja", "cajas", "caje"]) == set()
    assert parecidas("51334", ["51335"]) == set()
    assert parecidas("plazo", ["plaz"]) == set()


@given(
    palabra=st.text(LETRAS, min_size=LARGO_MINIMO + 1, max_size=12),
    donde=st.integers(min_value=1, max_value=12),
    letra=st.sampled_from(LETRAS),
    como=st.sampled_from(["falta", "sobra", "cambia", "baila"]),
)
def test_any_slip_after_the_first_letter_is_found(palabra: str, donde: int, letra: str, como: str) -> None:
    i = min(donde, len(palabra) - 1)
    mal = {
        "falta": palabra[:i] + palabra[i + 1 :],
        "sobra": palabra[:i] + letra + palabra[i:],
        "cambia": palabra[:i] + letra + palabra[i + 1 :],
        "baila": palabra[:i] + palabra[i : i + 2][::-1] + palabra[i + 2 :],
    }[como]
    assert parecidas(mal, [palabra]) == (set() if mal == palabra else {palabra})
