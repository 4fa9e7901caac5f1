"""Finding notices: the list, the search, and the page of one."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from compras import lectura, servicios
from compras.errores import ErrorDeCompras
from compras.filtros import FormularioBusqueda, FormularioFiltros
from compras.lectura import Aviso
from compras.models import Proveedor
from memoria.explorador.acceso import Peticion, con_permiso
from memoria.explorador.palabras import caduca_en


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


def _con_nombre(avisos: list[Aviso], nombres: dict[str, str]) -> list[dict[str, Any]]:
    return [{"aviso": a, "nombre": nombres.get(a.proveedor_id or "", a.proveedor_id or "–")} for a in avisos]
