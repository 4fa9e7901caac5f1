"""Withdrawing a notice."""

from __future__ import annotations

from django.contrib.admin.models import DELETION
from django.contrib.auth.models import User

from compras.almacen import almacen
from compras.models import Proveedor
from compras.servicios.paso import ESCRIBIR, anotar, espacio, exigir, existente, traducir, turno


def retirar(*, proveedor: Proveedor, clave: str, por: User) -> None:
    """Delete a notice from the memory, expired or not.

    Raises ``SinPermiso``, ``AvisoNoExiste`` and ``MemoriaNoDisponible``.
    """
    exigir(por, ESCRIBIR)
    with turno(proveedor, clave):
        existente(proveedor, clave)
        anotar(por, proveedor, clave, DELETION, deleted={})
        with traducir():
            almacen().delete(espacio(proveedor), clave)
