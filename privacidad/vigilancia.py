"""The watch: whoever was erased is looked for again, in every destination, and what came back reopens its
request.

A completed request holds no id, only the keyed digest of the subject. So it is asked the other way round:
each destination says whom it still knows (:meth:`privacidad.destinos.Destino.sujetos`), one by one, and the
digest of each is looked for among those of completed requests. That finds the id again, and only of who has
come back.

**Come back, or come anew?** A person who was erased may be a customer again the next day, and what they say
then is theirs to keep: a new card is not a reappearance. What tells them apart is time
(:mod:`privacidad.cortes`, for the watch and for the run it leads to). What a destination holds from before
the erasure was erased once: it is back (a restored backup, a replica, a delayed ingestion). Into the store
and the threads the database lets nothing of an erased subject for ``VALLA_MINUTOS`` (the fence): what is from
those minutes got in round it, and goes too. What is from later is a new card, unless it was said in an erased
thread: no new conversation has one of those (``memoria/sql/vigilancia.sql``).

**And while the request is open?** Whatever came back goes with the next run, so there is nothing to reopen.
But one that is partial may wait for years for a row that is held back, and no run asks again where it was
done: what an external destination has from before the erasure is looked for as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain

from django.db import connection

from memoria import politica
from privacidad import cortes, destinos
from privacidad.destinos import Corte, Destino, Rastro
from privacidad.errores import DestinoNoDisponible
from privacidad.estados import Estado
from privacidad.gestiones import SIN_TERMINAR
from privacidad.models import Gestion, Solicitud
from privacidad.resumenes import resumen

#: How often the deadline is looked at: every so many subjects.
CADA = 1000


@dataclass
class Hallazgo:
    """Somebody who was erased and is there again: which request, who, and in which destinations; ``parcial``
    when the request is still open."""

    solicitud_id: int
    sujeto_id: str = field(repr=False)
    parcial: bool = False
    destinos: set[str] = field(default_factory=set)


@dataclass
class Busqueda:
    """What a round of the watch found. ``completa``: every destination was read to its end."""

    suprimidos: int
    hallazgos: list[Hallazgo] = field(default_factory=list)
    #: References of requests that a restore took away, whose person is there again: there is none to reopen.
    sin_solicitud: list[str] = field(default_factory=list)
    #: ``{destination: why it could not be asked}``.
    sin_respuesta: dict[str, str] = field(default_factory=dict)
    completa: bool = True


def buscar(*, cuantos: int, agotado: Callable[[], bool]) -> Busqueda:
    """Look for everybody who was erased in every destination, ``cuantos`` subjects at a time; changes
    nothing.

    ``agotado`` says when to stop: what has been found by then is given.
    """
    suprimidos = _suprimidos()
    busqueda = Busqueda(len(suprimidos))
    hallados: dict[int, Hallazgo] = {}
    sin_solicitud: set[str] = set()
    for d in destinos.DESTINOS:
        if not d.activo:
            continue
        buscados = {**suprimidos, **_parciales(d)} if d.externo else suprimidos
        if not buscados:
            continue
        hasta = max(s.corte.valla for s in buscados.values())
        try:
            for numero, rastro in enumerate(d.sujetos(cuantos, hasta)):
                if numero % CADA == 0 and agotado():
                    busqueda.completa = False
                    break
                suprimido = buscados.get(_resumen(rastro))
                if suprimido and rastro.desde <= suprimido.corte.hasta(d):
                    if suprimido.solicitud_id is None:
                        sin_solicitud.add(suprimido.referencia)
                        continue
                    hallado = Hallazgo(suprimido.solicitud_id, rastro.sujeto_id, suprimido.parcial)
                    hallados.setdefault(suprimido.solicitud_id, hallado).destinos.add(d.nombre)
        except DestinoNoDisponible as error:
            busqueda.sin_respuesta[d.nombre] = str(error)
    busqueda.hallazgos = list(hallados.values())
    busqueda.sin_solicitud = sorted(sin_solicitud)
    return busqueda


@dataclass(frozen=True, slots=True)
class _Suprimido:
    referencia: str
    #: ``None`` when only the register knows of it.
    solicitud_id: int | None
    corte: Corte
    #: Erased in part: the request is still open, and no two of a person are.
    parcial: bool = False


def _suprimidos() -> dict[bytes, _Suprimido]:
    """By digest, the last erasure of each subject that was erased whole and has no request open."""
    abiertas = set(Solicitud.objects.abiertas().values_list("resumen", flat=True))
    completadas = Solicitud.objects.filter(estado=Estado.COMPLETADA)
    suprimidos: dict[bytes, _Suprimido] = {}
    for referencia, pk, digesto, corte in chain(cortes.de_solicitudes(completadas), _solo_en_el_registro()):
        if digesto not in abiertas:
            anterior = suprimidos.get(bytes.fromhex(digesto))
            if anterior is None or anterior.corte.momento < corte.momento:
                suprimidos[bytes.fromhex(digesto)] = _Suprimido(referencia, pk, corte)
    return suprimidos


def _parciales(d: Destino) -> dict[bytes, _Suprimido]:
    """By digest, those who were erased in part and of whom nothing is left to do in that external
    destination. Outside there is no fence."""
    por_hacer = Gestion.objects.filter(destino=d.nombre, estado__in=SIN_TERMINAR)
    pendientes = set(por_hacer.values_list("solicitud_id", flat=True))
    return {
        bytes.fromhex(e.resumen): _Suprimido(e.referencia, e.solicitud_id, e.corte, parcial=True)
        for e in cortes.de_solicitudes(Solicitud.objects.parciales())
        if e.solicitud_id not in pendientes
    }


def _solo_en_el_registro() -> Iterator[tuple[str, int | None, str, Corte]]:
    """Those that came in after the copy a restore put here, and were completed: the watch knows their people
    by the register (see :mod:`privacidad.restauracion.solicitudes_rehechas`)."""
    with connection.cursor() as cursor:
        cursor.execute(_SOLO_EN_EL_REGISTRO, {"estados": list(Estado), "completada": Estado.COMPLETADA.value})
        for referencia, digesto, momento in cursor.fetchall():
            yield referencia, None, digesto, Corte(momento, momento)


_SOLO_EN_EL_REGISTRO = """
SELECT a.referencia, a.resumen, max(coalesce(a.datos ->> 'hasta', a.datos ->> 'momento')::timestamptz)
FROM public.privacidad_asiento a
WHERE a.tipo = 'supresion'
  AND NOT EXISTS (SELECT FROM public.privacidad_solicitud s WHERE s.referencia = a.referencia)
  AND %(completada)s = (
      SELECT u.tipo FROM public.privacidad_asiento u
      WHERE u.resumen = a.resumen AND u.referencia = a.referencia AND u.tipo = ANY (%(estados)s::text[])
      ORDER BY u.numero DESC LIMIT 1
  )
GROUP BY a.referencia, a.resumen
ORDER BY a.referencia
"""


def _resumen(rastro: Rastro) -> bytes:
    try:
        return bytes.fromhex(resumen(politica.prefijo(rastro.espacio, rastro.sujeto_id)))
    except politica.PoliticaIncumplida:
        return b""  # of no namespace of the policy: nobody can have been erased under it
