"""The panel: what needs this person today.

Each application says it for itself: its ``AppConfig`` names in ``panel`` a function
``(HttpRequest) -> Iterable[Tarjeta]`` that gives the cards this person may see, none when there is nothing to
say. So the core shows the cards of applications it does not know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from django.apps import apps
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memoria.explorador.palabras import cuando, nombre_de_espacio
from memoria.models import Documento, Ejecucion
from memoria.politica import ESPACIOS

Tono = Literal["neutra", "bien", "aviso", "mal"]


@dataclass(frozen=True)
class Tarjeta:
    """One thing to know or to do: ``titulo`` links to ``url``, ``frase`` says the whole of it in words.

    ``tono`` only paints an edge: what it means must be in ``frase`` as well.
    """

    titulo: str | Promise
    frase: str
    cifra: int | str | None = None
    url: str | None = None
    tono: Tono = "neutra"
    #: What this person comes here to do: before all that there is to know, whichever application says it.
    primera: bool = False


@login_required
def panel(request: HttpRequest) -> HttpResponse:
    """What needs this person today."""
    return render(
        request,
        "panel.html",
        {
            "title": _("Hoy"),
            "tarjetas": sorted(
                (t for funcion in _funciones() for t in funcion(request)), key=lambda t: not t.primera
            ),
            "sin_funcion": not request.user.get_all_permissions(),
        },
    )


def _funciones() -> Iterable[Callable[[HttpRequest], Iterable[Tarjeta]]]:
    # What there is to do comes first (the applications), how the memory itself is doing comes last.
    configuraciones = sorted(apps.get_app_configs(), key=lambda c: c.name == "memoria")
    return [import_string(c.panel) for c in configuraciones if hasattr(c, "panel")]


# -- the core's own cards -------------------------------------------------------------------------


def tarjetas(request: HttpRequest) -> Iterable[Tarjeta]:
    """Documents per namespace; for operations, what awaits the sweep and the last run of each command."""
    if request.user.has_perm("memoria.view_documento"):
        yield from _espacios()
    if request.user.has_perm("memoria.view_ejecucion"):
        yield from _caducados()
        yield from _ejecuciones()


def _espacios() -> Iterable[Tarjeta]:
    for nombre in ESPACIOS:
        documentos, sujetos = Documento.objects.del_espacio(nombre).recuento()
        yield Tarjeta(
            titulo=_("Memoria: %(espacio)s") % {"espacio": nombre_de_espacio(nombre)},
            cifra=documentos,
            frase=ngettext("documento, de %(sujetos)s.", "documentos, de %(sujetos)s.", documentos)
            % {"sujetos": ngettext("%d sujeto", "%d sujetos", sujetos) % sujetos},
            url=reverse("explorador:espacio", args=[nombre]),
        )


def _caducados() -> Iterable[Tarjeta]:
    cuantos = Documento.objects.caducados().count()
    if cuantos:
        yield Tarjeta(
            titulo=_("Caducados sin borrar"),
            cifra=cuantos,
            frase=ngettext(
                "documento ha caducado y lo borrará el próximo barrido. Ningún agente lo lee ya.",
                "documentos han caducado y los borrará el próximo barrido. Ningún agente los lee ya.",
                cuantos,
            ),
            tono="aviso",
        )


def _ejecuciones() -> Iterable[Tarjeta]:
    lista = reverse("admin:memoria_ejecucion_changelist")
    for ejecucion in Ejecucion.objects.order_by("comando", "-inicio").distinct("comando"):
        yield Tarjeta(
            titulo=_("Última ejecución de «%(orden)s»") % {"orden": ejecucion.comando},
            frase=_frase(ejecucion),
            url=f"{lista}?{urlencode({'comando': ejecucion.comando})}",
            tono=_tono(ejecucion),
        )


def _frase(ejecucion: Ejecucion) -> str:
    datos = {"cuando": cuando(ejecucion.inicio), "codigo": ejecucion.codigo}
    if ejecucion.codigo is None:
        return _("Empezó el %(cuando)s y no ha terminado, o se interrumpió.") % datos
    if ejecucion.codigo == 0:
        return _("Terminó bien. Empezó el %(cuando)s.") % datos
    return _("No terminó bien: código de salida %(codigo)s. Empezó el %(cuando)s.") % datos


def _tono(ejecucion: Ejecucion) -> Tono:
    if ejecucion.codigo is None:
        return "aviso"
    return "bien" if ejecucion.codigo == 0 else "mal"
