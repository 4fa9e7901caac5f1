"""What a person may ask for besides erasure: withholding, correcting, and a file of all there is of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from memoria import politica
from memoria.explorador.acceso import Peticion, con_permiso
from memoria.explorador.ficha import DocumentoVisto
from memoria.explorador.paginas import vecinas
from memoria.explorador.palabras import nombre_de_espacio
from memoria.models import Documento
from privacidad import servicios
from privacidad.destinos.prisa import con_prisa
from privacidad.errores import ErrorDePrivacidad, SinPermiso
from privacidad.forms import SinDatosForm
from privacidad.models import Expediente, Restriccion
from privacidad.resumenes import resumen
from privacidad.servicios.paso import LARGO_MAXIMO_TEXTO

POR_PAGINA = 20
TIPOS_DE_CONTENIDO = {"pdf": "application/pdf", "json": "application/json"}


class _ClaveForm(forms.Form):
    clave = forms.CharField(widget=forms.HiddenInput, required=False, strip=False)


class _VistoForm(_ClaveForm):
    visto = forms.CharField(widget=forms.HiddenInput)

    def clean_visto(self) -> datetime:
        try:
            return datetime.fromisoformat(self.cleaned_data["visto"])
        except ValueError:
            raise forms.ValidationError(
                _("Vuelva a cargar la página: falta qué versión del dato vio.")
            ) from None


def _motivo(etiqueta: Any) -> forms.CharField:
    return forms.CharField(
        label=etiqueta, max_length=LARGO_MAXIMO_TEXTO, widget=forms.Textarea(attrs={"rows": 2})
    )


class LimitarForm(_ClaveForm):
    motivo = _motivo(gettext_lazy("Por qué se limita"))


class LevantarForm(forms.Form):
    restriccion = forms.IntegerField(widget=forms.HiddenInput)
    motivo = _motivo(gettext_lazy("Por qué se levanta"))


class RectificarForm(_VistoForm):
    valor = forms.CharField(label=gettext_lazy("Qué debe decir"), max_length=200)


class BorrarForm(_VistoForm):
    motivo = _motivo(gettext_lazy("Por qué se borra"))


@dataclass(frozen=True)
class Accion:
    """One thing the page does; ``de`` is the field that says which of the rows it is about."""

    permiso: str
    formulario: type[forms.Form]
    servicio: Callable[..., Any]
    hecho: str | Promise
    de: str = "clave"


ACCIONES: Mapping[str, Accion] = {
    "limitar": Accion(
        "restringir_dato",
        LimitarForm,
        servicios.restringir,
        gettext_lazy("Limitado: desde ahora ningún agente lo lee ni lo cambia."),
    ),
    "levantar": Accion(
        "restringir_dato",
        LevantarForm,
        servicios.levantar,
        gettext_lazy("Limitación levantada: los agentes vuelven a leerlo."),
        de="restriccion",
    ),
    "rectificar": Accion(
        "rectificar_dato", RectificarForm, servicios.rectificar, gettext_lazy("Dato rectificado.")
    ),
    "borrar": Accion("rectificar_dato", BorrarForm, servicios.borrar_dato, gettext_lazy("Dato borrado.")),
    "producir": Accion(
        "atender_acceso",
        SinDatosForm,
        servicios.pedir_expediente,
        gettext_lazy("Expediente producido: descárguelo abajo."),
        de="",
    ),
}

Enviado = tuple[str, forms.Form]


@require_safe
@con_permiso("privacidad.view_restriccion")
def derechos(request: Peticion, nombre: str, sujeto_id: str) -> HttpResponse:
    """The page of a person: what is kept, what is withheld, and the files that were made."""
    return _pagina(request, nombre, sujeto_id)


def _su_pagina(nombre: str = "", sujeto_id: str = "", accion: str = "") -> str:
    return reverse("privacidad:derechos", args=[nombre, sujeto_id])


@require_POST
@con_permiso("privacidad.view_restriccion", volver=_su_pagina)
def accion(request: Peticion, nombre: str, sujeto_id: str, accion: str) -> HttpResponse:
    """Do one thing; on success, back to the page of the person."""
    elegida = ACCIONES.get(accion)
    if elegida is None:
        raise Http404
    if not request.user.has_perm(f"privacidad.{elegida.permiso}"):
        raise PermissionDenied
    formulario = elegida.formulario(request.POST)
    if not formulario.is_valid():
        return _pagina(request, nombre, sujeto_id, (accion, formulario))
    datos = dict(formulario.cleaned_data)
    if accion == "levantar":
        prefijo = politica.prefijo(nombre, sujeto_id)
        datos["restriccion"] = get_object_or_404(Restriccion, pk=datos["restriccion"], prefijo=prefijo)
    else:
        datos |= {"espacio": nombre, "sujeto_id": sujeto_id}
    try:
        with con_prisa():
            hecho = elegida.servicio(**datos, por=request.user)
    except SinPermiso:
        raise PermissionDenied from None
    except ErrorDePrivacidad as error:
        formulario.add_error(None, str(error))
        return _pagina(request, nombre, sujeto_id, (accion, formulario))
    if isinstance(hecho, Expediente) and hecho.pendiente:
        messages.warning(
            request,
            _(
                "Es demasiado para producirlo desde esta página: lo hará la tarea programada, y se podrá "
                "descargar aquí."
            ),
        )
    else:
        messages.success(request, str(elegida.hecho))
    return redirect("privacidad:derechos", nombre, sujeto_id)


def _de_vuelta(referencia: str = "", formato: str = "") -> str:
    return reverse("privacidad:solicitudes")


@require_POST
@con_permiso("privacidad.atender_acceso", volver=_de_vuelta)
def expediente(request: Peticion, referencia: str, formato: str) -> HttpResponse:
    """The file of an access request. Sent, not followed: each download is registered."""
    elegido = get_object_or_404(Expediente.objects.defer("pdf", "json"), referencia=referencia)
    if formato not in TIPOS_DE_CONTENIDO:
        raise Http404
    try:
        trozos = servicios.descargar_expediente(expediente=elegido, formato=formato, por=request.user)
    except SinPermiso:
        raise PermissionDenied from None
    except ErrorDePrivacidad as error:
        messages.error(request, str(error))
        return redirect("privacidad:solicitudes")
    respuesta = StreamingHttpResponse(trozos, content_type=TIPOS_DE_CONTENIDO[formato])
    respuesta["Content-Disposition"] = f'attachment; filename="{referencia}.{formato}"'
    respuesta["Cache-Control"] = "no-store"
    return respuesta  # type: ignore[return-value]  # streamed: Django serves it all the same


def _pagina(request: Peticion, nombre: str, sujeto_id: str, enviado: Enviado | None = None) -> HttpResponse:
    prefijo = politica.prefijo(nombre, sujeto_id)
    ofrecer = _Ofrecer(request.user, enviado)
    en_vigor = list(Restriccion.objects.filter(prefijo=prefijo, levantada__isnull=True).select_related("por"))
    suyos = Documento.objects.del_sujeto(nombre, sujeto_id).order_by("-updated_at", "key")
    pagina = Paginator(suyos, POR_PAGINA).get_page(request.GET.get("pagina"))
    ahora = timezone.now()
    limitadas = {r.clave for r in en_vigor}
    documentos = [
        {
            "visto": DocumentoVisto.de(d, ahora),
            "formularios": _del_documento(ofrecer, nombre, d, n, limitadas),
        }
        for n, d in enumerate(pagina)
    ]
    return render(
        request,
        "privacidad/derechos.html",
        {
            "title": _("Derechos de una persona"),
            "nombre": nombre,
            "sujeto_id": sujeto_id,
            "espacio": nombre_de_espacio(nombre),
            "documentos": documentos,
            **vecinas(pagina),
            "restricciones": [
                {"restriccion": r, "levantar": ofrecer("levantar", r.pk, f"l{n}", restriccion=r.pk)}
                for n, r in enumerate(en_vigor)
            ],
            "limitar_todo": ofrecer("limitar", "", "toda") if documentos and "" not in limitadas else None,
            "producir": ofrecer("producir", "", "p"),
            "expedientes": _expedientes(prefijo)
            if request.user.has_perm("privacidad.view_expediente")
            else [],
            # Of a form that is no longer on the page.
            "error": [] if enviado is None or ofrecer.mostrado else enviado[1].non_field_errors(),
        },
        status=422 if enviado else 200,
    )


class _Ofrecer:
    """The forms of the page: those this person may send, and among them the one that came back."""

    def __init__(self, usuario: User, enviado: Enviado | None) -> None:
        self._usuario, self._enviado = usuario, enviado
        self.mostrado = False

    def __call__(self, accion: str, de: Any, marca: str, **inicial: Any) -> forms.Form | None:
        elegida = ACCIONES[accion]
        if not self._usuario.has_perm(f"privacidad.{elegida.permiso}"):
            return None
        if self._enviado and self._enviado[0] == accion:
            enviado = self._enviado[1]
            if str(enviado.data.get(elegida.de, "")) == str(de):
                self.mostrado = True
                enviado.auto_id = f"id_{accion}_{marca}_%s"
                return enviado
        return elegida.formulario(initial=inicial, auto_id=f"id_{accion}_{marca}_%s")


def _del_documento(
    ofrecer: _Ofrecer, nombre: str, d: Documento, n: int, limitadas: set[str]
) -> dict[str, forms.Form | None]:
    valor = d.value if isinstance(d.value, dict) else {}
    marca, visto = f"d{n}", d.updated_at.isoformat()
    es_preferencia = valor.get("tipo") in politica.ESPACIOS[nombre].tipos
    return {
        "limitar": None if d.key in limitadas else ofrecer("limitar", d.key, marca, clave=d.key),
        "rectificar": ofrecer(
            "rectificar", d.key, marca, clave=d.key, visto=visto, valor=valor.get("valor", "")
        )
        if es_preferencia
        else None,
        "borrar": ofrecer("borrar", d.key, marca, clave=d.key, visto=visto) if es_preferencia else None,
    }


def _expedientes(prefijo: str) -> list[dict[str, Any]]:
    ahora = timezone.now()
    return [
        {"expediente": e, "disponible": e.destruido is None and e.caduca > ahora and not e.pendiente}
        for e in Expediente.objects.filter(resumen=resumen(prefijo))
        .defer("pdf", "json")
        .select_related("por")
    ]
