"""The bin: a deleted document can be recovered for thirty days, and then the sweep empties it for good."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import connection
from django.utils import timezone

from memoria.comandos import Plazo
from memoria.documentos.acceso import en_espacio
from memoria.documentos.espacios import ESPACIOS
from memoria.documentos.models import Pagina

DIAS_EN_LA_PAPELERA = 30
LOTE = 500


def vaciar(*, plazo: Plazo, simular: bool) -> dict[str, Any]:
    """Delete for good what was deleted more than thirty days ago, with its history. Returns how many.

    ``{"documentos_vaciados": n}``; with ``simular`` what would be deleted, and nothing is.
    """
    hasta = timezone.now() - timedelta(days=DIAS_EN_LA_PAPELERA)
    vaciados = 0
    for espacio in ESPACIOS:
        quedan = True
        while quedan and not plazo.agotado:
            with en_espacio(espacio):
                viejas = Pagina.objects.borradas().filter(borrada__lt=hasta)
                if simular:
                    cuantas, quedan = viejas.count(), False
                else:
                    with connection.cursor() as cursor:
                        cursor.execute(_VACIAR, {"espacio": espacio, "hasta": hasta, "cuantas": LOTE})
                        cuantas = cursor.rowcount
                    quedan = cuantas == LOTE
            vaciados += cuantas
    return {"documentos_vaciados": vaciados}


# Sections, vectors and history go with it, by the keys of the database. One being recovered is passed over.
_VACIAR = """
DELETE FROM public.documentos_pagina WHERE id IN (
    SELECT id FROM public.documentos_pagina
    WHERE espacio = %(espacio)s AND borrada < %(hasta)s
    ORDER BY id
    LIMIT %(cuantas)s
    FOR UPDATE SKIP LOCKED
)
"""
