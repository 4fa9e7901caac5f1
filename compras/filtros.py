"""The forms that find notices: the filters of the list and the search."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from compras.forms import IMPORTANCIAS
from compras.lectura import Filtros
from memoria.politica import ESPACIOS

_MAXIMOS = {c.nombre: c.maximo for c in ESPACIOS["proveedores"].campos}


class FormularioFiltros(forms.Form):
    """The filters of the list; they travel in the URL, so there is no free text among them."""

    proveedor = forms.ChoiceField(label=gettext_lazy("Proveedor"), required=False)
    estado = forms.ChoiceField(
        label=gettext_lazy("Estado"),
        required=False,
        choices=[
            ("vigente", pgettext_lazy("avisos", "Vigentes")),
            ("caducado", pgettext_lazy("avisos", "Caducados")),
            ("todos", pgettext_lazy("avisos", "Todos")),
        ],
    )
    importancia = forms.ChoiceField(
        label=gettext_lazy("Importancia"),
        required=False,
        choices=[("", gettext_lazy("Cualquiera")), *IMPORTANCIAS],
    )

    def __init__(self, *args: Any, proveedores: dict[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _ofrecer(self.fields["proveedor"], proveedores, _("Todos"))

    def filtros(self) -> Filtros:
        """What was asked for. A value that is not among the choices filters nothing, and the form says so."""
        self.is_valid()
        pedidos = {campo: valor for campo, valor in self.cleaned_data.items() if valor}
        return Filtros(**pedidos)


class FormularioBusqueda(forms.Form):
    """A question about one supplier. It is sent in the body: what it says may name somebody."""

    proveedor = forms.ChoiceField(
        label=gettext_lazy("Proveedor"),
        error_messages={
            "required": gettext_lazy("Para buscar, elija un proveedor."),
            "invalid_choice": gettext_lazy("Ese proveedor no está en la lista: elija otro."),
        },
    )
    consulta = forms.CharField(
        label=gettext_lazy("Qué busca"),
        max_length=_MAXIMOS["texto"],
        error_messages={
            "required": gettext_lazy("Para buscar, escriba qué busca."),
            "null_characters_not_allowed": gettext_lazy("Hay caracteres invisibles: bórrelos."),
        },
    )

    def __init__(self, *args: Any, proveedores: dict[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _ofrecer(self.fields["proveedor"], proveedores, _("Elija un proveedor"))


def _ofrecer(campo: forms.Field, proveedores: dict[str, str], vacio: str) -> None:
    campo.choices = [  # type: ignore[attr-defined]  # a ChoiceField has choices
        ("", vacio),
        *((codigo, f"{nombre} ({codigo})") for codigo, nombre in proveedores.items()),
    ]
