"""The documents in their pages: who gets them, the same bytes, and anybody checks one without an account."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from privacidad import plazos, registro, servicios
from privacidad.errores import SinPermiso
from privacidad.models import Asiento, Solicitud
from tests.privacidad.lector import leer

VERIFICAR = "/privacidad/verificar/"


def test_each_group_gets_what_is_theirs(
    completada: Callable[..., Solicitud], navegar: Callable[..., Any]
) -> None:
    solicitud = completada()
    url = reverse("privacidad:escrito", args=[solicitud.referencia, "certificado"])
    assert url == f"/privacidad/solicitudes/{solicitud.referencia}/certificado.pdf"
    assert Client().get(url).status_code == 302
    for grupo, esperado in {"compras": 403, "consulta": 403, "operaciones": 200, "dpo": 200}.items():
        assert navegar(grupo).get(url).status_code == esperado
    dpo = navegar("dpo", nombre="otra")
    assert dpo.post(url).status_code == 405
    for ajena in (
        f"/privacidad/solicitudes/{solicitud.referencia}/denegacion.pdf",
        f"/privacidad/solicitudes/{solicitud.referencia}/CER-1999-0001.pdf",
        "/privacidad/solicitudes/SUP-1999-0001/certificado.pdf",
    ):
        assert dpo.get(ajena).status_code == 404


def test_the_bytes_are_served_identical_and_each_download_registered(
    completada: Callable[..., Solicitud], navegar: Callable[..., Any]
) -> None:
    solicitud = completada()
    escrito = solicitud.escritos.get()
    dpo = navegar("dpo", nombre="quien-descarga")
    por_tipo = f"/privacidad/solicitudes/{solicitud.referencia}/certificado.pdf"
    respuestas = [dpo.get(u) for u in (por_tipo, escrito.get_absolute_url())]
    for respuesta in respuestas:
        assert respuesta.content == bytes(escrito.pdf)
        assert respuesta["Content-Type"] == "application/pdf"
        assert respuesta["Content-Disposition"] == f'attachment; filename="{escrito.numero}.pdf"'
        assert "no-store" in respuesta["Cache-Control"]
    descargas = Asiento.objects.filter(tipo="escrito_descargado")
    assert [a.datos["numero"] for a in descargas] == [escrito.numero] * 2
    assert "quien-descarga" not in json.dumps([a.datos for a in descargas])


def test_the_evidence_file_has_the_digest_that_is_printed(
    completada: Callable[..., Solicitud], navegar: Callable[..., Any]
) -> None:
    solicitud = completada()
    escrito = solicitud.escritos.get()
    respuesta = navegar("dpo", nombre="otra").get(
        reverse("privacidad:evidencia", args=[solicitud.referencia, escrito.numero])
    )
    assert hashlib.sha256(respuesta.content).hexdigest() == escrito.huella_datos
    assert escrito.huella_datos in leer(escrito.pdf)
    evidencia = json.loads(respuesta.content)["evidencias"][0]
    assert any("borrar_sujeto" in orden for orden in evidencia["destinos"]["memoria"]["sql"])


@pytest.mark.parametrize(
    "cambio",
    [
        "pdf = pdf || 'x'",
        "datos = jsonb_set(datos, '{responsable}', '\"Otro\"')",
        "pdf = pdf || 'x', huella = encode(sha256(pdf || 'x'), 'hex')",
    ],
)
def test_what_was_altered_is_not_served(
    completada: Callable[..., Solicitud],
    navegar: Callable[..., Any],
    sin_guardas: Callable[..., None],
    caplog: pytest.LogCaptureFixture,
    cambio: str,
) -> None:
    solicitud = completada()
    escrito = solicitud.escritos.get()
    sin_guardas(f"UPDATE privacidad_escrito SET {cambio}")
    dpo = navegar("dpo", nombre="quien-descarga")
    for que in ("escrito", "evidencia"):
        respuesta = dpo.get(reverse(f"privacidad:{que}", args=[solicitud.referencia, escrito.numero]))
        assert respuesta.status_code == 500
        assert respuesta["Content-Type"].startswith("text/html")
        assert f"El documento {escrito.numero} no se entrega" in respuesta.content.decode()
    avisos = [r.getMessage() for r in caplog.records if r.levelname == "ERROR" and "vistas" in r.name]
    assert (
        avisos
        == [f"{solicitud.referencia} {escrito.numero} no se sirve: no es el que se emitió según el registro"]
        * 2
    )
    assert not Asiento.objects.filter(tipo="escrito_descargado").exists()


def test_a_linked_request_leads_to_the_document_of_its_principal(
    recibida: Callable[..., Any],
    dpo: Any,
    navegar: Callable[..., Any],
) -> None:
    principal = recibida("C1")
    vinculada = recibida("C1", dia=plazos.hoy() - timedelta(days=2))
    servicios.denegar(solicitud=principal, motivo="No procede", por=dpo)
    escrito = principal.escritos.get()
    assert vinculada.referencia in leer(escrito.pdf)
    url = f"/privacidad/solicitudes/{vinculada.referencia}/denegacion.pdf"
    assert navegar("dpo", nombre="otra").get(url).content == bytes(escrito.pdf)


def test_the_page_of_a_request_lists_its_documents(
    completada: Callable[..., Solicitud], navegar: Callable[..., Any]
) -> None:
    solicitud = completada()
    pagina = navegar("dpo", nombre="otra").get(solicitud.get_absolute_url()).content.decode()
    assert solicitud.escritos.get().get_absolute_url() in pagina
    assert VERIFICAR in pagina


def test_downloading_needs_the_permission(completada: Callable[..., Solicitud], persona: Any) -> None:
    escrito = completada().escritos.get()
    with pytest.raises(SinPermiso):
        servicios.descargar(escrito=escrito, formato="pdf", por=persona("compras"))
    assert not Asiento.objects.filter(tipo="escrito_descargado").exists()


# -- anyone checks -------------------------------------------------------------------------------------


@pytest.mark.parametrize("cual", ["huella_datos", "huella"])
def test_anyone_holding_a_document_checks_it(completada: Callable[..., Solicitud], cual: str) -> None:
    solicitud = completada("C-secreto-1")
    escrito = solicitud.escritos.get()
    huella = getattr(escrito, cual).upper()
    respuesta = Client().post(
        VERIFICAR, {"numero": f" {escrito.numero.lower()} ", "huella": f"{huella[:32]} {huella[32:]}\n"}
    )
    pagina = respuesta.content.decode()
    assert respuesta.status_code == 200
    assert "Auténtico" in pagina
    assert "Certificado de supresión" in pagina
    for dato in (solicitud.referencia, solicitud.resumen, "C-secreto-1", "clientes", "dpo-uno"):
        assert dato not in pagina
    assert "no-store" in respuesta["Cache-Control"]


def test_unknown_and_wrong_get_the_same_answer(completada: Callable[..., Solicitud]) -> None:
    escrito = completada().escritos.get()
    paginas = [
        re.sub(
            r'value="[^"]*"|"X-CSRFToken": "[^"]*"',
            "",
            Client().post(VERIFICAR, {"numero": n, "huella": h}).content.decode(),
        )
        for n, h in (
            (escrito.numero, "0" * 64),
            ("CER-1999-0001", escrito.huella_datos),
            ("CER-1999-0001", "0" * 64),
            ("ñ'; --", "é"),
            (escrito.numero, escrito.huella_datos[:-1]),
        )
    ]
    assert len(set(paginas)) == 1
    assert "No coincide" in paginas[0]


def test_the_page_opens_without_an_account_and_asks_for_both(bd: str) -> None:
    assert Client().get(VERIFICAR).status_code == 200
    assert Client().post(VERIFICAR, {"numero": "", "huella": ""}).status_code == 422
    assert Client(enforce_csrf_checks=True).post(VERIFICAR, {}).status_code == 403


def test_one_lost_in_a_restore_is_told_by_the_register(
    completada: Callable[..., Solicitud], sin_guardas: Callable[..., None]
) -> None:
    """A copy taken before it was issued was restored; the register, put back from outside, still says so."""
    escrito = completada("C-secreto-1").escritos.get()
    bien = {"numero": escrito.numero, "huella": escrito.huella_datos}
    assert "Auténtico" in Client().post(VERIFICAR, bien).content.decode()
    sin_guardas("DELETE FROM privacidad_escrito")
    pagina = Client().post(VERIFICAR, bien).content.decode()
    assert "Consta en el registro" in pagina
    assert "El documento ya no está aquí." in pagina, "deleted by hand, for all the register knows"
    assert "restaurar" not in pagina
    registro.anotar(tipo="restaurada", datos={"desde": 1, "hasta": Asiento.objects.count()})
    for huella in (escrito.huella_datos, escrito.huella):
        pagina = Client().post(VERIFICAR, {**bien, "huella": huella}).content.decode()
        assert "Consta en el registro" in pagina
        assert "se perdió al restaurar una copia de seguridad" in pagina
        assert "Certificado de supresión" in pagina
        assert "Auténtico" not in pagina
        assert escrito.solicitud.referencia not in pagina
    for numero, huella in ((escrito.numero, "0" * 64), ("CER-1999-0001", escrito.huella_datos)):
        pagina = Client().post(VERIFICAR, {"numero": numero, "huella": huella}).content.decode()
        assert "No coincide" in pagina
        assert "Consta" not in pagina
    sin_guardas("DELETE FROM privacidad_asiento")
    pagina = Client().post(VERIFICAR, bien).content.decode()
    assert "Aquí no consta ningún documento con ese número y esa huella" in pagina
    assert "puede haberse perdido al restaurar una copia de seguridad" in pagina


def test_what_was_tampered_with_past_every_guard_is_not_authentic(
    completada: Callable[..., Solicitud], propietario: Any
) -> None:
    escrito = completada().escritos.get()
    with propietario.transaction():
        propietario.execute("SET LOCAL session_replication_role = replica")
        propietario.execute("UPDATE privacidad_escrito SET pdf = pdf || '\\x00'::bytea")
    respuesta = Client().post(VERIFICAR, {"numero": escrito.numero, "huella": escrito.huella_datos})
    assert "No coincide" in respuesta.content.decode()


def test_checking_leaves_no_trace(completada: Callable[..., Solicitud]) -> None:
    escrito = completada().escritos.get()
    antes = Asiento.objects.count()
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM django_session")
        sesiones = cursor.fetchone()[0]
        Client().post(VERIFICAR, {"numero": escrito.numero, "huella": escrito.huella})
        cursor.execute("SELECT count(*) FROM django_session")
        assert cursor.fetchone()[0] == sesiones
    assert Asiento.objects.count() == antes
