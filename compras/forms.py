"""The forms of notices: one, or a file of them.

What a notice may say is decided in :func:`compras.servicios.componer`, not here.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, Self

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from compras import servicios
from compras.errores import AvisoNoValido
from compras.forms_proveedores import CampoProveedor
from compras.hoja import FORMATOS_DE_FECHA
from compras.lectura import Aviso
from compras.models import Retirada
from compras.servicios.entrada import MAXIMO_DE_BYTES
from memoria.explorador.formulario import INCOMPLETO, INVISIBLES, ConOcultos
from memoria.identificadores_form import ConIdentificadores
from memoria.politica import Importancia

IMPORTANCIAS = [
    (Importancia.NORMAL.value, gettext_lazy("Normal")),
    (Importancia.ALTA.value, gettext_lazy("Alta")),
]


def campo_fecha(**opciones: Any) -> forms.DateField:
    """A day, as a date control sends it or as it is typed where there is none."""
    return forms.DateField(
        input_formats=FORMATOS_DE_FECHA,
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
        error_messages={
            "required": gettext_lazy("Indique la fecha."),
            "invalid": gettext_lazy("Escriba una fecha que exista, como 31/12/2026."),
        },
        **opciones,
    )


class CampoVersion(forms.CharField):
    """The :attr:`Aviso.version` that the person was shown."""

    widget = forms.HiddenInput

    def clean(self, value: Any) -> datetime:
        try:
            version = datetime.fromisoformat(super().clean(value))
        except (ValueError, ValidationError):
            version = None
        if version is None or version.tzinfo is None:
            raise ValidationError(INCOMPLETO)
        return version


class FormularioAviso(ConOcultos, ConIdentificadores, forms.Form):
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
    clave = forms.CharField(widget=forms.HiddenInput, error_messages={"required": INCOMPLETO})

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial.setdefault("fecha", timezone.localdate())
        self.initial.setdefault("clave", servicios.nueva_clave())

    def clean_clave(self) -> str:
        clave: str = self.cleaned_data["clave"]
        if not re.fullmatch(r"[0-9a-f]{32}", clave):
            raise ValidationError(INCOMPLETO)
        return clave

    def con_otra_clave(self) -> FormularioNuevo:
        """The same that was sent, as another notice."""
        otro = FormularioNuevo({**_enviado(self.data), "clave": servicios.nueva_clave()})
        otro.full_clean()
        return otro


class FormularioCorreccion(FormularioAviso):
    """A correction. ``version`` is the state of the notice that the person saw."""

    version = CampoVersion()

    @classmethod
    def de(cls, aviso: Aviso) -> FormularioCorreccion:
        return cls(initial={**aviso.contenido, "version": aviso.version.isoformat()})

    def sobre(self, aviso: Aviso) -> FormularioCorreccion:
        """What the person typed, now as a correction of ``aviso``, which they have been shown."""
        otro = FormularioCorreccion({**_enviado(self.data), "version": aviso.version.isoformat()})
        otro.full_clean()
        return otro


class FormularioRetirada(ConOcultos):
    """Why a notice is withdrawn. What goes with what, :func:`compras.servicios.retirar` says."""

    version = CampoVersion()

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

    def sobre(self, aviso: Aviso) -> FormularioRetirada:
        """What the person typed, now about ``aviso``, which they have been shown."""
        otro = FormularioRetirada({**_enviado(self.data), "version": aviso.version.isoformat()})
        otro.full_clean()
        return otro


class FormularioImportar(forms.Form):
    """The file of notices, and what to do when some of its lines are bad."""

    fichero = forms.FileField(
        label=gettext_lazy("Fichero CSV"),
        widget=forms.ClearableFileInput(attrs={"accept": ".csv,.txt,text/csv"}),
        error_messages={
            "required": gettext_lazy("Elija el fichero."),
            "empty": gettext_lazy("El fichero está vacío."),
        },
    )
    todo_o_nada = forms.BooleanField(
        label_suffix="",
        label=gettext_lazy("Todo o nada"),
        required=False,
        help_text=gettext_lazy(
            "Si hay una línea mala, no se guarda ninguna. Sin marcar, se guardan las buenas."
        ),
    )

    def clean_fichero(self) -> Any:
        fichero = self.cleaned_data["fichero"]
        if fichero.size > MAXIMO_DE_BYTES:
            raise forms.ValidationError(
                _(
                    "El fichero ocupa más de %(kilobytes)s kB, demasiado para esta página: divídalo, o pida "
                    "a operaciones que lo importe entero."
                )
                % {"kilobytes": MAXIMO_DE_BYTES // 1024}
            )
        return fichero


def _enviado(datos: Any) -> dict[str, Any]:
    """What was sent, one value a field: a ``QueryDict`` holds lists."""
    return {campo: datos.get(campo) for campo in datos}
