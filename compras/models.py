"""Suppliers. What is known about each is in the agents' memory, not here: see :mod:`compras.servicios`."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext_lazy as _

from memoria import politica


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


class ProveedorQuerySet(models.QuerySet["Proveedor"]):
    def activos(self) -> ProveedorQuerySet:
        """Those about whom new notices may be written."""
        return self.filter(activo=True)

    def nombres(self) -> dict[str, str]:
        """``{codigo: nombre}`` of all of them, by name."""
        return dict(self.order_by("nombre", "codigo").values_list("codigo", "nombre"))


class Proveedor(models.Model):
    """A supplier. ``codigo`` is the ``proveedor_id`` of the agents and of the memory: it never changes."""

    codigo = models.CharField(
        _("código"),
        max_length=politica.LARGO_MAXIMO_ETIQUETA,
        unique=True,
        validators=[validar_codigo],
        help_text=_("El mismo que en la aplicación de compras. No se puede cambiar después."),
    )
    nombre = models.CharField(_("nombre"), max_length=200)
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
