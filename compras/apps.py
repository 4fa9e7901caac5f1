from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ComprasConfig(AppConfig):
    name = "compras"
    verbose_name = _("Compras")
    panel = "compras.panel.tarjetas"
    barrido = "compras.retencion.barrer"
