"""What a destination is, and who it is asked about."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, ClassVar

from django.db import connection
from django.utils.functional import Promise

from memoria import politica
from memoria.models import Hilo

#: How many rows of each kind: ``{"documentos": 3, "vectores": 0}``.
Recuento = dict[str, int]


@dataclass(frozen=True, slots=True)
class Corte:
    """Where what was erased of somebody ends and their new card begins: what is from before ``momento`` was
    erased once. Where the fence kept them out for some minutes more, what is from before ``valla``."""

    momento: datetime
    valla: datetime

    def hasta(self, d: Destino) -> datetime:
        """The last instant of what was erased, in that destination."""
        return (self.valla if d.vallado else self.momento) - _INSTANTE


#: What PostgreSQL tells one moment from the next by.
_INSTANTE = timedelta(microseconds=1)


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
    #: What a destination took long to find out about them, by its name, so as not to look for it again.
    hallado: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    #: Of somebody who had been erased and is there again, what is theirs to erase: what is from later is of a
    #: new card. None: all of it.
    corte: Corte | None = None

    def __post_init__(self) -> None:
        # To a system that filters by it, no id is everybody.
        if not self.sujeto_id:
            raise ValueError("a subject with no id")

    @classmethod
    def capturar(
        cls,
        espacio: str,
        sujeto_id: str,
        *,
        excluidos: Mapping[str, tuple[str, ...]] | None = None,
        bloquear: bool = False,
        hasta: datetime | None = None,
        corte: Corte | None = None,
    ) -> Sujeto:
        """Read the subject's threads; with ``bloquear``, inside a transaction, hold their registry rows.

        While they are held no checkpoint can be added to those threads: its foreign key waits for us, and
        finds its thread gone. ``hasta`` leaves out the threads created later, and so does ``corte``, with all
        the rest.
        """
        hilos = Hilo.objects.del_sujeto(espacio, sujeto_id).order_by("thread_id")
        if hasta is not None:
            hilos = hilos.filter(creado__lte=hasta)
        if corte is not None:
            hilos = hilos.filter(creado__lt=corte.valla)
        if bloquear:
            hilos = hilos.select_for_update()
        return cls(
            espacio,
            sujeto_id,
            tuple(hilos.values_list("thread_id", flat=True)),
            dict(excluidos or {}),
            corte=corte,
        )

    @property
    def prefijo(self) -> str:
        """The ``prefix`` of the subject's documents; in a sub-namespace it goes on after a period."""
        return politica.prefijo(self.espacio, self.sujeto_id)


@dataclass(frozen=True, slots=True)
class Rastro:
    """Somebody a destination still knows, and since when: the moment of the oldest thing it holds of them."""

    espacio: str
    sujeto_id: str = field(repr=False)
    desde: datetime


