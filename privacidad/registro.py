"""The register of what happened: append-only, each entry chained to the one before by SHA-256."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from privacidad.models import Asiento

#: What the first entry is chained to.
ORIGEN = "0" * 64


def anotar(
    *, tipo: str, referencia: str = "", resumen: str = "", datos: Mapping[str, Any] | None = None
) -> Asiento:
    """Add an entry, in the caller's transaction: what is rolled back was never registered.

    ``datos`` is JSON with no name and no id in clear. Writers take turns until they commit, so the chain has
    no forks and no gaps.
    """
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended('privacidad:registro', 0))")
        ultimo = Asiento.objects.order_by("-numero").first()
        asiento = Asiento(
            numero=ultimo.numero + 1 if ultimo else 1,
            momento=timezone.now(),
            tipo=tipo,
            referencia=referencia,
            resumen=resumen,
            datos=dict(datos or {}),
            anterior=ultimo.huella if ultimo else ORIGEN,
        )
        asiento.huella = huella(asiento)
        asiento.save(force_insert=True)
    return asiento


def huella(asiento: Asiento) -> str:
    """SHA-256, in hexadecimal, of the canonical JSON of an entry: sorted keys, no spaces, times in UTC."""
    momento: datetime = asiento.momento.astimezone(UTC)
    canonico = json.dumps(
        [
            asiento.numero,
            momento.isoformat(timespec="microseconds"),
            asiento.tipo,
            asiento.referencia,
            asiento.resumen,
            asiento.datos,
            asiento.anterior,
        ],
        ensure_ascii=False,
        sort_keys=True,
        separators=(",", ":"),
    )
    return hashlib.sha256(canonico.encode()).hexdigest()
