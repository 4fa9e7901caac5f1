"""E7: two requests of one person are one active, with the earlier deadline; each leads to the other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from privacidad import plazos, servicios
from privacidad.estados import Estado
from privacidad.models import Evidencia, Solicitud

NUEVA = "/privacidad/solicitudes/nueva/"


def test_la_segunda_identificada_sigue_la_primera(
    recibida: Callable[..., Any], preferencia: Callable[..., None], dpo: Any, otro_dpo: Any
) -> None:
    preferencia("C1")
    hoy = plazos.hoy()
    primera = recibida("C1", dia=hoy, identificadores={"email": "a@x.es"})
    segunda = recibida("C1", dia=hoy - timedelta(days=5), identificadores={"email": "b@x.es"})
    assert (segunda.estado, segunda.principal) == (Estado.VINCULADA, primera)
    primera.refresh_from_db()
    assert primera.vence == plazos.vencimiento(hoy - timedelta(days=5))
    assert primera.identificadores() == {"email": "a@x.es", "email-2": "b@x.es"}

    servicios.identificar(solicitud=segunda, como="DNI en tienda", por=dpo)
    servicios.revisar(solicitud=segunda, por=dpo)
    servicios.aprobar(solicitud=segunda, por=otro_dpo)
    servicios.ejecutar(solicitud=segunda)

    primera.refresh_from_db()
    segunda.refresh_from_db()
    assert (primera.estado, segunda.estado) == (Estado.COMPLETADA, Estado.VINCULADA)
    assert segunda.sujeto_id == primera.sujeto_id == ""
    assert Evidencia.objects.get().solicitud == primera


def test_la_que_llega_despues_no_alarga_el_plazo(recibida: Callable[..., Any]) -> None:
    hoy = plazos.hoy()
    primera = recibida("C1", dia=hoy - timedelta(days=5))
    recibida("C1", dia=hoy)
    primera.refresh_from_db()
    assert primera.vence == plazos.vencimiento(hoy - timedelta(days=5))


def test_la_de_otra_persona_no_se_vincula(recibida: Callable[..., Any]) -> None:
    for sujeto, espacio in (("C1", "clientes"), ("c1", "clientes"), ("C10", "clientes"), ("C1", "empleados")):
        assert recibida(sujeto, espacio=espacio).estado == Estado.RECIBIDA


def test_cada_pagina_lleva_a_la_otra(recibida: Callable[..., Any], navegar: Callable[..., Any]) -> None:
    primera, segunda = recibida("C1"), recibida("C1")
    dpo = navegar("dpo", nombre="x")
    pagina = dpo.get(primera.get_absolute_url()).content.decode()
    assert f'href="{segunda.get_absolute_url()}"' in pagina
    assert "Otras solicitudes de la misma persona" in pagina
    pagina = dpo.get(segunda.get_absolute_url()).content.decode()
    assert f'href="{primera.get_absolute_url()}"' in pagina
    assert "Vinculada a otra." in pagina


@pytest.mark.parametrize("cuantas", [2, 6])
def test_recibidas_a_la_vez_queda_una_activa(cuantas: int, dpo: Any) -> None:
    a_la_vez = threading.Barrier(cuantas)
    errores: list[BaseException] = []

    def recibir(n: int) -> None:
        try:
            a_la_vez.wait(10)
            servicios.recibir(
                espacio="clientes",
                sujeto_id="C1",
                canal="web",
                recibida=plazos.hoy() - timedelta(days=n),
                por=dpo,
                identificadores={"email": f"a{n}@x.es"},
            )
        except Exception as error:  # noqa: BLE001 - whatever it is, the assertion below shows it
            errores.append(error)
        finally:
            connection.close()

    hilos = [threading.Thread(target=recibir, args=[n]) for n in range(cuantas)]
    for hilo in hilos:
        hilo.start()
    for hilo in hilos:
        hilo.join(30)
    assert errores == []
    activa = Solicitud.objects.abiertas().get()
    assert activa.vinculadas.count() == cuantas - 1
    assert activa.vence == plazos.vencimiento(plazos.hoy() - timedelta(days=cuantas - 1))
    assert set(activa.identificadores().values()) == {f"a{n}@x.es" for n in range(cuantas)}


# -- intake -------------------------------------------------------------------------------------------


def test_el_formulario_guarda_los_otros_datos_cifrados(
    navegar: Callable[..., Any], apariciones: Callable[[str], list[str]]
) -> None:
    dpo = navegar("dpo")
    envio = {
        "espacio": "clientes",
        "sujeto_id": "C1",
        "canal": "web",
        "recibida": plazos.hoy().isoformat(),
        "email": "Ana@X.es",
        "telefono": "(+34) 612-345-678",
        "nif": "12345678z",
    }
    assert dpo.post(NUEVA, envio).status_code == 302
    solicitud = Solicitud.objects.get()
    assert solicitud.identificadores() == {
        "email": "Ana@X.es",
        "telefono": "(+34) 612-345-678",
        "nif": "12345678z",
    }
    assert apariciones("Ana@X.es") == apariciones("12345678z") == apariciones("612-345-678") == []
    servicios.retirar(solicitud=solicitud, motivo="Ya no lo pide", por=dpo.usuario)
    solicitud.refresh_from_db()
    assert bytes(solicitud.reservado) == b""
    assert solicitud.identificadores() == {}


@pytest.mark.parametrize(
    ("campo", "valor", "frase"),
    [
        ("email", "ana", "Escriba la dirección entera"),
        ("telefono", "12", "Escriba el número entero"),
        ("nif", "12345678A", "la letra les corresponde"),
        ("nombre", "A", "Escriba el nombre y los apellidos"),
    ],
)
def test_un_dato_mal_escrito_se_dice_junto_a_su_campo(
    campo: str, valor: str, frase: str, navegar: Callable[..., Any]
) -> None:
    respuesta = navegar("dpo").post(
        NUEVA,
        {
            "espacio": "clientes",
            "sujeto_id": "C1",
            "canal": "web",
            "recibida": plazos.hoy().isoformat(),
            campo: valor,
        },
    )
    assert respuesta.status_code == 422
    assert frase in respuesta.content.decode()
    assert not Solicitud.objects.exists()
