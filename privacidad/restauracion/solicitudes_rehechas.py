"""Requests that came in after a copy was made, made again from the register once it has been restored.

An entry says of whom it is by digest only, so a request can be made again when an open request or some
destination knows its person again: the digest finds the id. That is also when it is needed: what is held
back in it is there, what must be sealed before it goes is there, and so is whoever has to be looked for every
night. Of the others the register goes on saying that they are lost.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any, NamedTuple

from django.db import DatabaseError, connection, transaction
from django.utils import timezone
from django.utils.dateparse import parse_date

from memoria import politica
from privacidad import plazos, revisiones
from privacidad.destinos import DESTINOS, Rastro
from privacidad.estados import Estado
from privacidad.models import Asiento, Solicitud
from privacidad.restauracion import puesta_al_dia
from privacidad.resumenes import resumen

logger = logging.getLogger(__name__)


def rehacer(lote: int) -> list[dict[str, Any]]:
    """Make them again, in the caller's transaction, each with its number and as far as the register goes.

    Returns them: ``{"referencia", "estado", "al_dia"}``. One that had not been run stops before its review:
    see :func:`.puesta_al_dia.hasta_el_ultimo`.
    """
    faltan = list(_las_que_faltan())
    rastros = _por_resumen({f.resumen for f in faltan}, lote) if faltan else {}
    rehechas = []
    for falta in faltan:
        rastro = rastros.get(falta.resumen)
        if rastro is None:
            continue
        try:
            with transaction.atomic():
                solicitud = _una(falta, rastro)
        except (DatabaseError, puesta_al_dia.SinCamino) as error:
            # A database error may quote the row, and with it the person.
            logger.warning("%s no se ha podido rehacer (%s)", falta.referencia, type(error).__name__)
            continue
        al_dia = solicitud.estado == falta.ultimo
        rehechas.append({"referencia": falta.referencia, "estado": solicitud.estado, "al_dia": al_dia})
    return rehechas


class _Falta(NamedTuple):
    referencia: str
    resumen: str
    #: The entry it came in with.
    primero: int
    ultimo: str


def _las_que_faltan() -> Iterator[_Falta]:
    """In the order they came in: a person has one open at a time."""
    with connection.cursor() as cursor:
        cursor.execute(_FALTAN, [list(Estado)])
        yield from (_Falta(*fila) for fila in cursor.fetchall())


_FALTAN = """
SELECT referencia, min(resumen), min(numero),
       (array_agg(tipo ORDER BY numero DESC))[1]
FROM public.privacidad_asiento a
WHERE tipo = ANY (%s::text[])
  AND NOT EXISTS (SELECT FROM public.privacidad_solicitud s WHERE s.referencia = a.referencia)
GROUP BY referencia
ORDER BY min(numero)
"""


def _por_resumen(resumenes: set[str], lote: int) -> dict[str, Rastro]:
    """Those people, where an open request or some destination knows them."""
    hallados = {
        s.resumen: Rastro(s.espacio, s.sujeto_id, s.registrada)
        for s in Solicitud.objects.abiertas().filter(resumen__in=resumenes)
    }
    for d in DESTINOS:
        if d.externo:
            continue
        for rastro in d.sujetos(lote, timezone.now()):
            try:
                suyo = resumen(politica.prefijo(rastro.espacio, rastro.sujeto_id))
            except politica.PoliticaIncumplida:
                continue  # of no namespace of the policy
            if suyo in resumenes:
                hallados[suyo] = rastro
    return hallados


def _una(falta: _Falta, rastro: Rastro) -> Solicitud:
    primero = Asiento.objects.get(pk=falta.primero)
    recibida = parse_date(primero.datos["recibida"])
    if recibida is None:
        raise puesta_al_dia.SinCamino
    solicitud = Solicitud(
        referencia=falta.referencia,
        espacio=rastro.espacio,
        resumen=falta.resumen,
        canal=primero.datos["canal"],
        recibida=recibida,
        vence=plazos.vencimiento(recibida),
        registrada=primero.momento,
        estado=primero.tipo,
    )
    if primero.tipo == Estado.VINCULADA:
        return _vinculada(solicitud, primero)
    solicitud.sujeto_id = rastro.sujeto_id
    solicitud.save(force_insert=True)
    puesta_al_dia.anotar_paso(solicitud, primero)
    solicitud = puesta_al_dia.hasta_el_ultimo(solicitud, primero.numero)
    return _sin_sus_identificadores(solicitud, primero)


def _vinculada(solicitud: Solicitud, primero: Asiento) -> Solicitud:
    """Linked to the one that was open then: the last that had come in."""
    principal = (
        Solicitud.objects.filter(resumen=solicitud.resumen, registrada__lt=primero.momento)
        .exclude(estado=Estado.VINCULADA)
        .order_by("registrada")
        .last()
    )
    if principal is None:
        raise puesta_al_dia.SinCamino
    solicitud.principal, solicitud.cerrada = principal, primero.momento
    solicitud.save(force_insert=True)
    puesta_al_dia.anotar_paso(solicitud, primero)
    if principal.abierta:
        principal.poner_plazo()
        principal.save(update_fields=["vence", "ampliada"])
        _sin_sus_identificadores(principal, primero)
    return solicitud


def _sin_sus_identificadores(principal: Solicitud, primero: Asiento) -> Solicitud:
    """What a request brought besides the id of the person is in no register: unless it was run with it
    already, ``principal`` is asked to be reviewed with it again.

    An entry from before that was noted does not say whether it brought any.
    """
    if not principal.abierta or primero.datos.get("identificadores") == 0:
        return principal
    ejecutada = Asiento.objects.filter(
        tipo="supresion",
        resumen=principal.resumen,
        referencia=principal.referencia,
        numero__gt=primero.numero,
    )
    if ejecutada.exists():
        return principal
    return revisiones.pedir(principal, identificadores_de=[primero.referencia])
