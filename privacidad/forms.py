"""The forms of a request. What is typed is checked by the services; here only that it is there."""

from __future__ import annotations

from typing import Any, Self
from uuid import uuid4

from django import forms
from django.utils.translation import gettext_lazy as _

from memoria.explorador.palabras import nombre_de_espacio
from memoria.identificadores import Clase, IdentificadorNoValido, normalizar
from memoria.politica import ESPACIOS
from privacidad import plazos
from privacidad.errores import DatoNoValido
from privacidad.models import Canal, Exclusion, Mencion
from privacidad.servicios.paso import LARGO_MAXIMO_TEXTO
from privacidad.servicios.solicitud import LARGO_MAXIMO_SUJETO, comprobar_sujeto, prefijo_de


class _DatoField(forms.CharField):
    """Another identifier of the person: optional, and valid as what it says it is."""

    def __init__(self, etiqueta: Any, clase: Clase, ayuda: Any = "") -> None:
        self.clase = clase
        super().__init__(
            label=etiqueta,
            required=False,
            max_length=200,
            help_text=ayuda,
            widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        )

    def clean(self, valor: Any) -> str:
        limpio: str = super().clean(valor)
        if limpio:
            try:
                normalizar(self.clase, limpio)
            except IdentificadorNoValido:
                raise forms.ValidationError(_ERRORES[self.clase]) from None
        return limpio


_ERRORES = {
    Clase.EMAIL: _("Escriba la dirección entera, con su arroba y su dominio."),
    Clase.TELEFONO: _("Escriba el número entero, con el prefijo si no es español."),
    Clase.NIF: _("Compruebe los números, y que la letra les corresponde."),
    Clase.NOMBRE: _("Escriba el nombre y los apellidos."),
}


class RecibirForm(forms.Form):
    espacio = forms.ChoiceField(label=_("De quién son los datos"))
    sujeto_id = forms.CharField(
        label=_("Identificador de la persona"),
        max_length=LARGO_MAXIMO_SUJETO,
        strip=False,  # "C10 " is not C10: what is erased is what was typed
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
    email = _DatoField(_("Correo electrónico"), Clase.EMAIL)
    telefono = _DatoField(
        _("Teléfono"),
        Clase.TELEFONO,
        _("Con su prefijo si no es español. Da igual cómo se separen las cifras."),
    )
    nif = _DatoField(_("NIF o NIE"), Clase.NIF)
    nombre = _DatoField(
        _("Nombre y apellidos"),
        Clase.NOMBRE,
        _("Se busca con tildes y sin ellas, y con los apellidos antes o después."),
    )
    #: Given with the empty form, so that sending it twice registers it once.
    envio = forms.UUIDField(widget=forms.HiddenInput, required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["espacio"].choices = [(n, nombre_de_espacio(n).capitalize()) for n in ESPACIOS]  # type: ignore[attr-defined]  # a ChoiceField
        self.fields["recibida"].initial = plazos.hoy
        self.fields["envio"].initial = uuid4

    def con_otro_envio(self) -> Self:
        """The same that was sent, as another request."""
        otro = type(self)({**{nombre: self.data.get(nombre) for nombre in self.data}, "envio": str(uuid4())})
        otro.full_clean()
        return otro

    def clean(self) -> dict[str, Any]:
        """The other identifiers together, as the service takes them; what is wrong with the id, beside it."""
        datos = super().clean() or self.cleaned_data
        if datos.get("espacio") and datos.get("sujeto_id"):
            try:
                prefijo_de(datos["espacio"], datos["sujeto_id"])
                comprobar_sujeto(datos["espacio"], datos["sujeto_id"])
            except DatoNoValido as error:
                self.add_error("sujeto_id", str(error))
        otros = {nombre: datos.pop(nombre, "") for nombre in ("email", "telefono", "nif", "nombre")}
        return {**datos, "identificadores": {nombre: valor for nombre, valor in otros.items() if valor}}

    def principales(self) -> list[forms.BoundField]:
        """The fields every request has."""
        return [campo for campo in self.visible_fields() if not isinstance(campo.field, _DatoField)]

    def opcionales(self) -> list[forms.BoundField]:
        """Other ways to name the person."""
        return [campo for campo in self if isinstance(campo.field, _DatoField)]


#: Of a reason that is printed on what the person gets (art. 12(3) and (4) GDPR).
LARGO_MINIMO_ESCRITO = 10


class _TextoForm(forms.Form):
    """One text, kept with the step for good."""

    etiqueta: Any = None
    nombre = "motivo"
    #: Characters: a letter typed to get on explains nothing.
    minimo = 3

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields[self.nombre] = forms.CharField(
            label=self.etiqueta,
            min_length=self.minimo,
            max_length=LARGO_MAXIMO_TEXTO,
            help_text=_("Se conserva después del borrado: no escriba aquí nombres ni identificadores."),
            widget=forms.Textarea(attrs={"rows": 3}),
            error_messages={
                "min_length": _("Explíquelo un poco más: con %(limit_value)d caracteres al menos.")
            },
        )


class IdentificarForm(_TextoForm):
    nombre = "como"
    etiqueta = _("Cómo se ha comprobado quién lo pide")


class ExcepcionForm(_TextoForm):
    """Only for when nobody else can approve the request."""

    nombre = "excepcion_motivo"
    etiqueta = _("Por qué aprueba quien recibió la solicitud")


class AmpliarForm(_TextoForm):
    etiqueta = _("Por qué hace falta más tiempo")
    minimo = LARGO_MINIMO_ESCRITO


class DenegarForm(_TextoForm):
    etiqueta = _("Motivo de la denegación")
    minimo = LARGO_MINIMO_ESCRITO


class RetirarForm(_TextoForm):
    etiqueta = _("Por qué se retira")


class DecidirForm(_TextoForm):
    """What becomes of a row of somebody else that names the person."""

    etiqueta = _("Por qué")
    decision = forms.ChoiceField(
        label=_("Qué se hace con este dato"),
        choices=[
            (Mencion.Decision.BORRAR.value, _("Borrarlo con los de esta persona")),
            (Mencion.Decision.CONSERVAR.value, _("Conservarlo")),
        ],
        widget=forms.RadioSelect,
    )


class RetenerForm(forms.Form):
    """Which row of the person is held back, and why; the row is the one the form is beside."""

    destino = forms.CharField(widget=forms.HiddenInput, max_length=40)
    clave = forms.CharField(widget=forms.HiddenInput, max_length=LARGO_MAXIMO_SUJETO, strip=False)
    motivo = forms.ChoiceField(label=_("Motivo"), choices=Exclusion.Motivo.choices)


class SinDatosForm(forms.Form):
    """A step that asks for nothing."""
