from __future__ import annotations

from django.urls import path, register_converter

from compras import views
from memoria.explorador.rutas import ConversorSujeto, de_url


class ConversorSegmento(ConversorSujeto):
    """A supplier's code or a notice's key in one segment of a path, whatever characters it has."""

    regex = r"[^/\x00]+"

    @staticmethod
    def to_python(texto: str) -> str:
        valor = de_url(texto)
        if "\x00" in valor:
            raise ValueError  # PostgreSQL holds no such text: a 404
        return valor


register_converter(ConversorSegmento, "segmento")

app_name = "compras"
urlpatterns = [
    path("avisos/", views.avisos, name="avisos"),
    path("avisos/nuevo/", views.aviso_nuevo, name="aviso_nuevo"),
    path("avisos/<segmento:codigo>/<segmento:clave>/", views.aviso, name="aviso"),
    path("avisos/<segmento:codigo>/<segmento:clave>/corregir/", views.aviso_corregir, name="aviso_corregir"),
    path("avisos/<segmento:codigo>/<segmento:clave>/retirar/", views.aviso_retirar, name="aviso_retirar"),
    path("proveedores/", views.proveedores, name="proveedores"),
]
