"""What the page of the register calls each entry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from privacidad.estados import Estado


def test_una_ejecucion_que_no_hallo_nada_no_se_llama_borrado(
    hasta: Callable[..., Any], preferencia: Callable[..., None], navegar: Callable[..., Any]
) -> None:
    preferencia("C1")
    con_datos, sin_datos = hasta(Estado.COMPLETADA, "C1"), hasta(Estado.COMPLETADA, "C2")
    filas = navegar("dpo", nombre="x").get("/privacidad/registro/").context["filas"]
    dichas = {f["asiento"].referencia: f["que"] for f in filas if f["asiento"].tipo == "supresion"}
    assert dichas == {con_datos.referencia: "Datos borrados", sin_datos.referencia: "Sin datos localizados"}
