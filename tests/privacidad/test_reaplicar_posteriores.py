"""Replay: requests that came in after the copy was made (E6)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from memoria.models import Documento
from privacidad import plazos, servicios
from privacidad.estados import Estado
from privacidad.models import Asiento, Exclusion, Solicitud
from tests.ordenes import ordenar
from tests.privacidad.restaurada import Copias, devolver, sellado


@pytest.mark.parametrize("ejecutada", [True, False])
def test_lo_retenido_en_una_solicitud_posterior_a_la_copia_sigue_retenido(
    ejecutada: bool, copias: Copias, fichero: Path, preferencia: Callable[..., None],
    hasta: Callable[..., Any], dpo: Any, otro_dpo: Any,
) -> None:  # fmt: skip
    """Its request is made again: a hold is a hold over a row of somebody, in a request."""
    preferencia("C1")
    preferencia("C1", "horario", "mañanas")
    copias.hacer()
    solicitud = hasta(Estado.REVISADA, "C1", dia=plazos.hoy() - timedelta(days=9))
    servicios.excluir(
        solicitud=solicitud, destino="memoria", clave="pref-horario", motivo="reclamacion", por=dpo
    )
    if ejecutada:
        servicios.aprobar(solicitud=solicitud, por=otro_dpo)
        servicios.ejecutar(solicitud=solicitud)
    ordenar("exportar_registro", fichero)
    copias.restaurar()
    for _vez in range(2):
        datos, _, codigo = ordenar("reaplicar_supresiones", fichero)
        assert (datos["a_mano"], datos["solicitudes_perdidas"]) == ([], [])
        assert codigo == (0 if ejecutada else 3)  # to be reviewed again
    rehecha = Solicitud.objects.get()
    assert rehecha.estado == (Estado.PARCIAL if ejecutada else Estado.IDENTIFICADA)
    assert (rehecha.referencia, rehecha.vence) == (solicitud.referencia, solicitud.vence)
    assert Exclusion.objects.activas().get().clave == "pref-horario"
    retenido = Documento.objects.get(key="pref-horario")
    assert (retenido.retenido, retenido.limitado) == (True, ejecutada)
    assert Documento.objects.count() == (1 if ejecutada else 2)
    with (
        closing(copias.conectar(rol="memoria_agentes")) as agente,
        closing(copias.conectar()) as propia,
    ):
        vistos = agente.execute("SELECT key FROM langgraph.store WHERE key = 'pref-horario'").fetchall()
        with pytest.raises(psycopg.Error, match="retenido"):
            propia.execute("UPDATE langgraph.store SET value = '{}' WHERE key = 'pref-horario'")
    assert bool(vistos) is not ejecutada
    ordenar("ejecutar_supresiones")
    assert Documento.objects.filter(key="pref-horario").exists()


def test_lo_rehecho_sin_ejecutar_se_revisa_otra_vez(
    copias: Copias, fichero: Path, preferencia: Callable[..., None], hasta: Callable[..., Any], dpo: Any,
    otro_dpo: Any,
) -> None:  # fmt: skip
    """Whatever names the person besides their id is in no register: nothing is erased on that."""
    preferencia("C1")
    copias.hacer()
    solicitud = hasta(Estado.IDENTIFICADA, "C1")
    servicios.ampliar(solicitud=solicitud, motivo="Hay muchos datos que mirar", por=dpo)
    servicios.revisar(solicitud=solicitud, por=dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    ordenar("exportar_registro", fichero)
    copias.restaurar()
    datos, avisos, codigo = ordenar("reaplicar_supresiones", fichero)
    assert datos["solicitudes_rehechas"] == [
        {"referencia": solicitud.referencia, "estado": "identificada", "al_dia": False}
    ]
    assert (datos["solicitudes_perdidas"], codigo) == ([], 3)
    assert f"{solicitud.referencia}: lo que se revisó" in avisos
    assert "C1" not in avisos
    assert ordenar("ejecutar_supresiones")[0]["completadas"] == 0
    rehecha = Solicitud.objects.get()
    assert rehecha.vence == rehecha.ampliada == plazos.ampliado(rehecha.recibida)
    servicios.revisar(solicitud=rehecha, por=dpo)
    servicios.aprobar(solicitud=rehecha, por=otro_dpo)
    servicios.ejecutar(solicitud=rehecha)
    assert (rehecha.estado, Documento.objects.exists()) == (Estado.COMPLETADA, False)
    assert ordenar("verificar_registro", "--contra", fichero)[2] == 0


def test_la_segunda_solicitud_de_la_misma_persona_se_vincula_otra_vez(
    copias: Copias, fichero: Path, preferencia: Callable[..., None], hasta: Callable[..., Any],
    recibida: Callable[..., Any], hasta_completada: Callable[..., None],
) -> None:  # fmt: skip
    preferencia("C1")
    copias.hacer()
    una = hasta(Estado.REVISADA, "C1", dia=plazos.hoy())
    otra = recibida("C1", dia=plazos.hoy() - timedelta(days=5))
    una.refresh_from_db()
    vence = una.vence
    hasta_completada(una)
    tercera = recibida("C1")
    ordenar("exportar_registro", fichero)
    copias.restaurar()
    datos, _, codigo = ordenar("reaplicar_supresiones", fichero)
    assert (datos["solicitudes_perdidas"], datos["solicitudes_cerradas_perdidas"], codigo) == ([], [], 0)
    estados = dict(Solicitud.objects.values_list("referencia", "estado"))
    assert estados == {
        una.referencia: Estado.COMPLETADA,
        otra.referencia: Estado.VINCULADA,
        tercera.referencia: Estado.RECIBIDA,
    }
    assert Solicitud.objects.filter(vinculadas__referencia=otra.referencia).get().referencia == una.referencia
    assert vence == plazos.vencimiento(otra.recibida)


def test_la_vinculada_a_una_que_la_copia_tiene_se_rehace_aunque_no_haya_datos_de_la_persona(
    copias: Copias, fichero: Path, recibida: Callable[..., Any]
) -> None:
    """Its deadline is the one that counts, and the one it is linked to says whose it is."""
    una = recibida("C1")
    copias.hacer()
    otra = recibida("C1", dia=plazos.hoy() - timedelta(days=5))
    ordenar("exportar_registro", fichero)
    copias.restaurar()
    datos, _, codigo = ordenar("reaplicar_supresiones", fichero)
    assert (datos["solicitudes_cerradas_perdidas"], codigo) == ([], 0)
    assert [v.referencia for v in Solicitud.objects.get(pk=una.pk).vinculadas.all()] == [otra.referencia]
    assert Solicitud.objects.get(pk=una.pk).vence == plazos.vencimiento(otra.recibida)


def test_lo_ampliado_despues_de_la_copia_sigue_ampliado(
    copias: Copias, fichero: Path, hasta: Callable[..., Any], dpo: Any
) -> None:
    """The state of the request is the one the copy has; its deadline is not."""
    solicitud = hasta(Estado.IDENTIFICADA, "C1")
    copias.hacer()
    servicios.ampliar(solicitud=solicitud, motivo="Hay muchos datos que mirar", por=dpo)
    ordenar("exportar_registro", fichero)
    copias.restaurar()
    datos, _, codigo = ordenar("reaplicar_supresiones", fichero)
    assert datos["solicitudes_atrasadas"] == [
        {"referencia": solicitud.referencia, "estaba": "identificada", "estado": "identificada",
         "al_dia": True}
    ]  # fmt: skip
    restaurada = Solicitud.objects.get()
    assert restaurada.vence == restaurada.ampliada == plazos.ampliado(restaurada.recibida)
    assert codigo == 0
    assert ordenar("reaplicar_supresiones", fichero)[0]["solicitudes_atrasadas"] == []


def test_lo_que_se_rehace_ampliado_despues_de_la_revision_sigue_ampliado(
    copias: Copias, fichero: Path, preferencia: Callable[..., None], hasta: Callable[..., Any], dpo: Any
) -> None:
    preferencia("C1")
    copias.hacer()
    solicitud = hasta(Estado.REVISADA, "C1")
    servicios.ampliar(solicitud=solicitud, motivo="Hay muchos datos que mirar", por=dpo)
    ordenar("exportar_registro", fichero)
    copias.restaurar()
    ordenar("reaplicar_supresiones", fichero)
    rehecha = Solicitud.objects.get()
    assert rehecha.estado == Estado.IDENTIFICADA
    assert rehecha.vence == rehecha.ampliada == plazos.ampliado(rehecha.recibida)


def test_la_copia_decidida_para_lo_que_quedaba_no_se_pierde(
    copias: Copias, fichero: Path, preferencia: Callable[..., None], hasta: Callable[..., Any], dpo: Any,
    otro_dpo: Any,
) -> None:  # fmt: skip
    """Run in part without a sealed copy; then one was decided for the rest, and the copy does not know."""
    preferencia("C1")
    solicitud = hasta(Estado.REVISADA, "C1")
    servicios.excluir(
        solicitud=solicitud, destino="memoria", clave="pref-idioma", motivo="obligacion", por=dpo
    )
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    assert (solicitud.estado, solicitud.copia_hasta) == (Estado.PARCIAL, None)
    copias.hacer()
    hasta_cuando = plazos.hoy() + timedelta(days=900)
    servicios.decidir_copia(solicitud=solicitud, hasta=hasta_cuando, motivo=None, por=otro_dpo)
    ordenar("exportar_registro", fichero)
    copias.restaurar()
    assert ordenar("reaplicar_supresiones", fichero)[2] == 0
    restaurada = Solicitud.objects.get()
    assert (restaurada.estado, restaurada.copia_hasta) == (Estado.PARCIAL, hasta_cuando)
    servicios.liberar(exclusion=restaurada.exclusiones.get(), por=otro_dpo)
    servicios.ejecutar(solicitud=restaurada)
    assert sellado(restaurada) == [("store", "pref-idioma")]


def test_lo_retenido_que_la_copia_no_tiene_se_dice(
    copias: Copias, fichero: Path, preferencia: Callable[..., None], hasta: Callable[..., Any], dpo: Any
) -> None:
    copias.hacer()
    preferencia("C1")
    servicios.excluir(
        solicitud=hasta(Estado.REVISADA, "C1"),
        destino="memoria", clave="pref-idioma", motivo="reclamacion", por=dpo,
    )  # fmt: skip
    ordenar("exportar_registro", fichero)
    copias.restaurar()
    for _vez in range(2):
        datos, avisos, codigo = ordenar("reaplicar_supresiones", fichero)
        assert ([p["tipo"] for p in datos["a_mano"]], codigo) == (["exclusion"], 3)
        asiento = Asiento.objects.get(tipo="exclusion")
        assert f"Asiento {asiento.numero} (exclusion" in avisos


def test_la_copia_bloqueada_de_una_solicitud_posterior_se_hace_otra_vez_antes_de_borrar(
    copias: Copias, fichero: Path, preferencia: Callable[..., None], conversacion: Callable[..., None],
    hasta: Callable[..., Any], dpo: Any, otro_dpo: Any,
) -> None:  # fmt: skip
    """Received and completed the same day, after the copy: the usual case."""
    preferencia("C1")
    conversacion("C1", "h-C1")
    copias.hacer()
    solicitud = hasta(Estado.REVISADA, "C1")
    cuando = plazos.hoy() + timedelta(days=900)
    servicios.decidir_copia(solicitud=solicitud, hasta=cuando, motivo=None, por=dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    antes = sellado(solicitud)
    ordenar("exportar_registro", fichero)
    copias.restaurar()
    datos, _, codigo = ordenar("reaplicar_supresiones", fichero)
    assert (datos["copias_perdidas"], codigo) == ([], 0)
    assert [c["referencia"] for c in datos["copias_rehechas"]] == [solicitud.referencia]
    rehecha = Solicitud.objects.get()
    assert (rehecha.estado, rehecha.sujeto_id, rehecha.copia_hasta) == (Estado.COMPLETADA, "", cuando)
    assert sellado(rehecha) == antes
    assert not Documento.objects.exists()
    # The watch knows who was erased.
    assert ordenar("verificar_supresiones")[0]["verificadas"] == 1
    devolver(copias, "C1")
    assert ordenar("verificar_supresiones")[0]["reaparecidas"] == 1


def test_lo_que_no_se_puede_sellar_otra_vez_porque_falta_la_solicitud_no_se_borra(
    copias: Copias, fichero: Path, preferencia: Callable[..., None], hasta: Callable[..., Any], dpo: Any,
    otro_dpo: Any,
) -> None:  # fmt: skip
    """Another one of theirs is open here, which no register knows: the lost one cannot be made again."""
    preferencia("C1")
    copias.hacer()
    solicitud = hasta(Estado.REVISADA, "C1")
    servicios.decidir_copia(
        solicitud=solicitud, hasta=plazos.hoy() + timedelta(days=900), motivo=None, por=dpo
    )
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    ordenar("exportar_registro", fichero)
    copias.restaurar()
    with closing(copias.conectar()) as conexion:
        conexion.execute(
            "INSERT INTO privacidad_solicitud (referencia, espacio, sujeto_id, reservado, resumen, canal,"
            " recibida, vence, estado, motivo_sin_copia, vista_previa) VALUES ('SUP-2001-0001', 'clientes',"
            " 'C1', '', %s, 'correo', current_date, current_date, 'recibida', '', '{}')",
            [solicitud.resumen],
        )
    for _vez in range(2):
        datos, avisos, codigo = ordenar("reaplicar_supresiones", fichero)
        assert (datos["sin_borrar"], datos["copias_perdidas"], codigo) == ([solicitud.referencia], [], 3)
        assert f"{solicitud.referencia}: no se ha vuelto a borrar" in avisos
        assert Documento.objects.count() == 1
    with closing(copias.conectar()) as conexion:
        conexion.execute("SET session_replication_role = replica")
        conexion.execute("DELETE FROM privacidad_solicitud WHERE referencia = 'SUP-2001-0001'")
    datos, _, codigo = ordenar("reaplicar_supresiones", fichero)
    assert (datos["sin_borrar"], len(datos["copias_rehechas"]), codigo) == ([], 1, 0)
    assert not Documento.objects.exists()


def test_de_quien_la_copia_no_sabia_nada_se_dice_y_se_sigue_buscando(
    copias: Copias, fichero: Path, preferencia: Callable[..., None], hasta: Callable[..., Any]
) -> None:
    copias.hacer()
    preferencia("C1")
    solicitud = hasta(Estado.COMPLETADA, "C1")
    ordenar("exportar_registro", fichero)
    copias.restaurar()
    datos, avisos, codigo = ordenar("reaplicar_supresiones", fichero)
    assert (datos["solicitudes_cerradas_perdidas"], datos["solicitudes_rehechas"]) == (
        [solicitud.referencia],
        [],
    )
    assert codigo == 0
    assert solicitud.referencia in avisos
    datos, _, codigo = ordenar("verificar_supresiones")
    assert (datos["verificadas"], datos["sin_solicitud"], codigo) == (1, [], 0)
    devolver(copias, "C1")
    datos, avisos, codigo = ordenar("verificar_supresiones")
    assert (datos["sin_solicitud"], datos["reaparecidas"], codigo) == ([solicitud.referencia], 0, 3)
    assert solicitud.referencia in avisos
    # What it says to do does it.
    ordenar("exportar_registro", fichero)
    assert ordenar("reaplicar_supresiones", fichero)[2] == 0
    assert not Documento.objects.exists()
    assert Solicitud.objects.get().estado == Estado.COMPLETADA
    datos, _, codigo = ordenar("verificar_supresiones")
    assert (datos["verificadas"], datos["sin_solicitud"], codigo) == (1, [], 0)
