"""Rows of other people whose text names the person: looked for at the review, decided one by one.

The store's texts are searched, and those of :mod:`privacidad.fuentes`: the documents of the house, withdrawn
notices, the log of purchasing and its names of suppliers. Checkpoints are binary and nothing of them is
unpacked here: what another person's conversation says of this one goes with that conversation.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Count, Min, Q, QuerySet

from memoria import mudanzas, politica
from memoria.models import Documento
from privacidad import fuentes, identificadores
from privacidad.errores import AvisosMoviendose, MencionesSinDecidir
from privacidad.identificadores import Buscados
from privacidad.models import Mencion, Solicitud
from privacidad.tosco import patron_tosco

#: Rows written at a time: however many there are, memory does not grow.
LOTE = 500


def buscar(solicitud: Solicitud) -> None:
    """Look again for mentions, in the caller's transaction. A decision stands while its row is the same.

    A row that was written again after the decision is a new one to decide. Raises :class:`AvisosMoviendose`.
    """
    parar_mudanzas()
    with connection.cursor() as cursor:
        cursor.execute(_OLVIDAR, {"solicitud": solicitud.pk})
    for fuente in fuentes.FUENTES:
        fuente.olvidar_reescritas(solicitud)
    halladas = iter(_halladas(solicitud))
    while lote := list(islice(halladas, LOTE)):
        Mencion.objects.bulk_create(lote, ignore_conflicts=True)


def parar_mudanzas() -> None:
    """Nothing goes from one place that is searched to another until the caller's transaction ends: what is
    found is where it was found, and nothing was missed on its way.

    :func:`buscar` does it; whoever takes the lock of the register first does it before that (see
    :mod:`memoria.mudanzas`). Raises :class:`AvisosMoviendose`.
    """
    try:
        mudanzas.buscar()
    except mudanzas.EsperaAgotada as error:
        raise AvisosMoviendose from error


def exigir_decididas(solicitud: Solicitud) -> None:
    """Raises :class:`MencionesSinDecidir` while some row is waiting for its decision."""
    pendientes = por_fila(solicitud).filter(pendientes__gt=0).count()
    if pendientes:
        raise MencionesSinDecidir(pendientes)


def por_fila(solicitud: Solicitud) -> QuerySet[Any, Any]:
    """One row per document that mentions the person: its first mention, and how many wait for a decision."""
    return (
        solicitud.menciones.values("prefijo", "clave")
        .annotate(primera=Min("pk"), pendientes=Count("pk", filter=Q(decision=Mencion.Decision.PENDIENTE)))
        .order_by("primera")
    )


class Vista(NamedTuple):
    """A document that mentions the person, as it is shown: masked."""

    mencion: Mencion
    identificadores: list[str]
    espacio: str
    de_quien: str
    clave: str
    muestra: str


def vistas(solicitud: Solicitud, filas: Iterable[dict[str, Any]]) -> list[Vista]:
    """Those rows of :func:`por_fila`, with what their text says. Reads and renews nothing."""
    direcciones = [(str(f["prefijo"]), str(f["clave"])) for f in filas]
    condicion = Q(pk__in=[])
    for prefijo, clave in direcciones:
        condicion |= Q(prefijo=prefijo, clave=clave)
    por_direccion: dict[tuple[str, str], list[Mencion]] = {}
    for m in solicitud.menciones.filter(condicion):
        por_direccion.setdefault((m.prefijo, m.clave), []).append(m)
    valores = {(d.prefix, d.key): d.value for d in Documento.objects.filter(pk__in=direcciones)}
    dichos = fuentes.textos(direcciones)
    buscados = identificadores.de_la_solicitud(solicitud)
    return [
        _vista(por_direccion[d], *dichos.get(d, (d[1], identificadores.textos_de(valores.get(d)))), buscados)
        for d in direcciones
    ]


def _vista(menciones: list[Mencion], clave: str, textos: list[str], buscados: Buscados) -> Vista:
    primera = menciones[0]
    espacio, _, etiqueta = primera.prefijo.partition(".")
    fragmentos = (identificadores.fragmento(buscados, t) for t in textos)
    return Vista(
        mencion=primera,
        identificadores=[m.identificador for m in menciones],
        espacio=espacio,
        de_quien=identificadores.tapar(buscados, identificadores.descodificada(etiqueta)),
        clave=identificadores.tapar(buscados, clave),
        muestra=next((f for f in fragmentos if f), ""),
    )


def _halladas(solicitud: Solicitud) -> Iterator[Mencion]:
    buscados = identificadores.de_la_solicitud(solicitud)
    if not buscados:
        return
    prefijo = politica.prefijo(solicitud.espacio, solicitud.sujeto_id)
    patron = "|".join(f"(?:{i.patron})" for _clase, i in buscados)
    with connection.chunked_cursor() as cursor:
        cursor.execute(BUSCAR, [prefijo, patron, patron_tosco(i for _clase, i in buscados)])
        for suyo, clave, valor in cursor:
            textos = identificadores.textos_de_fila(suyo, clave, json.loads(valor))
            for clase in identificadores.hallados(buscados, textos):
                yield Mencion(solicitud=solicitud, prefijo=suyo, clave=clave, identificador=clase)
    for fuente in fuentes.FUENTES:
        for (suyo, clave), clase in fuente.mencionan(solicitud, buscados):
            yield Mencion(solicitud=solicitud, prefijo=suyo, clave=clave, identificador=clase)


BUSCAR = "SELECT prefijo, clave, valor::text FROM langgraph.buscar_menciones(%s, %s, %s)"

# What is looked for again: what nobody decided, and what was written again since it was decided.
_OLVIDAR = """
DELETE FROM public.privacidad_mencion m
WHERE m.solicitud_id = %(solicitud)s
  AND (m.decision = 'pendiente' OR EXISTS (
      SELECT FROM langgraph.store s
      WHERE s.prefix = m.prefijo AND s.key = m.clave AND s.updated_at > m.momento
  ))
"""
