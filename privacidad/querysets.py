"""Named reads of the requests, and the guard of what is only added to."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from django.db import models
from django.db.models import Case, Count, F, OuterRef, Subquery, Value, When
from django.db.models.functions import Coalesce

from privacidad import estados
from privacidad.errores import RegistroSoloAnexar

if TYPE_CHECKING:
    from privacidad.models import Exclusion, Solicitud  # noqa: F401 - named in strings below

M = TypeVar("M", bound=models.Model, covariant=True)


class SolicitudQuerySet(models.QuerySet["Solicitud"]):
    def abiertas(self) -> SolicitudQuerySet:
        return self.filter(estado__in=estados.ABIERTAS)

    def por_ejecutar(self) -> SolicitudQuerySet:
        """Approved, or run in part: what the scheduled command takes, the most urgent first."""
        return self.filter(estado__in=estados.EJECUTABLES).order_by("vence", "pk")

    def reaparecidas(self) -> SolicitudQuerySet:
        """Of somebody who had been erased and was found again."""
        return self.filter(estado=estados.Estado.REAPARECIDA)

    def parciales(self) -> SolicitudQuerySet:
        """Erased in part: something is held back, or a destination has not confirmed it."""
        return self.filter(estado=estados.Estado.PARCIAL)

    def vencen_hasta(self, dia: date) -> SolicitudQuerySet:
        """Open and due on ``dia`` or before."""
        return self.abiertas().filter(vence__lte=dia)

    def por_urgencia(self) -> SolicitudQuerySet:
        """Open ones first, the fewest days left on top; then the closed ones, the latest on top."""
        cerrada = Case(When(estado__in=estados.CERRADAS, then=Value(1)), default=Value(0))
        vence_si_abierta = Case(When(estado__in=estados.ABIERTAS, then=F("vence")))
        return self.order_by(cerrada, vence_si_abierta, F("cerrada").desc(nulls_last=True), "pk")

    def con_resultado(self) -> models.QuerySet[Any]:
        """With what became of it: ``retenidos``, how many rows are held back now; ``sin_confirmar``, how many
        external destinations have not confirmed; and all that ``borro`` reads."""
        from privacidad.models import Exclusion, Gestion

        suyas = {"solicitud": OuterRef("pk")}
        sin_confirmar = Gestion.objects.filter(**suyas).exclude(
            estado__in=[Gestion.Estado.HECHA, Gestion.Estado.SIN_DATOS]
        )
        return self.prefetch_related("evidencias", "gestiones").annotate(
            retenidos=_cuantas(Exclusion.objects.activas().filter(**suyas)),
            sin_confirmar=_cuantas(sin_confirmar),
        )


def _cuantas(de_una_solicitud: models.QuerySet[Any]) -> Coalesce:
    """How many of them, as a subquery."""
    cuenta = de_una_solicitud.order_by().values("solicitud").annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(cuenta), 0)


class ExclusionQuerySet(models.QuerySet["Exclusion"]):
    def activas(self) -> ExclusionQuerySet:
        return self.filter(liberada__isnull=True)


class SoloAnexarQuerySet(models.QuerySet[M]):
    """Rows are added and read; every way to change or delete one is refused. The database refuses too."""

    def _negar(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RegistroSoloAnexar

    update_or_create = bulk_update = update = delete = _negar
    _update = _raw_delete = _negar

    async def _anegar(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RegistroSoloAnexar

    aupdate_or_create = abulk_update = aupdate = adelete = _anegar
