"""What the verification of the register found wrong in what it tells of, in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

_FALTAS = {
    "evidencias_alteradas": gettext_lazy(
        "La evidencia de %(cuales)s no es la que se escribió: no coincide con el registro."
    ),
    "evidencias_perdidas": gettext_lazy("La evidencia de %(cuales)s falta: consta en el registro."),
    "escritos_alterados": gettext_lazy(
        "El escrito de %(cuales)s no es el que se emitió: no coincide con el registro."
    ),
    "escritos_perdidos": gettext_lazy("El escrito de %(cuales)s falta: consta en el registro."),
}


def faltas(recuento: Mapping[str, Any]) -> list[str]:
    """A sentence for each kind of thing that is not as the register tells it, with its references."""
    return [
        frase % {"cuales": ", ".join(recuento[que])} for que, frase in _FALTAS.items() if recuento.get(que)
    ]


def titulo(recuento: Mapping[str, Any]) -> str:
    """The same in a few words; empty when there is nothing wrong."""
    halladas = {que for que in _FALTAS if recuento.get(que)}
    if halladas == {"evidencias_alteradas"}:
        return _("Evidencia cambiada")
    if halladas == {"escritos_alterados"}:
        return _("Escrito cambiado")
    return _("Faltan o han cambiado evidencias o escritos") if halladas else ""
