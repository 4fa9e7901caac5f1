"""The measures of the project: ``python -m benchmarks [--json FILE] [--small] [--only B1,B2]``.

Each row is a ratio between ours and a peer, measured in the same run; ``docs/medidas.md`` says what it means.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from benchmarks import arnes, b01_ficha, b02_preferencia, b03_aviso, b04_supresion, b07_buscar, calidad
from benchmarks.banco import PEQUENOS, Tamanos, abrir_banco
from memoria.embeddings import crear_embeddings

FILAS: tuple[arnes.Fila, ...] = (
    b01_ficha,
    b07_buscar,  # before those that need all the notices: it is measured at three sizes
    b02_preferencia,
    b03_aviso,
    b04_supresion,
)
CALIDAD = "calidad"


def main(argumentos: Sequence[str] | None = None) -> None:
    opciones = _opciones(argumentos)
    # So that the server stops and its folder goes also when the run is told to stop.
    signal.signal(signal.SIGTERM, lambda senal, marco: sys.exit(128 + senal))
    empezado = time.monotonic()
    lineas: list[arnes.Linea] = []
    informe = None
    # Always the embedded model: figures of two machines can then be compared.
    modelo = crear_embeddings(url=None, modelo=None, dims=None, api_key=None, umbral=None)
    with abrir_banco(modelo, opciones.tamanos) as banco:
        for fila in FILAS:
            if fila.ID in opciones.only:
                print(f"{fila.ID}…", file=sys.stderr, flush=True)
                lineas.extend(arnes.medir(fila, banco))
        if CALIDAD in opciones.only:
            print(f"{CALIDAD}…", file=sys.stderr, flush=True)
            informe = calidad.medir(banco)
    for linea in arnes.tabla(lineas):
        print(linea)
    if informe:
        print()
        for texto in calidad.imprimir(informe):
            print(texto)
    segundos = time.monotonic() - empezado
    print(f"\n{segundos:.0f} s, {os.cpu_count()} CPU, Python {platform.python_version()}")
    if opciones.json:
        datos: dict[str, Any] = {
            "tamanos": asdict(opciones.tamanos),
            "cpus": os.cpu_count(),
            "segundos": round(segundos, 1),
            "filas": [asdict(linea) for linea in lineas],
            "calidad": asdict(informe) if informe else None,
        }
        opciones.json.write_text(json.dumps(datos, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def _opciones(argumentos: Sequence[str] | None) -> argparse.Namespace:
    todas = [*(fila.ID for fila in FILAS), CALIDAD]
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--small", action="store_true", help="a try of the harness: its figures mean nothing")
    parser.add_argument("--only", default=",".join(todas), metavar="IDS", help=f"of {','.join(todas)}")
    for campo in fields(Tamanos):
        parser.add_argument(f"--{campo.name}", type=int, help=f"{campo.default:,} unless given")
    opciones = parser.parse_args(argumentos)
    opciones.only = opciones.only.split(",")
    if desconocidas := set(opciones.only) - set(todas):
        parser.error(f"no hay filas {', '.join(sorted(desconocidas))}: las que hay son {', '.join(todas)}")
    dados = {c.name: v for c in fields(Tamanos) if (v := getattr(opciones, c.name)) is not None}
    if any(v < 1 for v in dados.values()):
        parser.error("los tamaños son números de 1 en adelante")
    opciones.tamanos = replace(PEQUENOS if opciones.small else Tamanos(), **dados)
    return opciones


if __name__ == "__main__":
    main()
