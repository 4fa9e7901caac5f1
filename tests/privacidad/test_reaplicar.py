"""A copy made before an erasure, restored after it: gone again, and what was said afterwards stays (E6).

The copies are real: ``pg_dump`` and ``pg_restore`` of the server's own version, into another database.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from memoria.comandos import Plazo
from memoria.hilos import HiloSuprimido
from memoria.models import Documento, Ejecucion, Hilo
from privacidad import registro
from privacidad.destinos import DESTINOS, Destino
from privacidad.estados import Estado
from privacidad.models import Asiento, Solicitud
from privacidad.resumenes import resumen
from tests.ordenes import ordenar
from tests.privacidad.restaurada import Copias


def contenido(conexion: psycopg.Connection, menos: str) -> dict[str, list[str]]:
    """Every row of LangGraph's tables and of the registry that is not of the customer ``menos``."""
    resultado = {}
    for tabla in ("langgraph.store", "langgraph.store_vectors", "langgraph.checkpoints",
                  "langgraph.checkpoint_blobs", "langgraph.checkpoint_writes", "public.hilos"):  # fmt: skip
        filas = conexion.execute(f"SELECT to_jsonb(t)::text FROM {tabla} t ORDER BY 1").fetchall()
        resultado[tabla] = [f for (f,) in filas if f'"clientes.{menos}"' not in f and f'"h-{menos}"' not in f]
    return resultado


# -- E6 -------------------------------------------------------------------------------------------


def test_lo_que_una_copia_devuelve_se_vuelve_a_borrar_y_lo_demas_queda(
    historia: Any, copias: Copias, fichero: Path
) -> None:
    with closing(copias.conectar()) as conexion:
        antes = contenido(conexion, "C1")
        datos, _, codigo = ordenar("reaplicar_supresiones", fichero)
        assert contenido(conexion, "C1") == antes
    assert codigo == 0
    assert {k: datos[k] for k in ("reaplicadas", "documentos_borrados", "hilos_borrados")} == {
        "reaplicadas": 1,
        "documentos_borrados": 2,
        "hilos_borrados": 1,
    }
    assert not Documento.objects.del_sujeto("clientes", "C1").exists()
    assert not Hilo.objects.del_sujeto("clientes", "C1").exists()
    assert Documento.objects.count() == 4
    asiento = Asiento.objects.get(tipo="reaplicada")
    assert asiento.resumen == resumen("clientes.C1")
    assert "C1" not in json.dumps(asiento.datos)
    assert ordenar("verificar_registro", "--contra", fichero)[2] == 0


def test_lo_que_la_persona_ha_dicho_despues_se_queda(
    historia: Any, copias: Copias, fichero: Path, dicho: Callable[..., None]
) -> None:
    """In the restored copy: one value rewritten, one new, one thread new, and one gone on with."""
    dicho("C1", "horario", "h-C1")  # the thread of before goes on: it still holds what was said then
    dicho("C1", "contacto", "h-nuevo")
    datos, _, codigo = ordenar("reaplicar_supresiones", fichero)
    assert codigo == 0
    assert (datos["documentos_borrados"], datos["hilos_borrados"]) == (1, 1)
    quedan = Documento.objects.del_sujeto("clientes", "C1")
    assert sorted(quedan.values_list("key", flat=True)) == ["pref-contacto", "pref-horario"]
    assert list(Hilo.objects.del_sujeto("clientes", "C1").values_list("pk", flat=True)) == ["h-nuevo"]


def test_repetirla_no_hace_nada_mas(historia: Any, copias: Copias, fichero: Path) -> None:
    ordenar("reaplicar_supresiones", fichero)
    antes = list(registro.entradas())
    datos, _, codigo = ordenar("reaplicar_supresiones", fichero)
    assert codigo == 0
    assert not any(
        datos[k] for k in ("reaplicadas", "documentos_borrados", "hilos_borrados", "asientos_recuperados")
    )
    assert not datos["solicitudes_atrasadas"]
    assert list(registro.entradas()) == antes


def test_el_simulacro_cuenta_lo_mismo_y_no_cambia_nada(historia: Any, copias: Copias, fichero: Path) -> None:
    with closing(copias.conectar()) as conexion:
        antes = contenido(conexion, "")
        simulado, _, codigo = ordenar("reaplicar_supresiones", fichero, "--dry-run")
        assert codigo == 0
        assert contenido(conexion, "") == antes
    assert not Asiento.objects.exists()
    assert not Solicitud.objects.exists()
    hecho, _, _ = ordenar("reaplicar_supresiones", fichero)
    assert {**simulado, "simulado": False} == hecho
    assert simulado["documentos_borrados"] == 2


