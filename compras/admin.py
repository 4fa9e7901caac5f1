from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import admin
from django.http import HttpRequest

from compras.models import Proveedor

if TYPE_CHECKING:  # generic in the stubs only
    Base = admin.ModelAdmin[Proveedor]
else:
    Base = admin.ModelAdmin


@admin.register(Proveedor)
class ProveedorAdmin(Base):
    """Suppliers are added, renamed and made inactive; never deleted: their notices would lose their name."""

    list_display = ("codigo", "nombre", "activo")
    list_filter = ("activo",)
    search_fields = ("codigo", "nombre")
    ordering = ("codigo",)

    def get_readonly_fields(self, request: HttpRequest, obj: Proveedor | None = None) -> tuple[str, ...]:
        return ("codigo",) if obj else ()  # the memory knows the supplier by it

    def has_delete_permission(self, request: HttpRequest, obj: Proveedor | None = None) -> bool:
        return False
