"""What the pages with a form have in common, whatever the form is."""

from __future__ import annotations

from django.http import HttpRequest
from django.utils.translation import gettext_lazy

#: A mark on the message of success: the page that shows it forgets the draft (static/memoria/borrador.js).
GUARDADO = "borrador-guardado"
#: In ``error_messages``: what a field says of a NUL, which PostgreSQL cannot hold.
INVISIBLES = {"null_characters_not_allowed": gettext_lazy("Hay caracteres invisibles: bórrelos.")}


def estado(request: HttpRequest) -> int:
    """The status of a page with a form: what was sent and is shown again was not saved."""
    return 422 if request.method == "POST" else 200
