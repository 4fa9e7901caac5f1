"""Erasure requests, the steps taken on them and the evidence of what was erased."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models
from django.db.models import F, Func, Q
from django.db.models.functions import Now
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from privacidad import estados, plazos
from privacidad.cifrado import cifrar_json, descifrar_json
from privacidad.estados import Estado
from privacidad.models.base import SoloAnexar
from privacidad.querysets import SolicitudQuerySet, SoloAnexarQuerySet

if TYPE_CHECKING:
    from privacidad.models.evidencia import Evidencia

#: The step of an extension: it changes the deadline and not the state.
AMPLIADA = "ampliada"
#: What a step says that was rebuilt from the register, which knows neither who took it nor why.
PASO_REHECHO = gettext_noop("Paso rehecho con el registro, después de restaurar una copia.")
APROBAR = "privacidad.aprobar_solicitud"
UNA_ABIERTA = "una_solicitud_abierta_por_sujeto"
UN_ENVIO = "una_solicitud_por_envio"
#: The most days one calendar month has, and three in a row.
_DIAS_DE_UN_MES, _DIAS_DE_TRES_MESES = timedelta(days=31), timedelta(days=92)


class Canal(models.TextChoices):
    """How the request came in. Any channel counts (LOPDGDD 12.2)."""

    CORREO = "correo", _("Correo electrónico")
    WEB = "web", _("Formulario web")
    TIENDA = "tienda", _("En tienda")
    TELEFONO = "telefono", _("Teléfono")
    POSTAL = "postal", _("Correo postal")


class Solicitud(models.Model):
    """A person asks to be erased. Changed only by :mod:`privacidad.servicios`.

    ``sujeto_id`` is there only while the request is open, and so is ``reservado``: the person's other
    identifiers and the threads that were theirs, encrypted (see :mod:`privacidad.cifrado`). Closing the
    request empties both, and what remains is ``resumen``, the keyed digest of the subject's canonical prefix.

    A request of somebody who already has one open is linked to it (``principal``): there is one active, and
    the earliest receipt sets its deadline.
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
    #: ``{"identificadores": {name: value}, "hilos": [thread_id, …]}``, encrypted; empty once closed.
    reservado = models.BinaryField(_("datos reservados"), blank=True, default=b"", editable=False)
    principal = models.ForeignKey(
        "self", models.PROTECT, null=True, blank=True, related_name="vinculadas", verbose_name=_("principal")
    )
    resumen = models.CharField(_("resumen del sujeto"), max_length=64, editable=False)
    canal = models.CharField(_("canal"), max_length=20, choices=Canal)
    recibida = models.DateField(_("recibida"))
    vence = models.DateField(_("vence"))
    estado = models.CharField(_("estado"), max_length=20, choices=Estado, default=Estado.RECIBIDA)
    #: Until when it was extended, once, inside the first month (art. 12(3) GDPR); null when it was not.
    ampliada = models.DateField(_("ampliada hasta"), null=True, blank=True)
    #: Why there is no sealed copy (LOPDGDD 32); empty when there is one or nothing has been decided yet.
    motivo_sin_copia = models.TextField(_("por qué no hay copia bloqueada"), blank=True)
    #: Until when the sealed copy is to be kept; null when there is to be none.
    copia_hasta = models.DateField(_("copia bloqueada hasta"), null=True, blank=True)
    #: ``{destination: {what: how many}}`` of the last review: counts only.
    vista_previa = models.JSONField(_("vista previa"), default=dict, blank=True)
    #: Which filled form it came from: sent twice, it is registered once. Null when it came from no form.
    envio = models.UUIDField(_("envío"), null=True, blank=True, editable=False)
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
            ("reservar_dato", _("Puede retener datos de una supresión, y soltarlos")),
            ("abrir_copia", _("Puede abrir una copia bloqueada")),
            ("restringir_dato", _("Puede limitar el tratamiento de un dato, y levantarlo")),
            ("atender_acceso", _("Puede producir y descargar expedientes de acceso")),
            ("rectificar_dato", _("Puede rectificar un dato de la memoria")),
        ]
        indexes = [models.Index(fields=["estado", "vence"], name="solicitud_estado_vence")]
        constraints = [
            models.CheckConstraint(name="solicitud_estado", condition=Q(estado__in=Estado.values)),
            models.CheckConstraint(name="solicitud_canal", condition=Q(canal__in=Canal.values)),
            # No later than the law allows for its own receipt. Earlier, as much as an older linked one asks.
            models.CheckConstraint(
                name="solicitud_vence",
                condition=Q(ampliada__isnull=True, vence__lte=F("recibida") + _DIAS_DE_UN_MES)
                | Q(
                    ampliada__isnull=False,
                    ampliada=F("vence"),
                    vence__lte=F("recibida") + _DIAS_DE_TRES_MESES,
                ),
            ),
            models.CheckConstraint(
                name="solicitud_vinculada",
                condition=Q(estado=Estado.VINCULADA, principal__isnull=False)
                | (~Q(estado=Estado.VINCULADA) & Q(principal__isnull=True)),
            ),
            models.CheckConstraint(
                name="solicitud_cerrada_sin_identificador",
                condition=(
                    Q(
                        estado__in=sorted(estados.CERRADAS),
                        sujeto_id="",
                        reservado=b"",
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
            models.UniqueConstraint(name=UN_ENVIO, fields=["envio"]),
        ]

    def __str__(self) -> str:
        return self.referencia

    def get_absolute_url(self) -> str:
        return reverse("privacidad:solicitud", args=[self.referencia])

    def identificadores(self) -> dict[str, str]:
        """The person's other identifiers, ``{name: value}``; empty once the request is closed."""
        return dict(self._reservado().get("identificadores", {}))

    def hilos_capturados(self) -> tuple[str, ...]:
        """The threads that were the person's when the erasure began: nothing else says so afterwards."""
        return tuple(self._reservado().get("hilos", ()))

    def reservar(self, **datos: Any) -> None:
        """Put ``identificadores`` or ``hilos`` among what is kept, encrypted, while the request is open."""
        self.reservado = cifrar_json({**self._reservado(), **datos}, uso="solicitud")

    def _reservado(self) -> dict[str, Any]:
        return descifrar_json(self.reservado, uso="solicitud") if self.reservado else {}

    def primera_recepcion(self) -> date:
        """The earliest receipt among this request and those linked to it: what the law counts from."""
        return min([self.recibida, *self.vinculadas.values_list("recibida", flat=True)])

    def poner_plazo(self) -> None:
        """Set the deadline that the law counts from the earliest receipt (art. 12(3) GDPR).

        An extension holds only if the person was told inside the first month of that one: when an older
        request turns up later than that, it is due, or overdue, as if nothing had been extended.
        """
        primera = self.primera_recepcion()
        self.vence = plazos.vencimiento(primera)
        aviso = self.pasos.filter(estado=AMPLIADA).last() if self.ampliada else None
        en_plazo = aviso and timezone.localdate(aviso.momento, timezone=plazos.MADRID) <= self.vence
        self.ampliada = plazos.ampliado(primera) if en_plazo else None
        self.vence = self.ampliada or self.vence

    def la_recibio(self, persona: Any) -> bool:
        """Whether this person received it, or one linked to it: then they do not approve it."""
        return Paso.objects.filter(
            solicitud__in=[self, *self.vinculadas.all()],
            estado__in=[Estado.RECIBIDA, Estado.VINCULADA],
            por=persona,
        ).exists()

    def puede_aprobarla_otra(self, persona: Any) -> bool:
        """Whether somebody else who did not receive it may approve it, so that four eyes are possible.

        Only who was given the permission, by themselves or through a group: whoever keeps the system running
        may do everything, and approving erasures is not their work for that.
        """
        la_recibieron = Paso.objects.filter(
            solicitud__in=[self, *self.vinculadas.all()],
            estado__in=[Estado.RECIBIDA, Estado.VINCULADA],
            por__isnull=False,
        ).values("por")
        pueden = User.objects.with_perm(
            APROBAR, include_superusers=False, backend="django.contrib.auth.backends.ModelBackend"
        )
        return pueden.exclude(pk=persona.pk).exclude(pk__in=la_recibieron).exists()

    def borro(self, evidencias: Iterable[Evidencia] | None = None) -> bool:
        """Whether something was erased, here by those runs (by any, when it is not said which) or in an
        external destination. What a page shows as done and what a document certifies is this.

        Reads ``evidencias`` and ``gestiones`` whole: ``con_resultado`` has them for a list.
        """
        aqui = self.evidencias.all() if evidencias is None else evidencias
        return any(e.borro for e in aqui) or any(g.borro for g in self.gestiones.all())

    @property
    def ampliable(self) -> bool:
        """Open, not extended yet and inside its first deadline."""
        return self.abierta and not self.ampliada and plazos.hoy() <= self.vence

    @property
    def abierta(self) -> bool:
        return self.estado in estados.ABIERTAS

    @property
    def dias_restantes(self) -> int:
        """Days to the deadline; negative once it has passed."""
        return (self.vence - plazos.hoy()).days

    @property
    def excepcion_motivo(self) -> str:
        """Why the person who received it also approved it; empty when four eyes saw it, or nobody knows."""
        paso = self.pasos.filter(estado=Estado.APROBADA).last()
        return paso.texto if paso and not paso.rehecho else ""


class PasoQuerySet(SoloAnexarQuerySet["Paso"]):
    pass


class Paso(SoloAnexar):
    """One step of a request: to which state, who, when and what was said about it.

    ``texto`` is how the identity was checked, why a request was refused or withdrawn, or why one person alone
    received and approved it. ``por`` is null when the scheduled command did it, or nobody knows who did
    (``rehecho``).
    """

    solicitud = models.ForeignKey(
        Solicitud, models.PROTECT, related_name="pasos", verbose_name=_("solicitud")
    )
    estado = models.CharField(
        _("estado"), max_length=20, choices=[*Estado.choices, (AMPLIADA, _("Plazo ampliado"))]
    )
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
        constraints = [
            models.CheckConstraint(name="paso_estado", condition=Q(estado__in=[*Estado.values, AMPLIADA]))
        ]

    def __str__(self) -> str:
        return f"{self.estado} · {self.momento:%Y-%m-%d %H:%M}"

    @property
    def rehecho(self) -> bool:
        """Whether it was lost with a restore and rebuilt from the register."""
        return self.por_id is None and self.texto == PASO_REHECHO
