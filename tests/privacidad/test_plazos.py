from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacidad import plazos

DIAS = st.dates(max_value=date(9999, 11, 30))


@pytest.mark.parametrize(
    ("recibida", "vence"),
    [
        (date(2025, 1, 30), date(2025, 2, 28)),
        (date(2024, 1, 31), date(2024, 2, 29)),
        (date(2025, 3, 31), date(2025, 4, 30)),
        (date(2025, 12, 15), date(2026, 1, 15)),
        (date(2025, 2, 28), date(2025, 3, 28)),
    ],
)
def test_vencimiento_es_un_mes_de_calendario(recibida: date, vence: date) -> None:
    assert plazos.vencimiento(recibida) == vence


@given(DIAS)
def test_vencimiento_cae_en_el_mes_siguiente_y_nunca_pasa_del_mismo_dia(recibida: date) -> None:
    vence = plazos.vencimiento(recibida)
    assert (vence.year * 12 + vence.month) - (recibida.year * 12 + recibida.month) == 1
    # The same day of the month, or the last one of a month that has no such day.
    assert vence.day == recibida.day or (vence.day < recibida.day and (vence + timedelta(days=1)).day == 1)


@given(DIAS, DIAS)
def test_vencimiento_no_adelanta_a_quien_llego_antes(una: date, otra: date) -> None:
    antes, despues = sorted((una, otra))
    assert plazos.vencimiento(antes) <= plazos.vencimiento(despues)


def test_hoy_es_el_dia_de_madrid_y_no_el_de_utc() -> None:
    with patch("django.utils.timezone.now", return_value=datetime(2026, 7, 1, 22, 30, tzinfo=UTC)):
        assert plazos.hoy() == date(2026, 7, 2)
