"""Eight agents keep talking, as the subject and as others, while the subject is erased."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from django.db import connection
from langchain_core.messages import AIMessage, BaseMessage

from memoria.agentes import ContextoCliente, configuracion, crear_agente_cliente
from memoria.agentes.modelo import ModeloGuionizado
from memoria.hilos import HiloSuprimido
from memoria.models import Documento, Hilo
from privacidad import servicios
from privacidad.errores import ErrorDePrivacidad
from privacidad.estados import Estado
from privacidad.models import Solicitud
from tests.esperas import LIMITE

# LangChain silences it while it makes a tool, for the whole process: of two agents that are made at once, the
# first to be done lets the other's through, and here a warning is an error.
pytestmark = pytest.mark.filterwarnings("ignore::pydantic.PydanticDeprecatedSince20")

SUPRIMIDO = "C1"
#: Four agents talk as the subject, four as people whose ids look like theirs; CALLADO says nothing meanwhile.
AGENTES = (SUPRIMIDO, SUPRIMIDO, SUPRIMIDO, SUPRIMIDO, "C10", "C", "C_1", "c1")
CALLADO = "C11"
TIPOS = ("idioma", "horario", "contacto", "recogida")

# How a turn may end.
GUARDADO = "answered and kept"
SIN_GUARDAR = "answered and not kept"
RECHAZADO = "refused: its thread was erased"


class Turno(NamedTuple):
    """One turn of a conversation, what it was told to remember, and how it ended."""

    hilo: str
    tipo: str
    valor: str
    tras_suprimir: bool  # it began when the erasure was already committed
    fin: str


class Escena:
    """What the agents of one test share: whether the erasure is committed, and what went wrong with any."""

    def __init__(self) -> None:
        self.suprimido = threading.Event()
        self.inesperados: list[BaseException] = []
        self._turno = threading.Condition()

    def avisar(self) -> None:
        with self._turno:
            self._turno.notify_all()

    def esperar(self, condicion: Callable[[], bool]) -> None:
        """Until the condition holds; it is looked at whenever a turn ends."""
        with self._turno:
            llegaron = self._turno.wait_for(lambda: bool(self.inesperados) or condicion(), LIMITE)
        assert self.inesperados == []
        assert llegaron, "the agents did not get that far"


class Conversador:
    """An agent that talks turn after turn until told to stop, and writes down how each turn ended."""

    def __init__(self, numero: int, cliente: str, almacen: Any, hilos: Any, escena: Escena) -> None:
        self.cliente = cliente
        self.turnos: list[Turno] = []
        self._numero = numero
        self._contexto = ContextoCliente(cliente_id=cliente, tienda="T1")
        self._almacen, self._hilos, self._escena = almacen, hilos, escena
        self._parar = threading.Event()
        self._hilo = threading.Thread(target=self._hablar)

    def empezar(self) -> None:
        self._hilo.start()

    def terminar(self) -> None:
        self._parar.set()
        self._hilo.join(LIMITE)
        assert not self._hilo.is_alive()

    @property
    def primero(self) -> str:
        """The thread of its first conversation, to which it comes back every fourth turn."""
        return f"h-{self._numero}-0"

    def guardados(self) -> list[Turno]:
        return [t for t in self.turnos if t.fin == GUARDADO]

    def tras_suprimir(self, *, en_hilo_nuevo: bool) -> list[Turno]:
        """The turns begun since the erasure, in a thread that began since then too, or in its first one."""
        antes = {t.hilo for t in self.turnos if not t.tras_suprimir}
        return [
            t
            for t in self.turnos
            if t.tras_suprimir and (t.hilo not in antes if en_hilo_nuevo else t.hilo == self.primero)
        ]

    def _hablar(self) -> None:
        turno = 0
        while not self._parar.is_set():
            turno += 1
            # Three turns to a conversation: threads go on and threads begin.
            hilo = self.primero if turno % 4 == 0 else f"h-{self._numero}-{turno // 3}"
            tipo, valor = TIPOS[(turno + self._numero) % 4], f"valor {self._numero}-{turno}"
            tras_suprimir = self._escena.suprimido.is_set()
            try:
                fin = self._un_turno(hilo, tipo, valor)
            except HiloSuprimido:
                fin = RECHAZADO
            except Exception as error:  # noqa: BLE001 - the test fails with what it was
                self._escena.inesperados.append(error)
                self._escena.avisar()
                return
            self.turnos.append(Turno(hilo, tipo, valor, tras_suprimir, fin))
            self._escena.avisar()

    def _un_turno(self, hilo: str, tipo: str, valor: str) -> str:
        llamada = {"name": "recordar_preferencia", "args": {"tipo": tipo, "valor": valor}, "id": f"x{valor}"}
        modelo = ModeloGuionizado([AIMessage("", tool_calls=[llamada]), AIMessage(f"Anotado: {valor}")])
        agente: Any = crear_agente_cliente(modelo, almacen=self._almacen, checkpointer=self._hilos)
        final: list[BaseMessage] = agente.invoke(
            {"messages": [("user", valor)]},
            context=self._contexto,
            config=configuracion(self._contexto, hilo),
        )["messages"]
        assert final[-1].content == f"Anotado: {valor}"
        dijo_la_memoria = str(final[-2].content)
        if "Guardada" in dijo_la_memoria:
            return GUARDADO
        assert "se acaban de suprimir" in dijo_la_memoria, dijo_la_memoria
        return SIN_GUARDAR


def test_ocho_agentes_hablan_mientras_se_suprime_a_uno(
    hasta: Callable[..., Any],
    preferencia: Callable[..., None],
    conversacion: Callable[..., None],
    almacen: Any,
    hilos: Any,
    propietario: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    preferencia(SUPRIMIDO)
    preferencia(CALLADO)
    conversacion(CALLADO, "h-callado")
    solicitud = hasta(Estado.APROBADA, SUPRIMIDO)
    callado = lo_del_callado(propietario)
    escena = Escena()
    agentes = [Conversador(n, cliente, almacen, hilos, escena) for n, cliente in enumerate(AGENTES)]
    suyos, otros = agentes[:4], agentes[4:]
    for agente in agentes:
        agente.empezar()
    try:
        escena.esperar(lambda: all(len(a.guardados()) >= 2 for a in agentes))
        evidencia = servicios.ejecutar(solicitud=solicitud)
        escena.suprimido.set()
        assert lo_que_hay(propietario) == 0  # at zero with everybody still talking
        # Everybody goes on: in the conversation each began with, and in conversations begun since.
        escena.esperar(
            lambda: all(
                len(a.tras_suprimir(en_hilo_nuevo=True)) >= 3 and a.tras_suprimir(en_hilo_nuevo=False)
                for a in agentes
            )
        )
        assert lo_que_hay(propietario) == 0  # and it stays there
    finally:
        for agente in agentes:
            agente.terminar()

    assert escena.inesperados == []
    assert solicitud.estado == Estado.COMPLETADA
    assert evidencia.destinos["memoria"]["borrados"]["documentos"] >= 1
    assert evidencia.destinos["hilos"]["borrados"]["hilos"] >= 4  # each agent's first one
    assert lo_que_hay(propietario) == 0

    sin_guardar = 0
    for agente in suyos:
        nuevos = agente.tras_suprimir(en_hilo_nuevo=True)
        assert {t.fin for t in nuevos} == {SIN_GUARDAR}  # who comes back is answered
        assert {t.fin for t in agente.tras_suprimir(en_hilo_nuevo=False)} == {RECHAZADO}
        assert GUARDADO not in {t.fin for t in agente.turnos if t.tras_suprimir}
        sin_guardar += len(nuevos)
    assert caplog.text.count("Conversación sin guardar") >= sin_guardar  # the log says it of each
    for agente in otros:
        assert {t.fin for t in agente.turnos} == {GUARDADO}  # nobody else lost an answer
        comprobar_que_lo_tiene_todo(agente, hilos)
    assert lo_del_callado(propietario) == callado


def test_una_supresion_y_la_carga_de_un_agente_no_se_bloquean_para_siempre(
    hasta: Callable[..., Any], conversacion: Callable[..., None], almacen: Any, hilos: Any, propietario: Any
) -> None:
    """Twenty people are erased by two runs at once while some of them talk."""
    sujetos = [f"S{n}" for n in range(20)]
    for sujeto in sujetos:
        conversacion(sujeto, f"h-{sujeto}-0")
    solicitudes = [hasta(Estado.APROBADA, sujeto) for sujeto in sujetos]
    escena = Escena()
    agentes = [Conversador(100 + n, sujetos[n], almacen, hilos, escena) for n in range(4)]
    for agente in agentes:
        agente.empezar()
    fallos: list[str] = []

    def suprimir(cuales: list[Solicitud]) -> None:
        try:
            for solicitud in cuales:
                servicios.ejecutar(solicitud=Solicitud.objects.get(pk=solicitud.pk))
        except ErrorDePrivacidad as error:
            fallos.append(str(error))
        finally:
            connection.close()

    ejecutores = [threading.Thread(target=suprimir, args=[solicitudes[n::2]]) for n in range(2)]
    try:
        for ejecutor in ejecutores:
            ejecutor.start()
        for ejecutor in ejecutores:
            ejecutor.join(LIMITE)
            assert not ejecutor.is_alive()
    finally:
        for agente in agentes:
            agente.terminar()
    assert fallos == []
    assert escena.inesperados == []
    assert set(Solicitud.objects.values_list("estado", flat=True)) == {Estado.COMPLETADA}
    assert not Documento.objects.exists()
    assert not Hilo.objects.exists()


def comprobar_que_lo_tiene_todo(agente: Conversador, hilos: Any) -> None:
    """The last value of each kind is in its card, and every conversation is whole in its thread."""
    ultimos = {f"pref-{t.tipo}": t.valor for t in agente.turnos}
    ficha = Documento.objects.del_sujeto("clientes", agente.cliente)
    assert {d.key: d.value["valor"] for d in ficha} == ultimos
    contexto = ContextoCliente(cliente_id=agente.cliente, tienda="T1")
    for hilo in {t.hilo for t in agente.turnos}:
        punto = hilos.get_tuple(configuracion(contexto, hilo))
        dichos = [m.content for m in punto.checkpoint["channel_values"]["messages"]]
        for turno in (t for t in agente.turnos if t.hilo == hilo):
            assert turno.valor in dichos
            assert f"Anotado: {turno.valor}" in dichos


def lo_del_callado(propietario: Any) -> list[str]:
    """Every row, all columns, of somebody who says nothing while others are erased."""
    filas: list[str] = []
    for tabla, donde in (
        ("langgraph.store", f"prefix = 'clientes.{CALLADO}'"),
        ("langgraph.store_vectors", f"prefix = 'clientes.{CALLADO}'"),
        ("hilos", "thread_id = 'h-callado'"),
        ("langgraph.checkpoints", "thread_id = 'h-callado'"),
        ("langgraph.checkpoint_blobs", "thread_id = 'h-callado'"),
        ("langgraph.checkpoint_writes", "thread_id = 'h-callado'"),
    ):
        filas += [f[0] for f in propietario.execute(f"SELECT to_jsonb(t)::text FROM {tabla} t WHERE {donde}")]
    assert len(filas) >= 5
    return sorted(filas)


def lo_que_hay(propietario: Any) -> int:
    """Rows of the erased subject, wherever: whatever is in no other subject's registered thread is theirs."""
    (cuantas,) = propietario.execute(
        """
        SELECT (SELECT count(*) FROM langgraph.store
                WHERE prefix = 'clientes.C1' OR starts_with(prefix, 'clientes.C1.'))
             + (SELECT count(*) FROM hilos WHERE sujeto_id = 'C1')
             + (SELECT count(*) FROM langgraph.checkpoints c WHERE thread_id ~ '^h-[0-3]-')
             + (SELECT count(*) FROM langgraph.checkpoint_blobs WHERE thread_id ~ '^h-[0-3]-')
             + (SELECT count(*) FROM langgraph.checkpoint_writes WHERE thread_id ~ '^h-[0-3]-')
        """
    ).fetchone()
    return int(cuantas)
