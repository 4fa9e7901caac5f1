"""A restored copy does not know what was done after it was made; the register does. Its requests are brought
up to date with it, step by step, as far as the register says.

The steps are the ones that were taken: nothing is registered anew, no document is issued again, and each step
says that it was rebuilt. What cannot be rebuilt is told.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any, NamedTuple

from django.db import DatabaseError, connection, transaction
from django.utils.dateparse import parse_date, parse_datetime
from django.utils.translation import gettext as _

from privacidad import estados, evidencias, plazos, revisiones
from privacidad.estados import Estado
from privacidad.models import (
    AMPLIADA,
    PASO_REHECHO,
    Asiento,
    Evidencia,
    Exclusion,
    Gestion,
    Mencion,
    Paso,
    Solicitud,
)
from privacidad.olvido import olvidar_direcciones
from privacidad.restauracion.decisiones_rehechas import Decisiones
from privacidad.resumenes import resumen
from privacidad.servicios.menciones import contar_lo_decidido
from privacidad.servicios.paso import guardar

logger = logging.getLogger(__name__)


def cerrar(*, desde: int) -> list[dict[str, Any]]:
    """Take every request that the copy left behind to where it was, by the entries after number ``desde``.

    Returns them: ``{"referencia", "estaba", "estado", "al_dia"}``. One that is not ``al_dia`` could not be
    taken there and needs a person: it is left where the copy had it.
    """
    atrasadas = []
    for referencia, ultimo in _atrasadas(desde):
        solicitud = Solicitud.objects.get(referencia=referencia)
        estaba = solicitud.estado
        try:
            with transaction.atomic():
                solicitud = hasta_el_ultimo(solicitud, desde)
        except (DatabaseError, SinCamino) as error:
            # A database error may quote the row, and with it the person.
            logger.warning("%s no se ha podido poner al día (%s)", referencia, type(error).__name__)
            solicitud.refresh_from_db()
            if solicitud.estado in (Estado.REVISADA, Estado.APROBADA):  # nobody approves it as it was
                solicitud = revisiones.pedir(solicitud)
        atrasadas.append(
            {
                "referencia": referencia,
                "estaba": estaba,
                "estado": solicitud.estado,
                "al_dia": solicitud.estado == ultimo,
            }
        )
    return atrasadas


def perdidas(*, abiertas: bool) -> list[str]:
    """The numbers of the requests that the register leaves open, or closed, and this database does not have.

    They came in after the copy was made, and of their people it knows nothing (see
    :mod:`.solicitudes_rehechas`). The deadline of the open ones runs, and who asked must be found outside
    this system; of the closed ones, their documents. One linked to an open one that is lost too is with it.
    """
    with connection.cursor() as cursor:
        cursor.execute(_PERDIDAS, {"estados": list(Estado)})
        return [
            referencia for referencia, tipo in cursor.fetchall() if (tipo in estados.ABIERTAS) == abiertas
        ]


def adelantar_referencias() -> None:
    """Take the counters past the numbers the register has given, so that none is given twice."""
    with connection.cursor() as cursor:
        cursor.execute(_ADELANTAR)


class Retencion(NamedTuple):
    """A row that the register holds back: ``clave`` is the digest of its key."""

    referencia: str
    destino: str
    motivo: str
    clave: str
    asiento: Asiento


def retenciones_vigentes(suyo: str) -> list[Retencion]:
    """What the register holds back of one person."""
    vigentes: dict[tuple[str, str, str], Asiento] = {}
    cerradas: set[str] = set()
    for asiento in Asiento.objects.filter(resumen=suyo).order_by("numero").iterator():
        if asiento.tipo in Estado.values:
            (cerradas.add if asiento.tipo in estados.CERRADAS else cerradas.discard)(asiento.referencia)
        elif asiento.tipo in ("exclusion", "exclusion_liberada") and "clave" in asiento.datos:
            cual = (asiento.referencia, asiento.datos["destino"], asiento.datos["clave"])
            if asiento.tipo == "exclusion":
                vigentes[cual] = asiento
            else:
                vigentes.pop(cual, None)
    return [
        Retencion(referencia, destino, a.datos["motivo"], clave, a)
        for (referencia, destino, clave), a in vigentes.items()
        if referencia not in cerradas
    ]


def retenciones_sin_poner() -> list[Asiento]:
    """The entries of what the register holds back and nothing holds here: the row is not in what was
    restored, or its request could not be made again. Held again, in whatever request, it is no longer one.
    """
    sin_poner = []
    suyos = Asiento.objects.filter(tipo="exclusion", datos__has_key="clave")
    for suyo in suyos.order_by("resumen").values_list("resumen", flat=True).distinct():
        puestas = Exclusion.objects.activas().filter(solicitud__resumen=suyo, solicitud__cerrada__isnull=True)
        aqui = {(destino, resumen(clave)) for destino, clave in puestas.values_list("destino", "clave")}
        sin_poner += [r.asiento for r in retenciones_vigentes(suyo) if (r.destino, r.clave) not in aqui]
    return sin_poner


def soltar_lo_soltado(*, desde: int) -> None:
    """Let go what was let go after entry number ``desde``, in the requests that are still open."""
    sueltas = Asiento.objects.filter(tipo="exclusion_liberada", numero__gt=desde, datos__has_key="clave")
    for asiento in sueltas.order_by("numero").iterator():
        vigentes = {(r.referencia, r.destino, r.clave) for r in retenciones_vigentes(asiento.resumen)}
        if (asiento.referencia, asiento.datos["destino"], asiento.datos["clave"]) in vigentes:
            continue
        activas = Exclusion.objects.activas().filter(
            solicitud__referencia=asiento.referencia, solicitud__cerrada__isnull=True
        )
        for exclusion in activas.filter(destino=asiento.datos["destino"]):
            if resumen(exclusion.clave) == asiento.datos["clave"]:
                Exclusion.objects.filter(pk=exclusion.pk).update(liberada=asiento.momento)


def decidir_copias(*, desde: int) -> None:
    """What was decided about the sealed copy of a request after entry number ``desde``, where it is still to
    be run."""
    decididas = Asiento.objects.filter(tipo="copia_decidida", numero__gt=desde).order_by("numero")
    for asiento in decididas.iterator():
        solicitud = Solicitud.objects.abiertas().filter(referencia=asiento.referencia).first()
        if solicitud and not solicitud.evidencias.exists():
            _decidir_copia(solicitud, asiento)
            guardar(solicitud)


class CopiaSellada(NamedTuple):
    """A sealed copy that must still be there, by the register: ``creada`` tells it from one made again."""

    referencia: str
    resumen: str
    creada: str
    filas: int
    #: How many runs it was added to in.
    veces: int
    destruir_el: date
    #: The last erasure whose rows it has.
    momento: datetime


def copias_selladas() -> list[CopiaSellada]:
    """The copies that were sealed and whose time has not come."""
    with connection.cursor() as cursor:
        cursor.execute(_SELLADAS)
        filas = [CopiaSellada(*fila) for fila in cursor.fetchall()]
    return [c for c in filas if c.destruir_el > plazos.hoy()]


def retener_de_nuevo(referencia: str, destino: str, clave: str, motivo: str) -> None:
    """Hold a row back as the register says it was, if this database has the request and it is open."""
    solicitud = Solicitud.objects.abiertas().filter(referencia=referencia).first()
    if solicitud:
        Exclusion.objects.create(solicitud=solicitud, destino=destino, clave=clave, motivo=motivo, por=None)


class SinCamino(Exception):
    """From where the copy has a request, the steps of the register do not lead on."""


def _atrasadas(desde: int) -> list[tuple[str, str]]:
    with connection.cursor() as cursor:
        cursor.execute(_ATRASADAS, {"estados": list(Estado), "pasos": _PASOS, "desde": desde})
        filas: list[tuple[str, str]] = cursor.fetchall()
    return filas


_ULTIMO_ESTADO = """
SELECT DISTINCT ON (referencia) referencia, tipo
FROM public.privacidad_asiento WHERE tipo = ANY ({estados}::text[])
ORDER BY referencia, numero DESC
"""
#: The entries that :func:`hasta_el_ultimo` does again.
_PASOS = [*Estado.values, AMPLIADA, "supresion", "gestion", "mencion", "copia_decidida", "copia_sellada"]
# An open one may have been extended, or run again, and be in the same state.
_ATRASADAS = f"""
SELECT s.referencia, u.tipo
FROM public.privacidad_solicitud s JOIN ({_ULTIMO_ESTADO.format(estados="%(estados)s")}) u USING (referencia)
WHERE s.estado <> u.tipo OR s.cerrada IS NULL AND EXISTS (
    SELECT FROM public.privacidad_asiento a
    WHERE a.resumen = s.resumen AND a.referencia = s.referencia AND a.numero > %(desde)s
      AND a.tipo = ANY (%(pasos)s::text[])
)
ORDER BY s.referencia
"""
# One that was linked stands with the one it was linked to: the day it came in on may set the deadline.
_PERDIDAS = """
WITH perdidas AS MATERIALIZED (
    SELECT referencia, min(resumen) AS resumen, min(numero) AS numero,
           (array_agg(tipo ORDER BY numero DESC))[1] AS tipo
    FROM public.privacidad_asiento a
    WHERE tipo = ANY (%(estados)s::text[])
      AND NOT EXISTS (SELECT FROM public.privacidad_solicitud s WHERE s.referencia = a.referencia)
    GROUP BY referencia
)
SELECT p.referencia, coalesce((
    SELECT o.tipo FROM perdidas o
    WHERE p.tipo = 'vinculada' AND o.tipo <> 'vinculada' AND o.resumen = p.resumen AND o.numero < p.numero
    ORDER BY o.numero DESC LIMIT 1
), p.tipo)
FROM perdidas p ORDER BY 1
"""
_ADELANTAR = r"""
INSERT INTO public.privacidad_contador AS c (anio, ultimo)
SELECT partes[1]::smallint, max(partes[2]::integer)
FROM public.privacidad_asiento, regexp_match(referencia, '^SUP-(\d{4})-(\d{4,9})$') AS partes
WHERE partes IS NOT NULL AND partes[2]::integer > 0
GROUP BY 1
ON CONFLICT (anio) DO UPDATE SET ultimo = greatest(c.ultimo, EXCLUDED.ultimo)
"""


# Of each request the last copy: one made again has another date of birth, and the rows of all runs count.
_SELLADAS = """
SELECT u.referencia, u.resumen, u.creada,
       (SELECT sum((a.datos ->> 'filas')::bigint)::bigint FROM public.privacidad_asiento a
        WHERE a.tipo = 'copia_sellada' AND a.referencia = u.referencia
          AND coalesce(a.datos ->> 'copia', '') = u.creada),
       (SELECT count(*) FROM public.privacidad_asiento a
        WHERE a.tipo = 'copia_sellada' AND a.referencia = u.referencia
          AND coalesce(a.datos ->> 'copia', '') = u.creada),
       u.destruir_el, s.momento
