"""Writing and correcting a notice: nothing that was typed is lost."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from compras import lectura, servicios
from compras.errores import AvisoCambiado, ClaveRepetida, ErrorDeCompras
from compras.forms import FormularioCorreccion, FormularioNuevo
from compras.lectura import Aviso
from compras.models import Proveedor
from compras.sugerencias import sugerir
from memoria.explorador.acceso import Peticion, con_permiso
from memoria.explorador.formulario import estado, guardado


@require_http_methods(["GET", "HEAD", "POST"])
@con_permiso(servicios.ESCRIBIR)
def aviso_nuevo(request: Peticion) -> HttpResponse:
    iguales: list[Aviso] = []
    if request.method == "POST":
        formulario = FormularioNuevo(request.POST)
    else:
        formulario = FormularioNuevo(initial={"proveedor": _pedido(request)})
    if formulario.is_bound and formulario.is_valid():
        proveedor, clave = formulario.cleaned_data["proveedor"], formulario.cleaned_data["clave"]
        iguales = _iguales_sin_ver(request, formulario)
        if not iguales:
            try:
                servicios.escribir(
                    proveedor=proveedor,
                    clave=clave,
                    por=request.user,
                    admitidos=formulario.admitidos,
                    **formulario.contenido,
                )
            except ClaveRepetida as error:
                anterior = lectura.uno(proveedor.codigo, clave)
                if anterior and not anterior.danos and formulario.dice_lo_mismo_que(anterior):
                    messages.info(request, str(error), extra_tags=guardado(request))
                    return redirect("compras:aviso", proveedor.codigo, clave)
                messages.warning(
                    request,
                    _(
                        "El aviso anterior ya se había guardado y este dice otra cosa. Para guardarlo como "
                        "un aviso más, pulse de nuevo «Guardar el aviso»."
                    ),
                )
                formulario = formulario.con_otra_clave()
            except ErrorDeCompras as error:
                formulario.add_error(None, str(error))
            else:
                messages.success(
                    request,
                    _("El aviso está guardado. Los agentes ya lo leen."),
                    extra_tags=guardado(request),
                )
                return redirect("compras:aviso", proveedor.codigo, clave)
    return render(
        request,
        "compras/aviso_nuevo.html",
        {
            "title": _("Escribir un aviso"),
            "formulario": formulario if iguales else formulario.con_foco(),
            "sugeridos": sugerir(""),
            "iguales": iguales,
            "enviado": request.method == "POST",
        },
        status=estado(request),
    )


@require_http_methods(["GET", "HEAD", "POST"])
@con_permiso(servicios.ESCRIBIR)
def aviso_corregir(request: Peticion, codigo: str, clave: str) -> HttpResponse:
    proveedor = get_object_or_404(Proveedor, codigo=codigo)
    actual = lectura.uno(codigo, clave)
    cambiado: dict[str, Any] = {}
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
                admitidos=formulario.admitidos,
                **formulario.contenido,
            )
        except AvisoCambiado as error:
            messages.warning(request, str(error))
            actual = lectura.uno(codigo, clave)
            if actual:
                cambiado = {
                    "cambiado": True,
                    "quien_cambio": servicios.quien_cambio(proveedor, clave),
                    "cuando_cambio": actual.version,
                }
                formulario = formulario.sobre(actual)
        except ErrorDeCompras as error:
            formulario.add_error(None, str(error))
        else:
            messages.success(
                request,
                _("El aviso está corregido. Caduca el mismo día que antes."),
                extra_tags=guardado(request),
            )
            return redirect("compras:aviso", codigo, clave)
    return render(
        request,
        "compras/aviso_corregir.html",
        {
            "title": _("Corregir un aviso"),
            "formulario": formulario.con_foco(),
            "aviso": actual,
            "codigo": codigo,
            "clave": clave,
            "nombre": proveedor.nombre,
            "enviado": request.method == "POST",
            **cambiado,
        },
        status=estado(request),
    )


def _pedido(request: Peticion) -> Proveedor | None:
    """The supplier whose page the person came from."""
    codigo = request.GET.get("proveedor", "").replace("\x00", "")
    return Proveedor.objects.activos().filter(codigo=codigo).first() if codigo else None


def _iguales_sin_ver(request: Peticion, formulario: FormularioNuevo) -> list[Aviso]:
    """The notices that practically say the same, unless the person has been shown exactly those.

    A search that does not answer keeps nobody from writing.
    """
    try:
        iguales = servicios.casi_iguales(
            proveedor=formulario.cleaned_data["proveedor"],
            texto=formulario.documento["texto"],
            clave=formulario.cleaned_data["clave"],
            por=request.user,
        )
    except ErrorDeCompras:
        return []
    vistas = set(request.POST.getlist("iguales_vistos"))
    return [] if {a.clave for a in iguales} <= vistas else iguales
