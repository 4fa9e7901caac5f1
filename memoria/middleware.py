"""Nothing that a logged-in person was shown stays in a cache, theirs or anyone's."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_cache_control


def sin_guardar(responder: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """``Cache-Control: no-store`` on every answer to who has a session: pages name people.

    By the cookie and not by the user, so that it asks the database nothing and holds for pages of errors too.
    Static files are answered before (WhiteNoise) and are cached as always.
    """

    def middleware(peticion: HttpRequest) -> HttpResponse:
        respuesta = responder(peticion)
        if settings.SESSION_COOKIE_NAME in peticion.COOKIES:
            patch_cache_control(respuesta, no_store=True)
        return respuesta

    return middleware
