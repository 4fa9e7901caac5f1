"""The run itself: count, delete, count again, and keep the proof. One transaction, the caller's.

Concurrency. Each statement reads what is committed at that instant (READ COMMITTED), so an agent's write that
commits between the first count and the last one makes the numbers differ, and everything is rolled back and
tried again later. Threads are held from the start (see :meth:`Sujeto.capturar`). A ``put`` that is still
uncommitted at the last count is not seen: it lands after the erasure, as a write of a moment later would.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from django.db import connection

from privacidad.destinos import DESTINOS, Recuento, Sujeto, destino
from privacidad.destinos.base import Destino
from privacidad.errores import RecuentoDistinto
from privacidad.models import Evidencia, Solicitud


def vista_previa(solicitud: Solicitud) -> dict[str, Recuento]:
    """``{destination: {what: how many}}`` of what an erasure would take; changes nothing."""
    sujeto = Sujeto.capturar(solicitud.espacio, solicitud.sujeto_id)
    return {d.nombre: d.contar(sujeto) for d in DESTINOS}


def suprimir(solicitud: Solicitud) -> Evidencia:
    """Erase the subject of a request from every destination and write the evidence down.

    Raises :class:`RecuentoDistinto` and :class:`DestinoDesconocido`; the caller's transaction must roll back.
    """
    destinos = _destinos_de(solicitud.vista_previa)
    sujeto = Sujeto.capturar(solicitud.espacio, solicitud.sujeto_id, bloquear=True)
    antes = {d.nombre: d.contar(sujeto) for d in destinos}
    borrados = {d.nombre: d.suprimir(sujeto) for d in destinos}
    despues = {d.nombre: d.verificar(sujeto) for d in destinos}
    for d in destinos:
        _comprobar(d, antes[d.nombre], borrados[d.nombre], despues[d.nombre])
    testigo = _testigo()
    nada = not any(n for recuento in antes.values() for n in recuento.values())
    return Evidencia.objects.create(
        solicitud=solicitud,
        resultado=Evidencia.Resultado.SIN_DATOS if nada else Evidencia.Resultado.BORRADO,
        destinos={
            d.nombre: {
                "antes": antes[d.nombre],
                "borrados": borrados[d.nombre],
                "despues": despues[d.nombre],
                "sql": d.sql(),
                "parametros": d.parametros(sujeto),
            }
            for d in destinos
        },
        **testigo._asdict(),
    )


def _destinos_de(previstos: Iterable[str]) -> tuple[Destino, ...]:
    """Every registered destination, once it is sure that none of those previewed is missing among them."""
    for nombre in previstos:
        destino(nombre)
    return DESTINOS


def _comprobar(d: Destino, antes: Recuento, borrados: Recuento, despues: Recuento) -> None:
    for que in antes:
        if borrados[que] != antes[que] or despues[que]:
            raise RecuentoDistinto(
                str(d.etiqueta), d.etiquetas[que] % antes[que], antes[que], borrados[que], despues[que]
            )


class _Testigo(NamedTuple):
    rol: str
    sesion: str
    momento: Any
    posicion_wal: str
    vectores_huerfanos: int


def _testigo() -> _Testigo:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT rol, sesion, momento, posicion_wal::text, vectores_huerfanos FROM langgraph.testigo()"
        )
        return _Testigo(*cursor.fetchone())
