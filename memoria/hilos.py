"""The checkpointer: every thread has an owner, written down before its first checkpoint is.

``with abrir_checkpointer() as hilos:`` gives a LangGraph ``BaseCheckpointSaver``, sync and async. The owner
comes in ``config["configurable"][CLAVE_SUJETO]``, put there by :func:`memoria.agentes.configuracion` from the
session, never by the model.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from psycopg import Connection
from psycopg.errors import ForeignKeyViolation
from psycopg.rows import DictRow
from psycopg_pool import ConnectionPool

from memoria import entorno, politica
from memoria.conexion import abrir_pool
from memoria.vallas import ConversacionSuprimida, SujetoSuprimido, traducir

T = TypeVar("T")
logger = logging.getLogger(__name__)

#: Two reasons for the underscores and the tuple: LangGraph copies every scalar of ``configurable`` whose key
#: does not begin with ``__`` into ``checkpoints.metadata`` (``get_checkpoint_metadata``), and a subject's id
#: has no business there.
CLAVE_SUJETO = "__memoria_sujeto"

#: What LangGraph itself needs to find in ``checkpoints.metadata``; whatever else a caller left there
#: (an e-mail, a key) is not kept.
_METADATOS = frozenset(CheckpointMetadata.__annotations__)


class ErrorDeHilo(Exception):
    """Base of the errors about threads and their owners."""


class HiloSinDueno(ErrorDeHilo):
    """The run's configuration names no thread or no owner."""

    def __init__(self, falta: str) -> None:
        super().__init__(
            f"La configuración no trae {falta}: constrúyala con memoria.agentes.configuracion()."
        )


class HiloAjeno(ErrorDeHilo):
    """The thread belongs to another subject; having its id is not enough to read or write it."""

    def __init__(self) -> None:
        super().__init__("El hilo pertenece a otro sujeto: use un identificador de hilo propio.")


class HiloSuprimido(ErrorDeHilo):
    """The thread was erased: its id is never used again."""

    def __init__(self) -> None:
        super().__init__("El hilo se ha suprimido y no vuelve: empiece otro con un identificador nuevo.")


@contextmanager
def abrir_checkpointer(conninfo: str | None = None) -> Iterator[CheckpointerMemoria]:
    """Open the checkpointer over a pool of its own; ``conninfo`` defaults to ``PG_AGENTES``.

    Raises :class:`memoria.entorno.VariableIncorrecta`, :class:`memoria.conexion.BaseNoDisponible` and
    :class:`memoria.conexion.BaseSinPreparar`.
    """
    with abrir_pool(conninfo or entorno.conninfo_agentes()) as pool:
        yield CheckpointerMemoria(pool)


