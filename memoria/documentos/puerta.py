"""The door of the pages of documents: who comes into which space."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse

from memoria.documentos.acceso import espacios_visibles, puede_escribir
from memoria.explorador.acceso import Peticion, a_entrar

P = ParamSpec("P")
Vista = Callable[Concatenate[Peticion, P], HttpResponse]
Protegida = Callable[Concatenate[HttpRequest, P], HttpResponse]


def del_espacio(*, escribir: bool = False, sin_pagina: bool = False) -> Callable[[Vista[P]], Protegida[P]]:
    """Anonymous: to the login. Who sees no space: 403. One that is not theirs to see: 404, like no space.

    With ``escribir``, who sees the space and may not write in it: 403. After the login a person lands where
    they were or, when the view only takes POST (``sin_pagina``), on the list.
    """

    def decorar(vista: Vista[P]) -> Protegida[P]:
        @wraps(vista)
        def protegida(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
            espacio = str(kwargs["espacio"])  # the route always names it
            if not request.user.is_authenticated:
                lista = reverse("documentos:lista", args=[espacio])
                return a_entrar(request, lista if sin_pagina else request.get_full_path())
            visibles = espacios_visibles(request.user)
            if not visibles:
                raise PermissionDenied
            if espacio not in visibles:
                raise Http404
            if escribir and not puede_escribir(request.user, espacio):
                raise PermissionDenied
            return vista(request, *args, **kwargs)  # type: ignore[arg-type]  # a Peticion from here on

        return protegida

    return decorar
