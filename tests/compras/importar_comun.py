"""What the tests of the import share."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import CommandError

CABECERA = ["proveedor_id", "aviso_id", "fecha", "texto"]
UNO = ["P1", "A1", "2026-03-09", "Sube el gres un 4,5 %; la porcelana no.\nPedir antes del 10 de julio, 20 €"]


def importar(ruta: Path, *opciones: str) -> tuple[int, dict[str, Any], str]:
    """Exit code, JSON and what was said on stderr."""
    salida, errores = io.StringIO(), io.StringIO()
    codigo = 0
    try:
        call_command("importar_avisos", str(ruta), "--json", *opciones, stdout=salida, stderr=errores)
    except CommandError as error:
        codigo = error.returncode
        errores.write(str(error))
    return codigo, json.loads(salida.getvalue()), errores.getvalue()
