"""The card of documents on the panel: what changed this week, in each space the person sees."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memoria.documentos.acceso import en_espacio, espacios_visibles
from memoria.documentos.models import Pagina
from memoria.documentos.palabras import NOMBRES
from memoria.explorador.panel import Tarjeta


def tarjetas(request: HttpRequest) -> Iterable[Tarjeta]:
    hoy = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    lunes = hoy - timedelta(days=hoy.weekday())
    for espacio in espacios_visibles(request.user):
        with en_espacio(espacio):
            cambiados = Pagina.objects.vivas().filter(actualizada__gte=lunes).count()
        if cambiados:
            yield Tarjeta(
                titulo=_("Documentos: %(espacio)s") % {"espacio": NOMBRES[espacio]},
                cifra=cambiados,
                frase=ngettext(
                    "documento escrito o cambiado desde el lunes.",
                    "documentos escritos o cambiados desde el lunes.",
                    cambiados,
                ),
                url=reverse("documentos:lista", args=[espacio]),
            )
