from __future__ import annotations

from django.urls import path, register_converter

from memoria.explorador import vistas
from memoria.explorador.rutas import ConversorEspacio, ConversorSujeto

register_converter(ConversorSujeto, "sujeto")
register_converter(ConversorEspacio, "espacio")

app_name = "explorador"
urlpatterns = [
    path("", vistas.espacios, name="espacios"),
    path("<espacio:nombre>/", vistas.espacio, name="espacio"),
    path("ficha/<espacio:nombre>/<sujeto:sujeto_id>/", vistas.ficha, name="ficha"),
]
