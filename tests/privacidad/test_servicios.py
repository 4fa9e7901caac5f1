"""The steps before the run: who may, when, and what cannot be typed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any

import pytest

from privacidad import plazos, servicios
from privacidad.errores import (
    CuatroOjos,
    DatoNoValido,
    ErrorDePrivacidad,
    SinPermiso,
)
from privacidad.estados import Estado
from privacidad.models import Solicitud


def test_recibir_da_referencia_y_plazo(recibida: Callable[..., Any], dpo: Any) -> None:
    anio = plazos.hoy().year
    una, otra = recibida("C1"), recibida("C2", dia=date(2025, 1, 30))
    assert [una.referencia, otra.referencia] == [f"SUP-{anio}-0001", f"SUP-{anio}-0002"]
    assert str(una) == una.referencia
    assert otra.vence == date(2025, 2, 28)
    assert [(p.estado, p.por) for p in una.pasos.all()] == [(Estado.RECIBIDA, dpo)]


def test_un_rechazo_no_deja_hueco_en_las_referencias(recibida: Callable[..., Any]) -> None:
    recibida("C1")
    with pytest.raises(DatoNoValido):
        recibida("")
    assert recibida("C2").referencia.endswith("-0002")


def test_despues_de_9999_la_referencia_crece(propietario: Any, recibida: Callable[..., Any]) -> None:
    recibida("C1")
    propietario.execute("UPDATE privacidad_contador SET ultimo = 9999")
    assert recibida("C2").referencia.endswith("-10000")


def test_dos_recepciones_a_la_vez_dejan_una_abierta(dpo: Any, bd: str) -> None:
    from django.db import connection

    salida: list[Any] = []
    a_la_vez = threading.Barrier(2)

    def recibir() -> None:
        try:
            a_la_vez.wait(10)
            salida.append(
                servicios.recibir(
                    espacio="clientes", sujeto_id="C1", canal="web", recibida=plazos.hoy(), por=dpo
                )
            )
        except ErrorDePrivacidad as error:
            salida.append(error)
        finally:
            connection.close()

    hilos = [threading.Thread(target=recibir) for _ in range(2)]
    for hilo in hilos:
        hilo.start()
    for hilo in hilos:
        hilo.join(30)
    assert sorted(s.estado for s in salida) == [Estado.RECIBIDA, Estado.VINCULADA]
    assert Solicitud.objects.abiertas().count() == 1


@pytest.mark.parametrize("cierre", ["denegar", "retirar"])
def test_cerrada_una_se_puede_abrir_otra(cierre: str, recibida: Callable[..., Any], dpo: Any) -> None:
    primera = recibida("C1")
    getattr(servicios, cierre)(solicitud=primera, motivo="Es de otra persona", por=dpo)
    assert primera.cerrada is not None
    segunda = recibida("C1")
    assert segunda.resumen == primera.resumen
    assert segunda.pk != primera.pk


def test_ids_que_se_parecen_son_personas_distintas(recibida: Callable[..., Any]) -> None:
    ids = ["C1", "c1", "C10", "C_1", "C%1", "C.1", "C%2E1", " C1"]
    assert len({recibida(i).resumen for i in ids}) == len(ids)


@pytest.mark.parametrize(
    ("cambio", "frase"),
    [
        ({"espacio": "pedidos"}, "no está en la política"),
        ({"espacio": ["clientes"]}, "no está en la política"),
        ({"sujeto_id": ""}, "vacío"),
        ({"sujeto_id": None}, "vacío"),
        ({"sujeto_id": "  "}, "solo hay espacios"),
        ({"sujeto_id": "\u00a0\u2003"}, "solo hay espacios"),
        ({"sujeto_id": "C\x001"}, "caracteres de control"),
        ({"sujeto_id": "C\ud8001"}, "caracteres de control"),
        ({"sujeto_id": "C" * 1_048_576}, "más de"),
        ({"canal": "paloma"}, "canal"),
        ({"recibida": plazos.hoy() + timedelta(days=1)}, "posterior a hoy"),
        ({"recibida": datetime(2026, 1, 1, tzinfo=plazos.MADRID)}, "sin hora"),
        ({"recibida": "2026-01-01"}, "sin hora"),
        ({"identificadores": {"email": "a\x00b"}}, "identificadores"),
        ({"identificadores": {"email": ["a@x.es"]}}, "identificadores"),
        ({"identificadores": {"email": "a" * 1_048_576}}, "identificadores"),
    ],
    ids=lambda v: "" if isinstance(v, str) else "-".join(v),
)
def test_recibir_rechaza_lo_que_no_vale_con_una_frase(cambio: dict[str, Any], frase: str, dpo: Any) -> None:
    datos = {"espacio": "clientes", "sujeto_id": "C1", "canal": "web", "recibida": plazos.hoy(), "por": dpo}
    with pytest.raises(DatoNoValido, match=frase) as error:
        servicios.recibir(**{**datos, **cambio})
    assert len(str(error.value)) < 300  # it never repeats what was typed
    assert not Solicitud.objects.exists()


def test_los_otros_identificadores_se_guardan_mientras_esta_abierta(recibida: Callable[..., Any]) -> None:
    datos = {"email": "ana@x.es", "telefono": "600123123"}
    assert Solicitud.objects.get(pk=recibida(identificadores=datos).pk).identificadores() == datos


def test_revisar_cuenta_sin_borrar_y_se_puede_repetir(
    hasta: Callable[..., Any], preferencia: Callable[..., None], dpo: Any
) -> None:
    solicitud = hasta(Estado.IDENTIFICADA)
    assert servicios.revisar(solicitud=solicitud, por=dpo)["memoria"]["documentos"] == 0
    preferencia("C1")
    for _ in range(2):
        assert servicios.revisar(solicitud=solicitud, por=dpo)["memoria"]["documentos"] == 1
    assert Solicitud.objects.get().vista_previa["memoria"]["documentos"] == 1


# -- four eyes --------------------------------------------------------------------------------------


def test_quien_recibe_no_aprueba(hasta: Callable[..., Any], dpo: Any, otro_dpo: Any) -> None:
    solicitud = hasta(Estado.REVISADA)
    with pytest.raises(CuatroOjos):
        servicios.aprobar(solicitud=solicitud, por=dpo)
    assert Solicitud.objects.get().estado == Estado.REVISADA
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    assert solicitud.excepcion_motivo == ""


def test_la_excepcion_es_explicita_y_queda_en_la_solicitud(hasta: Callable[..., Any], dpo: Any) -> None:
    solicitud = hasta(Estado.REVISADA)
    for vacio in ("", "  ", "\n"):
        with pytest.raises(DatoNoValido):
            servicios.aprobar(solicitud=solicitud, por=dpo, excepcion_motivo=vacio)
    servicios.aprobar(solicitud=solicitud, por=dpo, excepcion_motivo="No hay otra persona delegada")
    servicios.ejecutar(solicitud=solicitud)
    assert Solicitud.objects.get().excepcion_motivo == "No hay otra persona delegada"


def test_la_excepcion_no_se_anota_cuando_no_la_hay(hasta: Callable[..., Any], otro_dpo: Any) -> None:
    with pytest.raises(DatoNoValido, match="solo hace falta"):
        servicios.aprobar(solicitud=hasta(Estado.REVISADA), por=otro_dpo, excepcion_motivo="Por si acaso")


# -- what is kept for good names nobody ---------------------------------------------------------------


@pytest.mark.parametrize(
    "texto", ["", "   ", "x" * 2001, "a\x00b", "Es C1.", "es c1", "su correo es Ana@X.es"]
)
def test_un_motivo_no_puede_estar_vacio_ni_nombrar_a_la_persona(
    texto: str, recibida: Callable[..., Any], dpo: Any
) -> None:
    solicitud = recibida("C1", identificadores={"email": "ana@x.es"})
    for servicio, nombre in (
        (servicios.identificar, "como"),
        (servicios.denegar, "motivo"),
        (servicios.retirar, "motivo"),
    ):
        with pytest.raises(DatoNoValido):
            servicio(solicitud=solicitud, por=dpo, **{nombre: texto})
    assert Solicitud.objects.get().estado == Estado.RECIBIDA
    servicios.identificar(solicitud=solicitud, como="Pedido C10 mostrado en tienda", por=dpo)


# -- permissions --------------------------------------------------------------------------------------

PASOS: dict[str, tuple[str, dict[str, Any]]] = {
    "identificar": (Estado.RECIBIDA, {"como": "DNI"}),
    "revisar": (Estado.IDENTIFICADA, {}),
    "aprobar": (Estado.REVISADA, {}),
    "ejecutar": (Estado.APROBADA, {}),
    "denegar": (Estado.RECIBIDA, {"motivo": "No procede"}),
    "retirar": (Estado.RECIBIDA, {"motivo": "Ya no lo pide"}),
}


@pytest.mark.parametrize("grupo", ["compras", "operaciones", "consulta", "", "dpo"])
@pytest.mark.parametrize("paso", PASOS)
def test_cada_paso_pide_su_permiso(
    grupo: str, paso: str, hasta: Callable[..., Any], persona: Callable[..., Any]
) -> None:
    estado, datos = PASOS[paso]
    solicitud = hasta(estado)
    usuario = persona(*([grupo] if grupo else []), nombre="probador")
    if grupo == "dpo" or (grupo == "operaciones" and paso == "ejecutar"):
        getattr(servicios, paso)(solicitud=solicitud, por=usuario, **datos)
        assert solicitud.estado != estado
        return
    with pytest.raises(SinPermiso):
        getattr(servicios, paso)(solicitud=solicitud, por=usuario, **datos)
    assert Solicitud.objects.get().estado == estado


@pytest.mark.parametrize("grupo", ["compras", "operaciones", "consulta"])
def test_recibir_pide_su_permiso(grupo: str, persona: Callable[..., Any]) -> None:
    with pytest.raises(SinPermiso):
        servicios.recibir(
            espacio="clientes", sujeto_id="C1", canal="web", recibida=plazos.hoy(), por=persona(grupo)
        )


@pytest.mark.parametrize("paso", [p for p in PASOS if p != "ejecutar"])
def test_solo_ejecutar_puede_hacerlo_la_orden_programada(paso: str, hasta: Callable[..., Any]) -> None:
    estado, datos = PASOS[paso]
    with pytest.raises(SinPermiso):
        getattr(servicios, paso)(solicitud=hasta(estado), por=None, **datos)


def test_quien_ya_no_trabaja_aqui_no_puede(hasta: Callable[..., Any], otro_dpo: Any) -> None:
    otro_dpo.is_active = False
    otro_dpo.save()
    with pytest.raises(SinPermiso):
        servicios.aprobar(solicitud=hasta(Estado.REVISADA), por=otro_dpo)
