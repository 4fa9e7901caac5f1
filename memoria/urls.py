"""Which URL leads to which room."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

from memoria import salud
from memoria.explorador.panel import panel

urlpatterns = [
    path("", panel, name="panel"),
    path("memoria/documentos/", include("memoria.documentos.urls")),
    path("memoria/", include("memoria.explorador.urls")),
    path("compras/", include("compras.urls")),
    path("privacidad/", include("privacidad.urls")),
    path("admin/", admin.site.urls),
    path("i18n/", include("django.conf.urls.i18n")),
    path("livez", salud.livez, name="livez"),
    path("readyz", salud.readyz, name="readyz"),
]
