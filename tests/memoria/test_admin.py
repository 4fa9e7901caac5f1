"""The admin: who comes in, what it lists, and that the memory is only read there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from memoria.models import ESPEJOS, Ejecucion, Hilo
from tests.memoria.explorador_comun import Enlaces, crear_hilo


@pytest.fixture
def jefe(bd: str) -> Client:
    """A superuser: what even they cannot do, nobody can."""
    cliente = Client()
    cliente.force_login(
        User.objects.create_superuser("jefe", password="clave-de-prueba"),
        backend="django.contrib.auth.backends.ModelBackend",
    )
    return cliente


@pytest.fixture
def filas(hilos: Any) -> dict[str, Any]:
    crear_hilo(hilos, "h1", "C9", puntos=2)
    return {
        "hilo": Hilo.objects.get(pk="h1"),
        "ejecucion": Ejecucion.objects.create(comando="barrer", version="0", codigo=0),
    }


SOLO_LECTURA = pytest.mark.parametrize("modelo", ["hilo", "ejecucion"])


@SOLO_LECTURA
def test_the_memory_is_read_in_the_admin(jefe: Client, filas: dict[str, Any], modelo: str) -> None:
    lista = jefe.get(reverse(f"admin:memoria_{modelo}_changelist"))
    una = jefe.get(reverse(f"admin:memoria_{modelo}_change", args=[filas[modelo].pk]))
    assert (lista.status_code, una.status_code) == (200, 200)
    html = una.content.decode()
    assert 'name="_save"' not in html
    assert "deletelink" not in html


@SOLO_LECTURA
@pytest.mark.parametrize("metodo", ["get", "post"])
def test_not_even_a_superuser_writes_there(
    jefe: Client, filas: dict[str, Any], modelo: str, metodo: str
) -> None:
    pk = filas[modelo].pk
    antes = list(type(filas[modelo]).objects.values())
    pedir = getattr(jefe, metodo)
    assert (
        pedir(reverse(f"admin:memoria_{modelo}_add"), {"comando": "x", "thread_id": "x"}).status_code == 403
    )
    assert pedir(reverse(f"admin:memoria_{modelo}_delete", args=[pk]), {"post": "yes"}).status_code == 403
    assert (
        jefe.post(reverse(f"admin:memoria_{modelo}_change", args=[pk]), {"comando": "x"}).status_code == 403
    )
    lista = reverse(f"admin:memoria_{modelo}_changelist")
    jefe.post(lista, {"action": "delete_selected", "_selected_action": pk, "post": "yes"})
    assert list(type(filas[modelo]).objects.values()) == antes


def test_a_thread_says_how_many_checkpoints_it_has(jefe: Client, filas: dict[str, Any]) -> None:
    html = jefe.get(reverse("admin:memoria_hilo_change", args=["h1"])).content.decode()
    assert '<div class="readonly">2</div>' in html


def test_threads_are_searched_by_exact_id(jefe: Client, hilos: Any) -> None:
    crear_hilo(hilos, "h1", "C9")
    crear_hilo(hilos, "h2", "C99")
    crear_hilo(hilos, "h3", "c9")
    lista = jefe.get(reverse("admin:memoria_hilo_changelist"), {"q": "C9"})
    assert [h.pk for h in lista.context["cl"].result_list] == ["h1"]


def _enlaces(cliente: Client, url: str) -> set[str | None]:
    respuesta = cliente.get(url)
    assert respuesta.status_code == 200
    # From the list on: the menu of the header has links of its own.
    return {
        a.get("href") for a in Enlaces(respuesta.content.decode().partition('id="content-main"')[2]).de("a")
    }


@pytest.mark.parametrize("url", ["/admin/", "/admin/memoria/"])
def test_the_index_leads_to_the_pages_of_the_mirrors(navegar: Callable[..., Client], url: str) -> None:
    enlaces = _enlaces(navegar("dpo"), url)
    assert {"/memoria/", "/admin/memoria/hilo/"} <= enlaces


def test_the_index_lists_only_what_the_person_may_see(navegar: Callable[..., Client]) -> None:
    enlaces = _enlaces(navegar("operaciones"), "/admin/")
    assert {"/admin/memoria/ejecucion/", "/admin/memoria/hilo/"} <= enlaces
    assert not {"/memoria/", "/admin/auth/user/"} & enlaces
    assert navegar().get("/admin/memoria/").status_code == 404


def test_no_mirror_is_registered() -> None:
    from django.contrib import admin

    assert not {m for m in ESPEJOS if admin.site.is_registered(m)}


def test_accounts_and_groups_are_managed_as_djangos(jefe: Client, persona: Callable[..., User]) -> None:
    usuario = persona("compras")
    assert jefe.get(reverse("admin:auth_user_change", args=[usuario.pk])).status_code == 200
    assert jefe.get(reverse("admin:auth_group_changelist")).status_code == 200


# -- coming in and going out --------------------------------------------------------------------------


@pytest.mark.parametrize("grupos", [(), ("compras",)], ids=str)
def test_any_account_comes_in_and_goes_out(
    persona: Callable[..., User], client: Client, grupos: tuple[str, ...]
) -> None:
    usuario = persona(*grupos)
    usuario.is_staff = False
    usuario.save()
    dentro = client.post(
        reverse("admin:login"), {"username": usuario.username, "password": "clave-de-prueba"}, follow=True
    )
    assert dentro.redirect_chain == [("/", 302)]
    formularios = Enlaces(dentro.content.decode()).de("form")
    assert {"method": "post", "action": reverse("admin:logout"), "id": "salir"} in formularios
    client.post(reverse("admin:logout"))
    assert client.get("/").status_code == 302


def test_whoever_is_in_already_goes_to_the_panel(navegar: Callable[..., Client]) -> None:
    assert navegar("compras").get(reverse("admin:login"))["Location"] == "/"


def test_an_account_that_was_switched_off_does_not_come_in(
    persona: Callable[..., User], client: Client
) -> None:
    usuario = persona("dpo")
    usuario.is_active = False
    usuario.save()
    respuesta = client.post(reverse("admin:login"), {"username": "dpo", "password": "clave-de-prueba"})
    assert respuesta.status_code == 200
    assert client.get("/").status_code == 302


def test_an_account_without_permissions_changes_nothing_in_the_admin(
    navegar: Callable[..., Client], persona: Callable[..., User]
) -> None:
    otra = persona("dpo")
    cliente = navegar()
    for url in (
        reverse("admin:auth_user_changelist"),
        reverse("admin:auth_user_change", args=[otra.pk]),
        reverse("admin:auth_group_add"),
        reverse("admin:memoria_hilo_changelist"),
        reverse("admin:memoria_ejecucion_changelist"),
    ):
        assert cliente.get(url).status_code == 403
        assert cliente.post(url, {"is_superuser": "on"}).status_code == 403
