"""Withdrawing a notice."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from compras import lectura, servicios
from compras.errores import ErrorDeCompras
from compras.models import Proveedor
from memoria.explorador.acceso import Peticion, con_permiso


@require_http_methods(["GET", "HEAD", "POST"])
@con_permiso(servicios.ESCRIBIR)
def aviso_retirar(request: Peticion, codigo: str, clave: str) -> HttpResponse:
    proveedor = get_object_or_404(Proveedor, codigo=codigo)
    hallado = lectura.uno(codigo, clave)
    if request.method == "POST":
        try:
            servicios.retirar(proveedor=proveedor, clave=clave, por=request.user)
        except ErrorDeCompras as error:
            messages.error(request, str(error))
        else:
            messages.success(request, _("El aviso está retirado. Los agentes ya no lo leen."))
        return redirect("compras:avisos")
    if hallado is None:
        raise Http404
    return render(
        request,
        "compras/aviso_retirar.html",
        {"title": _("Retirar un aviso"), "aviso": hallado, "nombre": proveedor.nombre},
    )
