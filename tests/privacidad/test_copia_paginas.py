"""The sealed copy in its pages: who decides, and who opens it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Permission
from django.test import Client

from privacidad import plazos, servicios
from privacidad.estados import Estado
from privacidad.models import Asiento

FECHA = plazos.hoy() + timedelta(days=30)


def test_quien_ve_y_quien_decide(
    navegar: Callable[..., Any], hasta: Callable[..., Any], preferencia: Callable[..., None]
) -> None:
    preferencia("C1")
    solicitud = hasta(Estado.REVISADA)
    url = f"/privacidad/solicitudes/{solicitud.referencia}/copia/"
    assert Client().get(url).status_code == 302
    assert [navegar(g).get(url).status_code for g in ("compras", "consulta", "operaciones")] == [403] * 3
    dpo = navegar("dpo")
    assert dpo.get("/privacidad/solicitudes/SUP-2026-0099/copia/").status_code == 404
    pagina = dpo.get(url)
    assert settings.MOTIVO_SIN_COPIA in pagina.content.decode()
    assert dpo.post(url, {}).status_code == 422
    assert dpo.post(url, {"hasta": FECHA.isoformat()}).url == solicitud.get_absolute_url()
    solicitud.refresh_from_db()
    assert solicitud.copia_hasta == FECHA
    assert (
        "Al borrar se guardará una copia bloqueada" in dpo.get(solicitud.get_absolute_url()).content.decode()
    )


def test_quien_ve_sin_permiso_de_decidir_no_decide(
    persona: Callable[..., Any], recibida: Callable[..., Any]
) -> None:

    usuario = persona()
    usuario.user_permissions.add(*Permission.objects.filter(codename__in=["view_copia", "view_solicitud"]))
    cliente = Client()
    cliente.force_login(usuario, backend="django.contrib.auth.backends.ModelBackend")
    url = f"/privacidad/solicitudes/{recibida().referencia}/copia/"
    assert "Anotar la decisión" not in cliente.get(url).content.decode()
    assert cliente.post(url, {"hasta": FECHA.isoformat()}).status_code == 403


def test_abrirla_en_el_navegador(navegar: Callable[..., Any], con_copia: Callable[..., Any]) -> None:
    solicitud = con_copia()
    url = f"/privacidad/solicitudes/{solicitud.referencia}/copia/abrir/"
    assert Client().post(url).status_code == 302
    assert navegar("operaciones").post(url, {"motivo": "x"}).status_code == 403
    dpo = navegar("dpo")
    assert dpo.get(url).status_code == 405
    assert dpo.post("/privacidad/solicitudes/SUP-2026-0099/copia/abrir/", {"motivo": "x"}).status_code == 404
    assert dpo.post(url, {"motivo": ""}).status_code == 422
    assert not Asiento.objects.filter(tipo="copia_abierta").exists()
    respuesta = dpo.post(url, {"motivo": "La pide el juzgado"})
    lineas = b"".join(respuesta.streaming_content).splitlines()
    assert {json.loads(linea)["tabla"] for linea in lineas} >= {"store", "hilos"}
    assert respuesta["Cache-Control"] == "no-store"
    assert Asiento.objects.filter(tipo="copia_abierta").count() == 1


def test_sin_copia_ni_nada_que_decidir_no_se_ofrece_verla(
    navegar: Callable[..., Any], hasta: Callable[..., Any], recibida: Callable[..., Any], con_copia: Any
) -> None:
    dpo = navegar("dpo", nombre="quien-mira")
    operaciones = navegar("operaciones", nombre="quien-ejecuta")

    def enlace(cliente: Any, solicitud: Any) -> bool:
        return f"{solicitud.referencia}/copia/" in cliente.get(solicitud.get_absolute_url()).content.decode()

    cerrada = hasta(Estado.COMPLETADA, "C1")
    retirada = recibida("C2")
    servicios.retirar(solicitud=retirada, motivo="Ya no lo pide", por=dpo.usuario)
    abierta, sellada = recibida("C3"), con_copia()
    assert [enlace(dpo, s) for s in (cerrada, retirada, abierta, sellada)] == [False, False, True, True]
    assert not enlace(operaciones, sellada)
