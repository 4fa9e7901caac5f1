"""Writing and correcting a notice: nothing that was typed is lost."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from compras import lectura, servicios
from compras.errores import AvisoCambiado, ClaveRepetida, ErrorDeCompras
from compras.forms import FormularioCorreccion, FormularioNuevo
from compras.models import Proveedor
from memoria.explorador.acceso import Peticion, con_permiso


@require_http_methods(["GET", "HEAD", "POST"])
@con_permiso(servicios.ESCRIBIR)
def aviso_nuevo(request: Peticion) -> HttpResponse:
    formulario = (
        FormularioNuevo(request.POST)
        if request.method == "POST"
        else FormularioNuevo(initial={"proveedor": request.GET.get("proveedor", "")})
    )
    if formulario.is_bound and formulario.is_valid():
        proveedor, clave = formulario.cleaned_data["proveedor"], formulario.cleaned_data["clave"]
        try:
            servicios.escribir(proveedor=proveedor, clave=clave, por=request.user, **formulario.contenido)
        except ClaveRepetida as error:
            guardado = lectura.uno(proveedor.codigo, clave)
            if guardado and not guardado.danos and formulario.dice_lo_mismo_que(guardado):
                messages.info(request, str(error))
                return redirect("compras:aviso", proveedor.codigo, clave)
            messages.warning(
                request,
                _(
                    "El aviso anterior ya se había guardado y este dice otra cosa. Para guardarlo como un "
                    "aviso más, pulse de nuevo «Guardar el aviso»."
                ),
            )
            formulario = formulario.con_otra_clave()
        except ErrorDeCompras as error:
            formulario.add_error(None, str(error))
        else:
            messages.success(request, _("El aviso está guardado. Los agentes ya lo leen."))
            return redirect("compras:aviso", proveedor.codigo, clave)
    return render(
        request,
        "compras/aviso_nuevo.html",
        {"title": _("Escribir un aviso"), "formulario": formulario},
        status=_estado(request),
    )


@require_http_methods(["GET", "HEAD", "POST"])
@con_permiso(servicios.ESCRIBIR)
def aviso_corregir(request: Peticion, codigo: str, clave: str) -> HttpResponse:
    proveedor = get_object_or_404(Proveedor, codigo=codigo)
    actual = lectura.uno(codigo, clave)
    if request.method == "POST":
        # Also when the notice went away meanwhile: what was being typed is not lost.
        formulario = FormularioCorreccion(request.POST)
    elif actual is None:
        raise Http404
    elif no_se_puede := servicios.motivo_de_no_corregir(actual):
        messages.warning(request, str(no_se_puede))
        return redirect("compras:aviso", codigo, clave)
    else:
        formulario = FormularioCorreccion.de(actual)
    if formulario.is_bound and formulario.is_valid():
        try:
            servicios.corregir(
                proveedor=proveedor,
                clave=clave,
                version=formulario.cleaned_data["version"],
                por=request.user,
                **formulario.contenido,
            )
        except AvisoCambiado as error:
            messages.warning(request, str(error))
            actual = lectura.uno(codigo, clave)
            formulario = formulario.sobre(actual)
        except ErrorDeCompras as error:
            formulario.add_error(None, str(error))
        else:
            messages.success(request, _("El aviso está corregido. Caduca el mismo día que antes."))
            return redirect("compras:aviso", codigo, clave)
    return render(
        request,
        "compras/aviso_corregir.html",
        {
            "title": _("Corregir un aviso"),
            "formulario": formulario,
            "aviso": actual,
            "codigo": codigo,
            "clave": clave,
            "nombre": proveedor.nombre,
            # An unsent form that holds what was sent: see FormularioCorreccion.sobre.
            "cambiado": request.method == "POST" and not formulario.is_bound,
        },
        status=_estado(request),
    )


def _estado(request: Peticion) -> int:
    """Of a page with a form: what was sent and is shown again was not saved."""
    return 422 if request.method == "POST" else 200