FROM (
    SELECT DISTINCT ON (referencia) referencia, resumen, numero, coalesce(datos ->> 'copia', '') AS creada,
           (datos ->> 'destruir_el')::date AS destruir_el
    FROM public.privacidad_asiento WHERE tipo = 'copia_sellada'
    ORDER BY referencia, numero DESC
) u
CROSS JOIN LATERAL (
    SELECT max(coalesce(datos ->> 'hasta', datos ->> 'momento')::timestamptz) AS momento
    FROM public.privacidad_asiento
    WHERE tipo = 'supresion' AND referencia = u.referencia
) s
WHERE s.momento IS NOT NULL AND NOT EXISTS (
    SELECT FROM public.privacidad_asiento d
    WHERE d.tipo = 'copia_destruida' AND d.referencia = u.referencia AND d.numero > u.numero
)
ORDER BY u.referencia
"""


def hasta_el_ultimo(solicitud: Solicitud, desde: int) -> Solicitud:
    """Do what the entries after number ``desde`` say was done, in the caller's transaction.

    A review is not done again: what it counted and found is in no register. So one that is still to be run
    stops before the review the copy does not have, and is asked to be reviewed (:mod:`privacidad.revisiones`)
    as it is whenever something that was decided for it cannot be put back.

    Raises :class:`SinCamino` and ``DatabaseError``.
    """
    actual = Solicitud.objects.select_for_update().get(pk=solicitud.pk)
    sujeto_id = actual.sujeto_id
    asientos = list(_asientos(actual, desde))
    ejecutada = Asiento.objects.filter(
        tipo="supresion", resumen=actual.resumen, referencia=actual.referencia
    ).exists()
    estado = next((a.tipo for a in reversed(asientos) if a.tipo in Estado.values), actual.estado)
    por_ejecutar = estado in estados.ABIERTAS and not ejecutada
    sin_revisar = por_ejecutar and actual.estado in (Estado.RECIBIDA, Estado.IDENTIFICADA)
    decisiones = Decisiones(actual, asientos)
    parada = False
    for asiento in asientos:
        parada = parada or (sin_revisar and asiento.tipo == Estado.REVISADA)
        if asiento.tipo == AMPLIADA:
            actual.ampliada = parse_date(asiento.datos["vence"])
            actual.vence = actual.ampliada or actual.vence
            guardar(actual)
            anotar_paso(actual, asiento)
        elif asiento.tipo == "mencion" and not parada:
            decisiones.poner(asiento, ejecutada=ejecutada)
        elif not parada:
            _rehacer(actual, asiento, sujeto_id)
    if por_ejecutar and decisiones.puestas:
        contar_lo_decidido(actual)
    if por_ejecutar and (parada or decisiones.sin_fila or _falta_decidir(actual)):
        actual = revisiones.pedir(actual)
    return actual


def _falta_decidir(actual: Solicitud) -> bool:
    """Whether it was approved with a row that is here and was not there any more."""
    pendientes = actual.menciones.filter(decision=Mencion.Decision.PENDIENTE)
    return actual.estado == Estado.APROBADA and pendientes.exists()


def _rehacer(actual: Solicitud, asiento: Asiento, sujeto_id: str) -> None:
    if asiento.tipo == "supresion":
        _rehacer_evidencia(actual, asiento)
    elif asiento.tipo == "gestion":
        _rehacer_gestion(actual, asiento)
    elif asiento.tipo in ("copia_decidida", "copia_sellada"):
        _decidir_copia(actual, asiento)
        guardar(actual)
    elif asiento.tipo in Estado.values:
        _dar_paso(actual, asiento, sujeto_id)


def _asientos(solicitud: Solicitud, desde: int) -> Iterator[Asiento]:
    return (
        Asiento.objects.filter(resumen=solicitud.resumen, referencia=solicitud.referencia, numero__gt=desde)
        .order_by("numero")
        .iterator()
    )


def _dar_paso(actual: Solicitud, asiento: Asiento, sujeto_id: str) -> None:
    if not estados.permitida(actual.estado, asiento.tipo):
        raise SinCamino
    actual.estado = asiento.tipo
    if asiento.tipo == Estado.REAPARECIDA:
        if not sujeto_id:  # the copy has it closed already: who it is of is nowhere in it
            raise SinCamino
        actual.sujeto_id, actual.cerrada = sujeto_id, None
        actual.gestiones.update(estado=Gestion.Estado.PENDIENTE, recuento={}, detalle="", pedida=None)
    if asiento.tipo == Estado.COMPLETADA:
        # It was completed: by then nothing was held back.
        actual.exclusiones.activas().update(liberada=asiento.momento)
    if asiento.tipo in estados.CERRADAS:
        actual.sujeto_id, actual.reservado, actual.cerrada = "", b"", asiento.momento
        olvidar_direcciones(actual)
    guardar(actual)
    anotar_paso(actual, asiento)


def anotar_paso(actual: Solicitud, asiento: Asiento) -> None:
    """Its step, which says that it was rebuilt."""
    Paso.objects.create(
        solicitud=actual,
        estado=asiento.tipo,
        por=None,
        momento=asiento.momento,
        texto=PASO_REHECHO,
    )


def _decidir_copia(actual: Solicitud, asiento: Asiento) -> None:
    hasta = asiento.datos.get("hasta") or asiento.datos.get("destruir_el")
    actual.copia_hasta = parse_date(hasta) if hasta else None
    actual.motivo_sin_copia = (
        ""
        if hasta
        else _("Se decidió que no la hubiera; el motivo se perdió al restaurar una copia de seguridad.")
    )


def _rehacer_evidencia(actual: Solicitud, asiento: Asiento) -> None:
    datos = asiento.datos
    Evidencia.objects.create(
        solicitud=actual,
        resultado=datos["resultado"],
        destinos={
            destino: {**cuentas, "sql": [], "parametros": {}}
            for destino, cuentas in evidencias.recuentos(datos).items()
        },
        vectores_huerfanos=0,
        rol=Evidencia.SEGUN_EL_REGISTRO,
        sesion=Evidencia.SEGUN_EL_REGISTRO,
        momento=parse_datetime(datos["momento"]) or asiento.momento,
        posicion_wal=datos["posicion_wal"],
    )


def _rehacer_gestion(actual: Solicitud, asiento: Asiento) -> None:
    datos = {k: v for k, v in asiento.datos.items() if k in ("antes", "borrados", "despues")}
    Gestion.objects.update_or_create(
        solicitud=actual,
        destino=asiento.datos["destino"],
        defaults={"estado": asiento.datos["estado"], "recuento": datos, "momento": asiento.momento},
    )
