"""The part of a request's page that says how a large erasure is going: it loads itself every few seconds."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_safe
from django_htmx.http import HttpResponseClientRefresh

from memoria.explorador.acceso import con_permiso
from privacidad import avance as avances
from privacidad.models import Solicitud


def _la_pagina(referencia: str) -> str:
    return reverse("privacidad:solicitud", args=[referencia])


@require_safe
@con_permiso("privacidad.view_solicitud", volver=_la_pagina)
def avance(request: HttpRequest, referencia: str) -> HttpResponse:
    """The part alone; once there is nothing to wait for, the order to load the whole page again."""
    objeto = get_object_or_404(Solicitud, referencia=referencia)
    if not avances.es_grande(objeto):
        return HttpResponseClientRefresh()
    return render(request, "privacidad/_avance.html", {"solicitud": objeto, **contexto(objeto)})


def contexto(solicitud: Solicitud) -> dict[str, Any]:
    """What ``privacidad/_avance.html`` needs; empty for what the page itself can run."""
    if not avances.es_grande(solicitud):
        return {}
    return {"grande": avances.filas(solicitud), "avance": avances.leer(solicitud)}
