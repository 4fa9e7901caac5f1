"""The product end to end, in a real browser and with the real agents: from a notice to an erased customer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_core.messages import AIMessage

from memoria.agentes import (
    ContextoCliente,
    ContextoCompras,
    ModeloGuionizado,
    configuracion,
    crear_agente_cliente,
    crear_agente_compras,
)
from memoria.almacen import AlmacenMemoria
from memoria.hilos import CheckpointerMemoria


def llamada(herramienta: str, **argumentos: str) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": herramienta, "args": argumentos, "id": "1"}])


def hablar(
    crear: Any, guion: list[AIMessage], contexto: Any, hilo: str, almacen: Any, hilos: Any
) -> tuple[dict[str, Any], ModeloGuionizado]:
    modelo = ModeloGuionizado(guion)
    agente = crear(modelo, almacen=almacen, checkpointer=hilos)
    estado = agente.invoke(
        {"messages": [("user", "hola")]}, context=contexto, config=configuracion(contexto, hilo)
    )
    return estado, modelo


def test_a_notice_written_in_the_browser_is_found_by_the_agent_by_meaning(
    visitar: Callable[..., Any], almacen: AlmacenMemoria, hilos: CheckpointerMemoria
) -> None:
    from compras.models import Proveedor

    Proveedor.objects.create(codigo="P1", nombre="Alfares del Turia")
    visita = visitar("compras")
    pagina = visita.ir("/compras/avisos/nuevo/")
    pagina.get_by_label("Proveedor").fill("P1")
    pagina.get_by_label("Texto").fill("Cierran la fábrica por vacaciones del 3 al 24 de agosto.")
    visita.pulsar("Guardar")
    assert "Cierran la fábrica" in pagina.locator("main, #content").first.inner_text()

    estado, _modelo = hablar(
        crear_agente_compras,
        [
            llamada("avisos_proveedor", consulta="¿cuándo no trabajan en verano?"),
            AIMessage("Cierran en agosto."),
        ],
        ContextoCompras(comprador_id="E1", proveedor_id="P1"),
        "h1",
        almacen,
        hilos,
    )
    respuestas = [m.content for m in estado["messages"] if m.type == "tool"]
    assert len(respuestas) == 1
    assert "Cierran la fábrica" in str(respuestas[0])


def test_an_erased_customer_is_unknown_to_the_agent(
    visitar: Callable[..., Any], almacen: AlmacenMemoria, hilos: CheckpointerMemoria
) -> None:
    cliente = ContextoCliente(cliente_id="C9", tienda="T1")
    hablar(
        crear_agente_cliente,
        [llamada("recordar_preferencia", tipo="recogida", valor="tienda de Getafe"), AIMessage("Anotado.")],
        cliente,
        "h1",
        almacen,
        hilos,
    )
    _estado, modelo = hablar(crear_agente_cliente, [AIMessage("Hola.")], cliente, "h2", almacen, hilos)
    assert "tienda de Getafe" in str(modelo.recibidos[0][0].content)

    visita = visitar("dpo", nombre="dpo1")
    pagina = visita.ir("/privacidad/solicitudes/nueva/")
    pagina.get_by_label("De quién son los datos").select_option("clientes")
    pagina.get_by_label("Identificador de la persona").fill("C9")
    pagina.get_by_label("Por dónde llegó").select_option("tienda")
    visita.pulsar("Registrar")
    solicitud = pagina.url.removeprefix(visita.sitio)
    assert "C9" not in solicitud
    pagina.get_by_label("Cómo se ha comprobado quién lo pide").fill("Documento enseñado en tienda")
    visita.pulsar("Anotar la comprobación")
    visita.pulsar("Contar lo que hay")

    otra = visitar("dpo", nombre="dpo2")
    pagina = otra.ir(solicitud)
    otra.pulsar("Aprobar la supresión")
    otra.pulsar("Borrar los datos de esta persona")
    filas = pagina.get_by_role("region", name="Recuentos antes y después").locator("tbody tr").all()
    recuentos = {fila.locator("td").first.inner_text(): fila.locator("td.numero") for fila in filas}
    assert {que: celdas.all_inner_texts() for que, celdas in recuentos.items() if "ocumento" in que}
    assert all(celdas.last.inner_text() == "0" for celdas in recuentos.values())
    assert any(celdas.first.inner_text() != "0" for celdas in recuentos.values())

    _estado, modelo = hablar(crear_agente_cliente, [AIMessage("Hola.")], cliente, "h3", almacen, hilos)
    prompt = str(modelo.recibidos[0][0].content)
    assert "- (ninguna)" in prompt
    assert "Getafe" not in prompt
    assert almacen.search(("clientes", "C9")) == []
