"""Under which name a failed sign-in is noted down: that of an account, and of nobody else.

The form is public, and people type into it what they have at hand: their customer number, their e-mail.
None of that is a name of somebody who works here, and nothing would take it out of the table of attempts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth import get_user_model
from django.http import HttpRequest
from django.utils.crypto import salted_hmac


def nombre_anotado(request: HttpRequest, credentials: Mapping[str, Any] | None = None) -> str | None:
    """The name of the account; of a name that is no account's, a keyed digest, always the same.

    What axes asks for (``AXES_USERNAME_CALLABLE``): attempts are still counted by name.
    """
    nombre = credentials.get("username") if credentials else request.POST.get("username")
    if not nombre:
        return None
    # PostgreSQL holds no NUL, so no account has it.
    if "\x00" not in nombre and get_user_model().objects.filter(username=nombre).exists():
        return str(nombre)
    return "desconocido-" + salted_hmac("memoria.accesos", nombre, algorithm="sha256").hexdigest()
