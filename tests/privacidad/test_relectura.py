"""What is outside is read back before a request closes, and watched while it waits for what is held back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse

from privacidad import destinos, palabras, servicios
from privacidad.destinos import prisa
from privacidad.estados import Estado
from privacidad.models import Asiento, Escrito, Exclusion, Gestion, Solicitud
from tests.ordenes import ordenar
from tests.privacidad.servidor_langfuse import ServidorLangfuse
from tests.privacidad.test_externos import Remoto

TARDE = timedelta(minutes=5)


@pytest.fixture
def retenida(
    hasta: Callable[..., Any],
    preferencia: Callable[..., None],
    servidor: ServidorLangfuse,
    dpo: Any,
    otro_dpo: Any,
) -> Exclusion:
    """The hold that the request of C1 waits for: all the rest was erased, and so was their trace."""
    preferencia("C1", "idioma")
    preferencia("C1", "horario")
    servidor.poner("C1")
    solicitud = hasta(Estado.REVISADA)
    exclusion: Exclusion = servicios.excluir(
        solicitud=solicitud, destino="memoria", clave="pref-idioma", motivo="reclamacion", por=dpo
    )
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    assert (solicitud.estado, solicitud.gestiones.get().estado) == (Estado.PARCIAL, Gestion.Estado.HECHA)
    return exclusion


@pytest.fixture
def solicitud(retenida: Exclusion) -> Solicitud:
    return Solicitud.objects.get(pk=retenida.solicitud_id)


@pytest.fixture
def llega_tarde(solicitud: Solicitud, servidor: ServidorLangfuse) -> None:
    """A trace of before the erasure, that came in after it."""
    borrado = solicitud.evidencias.get().momento
    servidor.poner("C1", momento=borrado - TARDE)


# -- before it closes -------------------------------------------------------------------------------


@pytest.mark.usefixtures("llega_tarde")
def test_antes_de_cerrarse_se_lee_otra_vez_lo_de_fuera_y_se_borra_lo_que_llego(
    retenida: Exclusion, solicitud: Solicitud, servidor: ServidorLangfuse, otro_dpo: Any
) -> None:
    servicios.liberar(exclusion=retenida, por=otro_dpo)
    assert ordenar("ejecutar_supresiones")[0]["completadas"] == 1
    assert servidor.de("C1") == 0
    gestion = solicitud.gestiones.get()
    assert gestion.estado == Gestion.Estado.HECHA
    assert gestion.recuento == {"antes": {"trazas": 2}, "borrados": {"trazas": 2}, "despues": {"trazas": 0}}
    (dicho,) = Escrito.objects.get().datos["gestiones"]
    assert (dicho["estado"], dicho["lineas"]) == (
        "Borrado y verificado",
        [{"que": "trazas", "antes": 2, "despues": 0}],
    )
    assert "2 trazas" in palabras.borrado([], [gestion])
    assert Asiento.objects.get(tipo="hallazgo").datos == {"destinos": ["langfuse"]}


@pytest.mark.usefixtures("llega_tarde")
def test_lo_que_llego_y_aun_se_lee_no_deja_cerrarla(
    retenida: Exclusion, solicitud: Solicitud, servidor: ServidorLangfuse, otro_dpo: Any
) -> None:
    servidor.modo = "asincrono"
    servicios.liberar(exclusion=retenida, por=otro_dpo)
    datos, _, codigo = ordenar("ejecutar_supresiones")
    assert (datos["completadas"], datos["parciales"], codigo) == (0, 1, 3)
    solicitud.refresh_from_db()
    assert (solicitud.estado, solicitud.sujeto_id) == (Estado.PARCIAL, "C1")
    assert solicitud.gestiones.get().estado == Gestion.Estado.POR_VERIFICAR
    assert not Escrito.objects.exists()

    servidor.procesar()
    assert ordenar("verificar_supresiones")[0]["completadas"] == 1
    assert solicitud.gestiones.get().recuento["antes"] == {"trazas": 2}


def test_sin_poder_leerlo_otra_vez_no_se_cierra(
    retenida: Exclusion, solicitud: Solicitud, servidor: ServidorLangfuse, otro_dpo: Any
) -> None:
    servidor.modo = "500"
    servicios.liberar(exclusion=retenida, por=otro_dpo)
    datos, _, codigo = ordenar("ejecutar_supresiones")
    assert (datos["completadas"], datos["parciales"], codigo) == (0, 1, 3)
    gestion = solicitud.gestiones.get()
    assert gestion.estado == Gestion.Estado.FALLIDA
    assert "500" in gestion.detalle

    servidor.modo = ""
    servidor.peticiones.clear()
    assert ordenar("ejecutar_supresiones")[0]["completadas"] == 1
    assert not servidor.pedidas("DELETE"), "nothing had come"
    gestion.refresh_from_db()
    assert gestion.recuento == {"antes": {"trazas": 1}, "borrados": {"trazas": 1}, "despues": {"trazas": 0}}


def test_desde_la_pagina_sin_tiempo_para_leerlo_queda_para_la_tarea(
    retenida: Exclusion,
    solicitud: Solicitud,
    servidor: ServidorLangfuse,
    otro_dpo: Any,
    navegar: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    servicios.liberar(exclusion=retenida, por=otro_dpo)
    monkeypatch.setattr(prisa, "EN_UNA_PAGINA", 0.3)
    servidor.modo = "lento"
    respuesta = navegar("dpo").post(
        reverse("privacidad:paso", args=[solicitud.referencia, "ejecutar"]), follow=True
    )
    assert "Falta 1 sistema externo" in respuesta.content.decode()
    assert solicitud.gestiones.get().estado == Gestion.Estado.PENDIENTE
    servidor.modo = ""
    assert ordenar("ejecutar_supresiones")[0]["completadas"] == 1


def test_lo_que_se_leyo_vacio_se_lee_y_no_se_borra(
    retenida: Exclusion, solicitud: Solicitud, servidor: ServidorLangfuse, otro_dpo: Any
) -> None:
    servicios.liberar(exclusion=retenida, por=otro_dpo)
    leida = solicitud.gestiones.get().momento
    servidor.peticiones.clear()
    assert ordenar("ejecutar_supresiones")[0]["completadas"] == 1
    assert [metodo for metodo, _datos in servidor.peticiones] == ["GET"]
    gestion = solicitud.gestiones.get()
    assert gestion.momento > leida, "the document says when it was last read"
    assert (gestion.intentos, gestion.recuento["antes"]) == (1, {"trazas": 1})
    assert not Asiento.objects.filter(tipo="hallazgo").exists()


def test_el_que_se_hizo_se_lee_otra_vez_cuando_se_cierra_por_el_que_faltaba(
    hasta: Callable[..., Any], servidor: ServidorLangfuse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One was done at once and the other took long: what came late to the first one is not left there."""
    internos = tuple(d for d in destinos.DESTINOS if not d.externo)
    monkeypatch.setattr(destinos, "DESTINOS", (*internos, Remoto(1), Remoto(2)))
    servidor.poner("C1-1")
    servidor.poner("C1-2")
    solicitud = hasta(Estado.APROBADA)
    segundo = servidor.trazas[1]["id"]
    servidor.modo = "asincrono"
    servicios.ejecutar(solicitud=solicitud)
    servidor.trazas = [t for t in servidor.trazas if t["id"] == segundo]
    servidor.por_borrar.discard(segundo)
    solicitud.gestiones.filter(destino="remoto2").update(pedida=None)
    servicios.ejecutar(solicitud=solicitud)
    assert dict(solicitud.gestiones.values_list("destino", "estado")) == {
        "remoto1": Gestion.Estado.HECHA,
        "remoto2": Gestion.Estado.POR_VERIFICAR,
    }

    servidor.modo = ""
    servidor.procesar()
    servidor.poner("C1-1")
    datos, _, _ = ordenar("verificar_supresiones")
    assert datos["completadas"] == 1
    assert servidor.trazas == []
    assert solicitud.gestiones.get(destino="remoto1").recuento["antes"] == {"trazas": 2}


