"""Importing a file from the page: one at a time, all that is good or nothing, and who did it written down."""

from __future__ import annotations

import io

from django.contrib.admin.models import ADDITION, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db import connection, transaction
from django.utils.translation import gettext as _

from compras.errores import ImportacionEnMarcha
from compras.importacion import Importacion, importar
from compras.models import Proveedor
from compras.servicios.paso import traducir

#: Of a file that is imported from the page. A worker is ended after 30 s (gunicorn's own limit), and a file
#: that is offered must be saved in a third of that on a slow machine. The embedded model is nearly all of it:
#: at worst, letters at random, 45 ms of processor a kilobyte (docs/compras/importar.md).
MAXIMO_DE_BYTES = 64 * 1024
MAXIMO_DE_LINEAS = 250


def importar_en_pantalla(*, contenido: bytes, todo_o_nada: bool, por: User) -> Importacion:
    """Import the notices of a file that was uploaded. One transaction.

    Raises ``SinPermiso``, ``ImportacionEnMarcha``, ``MemoriaNoDisponible`` and ``FicheroNoValido``.
    """
    with traducir(), transaction.atomic():
        with connection.cursor() as cursor:
            # The lock of the command: see memoria/comandos.py.
            cursor.execute(
                "SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0))", ["memoria:importar_avisos"]
            )
            if not cursor.fetchone()[0]:
                raise ImportacionEnMarcha
        hecho = importar(
            io.BytesIO(contenido), todo_o_nada=todo_o_nada, por_lote=MAXIMO_DE_LINEAS + 1, por=por
        )
        if hecho.creados:
            LogEntry.objects.create(
                user_id=por.pk,
                content_type=ContentType.objects.get_for_model(Proveedor),
                object_repr="CSV",
                action_flag=ADDITION,
                change_message=_("Avisos importados: %(creados)s. Líneas rechazadas: %(rechazados)s.")
                % {"creados": hecho.creados, "rechazados": len(hecho.rechazados)},
            )
    return hecho
