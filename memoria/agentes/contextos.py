"""Who a run is about. The application fills it from the session; the model never sees it nor fills it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeVar

from langchain_core.runnables import RunnableConfig

from memoria import politica
from memoria.hilos import CLAVE_SUJETO

#: The thread id is kept as the ``hilo`` of a preference, so it may not be longer than that field.
LARGO_MAXIMO_HILO = 200


class ContextoIncorrecto(ValueError):
    """The application gave a run no context, the wrong one, or one that does not match its thread."""


@dataclass(frozen=True)
class ContextoCliente:
    """A customer talking about an order."""

    ESPACIO: ClassVar[str] = "clientes"
    #: The owner space of the documents that a run of this kind may read.
    DOCUMENTOS: ClassVar[str] = "cliente"

    cliente_id: str
    tienda: str

    def __post_init__(self) -> None:
        _exigir_textos(self)

    @property
    def dueno(self) -> tuple[str, str]:
        """Namespace and id of the subject the thread belongs to."""
        return self.ESPACIO, self.cliente_id

    @property
    def namespace(self) -> tuple[str, str]:
        """The namespace of the store this run reads and writes."""
        return politica.espacio(*self.dueno)


@dataclass(frozen=True)
class ContextoEmpleado:
    """A shop assistant at work."""

    ESPACIO: ClassVar[str] = "empleados"
    DOCUMENTOS: ClassVar[str] = "sala"

    empleado_id: str
    tienda: str

    def __post_init__(self) -> None:
        _exigir_textos(self)

    @property
    def dueno(self) -> tuple[str, str]:
        """Namespace and id of the subject the thread belongs to."""
        return self.ESPACIO, self.empleado_id

    @property
    def namespace(self) -> tuple[str, str]:
        """The namespace of the store this run reads and writes."""
        return politica.espacio(*self.dueno)


@dataclass(frozen=True)
class ContextoCompras:
    """A purchasing planner on one supplier: the thread is the planner's, the notices the supplier's."""

    ESPACIO: ClassVar[str] = "proveedores"
    DOCUMENTOS: ClassVar[str] = "compras"

    comprador_id: str
    proveedor_id: str

    def __post_init__(self) -> None:
        _exigir_textos(self)

    @property
    def dueno(self) -> tuple[str, str]:
        """Namespace and id of the subject the thread belongs to: the planner is an employee."""
        return "empleados", self.comprador_id

    @property
    def namespace(self) -> tuple[str, str]:
        """The namespace of the store this run reads."""
        return politica.espacio(self.ESPACIO, self.proveedor_id)


Contexto = ContextoCliente | ContextoEmpleado | ContextoCompras
C = TypeVar("C", ContextoCliente, ContextoEmpleado, ContextoCompras)


def configuracion(contexto: Contexto, thread_id: str) -> RunnableConfig:
    """The configuration of a run: its thread and the thread's owner, where the checkpointer looks for them.

    LangGraph copies scalars of ``configurable`` into ``checkpoints.metadata``; the owner is a tuple under a
    key that begins with ``__``, so it is not among them.

    Raises :class:`ContextoIncorrecto` for a thread id that could not be stored.
    """
    if not isinstance(contexto, Contexto):
        raise ContextoIncorrecto("La configuración de un hilo se construye con el contexto de quien lo abre.")
    if (
        not isinstance(thread_id, str)
        or not thread_id.strip()
        or len(thread_id) > LARGO_MAXIMO_HILO
        or not thread_id.isprintable()
    ):
        raise ContextoIncorrecto(
            f"El identificador del hilo es un texto de 1 a {LARGO_MAXIMO_HILO} caracteres visibles."
        )
    return {"configurable": {"thread_id": thread_id, CLAVE_SUJETO: contexto.dueno}}


def comprobar_contexto(contexto: object, clase: type[C], configurable: Mapping[str, Any]) -> C:
    """The context of a run, once it is sure that it is of the agent's kind and owns the run's thread.

    Without this a run with the context of one customer and the configuration of another would read one's card
    into the other's conversation. Raises :class:`ContextoIncorrecto`.
    """
    if not isinstance(contexto, clase):
        raise ContextoIncorrecto(
            f"Este agente se llama con context={clase.__name__}(…), y no ha llegado uno."
        )
    dueno = configurable.get(CLAVE_SUJETO)
    if dueno is not None and tuple(dueno) != contexto.dueno:
        raise ContextoIncorrecto(
            "El contexto y la configuración son de sujetos distintos: construya la configuración con "
            "configuracion(contexto, hilo) y ese mismo contexto."
        )
    return contexto


def _exigir_textos(contexto: Contexto) -> None:
    for campo in fields(contexto):
        valor = getattr(contexto, campo.name)
        quien = f"«{campo.name}» de {type(contexto).__name__}"
        if not isinstance(valor, str) or not valor.strip():
            raise ContextoIncorrecto(f"{quien} es un texto y no puede estar vacío.")
        if not valor.isprintable():
            raise ContextoIncorrecto(f"{quien} tiene caracteres que no se pueden guardar: quítelos.")
