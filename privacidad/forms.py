"""The forms of a request. What is typed is checked by the services; here only that it is there."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from memoria.explorador.palabras import nombre_de_espacio
from memoria.politica import ESPACIOS
from privacidad import plazos
from privacidad.models import Canal
from privacidad.servicios.paso import LARGO_MAXIMO_TEXTO
from privacidad.servicios.solicitud import LARGO_MAXIMO_SUJETO


class RecibirForm(forms.Form):
    espacio = forms.ChoiceField(label=_("De quién son los datos"))
    sujeto_id = forms.CharField(
        label=_("Identificador de la persona"),
        max_length=LARGO_MAXIMO_SUJETO,
        help_text=_(
            "Tal como está en el sistema de origen, con sus mayúsculas. Se guarda solo mientras la solicitud "
            "está abierta."
        ),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    canal = forms.ChoiceField(label=_("Por dónde llegó"), choices=Canal.choices)
    recibida = forms.DateField(
        label=_("Día en que se recibió"),
        help_text=_("El plazo de un mes cuenta desde este día, no desde hoy."),
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["espacio"].choices = [(n, nombre_de_espacio(n).capitalize()) for n in ESPACIOS]  # type: ignore[attr-defined]  # a ChoiceField
        self.fields["recibida"].initial = plazos.hoy


class _TextoForm(forms.Form):
    """One text, kept with the step for good."""

    etiqueta: Any = None
    nombre = "motivo"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields[self.nombre] = forms.CharField(
            label=self.etiqueta,
            max_length=LARGO_MAXIMO_TEXTO,
            help_text=_("Se conserva después del borrado: no escriba aquí nombres ni identificadores."),
            widget=forms.Textarea(attrs={"rows": 3}),
        )


class IdentificarForm(_TextoForm):
    nombre = "como"
    etiqueta = _("Cómo se ha comprobado quién lo pide")


class ExcepcionForm(_TextoForm):
    nombre = "excepcion_motivo"
    etiqueta = _("Por qué aprueba quien recibió la solicitud")


class DenegarForm(_TextoForm):
    etiqueta = _("Motivo de la denegación")


class RetirarForm(_TextoForm):
    etiqueta = _("Por qué se retira")


class SinDatosForm(forms.Form):
    """A step that asks for nothing."""
