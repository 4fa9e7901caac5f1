"""The run itself: count, delete, count again, and keep the proof; then the destinations outside PostgreSQL.

Inside PostgreSQL it is one transaction with its evidence. What is outside comes after it, each destination
with a state of its own (:class:`privacidad.models.Gestion`), so that being killed anywhere loses nothing:
the next run does what is left and nothing twice.

Concurrency. From its first statement on, whatever is written of the subject waits and is then refused
(:mod:`privacidad.vallas`). Should something go round that, each statement reads what is committed at that
instant (READ COMMITTED), so the numbers differ, and everything is rolled back and tried again later.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any, NamedTuple

from django.contrib.auth.models import User
from django.db import connection, transaction

from privacidad import avance, copias, evidencias, gestiones, menciones, registro, retenidos, vallas
from privacidad.avance import Etapa
from privacidad.destinos import DESTINOS, Recuento, Sujeto, destino
from privacidad.destinos.base import Destino
from privacidad.errores import RecuentoDistinto, RevisionVacia
from privacidad.estados import Estado
from privacidad.models import Evidencia, Mencion, Solicitud
from privacidad.servicios.paso import bloquear, copiar, pasar


def vista_previa(solicitud: Solicitud) -> dict[str, Recuento]:
    """``{destination: {what: how many}}`` of what an erasure would take in PostgreSQL; changes nothing.

    What is outside is counted by :func:`privacidad.gestiones.contar`.
    """
    sujeto = Sujeto.capturar(solicitud.espacio, solicitud.sujeto_id)
    return {d.nombre: d.contar(sujeto) for d in _internos()}


def ejecutar(solicitud: Solicitud, *, por: User | None, simular: bool = False) -> Evidencia:
    """Erase; see :func:`privacidad.servicios.ejecutar`."""
    actual = copy(solicitud)  # should it all be rolled back, the caller's object never left its state
    # Durable: what is outside is asked after this is committed, and never inside a transaction.
    with transaction.atomic(durable=not simular):
        actual = bloquear(actual)
        evidencia = _vigente(actual)
        if evidencia is None:
            # Nobody else can write to the register from our first entry to the commit: so, all at the end.
            with registro.aplazado():
                actual = pasar(actual, Estado.EN_CURSO, por=por)
                evidencia = suprimir(actual)
                gestiones.abrir(actual)
            pasar(actual, _siguiente(actual), por=por)
        transaction.set_rollback(simular)
    if not simular:
        gestiones.atender(actual)
        completar(actual, por=por)
    copiar(actual, solicitud)
    return evidencia


def completar(solicitud: Solicitud, *, por: User | None) -> None:
    """Close a partial request if nothing is left to erase anywhere."""
    with transaction.atomic():
        actual = bloquear(solicitud)
        if actual.estado == Estado.PARCIAL and _siguiente(actual) == Estado.COMPLETADA:
            pasar(actual, Estado.EN_CURSO, por=por)
            pasar(actual, Estado.COMPLETADA, por=por)
    copiar(actual, solicitud)


def _vigente(solicitud: Solicitud) -> Evidencia | None:
    """The evidence of a partial request that still holds: in PostgreSQL there is what is held back and no
    more.

    Then a run has nothing to do there, and leaves no step: it may be one of many that wait for somebody.
    """
    if solicitud.estado != Estado.PARCIAL:
        return None
    sujeto = Sujeto.capturar(solicitud.espacio, solicitud.sujeto_id, excluidos=_excluidos(solicitud))
    for d in _internos():
        retenidos = d.retenidos(sujeto)
        if any(n != retenidos.get(que, 0) for que, n in d.contar(sujeto).items()):
            return None
    return solicitud.evidencias.last()


def suprimir(solicitud: Solicitud) -> Evidencia:
    """Erase the subject of a request from every destination in PostgreSQL and write the evidence down.

    Raises :class:`RecuentoDistinto`, :class:`DestinoDesconocido` and :class:`EscriturasEnCurso`; the caller's
    transaction must then roll back.
    """
    for nombre in solicitud.vista_previa:
        destino(nombre)  # one that was previewed and is no longer registered stops the run
    menciones.exigir_decididas(solicitud)
    excluidos = _excluidos(solicitud)
    avance.decir(solicitud, Etapa.ESPERA)
    vallas.levantar(solicitud.espacio, solicitud.sujeto_id, hilos_retenidos=excluidos.get("hilos", ()))
    sujeto = Sujeto.capturar(solicitud.espacio, solicitud.sujeto_id, excluidos=excluidos, bloquear=True)
    solicitud.reservar(hilos=sorted({*solicitud.hilos_capturados(), *sujeto.hilos}))
    copias.sellar(solicitud, sujeto)
    destinos = _internos()
    avance.decir(solicitud, Etapa.CUENTA)
    antes = {d.nombre: d.contar(sujeto) for d in destinos}
    if _hay(antes) and not _hay(solicitud.vista_previa) and not solicitud.evidencias.exists():
        raise RevisionVacia
    avance.decir(solicitud, Etapa.BORRA)
    borrados = {d.nombre: d.suprimir(sujeto) for d in destinos}
    avance.decir(solicitud, Etapa.COMPRUEBA)
    despues = {d.nombre: d.verificar(sujeto) for d in destinos}
    for d in destinos:
        _comprobar(d, antes[d.nombre], borrados[d.nombre], despues[d.nombre], d.retenidos(sujeto))
    avance.decir(solicitud, Etapa.ANOTA)
    retenidos.apartar(solicitud)
    testigo = _testigo()
    nada = not _hay(antes)
    evidencia = Evidencia.objects.create(
        solicitud=solicitud,
        resultado=Evidencia.Resultado.SIN_DATOS if nada else Evidencia.Resultado.BORRADO,
        destinos={
            d.nombre: {
                "previsto": solicitud.vista_previa.get(d.nombre, {}),
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
            evidencias.HUELLA: evidencias.huella(evidencia),
        },
    )
    return evidencia


def _siguiente(solicitud: Solicitud) -> Estado:
    """Where a run leaves the request: nothing may be left to erase for it to be complete."""
    quedan = (
        solicitud.exclusiones.activas().exists()
        or any(not g.terminada for g in solicitud.gestiones.all())
        or _quedan_menciones(solicitud)
    )
    return Estado.PARCIAL if quedan else Estado.COMPLETADA


#: The destinations of what is decided mention by mention.
_DE_OTROS = ("menciones", "documentos")


def _quedan_menciones(solicitud: Solicitud) -> bool:
    """Whether some mention waits for its decision, or for the run: found after one, it is so."""
    if solicitud.menciones.filter(decision=Mencion.Decision.PENDIENTE).exists():
        return True
    if not solicitud.menciones.filter(decision=Mencion.Decision.BORRAR).exists():
        return False
    sujeto = Sujeto.capturar(solicitud.espacio, solicitud.sujeto_id)
    return _hay({d.nombre: d.contar(sujeto) for d in _internos() if d.nombre in _DE_OTROS})


def _internos() -> tuple[Destino, ...]:
    return tuple(d for d in DESTINOS if not d.externo)


def _excluidos(solicitud: Solicitud) -> dict[str, tuple[str, ...]]:
    excluidos: dict[str, tuple[str, ...]] = {}
    for exclusion in solicitud.exclusiones.activas():
        excluidos[exclusion.destino] = (*excluidos.get(exclusion.destino, ()), exclusion.clave)
    return excluidos


def _hay(recuentos: Mapping[str, Recuento]) -> bool:
    return any(n for recuento in recuentos.values() for n in recuento.values())


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
