"""The log, as the configured handler writes it: what happened and where, never to whom."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import include, path, reverse

ID = "CANARIO-ñ 7319"


@pytest.fixture
def registro() -> Iterator[io.StringIO]:
    """What the handler of the settings writes during a test."""
    [consola] = [h for h in logging.getLogger().handlers if h.name == "consola"]
    assert isinstance(consola, logging.StreamHandler)
    escrito = io.StringIO()
    antes = consola.setStream(escrito)
    yield escrito
    consola.setStream(antes)


def rompe(peticion: HttpRequest, sujeto_id: str) -> HttpResponse:
    try:
        raise KeyError(sujeto_id)
    except KeyError as error:
        raise ValueError(f"no hay {sujeto_id}") from error


def sospechosa(peticion: HttpRequest, sujeto_id: str) -> HttpResponse:
    raise SuspiciousOperation(f"mal {peticion.path}")


# Used as a URLconf: the site with two views that break.
urlpatterns = [
    path("rompe/<str:sujeto_id>/", rompe, name="rompe"),
    path("sospechosa/<str:sujeto_id>/", sospechosa, name="sospechosa"),
    path("", include("memoria.urls")),
]


@pytest.fixture
def ficha() -> str:
    return reverse("explorador:ficha", args=["clientes", ID])


def comprobar(escrito: io.StringIO, *dicho: str) -> None:
    texto = escrito.getvalue()
    for frase in dicho:
        assert frase in texto
    for parte in ("CANARIO", "7319", "%C3%B1"):
        assert parte not in texto


def test_without_permission(navegar: Callable[..., Client], ficha: str, registro: io.StringIO) -> None:
    assert navegar("compras").get(ficha).status_code == 403
    comprobar(registro, "Forbidden", "/memoria/ficha/<espacio:nombre>/<sujeto:sujeto_id>/")
    assert "Traceback" not in registro.getvalue()
    assert "PermissionDenied" not in registro.getvalue()
    assert len(registro.getvalue().splitlines()) == 1


def test_what_does_not_exist(navegar: Callable[..., Client], registro: io.StringIO) -> None:
    cliente = navegar("compras")
    assert cliente.get(f"/memoria/fichas/{ID}/").status_code == 404
    comprobar(registro, "Not Found: (ninguna ruta)")
    assert cliente.get(f"/compras/avisos/{ID}/x/").status_code == 404
    comprobar(registro, "Not Found: /compras/avisos/<segmento:codigo>/<segmento:clave>/")


def test_what_only_reads(navegar: Callable[..., Client], ficha: str, registro: io.StringIO) -> None:
    assert navegar("dpo").post(ficha).status_code == 405
    comprobar(registro, "Method Not Allowed (POST): /memoria/ficha/")


def test_a_form_without_its_mark(persona: Callable[..., Any], registro: io.StringIO) -> None:
    """``django.security.csrf``: a child logger, which the filters of its parent do not reach."""
    estricto = Client(enforce_csrf_checks=True)
    assert estricto.post(f"/compras/avisos/{ID}/x/retirar/").status_code == 403
    comprobar(registro, "django.security.csrf", "/compras/avisos/<segmento:codigo>/")


def test_a_suspicious_request(bd: str, settings: Any, registro: io.StringIO) -> None:
    settings.ROOT_URLCONF = __name__
    assert Client().get(reverse("sospechosa", args=[ID])).status_code == 400
    comprobar(registro, "django.security.SuspiciousOperation", "/sospechosa/<str:sujeto_id>/")


def test_a_bug_says_where_and_not_with_whom(bd: str, settings: Any, registro: io.StringIO) -> None:
    settings.ROOT_URLCONF = __name__
    respuesta = Client(raise_request_exception=False).get(reverse("rompe", args=[ID]))
    assert respuesta.status_code == 500
    comprobar(
        registro,
        "Internal Server Error: /rompe/<str:sujeto_id>/",
        "builtins.KeyError\nLa excepción anterior llevó a esta:",
        "in rompe",
        "builtins.ValueError\n",
    )


def test_everything_of_django_goes_through_that_handler() -> None:
    """Its defaults write the path to a console of their own under DEBUG, and mail it to administrators."""
    for nombre, logger in logging.root.manager.loggerDict.items():
        if nombre.partition(".")[0] == "django" and isinstance(logger, logging.Logger):
            assert logger.handlers == [] or nombre == "django.server", nombre
            assert logger.propagate or nombre == "django.server", nombre
