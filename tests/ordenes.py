"""``manage.py`` commands, run in this process."""

from __future__ import annotations

import io
import json
from typing import Any

from django.core.management import CommandError, call_command


def ordenar(orden: str, *opciones: Any) -> tuple[dict[str, Any], str, int]:
    """``(JSON, stderr, exit code)``."""
    salida, avisos = io.StringIO(), io.StringIO()
    codigo = 0
    try:
        call_command(orden, "--json", *map(str, opciones), stdout=salida, stderr=avisos)
    except CommandError as error:
        codigo = error.returncode
    return json.loads(salida.getvalue()), avisos.getvalue(), codigo
