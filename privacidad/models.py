"""Erasure requests, the steps taken on them and the evidence of what was erased."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

from django.conf import settings
from django.db import models
from django.db.models import F, Func, Q
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from privacidad import estados, plazos
from privacidad.errores import RegistroSoloAnexar
from privacidad.estados import Estado
from privacidad.querysets import SolicitudQuerySet, SoloAnexarQuerySet

UNA_ABIERTA = "una_solicitud_abierta_por_sujeto"


class Canal(models.TextChoices):
    """How the request came in. Any channel counts (LOPDGDD 12.2)."""

    CORREO = "correo", _("Correo electrónico")
    WEB = "web", _("Formulario web")
    TIENDA = "tienda", _("En tienda")
    TELEFONO = "telefono", _("Teléfono")
    POSTAL = "postal", _("Correo postal")


class Solicitud(models.Model):
    """A person asks to be erased. Changed only by :mod:`privacidad.servicios`.

    ``sujeto_id`` and ``identificadores`` are in clear only while the request is open: closing it empties
    both, and what remains is ``resumen``, the keyed digest of the subject's canonical prefix. Nothing
    searches by ``identificadores`` yet, so no screen asks for them.
    """

    referencia = models.CharField(
        _("referencia"),
        max_length=20,
        unique=True,
        editable=False,
        db_default=Func(function="public.privacidad_siguiente_referencia", output_field=models.CharField()),
    )
    espacio = models.CharField(_("espacio"), max_length=40)
    sujeto_id = models.TextField(_("identificador de la persona"), blank=True)
    identificadores = models.JSONField(_("otros identificadores"), default=dict, blank=True)
    resumen = models.CharField(_("resumen del sujeto"), max_length=64, editable=False)
    canal = models.CharField(_("canal"), max_length=20, choices=Canal)
    recibida = models.DateField(_("recibida"))
    vence = models.DateField(_("vence"))
    estado = models.CharField(_("estado"), max_length=20, choices=Estado, default=Estado.RECIBIDA)
    #: ``{destination: {what: how many}}`` of the last review: counts only.
    vista_previa = models.JSONField(_("vista previa"), default=dict, blank=True)
    registrada = models.DateTimeField(_("registrada"), db_default=Now())
    cerrada = models.DateTimeField(_("cerrada"), null=True, blank=True)

    objects = SolicitudQuerySet.as_manager()

    class Meta:
        verbose_name = _("solicitud de supresión")
        verbose_name_plural = _("solicitudes de supresión")
        ordering = ["vence", "pk"]
        default_permissions = ("view",)
        permissions = [
            ("recibir_solicitud", _("Puede registrar solicitudes de supresión")),
            ("tramitar_solicitud", _("Puede identificar, revisar, denegar y retirar solicitudes")),
            ("aprobar_solicitud", _("Puede aprobar solicitudes de supresión")),
            ("ejecutar_solicitud", _("Puede ejecutar solicitudes aprobadas")),
        ]
        indexes = [models.Index(fields=["estado", "vence"], name="solicitud_estado_vence")]
        constraints = [
            models.CheckConstraint(name="solicitud_estado", condition=Q(estado__in=Estado.values)),
            models.CheckConstraint(name="solicitud_canal", condition=Q(canal__in=Canal.values)),
            models.CheckConstraint(name="solicitud_vence", condition=Q(vence__gt=F("recibida"))),
            models.CheckConstraint(
                name="solicitud_cerrada_sin_identificador",
                condition=(
                    Q(
                        estado__in=sorted(estados.CERRADAS),
                        sujeto_id="",
                        identificadores={},
                        cerrada__isnull=False,
                    )
                    | (Q(estado__in=sorted(estados.ABIERTAS), cerrada__isnull=True) & ~Q(sujeto_id=""))
                ),
            ),
            models.UniqueConstraint(
                name=UNA_ABIERTA,
                fields=["resumen"],
                condition=Q(estado__in=sorted(estados.ABIERTAS)),
            ),
        ]

    def __str__(self) -> str:
        return self.referencia

    def get_absolute_url(self) -> str:
        return reverse("privacidad:solicitud", args=[self.referencia])

    @property
    def abierta(self) -> bool:
        return self.estado in estados.ABIERTAS

    @property
    def dias_restantes(self) -> int:
        """Days to the deadline; negative once it has passed."""
        return (self.vence - plazos.hoy()).days

    @property
    def excepcion_motivo(self) -> str:
        """Why the person who received it also approved it; empty when four eyes saw it."""
        paso = self.pasos.filter(estado=Estado.APROBADA).last()
        return paso.texto if paso else ""


class SoloAnexar(models.Model):
    """Base of what is only added to. ``preparar`` takes UPDATE and DELETE from the web's role and a trigger
    refuses UPDATE, DELETE and TRUNCATE to everybody."""

    solo_anexar: ClassVar[bool] = True

    class Meta:
        abstract = True
        # Also what Model.save() goes through: Django's own plain manager would be a way round the guard.
        base_manager_name = "objects"
        default_permissions = ("view",)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RegistroSoloAnexar


class PasoQuerySet(SoloAnexarQuerySet["Paso"]):
    pass


class Paso(SoloAnexar):
    """One step of a request: to which state, who, when and what was said about it.

    ``texto`` is how the identity was checked, why a request was refused or withdrawn, or why one person alone
    received and approved it. ``por`` is null when the scheduled command did it.
    """

    solicitud = models.ForeignKey(
        Solicitud, models.PROTECT, related_name="pasos", verbose_name=_("solicitud")
    )
    estado = models.CharField(_("estado"), max_length=20, choices=Estado)
    por = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+", verbose_name=_("por")
    )
    momento = models.DateTimeField(_("momento"), db_default=Now())
    texto = models.TextField(_("texto"), blank=True)

    objects = PasoQuerySet.as_manager()

    class Meta(SoloAnexar.Meta):
        abstract = False
        verbose_name = _("paso")
        verbose_name_plural = _("pasos")
        ordering = ["pk"]
        constraints = [models.CheckConstraint(name="paso_estado", condition=Q(estado__in=Estado.values))]

    def __str__(self) -> str:
        return f"{self.estado} · {self.momento:%Y-%m-%d %H:%M}"


class EvidenciaQuerySet(SoloAnexarQuerySet["Evidencia"]):
    pass


class Evidencia(SoloAnexar):
    """What one transaction erased for a request, and the counts that prove it.

    ``destinos`` is ``{destination: {"antes": counts, "borrados": counts, "despues": counts, "sql": [text, …],
    "parametros": {name: keyed digest}}}``. ``rol`` is who counted and deleted (the owner of the functions,
    from whom no row policy hides anything), ``sesion`` who was connected. ``posicion_wal`` is where the log
    was when the last count was taken: the commit comes after it.
    """

    class Resultado(models.TextChoices):
        BORRADO = "borrado", _("Borrado: todos los recuentos quedan a cero")
        #: 0 before and 0 after. A mistyped id counts 0 too, so this never is a proof of erasure.
        SIN_DATOS = "sin_datos", _("Sin datos localizados")

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
    def sin_datos(self) -> bool:
        return self.resultado == self.Resultado.SIN_DATOS
