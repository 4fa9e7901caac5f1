"""A form that points out the personal identifiers in its free texts before anything is saved.

For whichever application: it knows nothing of notices or documents. Inherit, name the fields, and include
``memoria/_identificadores.html`` in the page, inside the ``<form>``::

    class FormularioNota(ConIdentificadores, forms.Form):
        campos_senalados = ("titulo", "texto")

    {{ formulario.as_div }}
    {% include "memoria/_identificadores.html" %}

While ``texto`` holds a telephone the form is not valid: it comes back saying which and where
(``senalados``), and is valid when it is sent again with a reason and exactly the identifiers that were shown.
``admitidos`` then says which kinds were let through and why, for the log of whoever saves.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, npgettext

from memoria.deteccion import Hallazgo, hallar
from memoria.identificadores import Clase, IdentificadorNoValido, normalizar

LARGO_MAXIMO_MOTIVO = 200
#: Characters shown before and after an identifier, so that one sees where it is.
_ALREDEDOR = 30

NOMBRES = {
    Clase.EMAIL: gettext_lazy("Correo electrónico"),
    Clase.TELEFONO: gettext_lazy("Teléfono"),
    Clase.NIF: gettext_lazy("NIF o NIE"),
    Clase.IBAN: gettext_lazy("Cuenta bancaria"),
}


@dataclass(frozen=True)
class Senalado:
    """One identifier in one field, with what is around it. Only for the page of who typed it."""

    clase: str
    campo: str
    antes: str = field(repr=False)
    identificador: str = field(repr=False)
    despues: str = field(repr=False)


class ConIdentificadores(forms.Form):
    """See the module. ``campos_senalados`` are the names of the fields whose text is looked at."""

    campos_senalados: tuple[str, ...] = ()

    MOTIVO = "motivo_identificadores"
    VISTOS = "identificadores_vistos"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        #: What was found, to be shown; empty when there is nothing, or it has been let through.
        self.senalados: list[Senalado] = []
        #: ``{"identificadores": ["telefono"], "motivo": "…"}``; empty when nothing was let through.
        self.admitidos: dict[str, Any] = {}

    def clean(self) -> dict[str, Any]:
        datos: dict[str, Any] = super().clean() or self.cleaned_data
        textos = {c: datos[c] for c in self.campos_senalados if isinstance(datos.get(c), str)}
        hallados = [(campo, h) for campo, texto in textos.items() for h in hallar(texto)]
        if not hallados:
            return datos
        motivo = self._pedir_motivo(hallados)
        vistos = str(self.data.get(self.add_prefix(self.VISTOS), ""))
        if not constant_time_compare(vistos, _marca(hallados)):
            error = None  # these have not been shown yet
        elif not motivo:
            error = _("Escriba por qué hace falta guardarlos, o bórrelos del texto.")
        elif len(motivo) > LARGO_MAXIMO_MOTIVO:
            error = _("Aquí caben %(maximo)s caracteres y hay %(hay)s: acórtelo.") % {
                "maximo": LARGO_MAXIMO_MOTIVO,
                "hay": len(motivo),
            }
        elif repite(motivo, (h for _campo, h in hallados)):
            error = _("El motivo se anota aparte y no debe llevar datos personales: bórrelos de él.")
        else:
            self.admitidos = {
                "identificadores": sorted({str(h.clase) for _campo, h in hallados}),
                "motivo": motivo,
            }
            return datos
        self.senalados = [self._senalado(campo, textos[campo], h) for campo, h in hallados]
        if error:
            self.add_error(self.MOTIVO, error)
        else:
            cuantos = len(hallados)
            self.add_error(
                None,
                npgettext(
                    "identificadores",
                    "Lo que ha escrito lleva %(cuantos)s dato personal.",
                    "Lo que ha escrito lleva %(cuantos)s datos personales.",
                    cuantos,
                )
                % {"cuantos": cuantos},
            )
        return datos

    @property
    def campos_a_la_vista(self) -> list[forms.BoundField]:
        """For a page that draws its fields one by one: all of them but the reason."""
        return [campo for campo in self.visible_fields() if campo.name != self.MOTIVO]

    def get_context(self) -> dict[str, Any]:
        """What ``as_div`` draws: not the reason, whose place is beside what was found."""
        contexto = super().get_context()
        contexto["fields"] = [par for par in contexto["fields"] if par[0].name != self.MOTIVO]
        contexto["hidden_fields"] = [c for c in contexto["hidden_fields"] if c.name != self.VISTOS]
        return contexto

    def _pedir_motivo(self, hallados: list[tuple[str, Hallazgo]]) -> str:
        """Add the two fields, which a form with nothing to point out does not have; returns the reason."""
        self.fields[self.MOTIVO] = forms.CharField(
            label=_("Por qué hace falta guardarlo"),
            required=False,
            help_text=_("Se anota quién lo guardó y este motivo. No repita en él el dato."),
            widget=forms.TextInput(attrs={"maxlength": LARGO_MAXIMO_MOTIVO, "autocomplete": "off"}),
        )
        self.fields[self.VISTOS] = forms.CharField(
            required=False, widget=_Marca(attrs={"value": _marca(hallados)})
        )
        try:
            motivo: str = forms.CharField(required=False).clean(self.data.get(self.add_prefix(self.MOTIVO)))
        except ValidationError:
            return ""
        return motivo

    def _senalado(self, campo: str, texto: str, h: Hallazgo) -> Senalado:
        desde, hasta = max(0, h.inicio - _ALREDEDOR), h.fin + _ALREDEDOR
        return Senalado(
            clase=str(NOMBRES[h.clase]),
            campo=str(self.fields[campo].label or campo),
            antes=("…" if desde else "") + texto[desde : h.inicio],
            identificador=texto[h.inicio : h.fin],
            despues=texto[h.fin : hasta] + ("…" if hasta < len(texto) else ""),
        )


def repite(texto: str, hallados: Iterable[Hallazgo] = ()) -> bool:
    """Whether ``texto`` holds a personal identifier of any kind, or one of those however it is written."""
    if hallar(texto):
        return True
    for h in hallados:
        try:
            identificador = normalizar(h.clase, h.valor)
        except IdentificadorNoValido:
            continue  # what is found may have a wrong check digit; then only its own writing is known
        if identificador.tramos(texto):
            return True
    return False


def sin_identificadores(texto: str) -> None:
    """A validator, for a short text that is kept apart from what it is about and may name nobody.

    Raises :class:`django.core.exceptions.ValidationError`.
    """
    if hallar(texto):
        raise ValidationError(_("Aquí no van datos personales (teléfonos, correos, NIF, cuentas): bórrelos."))


class _Marca(forms.HiddenInput):
    """Always what is being shown now, never what was sent."""

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        contexto: dict[str, Any] = super().get_context(name, None, attrs)
        return contexto


def _marca(hallados: Iterable[tuple[str, Hallazgo]]) -> str:
    """What stands for exactly those identifiers: with others in their place the person is asked again."""
    valores = sorted({f"{h.clase}:{h.valor}" for _campo, h in hallados})
    return salted_hmac("memoria.identificadores_form", "\n".join(valores)).hexdigest()
