"""The written list: labels map one to one, documents keep their shape, lifetimes are whole minutes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.base import PutOp, validate_op_namespace

from memoria import politica
from memoria.politica import ESPACIOS, Escritor, PoliticaIncumplida, TipoPreferencia, espacio, prefijo, sujeto

IDENTIFICADORES = st.text(min_size=1)
NOMBRES = st.sampled_from(sorted(ESPACIOS))

PREFERENCIA = {
    "texto": "Recoge en Sol",
    "tipo": "recogida",
    "valor": "Sol",
    "origen": "cliente",
    "hilo": "h1",
}
AVISO = {"texto": "Cierran en agosto", "fecha": "2026-11-29"}


def test_the_contract_of_names() -> None:
    assert espacio("clientes", "C9") == ("clientes", "C9")
    assert sujeto(("clientes", "C9")) == sujeto("clientes.C9") == ("clientes", "C9")
    assert prefijo("clientes", "C9") == "clientes.C9"


@given(NOMBRES, IDENTIFICADORES)
def test_an_id_maps_to_one_label_and_back(nombre: str, identificador: str) -> None:
    namespace = espacio(nombre, identificador)
    assert sujeto(namespace) == (nombre, identificador)
    assert sujeto(".".join(namespace)) == (nombre, identificador)


@given(NOMBRES, IDENTIFICADORES)
def test_langgraph_and_postgresql_accept_every_label(nombre: str, identificador: str) -> None:
    namespace = espacio(nombre, identificador)
    validate_op_namespace(PutOp(namespace, "clave", {}))
    assert "\x00" not in namespace[1]
    assert "." not in namespace[1]


@given(IDENTIFICADORES, IDENTIFICADORES)
def test_two_ids_never_share_a_label(uno: str, otro: str) -> None:
    assert (espacio("clientes", uno) == espacio("clientes", otro)) == (uno == otro)


@given(st.text())
def test_a_label_that_espacio_would_not_make_is_refused(etiqueta: str) -> None:
    """Otherwise two prefixes could stand for one person, and erasing one would leave the other."""
    try:
        nombre, identificador = sujeto(("clientes", etiqueta))
    except PoliticaIncumplida:
        return
    assert espacio(nombre, identificador) == ("clientes", etiqueta)


@pytest.mark.parametrize(
    "malo",
    [("otros", "C9"), ("langgraph", "C9"), ("clientes", ""), ("clientes",), ("clientes", "C9", "x"), ()],
)
def test_other_namespaces_do_not_exist(malo: tuple[str, ...]) -> None:
    with pytest.raises(PoliticaIncumplida):
        sujeto(malo)


def test_the_written_list_says_what_the_mission_says() -> None:
    dias = {n: e.vida_minutos / 1440 for n, e in ESPACIOS.items()}
    assert dias == {"clientes": 365, "proveedores": 90, "empleados": 180}
    assert {n for n, e in ESPACIOS.items() if e.renueva_al_leer} == {"clientes", "empleados"}
    assert {n for n, e in ESPACIOS.items() if e.incrusta} == {"proveedores"}
    assert set(ESPACIOS["clientes"].tipos) == {"recogida", "contacto", "idioma", "horario"}
    assert set(ESPACIOS["empleados"].tipos) == {"seccion"}
    assert ESPACIOS["proveedores"].escritor is Escritor.COMPRAS


@pytest.mark.parametrize("nombre", ["clientes", "empleados"])
def test_every_kind_of_the_list_makes_a_document_the_list_accepts(nombre: str) -> None:
    for tipo in ESPACIOS[nombre].tipos:
        clave, documento = politica.documento_preferencia(nombre, tipo=tipo, valor=" algo ", hilo="h1")
        assert clave == f"pref-{tipo}"
        assert documento["valor"] == "algo"
        politica.comprobar_escritura(espacio(nombre, "X"), clave, documento, None, Escritor.AGENTE)


def test_a_kind_of_another_namespace_is_refused_and_the_list_is_told() -> None:
    with pytest.raises(PoliticaIncumplida, match=r"recogida.*horario"):
        politica.documento_preferencia("clientes", tipo="seccion", valor="pan", hilo="h1")


@pytest.mark.parametrize(
    "cambio",
    [
        {"tipo": "exigente"},
        {"texto": ""},
        {"texto": "   "},
        {"texto": "con\x00nulo"},
        {"texto": "x" * 301},
        {"valor": None},
        {"valor": 7},
        {"origen": "empleado"},
        {"inferido": "parece exigente"},
        {"hilo": ""},
    ],
)
def test_a_preference_out_of_shape_is_refused(cambio: dict[str, Any]) -> None:
    with pytest.raises(PoliticaIncumplida):
        politica.comprobar_documento(ESPACIOS["clientes"], "pref-recogida", {**PREFERENCIA, **cambio})


@pytest.mark.parametrize("clave", ["", "pref-contacto", "otra", "pref-recogida\x00", "x" * 201])
def test_the_key_of_a_preference_is_its_kind(clave: str) -> None:
    with pytest.raises(PoliticaIncumplida):
        politica.comprobar_documento(ESPACIOS["clientes"], clave, PREFERENCIA)


@pytest.mark.parametrize(
    "cambio",
    [
        {"fecha": "29/11/2026"},
        {"fecha": "2026-13-01"},
        {"fecha": "20261129"},
        {"importancia": "muchísima"},
        {"texto": "x" * 4001},
        {"valido_hasta": ""},
    ],
)
def test_a_notice_out_of_shape_is_refused(cambio: dict[str, Any]) -> None:
    with pytest.raises(PoliticaIncumplida):
        politica.comprobar_documento(ESPACIOS["proveedores"], "a1", {**AVISO, **cambio})


def test_the_refused_text_is_not_repeated() -> None:
    """It may be personal data, and the sentence goes to logs and to the model."""
    with pytest.raises(PoliticaIncumplida) as error:
        politica.comprobar_documento(
            ESPACIOS["clientes"], "pref-recogida", {**PREFERENCIA, "tipo": "612345678"}
        )
    assert "612345678" not in str(error.value)


@pytest.mark.parametrize("ttl", [0, -1, 0.5, 1.5, float("nan"), float("inf"), True, "60"])
def test_a_lifetime_is_whole_minutes(ttl: Any) -> None:
    """lg: a fraction becomes 0 in the INT column at the first renewal (M4)."""
    with pytest.raises(PoliticaIncumplida, match="minutos"):
        politica.comprobar_vida(ESPACIOS["clientes"], ttl)


@given(st.integers(1, ESPACIOS["proveedores"].vida_minutos))
def test_a_shorter_lifetime_is_kept(ttl: int) -> None:
    assert politica.comprobar_vida(ESPACIOS["proveedores"], float(ttl)) == ttl


def test_a_longer_lifetime_than_the_list_allows_is_refused() -> None:
    with pytest.raises(PoliticaIncumplida, match="como mucho"):
        politica.comprobar_vida(ESPACIOS["proveedores"], ESPACIOS["proveedores"].vida_minutos + 1)


def test_each_namespace_has_one_writer() -> None:
    with pytest.raises(PoliticaIncumplida, match="nunca un agente"):
        politica.comprobar_escritura(espacio("proveedores", "P1"), "a1", AVISO, None, Escritor.AGENTE)
    with pytest.raises(PoliticaIncumplida, match="agentes"):
        politica.comprobar_escritura(
            espacio("clientes", "C9"), "pref-recogida", PREFERENCIA, None, Escritor.COMPRAS
        )


def test_an_id_that_is_really_a_text_is_refused() -> None:
    with pytest.raises(PoliticaIncumplida, match="200"):
        politica.comprobar_escritura(
            espacio("clientes", "x" * 201), "pref-recogida", PREFERENCIA, None, Escritor.AGENTE
        )


@pytest.mark.parametrize("identificador", ["C\x009", "C\n9\x1b", "\x7f"])
def test_nothing_is_written_for_an_id_nobody_can_have(identificador: str) -> None:
    """It has a label, as every id, but neither the registry nor a request could name it to erase it."""
    with pytest.raises(PoliticaIncumplida, match="control"):
        politica.comprobar_escritura(
            espacio("clientes", identificador), "pref-recogida", PREFERENCIA, None, Escritor.AGENTE
        )


def test_the_kinds_are_strings_a_document_can_hold() -> None:
    assert TipoPreferencia("recogida") == "recogida"
