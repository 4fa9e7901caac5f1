"""The pages of privacy. They show and ask; every change is made by :mod:`privacidad.servicios`."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memoria.explorador.acceso import con_permiso
from memoria.explorador.paginas import vecinas
from memoria.explorador.palabras import nombre_de_espacio
from privacidad import palabras, revisiones, servicios
from privacidad.destinos.prisa import con_prisa
from privacidad.errores import ErrorDePrivacidad, OtroEnvio, SinPermiso
from privacidad.escritos import guardados
from privacidad.estados import Estado
from privacidad.forms import RecibirForm
from privacidad.gestiones import SIN_TERMINAR
from privacidad.models import Solicitud
from privacidad.pasos import ACCIONES, Accion, accion
from privacidad.vistas import avance, exclusiones, menciones

POR_PAGINA = 50
ABIERTAS, TODAS = "abiertas", "todas"


def _su_pagina(referencia: str, nombre: str) -> str:
    # A step is only ever sent: who must log in again lands on the page it is sent from.
    return reverse("privacidad:solicitud", args=[referencia])


@require_safe
@con_permiso("privacidad.view_solicitud")
def solicitudes(request: HttpRequest) -> HttpResponse:
    """The queue: the fewest days left on top. ``?estado=`` is a state, ``abiertas`` or ``todas``."""
    filtro = request.GET.get("estado", ABIERTAS)
    todas = Solicitud.objects.por_urgencia()
    if filtro == ABIERTAS:
        elegidas = todas.abiertas()
    elif filtro == TODAS:
        elegidas = todas
    elif filtro in Estado.values:
        elegidas = todas.filter(estado=filtro)
    else:
        raise Http404
    pagina = Paginator(elegidas.con_resultado().defer("sujeto_id", "reservado"), POR_PAGINA).get_page(
        request.GET.get("pagina")
    )
    return render(
        request,
        "privacidad/solicitudes.html",
        {
            "title": _("Solicitudes de supresión"),
            "filtro": filtro,
            "filtros": [(ABIERTAS, _("Abiertas")), (TODAS, _("Todas")), *Estado.choices],
            **vecinas(pagina, estado=filtro),
            "filas": [
                {
                    "solicitud": s,
                    "estado": palabras.estado(s, borro=s.borro()),
                    "plazo": palabras.plazo(s),
                    "espacio": nombre_de_espacio(s.espacio),
                }
                for s in pagina
            ],
        },
    )


@require_http_methods(["GET", "HEAD", "POST"])
@con_permiso("privacidad.recibir_solicitud")
def nueva(request: HttpRequest) -> HttpResponse:
    """Register a request that has come in."""
    formulario = RecibirForm(request.POST or None)
    if request.method == "POST" and formulario.is_valid():
        try:
            solicitud = servicios.recibir(**formulario.cleaned_data, por=_usuario(request))
        except OtroEnvio as error:
            formulario = formulario.con_otro_envio()
            formulario.add_error(None, str(error))
        except ErrorDePrivacidad as error:
            formulario.add_error(None, str(error))
        else:
            activa = solicitud.principal or solicitud
            if activa is solicitud:
                hecho = _("Solicitud registrada. Vence el %s.") % _fecha(activa)
            else:
                hecho = _("Esa persona ya tenía una solicitud abierta y esta queda vinculada. Vence el %s.")
                hecho %= _fecha(activa)
            messages.success(request, hecho)
            if aviso := _sobre_el_identificador(activa):
                messages.warning(request, aviso)
            return redirect(activa)
    return render(
        request,
        "privacidad/nueva.html",
        {"title": _("Registrar una solicitud"), "formulario": formulario},
        status=422 if formulario.errors else 200,
    )


@require_safe
@con_permiso("privacidad.view_solicitud")
def solicitud(request: HttpRequest, referencia: str) -> HttpResponse:
    """One request: what has been done, what comes next and, once erased, the evidence."""
    return _pagina(request, get_object_or_404(Solicitud, referencia=referencia))


@require_POST
@con_permiso("privacidad.view_solicitud", volver=_su_pagina)
def paso(request: HttpRequest, referencia: str, nombre: str) -> HttpResponse:
    """Take one step; on success, back to the page of the request."""
    elegida = accion(nombre)
    if elegida is None:
        raise Http404
    objeto = get_object_or_404(Solicitud, referencia=referencia)
    usuario = _usuario(request)
    if not usuario.has_perm(f"privacidad.{elegida.permiso}"):
        raise PermissionDenied
    formulario = elegida.formulario_para(objeto, usuario)(request.POST, prefix=elegida.nombre)
    if not formulario.is_valid():
        return _pagina(request, objeto, {elegida.nombre: formulario}, status=422)
    try:
        with con_prisa():
            elegida.servicio(solicitud=objeto, por=usuario, **formulario.cleaned_data)
    except SinPermiso:
        raise PermissionDenied from None
    except ErrorDePrivacidad as error:
        formulario.add_error(None, str(error))
        objeto.refresh_from_db()
        if not elegida.disponible(objeto, usuario):  # the page has no such form any more
            messages.error(request, str(error))
            return redirect(objeto)
        return _pagina(request, objeto, {elegida.nombre: formulario}, status=422)
    messages.success(request, str(elegida.hecho))
    if elegida.a is Estado.EN_CURSO:
        _avisar_de_lo_que_falta(request, objeto)
    return redirect(objeto)


def _avisar_de_lo_que_falta(request: HttpRequest, objeto: Solicitud) -> None:
    """What other systems have not confirmed is not done, and nobody has to stay here for it."""
    faltan = objeto.gestiones.filter(estado__in=SIN_TERMINAR).count()
    if faltan:
        messages.warning(
            request,
            ngettext(
                "Falta %d sistema externo, que no ha respondido a tiempo o no lo ha confirmado: sigue la "
                "tarea programada.",
                "Faltan %d sistemas externos, que no han respondido a tiempo o no lo han confirmado: sigue "
                "la tarea programada.",
                faltan,
            )
            % faltan,
        )


def _pagina(
    request: HttpRequest,
    objeto: Solicitud,
    enviados: dict[str, forms.Form] | None = None,
    status: int = 200,
) -> HttpResponse:
    usuario = _usuario(request)
    evidencias = list(objeto.evidencias.all())
    perdida = revisiones.perdida(objeto)
    ofrecidas = [
        _ofrecer(a, objeto, usuario, enviados or {}) for a in ACCIONES if a.disponible(objeto, usuario)
    ]
    return render(
        request,
        "privacidad/solicitud.html",
        {
            "title": objeto.referencia,
            "solicitud": objeto,
            "estado": palabras.estado(objeto, borro=objeto.borro(evidencias)),
            "plazo": palabras.plazo(objeto),
            "espacio": nombre_de_espacio(objeto.espacio),
            # The id in clear is for who handles the request; who only runs it needs the reference alone.
            "ve_identificador": usuario.has_perm("privacidad.tramitar_solicitud"),
            "pasos": objeto.pasos.select_related("por"),
            "excepcion": objeto.excepcion_motivo,
            "previa": palabras.lineas_previas(objeto.vista_previa),
            "hay": palabras.resumen_de_datos(objeto.vista_previa),
            "revision_perdida": perdida is not None,
            "identificadores_de": perdida or [],
            "evidencias": [(e, palabras.lineas(e)) for e in evidencias],
            "escritos": guardados.de_la_solicitud(objeto),
            "siguientes": [o for o in ofrecidas if not o["accion"].aparta],
            "apartes": [o for o in ofrecidas if o["accion"].aparta],
            **avance.contexto(objeto),
            **menciones.contexto(objeto, usuario),
            **exclusiones.contexto(objeto, usuario),
        },
        status=status,
    )


def _ofrecer(a: Accion, objeto: Solicitud, usuario: User, enviados: dict[str, forms.Form]) -> dict[str, Any]:
    formulario = enviados.get(a.nombre) or a.formulario_para(objeto, usuario)(prefix=a.nombre)
    return {"accion": a, "formulario": formulario, "impedimento": a.impedimento(objeto, usuario)}


def _usuario(request: HttpRequest) -> User:
    return cast(User, request.user)  # behind con_permiso


def _fecha(solicitud: Solicitud) -> str:
    return date_format(solicitud.vence)


def _sobre_el_identificador(solicitud: Solicitud) -> str | None:
    """What the person should know of an id that the memory does not hold."""
    espacio, sujeto_id = solicitud.espacio, solicitud.sujeto_id
    if not sujeto_id or servicios.conocido(espacio, sujeto_id):
        return None
    vigente = servicios.codigo_vigente(espacio, sujeto_id)
    if vigente != sujeto_id:
        return _("Ese código se unió a otro: lo que había está en %s. Pídalo también de él.") % vigente
    return _("En la memoria no hay datos con ese identificador: compruebe que está bien escrito.")
