"""The life of an erasure request: its states and every way from one to another, in this one table.

The services, the screens and the tests read it here. The database holds the same table in a trigger (see
``migrations/0006_guardas_de_derechos.py``), whoever writes; a test keeps the two equal.
"""

from __future__ import annotations

from collections.abc import Mapping

from django.db import models
from django.utils.translation import gettext_lazy as _


class Estado(models.TextChoices):
    RECIBIDA = "recibida", _("Recibida")
    IDENTIFICADA = "identificada", _("Identificada")
    REVISADA = "revisada", _("Revisada")
    APROBADA = "aprobada", _("Aprobada")
    EN_CURSO = "en_curso", _("En curso")
    COMPLETADA = "completada", _("Completada")
    #: Something was erased and something was not. Never counted, nor shown, as done.
    PARCIAL = "parcial", _("Parcial")
    DENEGADA = "denegada", _("Denegada")
    RETIRADA = "retirada", _("Retirada")
    #: A later check found something of an erased person. Open again, with its first deadline.
    REAPARECIDA = "reaparecida", _("Reaparecida")
    #: Another request of a person who already has one open: that one goes on.
    VINCULADA = "vinculada", _("Vinculada a otra")


TRANSICIONES: Mapping[str, frozenset[str]] = {
    Estado.RECIBIDA: frozenset({Estado.IDENTIFICADA, Estado.DENEGADA, Estado.RETIRADA}),
    Estado.IDENTIFICADA: frozenset({Estado.REVISADA, Estado.DENEGADA, Estado.RETIRADA}),
    # A review can be repeated: what there is may have changed since.
    Estado.REVISADA: frozenset({Estado.REVISADA, Estado.APROBADA, Estado.DENEGADA, Estado.RETIRADA}),
    # What an approved run finds may no longer be what was reviewed: then it is reviewed, and approved, again.
    Estado.APROBADA: frozenset({Estado.REVISADA, Estado.EN_CURSO, Estado.DENEGADA, Estado.RETIRADA}),
    Estado.EN_CURSO: frozenset({Estado.COMPLETADA, Estado.PARCIAL}),
    # No way back: part of it has been erased already.
    Estado.PARCIAL: frozenset({Estado.EN_CURSO}),
    Estado.COMPLETADA: frozenset({Estado.REAPARECIDA}),
    # It was approved once, for this very person: finishing it needs no second approval.
    Estado.REAPARECIDA: frozenset({Estado.EN_CURSO}),
    Estado.DENEGADA: frozenset(),
    Estado.RETIRADA: frozenset(),
    Estado.VINCULADA: frozenset(),
}

#: A closed request holds no id in clear.
CERRADAS = frozenset({Estado.COMPLETADA, Estado.DENEGADA, Estado.RETIRADA, Estado.VINCULADA})
ABIERTAS = frozenset(Estado) - CERRADAS
#: What the scheduled command runs.
EJECUTABLES = frozenset(Estado(e) for e, a in TRANSICIONES.items() if Estado.EN_CURSO in a)


def permitida(de: str, a: str) -> bool:
    """Whether a request may go from state ``de`` to state ``a``."""
    return a in TRANSICIONES.get(de, frozenset())
