"""The two chat models: the endpoint that is configured, and the script there is otherwise."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from langchain.agents.middleware.types import InputAgentState
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.store.memory import InMemoryStore

from memoria.agentes import (
    ContextoCliente,
    GuionAgotado,
    ModeloGuionizado,
    configuracion,
    crear_agente_cliente,
    crear_modelo,
    prompt_cliente,
)
from memoria.entorno import VariableIncorrecta

C9 = ContextoCliente("C9", "T1")
PREGUNTA: InputAgentState = {"messages": [{"role": "user", "content": "Hola"}]}
LLAMADA = {
    "id": "ll-1",
    "type": "function",
    "function": {"name": "recordar_preferencia", "arguments": '{"tipo": "idioma", "valor": "gallego"}'},
}


def test_el_guion_se_sigue_y_se_anota_lo_recibido() -> None:
    modelo = ModeloGuionizado([AIMessage("Uno."), lambda ms: AIMessage(f"Me ha dicho: {ms[-1].text}")])
    assert modelo.invoke("a").text == "Uno."
    assert asyncio.run(modelo.ainvoke("b")).text == "Me ha dicho: b"
    assert modelo.recibidos == [[HumanMessage("a")], [HumanMessage("b")]]


@pytest.mark.parametrize("turnos", [0, 1])
def test_un_guion_agotado_lo_dice(turnos: int) -> None:
    modelo = ModeloGuionizado([AIMessage("Uno.")] * turnos)
    for _ in range(turnos):
        modelo.invoke("a")
    with pytest.raises(GuionAgotado, match=f"tiene {turnos} turnos"):
        modelo.invoke("b")


def test_un_turno_usado_en_dos_hilos_no_lleva_identificador() -> None:
    turno = AIMessage("Hola.")
    agente = crear_agente_cliente(ModeloGuionizado([turno, turno]))
    ids = {
        agente.invoke(PREGUNTA, context=C9, config=configuracion(C9, h))["messages"][-1].id
        for h in ("h1", "h2")
    }
    assert len(ids) == 2
    assert turno.id is None


def test_sin_llm_url_no_hay_modelo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LLM_URL", raising=False)
    assert crear_modelo() is None


def test_con_llm_url_hace_falta_el_nombre_del_modelo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLM_URL", "http://127.0.0.1:1/v1")
    monkeypatch.delenv("LLM_MODEL", raising=False)
    with pytest.raises(VariableIncorrecta, match="LLM_MODEL"):
        crear_modelo()


@pytest.fixture
def servicio(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, str, dict[str, Any]]]]:
    """A server that speaks ``/chat/completions``: first a tool call, then a text. What it was asked."""
    peticiones: list[tuple[str, str, dict[str, Any]]] = []

    class Servicio(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            cuerpo = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            peticiones.append((self.path, self.headers["Authorization"], cuerpo))
            mensaje = {"role": "assistant", "content": "Listo."}
            if len(peticiones) == 1:
                mensaje = {"role": "assistant", "content": None, "tool_calls": [LLAMADA]}  # type: ignore[dict-item]
            eleccion = {"index": 0, "message": mensaje, "finish_reason": "stop"}
            datos = json.dumps(
                {"id": "r", "object": "chat.completion", "created": 0, "model": "m", "choices": [eleccion]}
            ).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(datos)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(datos)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Servicio) as servidor:
        hilo = threading.Thread(target=servidor.serve_forever)
        hilo.start()
        monkeypatch.setenv("LLM_URL", f"http://127.0.0.1:{servidor.server_port}/v1")
        monkeypatch.setenv("LLM_MODEL", "modelo-de-prueba")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        yield peticiones
        servidor.shutdown()
        hilo.join()


@pytest.mark.parametrize("modo", ["invoke", "ainvoke"])
def test_un_agente_sobre_un_servicio_compatible_con_openai(
    servicio: list[tuple[str, str, dict[str, Any]]], monkeypatch: pytest.MonkeyPatch, modo: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "clave-de-otro-servicio")
    monkeypatch.delenv("LLM_API_KEY", raising=False)
    modelo, almacen = crear_modelo(), InMemoryStore()
    assert modelo is not None
    agente = crear_agente_cliente(modelo, almacen=almacen)
    config = configuracion(C9, "h1")
    if modo == "invoke":
        mensajes = agente.invoke(PREGUNTA, context=C9, config=config)["messages"]
    else:
        mensajes = asyncio.run(agente.ainvoke(PREGUNTA, context=C9, config=config))["messages"]

    assert mensajes[-1].text == "Listo."
    assert [i.value["valor"] for i in almacen.search(("clientes", "C9"))] == ["gallego"]
    assert {(ruta, clave) for ruta, clave, _ in servicio} == {("/v1/chat/completions", "Bearer sin-clave")}
    primera, segunda = (cuerpo for _, _, cuerpo in servicio)
    assert primera["model"] == "modelo-de-prueba"
    assert primera["messages"][0] == {"role": "system", "content": prompt_cliente([])}
    assert "gallego" in segunda["messages"][0]["content"]
    assert [t["function"]["name"] for t in primera["tools"]] == [
        *("recordar_preferencia", "preferencias", "consultar_documentos")
    ]


def test_la_clave_configurada_es_la_que_se_envia(
    servicio: list[tuple[str, str, dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLM_API_KEY", "la-mia")
    modelo = crear_modelo()
    assert modelo is not None
    modelo.invoke("Hola")
    assert servicio[0][1] == "Bearer la-mia"
