"""How far a large erasure has got, told while its transaction is still open.

What a transaction writes is not seen until it is committed, but the name a session gives itself is: the run
puts the reference and the stage into ``application_name``, and the page reads it in ``pg_stat_activity``.
Only for large ones: a small one ends before anybody could look.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import connection
from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

from memoria import politica
from privacidad import destinos
from privacidad.estados import EJECUTABLES
from privacidad.models import Solicitud

#: Rows, of whatever kind, above which a run is not for a page: on two cores 10,000 take less than two
#: seconds, and a page may take thirty.
MAXIMO_EN_UNA_PAGINA = 10_000
#: Where counting ends: who reads the page need not know how many more there are.
MAXIMO_CONTADO = 1_000_000


class Etapa(TextChoices):
    ESPERA = "espera", _("Espera a que acaben las escrituras en marcha")
    CUENTA = "cuenta", _("Cuenta lo que hay")
    BORRA = "borra", _("Borra")
    COMPRUEBA = "comprueba", _("Vuelve a contar")
    ANOTA = "anota", _("Guarda la evidencia")


@dataclass(frozen=True)
class Avance:
    """Where a run that is going on now is, and since when."""

    etapa: Etapa
    desde: datetime

    @property
    def numero(self) -> int:
        """Which stage it is, from 1."""
        return list(Etapa).index(self.etapa) + 1


def filas(solicitud: Solicitud) -> int:
    """How many rows there are now in PostgreSQL: other systems are not waited for from a page.

    What a person may have much of is counted now, up to :data:`MAXIMO_CONTADO`, since they go on talking
    after the review; of the rest, what the review counted.
    """
    contadas_ahora = {"memoria", "hilos"} | {d.nombre for d in destinos.DESTINOS if d.externo}
    otras = sum(sum(r.values()) for d, r in solicitud.vista_previa.items() if d not in contadas_ahora)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT langgraph.tamano_sujeto(%s, %s, %s, %s)",
            [
                politica.prefijo(solicitud.espacio, solicitud.sujeto_id),
                solicitud.espacio,
                solicitud.sujeto_id,
                MAXIMO_CONTADO,
            ],
        )
        return int(cursor.fetchone()[0]) + otras


def es_grande(solicitud: Solicitud) -> bool:
    """Whether running it takes longer than a page may."""
    return solicitud.estado in EJECUTABLES and filas(solicitud) > MAXIMO_EN_UNA_PAGINA


def decir(solicitud: Solicitud, etapa: Etapa, *, grande: bool) -> None:
    """Say, inside the run's transaction, which stage begins, if it is a large one. At its end the session has
    its old name."""
    if grande:
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('application_name', %s, true)", [_nombre(solicitud, etapa)])


def leer(solicitud: Solicitud) -> Avance | None:
    """The stage of the run that is going on; ``None`` when there is none."""
    with connection.cursor() as cursor:
        cursor.execute(_EN_MARCHA, [_nombre(solicitud, "")])
        fila = cursor.fetchone()
    etapa = fila[0].rpartition(" ")[2] if fila else ""
    # Any session may call itself so: what is no stage of ours is nothing.
    return Avance(Etapa(etapa), fila[1]) if etapa in Etapa.values else None


def _nombre(solicitud: Solicitud, etapa: str) -> str:
    return f"supresion {solicitud.referencia} {etapa}"


# A role sees what the sessions of its own are doing.
_EN_MARCHA = """
SELECT application_name, xact_start FROM pg_stat_activity
WHERE datname = current_database() AND starts_with(application_name, %s) AND xact_start IS NOT NULL
"""
