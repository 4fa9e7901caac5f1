from __future__ import annotations

from django.urls import path

from privacidad import views

app_name = "privacidad"
urlpatterns = [
    path("", views.solicitudes, name="solicitudes"),
    path("solicitudes/nueva/", views.nueva, name="nueva"),
    path("solicitudes/<str:referencia>/", views.solicitud, name="solicitud"),
    path("solicitudes/<str:referencia>/<slug:nombre>/", views.paso, name="paso"),
]
