"""``ejecutar_supresiones``: approved requests, a dry run that leaves them pending, and how it ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memoria.models import Documento, Ejecucion
from privacidad import destinos, servicios
from privacidad.estados import Estado
from privacidad.models import Evidencia, Paso, Solicitud
from tests import ordenes


def ordenar(*opciones: str) -> tuple[dict[str, Any], str, int]:
    """``ejecutar_supresiones``: ``(JSON, stderr, exit code)``."""
    return ordenes.ordenar("ejecutar_supresiones", *opciones)


@pytest.fixture
def dos_aprobadas(hasta: Callable[..., Any], preferencia: Callable[..., None]) -> list[Any]:
    preferencia("C1")
    preferencia("C2")
    return [hasta(Estado.APROBADA, "C1"), hasta(Estado.APROBADA, "C2"), hasta(Estado.REVISADA, "C3")][:2]


def test_sin_nada_que_hacer_termina_bien(bd: str) -> None:
    assert ordenar() == (
        {
            "completadas": 0,
            "parciales": 0,
            "retenidas": 0,
            "fallidas": 0,
            "pendientes": 0,
            "simulado": False,
        },
        "Supresiones completadas: 0; parciales: 0; a la espera de soltar lo retenido: 0; fallidas: 0.\n",
        0,
    )


@pytest.mark.parametrize("lote", ["1", "2", "100"])
def test_ejecuta_las_aprobadas_y_solo_esas(lote: str, dos_aprobadas: list[Any]) -> None:
    datos, _, codigo = ordenar("--batch-size", lote)
    assert (datos["completadas"], datos["fallidas"], datos["pendientes"], codigo) == (2, 0, 0, 0)
    assert sorted(Solicitud.objects.values_list("estado", flat=True)) == [
        "completada",
        "completada",
        "revisada",
    ]
    assert not Documento.objects.exists()
    assert [p.por for p in Paso.objects.filter(estado=Estado.COMPLETADA)] == [None, None]
    assert ordenar()[0]["completadas"] == 0
    assert Ejecucion.objects.filter(comando="ejecutar_supresiones", codigo=0).count() == 2


def test_el_simulacro_las_deja_pendientes(dos_aprobadas: list[Any]) -> None:
    pasos = Paso.objects.count()
    datos, _, codigo = ordenar("--dry-run")
    assert datos == {
        "completadas": 2,
        "parciales": 0,
        "retenidas": 0,
        "fallidas": 0,
        "pendientes": 2,
        "simulado": True,
    }
    assert codigo == 0
    assert Solicitud.objects.por_ejecutar().count() == 2
    assert Documento.objects.count() == 2
    assert Paso.objects.count() == pasos
    assert not Evidencia.objects.exists()


def test_una_que_falla_no_se_lleva_a_las_demas(
    dos_aprobadas: list[Any], sin_guardas: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    borrar = destinos.DESTINOS[1].suprimir

    def escribir_a_mitad(sujeto: Any) -> Any:
        if sujeto.sujeto_id == "C1":
            # Past the fence, which would keep it waiting for this very run.
            sin_guardas(
                "INSERT INTO langgraph.store (prefix, key, value)"
                " VALUES ('clientes.C1', 'pref-horario', '{}')"
            )
        return borrar(sujeto)

    monkeypatch.setattr(destinos.DESTINOS[1], "suprimir", escribir_a_mitad)
    datos, avisos, codigo = ordenar()
    assert (datos["completadas"], datos["fallidas"], datos["pendientes"], codigo) == (1, 1, 1, 3)
    assert f"{dos_aprobadas[0].referencia}: " in avisos
    assert "C1" not in avisos
    monkeypatch.undo()
    assert ordenar()[0]["completadas"] == 1
    assert not Documento.objects.exists()


def test_un_error_de_la_base_cuenta_como_fallida_y_no_enseña_la_fila(
    dos_aprobadas: list[Any], propietario: Any
) -> None:
    propietario.execute("REVOKE EXECUTE ON FUNCTION langgraph.borrar_sujeto(text, text[]) FROM memoria_web")
    try:
        datos, avisos, codigo = ordenar()
    finally:
        propietario.execute("GRANT EXECUTE ON FUNCTION langgraph.borrar_sujeto(text, text[]) TO memoria_web")
    assert (datos["fallidas"], datos["pendientes"], codigo) == (2, 2, 3)
    assert "ProgrammingError" in avisos
    assert "C1" not in avisos


def test_las_mas_urgentes_primero_y_se_para_a_tiempo(
    hasta: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from datetime import date

    from memoria.comandos import Plazo

    hasta(Estado.APROBADA, "C1")
    urgente = hasta(Estado.APROBADA, "C2", dia=date(2026, 1, 1))
    turnos = iter([False, True])
    monkeypatch.setattr(Plazo, "agotado", property(lambda plazo: next(turnos)))
    datos, _, codigo = ordenar()
    assert (datos["completadas"], datos["pendientes"], codigo) == (1, 1, 3)
    assert Solicitud.objects.get(estado=Estado.COMPLETADA) == urgente


def test_lo_retenido_se_espera_y_no_es_un_fallo(
    hasta: Callable[..., Any], preferencia: Callable[..., None], dpo: Any, otro_dpo: Any
) -> None:
    """A lawful hold may last years: the job that runs every few minutes must not fail all that time."""
    preferencia("C1")
    preferencia("C1", "horario")
    solicitud = hasta(Estado.REVISADA)
    exclusion = servicios.excluir(
        solicitud=solicitud, destino="memoria", clave="pref-idioma", motivo="obligacion", por=dpo
    )
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    for _vez in range(2):
        datos, _, codigo = ordenar()
        assert (datos["retenidas"], datos["parciales"], datos["completadas"], codigo) == (1, 0, 0, 0)
    preferencia("C2")
    hasta(Estado.APROBADA, "C2")
    datos, _, codigo = ordenar()
    assert (datos["retenidas"], datos["completadas"], datos["pendientes"], codigo) == (1, 1, 1, 0)
    servicios.liberar(exclusion=exclusion, por=otro_dpo)
    datos, _, codigo = ordenar()
    assert (datos["retenidas"], datos["completadas"], datos["pendientes"], codigo) == (0, 1, 0, 0)


def test_lo_que_no_se_reviso_falla_una_vez_y_vuelve_a_la_revision(
    hasta: Callable[..., Any], preferencia: Callable[..., None], propietario: Any
) -> None:
    preferencia("C1")
    solicitud = hasta(Estado.APROBADA)
    propietario.execute(
        "INSERT INTO langgraph.store (prefix, key, value, created_at)"
        " VALUES ('clientes.C1', 'k', '{}', now() - interval '1 day')"
    )
    datos, avisos, codigo = ordenar()
    assert (datos["fallidas"], datos["pendientes"], codigo) == (1, 0, 3)
    assert f"{solicitud.referencia}: En «Memoria de los agentes» la revisión contó 1" in avisos
    datos, _, codigo = ordenar()
    assert (datos["fallidas"], codigo) == (0, 0)
