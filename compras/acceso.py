"""The door of every purchasing page."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.contrib import messages
from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from compras.errores import SinPermiso

P = ParamSpec("P")
Vista = Callable[Concatenate["Peticion", P], HttpResponse]
Protegida = Callable[Concatenate[HttpRequest, P], HttpResponse]


class Peticion(HttpRequest):
    """A request whose person is known."""

    user: User


def con_permiso(permiso: str) -> Callable[[Vista[P]], Protegida[P]]:
    """Anonymous: to the login, with a sentence when something was being sent. Without ``permiso``: 403."""

    def decorar(vista: Vista[P]) -> Protegida[P]:
        @wraps(vista)
        def protegida(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
            if not request.user.is_authenticated:
                if request.method == "POST":
                    messages.warning(
                        request,
                        _(
                            "Su sesión había terminado y no se ha guardado nada. Vuelva a entrar; con el "
                            "botón «atrás» del navegador suele recuperarse lo escrito."
                        ),
                    )
                return redirect_to_login(request.get_full_path())
            if not request.user.has_perm(permiso):
                raise SinPermiso
            return vista(request, *args, **kwargs)  # type: ignore[arg-type]  # a Peticion from here on

        return protegida

    return decorar
