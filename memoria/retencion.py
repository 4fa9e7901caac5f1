"""The sweep: expired documents leave the store, a batch at a time, from the retention CronJob.

Between sweeps nobody reads them: every read of an agent leaves them out.
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import Any

from django.apps import apps
from django.db import connection
from django.utils.module_loading import import_string

from memoria.comandos import Plazo

logger = logging.getLogger(__name__)


def barrer(*, lote: int, plazo: Plazo, simular: bool) -> dict[str, Any]:
    """Delete the expired documents, ``lote`` at a time, each batch a short transaction of its own.

    Their vectors go with them. A document somebody else is writing is left for the next sweep. No batch is
    started once ``plazo`` is spent. With ``simular`` nothing is deleted, and the same keys say what would be.

    Returns ``{"borrados", "por_espacio": {root: n}, "lotes", "simulado", "completo"}``; ``completo`` is false
    when ``plazo`` ended it with expired documents left.
    """
    por_espacio: Counter[str] = Counter()
    lotes = 0
    completo = False
    while not completo and not plazo.agotado:
        borrados = _un_lote(lote, simular)
        por_espacio.update(borrados)
        cuantos = sum(borrados.values())
        lotes += -(-cuantos // lote)  # a simulated batch counts them all at once
        completo = simular or cuantos < lote
    total = sum(por_espacio.values())
    logger.info(
        "barrido: %s %s documentos caducados en %s lotes%s",
        "se borrarían" if simular else "borrados",
        total,
        lotes,
        "" if completo else ", quedan más",
    )
    return {
        "borrados": total,
        "por_espacio": dict(sorted(por_espacio.items())),
        "lotes": lotes,
        "simulado": simular,
        "completo": completo,
    }


def barrer_otras_salas(*, plazo: Plazo, simular: bool) -> dict[str, Any]:
    """What the applications keep for a time: an ``AppConfig`` with ``barrido = "dotted.path"`` of a function.

    It takes ``plazo`` and ``simular`` and says what it did, by names of its own.
    """
    hecho: dict[str, Any] = {}
    for sala in apps.get_app_configs():
        if ruta := getattr(sala, "barrido", None):
            hecho |= import_string(ruta)(plazo=plazo, simular=simular)
    return hecho


def _un_lote(lote: int, simular: bool) -> dict[str, int]:
    """One call of ``langgraph.barrer_lote`` (``sql/funciones.sql``): documents by root namespace."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT espacio, borrados FROM langgraph.barrer_lote(%s, %s)", [lote, simular])
        return dict(cursor.fetchall())
