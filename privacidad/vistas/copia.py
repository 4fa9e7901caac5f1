"""The sealed copy of a request: deciding it before the erasure, and opening it afterwards."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from memoria.explorador.acceso import Peticion, con_permiso
from privacidad import estados, servicios
from privacidad.errores import ErrorDePrivacidad, SinPermiso
from privacidad.estados import Estado
from privacidad.models import Copia, Solicitud
from privacidad.servicios.paso import LARGO_MAXIMO_TEXTO
from privacidad.vistas.exclusiones import avisar_de_la_aprobacion


class DecidirForm(forms.Form):
    hasta = forms.DateField(
        label=gettext_lazy("Guardar una copia bloqueada hasta"),
        required=False,
        help_text=gettext_lazy("Ese día se destruye. Déjelo vacío si no debe haber copia."),
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
    )
    motivo = forms.CharField(
        label=gettext_lazy("Por qué no hay copia"),
        required=False,
        max_length=LARGO_MAXIMO_TEXTO,
        help_text=gettext_lazy(
            "Se conserva después del borrado: no escriba aquí nombres ni identificadores."
        ),
        widget=forms.Textarea(attrs={"rows": 3}),
    )


class AbrirForm(forms.Form):
    motivo = forms.CharField(
        label=gettext_lazy("Por qué se abre"),
        max_length=LARGO_MAXIMO_TEXTO,
        help_text=gettext_lazy("Queda en el registro: no escriba aquí nombres ni identificadores."),
        widget=forms.Textarea(attrs={"rows": 3}),
    )


def _su_pagina(referencia: str) -> str:
    return reverse("privacidad:solicitud", args=[referencia])


@require_http_methods(["GET", "HEAD", "POST"])
@con_permiso("privacidad.view_copia", volver=_su_pagina)
def copia(request: Peticion, referencia: str) -> HttpResponse:
    """What was decided, and while it can still be decided the form; with POST, decide."""
    solicitud = get_object_or_404(Solicitud.objects.select_related("principal"), referencia=referencia)
    if solicitud.principal:
        return redirect("privacidad:copia", solicitud.principal.referencia)
    if request.method != "POST":
        return _pagina(request, solicitud)
    if not request.user.has_perm("privacidad.reservar_dato"):
        raise PermissionDenied
    formulario, estaba = DecidirForm(request.POST), solicitud.estado
    if formulario.is_valid():
        try:
            servicios.decidir_copia(
                solicitud=solicitud,
                hasta=formulario.cleaned_data["hasta"],
                motivo=formulario.cleaned_data["motivo"] or None,
                por=request.user,
            )
        except SinPermiso:
            raise PermissionDenied from None
        except ErrorDePrivacidad as error:
            formulario.add_error(None, str(error))
        else:
            messages.success(request, _("Decisión anotada."))
            avisar_de_la_aprobacion(request, solicitud, estaba)
            return redirect(solicitud)
    return _pagina(request, solicitud, decidir=formulario)


@require_POST
@con_permiso("privacidad.abrir_copia", volver=_su_pagina)
def abrir(request: Peticion, referencia: str) -> HttpResponse:
    """Open a sealed copy: its lines, as they come, to be saved. The opening is registered first."""
    elegida = get_object_or_404(Copia.objects.select_related("solicitud"), solicitud__referencia=referencia)
    formulario = AbrirForm(request.POST)
    if formulario.is_valid():
        try:
            lineas = servicios.abrir_copia(
                copia=elegida, motivo=formulario.cleaned_data["motivo"], por=request.user
            )
        except SinPermiso:
            raise PermissionDenied from None
        except ErrorDePrivacidad as error:
            formulario.add_error(None, str(error))
        else:
            respuesta = StreamingHttpResponse(
                (linea + b"\n" for linea in lineas), content_type="application/x-ndjson"
            )
            respuesta["Content-Disposition"] = f'attachment; filename="copia-{referencia}.jsonl"'
            respuesta["Cache-Control"] = "no-store"
            return respuesta  # type: ignore[return-value]  # streamed: Django serves it all the same
    return _pagina(request, elegida.solicitud, abrir=formulario)


def _pagina(
    request: Peticion,
    solicitud: Solicitud,
    decidir: DecidirForm | None = None,
    abrir: AbrirForm | None = None,
) -> HttpResponse:
    hecha = Copia.objects.filter(solicitud=solicitud).first()
    sigue = hecha is not None and hecha.destruida is None
    decidible = not sigue and solicitud.estado in estados.ABIERTAS and solicitud.estado != Estado.EN_CURSO
    contexto: dict[str, Any] = {
        "title": _("Copia bloqueada"),
        "solicitud": solicitud,
        "copia": hecha,
        "motivo_por_defecto": settings.MOTIVO_SIN_COPIA,
        "decidir": decidir or (DecidirForm(initial=_decidido(solicitud)) if decidible else None)
        if request.user.has_perm("privacidad.reservar_dato")
        else None,
        "abrir": abrir or (AbrirForm() if sigue else None)
        if request.user.has_perm("privacidad.abrir_copia")
        else None,
    }
    return render(request, "privacidad/copia.html", contexto, status=422 if decidir or abrir else 200)


def _decidido(solicitud: Solicitud) -> dict[str, Any]:
    return {"hasta": solicitud.copia_hasta, "motivo": solicitud.motivo_sin_copia}
