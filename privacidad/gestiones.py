"""What is outside PostgreSQL: each destination of a request is asked, read back and retried on its own.

How it stands is in its :class:`privacidad.models.Gestion`, so that being killed anywhere loses nothing:
what is done is not done again. No transaction of ours is open while another system is being asked.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from datetime import timedelta

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from privacidad import destinos, registro
from privacidad.destinos import Destino, Recuento, Sujeto, prisa
from privacidad.errores import DestinoNoDisponible, SinTiempo
from privacidad.models import Gestion, Solicitud

logger = logging.getLogger(__name__)

SIN_TERMINAR = frozenset({Gestion.Estado.PENDIENTE, Gestion.Estado.POR_VERIFICAR, Gestion.Estado.FALLIDA})
#: What was deleted and can still be read is deleted again after this long: the other side may have lost the
#: order, or something late may have come in. Sooner would only be counted against us.
REPETIR_TRAS = timedelta(hours=24)


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


def _intentar(solicitud: Solicitud, gestion: Gestion) -> None:
    d = destinos.destino(gestion.destino)
    sujeto = Sujeto(solicitud.espacio, solicitud.sujeto_id, solicitud.hilos_capturados())
    try:
        if _hay_que_borrar(gestion):
            if "antes" not in gestion.recuento:
                gestion.recuento = _lo_que_habia(gestion, d.contar(sujeto))
            # Of several deletions the largest counts: what is still readable is asked for again.
            borrados = _mayor(gestion.recuento.get("borrados", {}), d.suprimir(sujeto))
            gestion.recuento = {**gestion.recuento, "borrados": borrados}
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


def _mayor(a: Recuento, b: Recuento) -> Recuento:
    return {que: max(a.get(que, 0), n) for que, n in b.items()}


def _anotar(solicitud: Solicitud, gestion: Gestion) -> None:
    gestion.momento = timezone.now()
    with transaction.atomic():
        if not Gestion.objects.filter(pk=gestion.pk, estado__in=SIN_TERMINAR).update(
            estado=gestion.estado,
            recuento=gestion.recuento,
            detalle=gestion.detalle,
            pedida=gestion.pedida,
            momento=gestion.momento,
        ):
            return  # another run ended it meanwhile
        registro.anotar(
            tipo="gestion",
            referencia=solicitud.referencia,
            resumen=solicitud.resumen,
            datos={"destino": gestion.destino, "estado": gestion.estado, **gestion.recuento},
        )
    logger.info("%s %s: %s", solicitud.referencia, gestion.destino, gestion.estado)


def _activos() -> tuple[Destino, ...]:
    return tuple(d for d in destinos.DESTINOS if d.externo and d.activo)