def test_el_que_se_conecta_mientras_tanto_tambien_se_borra(
    retenida: Exclusion,
    solicitud: Solicitud,
    servidor: ServidorLangfuse,
    otro_dpo: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(destinos, "DESTINOS", (*destinos.DESTINOS, Remoto(1)))
    servidor.poner("C1-1", 3)
    servicios.liberar(exclusion=retenida, por=otro_dpo)
    assert ordenar("ejecutar_supresiones")[0]["completadas"] == 1
    assert servidor.de("C1-1") == 0
    assert solicitud.gestiones.get(destino="remoto1").estado == Gestion.Estado.HECHA


def test_mientras_se_espera_a_lo_retenido_no_se_pregunta_fuera_en_cada_pasada(
    retenida: Exclusion, servidor: ServidorLangfuse
) -> None:
    servidor.peticiones.clear()
    datos, _, codigo = ordenar("ejecutar_supresiones")
    assert (datos["retenidas"], codigo) == (1, 0)
    assert servidor.peticiones == []


# -- the nightly watch ------------------------------------------------------------------------------


@pytest.mark.usefixtures("llega_tarde")
def test_la_vigilancia_ve_lo_que_llega_tarde_a_quien_espera_por_lo_retenido(
    solicitud: Solicitud, servidor: ServidorLangfuse, navegar: Callable[..., Any]
) -> None:
    datos, avisos, codigo = ordenar("verificar_supresiones")
    assert (datos["reaparecidas"], codigo) == (1, 0)
    assert f"{solicitud.referencia}: " in avisos
    assert "Trazas de Langfuse" in avisos
    assert "C1" not in avisos
    assert servidor.de("C1") == 1, "the watch itself erases nothing"
    solicitud.refresh_from_db()
    gestion = solicitud.gestiones.get()
    assert (solicitud.estado, gestion.estado) == (Estado.PARCIAL, Gestion.Estado.PENDIENTE)
    assert Asiento.objects.get(tipo="hallazgo").datos == {"destinos": ["langfuse"]}
    pagina = navegar("dpo").get(solicitud.get_absolute_url()).content.decode()
    assert gestion.detalle
    assert gestion.detalle in pagina
    assert "Falta que lo confirme 1 sistema externo" in pagina

    assert ordenar("verificar_supresiones")[0]["reaparecidas"] == 0, "it is told once"
    datos, _, codigo = ordenar("ejecutar_supresiones")
    assert (datos["retenidas"], codigo) == (1, 0)
    assert servidor.de("C1") == 0
    gestion.refresh_from_db()
    assert (gestion.estado, gestion.detalle) == (Gestion.Estado.HECHA, "")
    assert gestion.recuento == {"antes": {"trazas": 2}, "borrados": {"trazas": 2}, "despues": {"trazas": 0}}
    solicitud.refresh_from_db()
    assert solicitud.estado == Estado.PARCIAL
    assert ordenar("verificar_supresiones")[0]["reaparecidas"] == 0


def test_lo_que_dice_despues_y_lo_de_otros_no_es_una_reaparicion(
    solicitud: Solicitud, servidor: ServidorLangfuse
) -> None:
    borrado = solicitud.evidencias.get().momento
    servidor.poner("C1", momento=borrado + timedelta(seconds=1))
    servidor.poner("C2", momento=borrado - TARDE)
    datos, _, codigo = ordenar("verificar_supresiones")
    assert (datos["reaparecidas"], codigo) == (0, 0)
    assert solicitud.gestiones.get().estado == Gestion.Estado.HECHA


@pytest.mark.usefixtures("llega_tarde")
def test_un_simulacro_lo_cuenta_y_no_lo_abre(solicitud: Solicitud) -> None:
    asientos = Asiento.objects.count()
    assert ordenar("verificar_supresiones", "--dry-run")[0]["reaparecidas"] == 1
    assert solicitud.gestiones.get().estado == Gestion.Estado.HECHA
    assert Asiento.objects.count() == asientos


@pytest.mark.usefixtures("llega_tarde")
def test_lo_que_ya_estaba_por_hacer_no_se_cuenta(solicitud: Solicitud) -> None:
    solicitud.gestiones.update(estado=Gestion.Estado.FALLIDA)
    assert ordenar("verificar_supresiones")[0]["reaparecidas"] == 0


@pytest.mark.usefixtures("llega_tarde")
def test_lo_retenido_no_es_lo_que_ha_vuelto(solicitud: Solicitud, servidor: ServidorLangfuse) -> None:
    """The held document is older than the erasure, and lawfully there."""
    servidor.trazas.clear()
    datos, _, codigo = ordenar("verificar_supresiones")
    assert (datos["reaparecidas"], codigo) == (0, 0)
    solicitud.refresh_from_db()
    assert solicitud.estado == Estado.PARCIAL


def test_con_una_parcial_y_langfuse_caido_se_dice(solicitud: Solicitud, servidor: ServidorLangfuse) -> None:
    servidor.modo = "500"
    datos, avisos, codigo = ordenar("verificar_supresiones")
    assert (datos["sin_respuesta"], codigo) == (["langfuse"], 3)
    assert "500" in avisos
    assert solicitud.gestiones.get().estado == Gestion.Estado.HECHA
