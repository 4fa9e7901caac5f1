"""The three agents: LangChain's ``create_agent`` with our tools and the prompt that reads the store."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain.agents.middleware.types import InputAgentState, OutputAgentState
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import SystemMessage
from langchain_core.tools import BaseTool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.config import get_config
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore, SearchItem

from memoria import politica
from memoria.agentes import herramientas
from memoria.agentes.contextos import (
    C,
    ContextoCliente,
    ContextoCompras,
    ContextoEmpleado,
    comprobar_contexto,
)
from memoria.agentes.prompts import prompt_de

logger = logging.getLogger(__name__)

Agente: TypeAlias = CompiledStateGraph[AgentState[Any], C, InputAgentState, OutputAgentState[Any]]


def crear_agente_cliente(
    modelo: BaseChatModel,
    *,
    almacen: BaseStore | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
) -> Agente[ContextoCliente]:
    """The agent a customer talks to about an order. It remembers what the customer declares."""
    tools = [
        herramientas.recordar_preferencia(ContextoCliente),
        herramientas.preferencias(ContextoCliente),
        herramientas.consultar_documentos(ContextoCliente),
    ]
    return _crear("cliente", ContextoCliente, modelo, tools, almacen, checkpointer)


def crear_agente_sala(
    modelo: BaseChatModel,
    *,
    almacen: BaseStore | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
) -> Agente[ContextoEmpleado]:
    """The shop assistant's agent. It remembers the section the employee works in."""
    tools = [
        herramientas.recordar_preferencia(ContextoEmpleado),
        herramientas.preferencias(ContextoEmpleado),
        herramientas.consultar_documentos(ContextoEmpleado),
    ]
    return _crear("sala", ContextoEmpleado, modelo, tools, almacen, checkpointer)


def crear_agente_compras(
    modelo: BaseChatModel,
    *,
    almacen: BaseStore | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
) -> Agente[ContextoCompras]:
    """The purchasing planner's agent. It reads the notices of a supplier and writes none."""
    tools = [herramientas.avisos_proveedor(), herramientas.consultar_documentos(ContextoCompras)]
    return _crear("compras", ContextoCompras, modelo, tools, almacen, checkpointer)


def _crear(
    nombre: str,
    clase: type[C],
    modelo: BaseChatModel,
    tools: list[BaseTool],
    almacen: BaseStore | None,
    checkpointer: BaseCheckpointSaver[Any] | None,
) -> Agente[C]:
    return create_agent(
        modelo,
        tools,
        middleware=[PromptConMemoria(clase)],
        context_schema=clase,
        store=almacen,
        checkpointer=checkpointer,
        name=nombre,
    )


class PromptConMemoria(AgentMiddleware[AgentState[Any], C]):
    """Before every model call, puts what the store holds of the run's subject into the system prompt.

    Every call and not every run: a preference said in this turn is already applied in its answer, and one
    erased meanwhile no longer is. It also refuses, before anything is read, a run whose context is not of the
    agent's kind or does not own the thread.
    """

    def __init__(self, clase: type[C]) -> None:
        super().__init__()
        self.clase: type[C] = clase

    def wrap_model_call(
        self, request: ModelRequest[C], handler: Callable[[ModelRequest[C]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        namespace = self._namespace(request.runtime)
        items: list[SearchItem] = []
        if self._lee:
            try:
                items = herramientas.leer_preferencias(request.runtime.store, namespace)
            except herramientas.ALMACEN_CAIDO as error:
                _avisar(error)
        return handler(self._con_prompt(request, items))

    async def awrap_model_call(
        self, request: ModelRequest[C], handler: Callable[[ModelRequest[C]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        namespace = self._namespace(request.runtime)
        items: list[SearchItem] = []
        if self._lee:
            try:
                items = await herramientas.aleer_preferencias(request.runtime.store, namespace)
            except herramientas.ALMACEN_CAIDO as error:
                _avisar(error)
        return await handler(self._con_prompt(request, items))

    @property
    def _lee(self) -> bool:
        # Notices are asked for with a tool: only preferences go into the prompt.
        return bool(politica.ESPACIOS[self.clase.ESPACIO].tipos)

    def _namespace(self, runtime: Runtime[C]) -> tuple[str, str]:
        configurable = get_config().get("configurable", {})
        namespace: tuple[str, str] = comprobar_contexto(runtime.context, self.clase, configurable).namespace
        return namespace

    def _con_prompt(self, request: ModelRequest[C], items: list[SearchItem]) -> ModelRequest[C]:
        texto = prompt_de(self.clase.ESPACIO, [i.value for i in items])
        return request.override(system_message=SystemMessage(texto))


def _avisar(error: Exception) -> None:
    logger.warning("El almacén no responde (%s): el agente sigue sin preferencias.", type(error).__name__)
