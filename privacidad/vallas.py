"""The fences of an erasure: what was erased is not written again by who was in the middle of writing it.

The database keeps them (``memoria/sql/vallas.sql``); here they are raised.
``docs/decisiones/0003-vallas.md`` says what they guarantee and what they cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.conf import settings
from django.db import OperationalError, connection
from psycopg.errors import LockNotAvailable

from memoria import politica
from privacidad.errores import EscriturasEnCurso


def levantar(
    espacio: str, sujeto_id: str, *, hilos_retenidos: Sequence[str] = (), hilos_hasta: datetime | None = None
) -> int:
    """Raise the fences of one subject in the caller's transaction, which must not have counted anything yet.

    It first waits for the writes of the subject that are in flight: they are committed before it returns, or
    refused afterwards. Fenced are every thread of the subject but ``hilos_retenidos``, for ever, and whatever
    else is theirs for ``VALLA_MINUTOS``. Returns how many threads have been fenced now. With
    ``hilos_hasta`` the threads created later are a new card's: they are not fenced, and neither is whatever
    else is written of the subject.

    Raises :class:`EscriturasEnCurso` when somebody is still writing after ten seconds.
    """
    prefijo = politica.prefijo(espacio, sujeto_id)
    with connection.cursor() as cursor:
        try:
            cursor.execute(
                "SELECT vallas.levantar(%s, %s, %s, %s, %s::text[], %s)",
                [
                    prefijo,
                    espacio,
                    sujeto_id,
                    settings.VALLA_MINUTOS if hilos_hasta is None else None,
                    list(hilos_retenidos),
                    hilos_hasta or "infinity",
                ],
            )
        except OperationalError as error:
            if isinstance(error.__cause__, LockNotAvailable):
                raise EscriturasEnCurso from error
            raise
        return int(cursor.fetchone()[0])
