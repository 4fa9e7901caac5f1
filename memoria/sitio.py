"""The one site: Django's admin with our name on it, and what every page of ours needs from it."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.forms import AuthenticationForm
from django.db import models
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import NoReverseMatch, reverse
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from memoria.documentos.espacios import ESPACIOS


class Sitio(admin.AdminSite):
    site_header = "Memoria"  # the product's name: the same in every language
    site_title = "Memoria"
    index_title = _("Administración")
    site_url = "/"
    enable_nav_sidebar = False
    login_form = AuthenticationForm

    def has_permission(self, request: HttpRequest) -> bool:
        """Every active account may come in; what each one finds depends on its permissions alone.

        Log-in, log-out and the change of password are the admin's for everybody, so the mark "is staff" would
        be a second door that keeps a purchasing clerk from leaving.
        """
        return request.user.is_active and request.user.is_authenticated

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The admin's own; but without a page to go back to, people start at the panel."""
        if request.method == "GET" and self.has_permission(request):
            return HttpResponseRedirect(reverse("panel"))
        if REDIRECT_FIELD_NAME not in request.GET and REDIRECT_FIELD_NAME not in request.POST:
            extra_context = {REDIRECT_FIELD_NAME: reverse("panel"), **(extra_context or {})}
        return super().login(request, extra_context)

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        """The admin's list, with the mirrors, each leading to the page where its rows are seen.

        They cannot be registered (composite keys). Vectors, blobs and pending writes are inside others.
        """
        aplicaciones = super().get_app_list(request, app_label)
        espejos = _espejos(request) if app_label in (None, "memoria") else []
        if not espejos:
            return aplicaciones
        suya = next((a for a in aplicaciones if a["app_label"] == "memoria"), None)
        if suya is None:
            suya = _aplicacion()
            aplicaciones = sorted([*aplicaciones, suya], key=lambda a: str(a["name"]).lower())
        suya["models"] = sorted([*suya["models"], *espejos], key=lambda m: str(m["name"]))
        return aplicaciones


def _aplicacion() -> dict[str, Any]:
    from django.apps import apps

    return {
        "name": apps.get_app_config("memoria").verbose_name,
        "app_label": "memoria",
        "app_url": reverse("admin:app_list", kwargs={"app_label": "memoria"}),
        "has_module_perms": True,
        "models": [],
    }


def _espejos(request: HttpRequest) -> list[dict[str, Any]]:
    from memoria.models import Checkpoint, Documento

    sitios: tuple[tuple[type[models.Model], str, str], ...] = (
        (Documento, "memoria.view_documento", "explorador:espacios"),
        (Checkpoint, "memoria.view_hilo", "admin:memoria_hilo_changelist"),
    )
    return [
        {
            "model": modelo,
            "name": capfirst(modelo._meta.verbose_name_plural),
            "object_name": modelo._meta.object_name,
            "perms": {"add": False, "change": False, "delete": False, "view": True},
            "admin_url": reverse(nombre),
            "add_url": None,
            "view_only": True,
        }
        for modelo, permiso, nombre in sitios
        if request.user.has_perm(permiso)
    ]


#: The main menu: label, URL name, and the permissions any of which shows it.
MENU: tuple[tuple[Any, str, str | tuple[str, ...]], ...] = (
    (_("Avisos"), "compras:avisos", "compras.ver_avisos"),
    (_("Documentos"), "documentos:inicio", tuple(f"documentos.ver_{e}" for e in ESPACIOS)),
    (_("Memoria"), "explorador:espacios", "memoria.view_documento"),
    (_("Privacidad"), "privacidad:solicitudes", "privacidad.view_solicitud"),
)


def contexto(request: HttpRequest) -> dict[str, Any]:
    """Context processor: what the admin's base template expects, and the menu of this person."""
    usuario = getattr(request, "user", None)
    if usuario is None or not usuario.is_authenticated:
        return {"menu": []}
    inicio = reverse("panel")
    menu: list[dict[str, Any]] = [{"etiqueta": _("Inicio"), "url": inicio, "activa": request.path == inicio}]
    for etiqueta, nombre, permisos in MENU:
        permisos = (permisos,) if isinstance(permisos, str) else permisos
        if not any(usuario.has_perm(p) for p in permisos):
            continue
        try:
            url = reverse(nombre)
        except NoReverseMatch:
            continue
        menu.append({"etiqueta": etiqueta, "url": url, "activa": request.path.startswith(url)})
    sitio = admin.site.each_context(request)
    if sitio["available_apps"]:
        url = reverse("admin:index")
        menu.append({"etiqueta": _("Administración"), "url": url, "activa": request.path.startswith(url)})
    # A room inside another's address ("/memoria/documentos/") is the one that is open, not both.
    abiertas = [m for m in menu if m["activa"]]
    for entrada in abiertas:
        entrada["activa"] = entrada is max(abiertas, key=lambda m: len(m["url"]))
    return {**sitio, "menu": menu}