@pytest.mark.parametrize("lote", ["1", "2", "1000"])
def test_da_igual_el_tamano_del_lote(lote: str, historia: Any, copias: Copias, fichero: Path) -> None:
    datos, _, _ = ordenar("reaplicar_supresiones", fichero, "--batch-size", lote)
    assert (datos["reaplicadas"], datos["documentos_borrados"]) == (1, 2)
    assert registro.verificar().ok


def test_se_para_entre_dos_personas_y_la_siguiente_sigue(
    copias: Copias,
    fichero: Path,
    preferencia: Callable[..., None],
    hasta: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for cliente in ("C1", "C2", "C3"):
        preferencia(cliente)
    copias.hacer()
    for cliente in ("C1", "C2", "C3"):
        hasta(Estado.COMPLETADA, cliente)
    ordenar("exportar_registro", fichero)
    copias.restaurar()
    turnos = iter([False, True])
    with monkeypatch.context() as parche:
        parche.setattr(Plazo, "agotado", property(lambda plazo: next(turnos)))
        datos, _, codigo = ordenar("reaplicar_supresiones", fichero)
    assert (datos["reaplicadas"], datos["completo"], codigo) == (1, False, 3)
    assert Documento.objects.count() == 2
    datos, _, codigo = ordenar("reaplicar_supresiones", fichero)
    assert (datos["reaplicadas"], datos["completo"], codigo) == (2, True, 0)
    assert not Documento.objects.exists()


def test_desde_la_linea_de_ordenes(historia: Any, copias: Copias, fichero: Path) -> None:
    entorno = {
        **os.environ,
        "DATABASE_URL_OWNER": copias.url("postgres"),
        "DATABASE_URL": copias.url("memoria_web"),
        "PG_AGENTES": copias.url("memoria_agentes"),
    }
    orden = [sys.executable, "manage.py", "reaplicar_supresiones", str(fichero), "--json"]
    proceso = subprocess.run(orden, env=entorno, capture_output=True, text=True, check=False)
    assert proceso.returncode == 0, proceso.stderr
    assert json.loads(proceso.stdout)["documentos_borrados"] == 2
    assert "C1" not in proceso.stderr


# -- the register -----------------------------------------------------------------------------------


def test_los_asientos_perdidos_vuelven_tal_cual(historia: Any, copias: Copias, fichero: Path) -> None:
    assert not Asiento.objects.exists()
    datos, _, _ = ordenar("reaplicar_supresiones", fichero)
    exportados = [json.loads(linea) for linea in fichero.read_text().splitlines()[1:]]
    assert datos["asientos_recuperados"] == len(exportados)
    aqui = [json.loads(e.linea()) for e in registro.entradas()]
    assert aqui[: len(exportados)] == exportados
    assert [e["tipo"] for e in aqui[len(exportados) :]] == ["restaurada", "reaplicada"]
    assert ordenar("exportar_registro", fichero)[0] == {"entradas": len(aqui)}


def test_un_fichero_mas_viejo_que_la_copia_vale(
    copias: Copias, fichero: Path, preferencia: Callable[..., None], hasta: Callable[..., Any]
) -> None:
    """The copy knows more than the file: nothing is lost, and its own register is replayed too."""
    hasta(Estado.RECIBIDA, "C9")
    ordenar("exportar_registro", fichero)
    preferencia("C1")
    hasta(Estado.COMPLETADA, "C1")
    copias.hacer()
    copias.restaurar()
    with closing(copias.conectar()) as conexion:  # a row that a restore of tables alone would bring back
        conexion.execute("SET session_replication_role = replica")
        conexion.execute(
            "INSERT INTO langgraph.store (prefix, key, value, created_at, updated_at)"
            " VALUES ('clientes.C1', 'pref-idioma', '{}', now() - interval '1 day', now() - interval '1 day')"
        )
    datos, _, codigo = ordenar("reaplicar_supresiones", fichero)
    assert (datos["asientos_recuperados"], datos["documentos_borrados"], codigo) == (0, 1, 0)


def test_si_en_la_copia_ya_se_ha_trabajado_no_se_toca_nada(
    historia: Any, copias: Copias, fichero: Path
) -> None:
    registro.anotar(tipo="otra")
    datos, _, codigo = ordenar("reaplicar_supresiones", fichero)
    assert codigo == 6
    assert "se separan en el asiento 1" in datos["error"]
    assert Documento.objects.del_sujeto("clientes", "C1").count() == 2
    assert Asiento.objects.count() == 1


def test_un_fichero_roto_no_se_reaplica(historia: Any, copias: Copias, fichero: Path) -> None:
    bueno = fichero.read_text()
    for malo in (
        bueno.replace("identificada", "identificadb", 1),
        bueno[:-10],
        bueno.rsplit("\n", 2)[0] + "\n",
    ):
        fichero.write_text(malo)
        datos, _, codigo = ordenar("reaplicar_supresiones", fichero)
        assert codigo == 6
        assert "no está entero o está cambiado" in datos["error"]
    assert not Asiento.objects.exists()
    assert Documento.objects.del_sujeto("clientes", "C1").count() == 2


def test_un_registro_roto_en_la_copia_se_dice(
    copias: Copias, fichero: Path, hasta: Callable[..., Any]
) -> None:
    hasta(Estado.RECIBIDA, "C1")
    ordenar("exportar_registro", fichero)
    copias.hacer()
    copias.restaurar()
    with closing(copias.conectar()) as conexion:
        conexion.execute("SET session_replication_role = replica")
        conexion.execute("UPDATE privacidad_asiento SET tipo = 'x' WHERE numero = 1")
    datos, _, codigo = ordenar("reaplicar_supresiones", fichero)
    assert codigo == 6
    assert "roto en el asiento 1" in datos["error"]


# -- destinations -----------------------------------------------------------------------------------


def test_cada_destino_de_la_base_sabe_reaplicar() -> None:
    for destino in DESTINOS:
        assert destino.externo or type(destino).suprimir_hasta is not Destino.suprimir_hasta, destino.nombre


def test_lo_que_guarda_la_casa_de_un_empleado_tambien_vuelve_a_irse(
    copias: Copias, fichero: Path, propietario: psycopg.Connection, hasta: Callable[..., Any]
) -> None:
    insertar = (
        "INSERT INTO axes_accesslog (username, ip_address, user_agent, path_info, http_accept, attempt_time,"
        " session_hash) VALUES (%s, '10.0.0.1', '', '/', '', %s, '')"
    )
    antes = datetime.now(UTC) - timedelta(days=1)
    propietario.execute(insertar, ["E7", antes])
    propietario.execute(insertar, ["E8", antes])
    copias.hacer()
    hasta(Estado.COMPLETADA, "E7", espacio="empleados")
    ordenar("exportar_registro", fichero)
    copias.restaurar()
    with closing(copias.conectar()) as conexion:
        conexion.execute(insertar, ["E7", datetime.now(UTC) + timedelta(seconds=1)])
        datos, _, _ = ordenar("reaplicar_supresiones", fichero)
        quedan = conexion.execute("SELECT username FROM axes_accesslog ORDER BY 1").fetchall()
    assert datos["reaplicadas"] == 1
    assert quedan == [("E7",), ("E8",)]


def test_lo_que_vuelve_a_borrarse_tampoco_se_escribe_de_nuevo(
    historia: Any, copias: Copias, fichero: Path, dicho: Callable[..., None]
) -> None:
    """The fence was lost with the copy: the threads that go again are fenced again."""
    ordenar("reaplicar_supresiones", fichero)
    with closing(copias.conectar()) as conexion:
        conexion.execute("UPDATE vallas.vallas SET hasta = now() WHERE hasta < 'infinity'")
    with pytest.raises(HiloSuprimido):
        dicho("C1", "contacto", "h-C1")
    dicho("C1", "contacto", "h-nuevo")


def test_deja_constancia_de_la_ejecucion(historia: Any, copias: Copias, fichero: Path) -> None:
    ordenar("reaplicar_supresiones", fichero)
    ejecucion = Ejecucion.objects.get(comando="reaplicar_supresiones")
    assert (ejecucion.codigo, ejecucion.recuento["reaplicadas"]) == (0, 1)
    assert "C1" not in json.dumps(ejecucion.recuento)
