from __future__ import annotations

from django.urls import path, register_converter

from privacidad import views
from privacidad.rutas import ConversorReferencia
from privacidad.vistas import avance, copia, cuadro, derechos, escritos, exclusiones, menciones, registro

register_converter(ConversorReferencia, "referencia")

app_name = "privacidad"
urlpatterns = [
    path("", views.solicitudes, name="solicitudes"),
    path("cuadro/", cuadro.cuadro, name="cuadro"),
    path("registro-mensual/<str:mes>.<str:formato>", cuadro.registro_mensual, name="registro_mensual"),
    path("verificar/", escritos.verificar, name="verificar"),
    path("registro/", registro.asientos, name="registro"),
    path("solicitudes/nueva/", views.nueva, name="nueva"),
    path("solicitudes/<referencia:referencia>/", views.solicitud, name="solicitud"),
    path("solicitudes/<referencia:referencia>/<slug:nombre>.pdf", escritos.escrito, name="escrito"),
    path(
        "solicitudes/<referencia:referencia>/<slug:nombre>.json",
        escritos.escrito,
        {"formato": "json"},
        name="evidencia",
    ),
    path("solicitudes/<referencia:referencia>/menciones/", menciones.menciones, name="menciones"),
    path("solicitudes/<referencia:referencia>/menciones/<int:mencion>/", menciones.mencion, name="mencion"),
    path("solicitudes/<referencia:referencia>/datos/", exclusiones.datos, name="datos"),
    path(
        "solicitudes/<referencia:referencia>/retenidos/<int:exclusion>/soltar/",
        exclusiones.soltar,
        name="soltar",
    ),
    path("solicitudes/<referencia:referencia>/copia/", copia.copia, name="copia"),
    path("solicitudes/<referencia:referencia>/copia/abrir/", copia.abrir, name="abrir_copia"),
    path("solicitudes/<referencia:referencia>/avance/", avance.avance, name="avance"),
    path("solicitudes/<referencia:referencia>/<slug:nombre>/", views.paso, name="paso"),
    # First what ends in an action: an id is a whole segment (memoria/explorador/rutas.py).
    path("derechos/<espacio:nombre>/<sujeto:sujeto_id>/<slug:accion>/", derechos.accion, name="derecho"),
    path("derechos/<espacio:nombre>/<sujeto:sujeto_id>/", derechos.derechos, name="derechos"),
    path("expedientes/<referencia:referencia>/<str:formato>/", derechos.expediente, name="expediente"),
]
