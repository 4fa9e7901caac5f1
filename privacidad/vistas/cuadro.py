"""The dashboard: what is due and why on that day, how long requests take, and the registers of the months."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

from django.conf import settings
from django.core.paginator import Paginator
from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from memoria.comandos import Salida
from memoria.explorador.acceso import con_permiso
from memoria.explorador.paginas import vecinas
from memoria.models import Ejecucion
from privacidad import figuras, mensual, palabras, registro, verificacion
from privacidad.estados import Estado
from privacidad.models import Paso, Solicitud

POR_PAGINA = 50
MESES = 12
FORMATOS = {
    "csv": (mensual.en_csv, "text/csv; charset=utf-8"),
    "pdf": (mensual.en_pdf, "application/pdf"),
}


@require_safe
@con_permiso("privacidad.view_solicitud")
def cuadro(request: HttpRequest) -> HttpResponse:
    """What is open, the fewest days left on top; the figures; the integrity of the register."""
    abiertas = Solicitud.objects.abiertas().por_urgencia().con_resultado().prefetch_related("vinculadas")
    pagina = Paginator(abiertas.defer("sujeto_id", "reservado"), POR_PAGINA).get_page(
        request.GET.get("pagina")
    )
    return render(
        request,
        "privacidad/cuadro.html",
        {
            "title": _("Cuadro de privacidad"),
            "figuras": _figuras(),
            "registro": _ultima_verificacion(),
            "copias_dias": settings.COPIAS_DIAS,
            **vecinas(pagina),
            "filas": [
                {
                    "solicitud": s,
                    "estado": palabras.estado(s, borro=s.borro()),
                    "plazo": palabras.plazo(s),
                    "motivo": motivo_de_la_fecha(s),
                }
                for s in pagina
            ],
            "meses": [{"clave": f"{m:%Y-%m}", "nombre": mensual.nombre(m)} for m in mensual.ultimos(MESES)],
        },
    )


@require_safe
@con_permiso("privacidad.view_solicitud")
@never_cache
def registro_mensual(request: HttpRequest, mes: str, formato: str) -> HttpResponse:
    """The register of a month, ``aaaa-mm``, as ``csv`` or ``pdf``."""
    if formato not in FORMATOS or not re.fullmatch(r"20[0-9]{2}-(0[1-9]|1[0-2])", mes):
        raise Http404
    producir, tipo = FORMATOS[formato]
    respuesta = HttpResponse(producir(date.fromisoformat(f"{mes}-01")), content_type=tipo)
    respuesta["Content-Disposition"] = f'attachment; filename="registro-{mes}.{formato}"'
    return respuesta


def motivo_de_la_fecha(solicitud: Solicitud) -> str:
    """Why a request is due on its day, in words. Reads ``vinculadas`` whole: prefetch them for a list."""
    primera = min([solicitud, *solicitud.vinculadas.all()], key=lambda s: (s.recibida, s.pk))
    datos = {"dia": _fecha(primera.recibida), "referencia": primera.referencia}
    if primera.pk == solicitud.pk:
        base = _("un mes desde la recepción del %(dia)s") % datos
        ampliada = _("ampliada: tres meses desde la recepción del %(dia)s") % datos
    else:
        base = _("un mes desde la recepción del %(dia)s de la solicitud vinculada %(referencia)s") % datos
        ampliada = (
            _("ampliada: tres meses desde la recepción del %(dia)s de la solicitud vinculada %(referencia)s")
            % datos
        )
    motivo = ampliada if solicitud.ampliada else base
    if solicitud.vence.day != primera.recibida.day:
        motivo = _("%(motivo)s; ese mes no tiene día %(numero)s") % {
            "motivo": motivo,
            "numero": primera.recibida.day,
        }
    if solicitud.estado == Estado.REAPARECIDA:
        motivo = _("%(motivo)s; ha reaparecido y conserva su plazo") % {"motivo": motivo}
    return motivo[:1].upper() + motivo[1:]


def _figuras() -> dict[str, Any]:
    """The fifth figure, and what is half done or has come back: neither is ever among what is done."""
    total = figuras.supresiones()
    cuentas = Solicitud.objects.aggregate(
        parciales=Count("pk", filter=Q(estado=Estado.PARCIAL)),
        reaparecidas=Count("pk", filter=Q(estado=Estado.REAPARECIDA)),
    )
    completadas = total["completadas"]
    return {
        **total,
        **cuentas,
        "reaparecieron": Paso.objects.filter(estado=Estado.REAPARECIDA)
        .values("solicitud")
        .distinct()
        .count(),
        "mismo_dia_por_ciento": round(100 * total["mismo_dia"] / completadas) if completadas else None,
    }


def _ultima_verificacion() -> dict[str, Any]:
    """How the last check of the register that got to an answer ended, and when; ``sin_terminar``, when one
    since then did not get to any. Empty when there has been none."""
    ultima = registro.ultima_verificacion()
    intento = (
        Ejecucion.objects.filter(comando=registro.VERIFICAR, fin__isnull=False).order_by("-inicio").first()
    )
    sin_terminar = {"sin_terminar": intento.fin} if intento and intento != ultima else {}
    if ultima is None:
        return sin_terminar
    return {
        **sin_terminar,
        "cuando": ultima.fin,
        "bien": ultima.codigo == Salida.HECHO,
        "roto": ultima.codigo != Salida.HECHO,
        "primera_rota": ultima.recuento["primera_rota"],
        "titulo": verificacion.titulo(ultima.recuento),
        "faltas": verificacion.faltas(ultima.recuento),
    }


def _fecha(dia: date) -> str:
    return date_format(dia, "d/m/Y")
