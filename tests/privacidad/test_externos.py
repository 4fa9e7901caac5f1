"""Destinations outside PostgreSQL: each on its own, read back, retried alone, never inside a transaction."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from django.urls import reverse
from django.utils import timezone

from memoria.models import Documento
from privacidad import destinos, gestiones, palabras, servicios
from privacidad.destinos import prisa
from privacidad.destinos.base import Recuento, Sujeto
from privacidad.destinos.langfuse import Langfuse
from privacidad.errores import SinTiempo, TransicionNoPermitida
from privacidad.estados import Estado
from privacidad.figuras import supresiones
from privacidad.models import Asiento, Evidencia, Gestion, Paso, Solicitud
from tests import ordenes
from tests.esperas import LIMITE
from tests.privacidad.servidor_langfuse import PUBLICA, SECRETA, ServidorLangfuse

RAIZ = Path(__file__).resolve().parents[2]


class Remoto(Langfuse):
    """A destination of its own on the same server: it knows the person as ``C1-2`` and its like.

    It refuses to be asked inside a transaction.
    """

    def __init__(self, numero: int) -> None:
        self.nombre = f"remoto{numero}"  # type: ignore[misc]  # of each, here
        self.numero = numero

    def contar(self, sujeto: Sujeto) -> Recuento:
        return super().contar(self._alli(sujeto))

    def suprimir(self, sujeto: Sujeto) -> Recuento:
        return super().suprimir(self._alli(sujeto))

    def _alli(self, sujeto: Sujeto) -> Sujeto:
        assert not connection.in_atomic_block
        return replace(sujeto, sujeto_id=f"{sujeto.sujeto_id}-{self.numero}")


def con_remotos() -> None:
    """Three of them instead of Langfuse, after those of PostgreSQL."""
    internos = tuple(d for d in destinos.DESTINOS if not d.externo)
    destinos.DESTINOS = (*internos, Remoto(1), Remoto(2), Remoto(3))


@pytest.fixture
def remotos(servidor: ServidorLangfuse, monkeypatch: pytest.MonkeyPatch) -> ServidorLangfuse:
    """Three external destinations; the person has two traces in each."""
    monkeypatch.setattr(destinos, "DESTINOS", destinos.DESTINOS)
    con_remotos()
    for numero in (1, 2, 3):
        servidor.poner(f"C1-{numero}", 2)
    return servidor


def ordenar(*opciones: str) -> tuple[dict[str, Any], int]:
    """``ejecutar_supresiones``: ``(JSON, exit code)``."""
    datos, _, codigo = ordenes.ordenar("ejecutar_supresiones", *opciones)
    return datos, codigo


def estados_de(solicitud: Solicitud) -> dict[str, str]:
    return dict(solicitud.gestiones.order_by("destino").values_list("destino", "estado"))


def borrados(servidor: ServidorLangfuse) -> list[list[str]]:
    return [p["traceIds"] for p in servidor.pedidas("DELETE")]


# -- E4 -------------------------------------------------------------------------------------------


def test_e4_a_quien_no_conoce_es_sin_datos_y_nunca_hecho(
    hasta: Callable[..., Any], preferencia: Callable[..., None], servidor: ServidorLangfuse
) -> None:
    preferencia("C1")
    servidor.poner("C2")
    solicitud = hasta(Estado.COMPLETADA, "C1")
    assert estados_de(solicitud) == {"langfuse": Gestion.Estado.SIN_DATOS}
    assert not servidor.pedidas("DELETE")
    assert servidor.de("C2") == 1


def test_e4_borrado_y_todavia_legible_queda_por_verificar(
    hasta: Callable[..., Any], preferencia: Callable[..., None], servidor: ServidorLangfuse
) -> None:
    preferencia("C1")
    servidor.poner("C1", 3)
    servidor.modo = "asincrono"
    solicitud = hasta(Estado.APROBADA, "C1")
    assert solicitud.vista_previa["langfuse"] == {"trazas": 3}
    servicios.ejecutar(solicitud=solicitud)
    gestion = solicitud.gestiones.get()
    assert (solicitud.estado, gestion.estado) == (Estado.PARCIAL, Gestion.Estado.POR_VERIFICAR)
    assert gestion.recuento == {"antes": {"trazas": 3}, "borrados": {"trazas": 3}, "despues": {"trazas": 3}}
    assert solicitud.sujeto_id == "C1"

    pasos = Paso.objects.count()
    servicios.ejecutar(solicitud=solicitud)
    assert solicitud.estado == Estado.PARCIAL
    assert Paso.objects.count() == pasos, "waiting leaves no step"

    servidor.procesar()
    servicios.ejecutar(solicitud=solicitud)
    gestion.refresh_from_db()
    assert (solicitud.estado, gestion.estado) == (Estado.COMPLETADA, Gestion.Estado.HECHA)
    assert (solicitud.sujeto_id, bytes(solicitud.reservado)) == ("", b"")
    assert gestion.recuento["despues"] == {"trazas": 0}
    assert len(borrados(servidor)) == 1, "what was asked for is only read back"
    assert Evidencia.objects.count() == 1


def test_un_intento_que_no_cambia_nada_no_es_un_asiento(
    hasta: Callable[..., Any],
    preferencia: Callable[..., None],
    servidor: ServidorLangfuse,
    tmp_path: Path,
) -> None:
    """Or a Langfuse that is down for a night fills the register. When it was tried is in the row."""
    preferencia("C1")
    servidor.poner("C1", 2)
    solicitud = hasta(Estado.APROBADA, "C1")

    def asientos() -> list[str]:
        de_gestion = Asiento.objects.filter(tipo="gestion", referencia=solicitud.referencia)
        return list(de_gestion.order_by("numero").values_list("datos__estado", flat=True))

    servidor.modo = "500"
    servicios.ejecutar(solicitud=solicitud)
    assert asientos() == ["fallida"]
    antes = solicitud.gestiones.get()
    for _vez in range(3):
        servicios.ejecutar(solicitud=solicitud)
    despues = solicitud.gestiones.get()
    assert asientos() == ["fallida"]
    assert (despues.intentos, despues.momento > antes.momento) == (antes.intentos + 3, True)
    # Counted, and no more: the state is the same and the counts are not.
    servidor.modo = "limite_diario"
    servicios.ejecutar(solicitud=solicitud)
    assert asientos() == ["fallida", "fallida"]
    servicios.ejecutar(solicitud=solicitud)
    assert asientos() == ["fallida", "fallida"]
    servidor.modo = "asincrono"
    for _vez in range(3):
        servicios.ejecutar(solicitud=solicitud)
    assert asientos() == ["fallida", "fallida", "por_verificar"]
    servidor.procesar()
    servicios.ejecutar(solicitud=solicitud)
    assert asientos() == ["fallida", "fallida", "por_verificar", "hecha"]
    assert solicitud.estado == Estado.COMPLETADA
    # Found again, and done again with the same counts: it is another deletion.
    servidor.modo = ""
    servidor.poner("C1", 2, timezone.now() - timedelta(days=1))
    servicios.reabrir(solicitud=solicitud, sujeto_id="C1", hallado=["langfuse"])
    solicitud.refresh_from_db()
    servicios.ejecutar(solicitud=solicitud)
    assert asientos()[4:] == ["hecha"]
    fichero = tmp_path / "registro.jsonl"
    assert ordenes.ordenar("exportar_registro", fichero)[2] == 0
    assert ordenes.ordenar("verificar_registro", "--contra", fichero)[2] == 0


def test_e4_un_borrado_que_se_pierde_se_vuelve_a_pedir_al_dia_siguiente(
    hasta: Callable[..., Any], servidor: ServidorLangfuse
) -> None:
    servidor.poner("C1", 2)
    servidor.modo = "perdida"
    solicitud = hasta(Estado.APROBADA, "C1")
    servicios.ejecutar(solicitud=solicitud)
    servidor.modo = ""
    servicios.ejecutar(solicitud=solicitud)
    assert (solicitud.estado, len(borrados(servidor))) == (Estado.PARCIAL, 1)
    solicitud.gestiones.update(pedida=timezone.now() - gestiones.REPETIR_TRAS)
    servicios.ejecutar(solicitud=solicitud)
    assert (solicitud.estado, len(borrados(servidor))) == (Estado.COMPLETADA, 2)
    assert servidor.de("C1") == 0


def test_lo_que_se_suelta_mientras_se_espera_a_fuera_se_borra_antes_de_cerrar(
    hasta: Callable[..., Any],
    preferencia: Callable[..., None],
    servidor: ServidorLangfuse,
    dpo: Any,
    otro_dpo: Any,
) -> None:
    """E6: the last confirmation from outside does not close what has been let go and is still there."""
    preferencia("C1")
    preferencia("C1", "horario")
    servidor.poner("C1")
    servidor.modo = "asincrono"
    solicitud = hasta(Estado.REVISADA, "C1")
    exclusion = servicios.excluir(
        solicitud=solicitud, destino="memoria", clave="pref-idioma", motivo="reclamacion", por=dpo
    )
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    servicios.liberar(exclusion=exclusion, por=otro_dpo)
    servidor.procesar()

    servicios.verificar(solicitud=solicitud)

    assert estados_de(solicitud) == {"langfuse": Gestion.Estado.HECHA}
    assert Solicitud.objects.get().estado == Estado.PARCIAL
    assert Documento.objects.get().key == "pref-idioma"
    servicios.ejecutar(solicitud=solicitud)
    assert solicitud.estado == Estado.COMPLETADA
    assert not Documento.objects.exists()


def test_e3_doscientas_cincuenta_trazas_ninguna_queda(
    hasta: Callable[..., Any], servidor: ServidorLangfuse
) -> None:
    servidor.poner("C1", 250)
    servidor.poner("C10", 2)
    solicitud = hasta(Estado.COMPLETADA, "C1")
    assert solicitud.gestiones.get().recuento["borrados"] == {"trazas": 250}
    assert (servidor.de("C1"), servidor.de("C10")) == (0, 2)


# -- E5 -------------------------------------------------------------------------------------------

MUERE = """
import django
django.setup()
from tests.privacidad.test_externos import con_remotos
con_remotos()
from django.core.management import call_command
call_command("ejecutar_supresiones")
"""


def test_e5_muerto_tras_el_primero_de_tres_la_siguiente_hace_los_otros_dos(
    hasta: Callable[..., Any], preferencia: Callable[..., None], remotos: ServidorLangfuse
) -> None:
    preferencia("C1")
    solicitud = hasta(Estado.APROBADA, "C1")
    del_segundo = [t["id"] for t in remotos.trazas if t["userId"] == "C1-2"]
    remotos.retener = lambda ids: ids == del_segundo
    proceso = subprocess.Popen(
        [sys.executable, "-c", MUERE],
        cwd=RAIZ,
        env={
            **os.environ,
            "LANGFUSE_URL": remotos.url,
            "LANGFUSE_PUBLIC_KEY": PUBLICA,
            "LANGFUSE_SECRET_KEY": SECRETA,
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert remotos.retenida.wait(LIMITE), "the run never came to the second one"
    finally:
        proceso.send_signal(signal.SIGKILL)
        proceso.wait()
    solicitud.refresh_from_db()
    assert solicitud.estado == Estado.PARCIAL
    assert estados_de(solicitud) == {"remoto1": "hecha", "remoto2": "pendiente", "remoto3": "pendiente"}
    assert not Documento.objects.exists()

    remotos.retener = lambda ids: False
    remotos.peticiones.clear()
    datos, codigo = ordenar()
    assert (datos["completadas"], datos["pendientes"], codigo) == (1, 0, 0)
    leidos = [p.get("userId") for p in remotos.pedidas("GET")]
    assert leidos.count("C1-1") == 1, "what was done is read once more before it closes, and not erased"
    assert set(leidos) == {"C1-1", "C1-2", "C1-3"}
    assert [len(ids) for ids in borrados(remotos)] == [2, 2]
    solicitud.refresh_from_db()
    assert solicitud.estado == Estado.COMPLETADA
    assert estados_de(solicitud) == dict.fromkeys(("remoto1", "remoto2", "remoto3"), "hecha")
    assert not remotos.trazas


def test_e5_un_simulacro_deja_una_pendiente_y_no_pide_nada_fuera(
    hasta: Callable[..., Any], preferencia: Callable[..., None], remotos: ServidorLangfuse
) -> None:
    preferencia("C1")
    solicitud = hasta(Estado.APROBADA, "C1")
    asientos = Asiento.objects.count()
    remotos.peticiones.clear()
    datos, codigo = ordenar("--dry-run")
    assert datos == {
        "completadas": 0,
        "parciales": 1,
        "retenidas": 0,
        "fallidas": 0,
        "pendientes": 1,
        "simulado": True,
    }
    assert codigo == 0
    assert remotos.peticiones == []
    assert len(remotos.trazas) == 6
    assert Documento.objects.count() == 1
    assert not Gestion.objects.exists()
    assert Asiento.objects.count() == asientos
    solicitud.refresh_from_db()
    assert solicitud.estado == Estado.APROBADA


# -- each on its own --------------------------------------------------------------------------------


def test_solo_se_reintenta_el_que_fallo(hasta: Callable[..., Any], remotos: ServidorLangfuse) -> None:
    solicitud = hasta(Estado.APROBADA, "C1")
    contar = Remoto.contar

    def caer_el_segundo(destino: Remoto, sujeto: Sujeto) -> Recuento:
        remotos.modo = "500" if destino.numero == 2 else ""
        return contar(destino, sujeto)

    with pytest.MonkeyPatch.context() as parche:
        parche.setattr(Remoto, "contar", caer_el_segundo)
        datos, codigo = ordenar()
    assert (datos["parciales"], datos["completadas"], datos["pendientes"], codigo) == (1, 0, 1, 3)
    assert estados_de(solicitud) == {"remoto1": "hecha", "remoto2": "fallida", "remoto3": "hecha"}
    detalle = solicitud.gestiones.get(destino="remoto2").detalle
    assert "500" in detalle
    assert "C1" not in detalle

    remotos.modo = ""
    remotos.peticiones.clear()
    assert ordenar()[0]["completadas"] == 1
    leidos = [p.get("userId") for p in remotos.pedidas("GET")]
    assert (leidos.count("C1-1"), leidos.count("C1-3")) == (1, 1), "read once more before it closes"
    (pedidos,) = borrados(remotos)
    assert len(pedidos) == 2
    assert list(solicitud.gestiones.order_by("destino").values_list("intentos", flat=True)) == [1, 2, 1]


@pytest.mark.parametrize("modo", ["500", "html", "sin_filtro", "incompleta"])
def test_parcial_no_es_hecho(
    hasta: Callable[..., Any], preferencia: Callable[..., None], servidor: ServidorLangfuse, modo: str
) -> None:
    preferencia("C1")
    servidor.poner("C1", 2)
    servidor.poner("C2", 2)
    solicitud = hasta(Estado.APROBADA, "C1")
    servidor.modo = modo
    evidencia = servicios.ejecutar(solicitud=solicitud)
    assert evidencia.resultado == Evidencia.Resultado.BORRADO
    assert not Documento.objects.exists()
    assert solicitud.estado == Estado.PARCIAL
    assert palabras.estado(solicitud, borro=True).tono != "bien"
    figura = supresiones()
    assert (figura["completadas"], figura["pendientes"]) == (0, 1)
    assert servidor.de("C1") == servidor.de("C2") == 2
    assert estados_de(solicitud) == {"langfuse": Gestion.Estado.FALLIDA}


def test_la_revision_cuenta_fuera_de_la_transaccion_y_sigue_si_no_responde(
    hasta: Callable[..., Any], remotos: ServidorLangfuse
) -> None:
    solicitud = hasta(Estado.REVISADA, "C1")  # each asserts that no transaction is open
    assert solicitud.vista_previa["remoto1"] == {"trazas": 2}
    remotos.modo = "500"
    otra = hasta(Estado.REVISADA, "C2")
    assert "remoto1" not in otra.vista_previa
    assert "memoria" in otra.vista_previa


def test_lo_que_se_desconecta_despues_de_revisar_no_se_da_por_hecho(
    hasta: Callable[..., Any], servidor: ServidorLangfuse, settings: Any
) -> None:
    servidor.poner("C1", 2)
    solicitud = hasta(Estado.APROBADA, "C1")
    settings.LANGFUSE_URL = ""
    servicios.ejecutar(solicitud=solicitud)
    assert solicitud.estado == Estado.PARCIAL
    assert "LANGFUSE_URL" in solicitud.gestiones.get().detalle
    settings.LANGFUSE_URL = servidor.url
    servicios.ejecutar(solicitud=solicitud)
    assert (solicitud.estado, servidor.de("C1")) == (Estado.COMPLETADA, 0)


def test_sin_direccion_no_hay_gestion(hasta: Callable[..., Any], preferencia: Callable[..., None]) -> None:
    preferencia("C1")
    solicitud = hasta(Estado.COMPLETADA, "C1")
    assert not solicitud.gestiones.exists()
    assert "langfuse" not in solicitud.vista_previa


def test_lo_acabado_no_lo_cambia_una_ejecucion_rezagada(
    hasta: Callable[..., Any], servidor: ServidorLangfuse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two runs overlap: what the slow one read back is older than what the other one has ended."""
    otras: list[Solicitud] = []

    class Rezagado(Langfuse):
        def verificar(self, sujeto: Sujeto) -> Recuento:
            leido = super().verificar(sujeto)
            if not otras:
                otras.append(Solicitud.objects.get())
                servidor.procesar()
                servicios.ejecutar(solicitud=otras[0])
            return leido

    internos = tuple(d for d in destinos.DESTINOS if not d.externo)
    monkeypatch.setattr(destinos, "DESTINOS", (*internos, Rezagado()))
    servidor.poner("C1")
    servidor.modo = "asincrono"
    solicitud = hasta(Estado.APROBADA, "C1")
    servicios.ejecutar(solicitud=solicitud)
    assert otras[0].estado == Estado.COMPLETADA
    assert solicitud.estado == Estado.COMPLETADA
    assert Gestion.objects.get().estado == Gestion.Estado.HECHA


