"""What helps while a form is filled in: suppliers as they are typed, notices that say the same.

All answer htmx and are sent by POST: a name, or what a notice says, is in no URL. None is needed: when
one cannot answer, it says nothing and the form works as it does without it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST

from compras import servicios
from compras.errores import ErrorDeCompras
from compras.sugerencias import el_que_es, sugerir
from memoria.explorador.acceso import Peticion, con_permiso
from memoria.politica import ESPACIOS

#: Letters from which a text says enough to look for others like it.
_LARGO_MINIMO = 12
_LARGO_MAXIMO = max(c.maximo for c in ESPACIOS["proveedores"].campos)


def _nada_si_ha_salido(vista: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """A session that ended is told when something is saved; a page of login has no place inside a form."""

    @wraps(vista)
    def envuelta(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if "HX-Request" in request.headers and not request.user.is_authenticated:
            return HttpResponse(status=204)
        return vista(request, *args, **kwargs)

    return envuelta


def _al_formulario() -> str:
    return reverse("compras:aviso_nuevo")


@require_POST
@_nada_si_ha_salido
@con_permiso(servicios.ESCRIBIR, volver=_al_formulario)
def sugerencias(request: Peticion) -> HttpResponse:
    return _sugeridos(request, inactivos=False)


@require_POST
@_nada_si_ha_salido
@con_permiso(servicios.VER, volver=lambda: reverse("compras:avisos"))
def sugerencias_para_mirar(request: Peticion) -> HttpResponse:
    """For whoever looks: inactive suppliers have notices too."""
    return _sugeridos(request, inactivos=True)


def _sugeridos(request: Peticion, *, inactivos: bool) -> HttpResponse:
    texto = request.POST.get("proveedor", "")[:200]
    return render(request, "compras/_sugerencias.html", {"sugeridos": sugerir(texto, inactivos=inactivos)})


@require_POST
@_nada_si_ha_salido
@con_permiso(servicios.ESCRIBIR, volver=_al_formulario)
def parecidos(request: Peticion) -> HttpResponse:
    texto = request.POST.get("texto", "")[:_LARGO_MAXIMO].replace("\x00", " ").strip()
    proveedor = el_que_es(request.POST.get("proveedor", "")[:500].replace("\x00", " "))
    if proveedor is None or len(texto) < _LARGO_MINIMO:
        return render(request, "compras/_parecidos.html", {"parecidos": []})
    try:
        hallados = servicios.parecidos(proveedor=proveedor, texto=texto, por=request.user)
    except ErrorDeCompras:
        hallados = []
    return render(request, "compras/_parecidos.html", {"parecidos": hallados})
