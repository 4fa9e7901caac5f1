"""What purchasing itself keeps for a time: withdrawn notices, until they can no longer be put back.

``barrer`` (the command) calls :func:`barrer` through ``ComprasConfig.barrido``.
"""

from __future__ import annotations

import logging
from typing import Any

from compras.models import Retirada
from memoria.comandos import Plazo

logger = logging.getLogger(__name__)

_LOTE = 1000


def barrer(*, plazo: Plazo, simular: bool) -> dict[str, Any]:
    """Delete the withdrawn notices whose time is over, a batch a statement.

    Returns ``{"retiradas_borradas"}``; with ``simular``, how many would be.
    """
    if simular:
        return {"retiradas_borradas": Retirada.objects.pasadas().count()}
    borradas = 0
    while not plazo.agotado:
        lote = list(Retirada.objects.pasadas().order_by("pk").values_list("pk", flat=True)[:_LOTE])
        borradas += Retirada.objects.filter(pk__in=lote).delete()[0]
        if len(lote) < _LOTE:
            break
    logger.info("barrido de compras: %s avisos retirados borrados", borradas)
    return {"retiradas_borradas": borradas}
