from __future__ import annotations

from django.urls import path, register_converter

from memoria.documentos import vistas
from memoria.documentos.espacios import ESPACIOS


class ConversorEspacio:
    """``<espacio_documental:espacio>``: an owner space; any other is a 404."""

    regex = "|".join(ESPACIOS)

    def to_python(self, valor: str) -> str:
        return valor

    def to_url(self, valor: str) -> str:
        return valor


class ConversorNumero:
    """``<numero:…>``: what fits in the key of a table; a longer one is a 404 and not an error."""

    regex = "[0-9]{1,18}"

    def to_python(self, valor: str) -> int:
        return int(valor)

    def to_url(self, valor: int) -> str:
        return str(valor)


class ConversorVersion(ConversorNumero):
    regex = "[0-9]{1,9}"


register_converter(ConversorEspacio, "espacio_documental")
register_converter(ConversorNumero, "numero")
register_converter(ConversorVersion, "numero_version")

app_name = "documentos"
_UNO = "<espacio_documental:espacio>/<numero:pagina_id>/"
urlpatterns = [
    path("", vistas.inicio, name="inicio"),
    path("<espacio_documental:espacio>/", vistas.lista, name="lista"),
    path("<espacio_documental:espacio>/nuevo/", vistas.nuevo, name="nuevo"),
    path("<espacio_documental:espacio>/vista-previa/", vistas.vista_previa, name="vista_previa"),
    path(_UNO, vistas.documento, name="documento"),
    path(f"{_UNO}editar/", vistas.editar, name="editar"),
    path(f"{_UNO}borrar/", vistas.borrar, name="borrar"),
    path(f"{_UNO}recuperar/", vistas.recuperar, name="recuperar"),
    path(f"{_UNO}historia/", vistas.historia, name="historia"),
    path(f"{_UNO}historia/<numero_version:numero>/", vistas.version, name="version"),
    path(f"{_UNO}historia/<numero_version:numero>/volver/", vistas.volver, name="volver"),
]
