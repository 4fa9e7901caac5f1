"""After a restore, the requests to review again: what was reviewed, or asked for, is lost in part.

The replay says so with an entry of the register (:data:`TIPO`), so that neither an interrupted run nor a
restart forgets it; a later review of the request ends it. Of one that has been run already, which is not
reviewed any more, it is ended by another request of the same person, which brings again what they gave.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from privacidad import registro
from privacidad.errores import RevisionPerdida
from privacidad.estados import Estado
from privacidad.models import Asiento, Solicitud
from privacidad.servicios.paso import pasar

TIPO = "revision_perdida"
#: What the step of a request that goes back says.
VUELVE = gettext_noop("Se ha restaurado una copia de seguridad y hay que revisarla y aprobarla otra vez.")
_YA_REVISADAS = frozenset({Estado.REVISADA, Estado.APROBADA})


def pedir(solicitud: Solicitud, *, identificadores_de: Sequence[str] = ()) -> Solicitud:
    """Ask for another review, in the caller's transaction: approved or not, the request goes no further
    without it. ``identificadores_de`` are the requests whose identifiers of the person were lost."""
    if solicitud.estado in _YA_REVISADAS:
        solicitud = pasar(solicitud, Estado.REVISADA, por=None, nota=_(VUELVE), cambio=_sin_lo_revisado)
    registro.anotar(
        tipo=TIPO,
        referencia=solicitud.referencia,
        resumen=solicitud.resumen,
        datos={"identificadores_de": list(identificadores_de)},
    )
    return solicitud


def perdida(solicitud: Solicitud) -> list[str] | None:
    """The requests whose identifiers were lost, where this one is still to be reviewed again; else ``None``.

    With no identifiers lost the list is empty.
    """
    if not solicitud.abierta:
        return None
    suyos = Asiento.objects.filter(resumen=solicitud.resumen)
    acaban = Q(tipo=Estado.REVISADA, referencia=solicitud.referencia)
    if solicitud.estado not in (Estado.RECIBIDA, Estado.IDENTIFICADA, *_YA_REVISADAS):
        acaban |= Q(tipo=Estado.VINCULADA)
    ultimo = suyos.filter(acaban).order_by("numero").values_list("numero", flat=True).last() or 0
    pedidas = suyos.filter(tipo=TIPO, referencia=solicitud.referencia, numero__gt=ultimo).order_by("numero")
    datos = list(pedidas.values_list("datos", flat=True))
    if not datos:
        return None
    return sorted({r for d in datos for r in d["identificadores_de"]})


def exigir(solicitud: Solicitud) -> None:
    """Raises :class:`RevisionPerdida` while it is to be reviewed again."""
    if perdida(solicitud) is not None:
        raise RevisionPerdida


def perdidas() -> dict[str, list[str]]:
    """All of them, by reference, each with what :func:`perdida` says."""
    pedidas = Asiento.objects.filter(tipo=TIPO).values("referencia")
    abiertas = Solicitud.objects.abiertas().filter(referencia__in=pedidas).order_by("referencia")
    return {s.referencia: cuales for s in abiertas if (cuales := perdida(s)) is not None}


def _sin_lo_revisado(actual: Solicitud) -> None:
    actual.vista_previa = {}
