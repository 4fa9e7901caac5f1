"""Finding notices: the list, the search, and the page of one."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from compras import lectura, listado, servicios
from compras.errores import ErrorDeCompras
from compras.exportacion import exportar
from compras.filtros import FormularioBusqueda, FormularioFiltros, escrito
from compras.lectura import Aviso
from compras.models import Proveedor, Retirada
from memoria.explorador.acceso import Peticion, con_permiso
from memoria.explorador.palabras import caduca_en


@require_http_methods(["GET", "HEAD", "POST"])
@con_permiso(servicios.VER)
def avisos(request: Peticion) -> HttpResponse:
    """The list of notices. Sent by POST, a search of one supplier's, or filters, which become a URL."""
    if "consulta" in request.POST:
        return _buscar(request)
    filtros = formulario_de(request)
    pedidos = filtros.filtros()
    if request.method == "POST" and not filtros.errors:
        # By code: what is typed in the field may be the name of a person.
        return redirect(f"{reverse('compras:avisos')}?{urlencode(filtros.en_la_url())}")
    marcas = {c: request.GET[c] for c in ("despues", "antes") if c in request.GET}
    try:
        pagina = listado.pagina(pedidos, **marcas)
    except listado.MarcaNoValida:
        raise Http404 from None
    en_la_url = filtros.en_la_url()

    def enlace(**marca: str) -> str:
        return f"?{urlencode({**en_la_url, **marca})}"

    return render(
        request,
        "compras/avisos.html",
        {
            "title": _("Avisos de proveedores"),
            "filtros": filtros,
            "busqueda": FormularioBusqueda(
                initial={"proveedor": filtros.cleaned_data.get("proveedor")}, auto_id="buscar_%s"
            ),
            "filas": _con_nombre(pagina.avisos),
            "proveedor": pedidos.proveedor,
            "filtrado": en_la_url != {"estado": "vigente"},
            "descarga": enlace(),
            "primera": enlace() if marcas else None,
            "anterior": pagina.anterior and enlace(antes=pagina.anterior),
            "siguiente": pagina.siguiente and enlace(despues=pagina.siguiente),
        },
        status=422 if request.method == "POST" else 200,
    )


def formulario_de(request: Peticion) -> FormularioFiltros:
    """The filters that were sent, or those in the URL; the first visit shows what is in force."""
    pedidos = request.POST.dict() if request.method == "POST" else escrito(request.GET)
    return FormularioFiltros({"estado": "vigente", **pedidos}, por=request.user)


@require_safe
@con_permiso(servicios.VER)
def aviso(request: Peticion, codigo: str, clave: str) -> HttpResponse:
    hallado = lectura.uno(codigo, clave)
    proveedor = Proveedor.objects.select_related("fusionado_en").filter(codigo=codigo).first()
    if hallado is None:
        # The address of a notice that was moved when its supplier's two codes became one goes on working.
        nuevo = proveedor and servicios.tras_la_fusion(proveedor, clave)
        if not nuevo:
            return _retirado(request, codigo, clave)
        return redirect("compras:aviso", *nuevo)
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


def _retirado(request: Peticion, codigo: str, clave: str) -> HttpResponse:
    """The address of a notice that was withdrawn lately says so, and leads whoever may put it back there."""
    if not Retirada.objects.reponibles().filter(proveedor__codigo=codigo, clave=clave).exists():
        raise Http404
    if not request.user.has_perm(servicios.ESCRIBIR):
        messages.info(request, _("Ese aviso se retiró: los agentes ya no lo leen."))
        return redirect("compras:avisos")
    messages.info(
        request, _("Ese aviso se retiró: los agentes ya no lo leen. Si hace falta, repóngalo aquí.")
    )
    return redirect(f"{reverse('compras:retirados')}?{urlencode({'proveedor': codigo})}")


def _buscar(request: Peticion) -> HttpResponse:
    """Answer a search in the page itself, so that what was asked is in no URL."""
    busqueda = FormularioBusqueda(request.POST, auto_id="buscar_%s")
    contexto: dict[str, Any] = {}
    if busqueda.is_valid():
        datos = busqueda.cleaned_data
        try:
            hallazgos = servicios.buscar(por=request.user, **datos)
        except ErrorDeCompras as error:
            busqueda.add_error(None, str(error))
        else:
            contexto = {
                "hallados": hallazgos.hallados,
                "sin_significado": not hallazgos.por_significado,
                "proveedor": datos["proveedor"],
                "acotada": any(datos[c] for c in ("desde", "hasta", "importancia")),
            }
    return render(
        request,
        "compras/avisos_hallados.html",
        {"title": _("Buscar avisos"), "busqueda": busqueda, **contexto},
        status=422 if busqueda.errors else 200,
    )


def _con_nombre(avisos: list[Aviso]) -> list[dict[str, Any]]:
    nombres = Proveedor.objects.nombres_de({a.proveedor_id for a in avisos if a.proveedor_id})
    return [{"aviso": a, "nombre": nombres.get(a.proveedor_id or "", a.proveedor_id or "–")} for a in avisos]


@require_safe
@con_permiso(servicios.VER)
def descargar(request: Peticion) -> HttpResponse:
    """The notices of the filters in the URL, as a file. A filter that cannot be is refused, not ignored: what
    is in a file no longer says what it left out."""
    filtros = formulario_de(request)
    pedidos = filtros.filtros()
    if filtros.errors:
        return redirect(f"{reverse('compras:avisos')}?{request.GET.urlencode()}")
    nombre = f"avisos-{timezone.localdate().isoformat()}.csv"
    return StreamingHttpResponse(  # type: ignore[return-value]  # the door knows HttpResponse; it passes both
        exportar(filtros=pedidos, por=request.user) if request.method == "GET" else (),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{nombre}"'},
    )
