"""The chat model: an OpenAI-compatible endpoint, or a scripted one where there is none (demo and tests)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field, PrivateAttr

from memoria import entorno

if TYPE_CHECKING:
    from langchain_openai import ChatOpenAI

Turno: TypeAlias = AIMessage | Callable[[list[BaseMessage]], AIMessage]


def crear_modelo() -> ChatOpenAI | None:
    """The model that ``LLM_URL``, ``LLM_MODEL`` and ``LLM_API_KEY`` configure; ``None`` with no ``LLM_URL``.

    Raises :class:`memoria.entorno.VariableIncorrecta` when there is an endpoint and no model name.
    """
    e = entorno.modelo()
    if e.url is None:
        return None
    if e.modelo is None:
        raise entorno.VariableIncorrecta("Falta la variable LLM_MODEL: el modelo que sirve LLM_URL.")
    # Here, and not above: agents with a model of their own need not load the OpenAI client.
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(
        model=e.modelo,
        base_url=e.url,
        # Never empty: the client would then send OPENAI_API_KEY, somebody else's key, to this endpoint.
        api_key=e.api_key or "sin-clave",  # type: ignore[arg-type]  # a str is turned into a SecretStr
        use_responses_api=False,
    )


class GuionAgotado(RuntimeError):
    """The scripted model was asked for more turns than its script has."""

    def __init__(self, turnos: int) -> None:
        super().__init__(
            f"El guion del modelo tiene {turnos} turnos y se le ha pedido uno más: añada los que faltan."
        )


class ModeloGuionizado(BaseChatModel):
    """A deterministic chat model that answers with its script, turn by turn, and records what it was sent.

    A turn is an ``AIMessage`` or a function of the messages received. ``recibidos`` holds, per call, those
    messages (the system prompt first); ``herramientas`` the tools offered, as the endpoint would get them.
    """

    guion: list[Any] = Field(default_factory=list)
    recibidos: list[list[BaseMessage]] = Field(default_factory=list)
    herramientas: list[dict[str, Any]] = Field(default_factory=list)
    _turnos: Iterator[Turno] = PrivateAttr()

    def __init__(self, guion: Sequence[Turno], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.guion = list(guion)
        self._turnos = iter(self.guion)

    @property
    def _llm_type(self) -> str:
        return "guionizado"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        # In place: the object a test or the demo holds is the one that records.
        self.herramientas[:] = [convert_to_openai_tool(t) for t in tools]
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return self._siguiente(messages)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return self._siguiente(messages)

    def _siguiente(self, messages: list[BaseMessage]) -> ChatResult:
        self.recibidos.append(list(messages))
        try:
            turno = next(self._turnos)
        except StopIteration:
            raise GuionAgotado(len(self.guion)) from None
        # A copy: LangGraph gives messages an id, and a turn reused in another thread must not bring one.
        mensaje = turno.model_copy() if isinstance(turno, AIMessage) else turno(list(messages))
        return ChatResult(generations=[ChatGeneration(message=mensaje)])
