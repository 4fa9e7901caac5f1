"""Querysets of the mirrors: read what LangGraph wrote, never write it.

The guard sits on the queryset, so ``.filter().delete()`` stops as well as ``.save()``; the database role of
the web stands behind it.
"""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

from django.db import models
from django.db.models import Count, F, Func, Q, Sum, Value
from django.db.models.functions import Coalesce, Now
from django.utils.translation import gettext as _

from memoria import politica

M = TypeVar("M", bound=models.Model, covariant=True)


class EspejoDeSoloLectura(TypeError):
    """The tables of LangGraph are read here and written only by the store and the checkpointer."""

    def __init__(self) -> None:
        super().__init__(_("Las tablas de LangGraph son de solo lectura aquí: escriba con el almacén."))


class EspejoQuerySet(models.QuerySet[M]):
    """Refuses every way a queryset can write."""

    def _negar(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise EspejoDeSoloLectura

    create = get_or_create = update_or_create = _negar
    bulk_create = bulk_update = update = delete = _negar
    _update = _insert = _raw_delete = _negar

    async def _anegar(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise EspejoDeSoloLectura

    acreate = aget_or_create = aupdate_or_create = _anegar
    abulk_create = abulk_update = aupdate = adelete = _anegar


class DocumentoQuerySet(EspejoQuerySet[M]):
    """Rows of ``store`` (and of ``store_vectors``, which has the same ``prefix``)."""

    def del_sujeto(self, nombre: str, sujeto_id: str) -> DocumentoQuerySet[M]:
        """The documents of one subject, exactly: never those of an id that merely begins the same."""
        return self.filter(prefix=politica.prefijo(nombre, sujeto_id))

    def del_espacio(self, nombre: str) -> DocumentoQuerySet[M]:
        """The documents of every subject of a root namespace."""
        # LIKE and not a range: where "." sorts before "/" is up to the collation of the database.
        return self.filter(prefix__startswith=f"{nombre}.")

    def vigentes(self) -> DocumentoQuerySet[M]:
        """Not expired."""
        return self.filter(Q(expires_at__isnull=True) | Q(expires_at__gt=Now()))

    def caducados(self) -> DocumentoQuerySet[M]:
        """Expired and not swept yet: no agent reads them. What is restricted (art. 18 GDPR) or held back
        (art. 17(3)) is not swept."""
        return self.filter(expires_at__lte=Now(), limitado=False, retenido=False)

    def recuento(self) -> tuple[int, int]:
        """``(documents, subjects)``."""
        # Grouped first: counting distinct prefixes sorts every row, and this reads the index alone.
        por_sujeto = self.values("prefix").annotate(n=Count("*"))
        total = por_sujeto.aggregate(documentos=Coalesce(Sum("n"), 0), sujetos=Count("prefix"))
        return total["documentos"], total["sujetos"]

    def fuera_de_la_politica(self) -> dict[str, int]:
        """``{root: documents}`` of the namespaces nobody declared."""
        raiz = Func(F("prefix"), Value("."), Value(1), function="split_part", output_field=models.TextField())
        declarados = Q(
            *(("prefix__startswith", f"{nombre}.") for nombre in politica.ESPACIOS), _connector=Q.OR
        )
        filas = self.exclude(declarados).annotate(raiz=raiz).values_list("raiz").annotate(n=Count("*"))
        return dict(filas.order_by("raiz"))
