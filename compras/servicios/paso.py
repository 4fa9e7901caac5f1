"""What every change of a notice goes through: permission, one at a time, its log entry, errors in our words.

Two people on one notice: the check of the version and the write must be one step, and they happen on two
connections (Django's reads, the store's pool writes). A ``SELECT … FOR UPDATE`` on Django's would make our
own ``put`` wait for ourselves for ever, so each change takes a PostgreSQL advisory lock of its own notice,
held by Django's transaction until the ``put`` has been committed. It is a transaction lock: it works through
a pooler.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.apps import apps
from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.utils.module_loading import import_string
from django.utils.translation import gettext_noop
from psycopg import OperationalError

from compras.errores import AvisoNoExiste, AvisoNoValido, MemoriaNoDisponible, SinPermiso, frase_de
from compras.lectura import Aviso, uno
from compras.models import Proveedor
from memoria import politica
from memoria.almacen import DimensionDistinta
from memoria.conexion import BaseNoDisponible, BaseSinPreparar
from memoria.embeddings import ErrorEmbeddings
from memoria.politica import PoliticaIncumplida

VER = "compras.ver_avisos"
ESCRIBIR = "compras.escribir_avisos"


def exigir(por: User, permiso: str) -> None:
    if not por.has_perm(permiso):
        raise SinPermiso


def espacio(proveedor: Proveedor) -> tuple[str, str]:
    return politica.espacio("proveedores", proveedor.codigo)


@contextmanager
def turno(proveedor: Proveedor, clave: str) -> Iterator[None]:
    """One change at a time of this notice, until the end of the transaction."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            # Nor is its supplier merged meanwhile (see ``fusionar``).
            cursor.execute("SELECT FROM compras_proveedor WHERE id = %s FOR KEY SHARE", [proveedor.pk])
            cursor.execute(
                "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"aviso:{proveedor.codigo}:{clave}"]
            )
        yield


def existente(proveedor: Proveedor, clave: str) -> Aviso:
    aviso = uno(proveedor.codigo, clave)
    if aviso is None:
        raise AvisoNoExiste
    return aviso


def reclaman(codigo: str) -> Iterator[str]:
    """What other applications have to say against bringing back, or moving, what is about a supplier.

    Each says it for itself: its ``AppConfig`` names in ``reclama`` a function ``(namespace, subject id) ->
    sentence or None``. So an erasure that is under way finds its subject as it was when it began.
    """
    for configuracion in apps.get_app_configs():
        if hasattr(configuracion, "reclama"):
            motivo = import_string(configuracion.reclama)("proveedores", codigo)
            if motivo:
                yield motivo


#: How Django's own log calls each action.
_VERBOS = {ADDITION: "added", CHANGE: "changed", DELETION: "deleted"}


def anotar(por: User, proveedor: Proveedor, accion: int, hecho: Mapping[str, Any]) -> None:
    """The log entry of what was done to a supplier, or to one of its notices (see :func:`del_aviso`)."""
    LogEntry.objects.log_actions(
        user_id=por.pk,
        queryset=Proveedor.objects.filter(pk=proveedor.pk),
        action_flag=accion,
        change_message=[{_VERBOS[accion]: dict(hecho)}],
        single_object=True,
    )


def del_aviso(clave: str) -> dict[str, str]:
    """What a log entry says of which notice it is about: its key, never its text."""
    # The log keeps the word as it is here, and translates it for whoever reads.
    return {"name": gettext_noop("aviso"), "object": clave}


@contextmanager
def traducir() -> Iterator[None]:
    """The edge of the memory: its errors in the words of this app."""
    try:
        yield
    except PoliticaIncumplida as error:
        raise AvisoNoValido(frase_de(error)) from error
    except (BaseNoDisponible, BaseSinPreparar, DimensionDistinta, ErrorEmbeddings, OperationalError) as error:
        raise MemoriaNoDisponible from error