class CheckpointerMemoria(PostgresSaver):
    """``PostgresSaver`` that knows whose thread it is."""

    def __init__(self, pool: ConnectionPool[Connection[DictRow]]) -> None:
        # allowed_msgpack_modules=None is LangGraph's strict list: an unlisted class is never instantiated.
        super().__init__(pool, serde=JsonPlusSerializer(allowed_msgpack_modules=None))

    # -- reading ----------------------------------------------------------------------------------

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The latest (or the named) checkpoint of the owner's own thread; ``None`` for a new thread.

        Raises :class:`HiloSinDueno` and :class:`HiloAjeno`.
        """
        self._comprobar_dueno(config)
        tupla = super().get_tuple(config)
        return tupla and _con_dueno(tupla, config)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """The checkpoints of the owner's own thread, newest first. There is no listing across threads."""
        if config is None:
            raise HiloSinDueno("hilo ni dueño")
        self._comprobar_dueno(config)
        for tupla in super().list(config, filter=filter, before=before, limit=limit):
            yield _con_dueno(tupla, config)

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """What LangGraph rebuilds a ``DeltaChannel`` from. Raises as :meth:`get_tuple`."""
        self._comprobar_dueno(config)
        return super().get_delta_channel_history(config=config, channels=channels)

    # -- writing ----------------------------------------------------------------------------------

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint, registering the thread first.

        For some minutes after a person was erased nothing of theirs is kept, and who comes back in that time
        is answered all the same: the checkpoint is not saved, and the log says so.

        Raises :class:`HiloSinDueno`, :class:`HiloAjeno` and :class:`HiloSuprimido`.
        """
        limpios = cast(CheckpointMetadata, {k: v for k, v in metadata.items() if k in _METADATOS})
        siguiente = _solo_direccion(config)
        siguiente["configurable"]["checkpoint_id"] = checkpoint["id"]
        with _si_se_ha_suprimido():
            self._registrar(config)
            super().put(_solo_direccion(config), checkpoint, limpios, new_versions)
        siguiente["configurable"][CLAVE_SUJETO] = config["configurable"][CLAVE_SUJETO]
        return siguiente

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Save pending writes; they may come before the first checkpoint, so they register the thread too."""
        with _si_se_ha_suprimido():
            self._registrar(config)
            super().put_writes(config, writes, task_id, task_path)

    def delete_thread(self, thread_id: str) -> None:
        """Delete a thread's checkpoints and its entry in the registry.

        Raises :class:`memoria.vallas.DatoRetenido` when it is held back from an erasure.
        """
        with traducir():
            super().delete_thread(thread_id)
            with self._cursor() as cursor:
                cursor.execute("DELETE FROM hilos WHERE thread_id = %s", (thread_id,))

    # -- the same, for async callers: PostgresSaver has no async methods of its own ---------------

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        for tupla in await asyncio.to_thread(
            lambda: [*self.list(config, filter=filter, before=before, limit=limit)]
        ):
            yield tupla

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return await asyncio.to_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        await asyncio.to_thread(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        await asyncio.to_thread(self.delete_thread, thread_id)

    # -- the owner --------------------------------------------------------------------------------

    def _comprobar_dueno(self, config: RunnableConfig) -> None:
        thread_id, espacio, sujeto_id = _direccion(config)
        with self._cursor() as cursor:
            cursor.execute("SELECT espacio, sujeto_id FROM hilos WHERE thread_id = %s", (thread_id,))
            fila = cursor.fetchone()
        if fila is not None and (fila["espacio"], fila["sujeto_id"]) != (espacio, sujeto_id):
            raise HiloAjeno

    def _registrar(self, config: RunnableConfig) -> None:
        thread_id, espacio, sujeto_id = _direccion(config)
        with self._cursor() as cursor:
            cursor.execute(_REGISTRAR, (thread_id, espacio, sujeto_id))
            if cursor.fetchone() is None:
                raise HiloAjeno


@contextmanager
def _si_se_ha_suprimido() -> Iterator[None]:
    """Give the refusals of the database their names, see ``sql/vallas.sql``.

    Between the registry and the checkpoint the thread may have gone: then the foreign key refuses.
    """
    try:
        with traducir():
            yield
    except SujetoSuprimido:
        # The fence is the database's word that nothing is kept, not a fault of the conversation.
        logger.warning("Conversación sin guardar: los datos de esa persona se acaban de suprimir.")
    except (ConversacionSuprimida, ForeignKeyViolation):
        raise HiloSuprimido from None


# One statement decides: the row is ours (new or already there), or nothing comes back.
_REGISTRAR = """
INSERT INTO hilos AS h (thread_id, espacio, sujeto_id) VALUES (%s, %s, %s)
ON CONFLICT (thread_id) DO UPDATE SET visto = now()
WHERE h.espacio = EXCLUDED.espacio AND h.sujeto_id = EXCLUDED.sujeto_id
RETURNING thread_id
"""


def _direccion(config: RunnableConfig) -> tuple[str, str, str]:
    """``(thread_id, namespace, subject id)`` of a run. Raises :class:`HiloSinDueno`."""
    configurable = config.get("configurable") or {}
    thread_id = configurable.get("thread_id")
    if not isinstance(thread_id, str) or not thread_id:
        raise HiloSinDueno("hilo (thread_id)")
    dueno = configurable.get(CLAVE_SUJETO)
    if not dueno:
        raise HiloSinDueno("dueño")
    espacio, sujeto_id = politica.sujeto(politica.espacio(*dueno))
    return thread_id, espacio, sujeto_id


def _con_dueno(tupla: CheckpointTuple, config: RunnableConfig) -> CheckpointTuple:
    """With the owner in its addresses: who starts again from one of them is asked for it."""

    def con(direccion: RunnableConfig) -> RunnableConfig:
        dueno = config["configurable"][CLAVE_SUJETO]
        return {**direccion, "configurable": {**direccion["configurable"], CLAVE_SUJETO: dueno}}

    return tupla._replace(
        config=con(tupla.config), parent_config=tupla.parent_config and con(tupla.parent_config)
    )


def _solo_direccion(config: RunnableConfig) -> RunnableConfig:
    """The parts of a configuration that address a checkpoint, and nothing a caller may have left in it."""
    configurable = config["configurable"]
    partes = {k: configurable[k] for k in ("thread_id", "checkpoint_id") if configurable.get(k)}
    return {"configurable": {**partes, "checkpoint_ns": configurable.get("checkpoint_ns", "")}}
