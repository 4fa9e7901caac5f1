"""Langfuse as a destination, against a server that speaks its API: deleting is not believed, it is read
back."""

from __future__ import annotations

import logging
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from privacidad.destinos import langfuse
from privacidad.destinos.base import Rastro, Sujeto
from privacidad.destinos.langfuse import Langfuse
from privacidad.errores import DestinoNoDisponible
from tests.privacidad.servidor_langfuse import ServidorLangfuse

ANA = "ana@x.es"


@pytest.fixture
def destino() -> Langfuse:
    return Langfuse()


def cliente(sujeto_id: str) -> Sujeto:
    return Sujeto("clientes", sujeto_id, ())


def test_sin_direccion_no_esta_activo(destino: Langfuse, settings: Any) -> None:
    settings.LANGFUSE_URL = ""
    assert not destino.activo
    with pytest.raises(DestinoNoDisponible, match="LANGFUSE_URL"):
        destino.contar(cliente("C1"))


def test_solo_las_del_usuario_exacto(destino: Langfuse, servidor: ServidorLangfuse) -> None:
    for usuario in ("C1", "C10", "c1", "C1 ", None):
        servidor.poner(usuario, 2)
    assert destino.contar(cliente("C1")) == {"trazas": 2}
    assert destino.suprimir(cliente("C1")) == {"trazas": 2}
    assert destino.verificar(cliente("C1")) == {"trazas": 0}
    assert [t["userId"] for t in servidor.trazas] == ["C10", "C10", "c1", "c1", "C1 ", "C1 ", None, None]


def test_doscientas_cincuenta_de_todas_las_paginas_y_por_lotes(
    destino: Langfuse, servidor: ServidorLangfuse
) -> None:
    servidor.poner("C1", 250)
    servidor.poner("C2", 3)
    assert destino.suprimir(cliente("C1")) == {"trazas": 250}
    assert servidor.de("C1") == 0
    assert servidor.de("C2") == 3
    assert [p["page"] for p in servidor.pedidas("GET")] == ["1", "2", "3"]
    assert [len(p["traceIds"]) for p in servidor.pedidas("DELETE")] == [50] * 5


def test_las_antiguas_tambien(destino: Langfuse, servidor: ServidorLangfuse) -> None:
    servidor.poner("C1", momento=datetime(2019, 1, 1, tzinfo=UTC))
    assert destino.contar(cliente("C1")) == {"trazas": 1}


def test_no_pide_lo_que_se_dijo(destino: Langfuse, servidor: ServidorLangfuse) -> None:
    servidor.poner("C1")
    destino.suprimir(cliente("C1"))
    assert {p["fields"] for p in servidor.pedidas("GET")} == {"core"}


@pytest.mark.parametrize("usuario", ["Ñandú 100%", "a&b=c#d?", "../x", "C.1", "\u00e1\U0001f600"])
def test_un_identificador_cualquiera_viaja_entero(
    destino: Langfuse, servidor: ServidorLangfuse, usuario: str
) -> None:
    servidor.poner(usuario)
    servidor.poner("otro")
    assert destino.suprimir(cliente(usuario)) == {"trazas": 1}
    assert [t["userId"] for t in servidor.trazas] == ["otro"]


def test_a_quien_no_conoce_no_le_borra_nada(destino: Langfuse, servidor: ServidorLangfuse) -> None:
    servidor.poner("C2")
    assert destino.suprimir(cliente("C1")) == {"trazas": 0}
    assert not servidor.pedidas("DELETE")


def test_un_proveedor_no_habla_con_agentes(destino: Langfuse, servidor: ServidorLangfuse) -> None:
    servidor.poner("P1")
    proveedor = Sujeto("proveedores", "P1", ())
    assert destino.contar(proveedor) == destino.suprimir(proveedor) == {"trazas": 0}
    assert servidor.de("P1") == 1


def test_lo_que_se_borra_despues_se_sigue_viendo(destino: Langfuse, servidor: ServidorLangfuse) -> None:
    servidor.modo = "asincrono"
    servidor.poner("C1", 3)
    assert destino.suprimir(cliente("C1")) == {"trazas": 3}
    assert destino.verificar(cliente("C1")) == {"trazas": 3}
    servidor.procesar()
    assert destino.verificar(cliente("C1")) == {"trazas": 0}


