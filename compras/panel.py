"""What the panel says to purchasing."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from compras import lectura, servicios
from memoria.explorador.panel import Tarjeta

DIAS_A_LA_VISTA = 7


def tarjetas(request: HttpRequest) -> Iterable[Tarjeta]:
    """Notices written this week (from Monday) and notices about to expire, for those who may see them."""
    if not request.user.has_perm(servicios.VER):
        return
    if request.user.has_perm(servicios.ESCRIBIR):
        # So that from the log-in it is a few keys away.
        yield Tarjeta(
            titulo=_("Escribir un aviso"),
            frase=_("Lo que conviene saber antes de pedir a un proveedor."),
            url=reverse("compras:aviso_nuevo"),
            primera=True,
        )
    hoy = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    escritos = lectura.escritos_desde(hoy - timedelta(days=hoy.weekday()))
    yield Tarjeta(
        titulo=_("Avisos de esta semana"),
        cifra=escritos,
        frase=ngettext("aviso escrito desde el lunes.", "avisos escritos desde el lunes.", escritos),
        url=reverse("compras:avisos"),
    )
    caducan = lectura.caducan_antes_de(timezone.now() + timedelta(days=DIAS_A_LA_VISTA))
    if caducan:
        yield Tarjeta(
            titulo=_("Avisos que caducan pronto"),
            cifra=caducan,
            frase=ngettext(
                "aviso caduca en los próximos siete días. Si sigue siendo cierto, escriba otro.",
                "avisos caducan en los próximos siete días. Si siguen siendo ciertos, escriba otros.",
                caducan,
            ),
            url=reverse("compras:avisos"),
            tono="aviso",
        )
