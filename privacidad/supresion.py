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
from datetime import datetime
from typing import Any, NamedTuple

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy

from privacidad import (
    avance,
    copias,
    cortes,
    evidencias,
    gestiones,
    menciones,
    registro,
    retenidos,
    revisiones,
    unidos,
    vallas,
)
from privacidad.avance import Etapa
from privacidad.destinos import DESTINOS, Recuento, Sujeto, destino
from privacidad.destinos.base import Destino
from privacidad.errores import FueraDeLaRevision, RecuentoDistinto, RevisionVacia
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
    desde = timezone.now()
    try:
        actual, evidencia = _dentro(solicitud, por=por, simular=simular)
    except (RevisionVacia, FueraDeLaRevision) as error:
        if not simular:
            _devolver_a_revisar(solicitud, por=por, por_que=str(error))
        raise
    if not simular:
        gestiones.atender(actual)
        completar(actual, por=por, desde=desde)
    copiar(actual, solicitud)
    return evidencia


def _dentro(solicitud: Solicitud, *, por: User | None, simular: bool) -> tuple[Solicitud, Evidencia]:
    """What is done in PostgreSQL: one transaction."""
    actual = copy(solicitud)  # should it all be rolled back, the caller's object never left its state
    # Durable: what is outside is asked after this is committed, and never inside a transaction.
    with retenidos.traducir(_ACABA_DE_RETENERSE), transaction.atomic(durable=not simular):
        actual = bloquear(actual)
        evidencia = _vigente(actual)
        if evidencia is None:
            # Nobody else can write to the register from our first entry to the commit: so, all at the end.
            with registro.aplazado():
                actual = pasar(actual, Estado.EN_CURSO, por=por)
                evidencia = suprimir(actual)
                gestiones.abrir(actual)
            # What is outside, done before or not, is read before it closes, and never in here.
            fuera = actual.gestiones.exists()
            pasar(actual, Estado.PARCIAL if fuera else _siguiente(actual), por=por)
        transaction.set_rollback(simular)
    return actual, evidencia


_ACABA_DE_RETENERSE = gettext_lazy(
    "Se acaba de retener un dato que se iba a borrar: no se ha borrado nada. Vuelva a intentarlo."
)


def _devolver_a_revisar(solicitud: Solicitud, *, por: User | None, por_que: str) -> None:
    """What was approved is not what there is: it is reviewed and approved again, and the step says why."""
    with transaction.atomic():
        if bloquear(solicitud).estado == Estado.APROBADA:
            pasar(solicitud, Estado.REVISADA, por=por, nota=por_que)


def solo_espera_lo_retenido(solicitud: Solicitud) -> bool:
    """Whether nothing is left of a partial request but what is lawfully held back: no run can do more."""
    return (
        solicitud.estado == Estado.PARCIAL
        and not any(not g.terminada for g in solicitud.gestiones.all())
        and not solicitud.menciones.filter(decision=Mencion.Decision.PENDIENTE).exists()
        and _vigente(solicitud) is not None
    )


def completar(solicitud: Solicitud, *, por: User | None, desde: datetime | None = None) -> None:
    """Close a partial request if nothing is left to erase anywhere, and what is outside was read back since
    ``desde``, now unless it is given: what was not is read here."""
    desde = desde or timezone.now()
    if _puede_cerrarse(solicitud):
        gestiones.releer(solicitud, desde=desde)
    with transaction.atomic():
        actual = bloquear(solicitud)
        if _puede_cerrarse(actual) and gestiones.leidas(actual, desde=desde):
            pasar(actual, Estado.EN_CURSO, por=por)
            pasar(actual, Estado.COMPLETADA, por=por)
    copiar(actual, solicitud)


def _puede_cerrarse(solicitud: Solicitud) -> bool:
    return solicitud.estado == Estado.PARCIAL and _siguiente(solicitud) == Estado.COMPLETADA


def _vigente(solicitud: Solicitud) -> Evidencia | None:
    """The evidence of a partial request that still holds: in PostgreSQL there is what is held back and no
    more, and no less of it than the last run counted at its end (a conversation that is held back goes on).
    What went since by another hand is to be counted again: a request is not completed by an evidence that
    says that something is left.

    Then a run has nothing to do there, and leaves no step: it may be one of many that wait for somebody.
    """
    if solicitud.estado != Estado.PARCIAL:
        return None
    sujeto = Sujeto.capturar(
        solicitud.espacio,
        solicitud.sujeto_id,
        excluidos=_excluidos(solicitud),
        corte=cortes.de(solicitud),
    )
    ultima = solicitud.evidencias.last()
    contado = ultima.destinos if ultima else {}
    for d in _internos():
        retenidos, quedaba = d.retenidos(sujeto), contado.get(d.nombre, {}).get("despues", {})
        for que, n in d.contar(sujeto).items():
            if n != retenidos.get(que, 0) or n < quedaba.get(que, 0):
                return None
    return ultima


