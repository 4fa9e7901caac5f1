"""The panel: what needs each person today, and nothing of what they may not see."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.apps import apps
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memoria.explorador.palabras import caduca_en
from memoria.models import Ejecucion
from memoria.politica import documento_preferencia, espacio


def tarjetas(cliente: Client) -> dict[str, Any]:
    respuesta = cliente.get("/")
    assert respuesta.status_code == 200
    return {str(t.titulo): t for t in respuesta.context["tarjetas"]}


def test_anonymous_is_sent_to_the_login(bd: str, client: Client) -> None:
    assert client.get("/")["Location"] == f"{reverse('admin:login')}?next=/"


def test_an_account_without_group_is_told_whom_to_ask(navegar: Callable[..., Client]) -> None:
    respuesta = navegar().get("/")
    assert "Pida a quien administra las cuentas" in respuesta.content.decode()
    assert respuesta.context["tarjetas"] == []


def test_documents_per_namespace(navegar: Callable[..., Client], almacen: Any) -> None:
    for tipo in ("idioma", "horario"):
        clave, documento = documento_preferencia("clientes", tipo=tipo, valor="v", hilo="h")
        almacen.put(espacio("clientes", "C9"), clave, documento)
    tarjeta = tarjetas(navegar("consulta"))["Memoria: clientes"]
    assert (tarjeta.cifra, tarjeta.url) == (2, "/memoria/clientes/")
    assert tarjeta.frase == "documentos, de 1 sujeto."


def test_operations_see_what_awaits_the_sweep(
    navegar: Callable[..., Client], propietario: psycopg.Connection
) -> None:
    cliente = navegar("operaciones")
    assert "Caducados sin borrar" not in tarjetas(cliente)
    propietario.execute(
        "INSERT INTO langgraph.store (prefix, key, value, expires_at) VALUES ('clientes.A', 'k', '{}', now())"
    )
    assert tarjetas(cliente)["Caducados sin borrar"].cifra == 1


@pytest.mark.parametrize(
    ("codigo", "tono", "frase"),
    [
        (0, "bien", "Terminó bien."),
        (75, "mal", "código de salida 75"),
        (None, "aviso", "no ha terminado"),
    ],
)
def test_operations_see_the_last_run_of_each_command(
    navegar: Callable[..., Client], codigo: int | None, tono: str, frase: str
) -> None:
    for n, c in ((2, 1), (0, codigo), (1, 2)):
        Ejecucion.objects.create(
            comando="barrer", version="0", codigo=c, inicio=timezone.now() - timedelta(days=n)
        )
    Ejecucion.objects.create(comando="podar", version="0", codigo=0)
    cliente = navegar("operaciones")
    del_barrido = tarjetas(cliente)["Última ejecución de «barrer»"]
    assert del_barrido.tono == tono
    assert frase in del_barrido.frase
    assert "Última ejecución de «podar»" in tarjetas(cliente)
    assert [e.comando for e in cliente.get(del_barrido.url).context["cl"].result_list] == ["barrer"] * 3


def test_each_sees_only_their_own(navegar: Callable[..., Client], propietario: psycopg.Connection) -> None:
    Ejecucion.objects.create(comando="barrer", version="0", codigo=0)
    assert not [t for t in tarjetas(navegar("dpo")) if "ejecución" in t]
    assert not [t for t in tarjetas(navegar("operaciones")) if t.startswith("Memoria:")]
    assert not [t for t in tarjetas(navegar("compras")) if "ejecución" in t or t.startswith("Memoria:")]


def test_an_application_adds_its_own_cards(
    navegar: Callable[..., Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        apps.get_app_config("sessions"), "panel", f"{__name__}._tarjetas_de_prueba", raising=False
    )
    vistas = tarjetas(navegar("dpo"))
    assert vistas["Prueba"].frase == "dpo"
    # What there is to do comes before how the memory is doing.
    assert list(vistas).index("Prueba") < list(vistas).index("Memoria: clientes")


def _tarjetas_de_prueba(request: Any) -> list[Any]:
    from memoria.explorador.panel import Tarjeta

    return [Tarjeta(titulo="Prueba", frase=request.user.username)]


@pytest.mark.parametrize(
    ("falta", "frase"),
    [
        ({"days": 12, "hours": 1}, "dentro de 12 días"),
        ({"days": 2}, "dentro de 2 días"),
        ({"days": 364, "hours": 23, "minutes": 59}, "dentro de 365 días"),
        ({"hours": 47, "minutes": 59}, "dentro de 2 días"),
        ({"hours": 47, "minutes": 1}, "dentro de 47 horas"),
        ({"hours": 1}, "dentro de 1 hora"),
        ({"minutes": 59}, "dentro de menos de una hora"),
    ],
)
def test_how_long_is_left_in_words(falta: dict[str, int], frase: str) -> None:
    ahora = timezone.now()
    assert caduca_en(ahora + timedelta(**falta), ahora) == frase
    assert caduca_en(None, ahora) == "no caduca"
