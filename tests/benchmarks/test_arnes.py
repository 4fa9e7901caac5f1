"""The harness only: that it completes and says what it measured. No figure is asserted, ever."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.arnes import Linea, tabla

RAIZ = Path(__file__).resolve().parents[2]


def lanzar(*argumentos: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *argumentos],
        cwd=RAIZ,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


@pytest.fixture(scope="module")
def medido(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    """What ``--small`` prints, and its JSON."""
    fichero = tmp_path_factory.mktemp("banco") / "medidas.json"
    hecho = lanzar("--small", "--json", str(fichero))
    assert hecho.returncode == 0, hecho.stderr
    return hecho.stdout, json.loads(fichero.read_text(encoding="utf-8"))


def test_every_row_is_in_the_json(medido: tuple[str, dict[str, Any]]) -> None:
    _, datos = medido
    filas = datos["filas"]
    assert {fila["id"] for fila in filas} >= {"B1", "B2", "B3"}
    for fila in filas:
        assert set(fila) == {
            "id", "trabajo", "unidad", "nuestro", "par", "razon", "objetivo", "alcanzado", "operaciones"
        }  # fmt: skip
        assert fila["operaciones"] == datos["tamanos"]["operaciones"]
        assert fila["razon"] is None or math.isclose(fila["razon"], fila["nuestro"] / fila["par"])
        assert (fila["alcanzado"] is None) == (fila["objetivo"] is None)


def test_every_row_has_a_line_that_decides(medido: tuple[str, dict[str, Any]]) -> None:
    _, datos = medido
    con_objetivo = {fila["id"] for fila in datos["filas"] if fila["objetivo"] is not None}
    assert con_objetivo == {fila["id"] for fila in datos["filas"]}


def test_the_card_is_read_at_three_sizes(medido: tuple[str, dict[str, Any]]) -> None:
    _, datos = medido
    fichas = [f for f in datos["filas"] if f["id"] == "B1" and f["unidad"] == "ms" and f["objetivo"]]
    assert len({f["trabajo"] for f in fichas}) == 3


def test_the_quality_of_search_comes_with_its_peers(medido: tuple[str, dict[str, Any]]) -> None:
    salida, datos = medido
    rankings = datos["calidad"]["rankings"]
    assert {"texto completo", "vectores", "producto"} <= set(rankings)
    assert all(0 <= tabla["todas"]["recall"] <= 1 for tabla in rankings.values())
    assert "parafrasis" in rankings["producto"]["por_tipo"]
    assert "recall@3" in salida


def test_every_line_of_the_json_is_printed(medido: tuple[str, dict[str, Any]]) -> None:
    salida, datos = medido
    assert all(fila["trabajo"] in salida for fila in datos["filas"])


def test_an_unknown_row_is_named() -> None:
    hecho = lanzar("--only", "B1,B99")
    assert hecho.returncode == 2
    assert "B99" in hecho.stderr


def test_the_table_says_what_was_not_reached() -> None:
    lineas = [
        Linea("B1", "leer", "ms", 1.0, 2.0, 0.5, 0.35, alcanzado=False, operaciones=200),
        Linea("B1", "leer", "B de WAL", 0.0, 14_000.0, 0.0, 0.01, alcanzado=True, operaciones=200),
        Linea("B1", "mirar", "ms", 1.0, 0.0, None, None, alcanzado=None, operaciones=200),
    ]
    _, primera, segunda, tercera = tabla(lineas)
    assert primera.endswith("NO")
    assert segunda.endswith("sí")
    assert "14,000" in segunda
    assert tercera.endswith("–")
