"""What is outside PostgreSQL: each destination of a request is asked, read back and retried on its own.

How it stands is in its :class:`privacidad.models.Gestion`, so that being killed anywhere loses nothing:
what is done is not done again. No transaction of ours is open while another system is being asked.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext_lazy

from privacidad import cortes, destinos, registro
from privacidad.destinos import Destino, Recuento, Sujeto, prisa
from privacidad.errores import DestinoNoDisponible, SinTiempo
from privacidad.estados import Estado
from privacidad.models import Asiento, Gestion, Solicitud

logger = logging.getLogger(__name__)

SIN_TERMINAR = frozenset({Gestion.Estado.PENDIENTE, Gestion.Estado.POR_VERIFICAR, Gestion.Estado.FALLIDA})
#: What was deleted and can still be read is deleted again after this long: the other side may have lost the
#: order, or something late may have come in. Sooner would only be counted against us.
REPETIR_TRAS = timedelta(hours=24)
HA_VUELTO = gettext_lazy("Después de borrarlo ha aparecido algo: se borra otra vez.")


def contar(solicitud: Solicitud) -> dict[str, Recuento]:
    """What there is of the person outside; a destination that cannot be asked now is not in it."""
    sujeto = Sujeto.capturar(solicitud.espacio, solicitud.sujeto_id)
    recuentos = {}
    for d in _activos():
        try:
            recuentos[d.nombre] = d.contar(sujeto)
        except DestinoNoDisponible as error:
            logger.warning("%s: %s no responde en la revisión: %s", solicitud.referencia, d.nombre, error)
    return recuentos


def abrir(solicitud: Solicitud) -> None:
    """One :class:`Gestion` for each external destination there is, and for each that was in the review: one
    that has been disconnected since is not done."""
    for d in destinos.DESTINOS:
        if d.externo and (d.activo or d.nombre in solicitud.vista_previa):
            Gestion.objects.get_or_create(solicitud=solicitud, destino=d.nombre)


def atender(solicitud: Solicitud, estados: Collection[str] = SIN_TERMINAR) -> None:
    """Try, once, each destination that is in one of those states. Never raises for the other side's
    faults. From a page, those there is no time for are left as they are, for the scheduled command."""
    for gestion in solicitud.gestiones.filter(estado__in=estados):
        try:
            prisa.queda()
        except SinTiempo:
            return
        # Whoever raises the count has the turn. Two runs that overlap may still ask for the same thing twice,
        # which does no harm: what has ended stays so (see _anotar).
        if Gestion.objects.filter(pk=gestion.pk, intentos=gestion.intentos, estado=gestion.estado).update(
            intentos=F("intentos") + 1
        ):
            gestion.intentos += 1
            _intentar(solicitud, gestion)


def releer(solicitud: Solicitud, *, desde: datetime) -> None:
    """Read back, of a partial request that would close now, each destination that was done and has not been
    read since ``desde``: a hold may have kept it open for years. What is there again, or cannot be read, is
    to be done again, and it is tried, once. Never raises for the other side's faults."""
    with transaction.atomic():
        if not _sigue_parcial(solicitud):
            return
        abrir(solicitud)
    sujeto = _sujeto(solicitud)
    for gestion in solicitud.gestiones.exclude(estado__in=SIN_TERMINAR).filter(momento__lt=desde):
        try:
            hay = destinos.destino(gestion.destino).verificar(sujeto)
        except DestinoNoDisponible as error:
            sin_tiempo = isinstance(error, SinTiempo)
            rehacer(
                solicitud,
                gestion.destino,
                estado=Gestion.Estado.PENDIENTE if sin_tiempo else Gestion.Estado.FALLIDA,
                detalle=str(error),
            )
        else:
            if any(hay.values()):
                rehacer(solicitud, gestion.destino, hallado=True)
            else:
                Gestion.objects.filter(pk=gestion.pk, estado=gestion.estado).update(momento=timezone.now())
    atender(solicitud, {Gestion.Estado.PENDIENTE})


def leidas(solicitud: Solicitud, *, desde: datetime) -> bool:
    """Whether every destination of a request was read back, at zero, since then."""
    return all(g.terminada and g.momento >= desde for g in solicitud.gestiones.all())


def rehacer(
    solicitud: Solicitud,
    destino: str,
    *,
    estado: str = Gestion.Estado.PENDIENTE,
    detalle: str = "",
    hallado: bool = False,
) -> bool:
    """What was done in a destination is to be done again; ``hallado``: something is there again. Whether it
    is so now: not when it was not done, nor once the request is closed. The counts stay: what is found from
    now on is added to them."""
    with transaction.atomic():
        if not _sigue_parcial(solicitud):
            return False
        gestion, nueva = Gestion.objects.get_or_create(solicitud=solicitud, destino=destino)
        if not nueva and not gestion.terminada:
            return False
        gestion.estado, gestion.detalle, gestion.pedida = estado, str(HA_VUELTO) if hallado else detalle, None
        gestion.save(update_fields=["estado", "detalle", "pedida"])
        if hallado:
            registro.anotar(
                tipo="hallazgo",
                referencia=solicitud.referencia,
                resumen=solicitud.resumen,
                datos={"destinos": [destino]},
            )
        _registrar(solicitud, gestion)
    return True


