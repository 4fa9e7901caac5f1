"""A source of mentions (:mod:`privacidad.fuentes`) that is a table whose rows have a number and never change.

Nothing here knows whose table it is: what it is called and its statements say so. The address of a row is
``("retirados.proveedores", "12")``: a number, which names nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.db import connection

from privacidad import identificadores
from privacidad.identificadores import Buscados
from privacidad.models import Mencion, Solicitud
from privacidad.olvido import resumen_de_fila
from privacidad.tosco import patrones

Direccion = tuple[str, str]


class Fila(NamedTuple):
    raiz: str
    numero: int

    @property
    def direccion(self) -> Direccion:
        return self.raiz, str(self.numero)


@dataclass(eq=False)
class FuenteNumerada:
    NOMBRE: str
    #: The prefix of its addresses, which is no namespace of the store.
    RAIZ: str
    FILAS: tuple[str, ...]
    #: The texts of a row, from the columns that ``BUSCAR`` and ``LEER`` end with.
    de_columnas: Callable[..., list[str]]
    #: ``number, column…`` of those that may name somebody and are not of the supplier ``%(codigo)s``, with
    #: the parameters of :func:`privacidad.tosco.nombra`.
    BUSCAR: str
    #: ``number, how it is called, column…`` of ``%(numeros)s``.
    LEER: str
    #: ``number, since when it is there`` of those that were there at ``%(hasta)s``.
    ANTERIORES: str
    CONTAR: str
    BORRAR: str
    SELLAR: str

    def fila_de(self, direccion: Direccion) -> Fila | None:
        """What an address is of; ``None`` when it is of no row of this table."""
        if direccion[0] != self.RAIZ or not (direccion[1].isascii() and direccion[1].isdigit()):
            return None
        return Fila(self.RAIZ, int(direccion[1]))

    def mencionan(self, solicitud: Solicitud, buscados: Buscados) -> Iterator[tuple[Direccion, str]]:
        """``(address, kind of identifier)`` of every row that names the person and is not theirs."""
        if not buscados:
            return
        # NULL equals nothing: a customer may have the id of a supplier.
        codigo = solicitud.sujeto_id if solicitud.espacio == "proveedores" else None
        with connection.chunked_cursor() as cursor:
            cursor.execute(self.BUSCAR, {**patrones(buscados), "codigo": codigo})
            for numero, *columnas in cursor:
                for clase in identificadores.hallados(buscados, self.de_columnas(*columnas)):
                    yield (self.RAIZ, str(numero)), clase

    def olvidar_reescritas(self, solicitud: Solicitud) -> None:
        """Nothing: none of them is ever written again."""

    def textos(self, direcciones: Iterable[Direccion]) -> dict[Direccion, tuple[str, list[str]]]:
        """Of each address that is of this table: how its row is called, and what it says."""
        filas = [f for d in direcciones if (f := self.fila_de(d))]
        if not filas:
            return {}
        with connection.cursor() as cursor:
            cursor.execute(self.LEER, _parametros(filas))
            return {
                (self.RAIZ, str(numero)): (nombre, self.de_columnas(*columnas))
                for numero, nombre, *columnas in cursor.fetchall()
            }

    def por_borrar(self, resumen: str, solicitud: Solicitud | None) -> list[Fila]:
        """What was decided to erase for the subject of that digest, and may be there: by its number while the
        request is open, by the digest of its address afterwards."""
        decididas = Mencion.objects.por_borrar(resumen)
        direcciones = dict.fromkeys(decididas.filter(prefijo=self.RAIZ).values_list("prefijo", "clave"))
        olvidadas = dict(decididas.filter(clave="").values_list("prefijo", "momento"))
        filas = [f for d in direcciones if (f := self.fila_de(d))]
        if not olvidadas:
            return filas
        ahora = set(Mencion.objects.con_direccion(resumen).values_list("prefijo", "clave"))
        return [*filas, *(f for f in self.reencontradas(olvidadas) if f.direccion not in ahora)]

    def reencontradas(self, olvidadas: dict[str, datetime]) -> Iterator[Fila]:
        """Those whose digest is one of these and that were there when it was decided about them: after a
        restore a number may be given again."""
        if not olvidadas:
            return
        with connection.chunked_cursor() as cursor:
            cursor.execute(self.ANTERIORES, {"hasta": max(olvidadas.values())})
            for numero, momento in cursor:
                fila = Fila(self.RAIZ, numero)
                decidido = olvidadas.get(resumen_de_fila(*fila.direccion))
                if decidido and momento <= decidido:
                    yield fila

    def contar(self, filas: Collection[Fila]) -> dict[str, int]:
        """How many of those there are."""
        return self._una(self.CONTAR, filas)

    def borrar(self, filas: Collection[Fila]) -> dict[str, int]:
        """Delete those, and say how many there were."""
        return self._una(self.BORRAR, filas)

    def selladas(self, fila: Fila) -> list[str]:
        """The row, as a line of a sealed copy."""
        with connection.cursor() as cursor:
            cursor.execute(self.SELLAR, _parametros([fila]))
            return [linea for (linea,) in cursor.fetchall()]

    def _una(self, consulta: str, filas: Collection[Fila]) -> dict[str, int]:
        with connection.cursor() as cursor:
            cursor.execute(consulta, _parametros(filas))
            return dict(zip(self.FILAS, cursor.fetchone(), strict=True))


def en_tabla(tabla: str, momento: str, nombre: str) -> dict[str, str]:
    """The statements that are the same whatever its columns: ``momento`` is since when a row is there."""
    estas = "id = ANY (%(numeros)s::bigint[])"
    return {
        "ANTERIORES": f"SELECT id, {momento} FROM {tabla} WHERE {momento} <= %(hasta)s ORDER BY id",
        "CONTAR": f"SELECT count(*) FROM {tabla} WHERE {estas}",
        "BORRAR": (
            f"WITH borradas AS (DELETE FROM {tabla} WHERE {estas} RETURNING 1) SELECT count(*) FROM borradas"
        ),
        "SELLAR": (
            f"SELECT jsonb_build_object('tabla', '{nombre}', 'fila', to_jsonb(t))::text"
            f" FROM {tabla} t WHERE {estas}"
        ),
    }


def _parametros(filas: Collection[Fila]) -> dict[str, list[int]]:
    return {"numeros": [f.numero for f in filas]}
