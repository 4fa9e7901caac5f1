"""Where what was erased of a person ends and their new card begins: one definition, for the watch, which
finds what is back, and for the run that erases it.

It is the moment of their last erasure and, where the fence kept them out, the end of its minutes. A run that
erases what is back moves it no further: what the person said before that run is theirs. It writes down, with
its evidence, where it stopped, and that goes on being it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import DateTimeField, OuterRef, Q, QuerySet, Subquery
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Coalesce

from privacidad.destinos import DESTINOS, Corte, Destino
from privacidad.estados import Estado
from privacidad.models import Asiento, Evidencia, Paso, Solicitud

#: What a destination's part of an evidence, or an entry of the register, calls it.
HASTA = "hasta"
VALLA = "valla"


class Ejecutada(NamedTuple):
    """A request of which something was erased."""

    referencia: str
    solicitud_id: int
    resumen: str
    corte: Corte


def de_solicitudes(solicitudes: QuerySet[Solicitud]) -> Iterator[Ejecutada]:
    """Of each of those that was run, whatever is known of when."""
    filas = (
        solicitudes.annotate(**_de_su_evidencia())
        .annotate(**_de_su_registro(), empezo=_empezo())
        .order_by("pk")
        .values_list("referencia", "pk", "resumen", "borrado", "corte_hasta", "corte_valla", "empezo")
    )
    for referencia, pk, resumen, borrado, hasta, valla, empezo in filas.iterator():
        if borrado is not None:
            corte = Corte(hasta, valla) if hasta and valla else _de_una_entera(borrado, empezo)
            yield Ejecutada(referencia, pk, resumen, corte)


def de(solicitud: Solicitud) -> Corte | None:
    """Where a run of that request stops; ``None`` when it erases all there is of the person.

    All of it the first time. From then on what they say is of a new card, also while the request waits for a
    row that is held back or for another system. But when the person has asked again since, that was linked to
    this request, and what they want erased is the new card too.
    """
    entera = solicitud.evidencias.exclude(destinos__memoria__has_key=HASTA).last()
    completada = solicitud.pasos.filter(estado=Estado.COMPLETADA).last()
    hechas = [hecha.momento for hecha in (entera, completada) if hecha]
    if not hechas or solicitud.vinculadas.filter(registrada__gt=max(hechas)).exists():
        return None
    suyas = Solicitud.objects.filter(
        Q(pk=solicitud.pk) | Q(estado=Estado.COMPLETADA), resumen=solicitud.resumen
    )
    corte = max((e.corte for e in de_solicitudes(suyas)), key=lambda c: c.momento, default=None)
    if corte is None or completada:
        return corte
    # What other systems were sent in the minutes of the fence is of what was being said when it was raised.
    return Corte(corte.valla, corte.valla)


def en_evidencia(corte: Corte | None, d: Destino) -> dict[str, str]:
    """What the evidence of a run says of it, for one destination."""
    if corte is None:
        return {}
    return {HASTA: (corte.valla if d.vallado else corte.momento).isoformat()}


def en_asiento(corte: Corte | None) -> dict[str, str]:
    """What the register says of it."""
    return {HASTA: corte.momento.isoformat(), VALLA: corte.valla.isoformat()} if corte else {}


def de_asiento(datos: dict[str, Any], nombre: str) -> dict[str, str]:
    """What an entry says of one destination, as its evidence has it."""
    if HASTA not in datos:
        return {}
    vallado = any(d.vallado for d in DESTINOS if d.nombre == nombre)
    return {HASTA: datos[VALLA] if vallado else datos[HASTA]}


def _de_una_entera(borrado: datetime, empezo: datetime | None) -> Corte:
    # The fence is raised just after the run begins, so it never ends before this. Of a run rebuilt from the
    # register nobody knows when it began, and its fence was lost with the database.
    minutos = timedelta(minutes=settings.VALLA_MINUTOS)
    return Corte(borrado, max(borrado, empezo + minutos) if empezo else borrado)


def _de_su_evidencia() -> dict[str, Any]:
    """Of its last run: when it was and, if it erased what was back, where it stopped."""
    ultima = Evidencia.objects.filter(solicitud=OuterRef("pk")).order_by("-pk")

    def dicho(destino: str) -> Cast:
        texto = KeyTextTransform(HASTA, KeyTextTransform(destino, "destinos"))
        return Cast(Subquery(ultima.annotate(dicho=texto).values("dicho")[:1]), DateTimeField())

    return {
        "de_evidencia": Subquery(ultima.values("momento")[:1]),
        "corte_hasta": dicho("casa"),
        "corte_valla": dicho("memoria"),
    }


def _de_su_registro() -> dict[str, Any]:
    """Of one whose evidence somebody deleted past every guard, its entry tells when."""
    asiento = (
        Asiento.objects.filter(
            resumen=OuterRef("resumen"), referencia=OuterRef("referencia"), tipo="supresion"
        )
        .order_by("-numero")
        .values("momento")[:1]
    )
    return {"borrado": Coalesce("de_evidencia", Subquery(asiento), "cerrada")}


def _empezo() -> Subquery:
    """A step takes the time its transaction began, and the run's evidence is of the same transaction. A run
    that was rebuilt after a restore has no beginning: its step is of when its entry was written."""
    return Subquery(
        Paso.objects.filter(
            solicitud=OuterRef("pk"), estado=Estado.EN_CURSO, momento__lte=OuterRef("de_evidencia")
        )
        .order_by("-momento")
        .values("momento")[:1]
    )