def test_lo_que_habia_lo_dice_quien_lo_conto_primero(
    hasta: Callable[..., Any], servidor: ServidorLangfuse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two runs overlap: the slow one counts when the other one has erased everything already."""
    otras: list[Solicitud] = []

    class Rezagado(Langfuse):
        def contar(self, sujeto: Sujeto) -> Recuento:
            if Gestion.objects.exists() and not otras:
                otras.append(Solicitud.objects.get())
                servicios.ejecutar(solicitud=otras[0])
            return super().contar(sujeto)

    internos = tuple(d for d in destinos.DESTINOS if not d.externo)
    monkeypatch.setattr(destinos, "DESTINOS", (*internos, Rezagado()))
    servidor.poner("C1", 3)
    servicios.ejecutar(solicitud=hasta(Estado.APROBADA, "C1"))
    assert otras[0].estado == Estado.COMPLETADA
    gestion = Gestion.objects.get()
    assert gestion.estado == Gestion.Estado.HECHA
    assert gestion.recuento == {"antes": {"trazas": 3}, "borrados": {"trazas": 3}, "despues": {"trazas": 0}}


def test_ejecutar_dentro_de_una_transaccion_no_se_admite(hasta: Callable[..., Any]) -> None:
    solicitud = hasta(Estado.APROBADA, "C1")
    with pytest.raises(RuntimeError, match="durable"), transaction.atomic():
        servicios.ejecutar(solicitud=solicitud)
    assert Solicitud.objects.get().estado == Estado.APROBADA


def test_una_completada_no_se_vuelve_a_ejecutar(
    hasta: Callable[..., Any], servidor: ServidorLangfuse
) -> None:
    servidor.poner("C1")
    solicitud = hasta(Estado.COMPLETADA, "C1")
    servidor.peticiones.clear()
    with pytest.raises(TransicionNoPermitida):
        servicios.ejecutar(solicitud=solicitud)
    assert servidor.peticiones == []


def test_el_identificador_no_queda_en_ninguna_tabla(
    hasta: Callable[..., Any], servidor: ServidorLangfuse, apariciones: Callable[[str], list[str]]
) -> None:
    servidor.poner("canario-7206", 2)
    solicitud = hasta(Estado.COMPLETADA, "canario-7206")
    assert solicitud.gestiones.get().estado == Gestion.Estado.HECHA
    assert apariciones("canario-7206") == []


# -- from a page ----------------------------------------------------------------------------------


@pytest.mark.parametrize("modo", ["lento", "borra_lento", "gotea", "gotea_cabeceras"])
def test_desde_la_pagina_no_se_espera_a_quien_no_responde(
    hasta: Callable[..., Any],
    preferencia: Callable[..., None],
    remotos: ServidorLangfuse,
    navegar: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    modo: str,
) -> None:
    """Three systems that hang: one budget for all of them. What PostgreSQL has is erased all the same."""
    monkeypatch.setattr(prisa, "EN_UNA_PAGINA", 0.5)
    preferencia("C1")
    solicitud = hasta(Estado.APROBADA, "C1")
    remotos.modo = modo
    antes = time.monotonic()
    respuesta = navegar("dpo").post(
        reverse("privacidad:paso", args=[solicitud.referencia, "ejecutar"]), follow=True
    )
    assert time.monotonic() - antes < 60  # a system that hangs would take eight minutes at the least
    pagina = respuesta.content.decode()
    assert "Supresión ejecutada" in pagina
    assert "Faltan 3 sistemas externos" in pagina
    solicitud.refresh_from_db()
    assert solicitud.estado == Estado.PARCIAL
    assert not Documento.objects.exists()
    # Not one of them has failed: nobody waited for it.
    assert set(estados_de(solicitud).values()) == {Gestion.Estado.PENDIENTE}
    assert sorted(solicitud.gestiones.values_list("intentos", flat=True)) == [0, 0, 1]
    remotos.modo = ""
    datos, codigo = ordenar()
    assert (datos["completadas"], codigo) == (1, 0)
    assert set(estados_de(solicitud).values()) == {Gestion.Estado.HECHA}
    assert not remotos.trazas


def test_la_revision_desde_la_pagina_tampoco_espera(
    hasta: Callable[..., Any],
    preferencia: Callable[..., None],
    servidor: ServidorLangfuse,
    navegar: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(prisa, "EN_UNA_PAGINA", 0.5)
    preferencia("C1")
    servidor.poner("C1", 2)
    servidor.modo = "lento"
    solicitud = hasta(Estado.IDENTIFICADA, "C1")
    cliente = navegar("dpo")
    assert "puede tardar unos segundos" in cliente.get(solicitud.get_absolute_url()).content.decode()
    antes = time.monotonic()
    cliente.post(reverse("privacidad:paso", args=[solicitud.referencia, "revisar"]))
    assert time.monotonic() - antes < 60
    solicitud.refresh_from_db()
    assert solicitud.estado == Estado.REVISADA
    assert solicitud.vista_previa["memoria"]["documentos"] == 1
    assert "langfuse" not in solicitud.vista_previa


def test_a_quien_responde_le_da_tiempo(
    hasta: Callable[..., Any],
    preferencia: Callable[..., None],
    remotos: ServidorLangfuse,
    navegar: Callable[..., Any],
) -> None:
    preferencia("C1")
    solicitud = hasta(Estado.APROBADA, "C1")
    respuesta = navegar("dpo").post(
        reverse("privacidad:paso", args=[solicitud.referencia, "ejecutar"]), follow=True
    )
    assert "sistemas externos" not in respuesta.content.decode()
    solicitud.refresh_from_db()
    assert solicitud.estado == Estado.COMPLETADA


def test_una_pausa_mas_larga_que_lo_que_queda_no_se_espera(
    servidor: ServidorLangfuse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prisa, "EN_UNA_PAGINA", 0.5)
    servidor.modo = "limite"  # it asks for one second
    pausas: list[float] = []
    monkeypatch.setattr(time, "sleep", pausas.append)
    with pytest.raises(SinTiempo), prisa.con_prisa():
        Langfuse().contar(Sujeto("clientes", "C1", ()))
    assert pausas == []
    assert prisa.queda() is None  # whoever is in no hurry is not bound by it


def test_una_pagina_acaba_mucho_antes_de_que_la_corten() -> None:
    assert prisa.EN_UNA_PAGINA <= 5  # gunicorn ends one at thirty, and PostgreSQL has its own part to do
