"""Read-only mirrors of LangGraph's tables, the thread registry and the record of command runs.

LangGraph owns its tables and their schema; the mirrors (``managed = False``) only let screens and reports
read them with the ORM. See :mod:`memoria.querysets` for the write guard.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _
from pgvector.django import VectorField

from memoria import politica
from memoria.querysets import DocumentoQuerySet, EspejoDeSoloLectura, EspejoQuerySet


class Espejo(models.Model):
    """Base of the mirrors: an instance can be read, never saved or deleted."""

    class Meta:
        abstract = True
        managed = False
        # Django's own plain manager would be a way round the guard: `_base_manager.all().delete()`, and what
        # `Model.save_base` uses.
        base_manager_name = "objects"

    def save(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise EspejoDeSoloLectura

    def save_base(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise EspejoDeSoloLectura

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise EspejoDeSoloLectura


class Documento(Espejo):
    """A document of the store (``langgraph.store``)."""

    pk = models.CompositePrimaryKey("prefix", "key")
    prefix = models.TextField()
    key = models.TextField(_("clave"))
    value = models.JSONField(_("documento"))
    created_at = models.DateTimeField(_("escrito"))
    updated_at = models.DateTimeField(_("actualizado"))
    expires_at = models.DateTimeField(_("caduca"), null=True)
    ttl_minutes = models.IntegerField(_("vida en minutos"), null=True)
    #: Contested (art. 18 GDPR): stored, and no agent reads it. Ours, see sql/limitaciones.sql.
    limitado = models.BooleanField(_("limitado"))
    #: Held back from an erasure (art. 17(3) GDPR): nobody changes it nor deletes it. See sql/retenciones.sql.
    retenido = models.BooleanField(_("retenido"))

    objects = DocumentoQuerySet.as_manager()

    class Meta(Espejo.Meta):
        abstract = False
        db_table = '"langgraph"."store"'
        verbose_name = _("documento de la memoria")
        verbose_name_plural = _("documentos de la memoria")

    def __str__(self) -> str:
        # The prefix names a person and the value is what they said: neither belongs in a log line.
        return f"{self.prefix.partition('.')[0]} · {self.key}"

    @property
    def sujeto(self) -> tuple[str, str]:
        """``(namespace, subject id)``."""
        return politica.sujeto(self.prefix)


class VectorDocumento(Espejo):
    """A vector of a document (``langgraph.store_vectors``); the table exists only with pgvector."""

    pk = models.CompositePrimaryKey("prefix", "key", "field_name")
    prefix = models.TextField()
    key = models.TextField(_("clave"))
    field_name = models.TextField(_("campo"))
    embedding = VectorField()
    created_at = models.DateTimeField(_("escrito"))
    updated_at = models.DateTimeField(_("actualizado"))

    objects = DocumentoQuerySet.as_manager()

    class Meta(Espejo.Meta):
        abstract = False
        db_table = '"langgraph"."store_vectors"'
        verbose_name = _("vector de un documento")
        verbose_name_plural = _("vectores de documentos")

    def __str__(self) -> str:
        return f"{self.prefix.partition('.')[0]} · {self.key} · {self.field_name}"


class Checkpoint(Espejo):
    """A checkpoint of a thread (``langgraph.checkpoints``)."""

    pk = models.CompositePrimaryKey("thread_id", "checkpoint_ns", "checkpoint_id")
    thread_id = models.TextField(_("hilo"))
    checkpoint_ns = models.TextField()
    checkpoint_id = models.TextField()
    parent_checkpoint_id = models.TextField(null=True)
    type = models.TextField(null=True)
    checkpoint = models.JSONField()
    metadata = models.JSONField()

    objects = EspejoQuerySet.as_manager()

    class Meta(Espejo.Meta):
        abstract = False
        db_table = '"langgraph"."checkpoints"'
        verbose_name = _("punto de control")
        verbose_name_plural = _("puntos de control")

    def __str__(self) -> str:
        return self.checkpoint_id


class CheckpointBlob(Espejo):
    """A channel value of a thread (``langgraph.checkpoint_blobs``). The bytes are never unpacked here."""

    pk = models.CompositePrimaryKey("thread_id", "checkpoint_ns", "channel", "version")
    thread_id = models.TextField(_("hilo"))
    checkpoint_ns = models.TextField()
    channel = models.TextField()
    version = models.TextField()
    type = models.TextField()
    blob = models.BinaryField(null=True)

    objects = EspejoQuerySet.as_manager()

    class Meta(Espejo.Meta):
        abstract = False
        db_table = '"langgraph"."checkpoint_blobs"'
        verbose_name = _("valor de un punto de control")
        verbose_name_plural = _("valores de puntos de control")

    def __str__(self) -> str:
        return f"{self.channel} · {self.version}"


class CheckpointWrite(Espejo):
    """A pending write of a thread (``langgraph.checkpoint_writes``)."""

    pk = models.CompositePrimaryKey("thread_id", "checkpoint_ns", "checkpoint_id", "task_id", "idx")
    thread_id = models.TextField(_("hilo"))
    checkpoint_ns = models.TextField()
    checkpoint_id = models.TextField()
    task_id = models.TextField()
    idx = models.IntegerField()
    channel = models.TextField()
    type = models.TextField(null=True)
    blob = models.BinaryField()
    task_path = models.TextField()

    objects = EspejoQuerySet.as_manager()

    class Meta(Espejo.Meta):
        abstract = False
        db_table = '"langgraph"."checkpoint_writes"'
        verbose_name = _("escritura pendiente")
        verbose_name_plural = _("escrituras pendientes")

    def __str__(self) -> str:
        return f"{self.channel} · {self.idx}"


ESPEJOS: tuple[type[Espejo], ...] = (Documento, VectorDocumento, Checkpoint, CheckpointBlob, CheckpointWrite)


class HiloQuerySet(models.QuerySet["Hilo"]):
    def del_sujeto(self, nombre: str, sujeto_id: str) -> HiloQuerySet:
        return self.filter(espacio=nombre, sujeto_id=sujeto_id)


class Hilo(models.Model):
    """The owner of a thread. The checkpointer writes it before the thread's first checkpoint.

    The database holds it to that: LangGraph's checkpoint tables refer to this one.
    """

    thread_id = models.TextField(_("hilo"), primary_key=True)
    espacio = models.TextField(_("espacio"))
    sujeto_id = models.TextField(_("sujeto"))
    creado = models.DateTimeField(_("creado"), db_default=Now())
    visto = models.DateTimeField(_("última escritura"), db_default=Now())

    objects = HiloQuerySet.as_manager()

    class Meta:
        db_table = "hilos"
        verbose_name = _("hilo")
        verbose_name_plural = _("hilos")
        indexes = [
            models.Index(fields=["espacio", "sujeto_id", "-visto"], name="hilos_sujeto"),
            models.Index(fields=["visto"], name="hilos_visto"),
        ]

    def __str__(self) -> str:
        return f"{self.espacio} · {self.creado:%Y-%m-%d}"


class Ejecucion(models.Model):
    """One run of a management command: what it did and how it ended. No personal data, counts only."""

    comando = models.CharField(_("orden"), max_length=60)
    inicio = models.DateTimeField(_("inicio"), db_default=Now())
    fin = models.DateTimeField(_("fin"), null=True)
    codigo = models.SmallIntegerField(_("código de salida"), null=True)
    simulada = models.BooleanField(_("simulacro"), default=False)
    recuento = models.JSONField(_("recuento"), default=dict)
    version = models.CharField(_("versión"), max_length=40)

    class Meta:
        verbose_name = _("ejecución")
        verbose_name_plural = _("ejecuciones")
        indexes = [models.Index(fields=["comando", "-inicio"], name="ejecucion_comando")]

    def __str__(self) -> str:
        return f"{self.comando} · {self.inicio:%Y-%m-%d %H:%M}"


def modelos_solo_anexar() -> Iterable[type[models.Model]]:
    """Models that say ``solo_anexar = True``: the web's role may add rows to them, not change them."""
    from django.apps import apps

    return (m for m in apps.get_models() if getattr(m, "solo_anexar", False))