def _sigue_parcial(solicitud: Solicitud) -> bool:
    """Whether it is partial, its row locked: another run may have closed it."""
    suya = Solicitud.objects.select_for_update().filter(pk=solicitud.pk, estado=Estado.PARCIAL)
    return suya.first() is not None


def _intentar(solicitud: Solicitud, gestion: Gestion) -> None:
    d = destinos.destino(gestion.destino)
    sujeto = _sujeto(solicitud)
    try:
        if _hay_que_borrar(gestion):
            if "antes" not in gestion.recuento:
                gestion.recuento = _lo_que_habia(gestion, d.contar(sujeto))
            gestion.recuento = _con_lo_borrado(gestion.recuento, d.suprimir(sujeto))
            gestion.pedida = timezone.now()
        despues = d.verificar(sujeto)
    except DestinoNoDisponible as error:
        # Deleted and not read back is still to be verified; the reason is told all the same.
        verificable = gestion.estado == Gestion.Estado.POR_VERIFICAR or gestion.pedida is not None
        if verificable:
            gestion.estado = Gestion.Estado.POR_VERIFICAR
        elif not isinstance(error, SinTiempo):  # we did not wait: that is no failure of theirs
            gestion.estado = Gestion.Estado.FALLIDA
        gestion.detalle = str(error)
    else:
        gestion.recuento = {**gestion.recuento, "despues": despues}
        gestion.detalle = ""
        if any(despues.values()):
            gestion.estado = Gestion.Estado.POR_VERIFICAR
        elif any(gestion.recuento["antes"].values()) or any(gestion.recuento["borrados"].values()):
            gestion.estado = Gestion.Estado.HECHA
        else:
            gestion.estado = Gestion.Estado.SIN_DATOS
    _anotar(solicitud, gestion)


def _lo_que_habia(gestion: Gestion, contado: Recuento) -> dict[str, Recuento]:
    """The counts there are, from now on with what there was before: by the first that wrote it down. A retry,
    or a run that overlaps, may find the work half done."""
    sin_contar = Gestion.objects.filter(pk=gestion.pk, estado__in=SIN_TERMINAR)
    sin_contar.exclude(recuento__has_key="antes").update(recuento={"antes": contado})
    recuento: dict[str, Recuento] = Gestion.objects.values_list("recuento", flat=True).get(pk=gestion.pk)
    return recuento


def _hay_que_borrar(gestion: Gestion) -> bool:
    if gestion.estado != Gestion.Estado.POR_VERIFICAR or gestion.pedida is None:
        return True
    return timezone.now() - gestion.pedida >= REPETIR_TRAS


def _con_lo_borrado(recuento: dict[str, Recuento], ahora: Recuento) -> dict[str, Recuento]:
    """The counts, with what a deletion took. Of several the largest counts: what is still readable is asked
    for again. But what is there once nothing could be read has come since, and is more."""
    antes, borrados, despues = (recuento.get(cual, {}) for cual in ("antes", "borrados", "despues"))
    if despues and not any(despues.values()):
        return {"antes": _suma(antes, ahora), "borrados": _suma(borrados, ahora)}
    return {**recuento, "borrados": {que: max(borrados.get(que, 0), n) for que, n in ahora.items()}}


def _suma(a: Recuento, b: Recuento) -> Recuento:
    return {que: a.get(que, 0) + n for que, n in b.items()}


def _anotar(solicitud: Solicitud, gestion: Gestion) -> None:
    """Each attempt is in the row, with its time; in the register only one that changed the state or a count,
    or a destination that is down would fill it."""
    gestion.momento = timezone.now()
    with transaction.atomic():
        estaba = Gestion.objects.select_for_update().filter(pk=gestion.pk, estado__in=SIN_TERMINAR).first()
        if estaba is None:
            return  # another run ended it meanwhile
        gestion.save(update_fields=["estado", "recuento", "detalle", "pedida", "momento"])
        # A request that was opened again starts from nothing: what is registered of the time before does not
        # count, and then the state is not the one that was.
        igual = _lo_registrado(solicitud, gestion) == _lo_que_se_registra(gestion)
        if estaba.estado != gestion.estado or not igual:
            _registrar(solicitud, gestion)
    logger.info("%s %s: %s", solicitud.referencia, gestion.destino, gestion.estado)


def _registrar(solicitud: Solicitud, gestion: Gestion) -> None:
    registro.anotar(
        tipo="gestion",
        referencia=solicitud.referencia,
        resumen=solicitud.resumen,
        datos=_lo_que_se_registra(gestion),
    )


def _lo_que_se_registra(gestion: Gestion) -> dict[str, Any]:
    return {"destino": gestion.destino, "estado": str(gestion.estado), **gestion.recuento}


def _lo_registrado(solicitud: Solicitud, gestion: Gestion) -> dict[str, Any] | None:
    """What the register last said of that destination. Not the row: it may hold counts that no attempt has
    registered yet."""
    suyos = Asiento.objects.filter(
        tipo="gestion",
        resumen=solicitud.resumen,
        referencia=solicitud.referencia,
        datos__destino=gestion.destino,
    )
    return suyos.order_by("-numero").values_list("datos", flat=True).first()


def _sujeto(solicitud: Solicitud) -> Sujeto:
    return Sujeto(
        solicitud.espacio, solicitud.sujeto_id, solicitud.hilos_capturados(), corte=cortes.de(solicitud)
    )


def _activos() -> tuple[Destino, ...]:
    return tuple(d for d in destinos.DESTINOS if d.externo and d.activo)
