"""Failed sign-ins are counted by name, and keep no name that is not an account's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.conf import settings
from django.test import Client
from django.urls import reverse

CLIENTE = "CANARIO-ñ 5521"


def entrar(nombre: str, clave: str = "mal", **opciones: Any) -> Any:
    return Client().post(reverse("admin:login"), {"username": nombre, "password": clave, **opciones})


@pytest.mark.parametrize("nombre", [CLIENTE, "canaria@ejemplo.es", "x" * 254])
def test_un_nombre_que_no_es_de_una_cuenta_no_se_anota(nombre: str, apuntados: Callable[[], str]) -> None:
    for _vez in range(2):
        assert entrar(nombre, next=f"/memoria/ficha/clientes/{nombre}/").status_code == 200
    intento = AccessAttempt.objects.get()  # one name, one row
    assert intento.failures_since_start == 2
    assert intento.username.startswith("desconocido-")
    assert nombre not in apuntados()


def test_el_de_una_cuenta_si_porque_es_de_quien_trabaja_aqui(persona: Callable[..., Any]) -> None:
    persona("dpo", nombre="lola")
    entrar("lola")
    entrar("LOLA")
    anotados = set(AccessAttempt.objects.values_list("username", flat=True))
    assert "lola" in anotados
    assert len(anotados) == 2
    assert entrar("lola", "clave-de-prueba").status_code == 302
    assert not AccessAttempt.objects.filter(username="lola").exists()  # a good one forgets the bad ones


@pytest.mark.parametrize("nombre", ["lola", CLIENTE])
def test_quien_prueba_muchas_veces_queda_bloqueado_como_antes(
    nombre: str, persona: Callable[..., Any]
) -> None:
    persona("dpo", nombre="lola")
    respuestas = [entrar(nombre).status_code for _vez in range(settings.AXES_FAILURE_LIMIT)]
    assert respuestas[:-1] == [200] * (settings.AXES_FAILURE_LIMIT - 1)
    assert respuestas[-1] == entrar(nombre).status_code == 429
    assert entrar("otra").status_code == 200


def test_un_nombre_imposible_no_rompe_la_pagina(bd: str) -> None:
    assert entrar("a\x00b").status_code == 200


def test_lo_que_iba_en_la_direccion_tampoco(apuntados: Callable[[], str]) -> None:
    pagina = reverse("explorador:ficha", args=["clientes", CLIENTE])
    cliente = Client()
    a_la_puerta: Any = cliente.get(pagina)
    assert a_la_puerta.status_code == 302
    cliente.post(a_la_puerta.url, {"username": "nadie", "password": "mal"})
    assert AccessAttempt.objects.count() == 1
    assert "5521" not in apuntados()


@pytest.fixture
def apuntados(propietario: Any) -> Callable[[], str]:
    """Everything the table of attempts holds."""
    return lambda: str(propietario.execute("SELECT to_jsonb(a)::text FROM axes_accessattempt a").fetchall())
