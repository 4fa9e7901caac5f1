"""What privacy itself keeps for a time: sealed copies until their date, access files until they expire.

``barrer`` (the command) calls :func:`barrer` through ``PrivacidadConfig.barrido``.
"""

from __future__ import annotations

import logging
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from memoria.comandos import Plazo
from privacidad import copias, plazos, registro
from privacidad.models import Copia, Expediente

logger = logging.getLogger(__name__)


def barrer(*, plazo: Plazo, simular: bool) -> dict[str, Any]:
    """Destroy the copies whose day has come and empty the files that have expired, each in a transaction.

    Returns ``{"copias_destruidas", "expedientes_vaciados"}``; with ``simular``, how many would be.
    """
    if simular:
        return {"copias_destruidas": _copias().count(), "expedientes_vaciados": _expedientes().count()}
    destruidas = vaciados = 0
    for copia in _copias().select_related("solicitud"):
        if plazo.agotado:
            break
        destruidas += copias.destruir(copia)
    for expediente in _expedientes().defer("pdf", "json", "pedido"):
        if plazo.agotado:
            break
        vaciados += _vaciar(expediente)
    logger.info("barrido de privacidad: %s copias destruidas, %s expedientes vaciados", destruidas, vaciados)
    return {"copias_destruidas": destruidas, "expedientes_vaciados": vaciados}


def _copias() -> QuerySet[Copia]:
    return Copia.objects.filter(destruida__isnull=True, destruir_el__lte=plazos.hoy()).order_by("pk")


def _expedientes() -> QuerySet[Expediente]:
    return Expediente.objects.filter(destruido__isnull=True, caduca__lte=timezone.now()).order_by("pk")


def _vaciar(expediente: Expediente) -> bool:
    with transaction.atomic():
        quedaba = Expediente.objects.filter(pk=expediente.pk, destruido__isnull=True)
        if not quedaba.update(pdf=b"", json=b"", pedido=b"", destruido=timezone.now()):
            return False
        registro.anotar(
            tipo="expediente_destruido", referencia=expediente.referencia, resumen=expediente.resumen
        )
    return True