def test_repetirlo_no_hace_daño(destino: Langfuse, servidor: ServidorLangfuse) -> None:
    servidor.modo = "asincrono"
    servidor.poner("C1", 3)
    servidor.poner("C2", 1)
    destino.suprimir(cliente("C1"))
    destino.suprimir(cliente("C1"))
    servidor.procesar()
    assert destino.suprimir(cliente("C1")) == {"trazas": 0}
    assert servidor.de("C2") == 1


FALLOS = {
    "500": "código 500",
    "html": "no es de la API",
    "incompleta": "ha enseñado",
    "sin_filtro": "otros usuarios",
    "limite_diario": "43200 segundos",
    "redirige": "código 302",
}


@pytest.mark.parametrize(("modo", "dice"), FALLOS.items())
def test_si_no_responde_como_debe_se_dice_y_no_se_borra(
    destino: Langfuse,
    servidor: ServidorLangfuse,
    modo: str,
    dice: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    servidor.poner(ANA, 2)
    servidor.poner("otra", 2)
    servidor.modo = modo
    with pytest.raises(DestinoNoDisponible) as error:
        destino.suprimir(cliente(ANA))
    assert dice in str(error.value)
    assert servidor.de(ANA) == servidor.de("otra") == 2
    assert_no_la_nombra(error, caplog)


def test_claves_equivocadas(
    destino: Langfuse, servidor: ServidorLangfuse, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.LANGFUSE_SECRET_KEY = "sk-lf-otra"
    with pytest.raises(DestinoNoDisponible, match="LANGFUSE_SECRET_KEY") as error:
        destino.contar(cliente(ANA))
    assert "sk-lf-otra" not in str(error.value)
    assert_no_la_nombra(error, caplog)


@pytest.mark.parametrize("modo", ["lento", "borra_lento", "gotea", "gotea_cabeceras"])
def test_no_se_espera_para_siempre(
    destino: Langfuse,
    servidor: ServidorLangfuse,
    monkeypatch: pytest.MonkeyPatch,
    modo: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(langfuse, "ESPERA", 0.4)
    servidor.poner(ANA)
    servidor.modo = modo
    antes = time.monotonic()
    with pytest.raises(DestinoNoDisponible, match="a tiempo") as error:
        destino.suprimir(cliente(ANA))
    assert time.monotonic() - antes < 60  # the slowest of them would take eight minutes
    assert_no_la_nombra(error, caplog)


def test_nadie_escucha(
    destino: Langfuse, servidor: ServidorLangfuse, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.LANGFUSE_URL = "http://127.0.0.1:9"
    with pytest.raises(DestinoNoDisponible, match="No se puede conectar") as error:
        destino.contar(cliente(ANA))
    assert_no_la_nombra(error, caplog)


def test_una_pausa_breve_se_espera(destino: Langfuse, servidor: ServidorLangfuse) -> None:
    servidor.poner("C1")
    servidor.modo = "limite"
    assert destino.contar(cliente("C1")) == {"trazas": 1}
    assert len(servidor.pedidas("GET")) == 2


def test_el_identificador_no_llega_a_los_registros(
    destino: Langfuse, servidor: ServidorLangfuse, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    servidor.poner(ANA)
    destino.contar(cliente(ANA))
    destino.suprimir(cliente(ANA))
    for forma in (ANA, "ana%40x.es"):
        assert forma not in caplog.text
    assert ANA not in str(destino.parametros(cliente(ANA)))


def test_dice_a_quien_conoce_y_desde_cuando(destino: Langfuse, servidor: ServidorLangfuse) -> None:
    ahora = datetime.now(UTC)
    servidor.poner("C2", momento=ahora)
    servidor.poner(None, momento=ahora - timedelta(days=3))
    servidor.poner("C1", 101, momento=ahora - timedelta(days=2))
    rastros = list(destino.sujetos(10, hasta=ahora - timedelta(days=1)))
    # A user id is no namespace: it may be that of a customer or of an employee.
    assert {(r.espacio, r.sujeto_id) for r in rastros} == {("clientes", "C1"), ("empleados", "C1")}
    assert len(rastros) == 202
    assert min(r.desde for r in rastros) < ahora - timedelta(days=1)
    assert "C1" not in repr(Rastro("clientes", "C1", ahora))


def assert_no_la_nombra(error: pytest.ExceptionInfo[Exception], caplog: pytest.LogCaptureFixture) -> None:
    """Neither the message, nor what it was raised from, nor any log line names the person."""
    assert error.value.__suppress_context__ or error.value.__context__ is None
    for forma in (ANA, "ana%40x.es"):
        assert forma not in str(error.value)
        assert forma not in caplog.text
