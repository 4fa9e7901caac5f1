from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from memoria.comandos import ComandoMemoria, Plazo, Resultado, Salida
from memoria.comprobaciones import PREPARADA, SERVIDOR, Comprobacion, comprobar


class Command(ComandoMemoria):
    help = gettext_lazy("Repasa la instalación: cada punto, bien o mal, y qué hacer.")  # type: ignore[assignment]  # read when shown
    antes_de_preparar = True
    exclusiva = False  # it reads, and it must answer whatever else is running

    def ejecutar(self, plazo: Plazo, **opciones: Any) -> Resultado:
        lista = comprobar()
        rojas = [c for c in lista if not c.ok]
        return Resultado(
            {"ok": not rojas, "comprobaciones": [c._asdict() for c in lista]},
            _frase(lista, rojas),
            _salida(lista, rojas),
            recuento={"comprobaciones": len(lista), "mal": [c.id for c in rojas]},
        )


def _salida(lista: list[Comprobacion], rojas: list[Comprobacion]) -> Salida:
    """0 nothing wrong, 75 PostgreSQL does not answer, 5 ``preparar`` has not run, 3 something else."""
    if not rojas:
        return Salida.HECHO
    if len(rojas) == len(lista) and rojas[0].id == SERVIDOR:
        return Salida.TEMPORAL
    return Salida.SIN_PREPARAR if PREPARADA in {c.id for c in rojas} else Salida.PARCIAL


def _frase(lista: list[Comprobacion], rojas: list[Comprobacion]) -> str:
    lineas = []
    for c in lista:
        lineas.append(f"{'✗' if not c.ok else '!' if c.remedio else '✓'} {c.id}: {c.detalle}")
        if c.remedio:
            lineas.append(f"    → {c.remedio}")
    if rojas:
        mal = ngettext("Hay %(n)s punto mal.", "Hay %(n)s puntos mal.", len(rojas))
        lineas.append(mal % {"n": len(rojas)})
        return "\n".join(lineas)
    avisos = sum(1 for c in lista if c.remedio)
    lineas.append(
        ngettext("Todo está bien, con %(n)s aviso.", "Todo está bien, con %(n)s avisos.", avisos)
        % {"n": avisos}
        if avisos
        else _("Todo está bien.")
    )
    return "\n".join(lineas)