class Destino(ABC):
    """A place where data of a person may be.

    One in PostgreSQL (``externo`` false) runs inside the caller's transaction, with all the others. An
    external one runs after it, on its own, as often as it takes: what it does must be safe to repeat, and it
    raises :class:`DestinoNoDisponible` when the other side cannot be asked.

    ``etiquetas`` names what it counts, for people, in the order shown (``etiquetas[x] % 2`` is the plural).
    Every one of those counts must be zero after an erasure: a destination counts what is the subject's and
    nothing else. Of a subject with a ``corte`` it counts, erases and reads back what is from before it, and
    leaves the rest; what it cannot tell apart by time it takes whole.
    """

    nombre: ClassVar[str]
    etiqueta: ClassVar[str | Promise]
    etiquetas: ClassVar[Mapping[str, Any]]  # lazy plurals: their type is made at run time
    externo: ClassVar[bool] = False
    #: Whether the fence keeps an erased subject out of it for ``VALLA_MINUTOS`` (see
    #: :mod:`privacidad.vallas`).
    vallado: ClassVar[bool] = False
    #: Whether single rows can be held back here (see ``Sujeto.excluidos``).
    admite_exclusiones: ClassVar[bool] = False
    #: Whether what it erases is other people's, or nobody's, and was decided row by row (see
    #: :class:`privacidad.models.Mencion`).
    decidido_fila_a_fila: ClassVar[bool] = False
    #: The tables whose rows of a subject it deletes whole, ``schema.table``.
    tablas: ClassVar[frozenset[str]] = frozenset()
    #: The columns that name a subject in rows that stay, and that it empties: ``{table: columns}``.
    columnas: ClassVar[Mapping[str, frozenset[str]]] = {}
    #: The functions of the database it calls: their text is part of the evidence.
    funciones: ClassVar[Sequence[str]] = ()
    #: The statements it runs besides, by what they do.
    consultas: ClassVar[Sequence[str]] = ()
    #: The same two, where they are others for a subject with a ``corte``.
    funciones_con_corte: ClassVar[Sequence[str]] = ()
    consultas_con_corte: ClassVar[Sequence[str]] = ()

    @property
    def activo(self) -> bool:
        """Whether this installation has it; an external one with no address has nothing of anybody."""
        return True

    def hasta(self, sujeto: Sujeto) -> datetime | None:
        """Until when what it holds of the subject is to be erased; ``None`` when all of it is."""
        return sujeto.corte.hasta(self) if sujeto.corte else None

    def retenidos(self, sujeto: Sujeto) -> Recuento:
        """How many of each are held back, and so must still be there after an erasure."""
        return {}

    @abstractmethod
    def contar(self, sujeto: Sujeto) -> Recuento:
        """How much there is of the subject; changes nothing."""

    def contar_hasta(self, sujeto: Sujeto, momento: datetime) -> Recuento:
        """How many of what it counts were there at ``momento``, for what it can tell that of: more than were
        reviewed then stop the run. What it leaves out may have grown since for a known reason."""
        return {}

    @abstractmethod
    def suprimir(self, sujeto: Sujeto) -> Recuento:
        """Erase it all; returns how many rows went, by the same names."""

    def suprimir_hasta(self, sujeto: Sujeto, momento: datetime) -> Recuento:
        """On a restored copy, erase what was there at ``momento`` of somebody erased then, and no more.

        ``sujeto`` has only the threads created by then. Only for destinations in PostgreSQL: what is outside
        was not restored.
        """
        raise NotImplementedError(f"the destination {self.nombre!r} cannot replay an erasure")

    @abstractmethod
    def parametros(self, sujeto: Sujeto) -> dict[str, str]:
        """Keyed digests of what was asked for: the evidence never holds the id itself."""

    def verificar(self, sujeto: Sujeto) -> Recuento:
        """Read back what is left. In PostgreSQL that is another count, with a snapshot of its own."""
        return self.contar(sujeto)

    def sujetos(self, cuantos: int, hasta: datetime) -> Iterator[Rastro]:
        """Whoever it still knows, for the nightly watch (:mod:`privacidad.vigilancia`): read ``cuantos`` at
        a time, in constant memory. It may leave out who it knows only since ``hasta`` or later.

        A destination that cannot say who it knows says nobody: what comes back there is not found.
        """
        return iter(())

    def sql(self, *, con_corte: bool = False) -> list[str]:
        """The text of every statement: what we run and, of the functions it calls, the body installed."""
        consultas, funciones = self.consultas, self.funciones
        if con_corte:
            consultas, funciones = (
                self.consultas_con_corte or consultas,
                self.funciones_con_corte or funciones,
            )
        if not funciones:
            return list(consultas)
        with connection.cursor() as cursor:
            cursor.execute(_DEFINICIONES, [list(funciones)])
            return [*consultas, *(fila[0] for fila in cursor.fetchall())]


def por_tandas(consulta: str, cuantos: int, desde: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Every row of a statement that takes the key to go on after, and how many rows to give, in the order
    of that key: all of its columns but the last. Each batch is a statement of its own, so memory is
    constant and no cursor is held, whatever pooler there is in between."""
    clave: Sequence[str] = desde
    while True:
        with connection.cursor() as cursor:
            cursor.execute(consulta, [*clave, cuantos])
            filas = cursor.fetchall()
        yield from filas
        if len(filas) < cuantos:
            return
        clave = filas[-1][:-1]


def rastros_de_prefijos(filas: Iterable[tuple[str, datetime]]) -> Iterator[Rastro]:
    """Of each ``(prefix, moment)``, whose it is; a prefix that is nobody's (another shape) is left out."""
    for prefijo, desde in filas:
        try:
            yield Rastro(*politica.sujeto(".".join(prefijo.split(".")[:2])), desde)
        except politica.PoliticaIncumplida:
            continue


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
