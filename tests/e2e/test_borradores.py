"""Drafts in a real browser: each goes when its own save is known to have succeeded, and not before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.utils import timezone
from playwright.sync_api import Dialog, Page, Route, expect

from compras import servicios
from compras.models import Proveedor
from memoria.models import Documento
from tests.e2e.conftest import CLAVE, Visita

NUEVO = "/compras/avisos/nuevo/"
TEXTO = "Cierran la fábrica por vacaciones del 3 al 24 de agosto."


@pytest.fixture
def proveedor(bd: str) -> Proveedor:
    return Proveedor.objects.create(codigo="P1", nombre="Alfarería del Túria")


@pytest.fixture
def otro_aviso(proveedor: Proveedor, persona: Callable[..., Any]) -> str:
    """The path of the page that corrects a notice of another author."""
    clave = servicios.escribir(
        proveedor=proveedor,
        texto="Suben los portes en enero",
        fecha=timezone.localdate(),
        por=persona("compras", nombre="otra"),
    )
    return f"/compras/avisos/P1/{clave}/corregir/"


def borradores(pagina: Page) -> list[str]:
    claves: list[str] = pagina.evaluate(
        "Object.keys(sessionStorage).filter((c) => c.startsWith('borrador:'))"
    )
    return claves


def escribir(pagina: Page, texto: str = TEXTO) -> None:
    pagina.get_by_label("Proveedor").fill("P1")
    pagina.get_by_label("Texto").fill(texto)
    expect(pagina.get_by_label("Proveedor")).to_have_value("Alfarería del Túria (P1)")


def textos() -> list[str]:
    return sorted(d.value["texto"] for d in Documento.objects.del_espacio("proveedores"))


def pulsar_guardar(pagina: Page) -> None:
    pagina.get_by_role("button", name="Guardar el aviso").click()


def se_corta(visita: Visita) -> None:
    pagina = visita.pagina
    pagina.route("**" + NUEVO, lambda r: r.abort() if r.request.method == "POST" else r.continue_())
    pulsar_guardar(pagina)
    pagina.wait_for_url("chrome-error://**")
    pagina.unroute("**" + NUEVO)


def falla_la_pasarela(visita: Visita) -> None:
    pagina = visita.pagina

    def contestar(ruta: Route) -> None:
        if ruta.request.method == "POST":
            ruta.fulfill(status=502, body="<h1>Bad Gateway</h1>", content_type="text/html")
        else:
            ruta.continue_()

    pagina.route("**" + NUEVO, contestar)
    pulsar_guardar(pagina)
    expect(pagina.get_by_text("Bad Gateway")).to_be_visible()
    pagina.unroute("**" + NUEVO)


def caduca_la_sesion(visita: Visita) -> None:
    Session.objects.all().delete()
    pulsar_guardar(visita.pagina)
    visita.pagina.wait_for_url("**/admin/login/**")
    visita.pagina.goto(visita.sitio + "/")
    visita.pagina.locator("#id_username").fill("compras")
    visita.pagina.locator("#id_password").fill(CLAVE)
    visita.pagina.locator("#login-form [type=submit]").click()
    visita.pagina.wait_for_url(visita.sitio + "/")


@pytest.mark.parametrize("fallo", [se_corta, falla_la_pasarela, caduca_la_sesion])
def test_a_failed_save_is_still_there_when_something_else_has_been_saved(
    visitar: Callable[..., Visita], otro_aviso: str, fallo: Callable[[Visita], None]
) -> None:
    visita = visitar("compras")
    pagina = visita.ir(NUEVO)
    escribir(pagina)
    fallo(visita)
    visita.quejas.clear()  # the browser's own, of what failed
    visita.ir(otro_aviso).get_by_label("Texto").fill("Suben los portes en febrero")
    visita.pulsar("Guardar la corrección")
    expect(pagina.get_by_text("El aviso está corregido")).to_be_visible()
    assert len(borradores(pagina)) == 1
    visita.ir(NUEVO)
    expect(pagina.get_by_text("Se ha recuperado lo que estaba escribiendo.")).to_be_visible()
    expect(pagina.get_by_label("Texto")).to_have_value(TEXTO)
    visita.pulsar("Guardar el aviso")
    expect(pagina.get_by_text("El aviso está guardado")).to_be_visible()
    assert textos() == sorted([TEXTO, "Suben los portes en febrero"])
    assert borradores(pagina) == []


def test_what_another_tab_saved_takes_no_draft_of_this_one(
    visitar: Callable[..., Visita], proveedor: Proveedor
) -> None:
    visita = visitar("compras")
    pagina = visita.ir(NUEVO)
    escribir(pagina)
    se_corta(visita)
    visita.quejas.clear()
    otra = pagina.context.new_page()
    otra.goto(visita.sitio + NUEVO)
    escribir(otra, "Suben los portes en enero")

    def perder_la_respuesta(ruta: Route) -> None:
        if ruta.request.method == "POST":
            ruta.fetch(max_redirects=0)
            ruta.abort()
        else:
            ruta.continue_()

    otra.route("**" + NUEVO, perder_la_respuesta)
    pulsar_guardar(otra)
    otra.wait_for_url("chrome-error://**")
    assert textos() == ["Suben los portes en enero"]
    # It is this tab that is told, and what was saved is not what it holds: the same form, another save.
    visita.ir(NUEVO)
    expect(pagina.get_by_text("El aviso está guardado")).to_be_visible()
    expect(pagina.get_by_label("Texto")).to_have_value(TEXTO)


def test_suggestions_that_come_after_saving_make_no_draft_of_what_was_saved(
    visitar: Callable[..., Visita], proveedor: Proveedor
) -> None:
    visita = visitar("compras")
    pagina = visita.ir(NUEVO)
    pagina.route("**/escribir/proveedores/", lambda ruta: None)  # nobody answers: it is done below
    pagina.get_by_label("Proveedor").fill("P1")
    pagina.get_by_label("Texto").fill(TEXTO)
    # As htmx does with the answer, on a page that is already on its way out.
    pagina.evaluate("""() => {
        document.querySelector("form[data-borrador]").requestSubmit();
        const lista = document.getElementById("proveedores-sugeridos");
        lista.replaceChildren(new Option("", "Alfarería del Túria (P1)"));
        lista.dispatchEvent(new Event("htmx:afterSwap", { bubbles: true }));
        sessionStorage.setItem("completado", document.getElementById("id_proveedor").value);
    }""")
    expect(pagina.get_by_text("El aviso está guardado")).to_be_visible()
    assert pagina.evaluate("sessionStorage.getItem('completado')") == "Alfarería del Túria (P1)"
    assert borradores(pagina) == []
    visita.quejas.clear()  # htmx's, of what was being asked when the page went
    visita.ir(NUEVO)
    expect(pagina.get_by_label("Texto")).to_have_value("")
    expect(pagina.get_by_text("Se ha recuperado")).to_be_hidden()


def test_what_is_typed_while_it_is_being_saved_is_not_taken_for_saved(
    visitar: Callable[..., Visita], proveedor: Proveedor
) -> None:
    visita = visitar("compras")
    pagina = visita.ir(NUEVO)
    escribir(pagina)
    pagina.get_by_label("Texto").press("End")
    pagina.evaluate("""() => {
        document.querySelector("form[data-borrador]").requestSubmit();
        document.execCommand("insertText", false, " Y en Navidad.");
    }""")
    expect(pagina.get_by_text("El aviso está guardado")).to_be_visible()
    visita.quejas.clear()  # htmx's, of what was being asked when the page went
    visita.ir(NUEVO)
    expect(pagina.get_by_label("Texto")).to_have_value(TEXTO + " Y en Navidad.")
    assert textos() == [TEXTO]


def test_a_supplier_being_added_is_kept_and_leaving_asks(visitar: Callable[..., Visita], bd: str) -> None:
    visita = visitar("compras")
    pagina = visita.ir("/compras/proveedores/nuevo/")
    pagina.get_by_label("Nombre").fill("Vidrios del Este")
    preguntas: list[str] = []

    def contestar(dialogo: Dialog) -> None:
        preguntas.append(dialogo.type)
        dialogo.accept()

    pagina.once("dialog", contestar)
    pagina.get_by_role("link", name="Proveedores", exact=True).first.click()
    pagina.wait_for_url("**/compras/proveedores/")
    assert preguntas == ["beforeunload"]
    visita.ir("/compras/proveedores/nuevo/")
    expect(pagina.get_by_label("Nombre")).to_have_value("Vidrios del Este")
    pagina.get_by_label("Código").fill("P7")
    visita.pulsar("Añadir el proveedor")
    expect(pagina.get_by_text("El proveedor está en la lista.")).to_be_visible()
    assert borradores(pagina) == []
