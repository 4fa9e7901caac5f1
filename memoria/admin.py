"""What the admin shows of the memory: the thread registry and the runs of commands, to be read."""

from __future__ import annotations

from django.contrib import admin
from django.db import models
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from memoria.models import Checkpoint, Ejecucion, Hilo


class SoloLectura(admin.ModelAdmin):  # type: ignore[type-arg]  # it cannot be subscripted at run time
    """Nobody adds, changes or deletes these from a browser, superusers included: programs write them."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False


@admin.register(Hilo)
class HiloAdmin(SoloLectura):
    list_display = ("thread_id", "espacio", "sujeto_id", "creado", "visto")
    list_filter = ("espacio",)
    # Not "=", which takes C9 and c9 for the same and uses no index.
    search_fields = ("thread_id__exact", "sujeto_id__exact")
    search_help_text = _("El identificador exacto del hilo o del sujeto.")
    ordering = ("-visto",)
    show_full_result_count = False
    fields = ("thread_id", "espacio", "sujeto_id", "creado", "visto", "puntos_de_control")
    readonly_fields = ("puntos_de_control",)

    @admin.display(description=_("puntos de control"))
    def puntos_de_control(self, hilo: Hilo) -> int:
        return Checkpoint.objects.filter(thread_id=hilo.pk).count()


@admin.register(Ejecucion)
class EjecucionAdmin(SoloLectura):
    list_display = ("comando", "inicio", "fin", "codigo", "simulada", "version")
    list_filter = ("comando", "codigo", "simulada")
    ordering = ("-inicio",)
    show_full_result_count = False
