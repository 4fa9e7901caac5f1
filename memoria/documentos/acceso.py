"""Who may read and write which space, and Django's connection put into one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib.auth.models import AnonymousUser, User
from django.db import connection, transaction

from memoria.documentos.errores import SinPermiso
from memoria.documentos.espacios import AJUSTE, ESPACIOS, PONER, comprobar_espacio


def puede_ver(usuario: User | AnonymousUser, espacio: str) -> bool:
    return espacio in ESPACIOS and usuario.has_perm(f"documentos.ver_{espacio}")


def puede_escribir(usuario: User | AnonymousUser, espacio: str) -> bool:
    return puede_ver(usuario, espacio) and usuario.has_perm(f"documentos.escribir_{espacio}")


def espacios_visibles(usuario: User | AnonymousUser) -> list[str]:
    return [e for e in ESPACIOS if puede_ver(usuario, e)]


def exigir_escribir(usuario: User, espacio: str) -> None:
    """Raises :class:`SinPermiso`."""
    if not puede_escribir(usuario, espacio):
        raise SinPermiso


@contextmanager
def en_espacio(espacio: str) -> Iterator[None]:
    """A transaction of Django's connection that sees and writes the documents of ``espacio`` and no other.

    Inside another one, the space of the outer block comes back at the end. A queryset that is read after
    the block finds nothing.

    Raises :class:`memoria.documentos.espacios.EspacioDesconocido`.
    """
    comprobar_espacio(espacio)
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT current_setting('{AJUSTE}', true)")
            antes = cursor.fetchone()[0] or ""
            cursor.execute(PONER, [espacio])
        yield
        # What is rolled back, by an error or on purpose, takes the setting with it.
        if not connection.needs_rollback:
            with connection.cursor() as cursor:
                cursor.execute(PONER, [antes])
