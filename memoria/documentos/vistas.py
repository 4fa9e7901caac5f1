"""The pages of documents: they read in a space and change it only by :mod:`memoria.documentos.servicios`."""

from __future__ import annotations

from typing import Any, TypeVar

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import escape
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memoria.documentos import lectura, servicios
from memoria.documentos.acceso import espacios_visibles, puede_escribir
from memoria.documentos.diferencias import diferencias
from memoria.documentos.errores import DocumentoCambiado, ErrorDeDocumentos
from memoria.documentos.forms import FormularioBorrado, FormularioBusqueda, FormularioCambio, FormularioNuevo
from memoria.documentos.models import LARGO_MAXIMO_TEXTO, Pagina, Version
from memoria.documentos.palabras import AGENTES, NOMBRES
from memoria.documentos.papelera import DIAS_EN_LA_PAPELERA
from memoria.documentos.puerta import del_espacio
from memoria.documentos.render import a_html
from memoria.explorador.acceso import Peticion
from memoria.explorador.formulario import estado, guardado
from memoria.identificadores_form import NOMBRES as NOMBRES_DE_DATOS

F = TypeVar("F", Pagina, Version)


@login_required
@require_safe
def inicio(request: HttpRequest) -> HttpResponse:
    """To the first space the person sees."""
    visibles = espacios_visibles(request.user)
    if not visibles:
        raise PermissionDenied
    return redirect("documentos:lista", visibles[0])


@require_http_methods(["GET", "HEAD", "POST"])
@del_espacio()
def lista(request: Peticion, espacio: str) -> HttpResponse:
    """The documents of a space; sent by POST, a search among them."""
    contexto: dict[str, Any] = {"title": _("Documentos de %(espacio)s") % {"espacio": NOMBRES[espacio]}}
    if request.method == "POST":
        busqueda = FormularioBusqueda(request.POST)
        if busqueda.is_valid():
            hallazgos, por_significado = lectura.buscar(espacio, busqueda.cleaned_data["consulta"])
            contexto |= {"buscado": True, "hallazgos": hallazgos, "sin_significado": not por_significado}
        codigo = 422 if busqueda.errors else 200
        plantilla = "documentos/hallados.html"
    else:
        busqueda, codigo, plantilla = FormularioBusqueda(), 200, "documentos/lista.html"
        borradas = "borrados" in request.GET
        filtro: dict[str, str | int] = {"borrados": ""} if borradas else {}
        pagina = lectura.lista(espacio, despues=_numero(request.GET.get("despues", "")), borradas=borradas)
        contexto |= {
            "filas": _con_autor(pagina.paginas),
            "borradas": borradas,
            "dias_en_la_papelera": DIAS_EN_LA_PAPELERA,
            "primera": f"?{urlencode(filtro)}" if "despues" in request.GET else None,
            "siguiente": pagina.siguiente and f"?{urlencode({**filtro, 'despues': pagina.siguiente})}",
        }
    return _pagina(request, plantilla, espacio, busqueda=busqueda, status=codigo, **contexto)


@require_http_methods(["GET", "HEAD", "POST"])
@del_espacio(escribir=True)
def nuevo(request: Peticion, espacio: str) -> HttpResponse:
    formulario = FormularioNuevo(request.POST) if request.method == "POST" else FormularioNuevo()
    if formulario.is_bound and formulario.is_valid():
        try:
            pagina = servicios.crear(
                espacio=espacio,
                ruta=formulario.cleaned_data["ruta"],
                por=request.user,
                admitidos=formulario.admitidos,
                **formulario.contenido,
            )
        except ErrorDeDocumentos as error:
            formulario.add_error("ruta", str(error))
        else:
            messages.success(
                request,
                _("El documento está guardado. Los agentes ya lo encuentran."),
                extra_tags=guardado(request),
            )
            return redirect("documentos:documento", espacio, pagina.pk)
    return _pagina(
        request,
        "documentos/nuevo.html",
        espacio,
        title=_("Escribir un documento"),
        formulario=formulario,
        enviado=request.method == "POST",
        status=estado(request),
    )


