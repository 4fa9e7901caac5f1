"""Pages of the document memory, their history and the sections that are searched.

Every table carries its owner space and shows nothing outside it: row-level security, enabled and forced, asks
for a setting of the transaction (see :mod:`memoria.documentos.acceso`). A query made anywhere else finds no
row and writes none.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from memoria.documentos.espacios import ESPACIOS
from memoria.documentos.palabras import PERMISOS
from memoria.politica import Importancia

#: In characters. A page of this size is a book; what is longer is several documents.
LARGO_MAXIMO_TEXTO = 200_000
LARGO_MAXIMO_TITULO = 200
LARGO_MAXIMO_MOTIVO = 500


class PaginaQuerySet(models.QuerySet["Pagina"]):
    def vivas(self) -> PaginaQuerySet:
        return self.filter(borrada__isnull=True)

    def borradas(self) -> PaginaQuerySet:
        return self.filter(borrada__isnull=False)

    def sin_texto(self) -> PaginaQuerySet:
        """For lists: a page may hold a great deal of text."""
        return self.defer("texto")


class Pagina(models.Model):
    """A document as it is now. A deleted one keeps its text and its path until it is emptied from the bin."""

    espacio = models.TextField(_("espacio"), choices=[(e, e) for e in ESPACIOS])
    ruta = models.TextField(_("ruta"))
    titulo = models.TextField(_("título"))
    texto = models.TextField(_("texto"), blank=True)
    importancia = models.TextField(_("importancia"), default=Importancia.NORMAL.value)
    version = models.PositiveIntegerField(_("versión"), default=1)
    # No constraint: a person's account may be deleted, and the history is not to be touched for that.
    autor = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.DO_NOTHING, null=True, db_constraint=False, related_name="+"
    )
    creada = models.DateTimeField(_("creado"), db_default=Now())
    actualizada = models.DateTimeField(_("cambiado"), db_default=Now())
    borrada = models.DateTimeField(_("borrado"), null=True)
    #: SHA-256 of the file this page was last read from or written to; empty when it never was.
    huella_fichero = models.TextField(blank=True, default="")

    objects = PaginaQuerySet.as_manager()

    class Meta:
        verbose_name = _("documento")
        verbose_name_plural = _("documentos")
        default_permissions = ()
        permissions = PERMISOS
        constraints = [
            models.UniqueConstraint(fields=["espacio", "ruta"], name="documentos_pagina_ruta"),
            models.CheckConstraint(
                condition=models.Q(importancia__in=[i.value for i in Importancia])
                & ~models.Q(espacio="")
                & ~models.Q(ruta="")
                & ~models.Q(titulo=""),
                name="documentos_pagina_completa",
            ),
        ]

    def __str__(self) -> str:
        # A path or a title may name somebody.
        return f"{self.espacio} · {self.pk}"

    @property
    def es_importante(self) -> bool:
        return self.importancia == Importancia.ALTA


class Accion(models.TextChoices):
    """What a version was made by."""

    CREADA = "creada", _("Creado")
    CAMBIADA = "cambiada", _("Cambiado")
    IMPORTADA = "importada", _("Importado de la carpeta")
    RESTAURADA = "restaurada", _("Vuelta a una versión anterior")
    BORRADA = "borrada", pgettext_lazy("documentos", "Borrado")
    RECUPERADA = "recuperada", _("Recuperado")


class Version(models.Model):
    """One state of a page. Rows are added; they go with their page, or one by one by an erasure."""

    solo_anexar = True

    espacio = models.TextField()
    pagina = models.ForeignKey(Pagina, models.DO_NOTHING, db_constraint=False, related_name="versiones")
    numero = models.PositiveIntegerField(_("versión"))
    accion = models.TextField(_("qué se hizo"), choices=Accion.choices)
    titulo = models.TextField(_("título"))
    texto = models.TextField(_("texto"), blank=True)
    importancia = models.TextField(_("importancia"))
    motivo = models.TextField(_("motivo"), blank=True)
    #: Which kinds of personal identifier were pointed out and let through, and why; empty when none was.
    admitidos = models.JSONField(_("datos personales admitidos"), blank=True, default=dict)
    autor = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.DO_NOTHING, null=True, db_constraint=False, related_name="+"
    )
    momento = models.DateTimeField(_("fecha"), db_default=Now())

    class Meta:
        verbose_name = _("versión de un documento")
        verbose_name_plural = _("versiones de documentos")
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["pagina", "numero"], name="documentos_version_numero")]

    def __str__(self) -> str:
        return f"{self.espacio} · {self.pagina_id} · {self.numero}"


class Seccion(models.Model):
    """A part of a page, as it is searched: see :mod:`memoria.documentos.secciones`.

    The database keeps its lexemes beside it, and its vector in ``documentos_vector``, a table that
    ``preparar`` makes where there is pgvector.
    """

    espacio = models.TextField()
    pagina = models.ForeignKey(Pagina, models.DO_NOTHING, db_constraint=False, related_name="secciones")
    orden = models.PositiveIntegerField()
    encabezado = models.TextField(blank=True)
    texto = models.TextField(blank=True)

    class Meta:
        verbose_name = _("sección de un documento")
        verbose_name_plural = _("secciones de documentos")
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["pagina", "orden"], name="documentos_seccion_orden")]

    def __str__(self) -> str:
        return f"{self.espacio} · {self.pagina_id} · {self.orden}"
