"""Pages over the memory: namespaces, the subjects of one, the card of a subject.

They read through the mirrors, never through the store: looking at a document is not using it, so nothing here
renews anything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required, permission_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from memoria import politica
from memoria.explorador.ficha import Ficha
from memoria.explorador.lista import ENTRADAS_POR_PAGINA, pagina_de_sujetos
from memoria.explorador.palabras import nombre_de_espacio
from memoria.models import Documento, Hilo

V = TypeVar("V", bound=Callable[..., HttpResponseBase])


def _de_consulta(vista: V) -> V:
    """Anonymous: to the login. Without ``memoria.view_documento``: 403. Anything but a read: 405."""
    permiso = permission_required("memoria.view_documento", raise_exception=True)
    return login_required(permiso(require_safe(vista)))


@_de_consulta
def espacios(request: HttpRequest) -> HttpResponse:
    """The root namespaces, with what each holds."""
    filas = [_resumen(regla) for regla in politica.ESPACIOS.values()]
    fuera = Documento.objects.fuera_de_la_politica().items()
    return render(
        request,
        "memoria/explorador/espacios.html",
        {"title": _("Memoria de los agentes"), "filas": filas, "fuera": fuera},
    )


@_de_consulta
def espacio(request: HttpRequest, nombre: str) -> HttpResponse:
    """The subjects of a namespace, a page at a time; ``?id=`` looks one up by its exact id."""
    buscado = request.GET.get("id", "").strip()
    if buscado and _hay_algo(request, nombre, buscado):
        return redirect("explorador:ficha", nombre, buscado)
    marcas = {cual: marca for cual in ("despues", "antes") if (marca := _marca(request, cual)) is not None}
    pagina = pagina_de_sujetos(nombre, **marcas)
    return render(
        request,
        "memoria/explorador/espacio.html",
        {
            "title": _("Memoria de %(espacio)s") % {"espacio": nombre_de_espacio(nombre)},
            "nombre": nombre,
            "buscado": buscado,
            "pagina": pagina,
            "primera": "?" if marcas else None,
            "anterior": pagina.anterior and f"?{urlencode({'antes': pagina.anterior})}",
            "siguiente": pagina.siguiente and f"?{urlencode({'despues': pagina.siguiente})}",
            "por_pagina": ENTRADAS_POR_PAGINA,
        },
    )


@_de_consulta
def ficha(request: HttpRequest, nombre: str, sujeto_id: str) -> HttpResponse:
    """All that the memory holds of one subject, and what its agent is told."""
    return render(
        request,
        "memoria/explorador/ficha.html",
        {
            "title": sujeto_id,
            "nombre": nombre,
            "espacio": nombre_de_espacio(nombre),
            "ficha": Ficha.de(nombre, sujeto_id, con_hilos=request.user.has_perm("memoria.view_hilo")),
            "url_avisos": _url_avisos(request, nombre),
            "url_derechos": _url_derechos(request, nombre, sujeto_id),
        },
    )


def _resumen(regla: politica.Espacio) -> dict[str, Any]:
    propios = Documento.objects.del_espacio(regla.nombre)
    documentos, sujetos = propios.recuento()
    return {
        "nombre": regla.nombre,
        "titulo": nombre_de_espacio(regla.nombre),
        "vida_dias": regla.vida_minutos // politica.MINUTOS_POR_DIA,
        "renueva": regla.renueva_al_leer,
        "documentos": documentos,
        "sujetos": sujetos,
        "caducados": propios.caducados().count(),
    }


def _hay_algo(request: HttpRequest, nombre: str, sujeto_id: str) -> bool:
    if "\x00" in sujeto_id or len(politica.espacio(nombre, sujeto_id)[1]) > politica.LARGO_MAXIMO_ETIQUETA:
        return False  # nobody can be called that
    if Documento.objects.del_sujeto(nombre, sujeto_id).exists():
        return True
    return request.user.has_perm("memoria.view_hilo") and Hilo.objects.del_sujeto(nombre, sujeto_id).exists()


def _url_avisos(request: HttpRequest, nombre: str) -> str | None:
    """Where the notices of suppliers are written, for who may go there. This room does not know that one."""
    if nombre != "proveedores" or not request.user.has_perm("compras.ver_avisos"):
        return None
    try:
        return reverse("compras:avisos")
    except NoReverseMatch:
        return None


def _url_derechos(request: HttpRequest, nombre: str, sujeto_id: str) -> str | None:
    """Where a document is restricted or corrected, for who may go there. This room does not know that one."""
    if not request.user.has_perm("privacidad.view_restriccion"):
        return None
    try:
        return reverse("privacidad:derechos", args=[nombre, sujeto_id])
    except NoReverseMatch:
        return None


def _marca(request: HttpRequest, parametro: str) -> str | None:
    """Where a page starts; what PostgreSQL cannot compare is no mark, and the list starts at the top."""
    marca = request.GET.get(parametro, "")
    return marca if marca and "\x00" not in marca else None
