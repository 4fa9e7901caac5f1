"""Eight agents keep talking, as the subject and as others, while the subject is erased."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from langchain_core.messages import AIMessage, BaseMessage

from memoria.agentes import ContextoCliente, configuracion, crear_agente_cliente
from memoria.agentes.modelo import ModeloGuionizado
from memoria.hilos import HiloSuprimido
from memoria.models import Documento, Hilo
from memoria.vallas import SujetoSuprimido
from privacidad import servicios
from privacidad.errores import ErrorDePrivacidad
from privacidad.estados import Estado
from privacidad.models import Solicitud

SUPRIMIDO = "C1"
#: Four agents talk as the subject, four as people whose ids look like theirs.
AGENTES = (SUPRIMIDO, SUPRIMIDO, SUPRIMIDO, SUPRIMIDO, "C10", "C", "C_1", "c1")
TIPOS = ("idioma", "horario", "contacto", "recogida")


class Conversador:
    """An agent that talks turn after turn until told to stop, and writes down how each turn ended."""

    def __init__(self, numero: int, cliente: str, almacen: Any, hilos: Any) -> None:
        self.cliente = cliente
        self.respondidos: list[tuple[str, str, str]] = []  # thread, kind and value it was told to remember
        self.rechazos: Counter[str] = Counter()
        self.inesperados: list[BaseException] = []
        self._numero = numero
        self._contexto = ContextoCliente(cliente_id=cliente, tienda="T1")
        self._almacen, self._hilos = almacen, hilos
        self._parar = threading.Event()
        self._hilo = threading.Thread(target=self._hablar)

    def empezar(self) -> None:
        self._hilo.start()

    def terminar(self) -> None:
        self._parar.set()
        self._hilo.join(60)
        assert not self._hilo.is_alive()

    def _hablar(self) -> None:
        turno = 0
        while not self._parar.is_set():
            turno += 1
            # Three turns to a conversation: threads go on and threads begin.
            hilo = f"h-{self._numero}-{turno // 3}"
            tipo, valor = TIPOS[(turno + self._numero) % 4], f"valor {self._numero}-{turno}"
            try:
                self._un_turno(hilo, tipo, valor)
            except (SujetoSuprimido, HiloSuprimido) as error:
                self.rechazos[type(error).__name__] += 1
            except Exception as error:  # noqa: BLE001 - the test fails with what it was
                self.inesperados.append(error)

    def _un_turno(self, hilo: str, tipo: str, valor: str) -> None:
        llamada = {"name": "recordar_preferencia", "args": {"tipo": tipo, "valor": valor}, "id": f"x{valor}"}
        modelo = ModeloGuionizado([AIMessage("", tool_calls=[llamada]), AIMessage(f"Anotado: {valor}")])
        agente: Any = crear_agente_cliente(modelo, almacen=self._almacen, checkpointer=self._hilos)
        final: list[BaseMessage] = agente.invoke(
            {"messages": [("user", valor)]},
            context=self._contexto,
            config=configuracion(self._contexto, hilo),
        )["messages"]
        assert final[-1].content == f"Anotado: {valor}"
        if "Guardada" in str(final[-2].content):
            self.respondidos.append((hilo, tipo, valor))


def test_ocho_agentes_hablan_mientras_se_suprime_a_uno(
    hasta: Callable[..., Any],
    preferencia: Callable[..., None],
    almacen: Any,
    hilos: Any,
    propietario: Any,
) -> None:
    preferencia(SUPRIMIDO)
    solicitud = hasta(Estado.APROBADA, SUPRIMIDO)
    agentes = [Conversador(n, cliente, almacen, hilos) for n, cliente in enumerate(AGENTES)]
    for agente in agentes:
        agente.empezar()
    try:
        esperar(lambda: all(len(a.respondidos) >= 2 for a in agentes))
        evidencia = servicios.ejecutar(solicitud=solicitud)
        antes = [len(a.respondidos) for a in agentes]
        assert lo_que_hay(propietario) == 0  # at zero with everybody still talking
        otros = agentes[4:]
        esperar(lambda: all(len(a.respondidos) >= n + 3 for a, n in zip(otros, antes[4:], strict=True)))
        assert lo_que_hay(propietario) == 0  # and it stays there
    finally:
        for agente in agentes:
            agente.terminar()

    assert [e for a in agentes for e in a.inesperados] == []
    assert all(a.rechazos.total() == 0 for a in otros)  # nobody else lost an answer
    assert solicitud.estado == Estado.COMPLETADA
    assert evidencia.destinos["memoria"]["borrados"]["documentos"] >= 1
    assert evidencia.destinos["hilos"]["borrados"]["hilos"] >= 1
    assert lo_que_hay(propietario) == 0
    for agente in otros:
        comprobar_que_lo_tiene_todo(agente, hilos)


def test_una_supresion_y_la_carga_de_un_agente_no_se_bloquean_para_siempre(
    hasta: Callable[..., Any], conversacion: Callable[..., None], almacen: Any, hilos: Any, propietario: Any
) -> None:
    """Twenty people are erased by two runs at once while some of them talk."""
    sujetos = [f"S{n}" for n in range(20)]
    for sujeto in sujetos:
        conversacion(sujeto, f"h-{sujeto}-0")
    solicitudes = [hasta(Estado.APROBADA, sujeto) for sujeto in sujetos]
    agentes = [Conversador(100 + n, sujetos[n], almacen, hilos) for n in range(4)]
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
            ejecutor.join(60)
            assert not ejecutor.is_alive()
    finally:
        for agente in agentes:
            agente.terminar()
    assert fallos == []
    assert [e for a in agentes for e in a.inesperados] == []
    assert set(Solicitud.objects.values_list("estado", flat=True)) == {Estado.COMPLETADA}
    assert not Documento.objects.exists()
    assert not Hilo.objects.exists()


def comprobar_que_lo_tiene_todo(agente: Conversador, hilos: Any) -> None:
    """The last value of each kind is in its card, and every conversation is whole in its thread."""
    ultimos = {f"pref-{tipo}": valor for _, tipo, valor in agente.respondidos}
    ficha = Documento.objects.del_sujeto("clientes", agente.cliente)
    assert {d.key: d.value["valor"] for d in ficha} == ultimos
    contexto = ContextoCliente(cliente_id=agente.cliente, tienda="T1")
    for hilo in {h for h, _, _ in agente.respondidos}:
        punto = hilos.get_tuple(configuracion(contexto, hilo))
        dichos = [m.content for m in punto.checkpoint["channel_values"]["messages"]]
        for _, _, valor in (r for r in agente.respondidos if r[0] == hilo):
            assert valor in dichos
            assert f"Anotado: {valor}" in dichos


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


def esperar(condicion: Callable[[], bool]) -> None:
    for _ in range(1200):
        if condicion():
            return
        threading.Event().wait(0.05)
    pytest.fail("the agents did not get that far in a minute")
