"""The forms that find notices: the filters of the list and the search."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any, ClassVar

from django import forms
from django.contrib.auth.models import User
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from compras import servicios
from compras.forms import IMPORTANCIAS, campo_fecha
from compras.forms_proveedores import CampoCualquierProveedor
from compras.listado import SIN_AUTOR, Filtros
from compras.models import Proveedor
from compras.sugerencias import etiqueta
from memoria.explorador.formulario import INVISIBLES, LARGO
from memoria.politica import ESPACIOS

_MAXIMOS = {c.nombre: c.maximo for c in ESPACIOS["proveedores"].campos}


def escrito(datos: Mapping[str, Any]) -> dict[str, Any]:
    """What comes in a URL (a code) as it is written in the field."""
    datos = dict(datos.items())
    codigo = str(datos.get("proveedor", "")).replace("\x00", "")
    if codigo and (proveedor := Proveedor.objects.filter(codigo=codigo).first()):
        datos["proveedor"] = etiqueta(proveedor)
    return datos


class _ConFiltros(forms.Form):
    """What the list and the search can both be narrowed by."""

    desde = campo_fecha(label=gettext_lazy("Desde"), required=False)
    hasta = campo_fecha(label=gettext_lazy("Hasta"), required=False)
    importancia = forms.ChoiceField(
        label=gettext_lazy("Importancia"),
        required=False,
        choices=[("", gettext_lazy("Cualquiera")), *IMPORTANCIAS],
    )

    @property
    def acotada(self) -> bool:
        """Whether any of the fields that are seldom used says something, or something is wrong with it."""
        return any(self[c].value() or self[c].errors for c in ("desde", "hasta", "importancia", *self.MAS))

    #: More of them.
    MAS: ClassVar[tuple[str, ...]] = ()

    def clean(self) -> dict[str, Any]:
        datos = super().clean() or self.cleaned_data
        desde, hasta = datos.get("desde"), datos.get("hasta")
        if desde and hasta and desde > hasta:
            self.add_error("hasta", _("Termina antes de empezar: cambie una de las dos fechas."))
            datos.pop("desde", None)
        return datos


class FormularioFiltros(_ConFiltros):
    """The filters of the list; they travel in the URL, so there is no free text among them."""

    proveedor = CampoCualquierProveedor(label=gettext_lazy("Proveedor"), required=False)
    estado = forms.ChoiceField(
        label=gettext_lazy("Estado"),
        required=False,
        choices=[
            ("vigente", pgettext_lazy("avisos", "Vigentes")),
            ("caducado", pgettext_lazy("avisos", "Caducados")),
            ("todos", pgettext_lazy("avisos", "Todos")),
        ],
    )
    autor = forms.ChoiceField(label=gettext_lazy("Lo escribió"), required=False)
    field_order = ["proveedor", "desde", "hasta", "importancia", "autor", "estado"]
    MAS = ("autor",)

    def __init__(self, *args: Any, por: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["autor"].choices = [  # type: ignore[attr-defined]  # a ChoiceField has choices
            ("", _("Cualquiera")),
            *_autores(por, self.data.get("autor", "")),
            (SIN_AUTOR, _("Nadie: se importó")),
        ]

    def filtros(self) -> Filtros:
        """What was asked for. A value that cannot be filters nothing, and the form says so."""
        self.is_valid()
        pedidos = {campo: valor for campo, valor in self.cleaned_data.items() if valor}
        if proveedor := pedidos.pop("proveedor", None):
            pedidos["proveedor"] = proveedor.codigo
        return Filtros(**pedidos)

    def en_la_url(self) -> dict[str, str]:
        """The filters in force, for links to this same list."""
        return {
            campo: valor.isoformat() if isinstance(valor, date) else str(getattr(valor, "codigo", valor))
            for campo, valor in self.cleaned_data.items()
            if valor
        }


class FormularioBusqueda(_ConFiltros):
    """A question about one supplier. It is sent in the body: what it says may name somebody."""

    proveedor = CampoCualquierProveedor(
        label=gettext_lazy("Proveedor"),
        error_messages={"required": gettext_lazy("Para buscar, elija un proveedor.")},
    )
    consulta = forms.CharField(
        label=gettext_lazy("Qué busca"),
        max_length=_MAXIMOS["texto"],
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        error_messages={
            "required": gettext_lazy("Para buscar, escriba qué busca."),
            **INVISIBLES,
            **LARGO,
        },
    )
    field_order = ["proveedor", "consulta", "desde", "hasta", "importancia"]


def _autores(por: User, pedido: str) -> list[tuple[str, str]]:
    """Whoever may write notices now, oneself first, and whoever was asked for."""
    autores = set(
        User.objects.with_perm(servicios.ESCRIBIR, backend="django.contrib.auth.backends.ModelBackend")
    )
    if pedido.isdecimal() and len(pedido) < 10:
        autores |= set(User.objects.filter(pk=int(pedido)))
    nombres = sorted(
        ((str(u.pk), u.get_full_name() or u.get_username()) for u in autores if u != por),
        key=lambda par: par[1].casefold(),
    )
    return [(str(por.pk), _("Usted")), *nombres] if por in autores else nombres
