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
    """Suppliers to look at. They are changed in their own pages: one way in, with its rules and its log."""

    list_display = ("codigo", "nombre", "activo")
    list_filter = ("activo",)
    search_fields = ("codigo", "nombre")
    ordering = ("codigo",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Proveedor | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Proveedor | None = None) -> bool:
        return False
