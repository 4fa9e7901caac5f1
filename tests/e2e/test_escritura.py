"""Writing notices in a real browser: by keyboard, through a session that ends, two people at once."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.utils import timezone
from playwright.sync_api import Page, expect

from compras import lectura, servicios
from compras.models import Proveedor, Retirada
from memoria.models import Documento
from tests.e2e.conftest import CLAVE, Visita

NUEVO = "/compras/avisos/nuevo/"
TEXTO = "Cierran la fábrica por vacaciones del 3 al 24 de agosto."


@pytest.fixture
def proveedores(bd: str) -> Proveedor:
    """2,500 suppliers; the one the tests write about is among them."""
    Proveedor.objects.bulk_create(
        Proveedor(codigo=f"Q{n:04}", nombre=f"Suministros {n:04}") for n in range(2_498)
    )
    Proveedor.objects.create(codigo="Z1", nombre="Alfarería inactiva", activo=False)
    return Proveedor.objects.create(codigo="P1", nombre="Alfarería del Túria")


def escribir(pagina: Page, texto: str = TEXTO) -> None:
    pagina.get_by_label("Proveedor").fill("P1")
    pagina.get_by_label("Texto").press_sequentially(texto)


def calentar(visita: Visita, proveedor: Proveedor) -> None:
    """The server has read its model of the language: it does so once, when first asked what a text means."""
    servicios.escribir(
        proveedor=proveedor,
        texto="Suben los portes en enero",
        fecha=timezone.localdate(),
        por=User.objects.get(username="quien-llega-primero"),
    )
    escribir(visita.ir(NUEVO), "Los portes suben en enero")
    expect(visita.pagina.get_by_text("¿Es este?")).to_be_visible()


def borradores(pagina: Page) -> list[str]:
    claves: list[str] = pagina.evaluate(
        "Object.keys(sessionStorage).filter((c) => c.startsWith('borrador:'))"
    )
    return claves


def guardados() -> list[str]:
    return [d.value["texto"] for d in Documento.objects.del_espacio("proveedores")]


# -- by keyboard ----------------------------------------------------------------------------------------


def test_from_login_to_a_saved_notice_by_keyboard_in_ten_seconds(
    visitar: Callable[..., Visita], proveedores: Proveedor, propietario: psycopg.Connection
) -> None:
    calentar(visitar("compras", nombre="quien-llega-primero"), proveedores)
    visita = visitar("compras")
    # What it takes is the least of three: a busy machine adds to it, and nothing takes from it.
    tardado = de_la_puerta_al_aviso(visita)
    for _vez in range(2):
        if tardado >= 10:
            propietario.execute("DELETE FROM langgraph.store")
            tardado = min(tardado, de_la_puerta_al_aviso(visita))
    assert tardado < 10, tardado


def de_la_puerta_al_aviso(visita: Visita) -> float:
    """By keyboard alone, from the log-in to a saved notice of P1; the seconds it took."""
    pagina, teclas = visita.pagina, visita.pagina.keyboard
    pagina.context.clear_cookies()
    pagina.goto(visita.sitio + "/")
    autora = User.objects.get(username="compras").pk
    empieza = time.monotonic()
    teclas.type("compras", delay=10)
    teclas.press("Tab")
    teclas.type(CLAVE, delay=10)
    teclas.press("Enter")
    pagina.wait_for_url(visita.sitio + "/")
    for tecla in ("Tab", "Enter", "Tab", "Enter"):  # past the header, and the first card
        teclas.press(tecla)
    pagina.wait_for_url(f"**{NUEVO}")
    expect(pagina.get_by_label("Proveedor")).to_be_focused()
    teclas.type("turia alf", delay=10)
    teclas.press("Tab")
    expect(pagina.get_by_label("Proveedor")).to_have_value("Alfarería del Túria (P1)")
    teclas.type(TEXTO, delay=10)
    teclas.press("Tab")
    expect(pagina.get_by_label("Importancia")).to_be_focused()
    teclas.type("Alta")
    teclas.press("Tab")
    teclas.type("Vacaciones", delay=10)
    teclas.press("Enter")
    expect(pagina.get_by_text("El aviso está guardado")).to_be_visible()
    tardado = time.monotonic() - empieza
    visita.revisar()
    documento = Documento.objects.del_sujeto("proveedores", "P1").get(value__autor=str(autora))
    assert {c: documento.value[c] for c in ("texto", "importancia", "asunto", "fecha")} == {
        "texto": TEXTO,
        "importancia": "alta",
        "asunto": "Vacaciones",
        "fecha": timezone.localdate().isoformat(),
    }
    assert borradores(pagina) == []
    return tardado


def test_suppliers_come_as_they_are_typed_and_the_inactive_do_not(
    visitar: Callable[..., Visita], proveedores: Proveedor
) -> None:
    visita = visitar("compras")
    pagina = visita.ir(NUEVO)
    opciones = pagina.locator("#proveedores-sugeridos option")
    assert opciones.count() <= 12
    pedidas: list[str] = []
    pagina.on("request", lambda r: pedidas.append(r.url))
    pagina.get_by_label("Proveedor").press_sequentially("alfareria")
    expect(opciones).to_have_count(1)
    assert opciones.first.get_attribute("value") == "Alfarería del Túria (P1)"
    assert all("alfareria" not in url for url in pedidas)
    pagina.get_by_label("Proveedor").fill("q0123")
    expect(opciones.first).to_have_attribute("value", "Suministros 0123 (Q0123)")


# -- before saving --------------------------------------------------------------------------------------


def test_what_is_already_written_is_shown_while_typing_and_before_saving_it_again(
    visitar: Callable[..., Visita], proveedores: Proveedor, persona: Callable[..., Any]
) -> None:
    servicios.escribir(
        proveedor=proveedores,
        texto=TEXTO,
        fecha=timezone.localdate(),
        por=persona("compras", nombre="otra"),
    )
    visita = visitar("compras")
    pagina = visita.ir(NUEVO)
    pedidas: list[str] = []
    pagina.on("request", lambda r: pedidas.append(r.url))
    escribir(pagina, "Cierran la fábrica por vacaciones en agosto")
    expect(pagina.get_by_text("¿Es este?")).to_be_visible()
    visita.revisar()
    assert all("cierran" not in url.lower() for url in pedidas)
    pagina.get_by_label("Texto").fill(TEXTO)
    pagina.get_by_role("button", name="Guardar el aviso").click()
    expect(pagina.get_by_text("Esto ya está escrito.")).to_be_visible()
    assert len(guardados()) == 1
    visita.quejas = [q for q in visita.quejas if "422" not in q]
    visita.revisar()
    pagina.get_by_role("button", name="Guardar igualmente").click()
    expect(pagina.get_by_text("El aviso está guardado")).to_be_visible()
    assert len(guardados()) == 2


def test_identifiers_are_pointed_out_and_kept_only_with_a_reason(
    visitar: Callable[..., Visita], proveedores: Proveedor
) -> None:
    visita = visitar("compras")
    pagina = visita.ir(NUEVO)
    escribir(pagina, "Llamar a Ramón al 612 34 56 78 antes de pedir")
    pagina.get_by_role("button", name="Guardar el aviso").click()
    expect(pagina.locator("mark")).to_have_text("612 34 56 78")
    expect(pagina.get_by_label("Por qué hace falta guardarlo")).to_be_focused()
    visita.quejas = [q for q in visita.quejas if "422" not in q]
    visita.revisar()
    assert guardados() == []
    pagina.keyboard.type("Es el teléfono del muelle")
    pagina.keyboard.press("Enter")
    expect(pagina.get_by_text("El aviso está guardado")).to_be_visible()
    assert guardados() == ["Llamar a Ramón al 612 34 56 78 antes de pedir"]
    assert borradores(pagina) == []


# -- nothing is lost ---------------------------------------------------------------------------------------


def test_a_session_that_ends_mid_text_loses_nothing(
    visitar: Callable[..., Visita], proveedores: Proveedor
) -> None:
    visita = visitar("compras")
    pagina = visita.ir(NUEVO)
    escribir(pagina)
    Session.objects.all().delete()
    pagina.get_by_role("button", name="Guardar el aviso").click()
    pagina.wait_for_url("**/admin/login/**")
    assert guardados() == []
    pagina.locator("#id_username").fill("compras")
    pagina.locator("#id_password").fill(CLAVE)
    pagina.locator("#login-form [type=submit]").click()
    pagina.wait_for_url(f"**{NUEVO}")
    expect(pagina.get_by_text("Se ha recuperado lo que estaba escribiendo.")).to_be_visible()
    expect(pagina.get_by_label("Texto")).to_have_value(TEXTO)
    expect(pagina.get_by_label("Proveedor")).to_have_value(re.compile("P1"))
    visita.revisar()
    pagina.get_by_role("button", name="Guardar el aviso").click()
    expect(pagina.get_by_text("El aviso está guardado")).to_be_visible()
    assert guardados() == [TEXTO]
    assert borradores(pagina) == []


def test_leaving_asks_and_coming_back_finds_it(
    visitar: Callable[..., Visita], proveedores: Proveedor
) -> None:
    visita = visitar("compras")
    pagina = visita.ir(NUEVO)
    escribir(pagina)
    preguntas: list[str] = []

    def quedarse(dialogo: Any) -> None:
        preguntas.append(dialogo.type)
        dialogo.dismiss()

    inicio = pagina.get_by_role("link", name="Avisos", exact=True).first
    pagina.once("dialog", quedarse)
    inicio.click()
    expect(pagina.get_by_label("Texto")).to_have_value(TEXTO)
    assert preguntas == ["beforeunload"]
    pagina.once("dialog", lambda d: d.accept())
    inicio.click()
    pagina.wait_for_url("**/compras/avisos/")
    visita.ir(NUEVO)
    expect(pagina.get_by_label("Texto")).to_have_value(TEXTO)
    pagina.get_by_role("button", name="Descartar").click()
    expect(pagina.get_by_label("Texto")).to_have_value("")
    expect(pagina.get_by_role("button", name="Descartar")).to_be_hidden()
    assert borradores(pagina) == []
    visita.ir("/compras/avisos/")  # nothing is asked: an unanswered question would end the test
    visita.ir(NUEVO)
    expect(pagina.get_by_label("Texto")).to_have_value("")


def test_going_back_without_saving_asks_once_and_leaves_nothing(
    visitar: Callable[..., Visita], proveedores: Proveedor
) -> None:
    visita = visitar("compras")
    pagina = visita.ir(NUEVO)
    escribir(pagina)
    preguntas: list[tuple[str, str]] = []

    def contestar(dialogo: Any) -> None:
        preguntas.append((dialogo.type, dialogo.message))
        dialogo.dismiss() if len(preguntas) == 1 else dialogo.accept()

    pagina.on("dialog", contestar)
    pagina.get_by_role("link", name="Volver sin guardar").click()
    expect(pagina.get_by_label("Texto")).to_have_value(TEXTO)
    assert len(borradores(pagina)) == 1
    pagina.get_by_role("link", name="Volver sin guardar").click()
    pagina.wait_for_url("**/compras/avisos/")
    assert [tipo for tipo, _ in preguntas] == ["confirm", "confirm"]
    assert "se perderá" in preguntas[0][1]
    assert borradores(pagina) == []
    visita.ir(NUEVO)
    expect(pagina.get_by_label("Texto")).to_have_value("")


def test_a_draft_of_one_supplier_is_not_put_into_the_page_of_another(
    visitar: Callable[..., Visita], proveedores: Proveedor
) -> None:
    visita = visitar("compras")
    pagina = visita.ir(f"{NUEVO}?proveedor=Q0203")
    pagina.on("dialog", lambda d: d.accept())
    pagina.get_by_label("Texto").fill("Esto es del 203")
    visita.ir(f"{NUEVO}?proveedor=Q0202")
    expect(pagina.get_by_label("Proveedor")).to_have_value("Suministros 0202 (Q0202)")
    expect(pagina.get_by_label("Texto")).to_have_value("")
    # Nor does one begun on the page of no supplier, or that of another typed on this one.
    visita.ir(NUEVO)
    pagina.get_by_label("Proveedor").fill("P1")
    visita.ir(f"{NUEVO}?proveedor=Q0202")
    expect(pagina.get_by_label("Proveedor")).to_have_value("Suministros 0202 (Q0202)")
    pagina.get_by_label("Proveedor").fill("P1")
    pagina.get_by_label("Texto").fill("Esto es del 202")
    visita.ir(f"{NUEVO}?proveedor=Q0202")
    expect(pagina.get_by_label("Texto")).to_have_value("Esto es del 202")
    expect(pagina.get_by_label("Proveedor")).to_have_value("Suministros 0202 (Q0202)")
    pagina.get_by_role("button", name="Guardar el aviso").click()
    expect(pagina.get_by_text("El aviso está guardado")).to_be_visible()
    assert [d.prefix for d in Documento.objects.del_espacio("proveedores")] == ["proveedores.Q0202"]
    visita.ir(f"{NUEVO}?proveedor=Q0203")
    expect(pagina.get_by_label("Texto")).to_have_value("Esto es del 203")


def test_enter_takes_the_supplier_and_saves_nothing(
    visitar: Callable[..., Visita], proveedores: Proveedor
) -> None:
    pagina = visitar("compras").ir(NUEVO)
    teclas = pagina.keyboard
    expect(pagina.get_by_label("Proveedor")).to_be_focused()
    teclas.type("turia alf", delay=10)
    expect(pagina.locator("#proveedores-sugeridos option")).to_have_count(1)
    teclas.press("Enter")
    expect(pagina.get_by_label("Proveedor")).to_have_value("Alfarería del Túria (P1)")
    expect(pagina.get_by_label("Proveedor")).to_be_focused()
    teclas.press("Tab")
    expect(pagina.get_by_label("Texto")).to_be_focused()
    assert pagina.url.endswith(NUEVO)
    expect(pagina.get_by_role("alert")).to_have_count(0)


def test_a_save_that_does_not_arrive_loses_nothing(
    visitar: Callable[..., Visita], proveedores: Proveedor
) -> None:
    visita = visitar("compras")
    pagina = visita.ir(NUEVO)
    escribir(pagina)
    pagina.route(
        "**" + NUEVO, lambda ruta: ruta.abort() if ruta.request.method == "POST" else ruta.continue_()
    )
    pagina.get_by_role("button", name="Guardar el aviso").click()
    pagina.wait_for_url("chrome-error://**")
    pagina.unroute("**" + NUEVO)
    visita.quejas.clear()  # the browser's own: the connection was cut
    visita.ir(NUEVO)
    expect(pagina.get_by_label("Texto")).to_have_value(TEXTO)
    pagina.get_by_role("button", name="Guardar el aviso").click()
    expect(pagina.get_by_text("El aviso está guardado")).to_be_visible()
    assert guardados() == [TEXTO]


def test_a_save_whose_answer_was_lost_is_not_written_twice(
    visitar: Callable[..., Visita], proveedores: Proveedor
) -> None:
    visita = visitar("compras")
    pagina = visita.ir(NUEVO)
    escribir(pagina)

    def perder_la_respuesta(ruta: Any) -> None:
        if ruta.request.method == "POST":
            ruta.fetch(max_redirects=0)
            ruta.abort()
        else:
            ruta.continue_()

    pagina.route("**" + NUEVO, perder_la_respuesta)
    pagina.get_by_role("button", name="Guardar el aviso").click()
    pagina.wait_for_url("chrome-error://**")
    pagina.unroute("**" + NUEVO)
    visita.quejas.clear()
    assert guardados() == [TEXTO]
    # It was saved, and the next page says so: there is nothing to put back.
    visita.ir(NUEVO)
    expect(pagina.get_by_text("El aviso está guardado")).to_be_visible()
    expect(pagina.get_by_label("Texto")).to_have_value("")
    assert guardados() == [TEXTO]
    assert borradores(pagina) == []


def test_a_form_that_another_sign_in_made_stale_loses_nothing(
    visitar: Callable[..., Visita], proveedores: Proveedor
) -> None:
    visita = visitar("compras")
    pagina = visita.ir(NUEVO)
    escribir(pagina)
    pagina.context.clear_cookies(name="csrftoken")  # as signing in again in another tab changes it
    pagina.get_by_role("button", name="Guardar el aviso").click()
    expect(pagina.get_by_role("heading", name="La sesión ha caducado")).to_be_visible()
    pagina.go_back()
    expect(pagina.get_by_text("Se ha recuperado lo que estaba escribiendo.")).to_be_visible()
    expect(pagina.get_by_label("Texto")).to_have_value(TEXTO)
    pagina.get_by_role("button", name="Guardar el aviso").click()
    expect(pagina.get_by_text("El aviso está guardado")).to_be_visible()
    assert guardados() == [TEXTO]


def test_a_draft_is_of_one_person_and_one_tab(
    visitar: Callable[..., Visita], proveedores: Proveedor, persona: Callable[..., Any]
) -> None:
    persona("compras", nombre="otra")
    visita = visitar("compras")
    pagina = visita.ir(NUEVO)
    escribir(pagina)
    assert len(borradores(pagina)) == 1
    assert pagina.evaluate("localStorage.length") == pagina.evaluate(
        "Object.keys(localStorage).filter((c) => c === 'theme').length"
    )
    nueva = pagina.context.new_page()
    nueva.goto(visita.sitio + NUEVO)
    expect(nueva.get_by_label("Texto")).to_have_value("")
    nueva.close()
    # Somebody else signs in at the same counter, in the same tab.
    Session.objects.all().delete()
    pagina.get_by_role("button", name="Guardar el aviso").click()
    pagina.wait_for_url("**/admin/login/**")
    pagina.locator("#id_username").fill("otra")
    pagina.locator("#id_password").fill(CLAVE)
    pagina.locator("#login-form [type=submit]").click()
    pagina.wait_for_url(f"**{NUEVO}")
    expect(pagina.get_by_label("Texto")).to_have_value("")
    assert borradores(pagina) == []


def test_leaving_the_site_leaves_no_draft(visitar: Callable[..., Visita], proveedores: Proveedor) -> None:
    visita = visitar("compras")
    pagina = visita.ir(NUEVO)
    escribir(pagina)
    pagina.once("dialog", lambda d: d.accept())
    pagina.get_by_role("button", name="Salir").click()
    pagina.wait_for_url(re.compile("/admin/l"))
    assert borradores(pagina) == []


# -- two people ------------------------------------------------------------------------------------------


def test_two_people_correct_one_notice_and_both_versions_are_side_by_side(
    visitar: Callable[..., Visita], proveedores: Proveedor, persona: Callable[..., Any]
) -> None:
    autora = persona("compras", nombre="autora")
    clave = servicios.escribir(
        proveedor=proveedores, texto="Cierran en julio", fecha=timezone.localdate(), por=autora
    )
    escrito = lectura.uno("P1", clave)
    ruta = f"/compras/avisos/P1/{clave}/corregir/"
    ana, luis = visitar("compras", nombre="ana"), visitar("compras", nombre="luis")
    suya, de_luis = ana.ir(ruta), luis.ir(ruta)
    de_luis.get_by_label("Texto").fill("Cierran en agosto")
    luis.pulsar("Guardar la corrección")
    suya.get_by_label("Texto").fill("Cierran en julio y no avisan")
    suya.get_by_role("button", name="Guardar la corrección").click()
    expect(suya.get_by_text("Otra persona cambió este aviso")).to_be_visible()
    ana.quejas = [q for q in ana.quejas if "422" not in q]
    ana.revisar()
    otra = suya.get_by_role("region", name="Lo que hay ahora")
    mia = suya.get_by_role("region", name="Lo que ha escrito usted")
    expect(otra).to_contain_text("Cierran en agosto")
    expect(mia.get_by_label("Texto")).to_have_value("Cierran en julio y no avisan")
    expect(suya.get_by_text("Lo cambió luis")).to_be_visible()
    cajas = otra.bounding_box(), mia.bounding_box()
    assert cajas[0]
    assert cajas[1]
    assert cajas[0]["y"] == cajas[1]["y"]
    assert cajas[0]["x"] + cajas[0]["width"] <= cajas[1]["x"]
    mia.get_by_label("Texto").fill("Cierran en agosto y no avisan")
    ana.pulsar("Guardar la corrección")
    final = lectura.uno("P1", clave)
    assert escrito
    assert final
    assert final.texto == "Cierran en agosto y no avisan"
    assert (final.autor, final.escrito, final.caduca) == (str(autora.pk), escrito.escrito, escrito.caduca)
    assert borradores(suya) == []


def test_withdrawn_and_put_back(
    visitar: Callable[..., Visita], proveedores: Proveedor, persona: Callable[..., Any]
) -> None:
    clave = servicios.escribir(
        proveedor=proveedores,
        texto=TEXTO,
        fecha=timezone.localdate(),
        por=persona("compras", nombre="autora"),
    )
    visita = visitar("compras")
    pagina = visita.ir(f"/compras/avisos/P1/{clave}/")
    pagina.get_by_role("link", name="Ya es una incidencia").click()
    visita.revisar()
    expect(pagina.get_by_label("Ya es una incidencia")).to_be_checked()
    pagina.get_by_label("Referencia de la incidencia").fill("INC-2026-0031")
    visita.pulsar("Retirar el aviso")
    assert guardados() == []
    pagina = visita.ir("/compras/retirados/")
    expect(pagina.get_by_text("INC-2026-0031")).to_be_visible()
    visita.pulsar("Reponer el aviso")
    expect(pagina.get_by_text(TEXTO)).to_be_visible()
    assert guardados() == [TEXTO]
    assert not Retirada.objects.exists()
