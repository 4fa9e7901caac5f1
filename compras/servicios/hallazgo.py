"""Searching the notices of one supplier: the agents' search, as screens show it."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import User

from compras.almacen import almacen
from compras.lectura import Aviso, varios
from compras.models import Proveedor
from compras.servicios.paso import VER, exigir, traducir
from memoria.busqueda import buscar_avisos

#: Hits of a search on screen: more than an agent gets, few enough to read.
HALLAZGOS = 10


@dataclass(frozen=True)
class Hallazgos:
    """The answer to a search. Without ``por_significado`` only the words themselves were looked for."""

    avisos: list[Aviso]
    por_significado: bool


def buscar(*, proveedor: Proveedor, consulta: str, por: User, limite: int = HALLAZGOS) -> Hallazgos:
    """The notices of one supplier that answer ``consulta``, best first. Nothing is renewed by looking.

    Raises ``SinPermiso`` and ``MemoriaNoDisponible``.
    """
    exigir(por, VER)
    with traducir():
        memoria = almacen()
        claves = [h.key for h in buscar_avisos(memoria, proveedor.codigo, consulta, limite=limite)]
    return Hallazgos(varios(proveedor.codigo, claves), por_significado=memoria.modelo is not None)
