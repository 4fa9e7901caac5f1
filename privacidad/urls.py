from __future__ import annotations

from django.urls import path

from privacidad import views
from privacidad.vistas import avance, copia, cuadro, derechos, escritos, exclusiones, menciones, registro

app_name = "privacidad"
urlpatterns = [
    path("", views.solicitudes, name="solicitudes"),
    path("cuadro/", cuadro.cuadro, name="cuadro"),
    path("registro-mensual/<str:mes>.<str:formato>", cuadro.registro_mensual, name="registro_mensual"),
    path("verificar/", escritos.verificar, name="verificar"),
    path("registro/", registro.asientos, name="registro"),
    path("solicitudes/nueva/", views.nueva, name="nueva"),
    path("solicitudes/<str:referencia>/", views.solicitud, name="solicitud"),
    path("solicitudes/<str:referencia>/<str:nombre>.pdf", escritos.escrito, name="escrito"),
    path(
        "solicitudes/<str:referencia>/<str:nombre>.json",
        escritos.escrito,
        {"formato": "json"},
        name="evidencia",
    ),
    path("solicitudes/<str:referencia>/menciones/", menciones.menciones, name="menciones"),
    path("solicitudes/<str:referencia>/menciones/<int:mencion>/", menciones.mencion, name="mencion"),
    path("solicitudes/<str:referencia>/datos/", exclusiones.datos, name="datos"),
    path("solicitudes/<str:referencia>/retenidos/<int:exclusion>/soltar/", exclusiones.soltar, name="soltar"),
    path("solicitudes/<str:referencia>/copia/", copia.copia, name="copia"),
    path("solicitudes/<str:referencia>/copia/abrir/", copia.abrir, name="abrir_copia"),
    path("solicitudes/<str:referencia>/avance/", avance.avance, name="avance"),
    path("solicitudes/<str:referencia>/<slug:nombre>/", views.paso, name="paso"),
    # First what ends in an action: an id is a whole segment (memoria/explorador/rutas.py).
    path("derechos/<espacio:nombre>/<sujeto:sujeto_id>/<slug:accion>/", derechos.accion, name="derecho"),
    path("derechos/<espacio:nombre>/<sujeto:sujeto_id>/", derechos.derechos, name="derechos"),
    path("expedientes/<str:referencia>/<str:formato>/", derechos.expediente, name="expediente"),
]
