"""Suppliers. What is known about each is in the agents' memory, not here: see :mod:`compras.servicios`."""

from __future__ import annotations

from collections.abc import Collection

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.functions import Concat, Lower
from django.utils import timezone
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from memoria import politica
from memoria.identificadores import plegar


def validar_codigo(codigo: str) -> None:
    """A code names the supplier's place in the memory, so it must be one the memory can hold.

    Raises :class:`django.core.exceptions.ValidationError`.
    """
    if codigo != codigo.strip() or not codigo.isprintable():
        raise ValidationError(_("El código no lleva espacios alrededor ni caracteres invisibles."))
    if codigo and len(politica.espacio("proveedores", codigo)[1]) > politica.LARGO_MAXIMO_ETIQUETA:
        raise ValidationError(
            _("El código es demasiado largo: use como mucho %(maximo)s caracteres.")
            % {"maximo": politica.LARGO_MAXIMO_ETIQUETA}
        )


def varios_codigos() -> str:
    """What is said of a code that several suppliers have, each in other capitals."""
    return gettext(
        "Hay varios proveedores con ese código, en mayúsculas y en minúsculas: escríbalo como está en la "
        "lista."
    )


class _Plegado(models.Func):
    """As :func:`memoria.identificadores.plegar`, in the database (``unaccent`` is an extension)."""

    template = r"regexp_replace(normalize(lower(%(expressions)s), NFKD), '[\u0300-\u036f]', '', 'g')"
    output_field = models.TextField()


class ProveedorQuerySet(models.QuerySet["Proveedor"]):
    def activos(self) -> ProveedorQuerySet:
        """Those about whom new notices may be written."""
        return self.filter(activo=True)

    def plegados(self) -> ProveedorQuerySet:
        """With ``nombre_plegado``, without accents nor capitals, and ``etiqueta``, as a field shows them."""
        return self.annotate(
            nombre_plegado=_Plegado("nombre"),
            etiqueta=Concat("nombre", models.Value(" ("), "codigo", models.Value(")")),
        )

    def parecidos(self, buscado: str) -> ProveedorQuerySet:
        """Those whose code or name holds every word of it, with accents and capitals or without.

        They come as :meth:`plegados`.
        """
        palabras = plegar(buscado).replace("(", " ").replace(")", " ").split()
        return (
            self.plegados()
            .annotate(dicho=_Plegado(Concat("nombre", models.Value(" "), "codigo")))
            .filter(*(models.Q(dicho__contains=p) for p in palabras))
        )

    def de_codigos(self, escritos: Collection[str]) -> dict[str, str | None]:
        """``{as it was written: the code it is}`` of those that are some supplier's: exactly, or but for
        capitals. ``None`` where it could be several."""
        llanos = {c.lower() for c in escritos}
        # Python and PostgreSQL do not agree on a few rare letters: as it is written, it is found in any case.
        suyo = models.Q(llano__in=llanos) | models.Q(codigo__in=escritos)
        codigos = set(self.annotate(llano=Lower("codigo")).filter(suyo).values_list("codigo", flat=True))
        por_llano: dict[str, list[str]] = {}
        for codigo in codigos:
            por_llano.setdefault(codigo.lower(), []).append(codigo)
        hallados = {
            c: [c] if c in codigos else por_llano[c.lower()] for c in escritos if c.lower() in por_llano
        }
        return {c: suyos[0] if len(suyos) == 1 else None for c, suyos in hallados.items()}

    def nombres_de(self, codigos: Collection[str]) -> dict[str, str]:
        """``{codigo: nombre}`` of those that are in the list."""
        return dict(self.filter(codigo__in=codigos).values_list("codigo", "nombre"))


#: In characters.
LARGO_NOMBRE = 200


