from __future__ import annotations

from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig
from django.utils.translation import gettext_lazy as _


class MemoriaConfig(AppConfig):
    name = "memoria"
    verbose_name = _("Memoria de los agentes")
    panel = "memoria.explorador.panel.tarjetas"


class SitioConfig(AdminConfig):
    """Django's admin, on our own site object: one site, one login, one base template."""

    default_site = "memoria.sitio.Sitio"