@require_POST
@del_espacio(escribir=True, sin_pagina=True)
def vista_previa(request: Peticion, espacio: str) -> HttpResponse:
    """How what is being typed will look: a piece of a page, for htmx. Nothing is kept."""
    texto = request.POST.get("texto", "")[:LARGO_MAXIMO_TEXTO].replace("\x00", "")
    return render(
        request, "documentos/_previa.html", {"html": _html(espacio, request.POST.get("ruta", ""), texto)}
    )


@require_safe
@del_espacio()
def documento(request: Peticion, espacio: str, pagina_id: int) -> HttpResponse:
    pagina = lectura.una(espacio, pagina_id)
    return _pagina(
        request,
        "documentos/documento.html",
        espacio,
        title=pagina.titulo,
        pagina=pagina,
        html=_html(espacio, pagina.ruta, _sin_titulo(pagina)),
        autor=_con_autor([pagina])[0][1],
    )


@require_http_methods(["GET", "HEAD", "POST"])
@del_espacio(escribir=True)
def editar(request: Peticion, espacio: str, pagina_id: int) -> HttpResponse:
    pagina = lectura.una(espacio, pagina_id)
    formulario = FormularioCambio(request.POST) if request.method == "POST" else FormularioCambio.de(pagina)
    cambiado: dict[str, Any] = {}
    if formulario.is_bound and formulario.is_valid():
        try:
            servicios.cambiar(
                espacio=espacio,
                pagina_id=pagina_id,
                version=formulario.cleaned_data["version"],
                por=request.user,
                admitidos=formulario.admitidos,
                **formulario.contenido,
            )
        except DocumentoCambiado as error:
            messages.warning(request, str(error))
            pagina = lectura.una(espacio, pagina_id)
            suyo = formulario.contenido["texto"].replace("\r\n", "\n")
            cambiado = {
                "cambiado": True,
                "diferencias": diferencias(pagina.texto, suyo),
                "quien_cambio": _con_autor([pagina])[0][1],
                "cuando_cambio": pagina.actualizada,
            }
            formulario = formulario.sobre(pagina)
        except ErrorDeDocumentos as error:
            formulario.add_error(None, str(error))
        else:
            messages.success(
                request,
                _("El cambio está guardado. Lo que había antes sigue en la historia."),
                extra_tags=guardado(request),
            )
            return redirect("documentos:documento", espacio, pagina_id)
    elif pagina.borrada and request.method != "POST":
        return redirect("documentos:documento", espacio, pagina_id)
    return _pagina(
        request,
        "documentos/editar.html",
        espacio,
        title=_("Cambiar un documento"),
        formulario=formulario,
        pagina=pagina,
        enviado=request.method == "POST",
        status=estado(request),
        **cambiado,
    )


@require_http_methods(["GET", "HEAD", "POST"])
@del_espacio(escribir=True)
def borrar(request: Peticion, espacio: str, pagina_id: int) -> HttpResponse:
    pagina = lectura.una(espacio, pagina_id)
    if pagina.borrada:
        return redirect("documentos:documento", espacio, pagina_id)
    formulario = (
        FormularioBorrado(request.POST)
        if request.method == "POST"
        else FormularioBorrado(initial={"version": pagina.version})
    )
    if formulario.is_bound and formulario.is_valid():
        try:
            servicios.borrar(
                espacio=espacio, pagina_id=pagina_id, por=request.user, **formulario.cleaned_data
            )
        except ErrorDeDocumentos as error:
            messages.warning(request, str(error))
            return redirect("documentos:documento", espacio, pagina_id)
        messages.success(
            request,
            _(
                "El documento está borrado: los agentes ya no lo encuentran. Se puede recuperar durante "
                "%(n)s días."
            )
            % {"n": DIAS_EN_LA_PAPELERA},
        )
        return redirect("documentos:lista", espacio)
    return _pagina(
        request,
        "documentos/borrar.html",
        espacio,
        title=_("Borrar un documento"),
        formulario=formulario,
        pagina=pagina,
        dias_en_la_papelera=DIAS_EN_LA_PAPELERA,
        status=estado(request),
    )


@require_POST
@del_espacio(escribir=True, sin_pagina=True)
def recuperar(request: Peticion, espacio: str, pagina_id: int) -> HttpResponse:
    lectura.una(espacio, pagina_id)
    try:
        servicios.recuperar(espacio=espacio, pagina_id=pagina_id, por=request.user)
    except ErrorDeDocumentos as error:
        messages.warning(request, str(error))
    else:
        messages.success(request, _("El documento está recuperado. Los agentes ya lo encuentran."))
    return redirect("documentos:documento", espacio, pagina_id)


