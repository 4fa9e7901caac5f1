"""The register as the admin shows it: to be read. Everything else is done on the pages of privacy.

The id of the person is not among the fields: only who handles the request sees it, on its page.
"""

from __future__ import annotations

from django.contrib import admin

from memoria.admin import SoloLectura
from privacidad.models import Asiento, Evidencia, Solicitud


@admin.register(Solicitud)
class SolicitudAdmin(SoloLectura):
    list_display = ("referencia", "estado", "espacio", "canal", "recibida", "vence", "cerrada")
    list_filter = ("estado", "canal")
    search_fields = ("=referencia",)
    date_hierarchy = "recibida"
    fields = (
        "referencia",
        "estado",
        "espacio",
        "resumen",
        "canal",
        "recibida",
        "vence",
        "registrada",
        "cerrada",
        "vista_previa",
    )


@admin.register(Evidencia)
class EvidenciaAdmin(SoloLectura):
    list_display = ("solicitud", "resultado", "momento", "rol", "posicion_wal")
    list_filter = ("resultado",)
    list_select_related = ("solicitud",)
    search_fields = ("=solicitud__referencia",)
    date_hierarchy = "momento"


@admin.register(Asiento)
class AsientoAdmin(SoloLectura):
    list_display = ("numero", "momento", "tipo", "referencia")
    list_filter = ("tipo",)
    search_fields = ("=referencia", "=resumen", "=huella")
    ordering = ("-numero",)
    show_full_result_count = False
