"""The documents: what they say, that they say no more than the evidence, their numbers and their bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone, translation

from privacidad import escritos, plazos, servicios
from privacidad.errores import DatoNoValido
from privacidad.escritos import datos as contenido
from privacidad.escritos import pdf
from privacidad.estados import Estado
from privacidad.models import Asiento, Copia, Escrito, Evidencia, Gestion, Mencion, Paso, Solicitud
from tests.esperas import a_la_vez
from tests.privacidad.lector import leer

VERIFICAR = "/privacidad/verificar/"


def hojas(valor: Any) -> Iterator[Any]:
    """Every value of a JSON, whatever its depth."""
    if isinstance(valor, dict):
        for v in valor.values():
            yield from hojas(v)
    elif isinstance(valor, list):
        for v in valor:
            yield from hojas(v)
    else:
        yield valor


# -- when and which ------------------------------------------------------------------------------------


def test_a_completed_request_has_its_certificate(completada: Callable[..., Solicitud]) -> None:
    solicitud = completada()
    escrito = solicitud.escritos.get()
    assert escrito.tipo == Escrito.Tipo.CERTIFICADO
    assert escrito.numero == f"CER-{plazos.hoy().year}-0001"
    assert escrito.evidencia == solicitud.evidencias.get()
    assert bytes(escrito.pdf).startswith(b"%PDF-")


def test_nothing_found_is_a_communication_and_never_a_certificate(hasta: Callable[..., Any]) -> None:
    escrito = hasta(Estado.COMPLETADA, "C-mal-escrito").escritos.get()
    assert escrito.tipo == Escrito.Tipo.SIN_DATOS
    texto = leer(escrito.pdf)
    assert "no se ha localizado ningún dato" in texto
    assert "Esto no es un certificado de supresión" in texto
    assert "Se certifica" not in texto


def test_a_partial_request_has_no_document(
    hasta: Callable[..., Any], preferencia: Callable[..., None], dpo: Any, otro_dpo: Any
) -> None:
    preferencia("C1")
    preferencia("C1", "horario", "tardes")
    solicitud = hasta(Estado.REVISADA)
    exclusion = servicios.excluir(
        solicitud=solicitud, destino="memoria", clave="pref-idioma", motivo="reclamacion", por=dpo
    )
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    assert solicitud.estado == Estado.PARCIAL
    assert not solicitud.escritos.exists()
    servicios.liberar(exclusion=exclusion, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    datos = solicitud.escritos.get().datos
    # Both runs are told: two documents and then one, then one and none.
    cuentas = [e["destinos"]["memoria"] for e in datos["evidencias"]]
    assert [(c["antes"]["documentos"], c["despues"]["documentos"]) for c in cuentas] == [(2, 1), (1, 0)]
    texto = leer(solicitud.escritos.get().pdf)
    assert "Un dato de «Memoria de los agentes» se retuvo por «Reclamación o pleito en curso»" in texto
    assert "pref-idioma" not in texto
    assert "pref-idioma" not in json.dumps(datos)


def test_a_refusal_has_its_document(recibida: Callable[..., Any], dpo: Any) -> None:
    solicitud = recibida()
    servicios.denegar(solicitud=solicitud, motivo="Hay una factura abierta; art. 17(3)(b) «ñ» €", por=dpo)
    escrito = solicitud.escritos.get()
    texto = leer(escrito.pdf)
    assert escrito.numero == f"DEN-{plazos.hoy().year}-0001"
    for dicho in (
        "Hay una factura abierta; art. 17(3)(b) «ñ» €",
        "No se ha borrado ningún dato",
        "Agencia Española de Protección de Datos",
        "delegación de protección de datos",
    ):
        assert dicho in texto


def test_an_extension_has_its_document(recibida: Callable[..., Any], dpo: Any) -> None:
    dia = plazos.hoy() - timedelta(days=3)
    solicitud = recibida(dia=dia)
    servicios.ampliar(solicitud=solicitud, motivo="Hay muchas conversaciones que revisar", por=dpo)
    texto = leer(solicitud.escritos.get().pdf)
    assert f"vencía el {plazos.vencimiento(dia):%d/%m/%Y}" in texto
    assert f"se amplía hasta el {plazos.ampliado(dia):%d/%m/%Y}" in texto
    assert "Hay muchas conversaciones que revisar" in texto
    with pytest.raises(DatoNoValido):
        servicios.ampliar(solicitud=solicitud, motivo="Otra vez", por=dpo)
    assert solicitud.escritos.count() == 1


def test_the_certificate_tells_the_extension(
    recibida: Callable[..., Any], preferencia: Callable[..., None], dpo: Any, otro_dpo: Any
) -> None:
    preferencia("C1")
    solicitud = recibida(dia=plazos.hoy() - timedelta(days=3))
    servicios.ampliar(solicitud=solicitud, motivo="Hay muchas conversaciones que revisar", por=dpo)
    ampliacion = solicitud.escritos.get()
    servicios.identificar(solicitud=solicitud, como="DNI en tienda", por=dpo)
    servicios.revisar(solicitud=solicitud, por=dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    texto = leer(solicitud.escritos.get(tipo="certificado").pdf)
    assert f"Plazo ampliado se comunicó hasta el {solicitud.vence:%d/%m/%Y} ({ampliacion.numero})" in texto
    assert "Dejó de valer" not in texto


@pytest.mark.parametrize("dias", [20, 65])
def test_an_extension_that_a_linked_request_moved_no_longer_holds(
    recibida: Callable[..., Any], dpo: Any, navegar: Callable[..., Any], dias: int
) -> None:
    """Linked 20 days old it is due earlier; 65 days old, it was overdue when the person was told."""
    solicitud = recibida(dia=plazos.hoy() - timedelta(days=3))
    servicios.ampliar(solicitud=solicitud, motivo="Hay muchas conversaciones que revisar", por=dpo)
    dicho, numero = solicitud.vence, solicitud.escritos.get().numero
    cliente = navegar("dpo", nombre="quien-mira")
    assert "ya no vale" not in cliente.get(solicitud.get_absolute_url()).content.decode()
    recibida(dia=plazos.hoy() - timedelta(days=dias))
    solicitud.refresh_from_db()
    assert solicitud.vence < dicho
    assert f"El escrito {numero} ya no vale." in cliente.get(solicitud.get_absolute_url()).content.decode()
    servicios.denegar(solicitud=solicitud, motivo="Hay una factura abierta", por=dpo)
    texto = leer(solicitud.escritos.get(tipo="denegacion").pdf)
    assert f"se comunicó hasta el {dicho:%d/%m/%Y} ({numero}). Dejó de valer" in texto
    assert "ya no vale" not in cliente.get(solicitud.get_absolute_url()).content.decode()


def test_a_withdrawn_request_has_none(recibida: Callable[..., Any], dpo: Any) -> None:
    solicitud = recibida()
    servicios.retirar(solicitud=solicitud, motivo="Ya no lo quiere", por=dpo)
    assert not Escrito.objects.exists()


def test_what_reappears_and_is_erased_again_has_a_certificate_of_its_own(
    completada: Callable[..., Solicitud], propietario: Any
) -> None:
    solicitud = completada()
    primero = solicitud.escritos.get()
    bytes_del_primero = bytes(primero.pdf)
    with propietario.transaction():  # past the fence, as a restored backup would
        propietario.execute("SET LOCAL session_replication_role = replica")
        propietario.execute(
            "INSERT INTO langgraph.store (prefix, key, value) VALUES ('clientes.C1', 'pref-idioma', '{}')"
        )
    Solicitud.objects.filter(pk=solicitud.pk).update(estado=Estado.REAPARECIDA, sujeto_id="C1", cerrada=None)
    Paso.objects.create(solicitud=solicitud, estado=Estado.REAPARECIDA, por=None)
    solicitud.refresh_from_db()
    servicios.ejecutar(solicitud=solicitud)
    segundo = solicitud.escritos.latest("pk")
    assert [e.tipo for e in solicitud.escritos.all()] == [Escrito.Tipo.CERTIFICADO] * 2
    assert bytes(Escrito.objects.get(pk=primero.pk).pdf) == bytes_del_primero
    assert segundo.datos["anteriores"] == [primero.numero]
    assert len(segundo.datos["evidencias"]) == 1
    assert primero.numero in leer(segundo.pdf)


# -- what it says -----------------------------------------------------------------------------------


def test_the_certificate_says_who_when_and_how_to_check_it(
    completada: Callable[..., Solicitud], settings: Any
) -> None:
    settings.COPIAS_DIAS = 35
    settings.SITE_URL = "https://memoria.example"
    settings.RESPONSABLE = "Comercio de prueba, S. A."
    solicitud = completada()
    escrito, evidencia = solicitud.escritos.get(), solicitud.evidencias.get()
    datos, texto = escrito.datos, leer(escrito.pdf)

    (dicha,) = datos["evidencias"]
    assert dicha["destinos"] == evidencia.destinos
    for campo in ("resultado", "rol", "sesion", "posicion_wal", "vectores_huerfanos"):
        assert dicha[campo] == getattr(evidencia, campo)
    assert datetime.fromisoformat(dicha["momento"]) == evidencia.momento.replace(microsecond=0)
    assert datos["resumen"] == solicitud.resumen
    assert datos["referencia"] == solicitud.referencia
    assert datos["recibida"] == solicitud.recibida.isoformat()
    hasta = timezone.localdate(evidencia.momento, timezone=plazos.MADRID) + timedelta(days=35)
    assert datos["permanece"] == {"dias": 35, "hasta": hasta.isoformat()}
    assert "Documentos (tabla store) 2 2 0" in texto
    assert "Vectores (tabla store_vectors) 0 0 0" in texto
    for dicho in (
        escrito.numero,
        solicitud.referencia,
        solicitud.resumen,
        evidencia.rol,
        evidencia.sesion,
        evidencia.posicion_wal,
        escrito.huella_datos,
        "Comercio de prueba, S. A.",
        "https://memoria.example/privacidad/verificar/",
        f"hasta el {hasta:%d/%m/%Y}: se conservan 35 días",
        "tarea programada",
        "delegación de protección de datos",
        f"No se guarda copia bloqueada. Motivo: {solicitud.motivo_sin_copia}",
        "No se retuvo ningún dato",
    ):
        assert dicho in texto, dicho
    for paso in solicitud.pasos.filter(estado__in=["recibida", "aprobada", "en_curso"]):
        assert f"{timezone.localtime(paso.momento, plazos.MADRID):%d/%m/%Y %H:%M:%S}" in texto


def test_what_is_still_on_the_disk_is_not_said_to_be_unreadable(completada: Callable[..., Solicitud]) -> None:
    """Until VACUUM there are dead rows, and whoever runs the server can read their pages."""
    texto = leer(completada().escritos.get().pdf)
    assert "ninguna consulta" not in texto
    assert "quedan restos de ellas, que quien administra el servidor podría leer" in texto


def test_the_certificate_says_nothing_that_is_not_in_the_data(completada: Callable[..., Solicitud]) -> None:
    """Every figure and date on the paper is a value of the data, or part of a fixed sentence."""
    escrito = completada().escritos.get()
    texto = leer(escrito.pdf)
    sabidas = set()
    for hoja in hojas(escrito.datos):
        for forma in _formas(hoja):
            sabidas |= set(re.findall(r"\w*\d\w*", forma))
    fijas = {"12", "3", "2018", "32", "SHA", "256", "1", "2", *re.findall(r"\w*\d\w*", escrito.huella_datos)}
    sobran = [p for p in re.findall(r"\w*\d\w*", texto) if p not in sabidas | fijas]
    assert sobran == []


def _formas(hoja: Any) -> Iterator[str]:
    if isinstance(hoja, bool) or hoja is None:
        return
    if isinstance(hoja, int):
        yield pdf.numero(hoja)
        return
    yield str(hoja)
    for leido in (pdf.dia, pdf.momento):
        try:
            yield leido(hoja)
        except ValueError:
            continue


def test_neither_the_person_nor_the_staff_are_named(
    completada: Callable[..., Solicitud], settings: Any
) -> None:
    solicitud = completada("C-unico-9", identificadores={"email": "ana@ejemplo.es"})
    escrito = solicitud.escritos.get()
    for sitio in (leer(escrito.pdf), json.dumps(escrito.datos, ensure_ascii=False)):
        for nombre in ("C-unico-9", "ana@ejemplo.es", "dpo-uno", "dpo-dos", "h-C-unico-9"):
            assert nombre not in sitio
    settings.ESCRITOS_CON_NOMBRE = True
    otra = completada("C-otro-8")
    assert "dpo-dos (delegación de protección de datos)" in leer(otra.escritos.get().pdf)


def test_the_single_officer_exception_is_printed(
    hasta: Callable[..., Any], preferencia: Callable[..., None], dpo: Any, otro_dpo: Any
) -> None:
    preferencia("C1")
    solicitud = hasta(Estado.REVISADA)
    otro_dpo.is_active = False
    otro_dpo.save()
    servicios.aprobar(solicitud=solicitud, por=dpo, excepcion_motivo="Solo hay una persona en el turno")
    servicios.ejecutar(solicitud=solicitud)
    texto = leer(solicitud.escritos.get().pdf)
    assert "La solicitud la aprobó la misma persona que la recibió" in texto
    assert "Solo hay una persona en el turno" in texto


def test_what_was_kept_is_told_with_its_reason(
    hasta: Callable[..., Any], preferencia: Callable[..., None], dpo: Any
) -> None:
    preferencia("C1")
    solicitud = hasta(Estado.APROBADA)
    Copia.objects.create(solicitud=solicitud, destruir_el=date(2031, 5, 4))
    for identificador in ("telefono", "dni"):
        Mencion.objects.create(
            solicitud=solicitud,
            prefijo="proveedores.P-ajeno",
            clave="aviso-ajeno",
            identificador=identificador,
            decision=Mencion.Decision.CONSERVAR,
            motivo="Es el teléfono de la tienda",
            por=dpo,
        )
    solicitud.refresh_from_db()
    servicios.ejecutar(solicitud=solicitud)
    escrito = solicitud.escritos.get()
    texto = leer(escrito.pdf)
    assert "Se destruye el 04/05/2031" in texto
    assert (
        "mencionaban a la persona (el teléfono, otro de sus datos), que se decidió conservar: 1. Motivo: Es"
        in texto
    )
    assert "ajeno" not in texto
    assert "ajeno" not in json.dumps(escrito.datos)


def test_external_destinations_are_told_as_they_stand(completada: Callable[..., Solicitud]) -> None:
    """An external erasure that was confirmed is an erasure, even where PostgreSQL had nothing."""
    solicitud = completada("C-nadie")
    evidencia = solicitud.evidencias.get()
    Gestion.objects.create(
        solicitud=solicitud,
        destino="retirado",
        estado=Gestion.Estado.HECHA,
        recuento={"antes": {"trazas": 1234}, "despues": {"trazas": 0}},
    )
    assert solicitud.borro([Evidencia(resultado="sin_datos", destinos={})]) is True
    datos = contenido.reunir(
        solicitud,
        Escrito.Tipo.CERTIFICADO,
        numero="CER-2026-0099",
        emitido=timezone.now(),
        evidencias=[evidencia],
    )
    assert "retirado Borrado y verificado" in leer(pdf.componer(datos))
    assert "Trazas 1.234 0" in leer(pdf.componer(datos))


def test_a_destination_that_came_between_two_runs_is_told_in_the_second(
    completada: Callable[..., Solicitud],
) -> None:
    datos = completada().escritos.get().datos
    (primera,) = datos["evidencias"]
    cuentas = {"antes": 6, "borrados": 5, "retenidos": 1, "despues": 1}
    nueva = {"destino": "Nuevo", "que": "cosas", "tabla": "", **cuentas}
    segunda = {**primera, "lineas": [nueva, *({**f, "antes": f["despues"]} for f in primera["lineas"])]}
    texto = leer(pdf.componer({**datos, "evidencias": [primera, segunda]}))
    assert "Nuevo Cosas 6 5 1 1" in texto
    assert "Documentos (tabla store) 2 4 0" in texto


def test_unknown_at_the_other_side_is_a_dash_and_not_a_zero(completada: Callable[..., Solicitud]) -> None:
    assert pdf.numero(None) == "–"
    solicitud = completada()
    Gestion.objects.create(solicitud=solicitud, destino="x", estado=Gestion.Estado.SIN_DATOS)
    assert solicitud.borro([Evidencia(resultado="sin_datos", destinos={})]) is False


def test_it_is_in_spanish_whoever_approves(
    hasta: Callable[..., Any], preferencia: Callable[..., None]
) -> None:
    preferencia("C1")
    solicitud = hasta(Estado.APROBADA)
    with translation.override("en-gb"):
        servicios.ejecutar(solicitud=solicitud)
    texto = leer(solicitud.escritos.get().pdf)
    assert "Memoria de los agentes Documentos 1 1 0 0" in texto
    assert "página 1 de" in texto


def test_numbers_have_no_gaps_though_issued_at_once(recibida: Callable[..., Any], dpo: Any, bd: str) -> None:
    """Eight refusals in eight connections, every other one rolled back."""
    solicitudes = [recibida(f"C{n}") for n in range(8)]

    def denegar(n: int) -> None:
        with transaction.atomic():
            servicios.denegar(solicitud=solicitudes[n], motivo="No procede", por=dpo)
            transaction.set_rollback(n % 2 == 1)

    a_la_vez(*(partial(denegar, n) for n in range(8)))
    anio = plazos.hoy().year
    assert sorted(Escrito.objects.values_list("numero", flat=True)) == [
        f"DEN-{anio}-{n:04d}" for n in range(1, 5)
    ]


def test_numbers_go_on_past_four_figures(recibida: Callable[..., Any], dpo: Any) -> None:
    anio = plazos.hoy().year
    una, otra, tercera = recibida("C1"), recibida("C2"), recibida("C3")
    for solicitud, numero in ((una, 9999), (otra, 10_000)):
        Escrito.objects.create(
            numero=f"DEN-{anio}-{numero}",
            solicitud=solicitud,
            tipo=Escrito.Tipo.DENEGACION,
            datos={},
            pdf=b"",
            huella_datos="",
            huella="",
        )
    servicios.denegar(solicitud=tercera, motivo="No procede", por=dpo)
    assert tercera.escritos.get().numero == f"DEN-{anio}-10001"


def test_each_year_begins_its_own_series(
    recibida: Callable[..., Any], dpo: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    una, otra, anio = recibida("C1"), recibida("C2"), plazos.hoy().year
    servicios.denegar(solicitud=una, motivo="No procede", por=dpo)
    # Half past eleven in UTC on the last day: in Madrid it is already next year.
    siguiente = datetime(anio, 12, 31, 23, 30, tzinfo=UTC)
    monkeypatch.setattr("privacidad.escritos.emision.timezone.now", lambda: siguiente)
    servicios.denegar(solicitud=otra, motivo="No procede", por=dpo)
    assert otra.escritos.get().numero == f"DEN-{anio + 1}-0001"


def test_issuing_again_gives_the_one_there_is(recibida: Callable[..., Any], dpo: Any) -> None:
    solicitud = recibida()
    servicios.denegar(solicitud=solicitud, motivo="No procede", por=dpo)
    emitido = solicitud.escritos.get()
    assert escritos.emitir(solicitud, Escrito.Tipo.DENEGACION) == emitido
    assert Escrito.objects.count() == 1


def test_issuing_is_registered_with_both_digests(completada: Callable[..., Solicitud]) -> None:
    escrito = completada().escritos.get()
    asiento = Asiento.objects.get(tipo="escrito_emitido")
    assert asiento.referencia == escrito.solicitud.referencia
    assert asiento.datos == {
        "numero": escrito.numero,
        "tipo": "certificado",
        "huella": escrito.huella,
        "huella_datos": escrito.huella_datos,
    }


def test_a_stored_document_cannot_be_changed(completada: Callable[..., Solicitud], como: Any) -> None:
    completada()
    with pytest.raises(TypeError):
        Escrito.objects.update(pdf=b"")
    with pytest.raises(Exception, match="permission denied"):
        como("memoria_web").execute("UPDATE privacidad_escrito SET pdf = ''")