def suprimir(solicitud: Solicitud) -> Evidencia:
    """Erase the subject of a request from every destination in PostgreSQL and write the evidence down.

    Of who had been erased and is there again, what is back and no more (see :mod:`privacidad.cortes`): what
    they said since is of a new card, and nobody has reviewed nor approved that it goes.

    Raises as :func:`privacidad.servicios.ejecutar` does; the caller's transaction must then roll back.
    """
    for nombre in solicitud.vista_previa:
        destino(nombre)  # one that was previewed and is no longer registered stops the run
    menciones.exigir_decididas(solicitud)
    excluidos, corte = _excluidos(solicitud), cortes.de(solicitud)
    grande = avance.filas(solicitud) > avance.MAXIMO_EN_UNA_PAGINA
    avance.decir(solicitud, Etapa.ESPERA, grande=grande)
    vallas.levantar(
        solicitud.espacio,
        solicitud.sujeto_id,
        hilos_retenidos=excluidos.get("hilos", ()),
        hilos_hasta=corte.hasta(destino("hilos")) if corte else None,
    )
    sujeto = Sujeto.capturar(
        solicitud.espacio, solicitud.sujeto_id, excluidos=excluidos, bloquear=True, corte=corte
    )
    solicitud.reservar(hilos=sorted({*solicitud.hilos_capturados(), *sujeto.hilos}))
    copias.sellar(solicitud, sujeto)
    destinos = _internos()
    avance.decir(solicitud, Etapa.CUENTA, grande=grande)
    antes = {d.nombre: d.contar(sujeto) for d in destinos}
    if not solicitud.evidencias.exists():
        _exigir_lo_revisado(solicitud, sujeto, antes)
    avance.decir(solicitud, Etapa.BORRA, grande=grande)
    borrados = {d.nombre: d.suprimir(sujeto) for d in destinos}
    avance.decir(solicitud, Etapa.COMPRUEBA, grande=grande)
    despues = {d.nombre: d.verificar(sujeto) for d in destinos}
    for d in destinos:
        _comprobar(d, antes[d.nombre], borrados[d.nombre], despues[d.nombre], d.retenidos(sujeto))
    avance.decir(solicitud, Etapa.ANOTA, grande=grande)
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
                "sql": d.sql(con_corte=corte is not None),
                "parametros": d.parametros(sujeto),
                **cortes.en_evidencia(corte, d),
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
            **unidos.en_asiento(solicitud),
            **cortes.en_asiento(corte),
            evidencias.HUELLA: evidencias.huella(evidencia),
        },
    )
    return evidencia


def _exigir_lo_revisado(solicitud: Solicitud, sujeto: Sujeto, hay: Mapping[str, Recuento]) -> None:
    """What was approved is what the review counted. Less may be left of it (what expires is swept), and what
    is provably from later (the person goes on talking) goes too; not one row more.

    Raises :class:`RevisionVacia` and :class:`FueraDeLaRevision`.
    """
    contado = solicitud.vista_previa
    if _hay(hay) and not _hay(contado):
        raise RevisionVacia
    momento = _revisada_en(solicitud)
    for d in _internos():
        for que, cuantos in d.contar_hasta(sujeto, momento).items():
            if cuantos > contado.get(d.nombre, {}).get(que, 0):
                raise FueraDeLaRevision(
                    str(d.etiqueta),
                    str(d.etiquetas[que] % cuantos),
                    contado.get(d.nombre, {}).get(que, 0),
                    cuantos,
                )


def _revisada_en(solicitud: Solicitud) -> datetime:
    """When the last review began. A step that only sends it back counts nothing, and says why."""
    revision = solicitud.pasos.filter(estado=Estado.REVISADA, texto="").last()
    # After a restore a review may be known by the register only: then there is no count of it to go by.
    return revision.momento if revision else timezone.now()


def _siguiente(solicitud: Solicitud) -> Estado:
    """Where a run leaves the request: nothing may be left to erase for it to be complete."""
    quedan = (
        solicitud.exclusiones.activas().exists()
        or any(not g.terminada for g in solicitud.gestiones.all())
        or _quedan_menciones(solicitud)
        or _dejo_algo(solicitud)
        or revisiones.perdida(solicitud) is not None
    )
    return Estado.PARCIAL if quedan else Estado.COMPLETADA


def _dejo_algo(solicitud: Solicitud) -> bool:
    """Whether the last run left something: it was held back, and if it was let go since, it is to be
    erased."""
    ultima = solicitud.evidencias.last()
    return ultima is None or _hay({nombre: d["despues"] for nombre, d in ultima.destinos.items()})


def _quedan_menciones(solicitud: Solicitud) -> bool:
    """Whether some mention waits for its decision, or for the run: found after one, it is so."""
    if solicitud.menciones.filter(decision=Mencion.Decision.PENDIENTE).exists():
        return True
    if not solicitud.menciones.filter(decision=Mencion.Decision.BORRAR).exists():
        return False
    sujeto = Sujeto.capturar(solicitud.espacio, solicitud.sujeto_id, corte=cortes.de(solicitud))
    return _hay({d.nombre: d.contar(sujeto) for d in _internos() if d.decidido_fila_a_fila})


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
