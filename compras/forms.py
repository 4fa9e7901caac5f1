"""The forms of a notice. What a notice may say is decided in :func:`compras.servicios.componer`, not here."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, Self

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import ProhibitNullCharactersValidator
from django.urls import reverse_lazy
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from compras import servicios
from compras.errores import AvisoNoValido
from compras.lectura import Aviso
from compras.models import Proveedor, Retirada
from compras.sugerencias import el_que_es, etiqueta, sugerir
from memoria.explorador.formulario import INVISIBLES
from memoria.identificadores_form import ConIdentificadores
from memoria.politica import Importancia

#: The list of suggestions of the field of the supplier, on its page.
LISTA = "proveedores-sugeridos"
IMPORTANCIAS = [
    (Importancia.NORMAL.value, gettext_lazy("Normal")),
    (Importancia.ALTA.value, gettext_lazy("Alta")),
]


class CampoProveedor(forms.Field):
    """A supplier by what is typed: a native field whose list htmx keeps short, and that needs neither.

    Without JavaScript, or with a list that does not open, the code or the whole name is enough; anything less
    comes back with those it could be.
    """

    default_error_messages = {
        "required": gettext_lazy("Elija un proveedor."),
        "desconocido": gettext_lazy("Ese proveedor no está en la lista o está inactivo: elija otro."),
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
        posibles = sugerir(texto, limite=5, inactivos=self.inactivos)
        if not posibles:
            raise ValidationError(self.error_messages["desconocido"], code="desconocido")
        raise ValidationError(
            self.error_messages["varios"],
            code="varios",
            params={"cuales": "; ".join(map(etiqueta, posibles))},
        )


def campo_fecha(**opciones: Any) -> forms.DateField:
    """A day, as a date control sends it or as it is typed where there is none."""
    return forms.DateField(
        input_formats=["%Y-%m-%d", "%d/%m/%Y"],
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
        error_messages={
            "required": gettext_lazy("Indique la fecha."),
            "invalid": gettext_lazy("Escriba una fecha que exista, como 31/12/2026."),
        },
        **opciones,
    )


class FormularioAviso(ConIdentificadores, forms.Form):
    """What a notice says; ``contenido`` is ready for the services."""

    campos_senalados = ("texto", "asunto")
    #: What is always filled in comes first: from the subject, Enter saves.
    field_order = ("proveedor", "texto", "importancia", "asunto")

    texto = forms.CharField(
        label=gettext_lazy("Texto"),
        strip=False,
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text=gettext_lazy("Lo que conviene saber antes de pedir a este proveedor."),
        error_messages={
            "required": gettext_lazy("Escriba el texto del aviso."),
            **INVISIBLES,
        },
    )
    fecha = campo_fecha(label=gettext_lazy("Fecha"), help_text=gettext_lazy("El día en que se supo."))
    importancia = forms.ChoiceField(label=gettext_lazy("Importancia"), choices=IMPORTANCIAS)
    asunto = forms.CharField(
        label=gettext_lazy("Asunto"),
        required=False,
        help_text=gettext_lazy("Opcional: unas pocas palabras."),
        error_messages=INVISIBLES,
    )
    valido_hasta = campo_fecha(
        label=gettext_lazy("Válido hasta"),
        required=False,
        help_text=gettext_lazy("Opcional: el último día en que es cierto."),
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

    def con_foco(self) -> Self:
        """The cursor where there is something to do: the first field that is wrong, or is empty."""
        if self.senalados:
            primero = self.MOTIVO
        else:
            por_hacer = [c for c in self.fields if c in self.errors] or [
                c for c, campo in self.fields.items() if campo.required and not self[c].value()
            ]
            primero = next((c for c in por_hacer if not self[c].is_hidden), "texto")
        self.fields[primero].widget.attrs["autofocus"] = True
        return self

    def dice_lo_mismo_que(self, aviso: Aviso) -> bool:
        return self.documento == servicios.componer(**aviso.contenido)


class FormularioNuevo(FormularioAviso):
    """A new notice. Its key is given with the empty form, so that sending it twice writes it once."""

    proveedor = CampoProveedor(
        label=gettext_lazy("Proveedor"), help_text=gettext_lazy("Escriba parte del nombre o del código.")
    )
    clave = forms.CharField(widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial.setdefault("fecha", timezone.localdate())
        self.initial.setdefault("clave", servicios.nueva_clave())

    def clean_clave(self) -> str:
        clave: str = self.cleaned_data["clave"]
        if not re.fullmatch(r"[0-9a-f]{32}", clave):
            raise ValidationError(_("El formulario llegó incompleto: vuelva a abrirlo."))
        return clave

    def con_otra_clave(self) -> FormularioNuevo:
        """The same that was sent, as another notice."""
        otro = FormularioNuevo({**_enviado(self.data), "clave": servicios.nueva_clave()})
        otro.full_clean()
        return otro


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

    def sobre(self, aviso: Aviso) -> FormularioCorreccion:
        """What the person typed, now as a correction of ``aviso``, which they have been shown."""
        otro = FormularioCorreccion({**_enviado(self.data), "version": aviso.version.isoformat()})
        otro.full_clean()
        return otro


class FormularioRetirada(forms.Form):
    """Why a notice is withdrawn. What goes with what, :func:`compras.servicios.retirar` says."""

    motivo = forms.ChoiceField(
        label=gettext_lazy("Por qué se retira"),
        choices=Retirada.Motivo.choices,
        widget=forms.RadioSelect,
        error_messages={"required": gettext_lazy("Elija un motivo de la lista.")},
    )
    incidencia = forms.CharField(
        label=gettext_lazy("Referencia de la incidencia"),
        required=False,
        help_text=gettext_lazy("Solo si ya es una incidencia, como INC-2026-0031."),
        error_messages=INVISIBLES,
    )
    explicacion = forms.CharField(
        label=gettext_lazy("Algo que añadir"),
        required=False,
        help_text=gettext_lazy("Unas pocas palabras, sin datos de personas."),
        error_messages=INVISIBLES,
    )


def _enviado(datos: Any) -> dict[str, Any]:
    """What was sent, one value a field: a ``QueryDict`` holds lists."""
    return {campo: datos.get(campo) for campo in datos}
