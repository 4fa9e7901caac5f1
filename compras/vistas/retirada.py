"""Withdrawing a notice, what was withdrawn, and putting it back."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from compras import lectura, servicios
from compras.errores import AvisoCambiado, AvisoNoExiste, AvisoNoValido, ErrorDeCompras
from compras.forms import FormularioRetirada
from compras.models import Proveedor, Retirada
from memoria.explorador.acceso import Peticion, con_permiso
from memoria.explorador.formulario import estado, guardado

RETIRADOS_POR_PAGINA = 50


@require_http_methods(["GET", "HEAD", "POST"])
@con_permiso(servicios.ESCRIBIR)
def aviso_retirar(request: Peticion, codigo: str, clave: str) -> HttpResponse:
    proveedor = get_object_or_404(Proveedor, codigo=codigo)
    hallado = lectura.uno(codigo, clave)
    if request.method == "POST":
        formulario = FormularioRetirada(request.POST)
        if formulario.is_valid():
            try:
                se_repone = servicios.retirar(
                    proveedor=proveedor, clave=clave, por=request.user, **formulario.cleaned_data
                )
            except AvisoNoValido as error:
                formulario.add_error(error.campo, str(error))
            except AvisoNoExiste as error:
                messages.error(request, str(error), extra_tags=guardado(request))
                return redirect("compras:avisos")
            except AvisoCambiado as error:
                messages.warning(request, str(error))
                hallado = lectura.uno(codigo, clave)
                if hallado:
                    formulario = formulario.sobre(hallado)
            except ErrorDeCompras as error:
                formulario.add_error(None, str(error))
            else:
                hecho = _("El aviso está retirado. Los agentes ya no lo leen.")
                if se_repone:
                    hecho += " " + _("Si hace falta, se repone desde «Avisos retirados».")
                messages.success(request, hecho, extra_tags=guardado(request))
                return redirect("compras:avisos")
        if hallado is None:
            messages.error(request, str(AvisoNoExiste()), extra_tags=guardado(request))
            return redirect("compras:avisos")
    elif hallado is None:
        raise Http404
    else:
        formulario = FormularioRetirada(
            initial={"motivo": request.GET.get("motivo", ""), "version": hallado.version.isoformat()}
        )
    return render(
        request,
        "compras/aviso_retirar.html",
        {
            "title": _("Retirar un aviso"),
            "aviso": hallado,
            "nombre": proveedor.nombre,
            "formulario": formulario,
            "enviado": request.method == "POST",
            "dias": servicios.DIAS_PARA_REPONER,
            "conservable": servicios.conservable(proveedor),
        },
        status=estado(request),
    )


@require_safe
@con_permiso(servicios.ESCRIBIR)
def retirados(request: Peticion) -> HttpResponse:
    """What was withdrawn and can still be put back, the last first."""
    codigo = request.GET.get("proveedor", "").replace("\x00", "")
    despues = request.GET.get("despues", "")
    consulta = Retirada.objects.reponibles().select_related("proveedor", "por").order_by("-pk")
    if codigo:
        consulta = consulta.filter(proveedor__codigo=codigo)
    if despues:
        if not (despues.isascii() and despues.isdigit() and len(despues) < 19):
            raise Http404
        consulta = consulta.filter(pk__lt=int(despues))
    filas = list(consulta[: RETIRADOS_POR_PAGINA + 1])
    hay_mas = len(filas) > RETIRADOS_POR_PAGINA
    filas = filas[:RETIRADOS_POR_PAGINA]
    filtro = {"proveedor": codigo} if codigo else {}
    siguiente = {**filtro, "despues": str(filas[-1].pk)} if hay_mas else None
    return render(
        request,
        "compras/retirados.html",
        {
            "title": _("Avisos retirados"),
            "filas": [{"retirada": r, **_dicho(r)} for r in filas],
            "proveedores": Proveedor.objects.filter(retiradas__in=Retirada.objects.reponibles())
            .distinct()
            .order_by("nombre", "codigo"),
            "codigo": codigo,
            "dias": servicios.DIAS_PARA_REPONER,
            "primera": f"?{urlencode(filtro)}" if despues else None,
            "siguiente": siguiente and f"?{urlencode(siguiente)}",
        },
    )


@require_POST
@con_permiso(servicios.ESCRIBIR, volver=lambda pk: reverse("compras:retirados"))
def reponer(request: Peticion, pk: int) -> HttpResponse:
    if not Retirada.objects.filter(pk=pk).exists():
        raise Http404
    try:
        proveedor, clave = servicios.reponer(retirada=pk, por=request.user)
    except ErrorDeCompras as error:
        messages.error(request, str(error))
        return redirect("compras:retirados")
    messages.success(
        request,
        _("El aviso vuelve a estar donde estaba. Los agentes ya lo leen. Caduca el mismo día que antes."),
    )
    return redirect("compras:aviso", proveedor.codigo, clave)


def _dicho(retirada: Retirada) -> dict[str, Any]:
    """What it said, whatever shape it has: a damaged notice is withdrawn too."""
    documento = retirada.documento if isinstance(retirada.documento, dict) else {}
    return {
        "asunto": documento.get("asunto") if isinstance(documento.get("asunto"), str) else "",
        "texto": documento.get("texto") if isinstance(documento.get("texto"), str) else "",
        "quien": (retirada.por.get_full_name() or retirada.por.get_username()) if retirada.por else "",
    }
