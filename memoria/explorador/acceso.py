"""The door of a page: who comes in, and where those who must log in again are taken."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.contrib import messages
from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django_htmx.http import HttpResponseClientRedirect
from django_htmx.middleware import HtmxDetails

P = ParamSpec("P")
Vista = Callable[Concatenate["Peticion", P], HttpResponse]
Protegida = Callable[Concatenate[HttpRequest, P], HttpResponse]


class Peticion(HttpRequest):
    """A request whose person is known."""

    user: User


def con_permiso(
    permiso: str, *, volver: Callable[..., str] | None = None
) -> Callable[[Vista[P]], Protegida[P]]:
    """Anonymous: to the login, with a sentence when something was being sent. Without ``permiso``: 403.

    After the login a person lands where they were. A view that only takes POST has no page there: ``volver``
    gives the one to land on, from the arguments of the view. A part of a page that loads itself (htmx) is
    answered as :func:`a_entrar` says.
    """

    def decorar(vista: Vista[P]) -> Protegida[P]:
        @wraps(vista)
        def protegida(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
            if not request.user.is_authenticated:
                return a_entrar(request, volver(*args, **kwargs) if volver else request.get_full_path())
            if not request.user.has_perm(permiso):
                raise PermissionDenied
            return vista(request, *args, **kwargs)  # type: ignore[arg-type]  # a Peticion from here on

        return protegida

    return decorar


def a_entrar(request: HttpRequest, volver: str) -> HttpResponse:
    """The answer to whoever must log in, and will land on ``volver``.

    htmx follows a redirect by itself and would put the login where a part of the page goes. What loads itself
    takes the whole page to the login, and back to that page. What is asked for while somebody writes only
    says what has happened: their page, and what they have written on it, stays.
    """
    htmx = HtmxDetails(request)
    if not htmx:
        if request.method == "POST":
            messages.warning(request, _sin_guardar())
        return redirect_to_login(volver)
    if request.method == "POST":
        return render(request, "memoria/_sesion_terminada.html")
    return HttpResponseClientRedirect(redirect_to_login(htmx.current_url_abs_path or volver).url)


def _sin_guardar() -> str:
    return _("Su sesión había terminado y no se ha guardado nada. Vuelva a entrar y repita lo que hacía.")
