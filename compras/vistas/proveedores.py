"""The suppliers: the list and its search, the page of one, adding, changing, and joining two codes."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from compras import lectura, servicios
from compras.errores import ErrorDeCompras, ProveedorNoValido
from compras.forms_proveedores import FormularioBuscarProveedor, FormularioProveedor, FormularioUnir
from compras.models import Proveedor
from memoria.explorador.acceso import Peticion, con_permiso
from memoria.explorador.formulario import estado, guardado

PROVEEDORES_POR_PAGINA = 50


@require_http_methods(["GET", "HEAD", "POST"])
@con_permiso("compras.view_proveedor")
def proveedores(request: Peticion) -> HttpResponse:
    """The suppliers by code, with how many notices in force each has. Sent by POST, a search among them.

    The search is not in the URL: the name of a self-employed supplier is a person's.
    """
    buscador = FormularioBuscarProveedor(request.POST or None)
    buscado = buscador.cleaned_data["buscado"] if buscador.is_bound and buscador.is_valid() else ""
    consulta = Proveedor.objects.select_related("fusionado_en").order_by("codigo")
    despues = request.GET.get("despues", "").replace("\x00", "")
    if buscado:
        consulta = consulta.parecidos(buscado)
    elif despues:
        consulta = consulta.filter(codigo__gt=despues)
    filas = list(consulta[: PROVEEDORES_POR_PAGINA + 1])
    hay_mas = len(filas) > PROVEEDORES_POR_PAGINA
    filas = filas[:PROVEEDORES_POR_PAGINA]
    recuento = lectura.vigentes_por_proveedor(p.codigo for p in filas)
    return render(
        request,
        "compras/proveedores.html",
        {
            "title": _("Proveedores"),
            "buscador": buscador,
            "buscado": buscado,
            "filas": [{"proveedor": p, "avisos": recuento[p.codigo]} for p in filas],
            "sobran": bool(buscado) and hay_mas,
            "primera": "?" if despues or buscado else None,
            "siguiente": f"?{urlencode({'despues': filas[-1].codigo})}" if hay_mas and not buscado else None,
            "puede_ver_avisos": request.user.has_perm(servicios.VER),
        },
        status=422 if buscador.errors else 200,
    )


@require_http_methods(["GET", "HEAD", "POST"])
@con_permiso(servicios.ANADIR)
def nuevo(request: Peticion) -> HttpResponse:
    formulario = FormularioProveedor(request.POST or None)
    if formulario.is_bound and formulario.is_valid():
        try:
            proveedor = servicios.crear_proveedor(por=request.user, **formulario.cleaned_data)
        except ProveedorNoValido as error:
            formulario.add_error(error.campo, str(error))
        else:
            messages.success(request, _("El proveedor está en la lista."), extra_tags=guardado(request))
            return redirect("compras:proveedor", proveedor.codigo)
    return render(
        request,
        "compras/proveedor_nuevo.html",
        {
            "title": _("Añadir un proveedor"),
            "formulario": formulario,
            "enviado": request.method == "POST",
        },
        status=estado(request),
    )


@require_http_methods(["GET", "HEAD", "POST"])
@con_permiso("compras.view_proveedor")
def proveedor(request: Peticion, codigo: str) -> HttpResponse:
    """One supplier; with the permission to change them, also the form."""
    hallado = get_object_or_404(Proveedor.objects.select_related("fusionado_en"), codigo=codigo)
    puede_cambiar = request.user.has_perm(servicios.CAMBIAR)
    formulario = None
    if request.method == "POST" and not puede_cambiar:
        raise PermissionDenied
    if puede_cambiar:
        datos = request.POST if request.method == "POST" else None
        formulario = FormularioProveedor.de(hallado, datos)
        if formulario.is_bound and formulario.is_valid():
            try:
                servicios.cambiar_proveedor(
                    proveedor=hallado,
                    nombre=formulario.cleaned_data["nombre"],
                    activo=formulario.cleaned_data["activo"],
                    por=request.user,
                )
            except ProveedorNoValido as error:
                formulario.add_error(error.campo, str(error))
            else:
                messages.success(request, _("El proveedor está cambiado."), extra_tags=guardado(request))
                return redirect("compras:proveedor", codigo)
    return render(
        request,
        "compras/proveedor.html",
        {
            "title": hallado.nombre,
            "proveedor": hallado,
            "formulario": formulario,
            "enviado": request.method == "POST",
            "avisos": lectura.vigentes_por_proveedor([codigo])[codigo],
            "fusionados": list(hallado.fusionados.order_by("codigo")),
            "puede_ver_avisos": request.user.has_perm(servicios.VER),
            "puede_unir": puede_cambiar and request.user.has_perm(servicios.ESCRIBIR),
        },
        status=estado(request),
    )


@require_http_methods(["GET", "HEAD", "POST"])
@con_permiso(servicios.CAMBIAR)
def unir(request: Peticion, codigo: str) -> HttpResponse:
    """Join this supplier's code to another: asked first, with how many notices move; then done."""
    if not request.user.has_perm(servicios.ESCRIBIR):
        raise PermissionDenied
    origen = get_object_or_404(Proveedor, codigo=codigo)
    formulario = FormularioUnir(request.POST or None)
    destino: Proveedor | None = None
    if formulario.is_bound and formulario.is_valid():
        destino = formulario.cleaned_data["proveedor"]
        if request.POST.get("confirmado") == destino.codigo:
            try:
                hecho = servicios.fusionar(origen=origen, destino=destino, por=request.user)
            except ErrorDeCompras as error:
                formulario.add_error(None, str(error))
            else:
                messages.success(
                    request,
                    ngettext(
                        "Los dos códigos son ya un proveedor. Se ha movido %(n)s aviso.",
                        "Los dos códigos son ya un proveedor. Se han movido %(n)s avisos.",
                        hecho.movidos,
                    )
                    % {"n": hecho.movidos},
                )
                return redirect("compras:proveedor", destino.codigo)
        elif origen == destino:
            formulario.add_error("proveedor", _("Elija otro: es el mismo proveedor."))
        elif motivo := servicios.motivo_de_no_fusionar(origen, destino):
            formulario.add_error(None, str(motivo))
    return render(
        request,
        "compras/proveedor_unir.html",
        {
            "title": _("Unir a otro código"),
            "proveedor": origen,
            "formulario": formulario,
            "destino": destino if not formulario.errors else None,
            "avisos": lectura.todos_de(codigo),
        },
        status=422 if formulario.errors else 200,
    )
