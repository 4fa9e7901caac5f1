"""The run itself: count, delete, count again, and keep the proof; then the destinations outside PostgreSQL.

Inside PostgreSQL it is one transaction with its evidence. What is outside comes after it, each destination
with a state of its own (:class:`privacidad.models.Gestion`), so that being killed anywhere loses nothing:
the next run does what is left and nothing twice.

Concurrency. Each statement reads what is committed at that instant (READ COMMITTED), so an agent's write that
commits between the first count and the last one makes the numbers differ, and everything is rolled back and
tried again later. Threads are held from the start (see :meth:`Sujeto.capturar`).
"""

from __future__ import annotations

import logging
from copy import copy
from typing import Any, NamedTuple

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.utils import timezone

from privacidad import registro
from privacidad.destinos import DESTINOS, Recuento, Sujeto, destino
from privacidad.destinos.base import Destino
from privacidad.errores import DestinoNoDisponible, RecuentoDistinto
from privacidad.estados import Estado
from privacidad.models import Evidencia, Gestion, Solicitud
from privacidad.servicios.paso import copiar, pasar

logger = logging.getLogger(__name__)


def vista_previa(solicitud: Solicitud) -> dict[str, Recuento]:
    """``{destination: {what: how many}}`` of what an erasure would take; changes nothing.

    An external destination that cannot be asked now is not in it: the run asks again.
    """
    sujeto = Sujeto.capturar(solicitud.espacio, solicitud.sujeto_id)
    previa = {d.nombre: d.contar(sujeto) for d in _internos()}
    for d in _externos():
        try:
            previa[d.nombre] = d.contar(sujeto)
        except DestinoNoDisponible as error:
            logger.warning("%s: %s no responde en la revisión: %s", solicitud.referencia, d.nombre, error)
    return previa


def ejecutar(solicitud: Solicitud, *, por: User | None) -> Evidencia:
    """Erase; see :func:`privacidad.servicios.ejecutar`."""
    actual = copy(solicitud)  # should it all be rolled back, the caller's object never left its state
    with transaction.atomic():
        actual = pasar(actual, Estado.EN_CURSO, por=por)
        evidencia = suprimir(actual)
        pasar(actual, _siguiente(actual), por=por)
    for gestion in actual.gestiones.all():
        if not gestion.terminada:
            gestionar(actual, gestion)
    if actual.estado == Estado.PARCIAL and _siguiente(actual) == Estado.COMPLETADA:
        with transaction.atomic():
            pasar(actual, Estado.EN_CURSO, por=por)
            pasar(actual, Estado.COMPLETADA, por=por)
    copiar(actual, solicitud)
    return evidencia


def suprimir(solicitud: Solicitud) -> Evidencia:
    """Erase the subject of a request from every destination in PostgreSQL and write the evidence down.

    Raises :class:`RecuentoDistinto` and :class:`DestinoDesconocido`; the caller's transaction must then roll
    back.
    """
    for nombre in solicitud.vista_previa:
        destino(nombre)  # one that was previewed and is no longer registered stops the run
    sujeto = Sujeto.capturar(
        solicitud.espacio, solicitud.sujeto_id, excluidos=_excluidos(solicitud), bloquear=True
    )
    solicitud.reservar(hilos=sorted({*solicitud.hilos_capturados(), *sujeto.hilos}))
    destinos = _internos()
    antes = {d.nombre: d.contar(sujeto) for d in destinos}
    borrados = {d.nombre: d.suprimir(sujeto) for d in destinos}
    despues = {d.nombre: d.verificar(sujeto) for d in destinos}
    for d in destinos:
        _comprobar(d, antes[d.nombre], borrados[d.nombre], despues[d.nombre], d.retenidos(sujeto))
    for d in _externos():
        Gestion.objects.get_or_create(solicitud=solicitud, destino=d.nombre)
    testigo = _testigo()
    nada = not any(n for recuento in antes.values() for n in recuento.values())
    evidencia = Evidencia.objects.create(
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
    registro.anotar(
        tipo="supresion",
        referencia=solicitud.referencia,
        resumen=solicitud.resumen,
        datos={
            "resultado": evidencia.resultado,
            "momento": testigo.momento.isoformat(),
            "posicion_wal": testigo.posicion_wal,
            "antes": antes,
            "despues": despues,
        },
    )
    return evidencia


def gestionar(solicitud: Solicitud, gestion: Gestion) -> None:
    """Try one external destination once and write down how it stands; the other side's faults included."""
    d = destino(gestion.destino)
    sujeto = Sujeto(solicitud.espacio, solicitud.sujeto_id, solicitud.hilos_capturados())
    gestion.intentos += 1
    try:
        if gestion.estado != Gestion.Estado.POR_VERIFICAR:
            antes = d.contar(sujeto)
            # Only the first try says what there was: a retry may find its own work half done.
            gestion.recuento = {"antes": antes, **gestion.recuento}
            d.suprimir(sujeto)
        despues = d.verificar(sujeto)
    except DestinoNoDisponible as error:
        gestion.estado, gestion.detalle = Gestion.Estado.FALLIDA, str(error)
    else:
        gestion.recuento = {**gestion.recuento, "despues": despues}
        gestion.detalle = ""
        if any(despues.values()):
            gestion.estado = Gestion.Estado.POR_VERIFICAR
        elif any(gestion.recuento["antes"].values()):
            gestion.estado = Gestion.Estado.HECHA
        else:
            gestion.estado = Gestion.Estado.SIN_DATOS
    gestion.momento = timezone.now()
    with transaction.atomic():
        gestion.save()
        registro.anotar(
            tipo="gestion",
            referencia=solicitud.referencia,
            resumen=solicitud.resumen,
            datos={"destino": d.nombre, "estado": gestion.estado, **gestion.recuento},
        )
    logger.info("%s %s: %s", solicitud.referencia, d.nombre, gestion.estado)


def _siguiente(solicitud: Solicitud) -> Estado:
    """Where a run leaves the request: nothing may be left to erase for it to be complete."""
    quedan = solicitud.exclusiones.activas().exists() or any(
        not g.terminada for g in solicitud.gestiones.all()
    )
    return Estado.PARCIAL if quedan else Estado.COMPLETADA


def _internos() -> tuple[Destino, ...]:
    return tuple(d for d in DESTINOS if not d.externo)


def _externos() -> tuple[Destino, ...]:
    return tuple(d for d in DESTINOS if d.externo and d.activo)


def _excluidos(solicitud: Solicitud) -> dict[str, tuple[str, ...]]:
    excluidos: dict[str, tuple[str, ...]] = {}
    for exclusion in solicitud.exclusiones.activas():
        excluidos[exclusion.destino] = (*excluidos.get(exclusion.destino, ()), exclusion.clave)
    return excluidos


def _comprobar(
    d: Destino, antes: Recuento, borrados: Recuento, despues: Recuento, retenidos: Recuento
) -> None:
    for que in antes:
        se_queda = retenidos.get(que, 0)
        if borrados[que] != antes[que] - se_queda or despues[que] != se_queda:
            raise RecuentoDistinto(
                str(d.etiqueta), str(d.etiquetas[que]), antes[que], borrados[que], despues[que]
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
