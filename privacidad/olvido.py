"""What a closed request forgets: the addresses of other rows, which may name somebody by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db.models import Q

from privacidad.estados import CERRADAS
from privacidad.models import Exclusion, Mencion, Solicitud
from privacidad.resumenes import resumen

#: Rows changed at a time.
LOTE = 500


def olvidar_direcciones(solicitud: Solicitud) -> None:
    """Put the keyed digest of its address in the place of each mention's and each held row's.

    A row of another person is addressed by that person's id, and a key or a thread may hold anything: none of
    it outlives the request. The digest still says, of a given row, whether it is the one.
    """
    _olvidar_menciones(Q(solicitud=solicitud))
    retenidas = Exclusion.objects.filter(solicitud=solicitud)
    if cierre := solicitud.pasos.filter(estado__in=CERRADAS).last():
        retenidas = retenidas.filter(creada__gt=cierre.momento)  # those from before it have theirs
    desde = 0
    while lote := list(retenidas.filter(pk__gt=desde).order_by("pk")[:LOTE]):
        for exclusion in lote:
            exclusion.clave = resumen(exclusion.clave)
        Exclusion.objects.bulk_update(lote, ["clave"])
        desde = lote[-1].pk


def olvidar_menciones_en(prefijo: str, *, hasta: datetime | None = None) -> int:
    """Forget every request's mentions in the rows of one subject; returns how many there were.

    What was decided keeps its digest; what was not decided goes, like the row it asked about.
    """
    suyas = en_el_prefijo("prefijo", prefijo)
    if hasta is not None:
        suyas &= Q(momento__lte=hasta)
    pendientes = Mencion.objects.filter(suyas, decision=Mencion.Decision.PENDIENTE).delete()[0]
    return pendientes + _olvidar_menciones(suyas)


def en_el_prefijo(campo: str, prefijo: str) -> Q:
    """The rows of exactly that subject, those in a namespace below it included."""
    return Q(**{campo: prefijo}) | Q(**{f"{campo}__startswith": f"{prefijo}."})


def resumen_de_fila(prefijo: str, clave: str) -> str:
    """The digest that stands for the address of a row of the store."""
    return resumen(f"{prefijo}\n{clave}")


def _olvidar_menciones(cuales: Q) -> int:
    # No key of the store is empty: that is what tells a digest from an address.
    olvidadas, desde = 0, 0
    while lote := list(Mencion.objects.filter(cuales, pk__gt=desde).exclude(clave="").order_by("pk")[:LOTE]):
        for mencion in lote:
            mencion.prefijo, mencion.clave = resumen_de_fila(mencion.prefijo, mencion.clave), ""
        _quitar_las_de_antes(lote)
        Mencion.objects.bulk_update(lote, ["prefijo", "clave"])
        olvidadas += len(lote)
        desde = lote[-1].pk
    return olvidadas


def _quitar_las_de_antes(lote: Sequence[Mencion]) -> None:
    """A row may be found, and decided about, again after its address was forgotten: what was decided last
    stays. The register has both."""
    ahora = {(m.solicitud_id, m.prefijo, m.identificador) for m in lote}
    antes = Mencion.objects.filter(clave="", prefijo__in={m.prefijo for m in lote})
    repetidas = [
        pk
        for pk, *cual in antes.values_list("pk", "solicitud_id", "prefijo", "identificador")
        if tuple(cual) in ahora
    ]
    Mencion.objects.filter(pk__in=repetidas).delete()
