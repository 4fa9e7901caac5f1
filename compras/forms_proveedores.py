"""The forms of suppliers, and the field in which any other form asks for one."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import ProhibitNullCharactersValidator
from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy

from compras.models import LARGO_NOMBRE, Proveedor
from compras.sugerencias import el_que_es, etiqueta, sugerir
from memoria.explorador.formulario import INVISIBLES, LARGO

#: The list of suggestions of the field of the supplier, on its page.
LISTA = "proveedores-sugeridos"


class CampoProveedor(forms.Field):
    """A supplier by what is typed: a native field whose list htmx keeps short, and that needs neither.

    Without JavaScript, or with a list that does not open, the code or the whole name is enough; anything less
    comes back with those it could be.
    """

    default_error_messages = {
        "required": gettext_lazy("Elija un proveedor."),
        "desconocido": gettext_lazy("Ese proveedor no está en la lista: elija otro."),
        "inactivo": gettext_lazy("El proveedor %(codigo)s está inactivo: elija otro."),
        "unido": gettext_lazy("El código %(codigo)s se unió al %(otro)s: elija ese."),
        "varios": gettext_lazy("Diga cuál de estos es, o escriba su código: %(cuales)s."),
    }

    #: Whether one that is not active may be meant.
    inactivos = False

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            widget=forms.TextInput(
                attrs={
                    "list": LISTA,
                    "autocomplete": "off",
                    "spellcheck": "false",
                    "hx-post": reverse_lazy("compras:sugerencias"),
                    "hx-trigger": "input changed delay:120ms",
                    "hx-target": f"#{LISTA}",
                    "hx-params": "proveedor",
                    "hx-sync": "this:replace",
                }
            ),
            validators=[ProhibitNullCharactersValidator()],
            **kwargs,
        )

    def prepare_value(self, value: Any) -> Any:
        return etiqueta(value) if isinstance(value, Proveedor) else value

    def clean(self, value: Any) -> Proveedor:
        texto = super().clean(value).strip()
        if not texto:
            raise ValidationError(self.error_messages["required"], code="required")
        if proveedor := el_que_es(texto, inactivos=self.inactivos):
            return proveedor
        if not self.inactivos and (proveedor := el_que_es(texto, inactivos=True)):
            unido = proveedor.fusionado_en
            raise ValidationError(
                self.error_messages["unido" if unido else "inactivo"],
                code="inactivo",
                params={"codigo": proveedor.codigo, "otro": unido and unido.codigo},
            )
        posibles = sugerir(texto, limite=5, inactivos=self.inactivos)
        if not posibles:
            raise ValidationError(self.error_messages["desconocido"], code="desconocido")
        raise ValidationError(
            self.error_messages["varios"],
            code="varios",
            params={"cuales": "; ".join(map(etiqueta, posibles))},
        )


class CampoCualquierProveedor(CampoProveedor):
    """The field of writing, to look instead: inactive suppliers have notices too, and none may be meant."""

    inactivos = True

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.widget.attrs["hx-post"] = reverse_lazy("compras:proveedores_sugeridos")

    def clean(self, value: Any) -> Proveedor | None:  # type: ignore[override]  # none, where it is not required
        if not self.required and not str(value or "").strip():
            return None
        return super().clean(value)


class FormularioBuscarProveedor(forms.Form):
    """Part of a code or of a name."""

    buscado = forms.CharField(
        label=gettext_lazy("Código o nombre"),
        max_length=200,
        error_messages={
            "required": gettext_lazy("Escriba parte del código o del nombre."),
            **INVISIBLES,
            **LARGO,
        },
    )


class FormularioProveedor(forms.Form):
    """A supplier; its code is asked once and never changes."""

    codigo = forms.CharField(
        label=gettext_lazy("Código"),
        help_text=gettext_lazy("El mismo que en la aplicación de compras. No se puede cambiar después."),
        error_messages={
            "required": gettext_lazy("Escriba el código."),
            **INVISIBLES,
        },
    )
    nombre = forms.CharField(
        label=gettext_lazy("Nombre"),
        max_length=LARGO_NOMBRE,
        error_messages={
            "required": gettext_lazy("Escriba el nombre."),
            **INVISIBLES,
            **LARGO,
        },
    )
    activo = forms.BooleanField(
        label_suffix="",
        label=gettext_lazy("Activo"),
        required=False,
        initial=True,
        help_text=gettext_lazy("De un proveedor inactivo no se escriben avisos nuevos."),
    )

    @classmethod
    def de(cls, proveedor: Proveedor, datos: Any) -> FormularioProveedor:
        """To change one that is there."""
        formulario = cls(datos, initial={"nombre": proveedor.nombre, "activo": proveedor.activo})
        del formulario.fields["codigo"]
        return formulario


class FormularioUnir(forms.Form):
    """The supplier that stays, which is an active one."""

    proveedor = CampoProveedor(label=gettext_lazy("Proveedor que se queda con los avisos"))
