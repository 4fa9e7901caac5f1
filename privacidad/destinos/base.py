"""What a destination is, and who it is asked about."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from django.db import connection
from django.utils.functional import Promise

from memoria import politica
from memoria.models import Hilo

#: How many rows of each kind: ``{"documentos": 3, "vectores": 0}``.
Recuento = dict[str, int]


@dataclass(frozen=True)
class Sujeto:
    """One subject, with the threads that were theirs *before* anything was deleted.

    The checkpoints have no column for the subject: once the registry's rows are gone, nothing says whose they
    were. Its ``repr`` names nobody.
    """

    espacio: str
    sujeto_id: str = field(repr=False)
    hilos: tuple[str, ...] = field(repr=False)
    #: Rows held back, by destination: they are counted and not erased.
    excluidos: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)

    @classmethod
    def capturar(
        cls,
        espacio: str,
        sujeto_id: str,
        *,
        excluidos: Mapping[str, tuple[str, ...]] | None = None,
        bloquear: bool = False,
    ) -> Sujeto:
        """Read the subject's threads; with ``bloquear``, inside a transaction, hold their registry rows.

        While they are held no checkpoint can be added to those threads: its foreign key waits for us, and
        finds its thread gone.
        """
        hilos = Hilo.objects.del_sujeto(espacio, sujeto_id).order_by("thread_id")
        if bloquear:
            hilos = hilos.select_for_update()
        return cls(
            espacio, sujeto_id, tuple(hilos.values_list("thread_id", flat=True)), dict(excluidos or {})
        )

    @property
    def prefijo(self) -> str:
        """The ``prefix`` of the subject's documents; in a sub-namespace it goes on after a period."""
        return politica.prefijo(self.espacio, self.sujeto_id)


class Destino(ABC):
    """A place where data of a person may be.

    One in PostgreSQL (``externo`` false) runs inside the caller's transaction, with all the others. An
    external one runs after it, on its own, as often as it takes: what it does must be safe to repeat, and it
    raises :class:`DestinoNoDisponible` when the other side cannot be asked.

    ``etiquetas`` names what it counts, for people, in the order shown (``etiquetas[x] % 2`` is the plural).
    Every one of those counts must be zero after an erasure: a destination counts what is the subject's and
    nothing else.
    """

    nombre: ClassVar[str]
    etiqueta: ClassVar[str | Promise]
    etiquetas: ClassVar[Mapping[str, Any]]  # lazy plurals: their type is made at run time
    externo: ClassVar[bool] = False
    #: Whether single rows can be held back here (see ``Sujeto.excluidos``).
    admite_exclusiones: ClassVar[bool] = False
    #: The functions of the database it calls: their text is part of the evidence.
    funciones: ClassVar[Sequence[str]] = ()
    #: The statements it runs besides, by what they do.
    consultas: ClassVar[Sequence[str]] = ()

    @property
    def activo(self) -> bool:
        """Whether this installation has it; an external one with no address has nothing of anybody."""
        return True

    def retenidos(self, sujeto: Sujeto) -> Recuento:
        """How many of each are held back, and so must still be there after an erasure."""
        return {}

    @abstractmethod
    def contar(self, sujeto: Sujeto) -> Recuento:
        """How much there is of the subject; changes nothing."""

    @abstractmethod
    def suprimir(self, sujeto: Sujeto) -> Recuento:
        """Erase it all; returns how many rows went, by the same names."""

    @abstractmethod
    def parametros(self, sujeto: Sujeto) -> dict[str, str]:
        """Keyed digests of what was asked for: the evidence never holds the id itself."""

    def verificar(self, sujeto: Sujeto) -> Recuento:
        """Read back what is left. In PostgreSQL that is another count, with a snapshot of its own."""
        return self.contar(sujeto)

    def sql(self) -> list[str]:
        """The text of every statement: what we run and, of the functions it calls, the body installed."""
        if not self.funciones:
            return list(self.consultas)
        with connection.cursor() as cursor:
            cursor.execute(_DEFINICIONES, [list(self.funciones)])
            return [*self.consultas, *(fila[0] for fila in cursor.fetchall())]


_DEFINICIONES = """
SELECT pg_get_functiondef(firma::regprocedure)
FROM unnest(%s::text[]) WITH ORDINALITY AS f (firma, orden)
ORDER BY orden
"""


def una_fila(consulta: str, parametros: Sequence[Any] | Mapping[str, Any]) -> Recuento:
    """Run a statement that answers one row of counts: ``{column: value}``."""
    with connection.cursor() as cursor:
        cursor.execute(consulta, parametros)
        nombres = [columna.name for columna in cursor.description or ()]
        return dict(zip(nombres, cursor.fetchone() or (), strict=True))
