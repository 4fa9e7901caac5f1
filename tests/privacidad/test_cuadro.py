"""The dashboard and the monthly register: what they count, in which order, and what they never show."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone, translation
from hypothesis import given
from hypothesis import strategies as st
from pypdf import PdfReader

from memoria.models import Ejecucion
from privacidad import mensual, plazos, servicios
from privacidad.estados import Estado
from privacidad.models import Canal, Gestion, Paso, Solicitud
from privacidad.resumenes import resumen
from privacidad.vistas.cuadro import motivo_de_la_fecha
from tests.privacidad.lector import leer

CUADRO = "/privacidad/cuadro/"


def texto(respuesta: Any) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", respuesta.content.decode()).split())


@pytest.fixture
def mes() -> str:
    return f"{plazos.hoy():%Y-%m}"


@pytest.mark.parametrize("cual", [CUADRO, "csv", "pdf"])
def test_each_group_gets_what_is_theirs(cual: str, mes: str, navegar: Callable[..., Any]) -> None:
    url = cual if cual == CUADRO else reverse("privacidad:registro_mensual", args=[mes, cual])
    assert Client().get(url).status_code == 302
    for grupo, esperado in {"compras": 403, "consulta": 403, "operaciones": 200, "dpo": 200}.items():
        cliente = navegar(grupo)
        assert cliente.get(url).status_code == esperado
    assert cliente.post(url).status_code == 405


def test_it_says_what_there_is_when_there_is_nothing(navegar: Callable[..., Any]) -> None:
    pagina = texto(navegar("dpo").get(CUADRO))
    assert "No hay ninguna solicitud abierta" in pagina
    assert "Todavía ninguna" in pagina
    assert "El registro no se ha comprobado todavía" in pagina


def test_what_is_due_is_in_order_with_its_reason(
    recibida: Callable[..., Any], dpo: Any, navegar: Callable[..., Any]
) -> None:
    hoy = plazos.hoy()
    luego, vencida = recibida("C-luego-1"), recibida("C-vencida-2", dia=hoy - timedelta(days=60))
    pagina = texto(navegar("dpo", nombre="otra").get(CUADRO))
    assert pagina.index(vencida.referencia) < pagina.index(luego.referencia)
    assert f"Un mes desde la recepción del {hoy:%d/%m/%Y}" in pagina
    assert "Venció hace" in pagina
    assert "C-luego-1" not in pagina
    assert "C-vencida-2" not in pagina


def _sin_guardar(recibida: date, **otros: Any) -> Solicitud:
    solicitud = Solicitud(
        pk=7,
        referencia="SUP-2026-0007",
        recibida=recibida,
        vence=plazos.vencimiento(recibida),
        estado=Estado.RECIBIDA,
    )
    for campo, valor in otros.items():
        setattr(solicitud, campo, valor)
    solicitud._prefetched_objects_cache = {"vinculadas": []}  # type: ignore[attr-defined]  # none: not saved
    return solicitud


def test_the_reason_of_each_date_is_told() -> None:
    enero = date(2026, 1, 30)
    assert motivo_de_la_fecha(_sin_guardar(date(2026, 3, 12))) == ("Un mes desde la recepción del 12/03/2026")
    assert motivo_de_la_fecha(_sin_guardar(enero)) == (
        "Un mes desde la recepción del 30/01/2026; ese mes no tiene día 30"
    )
    ampliada = _sin_guardar(enero, ampliada=plazos.ampliado(enero), vence=plazos.ampliado(enero))
    assert motivo_de_la_fecha(ampliada) == "Ampliada: tres meses desde la recepción del 30/01/2026"
    reaparecida = _sin_guardar(date(2026, 3, 12), estado=Estado.REAPARECIDA)
    assert motivo_de_la_fecha(reaparecida).endswith("ha reaparecido y conserva su plazo")


def test_an_earlier_linked_request_sets_the_date_and_is_named(recibida: Callable[..., Any]) -> None:
    principal = recibida("C1")
    dia = plazos.hoy() - timedelta(days=2)
    vinculada = recibida("C1", dia=dia)
    principal.refresh_from_db()
    assert principal.vence == plazos.vencimiento(dia)
    assert motivo_de_la_fecha(principal).startswith(
        f"Un mes desde la recepción del {dia:%d/%m/%Y} de la solicitud vinculada {vinculada.referencia}"
    )


def test_partial_is_never_done(
    hasta: Callable[..., Any],
    preferencia: Callable[..., None],
    dpo: Any,
    otro_dpo: Any,
    navegar: Callable[..., Any],
) -> None:
    preferencia("C1")
    preferencia("C1", "horario", "tardes")
    solicitud = hasta(Estado.REVISADA)
    servicios.excluir(
        solicitud=solicitud, destino="memoria", clave="pref-idioma", motivo="reclamacion", por=dpo
    )
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    figuras = navegar("dpo", nombre="otra").get(CUADRO).context["figuras"]
    assert (figuras["parciales"], figuras["pendientes"], figuras["completadas"]) == (1, 1, 0)
    assert figuras["mismo_dia_por_ciento"] is None


def test_the_share_of_the_same_day_and_the_time_to_zero(
    hasta: Callable[..., Any], preferencia: Callable[..., None], navegar: Callable[..., Any]
) -> None:
    for n, dias in enumerate((0, 0, 5)):
        preferencia(f"C{n}")
        hasta(Estado.COMPLETADA, f"C{n}", dia=plazos.hoy() - timedelta(days=dias))
    respuesta = navegar("dpo", nombre="otra").get(CUADRO)
    figuras = respuesta.context["figuras"]
    assert (figuras["completadas"], figuras["mismo_dia"], figuras["mismo_dia_por_ciento"]) == (3, 2, 67)
    assert figuras["horas_hasta_cero"]["mediana"] < 1 < 5 * 24 - 1 <= figuras["horas_hasta_cero"]["peor"]
    assert "El mismo día: 2 (67 %)" in texto(respuesta)


def test_what_came_back_is_open_and_counted_once(
    hasta: Callable[..., Any], preferencia: Callable[..., None], navegar: Callable[..., Any]
) -> None:
    preferencia("C1")
    solicitud = hasta(Estado.COMPLETADA)
    Solicitud.objects.filter(pk=solicitud.pk).update(estado=Estado.REAPARECIDA, sujeto_id="C1", cerrada=None)
    for _vez in range(2):
        Paso.objects.create(solicitud=solicitud, estado=Estado.REAPARECIDA)
    figuras = navegar("dpo", nombre="otra").get(CUADRO).context["figuras"]
    assert (figuras["reaparecidas"], figuras["reaparecieron"], figuras["completadas"]) == (1, 1, 0)


def test_a_broken_register_is_shown_with_its_entry(navegar: Callable[..., Any]) -> None:
    dpo = navegar("dpo")
    ahora = timezone.now()

    def verificacion(codigo: int, minutos: int, **recuento: Any) -> str:
        momento = ahora + timedelta(minutes=minutos)
        Ejecucion.objects.create(
            comando="verificar_registro", inicio=momento, fin=momento, codigo=codigo, recuento=recuento
        )
        return texto(dpo.get(CUADRO))

    assert "Registro íntegro" in verificacion(0, 0, ok=True, entradas=20, primera_rota=None)
    rota = verificacion(6, 1, ok=False, entradas=20, primera_rota=17)
    assert "El registro está roto" in rota
    assert "el asiento 17 no es el que se escribió" in rota
    assert "Registro íntegro" not in rota
    # One that got no answer (the database was away, the file outside is broken) says nothing of the register.
    for codigo in (75, 6):
        sin_terminar = verificacion(codigo, 2)
        assert "no terminó" in sin_terminar
        assert "el asiento 17 no es el que se escribió" in sin_terminar
    assert "El registro está roto" not in verificacion(0, 3, ok=True, entradas=20, primera_rota=None)
    sin_terminar = verificacion(6, 4)
    assert "no terminó" in sin_terminar
    assert "El registro está roto" not in sin_terminar


def test_nobody_having_said_how_long_backups_last_is_shown(
    navegar: Callable[..., Any], settings: Any
) -> None:
    dpo = navegar("dpo")
    settings.COPIAS_DIAS = None
    assert "No consta cuántos días se conservan las copias" in texto(dpo.get(CUADRO))
    settings.COPIAS_DIAS = 35
    assert "No consta cuántos días" not in texto(dpo.get(CUADRO))


def test_queries_do_not_grow_with_rows(recibida: Callable[..., Any], navegar: Callable[..., Any]) -> None:
    dpo = navegar("dpo", nombre="otra")
    recibida("C0")
    dpo.get(CUADRO)
    with CaptureQueriesContext(connection) as una:
        dpo.get(CUADRO)
    for n in range(1, 12):
        recibida(f"C{n}")
        recibida(f"C{n}", dia=plazos.hoy() - timedelta(days=1))
    with CaptureQueriesContext(connection) as muchas:
        dpo.get(CUADRO)
    assert len(muchas) == len(una)


def test_the_queue_is_paged(dpo: Any, navegar: Callable[..., Any]) -> None:
    hoy = plazos.hoy()
    Solicitud.objects.bulk_create(
        Solicitud(
            espacio="clientes",
            sujeto_id=f"C{n}",
            resumen=resumen(f"clientes.C{n}"),
            canal=Canal.WEB,
            recibida=hoy,
            vence=plazos.vencimiento(hoy),
        )
        for n in range(60)
    )
    cliente = navegar("dpo", nombre="otra")
    assert len(cliente.get(CUADRO).context["filas"]) == 50
    assert len(cliente.get(f"{CUADRO}?pagina=2").context["filas"]) == 10


# -- monthly register -------------------------------------------------------------------------------


def test_the_register_of_a_month_has_its_requests_and_no_id(
    hasta: Callable[..., Any],
    recibida: Callable[..., Any],
    preferencia: Callable[..., None],
    navegar: Callable[..., Any],
    mes: str,
) -> None:
    preferencia("C-unico-1")
    hecha = hasta(Estado.COMPLETADA, "C-unico-1", identificadores={"email": "ana@ejemplo.es"})
    nada, abierta = hasta(Estado.COMPLETADA, "C-unico-2"), recibida("C-unico-3")
    de_antes = recibida("C-unico-4", dia=plazos.hoy() - timedelta(days=40))
    dpo = navegar("dpo", nombre="otra")
    hoy = f"{plazos.hoy():%d/%m/%Y}"

    respuesta = dpo.get(f"/privacidad/registro-mensual/{mes}.csv")
    assert respuesta["Content-Type"] == "text/csv; charset=utf-8"
    assert respuesta["Content-Disposition"] == f'attachment; filename="registro-{mes}.csv"'
    filas = list(csv.reader(io.StringIO(respuesta.content.decode("utf-8-sig")), delimiter=";"))
    assert filas[0] == [
        *("Referencia", "Canal", "Recibida", "Vence", "Ampliada hasta", "Cerrada", "Resultado", "Borrado"),
    ]
    vence = f"{plazos.vencimiento(plazos.hoy()):%d/%m/%Y}"
    assert filas[1:] == [
        [
            *(hecha.referencia, "Correo electrónico", hoy, vence, "", hoy, "Completada"),
            "Memoria de los agentes: 1 documento",
        ],
        [
            *(nada.referencia, "Correo electrónico", hoy, vence, "", hoy),
            *("Completada, sin datos localizados", ""),
        ],
        [abierta.referencia, "Correo electrónico", hoy, vence, "", "", "Recibida", ""],
    ]

    documento = dpo.get(f"/privacidad/registro-mensual/{mes}.pdf").content
    impreso = leer(documento)
    for fila in filas[1:]:
        assert fila[0] in impreso
    assert de_antes.referencia not in impreso
    for dato in ("C-unico", "ana@ejemplo.es", hecha.resumen):
        assert dato not in impreso
        assert dato not in respuesta.content.decode()


def test_the_register_of_a_month_tells_an_extension_what_is_held_back_and_every_count(
    recibida: Callable[..., Any],
    hasta: Callable[..., Any],
    preferencia: Callable[..., None],
    conversacion: Callable[..., None],
    dpo: Any,
    otro_dpo: Any,
) -> None:
    hoy = plazos.hoy()
    antes = recibida("C1", dia=hoy.replace(day=1))
    servicios.ampliar(solicitud=antes, motivo="Hay mucho que revisar", por=dpo)
    vinculada = recibida("C1")
    preferencia("C2")
    preferencia("C2", "horario", "tardes")
    conversacion("C2", "h1")
    parcial = hasta(Estado.REVISADA, "C2")
    exclusion = servicios.excluir(
        solicitud=parcial, destino="memoria", clave="pref-idioma", motivo="reclamacion", por=dpo
    )
    servicios.aprobar(solicitud=parcial, por=otro_dpo)
    servicios.ejecutar(solicitud=parcial)
    Gestion.objects.create(
        solicitud=parcial,
        destino="langfuse",
        estado=Gestion.Estado.HECHA,
        recuento={"antes": {"trazas": 3}, "borrados": {"trazas": 1}, "despues": {"trazas": 0}},
    )
    sin_confirmar = Gestion.objects.create(
        solicitud=parcial,
        destino="otro",
        estado=Gestion.Estado.POR_VERIFICAR,
        recuento={"antes": {"cosas": 7}, "borrados": {"cosas": 7}, "despues": {"cosas": 7}},
    )

    def por_referencia() -> dict[str, mensual.Fila]:
        return {fila.referencia: fila for fila in mensual.filas(hoy)}

    fila = por_referencia()[antes.referencia]
    assert fila.vence == f"{plazos.vencimiento(antes.recibida):%d/%m/%Y}"
    assert fila.ampliada == f"{plazos.ampliado(antes.recibida):%d/%m/%Y}"
    assert por_referencia()[vinculada.referencia].resultado == f"Vinculada a otra: {antes.referencia}"
    fila = por_referencia()[parcial.referencia]
    assert fila.resultado == "Parcial. 1 dato retenido. Falta que lo confirme 1 sistema externo"
    casa = "Memoria de los agentes: 1 documento; Conversaciones: 1 hilo, 1 punto de control"
    assert fila.borrado.startswith(casa)
    assert fila.borrado.endswith("3 trazas"), "as many as there were, though the last deletion found one"
    assert "7" not in fila.borrado, "what is not confirmed is not erased"
    sin_confirmar.delete()
    servicios.liberar(exclusion=exclusion, por=otro_dpo)
    servicios.ejecutar(solicitud=parcial)
    assert por_referencia()[parcial.referencia].borrado.startswith("Memoria de los agentes: 2 documentos;")
    impreso = leer(mensual.en_pdf(hoy))
    assert "2 documentos" in impreso
    assert f"{plazos.ampliado(antes.recibida):%d/%m/%Y}" in impreso


def test_the_queries_of_the_register_of_a_month_do_not_grow_with_rows(
    hasta: Callable[..., Any], recibida: Callable[..., Any]
) -> None:
    hoy = plazos.hoy()
    hasta(Estado.COMPLETADA, "C0")
    with CaptureQueriesContext(connection) as una:
        mensual.filas(hoy)
    for n in range(1, 4):
        hasta(Estado.COMPLETADA, f"C{n}")
    with CaptureQueriesContext(connection) as muchas:
        assert len(mensual.filas(hoy)) == 4
    assert len(muchas) == len(una)


def test_what_waits_on_something_held_back_is_said_in_the_queue_and_on_the_panel(
    hasta: Callable[..., Any],
    preferencia: Callable[..., None],
    dpo: Any,
    otro_dpo: Any,
    navegar: Callable[..., Any],
) -> None:
    preferencia("C1")
    preferencia("C1", "horario", "tardes")
    solicitud = hasta(Estado.REVISADA)
    exclusiones = [
        servicios.excluir(solicitud=solicitud, destino="memoria", clave=c, motivo="reclamacion", por=dpo)
        for c in ("pref-idioma", "pref-horario")
    ]
    cliente = navegar("dpo", nombre="otra")
    paginas = (CUADRO, "/privacidad/", solicitud.get_absolute_url())
    for pagina in paginas:
        assert "2 datos retenidos" in texto(cliente.get(pagina)), pagina
    assert "Supresiones a medias" not in texto(cliente.get("/"))

    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    for pagina in paginas:
        assert "2 datos retenidos" in texto(cliente.get(pagina)), pagina
    panel = texto(cliente.get("/"))
    assert "solicitud sin terminar de borrar. 1 espera a que se suelten sus datos retenidos." in panel

    for exclusion in exclusiones:
        servicios.liberar(exclusion=exclusion, por=otro_dpo)
    Gestion.objects.create(solicitud=solicitud, destino="langfuse", estado=Gestion.Estado.FALLIDA)
    for pagina in paginas:
        leida = texto(cliente.get(pagina))
        assert "datos retenidos" not in leida.replace("Datos retenidos Ninguno", "")
        assert "Falta que lo confirme 1 sistema externo" in leida, pagina
    panel = texto(cliente.get("/"))
    assert "1 espera a que otro sistema confirme el borrado." in panel
    assert "retenidos" not in panel


def test_what_was_erased_only_outside_is_never_shown_as_nothing_found(
    hasta: Callable[..., Any], navegar: Callable[..., Any]
) -> None:
    nada, fuera = hasta(Estado.COMPLETADA, "C1"), hasta(Estado.COMPLETADA, "C2")
    Gestion.objects.create(solicitud=nada, destino="langfuse", estado=Gestion.Estado.SIN_DATOS)
    Gestion.objects.create(
        solicitud=fuera,
        destino="langfuse",
        estado=Gestion.Estado.HECHA,
        recuento={"antes": {"trazas": 2}, "borrados": {"trazas": 2}, "despues": {"trazas": 0}},
    )
    dpo = navegar("dpo", nombre="otra")
    sin_datos = "Completada, sin datos localizados"
    for pagina in ("/privacidad/?estado=todas", nada.get_absolute_url()):
        assert texto(dpo.get(pagina)).count(sin_datos) == 1, pagina
    pagina = texto(dpo.get(fuera.get_absolute_url()))
    assert sin_datos not in pagina
    assert "Borrado y verificado" in pagina
    assert {f.referencia: f.resultado for f in mensual.filas(plazos.hoy())} == {
        nada.referencia: sin_datos,
        fuera.referencia: "Completada",
    }


def test_the_pages_answer_head(navegar: Callable[..., Any], mes: str) -> None:
    dpo = navegar("dpo")
    for url in (CUADRO, "/privacidad/registro/", f"/privacidad/registro-mensual/{mes}.csv"):
        assert dpo.head(url).status_code == 200


def test_a_long_month_goes_over_several_pages_with_its_heading(bd: str, recibida: Callable[..., Any]) -> None:
    hoy = plazos.hoy()
    Solicitud.objects.bulk_create(
        Solicitud(
            espacio="clientes",
            sujeto_id=f"C{n}",
            resumen=resumen(f"clientes.C{n}"),
            canal=Canal.WEB,
            recibida=hoy,
            vence=plazos.vencimiento(hoy),
        )
        for n in range(120)
    )
    paginas = PdfReader(io.BytesIO(mensual.en_pdf(hoy))).pages
    assert len(paginas) > 2
    for n, pagina in enumerate(paginas, 1):
        assert f"página {n} de {len(paginas)}" in pagina.extract_text()
        assert "Resultado" in pagina.extract_text()


@pytest.mark.parametrize("mes", ["2026-13", "2026-00", "1999-01", "2026-1", "ahora", "2026-01-01"])
def test_a_month_that_is_none_is_not_found(mes: str, navegar: Callable[..., Any]) -> None:
    assert navegar("dpo").get(f"/privacidad/registro-mensual/{mes}.csv").status_code == 404


def test_a_format_that_is_none_is_not_found(navegar: Callable[..., Any], mes: str) -> None:
    assert navegar("dpo").get(f"/privacidad/registro-mensual/{mes}.xls").status_code == 404


def test_december_ends_with_the_year(bd: str) -> None:
    assert mensual.filas(date(2025, 12, 1)) == []
    assert mensual._siguiente(date(2025, 12, 1)) == date(2026, 1, 1)


def test_the_last_months_are_listed_across_a_year(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plazos, "hoy", lambda: date(2026, 2, 28))
    assert [f"{m:%Y-%m}" for m in mensual.ultimos(4)] == ["2026-02", "2026-01", "2025-12", "2025-11"]


@pytest.mark.parametrize(("idioma", "dicho"), [("es", "noviembre de 2026"), ("en", "November 2026")])
def test_a_month_is_written_as_the_language_writes_it(idioma: str, dicho: str) -> None:
    with translation.override(idioma):
        assert mensual.nombre(date(2026, 11, 1)) == dicho


@given(st.sampled_from("=+-@\t\r\n"), st.text(max_size=20))
def test_no_cell_is_a_formula(signo: str, resto: str) -> None:
    assert mensual.inerte(signo + resto) == "'" + signo + resto


@given(st.from_regex(r"\A[A-Za-z0-9áñ][^\x00]{0,20}\Z"))
def test_an_ordinary_cell_stays_as_it_is(celda: str) -> None:
    assert mensual.inerte(celda) == celda
