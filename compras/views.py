"""The purchasing pages: they read the mirror of the store and change it only by :mod:`compras.avisos`."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from compras import avisos as servicios
from compras import lectura
from compras.errores import AvisoCambiado, ClaveRepetida, ErrorDeCompras
from compras.forms import (
    FormularioBusqueda,
    FormularioCorreccion,
    FormularioFiltros,
    FormularioNuevo,
)
from compras.lectura import Aviso
from compras.models import Proveedor
from memoria.explorador.acceso import Peticion, con_permiso
from memoria.explorador.palabras import caduca_en

PROVEEDORES_POR_PAGINA = 50


@require_http_methods(["GET", "HEAD", "POST"])
@con_permiso(servicios.VER)
def avisos(request: Peticion) -> HttpResponse:
    """The list of notices; sent by POST, a search among those of one supplier."""
    nombres = Proveedor.objects.nombres()
    if request.method == "POST":
        return _buscar(request, nombres)
    # Told apart from an empty query string: the first visit shows what is in force.
    filtros = FormularioFiltros({"estado": "vigente", **request.GET.dict()}, proveedores=nombres)
    pedidos = filtros.filtros()
    try:
        pagina = lectura.pagina(pedidos, despues=request.GET.get("despues"))
    except lectura.MarcaNoValida:
        raise Http404 from None
    sin_marca = {c: request.GET.get(c, "") for c in filtros.fields if c in request.GET}
    return render(
        request,
        "compras/avisos.html",
        {
            "title": _("Avisos de proveedores"),
            "filtros": filtros,
            "busqueda": FormularioBusqueda(
                initial={"proveedor": pedidos.proveedor}, proveedores=nombres, auto_id="buscar_%s"
            ),
            "filas": _con_nombre(pagina.avisos, nombres),
            "primera": f"?{urlencode(sin_marca)}" if "despues" in request.GET else None,
            "siguiente": pagina.siguiente and f"?{urlencode({**sin_marca, 'despues': pagina.siguiente})}",
        },
    )


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


@require_safe
@con_permiso(servicios.VER)
def aviso(request: Peticion, codigo: str, clave: str) -> HttpResponse:
    hallado = lectura.uno(codigo, clave)
    if hallado is None:
        raise Http404
    proveedor = Proveedor.objects.filter(codigo=codigo).first()
    nombre = proveedor.nombre if proveedor else codigo
    return render(
        request,
        "compras/aviso.html",
        {
            "title": hallado.asunto or _("Aviso de %(proveedor)s") % {"proveedor": nombre},
            "aviso": hallado,
            "nombre": nombre,
            "registrado": proveedor is not None,
            "autor": lectura.nombre_del_autor(hallado),
            "caduca_en": caduca_en(hallado.caduca, timezone.now()),
            "puede_escribir": request.user.has_perm(servicios.ESCRIBIR),
        },
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


@require_safe
@con_permiso("compras.view_proveedor")
def proveedores(request: Peticion) -> HttpResponse:
    """The suppliers by code, with how many notices in force each has."""
    consulta = Proveedor.objects.order_by("codigo")
    despues = request.GET.get("despues", "").replace("\x00", "")
    filas = list(consulta.filter(codigo__gt=despues)[: PROVEEDORES_POR_PAGINA + 1])
    hay_mas = len(filas) > PROVEEDORES_POR_PAGINA
    filas = filas[:PROVEEDORES_POR_PAGINA]
    recuento = lectura.vigentes_por_proveedor(p.codigo for p in filas)
    return render(
        request,
        "compras/proveedores.html",
        {
            "title": _("Proveedores"),
            "filas": [{"proveedor": p, "avisos": recuento[p.codigo]} for p in filas],
            "primera": "?" if despues else None,
            "siguiente": f"?{urlencode({'despues': filas[-1].codigo})}" if hay_mas else None,
            "puede_ver_avisos": request.user.has_perm(servicios.VER),
        },
    )


def _buscar(request: Peticion, nombres: dict[str, str]) -> HttpResponse:
    """Answer a search in the page itself, so that what was asked is in no URL."""
    busqueda = FormularioBusqueda(request.POST, proveedores=nombres, auto_id="buscar_%s")
    contexto: dict[str, Any] = {}
    if busqueda.is_valid():
        proveedor = get_object_or_404(Proveedor, codigo=busqueda.cleaned_data["proveedor"])
        try:
            hallazgos = servicios.buscar(
                proveedor=proveedor, consulta=busqueda.cleaned_data["consulta"], por=request.user
            )
        except ErrorDeCompras as error:
            busqueda.add_error(None, str(error))
        else:
            contexto = {
                "filas": _con_nombre(hallazgos.avisos, nombres),
                "sin_significado": not hallazgos.por_significado,
                "nombre": proveedor.nombre,
            }
    return render(
        request,
        "compras/avisos_hallados.html",
        {"title": _("Buscar avisos"), "busqueda": busqueda, **contexto},
        status=422 if busqueda.errors else 200,
    )


def _estado(request: Peticion) -> int:
    """Of a page with a form: what was sent and is shown again was not saved."""
    return 422 if request.method == "POST" else 200


def _con_nombre(avisos: list[Aviso], nombres: dict[str, str]) -> list[dict[str, Any]]:
    return [{"aviso": a, "nombre": nombres.get(a.proveedor_id or "", a.proveedor_id or "–")} for a in avisos]
