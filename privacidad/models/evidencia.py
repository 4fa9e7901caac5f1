"""The proof of an erasure, what is held back from one, and how each external destination stands."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from privacidad.models.base import SoloAnexar
from privacidad.models.solicitud import Solicitud
from privacidad.querysets import ExclusionQuerySet, SoloAnexarQuerySet


class EvidenciaQuerySet(SoloAnexarQuerySet["Evidencia"]):
    pass


class Evidencia(SoloAnexar):
    """What one transaction erased for a request, and the counts that prove it.

    ``destinos`` is ``{destination: {"previsto": counts, "antes": counts, "borrados": counts, "despues":
    counts, "sql": [text, …], "parametros": {name: keyed digest}}}``; ``previsto`` is what the review counted,
    and one rebuilt from the register after a restore has none. Of a run that left what was said since an
    earlier one, each destination has a ``hasta`` too: nothing from that moment on was counted. ``rol`` is who
    counted and deleted (the owner of the functions, from whom no row policy hides anything), ``sesion`` who
    was connected. ``posicion_wal`` is where the log was when the last count was taken: the commit comes
    after it.
    """

    class Resultado(models.TextChoices):
        #: There was something. What was held back is still there, and a later run counts it again.
        BORRADO = "borrado", _("Borrado: después solo queda lo retenido, si lo hay")
        #: 0 before and 0 after. A mistyped id counts 0 too, so this never is a proof of erasure.
        SIN_DATOS = "sin_datos", _("Sin datos localizados")

    #: Who counted, in one rebuilt from its entry after a restore: it holds the counts and no more.
    SEGUN_EL_REGISTRO: ClassVar[str] = "según el registro"

    solicitud = models.ForeignKey(
        Solicitud, models.PROTECT, related_name="evidencias", verbose_name=_("solicitud")
    )
    resultado = models.CharField(_("resultado"), max_length=20, choices=Resultado)
    destinos = models.JSONField(_("destinos"))
    vectores_huerfanos = models.PositiveBigIntegerField(_("vectores sin documento en toda la tabla"))
    rol = models.CharField(_("rol que cuenta y borra"), max_length=63)
    sesion = models.CharField(_("rol de la sesión"), max_length=63)
    momento = models.DateTimeField(_("hora del servidor"))
    posicion_wal = models.CharField(_("posición del WAL"), max_length=20)

    objects = EvidenciaQuerySet.as_manager()

    class Meta(SoloAnexar.Meta):
        abstract = False
        verbose_name = _("evidencia")
        verbose_name_plural = _("evidencias")
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                name="evidencia_resultado", condition=Q(resultado__in=["borrado", "sin_datos"])
            )
        ]

    def __str__(self) -> str:
        return f"{self.resultado} · {self.momento:%Y-%m-%d %H:%M}"

    @property
    def borro(self) -> bool:
        """Whether the run erased a row. 0 → 0 erased none, and neither did one that found only what is held
        back, which may go by another hand later."""
        return any(n for recuentos in self.destinos.values() for n in recuentos["borrados"].values())

    @property
    def sin_datos(self) -> bool:
        return self.resultado == self.Resultado.SIN_DATOS

    @property
    def hasta(self) -> datetime | None:
        """Of a run that erased what was back of somebody, until when it was theirs to erase; ``None`` when it
        was all there was (see :mod:`privacidad.cortes`)."""
        texto = self.destinos.get("casa", {}).get("hasta")
        return datetime.fromisoformat(texto) if texto else None

    @property
    def huerfanos(self) -> int | None:
        """The orphan vectors that were counted; ``None`` in one rebuilt from its entry, which has none."""
        return None if self.rol == self.SEGUN_EL_REGISTRO else self.vectores_huerfanos


class Exclusion(models.Model):
    """One row held back from an erasure, and why (art. 17(3) GDPR). The rest goes; the request stays partial.

    ``clave`` addresses the row inside its destination: the key of a document, the id of a thread. Releasing
    it lets the next run finish.
    """

    class Motivo(models.TextChoices):
        OBLIGACION = "obligacion", _("Obligación legal de conservarlo")
        RECLAMACION = "reclamacion", _("Reclamación o pleito en curso")
        INTERES_PUBLICO = "interes_publico", _("Interés público")
        EXPRESION = "expresion", _("Libertad de expresión e información")
        INVESTIGACION = "investigacion", _("Archivo, investigación o estadística")

    solicitud = models.ForeignKey(
        Solicitud, models.PROTECT, related_name="exclusiones", verbose_name=_("solicitud")
    )
    destino = models.CharField(_("destino"), max_length=40)
    clave = models.TextField(_("clave"))
    motivo = models.CharField(_("motivo"), max_length=20, choices=Motivo)
    #: Null when it was rebuilt from the register after a restore: the register names nobody.
    por = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+", verbose_name=_("por")
    )
    creada = models.DateTimeField(_("retenida"), db_default=Now())
    liberada = models.DateTimeField(_("soltada"), null=True, blank=True)

    objects = ExclusionQuerySet.as_manager()

    class Meta:
        verbose_name = _("exclusión")
        verbose_name_plural = _("exclusiones")
        ordering = ["pk"]
        default_permissions = ("view",)
        constraints = [
            models.CheckConstraint(
                name="exclusion_motivo",
                condition=Q(
                    motivo__in=["obligacion", "reclamacion", "interes_publico", "expresion", "investigacion"]
                ),
            ),
            models.UniqueConstraint(
                name="una_exclusion_activa",
                fields=["solicitud", "destino", "clave"],
                condition=Q(liberada__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.destino} · {self.motivo}"


class Gestion(models.Model):
    """How one external destination stands for a request: each is done, checked and retried on its own."""

    class Estado(models.TextChoices):
        PENDIENTE = "pendiente", _("Pendiente")
        POR_VERIFICAR = "por_verificar", _("Borrado, pendiente de verificar")
        HECHA = "hecha", _("Borrado y verificado")
        #: Unknown there: never "done".
        SIN_DATOS = "sin_datos", _("Sin datos localizados")
        FALLIDA = "fallida", _("No se ha podido")

    solicitud = models.ForeignKey(
        Solicitud, models.PROTECT, related_name="gestiones", verbose_name=_("solicitud")
    )
    destino = models.CharField(_("destino"), max_length=40)
    estado = models.CharField(_("estado"), max_length=20, choices=Estado, default=Estado.PENDIENTE)
    #: ``{"antes": counts, "borrados": counts, "despues": counts}`` as far as it got: counts only.
    recuento = models.JSONField(_("recuento"), default=dict)
    intentos = models.PositiveIntegerField(_("intentos"), default=0)
    #: When the deletion was last asked for; null while it has not been.
    pedida = models.DateTimeField(_("borrado pedido"), null=True, blank=True)
    #: A sentence, never what the other side answered: that may quote the person.
    detalle = models.TextField(_("detalle"), blank=True)
    momento = models.DateTimeField(_("última vez"), db_default=Now())

    class Meta:
        verbose_name = _("gestión")
        verbose_name_plural = _("gestiones")
        ordering = ["pk"]
        default_permissions = ("view",)
        constraints = [
            models.UniqueConstraint(name="una_gestion_por_destino", fields=["solicitud", "destino"]),
            models.CheckConstraint(
                name="gestion_estado",
                condition=Q(estado__in=["pendiente", "por_verificar", "hecha", "sin_datos", "fallida"]),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.destino} · {self.estado}"

    @property
    def borro(self) -> bool:
        """Whether something was erased there, and read back as gone."""
        return self.estado == self.Estado.HECHA

    @property
    def terminada(self) -> bool:
        return self.estado in (self.Estado.HECHA, self.Estado.SIN_DATOS)
