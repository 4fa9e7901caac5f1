"""How the import runs: in batches, all or nothing, in its turn, and what it leaves written."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from compras import importacion
from compras.models import Proveedor
from memoria.busqueda import buscar_avisos
from memoria.models import Ejecucion
from tests.compras.importar_comun import UNO, importar
from tests.esperas import EnOtroHilo, esperar_a_que_espere

DATOS = Path(__file__).parents[2] / "benchmarks" / "datos" / "avisos.csv"


def test_simulado_cuenta_lo_mismo_y_no_escribe(
    bd: str, fichero: Callable[..., Path], cuantos: Callable[[], int]
) -> None:
    ruta = fichero([UNO, UNO, ["P2", "A2", "mala", "x"]])
    codigo, datos, _ = importar(ruta, "--dry-run")
    assert (cuantos(), Proveedor.objects.count()) == (0, 0)
    codigo_de_verdad, de_verdad, _ = importar(ruta)
    assert datos.pop("simulado")
    assert not de_verdad.pop("simulado")
    assert (codigo, datos) == (codigo_de_verdad, de_verdad)


def test_por_lotes_y_con_plazo_se_puede_seguir_despues(
    bd: str, fichero: Callable[..., Path], cuantos: Callable[[], int]
) -> None:
    filas = [["P1", f"A{n}", "2026-03-09", f"Aviso {n}"] for n in range(7)]
    ruta = fichero(filas)
    paradas = iter([False, False, True])  # the first, of the encoding
    hecho = importacion.importar(ruta, por_lote=3, parar=lambda: next(paradas))
    assert (hecho.creados, hecho.siguiente_linea, cuantos()) == (3, 5, 3)
    codigo, datos, _ = importar(ruta, "--batch-size=3")
    assert (codigo, datos["creados"], datos["sin_cambios"], cuantos()) == (0, 4, 3, 7)


def test_todo_o_nada(bd: str, fichero: Callable[..., Path], cuantos: Callable[[], int]) -> None:
    buenas = [["P1", f"A{n}", "2026-03-09", f"Aviso {n}"] for n in range(7)]
    codigo, datos, dicho = importar(
        fichero([*buenas, ["P2", "A8", "mala", "x"]]), "--all-or-nothing", "--batch-size=3"
    )
    assert (codigo, datos["creados"], datos["anulada"], cuantos()) == (3, 0, True, 0)
    assert [r["linea"] for r in datos["rechazados"]] == [9]
    assert "No se ha escrito nada" in dicho
    assert Proveedor.objects.count() == 0
    codigo, datos, _ = importar(fichero(buenas), "--all-or-nothing", "--batch-size=3")
    assert (codigo, datos["creados"], datos["anulada"], cuantos()) == (0, 7, False, 7)


def test_todo_o_nada_deshace_lo_que_se_estropea_a_mitad(
    bd: str, fichero: Callable[..., Path], cuantos: Callable[[], int], propietario: psycopg.Connection
) -> None:
    """What only the database can refuse is found when there are two batches written: none is left."""
    filas = [["P1", f"A{n}", "2026-03-09", f"Aviso {n}"] for n in range(7)]
    propietario.execute(
        """
        CREATE FUNCTION public.negar() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = 'MV001'; END $$;
        CREATE TRIGGER negar BEFORE INSERT ON langgraph.store FOR EACH ROW WHEN (NEW.key = 'A5')
            EXECUTE FUNCTION public.negar();
        """
    )
    try:
        codigo, datos, _ = importar(fichero(filas), "--all-or-nothing", "--batch-size=2")
        assert (codigo, datos["creados"], datos["anulada"], cuantos()) == (3, 0, True, 0)
        assert Proveedor.objects.count() == 0
        codigo, datos, _ = importar(fichero(filas), "--batch-size=2")
        assert (codigo, datos["creados"], cuantos()) == (3, 6, 6)
        assert [r["linea"] for r in datos["rechazados"]] == [7]
    finally:
        propietario.execute("DROP TRIGGER negar ON langgraph.store; DROP FUNCTION public.negar()")


def test_dice_por_donde_va(bd: str, fichero: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    from compras.management.commands import importar_avisos

    monkeypatch.setattr(importar_avisos, "LINEAS_ENTRE_PARTES", 3)
    filas = [["P1", f"A{n}", "2026-03-09", "Aviso"] for n in range(7)]
    _, _, dicho = importar(fichero(filas), "--batch-size=2")
    assert re.findall(r"Leída la línea (\d+)", dicho) == ["3", "7"]


def test_los_datos_de_una_persona_se_senalan(bd: str, fichero: Callable[..., Path]) -> None:
    filas = [
        ["P1", "A1", "2026-03-09", "Llamar al 612 345 678"],
        ["P1", "A2", "2026-03-09", "EAN 8412345678905"],
    ]
    codigo, datos, dicho = importar(fichero(filas))
    assert (codigo, datos["creados"]) == (0, 2)
    assert [a["linea"] for a in datos["avisados"]] == [2]
    assert "612" not in json.dumps(datos) + dicho


def test_dos_importaciones_a_la_vez_la_segunda_se_va(
    bd: str, fichero: Callable[..., Path], propietario: psycopg.Connection, cuantos: Callable[[], int]
) -> None:
    """The first is held at its write by a lock on the table; the second answers 4 at once."""
    ruta = fichero([UNO])
    with propietario.transaction():
        propietario.execute("LOCK TABLE langgraph.store IN EXCLUSIVE MODE")
        primera = EnOtroHilo(lambda: importar(ruta)[0]).empezar()
        esperar_a_que_espere(propietario)
        codigo, _, dicho = importar(ruta)
        assert (codigo, "en marcha" in dicho) == (4, True)
        assert primera.en_marcha()
    assert (primera.resultado(), cuantos()) == (0, 1)


def test_deja_registro_de_la_ejecucion_sin_texto(bd: str, fichero: Callable[..., Path]) -> None:
    importar(fichero([UNO, ["P1", "A2", "mala", "x"]]))
    ejecucion = Ejecucion.objects.get(comando="importar_avisos")
    assert ejecucion.codigo == 3
    assert ejecucion.recuento["creados"] == 1
    assert "gres" not in json.dumps(ejecucion.recuento)


def test_los_84_avisos_de_muestra_se_encuentran_despues(
    bd: str, almacen: Any, propietario: psycopg.Connection
) -> None:
    codigo, datos, _ = importar(DATOS)
    with DATOS.open(encoding="utf-8", newline="") as f:
        filas = list(csv.DictReader(f))
    assert len(filas) == 84
    assert (codigo, datos["creados"], datos["rechazados"]) == (0, 84, [])
    assert datos["proveedores_creados"] == len({f["proveedor_id"] for f in filas})
    guardados = propietario.execute("SELECT prefix, key, value->>'texto' FROM langgraph.store").fetchall()
    assert {(p, c): t for p, c, t in guardados} == {
        (f"proveedores.{f['proveedor_id']}", f["aviso_id"]): f["texto"].strip() for f in filas
    }
    hallados = buscar_avisos(almacen, "P101", "vacaciones de verano de la fábrica")
    assert "A101-01" in [h.key for h in hallados]
    assert {h.namespace for h in hallados} == {("proveedores", "P101")}
