"""What this application keeps of who signs in to it is given, and not only counted (art. 15 GDPR)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from privacidad import entradas, expedientes, servicios
from privacidad.models import Expediente
from tests.privacidad.lector import leer
from tests.privacidad.test_acceso import bajado, contenido

CLAVE = "una clave larga de prueba"


@pytest.fixture
def empleada(persona: Callable[..., Any]) -> Any:
    """An employee with an account, who signed in after failing twice; somebody else failed too."""
    for nombre in ("E7", "E70"):
        quien = persona("operaciones", nombre=nombre)
        quien.set_password(CLAVE)
        quien.email = f"{nombre.lower()}@casa.example"
        quien.save()
        for clave in ("otra", "mala", CLAVE):
            Client(REMOTE_ADDR="10.0.0.7", HTTP_USER_AGENT=f"Navegador de {nombre}").post(
                "/admin/login/", {"username": nombre, "password": clave}
            )
            if nombre == "E70":
                break
    return quien.__class__.objects.get(username="E7")


def expediente(por: Any, sujeto_id: str = "E7", espacio: str = "empleados") -> Expediente:
    return servicios.producir(espacio=espacio, sujeto_id=sujeto_id, por=por)


def registrar(propietario: Any, cuantos: int, usuario: str = "E7") -> None:
    propietario.execute(
        "INSERT INTO axes_accesslog (username, user_agent, ip_address, http_accept, path_info, attempt_time,"
        " logout_time, session_hash) SELECT %s, 'Navegador', ('10.0.0.' || n %% 250)::inet, '', '/admin/',"
        " now() - n * interval '1 hour', NULL, '' FROM generate_series(1, %s) n",
        [usuario, cuantos],
    )


def test_se_dan_las_entradas_los_intentos_las_sesiones_y_la_cuenta(
    empleada: Any, propietario: Any, dpo: Any
) -> None:
    propietario.execute(
        "INSERT INTO axes_accessfailurelog (username, user_agent, ip_address, http_accept, path_info,"
        " attempt_time, locked_out) VALUES ('E7', '<unknown>', '10.0.0.9', '', '/admin/login/',"
        " now() - interval '1 day', true)"
    )
    propietario.execute(
        "INSERT INTO axes_accessattempt (username, user_agent, ip_address, http_accept, path_info,"
        " attempt_time, get_data, post_data, failures_since_start) VALUES ('E7', 'Navegador', '10.0.0.8', '',"
        " '/admin/login/', now() - interval '2 days', '', '', 3)"
    )
    hecho = expediente(dpo)
    todo = contenido(hecho, dpo)
    (cuenta,) = todo["cuenta"]
    assert (cuenta["usuario"], cuenta["correo"], cuenta["activa"]) == ("E7", "e7@casa.example", True)
    assert cuenta["grupos"] == ["operaciones"]
    assert [(a["que"], a.get("direccion")) for a in todo["accesos"]] == [
        ("sesión abierta", None),
        ("entrada", "10.0.0.7"),
        ("intento fallido", "10.0.0.9"),
        ("intentos fallidos seguidos", "10.0.0.8"),
    ]
    sesion, entrada, fallido, seguidos = todo["accesos"]
    assert datetime.fromisoformat(sesion["caduca"]) > timezone.now()
    assert timezone.now() - datetime.fromisoformat(entrada["momento"]) < timedelta(minutes=5)
    assert (entrada["programa"], entrada["pagina"]) == ("Navegador de E7", "/admin/login/")
    assert fallido["bloqueado"]
    assert seguidos["cuantos"] == 3
    casa = next(r for r in todo["recuentos"] if r["donde"] == "casa")["cuantos"]
    assert casa["accesos"] + casa["sesiones"] == len(todo["accesos"])
    papel = leer(bajado(hecho, "pdf", dpo))
    for frase in (
        "Accesos a esta aplicación (4)",
        "entrada, desde 10.0.0.7, con Navegador de E7.",
        "intento fallido, y se bloqueó la entrada, desde 10.0.0.9.",
        "intentos fallidos seguidos, 3 hasta entonces, desde 10.0.0.8",
        "Sesión abierta, que caduca el",
        "e7@casa.example",
    ):
        assert frase in papel


def test_lo_que_no_se_da_se_dice_y_nada_sirve_para_entrar(empleada: Any, dpo: Any) -> None:
    hecho = expediente(dpo)
    todo = json.dumps(contenido(hecho, dpo), ensure_ascii=False)
    papel = leer(bajado(hecho, "pdf", dpo))
    for secreto in (*Session.objects.values_list("pk", flat=True), empleada.password):
        assert secreto not in todo
        assert secreto not in papel
    assert "E70" not in todo
    no_incluye = contenido(hecho, dpo)["no_incluye"]
    assert any("contraseña" in frase for frase in no_incluye)
    assert any("Lo que hizo en esta aplicación" in frase for frase in no_incluye)
    assert all(" ".join(frase.split())[:60] in papel for frase in no_incluye)
    # What is only counted is said, of anybody.
    de_cliente = contenido(expediente(dpo, "C1", "clientes"), dpo)["no_incluye"]
    assert any("solo figura cuánto hay" in frase for frase in de_cliente)
    assert not any("contraseña" in frase for frase in de_cliente)


def test_se_dice_para_que_y_cuanto_tiempo(empleada: Any, dpo: Any) -> None:
    def frases(espacio: str) -> dict[str, str]:
        partes = contenido(expediente(dpo, "E7", espacio), dpo)["informacion"]
        return {p["letra"]: " ".join(p["frases"]) for p in partes}

    de_empleada, de_cliente = frases("empleados"), frases("clientes")
    for letra, frase in (
        ("a", "para proteger las cuentas"),
        ("b", "su cuenta y sus accesos"),
        ("d", "no tienen plazo en la aplicación"),
        ("g", "lo anota la aplicación al entrar"),
    ):
        assert frase in de_empleada[letra]
        assert frase not in de_cliente[letra]


@pytest.mark.parametrize("espacio", ["clientes", "proveedores"])
def test_de_un_cliente_o_proveedor_que_se_llame_igual_no_hay_accesos(
    espacio: str, empleada: Any, dpo: Any
) -> None:
    todo = contenido(expediente(dpo, "E7", espacio), dpo)
    assert todo["cuenta"] == todo["accesos"] == []


def test_miles_de_accesos_se_leen_en_las_mismas_consultas(
    empleada: Any, propietario: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def consultas() -> int:
        with CaptureQueriesContext(connection) as hechas:
            assert sum(1 for _ in _todo()) == entradas.contar("empleados", "E7") + 1  # and the session
        return len(hechas)

    def _todo() -> Iterator[dict[str, Any]]:
        return entradas.accesos("empleados", "E7")

    antes = consultas()
    filas = expedientes.filas("empleados", "E7")
    registrar(propietario, 1_200)
    assert consultas() == antes
    # So many are not for a page to wait for.
    assert expedientes.filas("empleados", "E7") == filas + 1_200
    assert max(len(json.dumps(a)) for a in _todo()) < 2_500
