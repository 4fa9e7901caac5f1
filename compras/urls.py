from __future__ import annotations

from django.urls import path, register_converter

from compras.vistas import avisos, ayudas, escritura, importacion, proveedores, retirada
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
    path("avisos/", avisos.avisos, name="avisos"),
    path("avisos/nuevo/", escritura.aviso_nuevo, name="aviso_nuevo"),
    path("avisos/<segmento:codigo>/<segmento:clave>/", avisos.aviso, name="aviso"),
    path(
        "avisos/<segmento:codigo>/<segmento:clave>/corregir/", escritura.aviso_corregir, name="aviso_corregir"
    ),
    path("avisos/<segmento:codigo>/<segmento:clave>/retirar/", retirada.aviso_retirar, name="aviso_retirar"),
    path("avisos/csv/", avisos.descargar, name="avisos_csv"),
    path("avisos/importar/", importacion.importar_avisos, name="importar"),
    path("retirados/", retirada.retirados, name="retirados"),
    path("retirados/<int:pk>/reponer/", retirada.reponer, name="reponer"),
    path("escribir/proveedores/", ayudas.sugerencias, name="sugerencias"),
    path("escribir/parecidos/", ayudas.parecidos, name="parecidos"),
    path("proveedores/", proveedores.proveedores, name="proveedores"),
    path("proveedores/nuevo/", proveedores.nuevo, name="proveedor_nuevo"),
    path("proveedores/sugeridos/", ayudas.sugerencias_para_mirar, name="proveedores_sugeridos"),
    path("proveedores/ficha/<segmento:codigo>/", proveedores.proveedor, name="proveedor"),
    path("proveedores/ficha/<segmento:codigo>/unir/", proveedores.unir, name="proveedor_unir"),
]
