"""The agents over the checkpointer: a conversation goes on, and nothing extra is left in its tables."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import psycopg
import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from memoria.agentes import (
    Contexto,
    ContextoCliente,
    ContextoCompras,
    ModeloGuionizado,
    configuracion,
    crear_agente_cliente,
    crear_agente_compras,
)
from memoria.hilos import HiloAjeno

C9 = ContextoCliente("C9", "T1")
CANARIO = "canario.de.prueba@example.org"


def _recordar(valor: str = "por la tarde") -> AIMessage:
    args = {"tipo": "horario", "valor": valor}
    llamada = {"name": "recordar_preferencia", "args": args, "id": "ll-1", "type": "tool_call"}
    return AIMessage("", tool_calls=[llamada])


def _preguntar(
    agente: Any, texto: str, modo: str = "invoke", contexto: Contexto = C9, **config: Any
) -> list[Any]:
    base = configuracion(contexto, "h1")
    completa = {**config, "configurable": {**config.get("configurable", {}), **base["configurable"]}}
    entrada = {"messages": [("user", texto)]}
    if modo == "invoke":
        return list(agente.invoke(entrada, context=contexto, config=completa)["messages"])
    return list(asyncio.run(agente.ainvoke(entrada, context=contexto, config=completa))["messages"])


@pytest.fixture(params=["InMemorySaver", "PostgreSQL"])
def checkpointer(request: pytest.FixtureRequest) -> Any:
    if request.param == "PostgreSQL":
        return request.getfixturevalue("hilos")
    return InMemorySaver(serde=JsonPlusSerializer(allowed_msgpack_modules=None))


@pytest.mark.parametrize("modo", ["invoke", "ainvoke"])
def test_la_conversacion_sigue_y_todo_lo_guardado_es_de_la_lista_cerrada(
    checkpointer: Any, almacen: Any, modo: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="langgraph.checkpoint")
    modelo = ModeloGuionizado([_recordar(), AIMessage("Listo."), AIMessage("¿Algo más?")])
    agente = crear_agente_cliente(modelo, almacen=almacen, checkpointer=checkpointer)
    _preguntar(agente, "Paso por la tarde", modo)
    mensajes = _preguntar(agente, "Gracias", modo)

    tipos = [type(m) for m in mensajes]
    assert tipos == [HumanMessage, AIMessage, ToolMessage, AIMessage, HumanMessage, AIMessage]
    # An unlisted class would come back as plain data, with a warning of the serializer.
    assert "langgraph.checkpoint.serde" not in {r.name.rsplit(".", 1)[0] for r in caplog.records}


def test_el_prompt_no_se_guarda_en_el_hilo(hilos: Any, almacen: Any, propietario: psycopg.Connection) -> None:
    """Erasing a preference leaves no copy of it in the threads where it was only read."""
    otro = crear_agente_cliente(
        ModeloGuionizado([_recordar("a las siete y cuarto"), AIMessage("Listo.")]), almacen=almacen
    )
    _preguntar(otro, "Hola")
    modelo = ModeloGuionizado([AIMessage("Hola.")])
    _preguntar(crear_agente_cliente(modelo, almacen=almacen, checkpointer=hilos), "Hola")

    assert "a las siete y cuarto" in str(modelo.recibidos[0][0].content)
    assert not _esta_en_las_tablas(propietario, "a las siete y cuarto")


@pytest.mark.parametrize("modo", ["invoke", "ainvoke"])
def test_lo_que_el_llamador_deja_en_la_configuracion_no_llega_a_las_tablas(
    hilos: Any, almacen: Any, propietario: psycopg.Connection, modo: str
) -> None:
    modelo = ModeloGuionizado([_recordar(), AIMessage("Listo."), AIMessage("Listo.")])
    agente = crear_agente_cliente(modelo, almacen=almacen, checkpointer=hilos)
    config: dict[str, Any] = {
        "configurable": {"email": CANARIO, "user_id": CANARIO, "api_key": CANARIO},
        "metadata": {"email": CANARIO, "langfuse_user_id": CANARIO, CANARIO: 1},
        "tags": [CANARIO],
        "run_name": CANARIO,
    }
    _preguntar(agente, "Paso por la tarde", modo, **config)
    assert not _esta_en_las_tablas(propietario, CANARIO)

    _preguntar(agente, f"Mi correo es {CANARIO}", modo)  # what the customer says is the thread itself
    assert _esta_en_las_tablas(propietario, CANARIO)


def test_el_dueno_no_esta_en_los_metadatos(hilos: Any, almacen: Any, propietario: psycopg.Connection) -> None:
    agente = crear_agente_cliente(ModeloGuionizado([AIMessage("Hola.")]), almacen=almacen, checkpointer=hilos)
    _preguntar(agente, "Hola")
    for (metadatos,) in propietario.execute("SELECT metadata FROM langgraph.checkpoints"):
        assert "C9" not in json.dumps(metadatos)


@pytest.mark.parametrize("modo", ["invoke", "ainvoke"])
def test_el_hilo_de_c9_no_se_abre_desde_c10(hilos: Any, almacen: Any, modo: str) -> None:
    modelo = ModeloGuionizado([AIMessage("Hola."), AIMessage("Hola.")])
    agente = crear_agente_cliente(modelo, almacen=almacen, checkpointer=hilos)
    _preguntar(agente, "Hola", modo)

    c10 = ContextoCliente("C10", "T1")
    with pytest.raises(HiloAjeno):
        _preguntar(agente, "Hola", modo, contexto=c10)
    assert len(modelo.recibidos) == 1


def test_el_hilo_de_compras_es_del_comprador(hilos: Any, propietario: psycopg.Connection) -> None:
    contexto = ContextoCompras("E1", "P1")
    agente = crear_agente_compras(ModeloGuionizado([AIMessage("Hola.")]), checkpointer=hilos)
    _preguntar(agente, "Hola", contexto=contexto)
    filas = propietario.execute("SELECT thread_id, espacio, sujeto_id FROM hilos").fetchall()
    assert filas == [("h1", "empleados", "E1")]


def _esta_en_las_tablas(propietario: psycopg.Connection, texto: str) -> bool:
    """Whether any column of LangGraph's checkpoint tables holds ``texto``, as text or inside the bytes."""
    buscado = texto.encode()
    for tabla in ("checkpoints", "checkpoint_blobs", "checkpoint_writes"):
        for fila in propietario.execute(f"SELECT * FROM langgraph.{tabla}"):
            for celda in fila:
                dato = celda if isinstance(celda, bytes) else json.dumps(celda, ensure_ascii=False).encode()
                if buscado in dato:
                    return True
    return False
