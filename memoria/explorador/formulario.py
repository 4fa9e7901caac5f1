"""What the pages with a form have in common, whatever the form is."""

from __future__ import annotations

import re
from typing import Any

from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext_lazy

#: In ``error_messages``: what a field says of a NUL, which PostgreSQL cannot hold.
INVISIBLES = {"null_characters_not_allowed": gettext_lazy("Hay caracteres invisibles: bórrelos.")}

#: And of a text that does not fit. Django's own Spanish says "menos de 200" where 200 are taken.
LARGO = {"max_length": gettext_lazy("Aquí caben %(limit_value)s caracteres y hay %(show_value)s: acórtelo.")}
INCOMPLETO = gettext_lazy("El formulario llegó incompleto: vuelva a abrirlo.")


class ConOcultos(forms.Form):
    """A form with hidden fields: what is wrong with one is said of the form, as nobody has seen its name."""

    def add_error(self, field: str | None, error: Any) -> None:
        oculto = field in self.fields and self.fields[field].widget.is_hidden
        super().add_error(None if oculto else field, error)


def guardado(request: HttpRequest) -> str:
    """The tags of the message that says that a form was saved: the page that shows it forgets its draft.

    Only that one: the form says with ``envio`` by what name this sending goes (static/memoria/borrador.js).
    """
    envio = request.POST.get("envio", "")
    return f"borrador-guardado envio-{envio}" if re.fullmatch("[0-9a-f]{32}", envio) else ""


def estado(request: HttpRequest) -> int:
    """The status of a page with a form: what was sent and is shown again was not saved."""
    return 422 if request.method == "POST" else 200
