"""The conversations of the sample, run through the real agents with the store and the checkpointer.

With ``LLM_URL`` the configured model answers; without it a scripted one does, turn by turn. Threads and
values are the same at every run, so filling twice says the same things again and adds nobody.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore

from memoria.agentes import (
    Contexto,
    ContextoCliente,
    ContextoCompras,
    ContextoEmpleado,
    ModeloGuionizado,
    configuracion,
    crear_agente_cliente,
    crear_agente_compras,
    crear_agente_sala,
    crear_modelo,
)
from memoria.muestra.datos import CLIENTES, DICHOS, PROVEEDORES, SECCIONES


def conversar_clientes(
    almacen: BaseStore, hilos: BaseCheckpointSaver[Any], hechos: Collection[str] = ()
) -> None:
    """Each customer says one or two lasting things, each in its thread, and some ask something in another.

    Threads in ``hechos`` are left as they are.
    """
    for n in range(1, CLIENTES + 1):
        contexto = ContextoCliente(cliente_id=f"C{n}", tienda="T1")
        for m in range(1 + n % 2):
            tipo, dicho, valor = DICHOS[(n + 3 * m) % len(DICHOS)]
            _hablar(
                crear_agente_cliente,
                contexto,
                f"pedido-{n}-{m + 1}",
                dicho,
                [
                    _llamada("recordar_preferencia", {"tipo": tipo, "valor": valor}),
                    "Tomo nota. ¿Algo más?",
                ],
                almacen,
                hilos,
                hechos,
            )
        if n % 4 == 0:
            _hablar(
                crear_agente_cliente,
                contexto,
                f"consulta-{n}",
                "¿Cómo va mi pedido?",
                ["Su pedido está en reparto y llega mañana."],
                almacen,
                hilos,
                hechos,
            )


def conversar_empleados(
    almacen: BaseStore, hilos: BaseCheckpointSaver[Any], hechos: Collection[str] = ()
) -> None:
    """Shop assistants say where they work; planners ask about a supplier."""
    for n, seccion in enumerate(SECCIONES, start=1):
        _hablar(
            crear_agente_sala,
            ContextoEmpleado(empleado_id=f"E{n}", tienda=f"T{1 + n % 3}"),
            f"sala-{n}",
            f"Estoy en {seccion} toda la temporada",
            [
                _llamada("recordar_preferencia", {"tipo": "seccion", "valor": seccion}),
                "De acuerdo, lo tengo en cuenta.",
            ],
            almacen,
            hilos,
            hechos,
        )
    for n, proveedor in enumerate(PROVEEDORES[:4], start=1):
        _hablar(
            crear_agente_compras,
            ContextoCompras(comprador_id=f"E{100 + n}", proveedor_id=proveedor.codigo),
            f"planificacion-{n}",
            "¿Hay algo que deba saber antes de pedir para el verano?",
            [
                _llamada("avisos_proveedor", {"consulta": "cierre de vacaciones de verano"}),
                "Cierran en agosto: conviene pedir antes del 10 de julio.",
            ],
            almacen,
            hilos,
            hechos,
        )


def _llamada(herramienta: str, argumentos: dict[str, Any]) -> AIMessage:
    return AIMessage(
        "", tool_calls=[{"name": herramienta, "args": argumentos, "id": f"llamada-{herramienta}"}]
    )


def _hablar(
    crear_agente: Any,
    contexto: Contexto,
    hilo: str,
    dicho: str,
    guion: Sequence[AIMessage | str],
    almacen: BaseStore,
    hilos: BaseCheckpointSaver[Any],
    hechos: Collection[str],
) -> None:
    if hilo in hechos:
        return
    modelo: BaseChatModel = crear_modelo() or ModeloGuionizado(
        [AIMessage(turno) if isinstance(turno, str) else turno for turno in guion]
    )
    agente = crear_agente(modelo, almacen=almacen, checkpointer=hilos)
    agente.invoke({"messages": [("user", dicho)]}, context=contexto, config=configuracion(contexto, hilo))
