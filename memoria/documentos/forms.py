"""The forms of documents. What one may say is decided in :func:`memoria.documentos.servicios.componer`."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy, pgettext_lazy

from memoria.busqueda import LARGO_MAXIMO_CONSULTA
from memoria.documentos import servicios
from memoria.documentos.errores import DocumentoNoValido
from memoria.documentos.models import LARGO_MAXIMO_MOTIVO, Pagina
from memoria.documentos.rutas import RutaNoValida, comprobar_ruta
from memoria.explorador.formulario import INCOMPLETO, INVISIBLES, LARGO, ConOcultos
from memoria.identificadores_form import ConIdentificadores, sin_identificadores
from memoria.politica import Importancia

IMPORTANCIAS = [
    (Importancia.NORMAL.value, gettext_lazy("Normal")),
    (Importancia.ALTA.value, gettext_lazy("Alta: se encuentra antes")),
]


class FormularioDocumento(ConOcultos, ConIdentificadores, forms.Form):
    """What a document says; ``contenido`` is ready for the services.

    Personal identifiers in it are pointed out before it is saved: ``admitidos`` says which were let through.
    """

    campos_senalados = ("ruta", "titulo", "texto", "motivo")

    titulo = forms.CharField(
        label=gettext_lazy("Título"),
        error_messages={"required": gettext_lazy("Escriba un título."), **INVISIBLES},
    )
    importancia = forms.ChoiceField(
        label=gettext_lazy("Importancia"), choices=IMPORTANCIAS, initial=Importancia.NORMAL.value
    )
    texto = forms.CharField(
        label=gettext_lazy("Texto"),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 20, "spellcheck": "true"}),
        help_text=gettext_lazy(
            "Con almohadillas se hacen los apartados («## Plazos»); con guiones, las listas; con dos "
            "asteriscos, la **negrita**. Un apartado por asunto: así se encuentra mejor."
        ),
        error_messages=INVISIBLES,
    )

    contenido: dict[str, Any]

    def clean(self) -> dict[str, Any]:
        datos = super().clean() or self.cleaned_data
        self.contenido = {c: datos.get(c, "") for c in ("titulo", "texto", "importancia", "motivo")}
        if not self.errors:
            try:
                servicios.componer(**self.contenido)
            except DocumentoNoValido as error:
                self.add_error(error.campo, str(error))
        return datos


class FormularioNuevo(FormularioDocumento):
    ruta = forms.CharField(
        label=gettext_lazy("Ruta"),
        help_text=gettext_lazy(
            "El nombre con el que se guarda, como «portes.md» o «acuerdos/devoluciones.md». No se puede "
            "cambiar después."
        ),
        error_messages={"required": gettext_lazy("Escriba una ruta, como «portes.md»."), **INVISIBLES},
    )
    field_order = ["ruta"]

    def clean_ruta(self) -> str:
        try:
            return comprobar_ruta(self.cleaned_data["ruta"])
        except RutaNoValida as error:
            raise forms.ValidationError(str(error)) from error


class FormularioCambio(FormularioDocumento):
    """A change. ``version`` is the number of the version that the person saw."""

    motivo = forms.CharField(
        label=gettext_lazy("Qué cambia"),
        required=False,
        max_length=LARGO_MAXIMO_MOTIVO,
        help_text=gettext_lazy("Opcional: unas palabras para quien mire la historia."),
        error_messages={**INVISIBLES, **LARGO},
    )
    version = forms.IntegerField(
        widget=forms.HiddenInput,
        error_messages={"required": INCOMPLETO, "invalid": INCOMPLETO},
    )

    @classmethod
    def de(cls, pagina: Pagina) -> FormularioCambio:
        return cls(
            initial={c: getattr(pagina, c) for c in ("titulo", "texto", "importancia", "version")},
        )

    def sobre(self, pagina: Pagina) -> FormularioCambio:
        """What the person typed, now as a change of ``pagina``, which they have been shown."""
        enviado = {campo: self.data.get(campo) for campo in self.data}
        otro = type(self)({**enviado, "version": pagina.version})
        otro.full_clean()
        return otro


class FormularioBorrado(ConOcultos):
    motivo = forms.CharField(
        label=pgettext_lazy("documentos", "Por qué se borra"),
        max_length=LARGO_MAXIMO_MOTIVO,
        validators=[sin_identificadores],
        error_messages={
            "required": gettext_lazy("Escriba por qué se borra: quedará en su historia."),
            **INVISIBLES,
            **LARGO,
        },
    )
    version = forms.IntegerField(
        widget=forms.HiddenInput, error_messages={"required": INCOMPLETO, "invalid": INCOMPLETO}
    )


class FormularioBusqueda(forms.Form):
    """A question. It is sent in the body: what it says may name somebody."""

    consulta = forms.CharField(
        label=gettext_lazy("Qué busca"),
        max_length=LARGO_MAXIMO_CONSULTA,
        widget=forms.TextInput(attrs={"type": "search", "autocomplete": "off"}),
        error_messages={
            "required": gettext_lazy("Para buscar, escriba qué busca."),
            **INVISIBLES,
            **LARGO,
        },
    )
