"""The first page of each group, in light, dark and narrow windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memoria.grupos import GRUPOS


@pytest.mark.parametrize("grupo", GRUPOS)
@pytest.mark.parametrize(
    "opciones",
    [{}, {"color_scheme": "dark"}, {"viewport": {"width": 360, "height": 740}}],
    ids=["clara", "oscura", "estrecha"],
)
def test_the_panel_of_each_group(visitar: Callable[..., Any], grupo: str, opciones: dict[str, Any]) -> None:
    visita = visitar(grupo, **opciones)
    assert visita.pagina.get_by_role("link", name="Memoria").first.is_visible()
