"""Deadlines, in calendar days of Madrid."""

from __future__ import annotations

from calendar import monthrange
from datetime import date
from zoneinfo import ZoneInfo

from django.utils import timezone

MADRID = ZoneInfo("Europe/Madrid")
#: The GDPR applies from this day (art. 99(2)): no request under it is older.
PRIMER_DIA = date(2018, 5, 25)


def vencimiento(recibida: date) -> date:
    """The last day to answer a request received on ``recibida``: one calendar month later.

    Art. 12(3) GDPR; where the next month has no such day, its last one (30 January → 28 February), as
    Regulation 1182/71 art. 3(2)(c) counts months. That regulation would move a deadline that falls on a
    holiday to the next working day; the house does not use that grace. Its own rule is stricter still: the
    same day.
    """
    return _mas_meses(recibida, 1)


def ampliado(recibida: date) -> date:
    """The last day of an extended deadline: two months after the first one (art. 12(3) GDPR)."""
    return _mas_meses(recibida, 3)


def _mas_meses(dia: date, meses: int) -> date:
    anio, mes = divmod(dia.year * 12 + dia.month - 1 + meses, 12)
    mes += 1
    return date(anio, mes, min(dia.day, monthrange(anio, mes)[1]))


def hoy() -> date:
    """Today in Madrid, whatever the time zone of the server or of the reader."""
    return timezone.localdate(timezone=MADRID)
