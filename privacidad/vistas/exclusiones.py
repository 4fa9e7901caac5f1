"""The person's own rows, one by one: what would be erased, what is held back, and letting it go."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from memoria.explorador.acceso import Peticion, con_permiso
from memoria.explorador.paginas import vecinas
from privacidad import muestras, palabras, servicios
from privacidad.errores import ErrorDePrivacidad, SinPermiso
from privacidad.estados import Estado
from privacidad.forms import RetenerForm
from privacidad.models import Exclusion, Solicitud

POR_PAGINA = 20
DOCUMENTOS, HILOS = "documentos", "hilos"


def contexto(solicitud: Solicitud, usuario: User) -> dict[str, Any]:
    """What the page of a request says of its rows, of what is outside and of linked ones."""
    principal = solicitud.principal
    retenidos, gestiones = list(solicitud.exclusiones.activas()), list(solicitud.gestiones.order_by("pk"))
    return {
        "retenidos": retenidos,
        "externos": palabras.externos(gestiones),
        "esperas": palabras.espera(
            solicitud,
            retenidos=len(retenidos),
            sin_confirmar=sum(not gestion.terminada for gestion in gestiones),
        ),
        "puede_retener": solicitud.abierta and usuario.has_perm("privacidad.reservar_dato"),
        "muestras": muestras.primeras(solicitud)
        if solicitud.vista_previa and usuario.has_perm("privacidad.tramitar_solicitud")
        else [],
        "principal": principal,
        "vinculadas": list(solicitud.vinculadas.order_by("recibida", "pk")),
    }


def avisar_de_la_aprobacion(request: Peticion, solicitud: Solicitud, estaba: str) -> None:
    """Tell who changed what had been approved that it has to be approved again."""
    solicitud.refresh_from_db(fields=["estado"])
    if estaba == Estado.APROBADA and solicitud.estado == Estado.REVISADA:
        messages.warning(
            request, _("Ya estaba aprobada y ha cambiado lo que se haría: tiene que aprobarse otra vez.")
        )


def _su_pagina(referencia: str, exclusion: int | None = None) -> str:
    return reverse("privacidad:solicitud", args=[referencia])


@require_http_methods(["GET", "HEAD", "POST"])
@con_permiso("privacidad.reservar_dato", volver=_su_pagina)
def datos(request: Peticion, referencia: str) -> HttpResponse:
    """The rows of the person, each with the form that holds it back. ``?ver=hilos`` for their threads."""
    solicitud = get_object_or_404(Solicitud, referencia=referencia)
    if solicitud.principal:
        return redirect("privacidad:datos", solicitud.principal.referencia)
    formulario = RetenerForm(request.POST) if request.method == "POST" else None
    estaba = solicitud.estado
    if formulario is not None and formulario.is_valid():
        try:
            servicios.excluir(solicitud=solicitud, por=request.user, **formulario.cleaned_data)
        except SinPermiso:
            raise PermissionDenied from None
        except ErrorDePrivacidad as error:
            formulario.add_error(None, str(error))
        else:
            messages.success(request, _("Dato retenido: la supresión lo dejará, y quedará parcial."))
            avisar_de_la_aprobacion(request, solicitud, estaba)
            return redirect(solicitud)
    return _pagina(request, solicitud, formulario)


@require_POST
@con_permiso("privacidad.reservar_dato", volver=_su_pagina)
def soltar(request: Peticion, referencia: str, exclusion: int) -> HttpResponse:
    """Let a held row go."""
    elegida = get_object_or_404(
        Exclusion.objects.select_related("solicitud"), pk=exclusion, solicitud__referencia=referencia
    )
    estaba = elegida.solicitud.estado
    try:
        servicios.liberar(exclusion=elegida, por=request.user)
    except SinPermiso:
        raise PermissionDenied from None
    except ErrorDePrivacidad as error:
        messages.error(request, str(error))
    else:
        messages.success(request, _("Dato soltado: la próxima ejecución lo borra."))
        avisar_de_la_aprobacion(request, elegida.solicitud, estaba)
    return redirect(elegida.solicitud)


def _pagina(request: Peticion, solicitud: Solicitud, enviado: RetenerForm | None) -> HttpResponse:
    ver = request.GET.get("ver", DOCUMENTOS)
    if ver not in (DOCUMENTOS, HILOS):
        raise Http404
    # The two are shown by the same function: to the type checker a queryset of either.
    todas: QuerySet[Any] = muestras.documentos(solicitud) if ver == DOCUMENTOS else muestras.hilos(solicitud)
    pagina = Paginator(todas, POR_PAGINA).get_page(request.GET.get("pagina"))
    retenidos = set(solicitud.exclusiones.activas().values_list("destino", "clave"))
    filas = [muestras.fila(objeto) for objeto in pagina]
    return render(
        request,
        "privacidad/datos.html",
        {
            "title": _("Datos de esta persona"),
            "solicitud": solicitud,
            "ver": ver,
            "pagina": pagina,
            **vecinas(pagina, ver=ver),
            "error": enviado.non_field_errors() if enviado else [],
            "filas": [
                {
                    "fila": fila,
                    "retenida": (fila.destino, fila.clave) in retenidos,
                    "formulario": RetenerForm(
                        initial={"destino": fila.destino, "clave": fila.clave}, auto_id=f"id_{n}_%s"
                    )
                    if solicitud.abierta
                    else None,
                }
                for n, fila in enumerate(filas)
            ],
        },
        status=422 if enviado else 200,
    )
