from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class PrivacidadConfig(AppConfig):
    name = "privacidad"
    verbose_name = _("Privacidad")
    panel = "privacidad.tarjetas.tarjetas"
    figuras = "privacidad.figuras.supresiones"
    barrido = "privacidad.retencion.barrer"
    reclama = "privacidad.reclamos.reclama"