class Proveedor(models.Model):
    """A supplier. ``codigo`` is the ``proveedor_id`` of the agents and of the memory: it never changes."""

    codigo = models.CharField(
        _("código"),
        max_length=politica.LARGO_MAXIMO_ETIQUETA,
        unique=True,
        validators=[validar_codigo],
        help_text=_("El mismo que en la aplicación de compras. No se puede cambiar después."),
    )
    nombre = models.CharField(_("nombre"), max_length=LARGO_NOMBRE)
    activo = models.BooleanField(
        _("activo"), default=True, help_text=_("De un proveedor inactivo no se escriben avisos nuevos.")
    )
    #: Where its notices went, when its code turned out to be another's; never a chain (see ``fusionar``).
    fusionado_en = models.ForeignKey(
        "self",
        models.PROTECT,
        null=True,
        editable=False,
        related_name="fusionados",
        verbose_name=_("unido a"),
    )

    objects = ProveedorQuerySet.as_manager()

    class Meta:
        verbose_name = _("proveedor")
        verbose_name_plural = _("proveedores")
        permissions = [
            ("ver_avisos", _("Puede ver los avisos de proveedores")),
            ("escribir_avisos", _("Puede escribir, corregir y retirar avisos de proveedores")),
        ]
        constraints = [
            models.CheckConstraint(
                condition=~models.Q(codigo="") & ~models.Q(nombre=""), name="proveedor_con_codigo_y_nombre"
            ),
            models.CheckConstraint(
                condition=models.Q(fusionado_en=None) | models.Q(activo=False), name="fusionado_es_inactivo"
            ),
        ]

    def __str__(self) -> str:
        # The name of a self-employed supplier is a person's.
        return self.codigo


#: Of what a person says when they withdraw a notice, in characters.
LARGO_EXPLICACION, LARGO_INCIDENCIA = 200, 60


class RetiradaQuerySet(models.QuerySet["Retirada"]):
    def reponibles(self) -> RetiradaQuerySet:
        """Those that can still be put back; the others wait for the sweep and nobody is shown them."""
        return self.filter(reponible_hasta__gt=timezone.now())

    def pasadas(self) -> RetiradaQuerySet:
        return self.filter(reponible_hasta__lte=timezone.now())


class Retirada(models.Model):
    """A notice taken out of the agents' memory, whole, so that it can be put back as it was.

    No agent reads this table. ``clave`` may be repeated: a key is free again once its notice is withdrawn.
    """

    class Motivo(models.TextChoices):
        NO_ES_CIERTO = "no_es_cierto", pgettext_lazy("retirada", "Ya no es cierto")
        REPETIDO = "repetido", pgettext_lazy("retirada", "Está repetido")
        ERROR = "error", pgettext_lazy("retirada", "Se escribió por error")
        INCIDENCIA = "incidencia", pgettext_lazy("retirada", "Ya es una incidencia")
        OTRO = "otro", pgettext_lazy("retirada", "Otro motivo")

    proveedor = models.ForeignKey(Proveedor, models.PROTECT, related_name="retiradas")
    clave = models.CharField(max_length=politica.LARGO_MAXIMO_CLAVE)
    documento = models.JSONField()
    #: The columns of the store, as they were.
    escrito = models.DateTimeField()
    version = models.DateTimeField()
    caduca = models.DateTimeField(null=True)
    vida_minutos = models.IntegerField(null=True)

    motivo = models.CharField(max_length=20, choices=Motivo)
    explicacion = models.CharField(max_length=LARGO_EXPLICACION, blank=True)
    incidencia = models.CharField(max_length=LARGO_INCIDENCIA, blank=True)
    por = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    momento = models.DateTimeField(default=timezone.now)
    #: Thirty days, or the day it would have expired where it was, if that is sooner. Then it is deleted.
    reponible_hasta = models.DateTimeField(db_index=True)

    objects = RetiradaQuerySet.as_manager()

    class Meta:
        verbose_name = _("aviso retirado")
        verbose_name_plural = _("avisos retirados")
        default_permissions = ()
        constraints = [
            models.CheckConstraint(
                condition=models.Q(motivo="incidencia", incidencia__gt="")
                | (~models.Q(motivo="incidencia") & models.Q(incidencia="")),
                name="retirada_incidencia_con_referencia",
            ),
            models.CheckConstraint(
                condition=~models.Q(motivo="otro") | models.Q(explicacion__gt=""),
                name="retirada_otro_motivo_explicado",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.proveedor_id}: {self.pk}"
