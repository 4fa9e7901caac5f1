"""The one site: Django's admin with our name on it, and what every page of ours needs from it."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext_lazy as _


class Sitio(admin.AdminSite):
    site_header = _("Memoria")
    site_title = _("Memoria")
    index_title = _("Administración")
    site_url = "/"
    enable_nav_sidebar = False


#: The main menu: label, URL name, permission that shows it.
MENU: tuple[tuple[Any, str, str], ...] = (
    (_("Avisos"), "compras:avisos", "compras.ver_avisos"),
    (_("Memoria"), "explorador:espacios", "memoria.view_documento"),
    (_("Privacidad"), "privacidad:solicitudes", "privacidad.view_solicitud"),
)


def contexto(request: HttpRequest) -> dict[str, Any]:
    """Context processor: what the admin's base template expects, and the menu of this person."""
    usuario = getattr(request, "user", None)
    if usuario is None or not usuario.is_authenticated:
        return {"menu": []}
    menu = []
    for etiqueta, nombre, permiso in MENU:
        if not usuario.has_perm(permiso):
            continue
        try:
            url = reverse(nombre)
        except NoReverseMatch:
            continue
        menu.append({"etiqueta": etiqueta, "url": url, "activa": request.path.startswith(url)})
    return {**admin.site.each_context(request), "menu": menu}
