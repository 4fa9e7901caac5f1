"""A run that meets somebody else, or is killed: all of it or nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from memoria.models import Documento, Hilo
from privacidad import destinos, servicios, supresion
from privacidad.errores import (
    DestinoDesconocido,
    ErrorDePrivacidad,
    RecuentoDistinto,
    TransicionNoPermitida,
)
from privacidad.estados import Estado
from privacidad.models import Evidencia, Solicitud
from tests.esperas import LIMITE, a_la_vez, esperar, esperar_a_que_espere

RAIZ = Path(__file__).resolve().parents[2]


def test_ejecutar_dos_veces_se_rechaza_con_una_frase(hasta: Callable[..., Any]) -> None:
    solicitud = hasta(Estado.COMPLETADA)
    with pytest.raises(TransicionNoPermitida, match=f"{solicitud.referencia} .*Completada"):
        servicios.ejecutar(solicitud=solicitud)
    assert solicitud.evidencias.count() == 1


def test_dos_ejecuciones_a_la_vez_dejan_una_evidencia(
    hasta: Callable[..., Any], preferencia: Callable[..., None]
) -> None:
    preferencia("C1")
    solicitud = hasta(Estado.APROBADA)

    def ejecutar() -> str:
        try:
            servicios.ejecutar(solicitud=Solicitud.objects.get(pk=solicitud.pk))
        except TransicionNoPermitida:
            return "ya estaba"
        return "hecha"

    assert sorted(a_la_vez(ejecutar, ejecutar)) == ["hecha", "ya estaba"]
    assert Evidencia.objects.get().destinos["memoria"]["borrados"]["documentos"] == 1


def test_una_escritura_que_entra_a_mitad_lo_deshace_todo(
    hasta: Callable[..., Any],
    preferencia: Callable[..., None],
    conversacion: Callable[..., None],
    sin_guardas: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    preferencia("C1")
    conversacion("C1", "h1")
    solicitud = hasta(Estado.APROBADA)
    borrar = destinos.DESTINOS[1].suprimir

    def borrar_mientras_alguien_escribe(sujeto: Any) -> Any:
        # Committed at once, after the store was emptied, by somebody no trigger stops.
        sin_guardas("INSERT INTO langgraph.store (prefix, key, value) VALUES ('clientes.C1', 'x', '{}')")
        return borrar(sujeto)

    monkeypatch.setattr(destinos.DESTINOS[1], "suprimir", borrar_mientras_alguien_escribe)
    with pytest.raises(RecuentoDistinto, match="no se ha borrado nada"):
        servicios.ejecutar(solicitud=solicitud)
    monkeypatch.undo()

    assert solicitud.estado == Solicitud.objects.get().estado == Estado.APROBADA
    assert Documento.objects.count() == 2
    assert Hilo.objects.count() == 1
    assert not Evidencia.objects.exists()
    servicios.ejecutar(solicitud=solicitud)
    assert not Documento.objects.exists()


def test_un_hilo_que_nace_a_mitad_lo_deshace_todo(
    hasta: Callable[..., Any],
    conversacion: Callable[..., None],
    sin_guardas: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    conversacion("C1", "h1")
    solicitud = hasta(Estado.APROBADA)
    borrar = destinos.DESTINOS[2].suprimir

    def borrar_mientras_empieza_otra_conversacion(sujeto: Any) -> Any:
        sin_guardas("INSERT INTO hilos (thread_id, espacio, sujeto_id) VALUES ('h2', 'clientes', 'C1')")
        return borrar(sujeto)

    monkeypatch.setattr(destinos.DESTINOS[2], "suprimir", borrar_mientras_empieza_otra_conversacion)
    with pytest.raises(RecuentoDistinto):
        servicios.ejecutar(solicitud=solicitud)
    assert set(Hilo.objects.values_list("thread_id", flat=True)) == {"h1", "h2"}


def test_un_destino_desconocido_detiene_la_ejecucion(
    hasta: Callable[..., Any], preferencia: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    preferencia("C1")
    solicitud = hasta(Estado.APROBADA)
    monkeypatch.setattr(supresion, "DESTINOS", destinos.DESTINOS[:1])
    monkeypatch.setattr(destinos, "DESTINOS", destinos.DESTINOS[:1])
    with pytest.raises(DestinoDesconocido, match="no se ha borrado nada"):
        servicios.ejecutar(solicitud=solicitud)
    assert Documento.objects.count() == 1


@pytest.mark.parametrize("orden", ["kill -9", "espera"])
def test_matar_el_proceso_entre_el_borrado_y_la_confirmacion(
    orden: str,
    como: Callable[[str], psycopg.Connection],
    propietario: Any,
    hasta: Callable[..., Any],
    preferencia: Callable[..., None],
    conversacion: Callable[..., None],
) -> None:
    preferencia("C1")
    conversacion("C1", "h1")
    solicitud = hasta(Estado.APROBADA)
    freno = como("postgres")
    with freno.transaction():
        # The run deletes everything and then cannot write its evidence: it waits for this lock.
        freno.execute("LOCK TABLE privacidad_evidencia IN EXCLUSIVE MODE")
        proceso = subprocess.Popen(
            [sys.executable, "manage.py", "ejecutar_supresiones", "--json"],
            cwd=RAIZ,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        # It has deleted everything and waits to write its evidence.
        (sesion,) = esperar_a_que_espere(propietario, 'INSERT INTO "privacidad_evidencia"%')
        if orden == "kill -9":
            proceso.send_signal(signal.SIGKILL)
            proceso.communicate()
    if orden == "kill -9":
        # Free again, the server's session finishes its statement and finds that nobody is there to commit.
        quien = "SELECT FROM pg_stat_activity WHERE pid = %s"
        esperar(
            lambda: not propietario.execute(quien, [sesion]).fetchone(),
            "the session of the killed process is still there",
        )
    salida = proceso.returncode if orden == "kill -9" else proceso.wait(timeout=LIMITE)

    solicitud.refresh_from_db()
    if orden == "espera":  # the control: unharmed, the same process ends well
        assert salida == 0, proceso.stderr.read() if proceso.stderr else ""
        assert solicitud.estado == Estado.COMPLETADA
        proceso.communicate()
        return
    assert solicitud.estado == Estado.APROBADA
    assert solicitud.sujeto_id == "C1"
    assert Documento.objects.count() == Hilo.objects.count() == 1
    assert not Evidencia.objects.exists()

    servicios.ejecutar(solicitud=solicitud)
    assert not Documento.objects.exists()
    assert not Hilo.objects.exists()


def test_todos_los_errores_tienen_una_base() -> None:
    from privacidad import errores

    clases = [c for c in vars(errores).values() if isinstance(c, type) and c.__module__ == errores.__name__]
    assert all(issubclass(c, ErrorDePrivacidad) for c in clases if c is not errores.RegistroSoloAnexar)