@require_safe
@del_espacio()
def historia(request: Peticion, espacio: str, pagina_id: int) -> HttpResponse:
    pagina = lectura.una(espacio, pagina_id)
    versiones = lectura.historia(espacio, pagina_id)
    return _pagina(
        request,
        "documentos/historia.html",
        espacio,
        title=_("Historia del documento"),
        pagina=pagina,
        filas=_con_autor(versiones),
        faltan=pagina.version - len(versiones),
    )


@require_safe
@del_espacio()
def version(request: Peticion, espacio: str, pagina_id: int, numero: int) -> HttpResponse:
    """One version: what it changed, how it looked, and going back to it."""
    pagina = lectura.una(espacio, pagina_id)
    esta = lectura.version(espacio, pagina_id, numero)
    if esta is None:
        raise Http404
    antes = lectura.anterior(espacio, pagina_id, numero)
    return _pagina(
        request,
        "documentos/version.html",
        espacio,
        title=_("Versión %(numero)s") % {"numero": numero},
        pagina=pagina,
        version=esta,
        antes=antes,
        diferencias=diferencias(antes.texto, esta.texto) if antes else [],
        admitidos=[NOMBRES_DE_DATOS.get(c, c) for c in esta.admitidos.get("identificadores", ())],
        html=_html(espacio, pagina.ruta, esta.texto),
        autor=_con_autor([esta])[0][1],
    )


@require_POST
@del_espacio(escribir=True, sin_pagina=True)
def volver(request: Peticion, espacio: str, pagina_id: int, numero: int) -> HttpResponse:
    pagina = lectura.una(espacio, pagina_id)
    try:
        servicios.volver(
            espacio=espacio,
            pagina_id=pagina_id,
            numero=numero,
            version=_numero(request.POST.get("version", "")) or 0,
            por=request.user,
        )
    except ErrorDeDocumentos as error:
        messages.warning(request, str(error))
    else:
        messages.success(
            request,
            _("El documento vuelve a decir lo que decía la versión %(numero)s.") % {"numero": numero},
        )
    return redirect("documentos:documento", espacio, pagina.pk)


# -- pieces ---------------------------------------------------------------------------------------


def _pagina(
    request: Peticion, plantilla: str, espacio: str, *, status: int = 200, **contexto: Any
) -> HttpResponse:
    comun = {
        "espacio": espacio,
        "nombre": NOMBRES[espacio],
        "quien_lee": AGENTES[espacio],
        "espacios": [(e, NOMBRES[e]) for e in espacios_visibles(request.user)],
        "puede_escribir": puede_escribir(request.user, espacio),
    }
    return render(request, plantilla, {**comun, **contexto}, status=status)


def _con_autor(filas: list[F]) -> list[tuple[F, str]]:
    """Each with the name of who wrote it."""
    nombres = lectura.nombres(f.autor_id for f in filas)
    return [(f, _autor(f.autor_id, nombres)) for f in filas]


def _autor(autor_id: int | None, nombres: dict[int, str]) -> str:
    if autor_id is None:
        return _("la carpeta sincronizada")
    return nombres.get(autor_id) or _("alguien que ya no usa esta aplicación")


def _html(espacio: str, ruta: str, texto: str) -> SafeString:
    def enlazar(rutas: set[str]) -> dict[str, str]:
        paginas = lectura.por_ruta(espacio, rutas)
        return {r: escape(reverse("documentos:documento", args=[espacio, pk])) for r, pk in paginas.items()}

    return a_html(texto, desde=ruta, enlazar=enlazar)


def _sin_titulo(pagina: Pagina) -> str:
    """The text without a first heading that only repeats the title: the page has it already."""
    primera, _salto, resto = pagina.texto.partition("\n")
    return resto if primera.strip() == f"# {pagina.titulo}" else pagina.texto


def _numero(enviado: str) -> int | None:
    """What was sent, when it is a number that a table can hold."""
    return int(enviado) if enviado.isascii() and enviado.isdigit() and len(enviado) < 19 else None
