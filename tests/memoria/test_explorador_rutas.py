"""A subject's id in a URL: any id, there and back."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

import psycopg
import pytest
from django.test import Client
from django.urls import resolve, reverse
from hypothesis import given
from hypothesis import strategies as st

from memoria.explorador.rutas import a_url, de_url
from memoria.politica import LARGO_MAXIMO_ETIQUETA, prefijo
from tests.memoria.explorador_comun import Enlaces

#: What PostgreSQL can hold of what a label may be: it takes the worst id three characters to write one.
CUALQUIERA = st.text(
    st.characters(exclude_categories=["Cs"]), min_size=1, max_size=LARGO_MAXIMO_ETIQUETA // 3
)
ENREVESADOS = [
    "C9",
    "C9/",
    "/C9",
    "a//b",
    "a/b/c",
    ".",
    "..",
    "../..",
    "C9.1",
    "100%",
    "%",
    "%2E",
    "%252F",
    "%41",
    "con espacio",
    " borde ",
    "línea\nnueva",
    "\r\n",
    "tab\t",
    "¿quién?#uno&dos=tres;+",
    "ñandú",
    "日本語",
    "🦊",
    "<b>",
    "\"'",
    "ficha",
    "\\",
    "\x7f",
    "\x00",
]


@given(CUALQUIERA)
def test_any_id_comes_back_from_its_url(sujeto_id: str) -> None:
    assert de_url(a_url(sujeto_id)) == sujeto_id


@given(CUALQUIERA)
def test_any_id_is_one_segment_nobody_tidies(sujeto_id: str) -> None:
    segmento = reverse("explorador:ficha", args=["clientes", sujeto_id]).removeprefix(
        "/memoria/ficha/clientes/"
    )
    assert segmento.endswith("/")
    assert "/" not in segmento[:-1]
    assert "." not in segmento
    assert not {"%2f", "%2e", "%00", "%0a"} & {segmento[i : i + 3].lower() for i in range(len(segmento))}


@given(CUALQUIERA, CUALQUIERA)
def test_two_ids_never_share_a_url(uno: str, otro: str) -> None:
    assert (a_url(uno) == a_url(otro)) == (uno == otro)


@pytest.mark.parametrize("sujeto_id", ["C9", "C9.1", "ñandú", "con espacio", "%41", "a/b"])
def test_an_id_typed_as_it_is_is_understood(sujeto_id: str) -> None:
    assert de_url(sujeto_id) == sujeto_id


@pytest.mark.parametrize("sujeto_id", ENREVESADOS, ids=ascii)
def test_from_the_list_to_the_card_with_any_id(
    navegar: Callable[..., Client], propietario: psycopg.Connection, sujeto_id: str
) -> None:
    # Not through the store, which takes no id with control characters: a page opens whatever is in the table.
    propietario.execute(
        "INSERT INTO langgraph.store (prefix, key, value) VALUES (%s, 'pref-idioma', '{}')",
        (prefijo("clientes", sujeto_id),),
    )
    cliente = navegar("dpo")
    lista = cliente.get("/memoria/clientes/").content.decode()
    [enlace] = [str(a["href"]) for a in Enlaces(lista).de("a") if "/ficha/" in str(a.get("href"))]
    respuesta = cliente.get(enlace)
    assert respuesta.status_code == 200
    assert len(respuesta.context["ficha"].documentos) == 1
    assert resolve(respuesta.wsgi_request.path_info).kwargs == {"nombre": "clientes", "sujeto_id": sujeto_id}
    if sujeto_id.strip() == sujeto_id and "\x00" not in sujeto_id:
        buscado = cliente.get("/memoria/clientes/", {"id": sujeto_id})
        assert urlsplit(buscado["Location"]).path == enlace
