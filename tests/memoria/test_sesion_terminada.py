"""A session that ends while a part of a page loads itself, or while somebody writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from django.urls import reverse

LO_QUE_SE_CARGA = "/privacidad/solicitudes/SUP-2026-0001/avance/"
SU_PAGINA = "/privacidad/solicitudes/SUP-2026-0001/"


def pedir(cliente: Client, pagina: str = "") -> Any:
    cabeceras = {"HX-Request": "true", **({"HX-Current-URL": pagina} if pagina else {})}
    return cliente.get(LO_QUE_SE_CARGA, headers=cabeceras)


def vuelve_a(respuesta: Any) -> str:
    destino = urlsplit(respuesta["HX-Redirect"])
    assert destino.path == reverse("admin:login")
    return str(parse_qs(destino.query)["next"][0])


def test_lo_que_se_carga_solo_lleva_la_pagina_entera_a_entrar(bd: str) -> None:
    respuesta = pedir(Client(), f"http://testserver{SU_PAGINA}?de=correo")
    assert respuesta.status_code == 200, "htmx follows a redirect by itself, and swaps in what it leads to"
    assert respuesta.content == b""
    assert vuelve_a(respuesta) == f"{SU_PAGINA}?de=correo"
    assert vuelve_a(pedir(Client())) == SU_PAGINA


@pytest.mark.parametrize(
    "pagina", ["https://otro.example/robo", "//otro.example/robo", "javascript:alert(1)"]
)
def test_no_vuelve_a_donde_diga_otro(bd: str, pagina: str) -> None:
    assert vuelve_a(pedir(Client(), pagina)) == SU_PAGINA


def test_sin_htmx_se_redirige_como_siempre(bd: str) -> None:
    respuesta = Client().get(LO_QUE_SE_CARGA)
    assert respuesta.status_code == 302
    assert "HX-Redirect" not in respuesta


def test_a_quien_escribe_no_se_le_quita_la_pagina(bd: str) -> None:
    respuesta = Client().post(
        "/memoria/documentos/compras/vista-previa/", {"texto": "un rato"}, headers={"HX-Request": "true"}
    )
    assert respuesta.status_code == 200
    assert "HX-Redirect" not in respuesta
    pagina = respuesta.content.decode()
    assert "Su sesión ha terminado" in pagina
    assert "<html" not in pagina


def test_con_sesion_y_sin_permiso_no_se_manda_a_entrar(navegar: Callable[..., Any]) -> None:
    respuesta = pedir(navegar("compras"))
    assert respuesta.status_code == 403
    assert "HX-Redirect" not in respuesta
