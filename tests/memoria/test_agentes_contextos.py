"""Who a run is about, and whose thread it is."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from memoria.agentes import (
    Contexto,
    ContextoCliente,
    ContextoCompras,
    ContextoEmpleado,
    ContextoIncorrecto,
    configuracion,
)
from memoria.hilos import CLAVE_SUJETO

CONTEXTOS: list[Contexto] = [
    ContextoCliente("C9", "T1"),
    ContextoEmpleado("E1", "T1"),
    ContextoCompras("E1", "P1"),
]


@pytest.mark.parametrize("contexto", CONTEXTOS)
@pytest.mark.parametrize("vacio", ["", "  ", None, 9])
def test_un_identificador_vacio_se_rechaza_y_se_nombra(contexto: Contexto, vacio: Any) -> None:
    for campo in dataclasses.fields(contexto):
        with pytest.raises(ContextoIncorrecto, match=f"«{campo.name}» de .* no puede estar vacío"):
            dataclasses.replace(contexto, **{campo.name: vacio})


@pytest.mark.parametrize("contexto", CONTEXTOS)
def test_un_contexto_no_cambia(contexto: Contexto) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        contexto.tienda = "T2"  # type: ignore[misc, union-attr]


@pytest.mark.parametrize(
    ("contexto", "dueno", "namespace"),
    [
        (ContextoCliente("C9", "T1"), ("clientes", "C9"), ("clientes", "C9")),
        (ContextoCliente("a.b", "T1"), ("clientes", "a.b"), ("clientes", "a%2Eb")),
        (ContextoEmpleado("E1", "T1"), ("empleados", "E1"), ("empleados", "E1")),
        (ContextoCompras("E1", "P1"), ("empleados", "E1"), ("proveedores", "P1")),
    ],
)
def test_de_quien_es_el_hilo_y_que_se_lee(
    contexto: Contexto, dueno: tuple[str, str], namespace: tuple[str, str]
) -> None:
    assert configuracion(contexto, "h1") == {"configurable": {"thread_id": "h1", CLAVE_SUJETO: dueno}}
    assert contexto.namespace == namespace


@pytest.mark.parametrize("thread_id", ["", "  ", None, 7, "h\x00", "h\n1", "h" * 201])
def test_un_hilo_que_no_se_podria_guardar(thread_id: Any) -> None:
    with pytest.raises(ContextoIncorrecto, match="identificador del hilo"):
        configuracion(CONTEXTOS[0], thread_id)


@pytest.mark.parametrize("contexto", [None, {"cliente_id": "C9", "tienda": "T1"}])
def test_la_configuracion_pide_un_contexto(contexto: Any) -> None:
    with pytest.raises(ContextoIncorrecto, match="contexto de quien lo abre"):
        configuracion(contexto, "h1")
