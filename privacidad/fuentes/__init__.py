"""Where mentions are looked for besides the store: texts of the house that are of no subject.

Each source has these functions (a module may be one). Whatever asks about mentions (the review, the page
where they are decided, the run, the sealed copy, the watch, the replay, the access file) asks all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from privacidad.fuentes import documentos
from privacidad.fuentes.anotaciones import ANOTACIONES
from privacidad.fuentes.nombres import NOMBRES
from privacidad.fuentes.retirados import RETIRADOS
from privacidad.identificadores import Buscados
from privacidad.models import Solicitud

Direccion = tuple[str, str]


class Fuente(Protocol):
    """A row of it has an address, ``.direccion``, whose prefix is no namespace of the store and which names
    nobody."""

    #: That of its destination.
    NOMBRE: str
    #: Which of its counts are rows that were decided on; the others go with those.
    FILAS: tuple[str, ...]

    def mencionan(self, solicitud: Solicitud, buscados: Buscados) -> Iterable[tuple[Direccion, str]]:
        """``(address, kind of identifier)`` of every row that names the person."""

    def olvidar_reescritas(self, solicitud: Solicitud) -> None:
        """Forget what was decided about a row that says something else since."""

    def textos(self, direcciones: Iterable[Direccion]) -> Mapping[Direccion, tuple[str, list[str]]]:
        """Of each address that is of this source: how the row is called, and what it says."""

    def por_borrar(self, resumen: str, solicitud: Solicitud | None) -> Sequence[Any]:
        """The rows that were decided to be erased for the subject of that digest, and may be there."""

    def reencontradas(self, olvidadas: dict[str, datetime]) -> Iterator[Any]:
        """The rows whose digest is one of these and that are as they were at that moment."""

    def contar(self, filas: Collection[Any]) -> dict[str, int]: ...

    def borrar(self, filas: Collection[Any]) -> dict[str, int]: ...

    def selladas(self, fila: Any) -> list[str]:
        """What goes with that row, as lines of a sealed copy."""


FUENTES: tuple[Fuente, ...] = (documentos, RETIRADOS, ANOTACIONES, NOMBRES)


def textos(direcciones: Collection[Direccion]) -> dict[Direccion, tuple[str, list[str]]]:
    """Of each address that is of some source: how it is called, and what it says."""
    return {d: dicho for fuente in FUENTES for d, dicho in fuente.textos(direcciones).items()}
