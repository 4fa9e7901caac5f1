"""The register: what happened, in a chain nobody can mend unseen. And the documents that were issued."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from privacidad.models.base import SoloAnexar
from privacidad.models.evidencia import Evidencia
from privacidad.models.solicitud import Solicitud
from privacidad.querysets import SoloAnexarQuerySet


class AsientoQuerySet(SoloAnexarQuerySet["Asiento"]):
    pass


class Asiento(SoloAnexar):
    """One entry of the register. Written only by :func:`privacidad.registro.anotar`.

    ``huella`` is the SHA-256 of the entry's canonical form, which holds the ``anterior`` one: changing,
    removing or inserting an entry breaks every entry after it. No name and no id in clear: ``resumen`` is the
    keyed digest of a subject, empty where there is none.
    """

    numero = models.PositiveBigIntegerField(_("número"), primary_key=True)
    momento = models.DateTimeField(_("momento"))
    tipo = models.CharField(_("tipo"), max_length=40)
    referencia = models.CharField(_("referencia"), max_length=40, blank=True)
    resumen = models.CharField(_("resumen del sujeto"), max_length=64, blank=True)
    datos = models.JSONField(_("datos"), default=dict)
    anterior = models.CharField(_("huella anterior"), max_length=64)
    huella = models.CharField(_("huella"), max_length=64, unique=True)

    objects = AsientoQuerySet.as_manager()

    class Meta(SoloAnexar.Meta):
        abstract = False
        verbose_name = _("asiento")
        verbose_name_plural = _("asientos")
        ordering = ["numero"]
        indexes = [
            models.Index(fields=["tipo", "numero"], name="asiento_tipo"),
            models.Index(fields=["resumen", "numero"], name="asiento_resumen", condition=~Q(resumen="")),
        ]

    def __str__(self) -> str:
        return f"{self.numero} · {self.tipo}"


class EscritoQuerySet(SoloAnexarQuerySet["Escrito"]):
    def ligeros(self) -> EscritoQuerySet:
        """Without the document and its data: what a list needs."""
        return self.defer("pdf", "datos")

    def sin_sellar(self) -> EscritoQuerySet:
        """Without what nothing seals: its data tell when it was issued."""
        return self.defer("emitido").select_related("solicitud")


class Escrito(SoloAnexar):
    """A document issued to the person: made once, its bytes kept and served identical ever after.

    ``datos`` is everything the document says and the evidence it says it from; ``huella_datos``, the SHA-256
    of its canonical JSON, is printed on it. ``evidencia`` is the last one it covers, of those that close a
    request: what reappears and is erased again has a document of its own.
    """

    class Tipo(models.TextChoices):
        CERTIFICADO = "certificado", _("Certificado de supresión")
        SIN_DATOS = "sin_datos", _("Comunicación de que no hay datos")
        DENEGACION = "denegacion", _("Denegación motivada")
        AMPLIACION = "ampliacion", _("Ampliación del plazo")

    numero = models.CharField(_("número"), max_length=30, unique=True)
    solicitud = models.ForeignKey(
        Solicitud, models.PROTECT, related_name="escritos", verbose_name=_("solicitud")
    )
    tipo = models.CharField(_("tipo"), max_length=20, choices=Tipo)
    evidencia = models.ForeignKey(
        Evidencia, models.PROTECT, null=True, blank=True, related_name="+", verbose_name=_("evidencia")
    )
    emitido = models.DateTimeField(_("emitido"), db_default=Now())
    datos = models.JSONField(_("datos"))
    huella_datos = models.CharField(_("huella de los datos"), max_length=64)
    pdf = models.BinaryField(_("documento"))
    #: SHA-256 of the bytes, hexadecimal.
    huella = models.CharField(_("huella"), max_length=64)

    objects = EscritoQuerySet.as_manager()

    class Meta(SoloAnexar.Meta):
        abstract = False
        verbose_name = _("escrito")
        verbose_name_plural = _("escritos")
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                name="un_escrito_por_tipo", fields=["solicitud", "tipo"], condition=Q(evidencia__isnull=True)
            ),
            models.UniqueConstraint(name="un_escrito_por_evidencia", fields=["evidencia"]),
        ]

    def __str__(self) -> str:
        return self.numero

    def get_absolute_url(self) -> str:
        return reverse("privacidad:escrito", args=[self.solicitud.referencia, self.numero])
