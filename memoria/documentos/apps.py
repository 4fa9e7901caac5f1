from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class DocumentosConfig(AppConfig):
    name = "memoria.documentos"
    label = "documentos"
    verbose_name = _("Documentos")
    panel = "memoria.documentos.panel.tarjetas"
    barrido = "memoria.documentos.papelera.vaciar"
