"""What the other rights need kept: sealed copies, restrictions, and the files of access requests."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from privacidad.models.evidencia import Evidencia
from privacidad.models.solicitud import Solicitud


class ExpedienteQuerySet(models.QuerySet["Expediente"]):
    def pendientes(self) -> ExpedienteQuerySet:
        """Asked for and not produced yet: what the scheduled command takes. First those not tried yet,
        the oldest first; then those tried longest ago, so that one that always fails is in nobody's way."""
        pedidos = self.filter(destruido__isnull=True).exclude(pedido=b"")
        return pedidos.order_by(F("intentado").asc(nulls_first=True), "pk")


class Copia(models.Model):
    """A sealed copy of what was erased (LOPDGDD 32): encrypted in pieces, its key outside the database."""

    solicitud = models.OneToOneField(
        Solicitud, models.PROTECT, related_name="copia", verbose_name=_("solicitud")
    )
    creada = models.DateTimeField(_("creada"), db_default=Now())
    destruir_el = models.DateField(_("se destruye el"))
    destruida = models.DateTimeField(_("destruida"), null=True, blank=True)

    class Meta:
        verbose_name = _("copia bloqueada")
        verbose_name_plural = _("copias bloqueadas")
        default_permissions = ("view",)
        indexes = [models.Index(fields=["destruir_el"], name="copia_destruir")]

    def __str__(self) -> str:
        return f"{self.solicitud_id} · {self.destruir_el}"


class TrozoCopia(models.Model):
    """A piece of a sealed copy, so that a copy of any size is made and read in constant memory."""

    copia = models.ForeignKey(Copia, models.CASCADE, related_name="trozos", verbose_name=_("copia"))
    orden = models.PositiveIntegerField(_("orden"))
    cifrado = models.BinaryField(_("cifrado"))

    class Meta:
        verbose_name = _("trozo de una copia")
        verbose_name_plural = _("trozos de copias")
        default_permissions = ()
        constraints = [models.UniqueConstraint(name="un_trozo_por_orden", fields=["copia", "orden"])]

    def __str__(self) -> str:
        return f"{self.copia_id} · {self.orden}"


class Restriccion(models.Model):
    """A document, or a whole card, withheld from every agent while it is contested (art. 18 GDPR).

    ``prefijo`` is the subject's; an empty ``clave`` means the whole card. The row policies of the store read
    the ones in force, so a restriction holds whatever the agent does.
    """

    prefijo = models.TextField(_("prefijo"))
    clave = models.TextField(_("clave"), blank=True)
    motivo = models.TextField(_("motivo"))
    #: Null when it withholds what is held back by nobody known (see :attr:`Exclusion.por`).
    por = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+", verbose_name=_("por")
    )
    creada = models.DateTimeField(_("creada"), db_default=Now())
    levantada = models.DateTimeField(_("levantada"), null=True, blank=True)
    motivo_levantada = models.TextField(_("por qué se levanta"), blank=True)

    class Meta:
        verbose_name = _("limitación")
        verbose_name_plural = _("limitaciones")
        ordering = ["pk"]
        default_permissions = ("view",)
        constraints = [
            models.UniqueConstraint(
                name="una_restriccion_en_vigor",
                fields=["prefijo", "clave"],
                condition=Q(levantada__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.prefijo.partition('.')[0]} · {self.creada:%Y-%m-%d}"


class Expediente(models.Model):
    """Everything the system holds on a person (arts. 15 and 20 GDPR), encrypted until it expires.

    ``resumen`` is the keyed digest of the subject: the id is inside, encrypted.
    """

    resumen = models.CharField(_("resumen del sujeto"), max_length=64)
    espacio = models.CharField(_("espacio"), max_length=40)
    referencia = models.CharField(_("referencia"), max_length=20, unique=True)
    por = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+", verbose_name=_("por"))
    creado = models.DateTimeField(_("producido"), db_default=Now())
    caduca = models.DateTimeField(_("caduca"))
    #: Both encrypted; emptied when it expires.
    pdf = models.BinaryField(_("documento legible"), blank=True)
    json = models.BinaryField(_("documento portable"), blank=True)
    #: Whose it is, encrypted, while it waits to be produced by the scheduled command; empty from then on.
    pedido = models.BinaryField(_("pedido"), blank=True, default=b"", db_default=b"")
    #: When the scheduled command last set about it, also if it did not live to tell.
    intentado = models.DateTimeField(_("intentado"), null=True, blank=True)
    destruido = models.DateTimeField(_("destruido"), null=True, blank=True)

    objects = ExpedienteQuerySet.as_manager()

    class Meta:
        verbose_name = _("expediente de acceso")
        verbose_name_plural = _("expedientes de acceso")
        ordering = ["-pk"]
        default_permissions = ("view",)

    def __str__(self) -> str:
        return self.referencia

    @property
    def pendiente(self) -> bool:
        """Whether it has been asked for and not produced yet."""
        return bool(self.pedido) and self.destruido is None


class MencionQuerySet(models.QuerySet["Mencion"]):
    def por_borrar(self, resumen: str) -> MencionQuerySet:
        """Decided to be erased for the subject of that digest: in their open request, or in one that was run.
        What a request that was refused or withdrawn had decided was never approved."""
        ejecutada = Exists(Evidencia.objects.filter(solicitud=OuterRef("solicitud")))
        return self.filter(
            ~Q(clave="") | ejecutada, solicitud__resumen=resumen, decision=Mencion.Decision.BORRAR
        )

    def con_direccion(self, resumen: str) -> MencionQuerySet:
        """Those of the open request of the subject of that digest, whatever was decided: of a row that is
        among them nothing older counts."""
        return self.filter(solicitud__resumen=resumen).exclude(clave="")


class Mencion(models.Model):
    """A row of another namespace whose text names the person, and what was decided about it.

    The decision is evidence and stays. ``prefijo`` and ``clave`` address the row, which is not the person's;
    once the request is closed ``prefijo`` is the digest of the address and ``clave`` is empty.
    """

    class Decision(models.TextChoices):
        PENDIENTE = "pendiente", _("Por decidir")
        BORRAR = "borrar", _("Borrar la fila")
        CONSERVAR = "conservar", _("Conservarla")

    solicitud = models.ForeignKey(
        Solicitud, models.PROTECT, related_name="menciones", verbose_name=_("solicitud")
    )
    prefijo = models.TextField(_("prefijo"))
    clave = models.TextField(_("clave"))
    #: Which of the person's identifiers was found ("telefono"), never its value.
    identificador = models.CharField(_("identificador"), max_length=40)
    decision = models.CharField(_("decisión"), max_length=20, choices=Decision, default=Decision.PENDIENTE)
    motivo = models.TextField(_("motivo"), blank=True)
    por = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+", verbose_name=_("por")
    )
    momento = models.DateTimeField(_("momento"), db_default=Now())

    objects = MencionQuerySet.as_manager()

    class Meta:
        verbose_name = _("mención")
        verbose_name_plural = _("menciones")
        ordering = ["pk"]
        default_permissions = ("view",)
        constraints = [
            models.UniqueConstraint(
                name="una_mencion_por_fila", fields=["solicitud", "prefijo", "clave", "identificador"]
            ),
            models.CheckConstraint(
                name="mencion_decision", condition=Q(decision__in=["pendiente", "borrar", "conservar"])
            ),
        ]

    def __str__(self) -> str:
        return f"{self.identificador} · {self.decision}"
