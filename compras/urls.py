from __future__ import annotations

from django.urls import URLPattern

app_name = "compras"
urlpatterns: list[URLPattern] = []
