"""The documents that were issued, as they were; and the page where anyone holding one checks it."""

from __future__ import annotations

import hmac
import logging
import re
from datetime import datetime
from typing import Any, NamedTuple

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from memoria.explorador.acceso import Peticion, con_permiso
from privacidad import registro, servicios
from privacidad.escritos.guardados import Emitido, intacto
from privacidad.models import Asiento, Escrito, Solicitud

logger = logging.getLogger(__name__)

TIPOS_DE_CONTENIDO = {"pdf": "application/pdf", "json": "application/json"}


@require_safe
@con_permiso("privacidad.view_solicitud")
@never_cache
def escrito(request: Peticion, referencia: str, nombre: str, formato: str = "pdf") -> HttpResponse:
    """The stored bytes. ``nombre`` is the number of a document, or its kind: then the latest of that kind.

    Only while they are those that were issued, by the register: otherwise a sentence that says they are not.
    """
    solicitud = get_object_or_404(Solicitud.objects.select_related("principal"), referencia=referencia)
    # A linked request was answered together with its principal.
    suyos = (solicitud.principal or solicitud).escritos.sin_sellar().order_by("-pk")
    elegido = suyos.filter(tipo=nombre).first() if nombre in Escrito.Tipo.values else None
    elegido = elegido or suyos.filter(numero=nombre).first()
    if elegido is None:
        raise Http404
    if not intacto(elegido):
        logger.error(
            "%s %s no se sirve: no es el que se emitió según el registro",
            elegido.solicitud.referencia,
            elegido.numero,
        )
        return render(
            request,
            "privacidad/escrito_alterado.html",
            {"title": elegido.numero, "solicitud": solicitud, "numero": elegido.numero},
            status=500,
        )
    contenido = servicios.descargar(escrito=elegido, formato=formato, por=request.user)
    respuesta = HttpResponse(contenido, content_type=TIPOS_DE_CONTENIDO[formato])
    respuesta["Content-Disposition"] = f'attachment; filename="{elegido.numero}.{formato}"'
    return respuesta


class VerificarForm(forms.Form):
    numero = forms.CharField(
        label=gettext_lazy("Número del documento"),
        max_length=30,
        help_text=gettext_lazy("Arriba en el documento. Por ejemplo, CER-2026-0001."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    huella = forms.CharField(
        label=gettext_lazy("Huella"),
        max_length=100,
        help_text=gettext_lazy("Las 64 cifras y letras del final del documento. Los espacios no importan."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "inputmode": "text"}),
    )

    def clean_numero(self) -> str:
        return str(self.cleaned_data["numero"]).strip().upper()

    def clean_huella(self) -> str:
        return re.sub(r"\s", "", str(self.cleaned_data["huella"])).lower()


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def verificar(request: HttpRequest) -> HttpResponse:
    """Whether a document is one of ours: its kind and its day, and nothing of anybody. No account is needed.

    An unknown number and a wrong digest get the same answer, so numbers cannot be tried out; and a digest of
    256 bits cannot be guessed at any rate, so requests are not counted.
    """
    formulario = VerificarForm(request.POST or None)
    contexto: dict[str, Any] = {"title": _("Comprobar un documento"), "formulario": formulario}
    if request.method == "POST" and formulario.is_valid():
        hallado = _autentico(**formulario.cleaned_data)
        registrado = _registrado(**formulario.cleaned_data)
        contexto |= {"comprobado": True, "emitido": hallado, "registrado": None if hallado else registrado}
    return render(request, "privacidad/verificar.html", contexto, status=422 if formulario.errors else 200)


def _autentico(numero: str, huella: str) -> Emitido | None:
    """The document of that number if the digest is the one printed on it, or that of its file."""
    candidato = Escrito.objects.sin_sellar().filter(numero=numero).first()
    # Of an unknown number the same comparisons are made: the time says no more than the answer.
    impresa = candidato.huella_datos if candidato else "0" * 64
    del_fichero = candidato.huella if candidato else "0" * 64
    coincide = _iguales(huella, impresa) | _iguales(huella, del_fichero)
    return Emitido.segun(candidato.datos) if candidato and coincide and intacto(candidato) else None


class Registrado(NamedTuple):
    """A document that is not here any more, as the register tells it."""

    que: str
    momento: datetime
    #: Whether it was lost with what a restore overwrote; otherwise nobody knows why it is not here.
    restaurado: bool


def _registrado(numero: str, huella: str) -> Registrado | None:
    """What the register says of a document that is not here; with its digest only, and while its entry is the
    one that was written.

    One that is here and is not what was issued is not authentic, whatever the register says of its number.
    """
    asiento = Asiento.objects.filter(tipo="escrito_emitido", datos__numero=numero).last()
    datos = asiento.datos if asiento else {}
    coincide = [_iguales(huella, datos.get(cual, "0" * 64)) for cual in ("huella_datos", "huella")]
    if not asiento or not any(coincide) or Escrito.objects.filter(numero=numero).exists():
        return None
    if not registro.esta_en_su_sitio(asiento):
        return None  # what it says may be anything
    return Registrado(
        str(Escrito.Tipo(datos["tipo"]).label), asiento.momento, registro.se_restauro(asiento.numero)
    )


def _iguales(uno: str, otro: str) -> bool:
    return hmac.compare_digest(uno.encode(), otro.encode())
