"""Other people's rows that name the person, to be decided one by one."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from memoria.explorador.acceso import Peticion, con_permiso
from memoria.explorador.paginas import vecinas
from memoria.explorador.palabras import nombre_de_espacio
from privacidad import menciones as busqueda
from privacidad import servicios
from privacidad.errores import ErrorDePrivacidad, SinPermiso
from privacidad.estados import Estado
from privacidad.forms import DecidirForm
from privacidad.models import Mencion, Solicitud
from privacidad.palabras import nombres_de_datos
from privacidad.servicios.paso import DESPUES_DE_EJECUTAR

POR_PAGINA = 10


def contexto(solicitud: Solicitud, usuario: User) -> dict[str, Any]:
    """What the page of a request says of its mentions."""
    if not usuario.has_perm("privacidad.tramitar_solicitud"):
        return {}
    filas = busqueda.por_fila(solicitud)
    return {
        "menciones": filas.count(),
        "menciones_pendientes": filas.filter(pendientes__gt=0).count(),
        "menciones_por_borrar": filas.filter(decision=Mencion.Decision.BORRAR).count(),
    }


def _la_pagina(referencia: str, mencion: int | None = None) -> str:
    return reverse("privacidad:menciones", args=[referencia])


@require_safe
@con_permiso("privacidad.tramitar_solicitud")
def menciones(request: Peticion, referencia: str) -> HttpResponse:
    """The rows, the undecided ones first, each with the text around what was found, masked."""
    return _pagina(request, get_object_or_404(Solicitud, referencia=referencia))


@require_POST
@con_permiso("privacidad.tramitar_solicitud", volver=_la_pagina)
def mencion(request: Peticion, referencia: str, mencion: int) -> HttpResponse:
    """Decide about the row of one mention; back to the list, where it now says so."""
    solicitud = get_object_or_404(Solicitud, referencia=referencia)
    elegida = get_object_or_404(Mencion.objects.select_related("solicitud"), pk=mencion, solicitud=solicitud)
    formulario = DecidirForm(request.POST, prefix=str(elegida.pk))
    if not formulario.is_valid():
        return _pagina(request, solicitud, formulario, status=422)
    try:
        servicios.decidir_mencion(mencion=elegida, por=request.user, **formulario.cleaned_data)
    except SinPermiso:
        raise PermissionDenied from None
    except ErrorDePrivacidad as error:
        formulario.add_error(None, str(error))
        return _pagina(request, solicitud, formulario, status=422)
    messages.success(request, _("Decisión anotada."))
    return redirect("privacidad:menciones", solicitud.referencia)


def _pagina(
    request: Peticion, solicitud: Solicitud, enviado: DecidirForm | None = None, status: int = 200
) -> HttpResponse:
    filas = busqueda.por_fila(solicitud).order_by("-pendientes", "primera")
    pagina = Paginator(filas, POR_PAGINA).get_page(request.GET.get("pagina"))
    # After a run, what was found since; what was decided and approved is done.
    se_decide = solicitud.estado == Estado.REVISADA or solicitud.estado in DESPUES_DE_EJECUTAR
    return render(
        request,
        "privacidad/menciones.html",
        {
            "title": _("Datos de otras personas que la mencionan"),
            "solicitud": solicitud,
            "pagina": pagina,
            **vecinas(pagina),
            "se_decide": se_decide,
            "buscada": solicitud.pasos.filter(estado=Estado.REVISADA).exists(),
            "filas": [
                {
                    "vista": vista,
                    "espacio": nombre_de_espacio(vista.espacio),
                    "hallado": nombres_de_datos(vista.identificadores),
                    "formulario": _formulario(vista.mencion, enviado)
                    if se_decide and (solicitud.estado == Estado.REVISADA or _pendiente(vista.mencion))
                    else None,
                }
                for vista in busqueda.vistas(solicitud, pagina)
            ],
        },
        status=status,
    )


def _formulario(mencion: Mencion, enviado: DecidirForm | None) -> DecidirForm:
    if enviado is not None and enviado.prefix == str(mencion.pk):
        return enviado
    inicial = {} if _pendiente(mencion) else {"decision": mencion.decision, "motivo": mencion.motivo}
    return DecidirForm(prefix=str(mencion.pk), initial=inicial)


def _pendiente(mencion: Mencion) -> bool:
    return mencion.decision == Mencion.Decision.PENDIENTE
