"""The forms of a notice. What a notice may say is decided in :func:`compras.servicios.componer`, not here."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from compras import servicios
from compras.errores import AvisoNoValido
from compras.lectura import Aviso
from compras.models import Proveedor
from memoria.politica import Importancia

_FORMATOS = ["%Y-%m-%d", "%d/%m/%Y"]  # what a date control sends, and what is typed where there is none
IMPORTANCIAS = [
    (Importancia.NORMAL.value, gettext_lazy("Normal")),
    (Importancia.ALTA.value, gettext_lazy("Alta")),
]


class FormularioAviso(forms.Form):
    """What a notice says; ``contenido`` is ready for the services."""

    texto = forms.CharField(
        label=gettext_lazy("Texto"),
        strip=False,
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text=gettext_lazy("Lo que conviene saber antes de pedir a este proveedor."),
        error_messages={
            "required": gettext_lazy("Escriba el texto del aviso."),
            "null_characters_not_allowed": gettext_lazy("Hay caracteres invisibles: bórrelos."),
        },
    )
    fecha = forms.DateField(
        label=gettext_lazy("Fecha"),
        input_formats=_FORMATOS,
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
        help_text=gettext_lazy("El día en que se supo."),
        error_messages={
            "required": gettext_lazy("Indique la fecha."),
            "invalid": gettext_lazy("Escriba una fecha que exista, como 31/12/2026."),
        },
    )
    importancia = forms.ChoiceField(label=gettext_lazy("Importancia"), choices=IMPORTANCIAS)
    asunto = forms.CharField(
        label=gettext_lazy("Asunto"),
        required=False,
        help_text=gettext_lazy("Opcional: unas pocas palabras."),
        error_messages={"null_characters_not_allowed": gettext_lazy("Hay caracteres invisibles: bórrelos.")},
    )
    valido_hasta = forms.DateField(
        label=gettext_lazy("Válido hasta"),
        required=False,
        input_formats=_FORMATOS,
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
        help_text=gettext_lazy("Opcional: el último día en que es cierto."),
        error_messages={"invalid": gettext_lazy("Escriba una fecha que exista, como 31/12/2026.")},
    )

    contenido: dict[str, Any]
    documento: dict[str, Any]

    def clean(self) -> dict[str, Any]:
        datos = super().clean() or self.cleaned_data
        contenido: dict[str, Any] = {
            c: datos.get(c) for c in ("texto", "fecha", "importancia", "asunto", "valido_hasta")
        }
        if not self.errors:
            try:
                self.documento = servicios.componer(**contenido)
            except AvisoNoValido as error:
                self.add_error(error.campo, str(error))
        self.contenido = contenido
        return datos

    def dice_lo_mismo_que(self, aviso: Aviso) -> bool:
        return self.documento == servicios.componer(**aviso.contenido)


class FormularioNuevo(FormularioAviso):
    """A new notice. Its key is given with the empty form, so that sending it twice writes it once."""

    proveedor = forms.ModelChoiceField(
        label=gettext_lazy("Proveedor"),
        queryset=Proveedor.objects.activos().order_by("nombre", "codigo"),
        to_field_name="codigo",
        empty_label=gettext_lazy("Elija un proveedor"),
        error_messages={
            "required": gettext_lazy("Elija un proveedor."),
            "invalid_choice": gettext_lazy("Ese proveedor no está en la lista o está inactivo: elija otro."),
        },
    )
    clave = forms.CharField(widget=forms.HiddenInput)
    field_order = ["proveedor"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial.setdefault("fecha", timezone.localdate())
        self.initial.setdefault("clave", servicios.nueva_clave())
        self.fields["proveedor"].label_from_instance = nombre_y_codigo  # type: ignore[attr-defined]  # its documented hook

    def clean_clave(self) -> str:
        clave: str = self.cleaned_data["clave"]
        if not re.fullmatch(r"[0-9a-f]{32}", clave):
            raise ValidationError(_("El formulario llegó incompleto: vuelva a abrirlo."))
        return clave

    def con_otra_clave(self) -> FormularioNuevo:
        """The same, unsent, as another notice."""
        return FormularioNuevo(initial={**self.cleaned_data, "clave": servicios.nueva_clave()})


class FormularioCorreccion(FormularioAviso):
    """A correction. ``version`` is the state of the notice that the person saw."""

    version = forms.CharField(widget=forms.HiddenInput)

    def clean_version(self) -> datetime:
        try:
            version = datetime.fromisoformat(self.cleaned_data["version"])
        except ValueError:
            version = None
        if version is None or version.tzinfo is None:
            raise ValidationError(_("El formulario llegó incompleto: vuelva a abrirlo."))
        return version

    @classmethod
    def de(cls, aviso: Aviso) -> FormularioCorreccion:
        return cls(initial={**aviso.contenido, "version": aviso.version.isoformat()})

    def sobre(self, aviso: Aviso | None) -> FormularioCorreccion:
        """What the person typed, now as a correction of ``aviso``, which they have been shown."""
        version = aviso.version.isoformat() if aviso else ""
        return FormularioCorreccion(initial={**self.cleaned_data, "version": version})


def nombre_y_codigo(proveedor: Proveedor) -> str:
    return f"{proveedor.nombre} ({proveedor.codigo})"
