"""The checkpointer: the owner is written before the first checkpoint, and nobody else reads the thread."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import psycopg
import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages

from memoria.hilos import CLAVE_SUJETO, CheckpointerMemoria, HiloAjeno, HiloSinDueno


class Estado(TypedDict):
    messages: Annotated[list[Any], add_messages]


def eco(estado: Estado) -> dict[str, Any]:
    return {"messages": [("ai", "eco")]}


def grafo(hilos: CheckpointerMemoria) -> Any:
    g: Any = StateGraph(Estado)  # its overloads cannot be told apart by mypy here
    g.add_node("eco", eco)
    g.add_edge(START, "eco")
    g.add_edge("eco", END)
    return g.compile(checkpointer=hilos)


def config(
    hilo: str = "h1", sujeto: tuple[str, str] | None = ("clientes", "C9"), **mas: Any
) -> RunnableConfig:
    configurable: dict[str, Any] = {"thread_id": hilo, **mas}
    if sujeto:
        configurable[CLAVE_SUJETO] = sujeto
    return {"configurable": configurable}


HOLA = {"messages": [("user", "hola")]}


def test_a_thread_remembers_its_turns(hilos: CheckpointerMemoria) -> None:
    agente = grafo(hilos)
    agente.invoke(HOLA, config())
    assert len(agente.invoke(HOLA, config())["messages"]) == 4
    assert len(list(agente.get_state_history(config()))) > 2


def test_the_async_methods_do_the_same(hilos: CheckpointerMemoria) -> None:
    async def dos_turnos() -> tuple[int, int]:
        agente = grafo(hilos)
        await agente.ainvoke(HOLA, config())
        estado = await agente.ainvoke(HOLA, config())
        historia = [e async for e in agente.aget_state_history(config())]
        await hilos.adelete_thread("h1")
        return len(estado["messages"]), len(historia)

    assert asyncio.run(dos_turnos()) == (4, 6)
    assert hilos.get_tuple(config()) is None


def test_every_saved_thread_is_registered_with_its_owner(
    hilos: CheckpointerMemoria, propietario: psycopg.Connection
) -> None:
    grafo(hilos).invoke(HOLA, config())
    assert propietario.execute("SELECT thread_id, espacio, sujeto_id FROM hilos").fetchall() == [
        ("h1", "clientes", "C9")
    ]


def test_the_database_refuses_a_checkpoint_of_an_unregistered_thread(bd: str, como: Any) -> None:
    """Complete by construction: whoever writes, with our checkpointer or without it."""
    agentes = como("memoria_agentes")
    for tabla, columnas, valores in (
        ("checkpoints", "thread_id, checkpoint_id, checkpoint", "'x', '1', '{}'"),
        ("checkpoint_blobs", "thread_id, channel, version, type", "'x', 'c', '1', 't'"),
        (
            "checkpoint_writes",
            "thread_id, checkpoint_id, task_id, idx, channel, blob",
            "'x', '1', 't', 0, 'c', ''",
        ),
    ):
        with pytest.raises(psycopg.errors.ForeignKeyViolation):
            agentes.execute(f"INSERT INTO langgraph.{tabla} ({columnas}) VALUES ({valores})")


def test_pending_writes_that_come_first_register_the_thread_too(
    hilos: CheckpointerMemoria, propietario: psycopg.Connection
) -> None:
    hilos.put_writes(config(checkpoint_ns="", checkpoint_id="1"), [("canal", "valor")], "tarea")
    assert propietario.execute("SELECT count(*) FROM hilos").fetchone() == (1,)


def test_the_id_of_a_thread_is_not_enough_to_read_or_write_it(hilos: CheckpointerMemoria) -> None:
    agente = grafo(hilos)
    agente.invoke(HOLA, config())
    ajeno = config(sujeto=("clientes", "C10"))
    for intento in (
        lambda: agente.invoke(HOLA, ajeno),
        lambda: agente.get_state(ajeno),
        lambda: list(agente.get_state_history(ajeno)),
        lambda: agente.update_state(ajeno, HOLA),
        lambda: hilos.put_writes(
            config(sujeto=("clientes", "C10"), checkpoint_ns="", checkpoint_id="1"), [], "t"
        ),
    ):
        with pytest.raises(HiloAjeno):
            intento()
    assert len(agente.get_state(config()).values["messages"]) == 2


@pytest.mark.parametrize(
    "malo",
    [
        {"configurable": {"thread_id": "h1"}},
        {"configurable": {CLAVE_SUJETO: ("clientes", "C9")}},
        {"configurable": {"thread_id": "", CLAVE_SUJETO: ("clientes", "C9")}},
        {},
    ],
)
def test_a_run_without_thread_or_owner_is_an_error(
    hilos: CheckpointerMemoria, propietario: psycopg.Connection, malo: RunnableConfig
) -> None:
    with pytest.raises(HiloSinDueno, match="configuracion"):
        hilos.get_tuple(malo)
    with pytest.raises(HiloSinDueno):
        list(hilos.list(malo))
    assert propietario.execute("SELECT count(*) FROM hilos").fetchone() == (0,)


def test_one_goes_on_from_an_older_turn_with_its_own_address(hilos: CheckpointerMemoria) -> None:
    """A snapshot says where it is: that address has the owner too, or nobody could start from it."""
    agente = grafo(hilos)
    agente.invoke(HOLA, config())
    agente.invoke(HOLA, config())
    viejo = next(e for e in agente.get_state_history(config()) if len(e.values.get("messages", [])) == 2)
    assert agente.get_state(viejo.config).values == viejo.values
    assert agente.get_state(viejo.parent_config) is not None
    assert len(agente.invoke(HOLA, viejo.config)["messages"]) == 4


def test_the_history_of_a_channel_is_its_owners(hilos: CheckpointerMemoria) -> None:
    agente = grafo(hilos)
    agente.invoke(HOLA, config())
    punto = agente.get_state(config()).config["configurable"]["checkpoint_id"]
    suya = config(checkpoint_id=punto)
    assert hilos.get_delta_channel_history(config=suya, channels=["messages"])["messages"]
    assert asyncio.run(hilos.aget_delta_channel_history(config=suya, channels=["messages"]))["messages"]
    ajena = config(sujeto=("clientes", "C10"), checkpoint_id=punto)
    with pytest.raises(HiloAjeno):
        hilos.get_delta_channel_history(config=ajena, channels=["messages"])
    with pytest.raises(HiloAjeno):
        asyncio.run(hilos.aget_delta_channel_history(config=ajena, channels=["messages"]))


def test_there_is_no_listing_across_threads(hilos: CheckpointerMemoria) -> None:
    with pytest.raises(HiloSinDueno):
        list(hilos.list(None))


def test_what_a_caller_left_in_the_configuration_is_not_kept(
    hilos: CheckpointerMemoria, propietario: psycopg.Connection
) -> None:
    """aegra#267 (M16): the stock saver copies the scalars of `configurable` and `metadata` into a column."""
    con_canario = config(correo="canario@ejemplo.es", clave="canario-2")
    con_canario["metadata"] = {"usuario": "canario-3"}
    grafo(hilos).invoke(HOLA, con_canario)
    volcado = "".join(
        str(fila)
        for tabla in ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
        for fila in propietario.execute(f"SELECT t::text FROM langgraph.{tabla} t").fetchall()
    )
    blobs = b"".join(
        bytes(f[0] or b"")
        for tabla in ("checkpoint_blobs", "checkpoint_writes")
        for f in propietario.execute(f"SELECT blob FROM langgraph.{tabla}").fetchall()
    )
    assert "canario" not in volcado
    assert "C9" not in volcado
    assert b"canario" not in blobs


@dataclass
class Ajena:
    """A class no checkpoint may bring back."""

    valor: str


def test_an_unlisted_class_is_never_instantiated(hilos: CheckpointerMemoria) -> None:
    """lg#7533, CVE-2026-28277 (M15)."""
    vuelta = hilos.serde.loads_typed(hilos.serde.dumps_typed({"x": Ajena("a")}))
    assert not isinstance(vuelta["x"], Ajena)
