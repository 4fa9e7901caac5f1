"""Importing a file of notices in two steps: what would happen, then doing it.

The file is kept nowhere between the two: the page of the first step carries it, compressed and signed, to the
second (``docs/decisiones/0007-importar.md``).
"""

from __future__ import annotations

import base64
import binascii
import io
import zlib
from typing import Any

from django.core import signing
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from compras import servicios
from compras.errores import ErrorDeCompras
from compras.forms import FormularioImportar
from compras.hoja import FicheroNoValido
from compras.importacion import Importacion, importar
from compras.servicios.entrada import MAXIMO_DE_BYTES, MAXIMO_DE_LINEAS, importar_en_pantalla
from memoria.explorador.acceso import Peticion, con_permiso

#: Of the good lines, enough to see that the columns are what they should be; of the rest, enough to act on.
LINEAS_DE_MUESTRA = 5
LINEAS_CONTADAS = 50


@require_http_methods(["GET", "HEAD", "POST"])
@con_permiso(servicios.ESCRIBIR)
def importar_avisos(request: Peticion) -> HttpResponse:
    if request.method != "POST":
        return _pagina(request, FormularioImportar())
    if "contenido" in request.POST:
        return _confirmar(request)
    formulario = FormularioImportar(request.POST, request.FILES)
    if not formulario.is_valid():
        return _pagina(request, formulario, status=422)
    contenido = formulario.cleaned_data["fichero"].read()
    try:
        prueba = _probar(request, contenido)
    except FicheroNoValido as error:
        formulario.add_error("fichero", str(error))
        return _pagina(request, formulario, status=422)
    if prueba.buenas > MAXIMO_DE_LINEAS:
        formulario.add_error("fichero", _demasiadas_lineas())
        return _pagina(request, formulario, status=422)
    return _pagina(
        request,
        formulario,
        **_por_confirmar(prueba, formulario.cleaned_data["todo_o_nada"]),
        contenido=_cerrado(contenido, request),
    )


def _confirmar(request: Peticion) -> HttpResponse:
    formulario = FormularioImportar()
    try:
        contenido = _abierto(request.POST["contenido"], request)
    except signing.BadSignature:
        return _pagina(
            request,
            formulario,
            error=_("El fichero llegó incompleto: elíjalo otra vez."),
            status=422,
        )
    todo_o_nada = request.POST.get("todo_o_nada") == "on"
    try:
        hecho = importar_en_pantalla(contenido=contenido, todo_o_nada=todo_o_nada, por=request.user)
    except ErrorDeCompras as error:
        # The page goes on carrying the file: it can be confirmed again.
        return _pagina(
            request,
            formulario,
            error=str(error),
            **_por_confirmar(_probar(request, contenido), todo_o_nada),
            contenido=request.POST["contenido"],
            status=422,
        )
    return _pagina(request, formulario, hecho=hecho, status=422 if hecho.anulada else 200)


def _probar(request: Peticion, contenido: bytes) -> Importacion:
    """What would happen. Raises ``FicheroNoValido``."""
    return importar(
        io.BytesIO(contenido),
        simulado=True,
        por_lote=MAXIMO_DE_LINEAS + 1,
        por=request.user,
        muestra=LINEAS_DE_MUESTRA,
    )


def _por_confirmar(prueba: Importacion, todo_o_nada: bool) -> dict[str, Any]:
    return {
        "prueba": prueba,
        "todo_o_nada": todo_o_nada,
        "se_puede": bool(prueba.creados) and not (todo_o_nada and prueba.rechazados),
    }


def _pagina(
    request: Peticion, formulario: FormularioImportar, *, status: int = 200, **contexto: Any
) -> HttpResponse:
    visto: Importacion | None = contexto.get("hecho") or contexto.get("prueba")
    listas = (
        {
            "rechazados": visto.rechazados[:LINEAS_CONTADAS],
            "rechazados_mas": max(0, len(visto.rechazados) - LINEAS_CONTADAS),
            "avisados": visto.avisados[:LINEAS_CONTADAS],
            "avisados_mas": max(0, len(visto.avisados) - LINEAS_CONTADAS),
        }
        if visto
        else {}
    )
    return render(
        request,
        "compras/importar.html",
        {
            "title": _("Importar avisos"),
            "formulario": formulario,
            "maximo_de_lineas": MAXIMO_DE_LINEAS,
            "maximo_de_kilobytes": MAXIMO_DE_BYTES // 1024,
            "visto": visto,
            **listas,
            **contexto,
        },
        status=status,
    )


def _demasiadas_lineas() -> str:
    return _(
        "El fichero tiene más de %(lineas)s líneas, demasiadas para esta página: divídalo, o pida a "
        "operaciones que lo importe entero."
    ) % {"lineas": MAXIMO_DE_LINEAS}


def _firma(request: Peticion) -> signing.Signer:
    return signing.Signer(salt=f"compras.importar.{request.user.pk}")


def _cerrado(contenido: bytes, request: Peticion) -> str:
    return _firma(request).sign(base64.urlsafe_b64encode(zlib.compress(contenido)).decode())


def _abierto(cerrado: str, request: Peticion) -> bytes:
    """Raises ``BadSignature``. Signed here for this person: it inflates to no more than was uploaded."""
    try:
        return zlib.decompress(
            base64.urlsafe_b64decode(_firma(request).unsign(cerrado)), bufsize=MAXIMO_DE_BYTES
        )
    except (binascii.Error, zlib.error, ValueError) as error:
        raise signing.BadSignature from error
