"""The checklist of ``doctor``: small functions, each with an id, what it found and what to do about it.

They read catalogs and counts; what a document says they only compare with the policy, and never show. Nothing
they do changes anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from django.db import DatabaseError, OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils.translation import gettext as _

from memoria.comprobaciones import ajustes, contenido, esquema, servidor
from memoria.comprobaciones.base import PREPARAR, Contexto, Hallazgo
from memoria.conexion import BaseNoDisponible
from memoria.preparacion import esta_preparada

#: The two ids that decide the exit code of ``doctor``: is there a server, has ``preparar`` run.
SERVIDOR = "servidor"
PREPARADA = "preparada"


class Comprobacion(NamedTuple):
    """One line of the checklist. ``remedio`` says what to do when it is not ``ok``.

    With ``ok`` and a ``remedio`` it is a warning: everything works, and something could be told better. The
    list is as good as without it.
    """

    id: str
    ok: bool
    detalle: str
    remedio: str


def comprobar() -> list[Comprobacion]:
    """Run the whole checklist, in order.

    A database that was not prepared gives red lines; when PostgreSQL does not answer there is one line only,
    :data:`SERVIDOR`. Raises :class:`memoria.conexion.BaseNoDisponible` when it stops answering halfway.
    """
    web, propietario = _abrir("default"), _abrir("owner")
    conexion = web or propietario
    if conexion is None:
        remedio = _("Compruebe que PostgreSQL está en marcha y las URL de conexión (DATABASE_URL).")
        return [Comprobacion(SERVIDOR, False, _("PostgreSQL no responde."), remedio)]
    return list(_todas(Contexto(conexion), entra_la_web=web is not None))


def _todas(contexto: Contexto, *, entra_la_web: bool) -> Iterator[Comprobacion]:
    yield _linea(SERVIDOR, servidor.servidor(contexto))
    yield _linea("conexion-web", servidor.conexion_web(entra_la_web))
    with contexto.conexion.cursor() as cursor:
        preparada = entra_la_web and esta_preparada(cursor)
    yield _linea(PREPARADA, servidor.preparada(preparada))
    for identificador, (necesita_tablas, comprobacion) in _COMPROBACIONES.items():
        if necesita_tablas and not preparada:
            hallazgo = Hallazgo(
                False, _("No se puede comprobar: la base de datos no está preparada."), PREPARAR()
            )
        else:
            hallazgo = _con_cuidado(comprobacion, contexto)
        yield _linea(identificador, hallazgo)


def _con_cuidado(comprobacion: Callable[[Contexto], Hallazgo], contexto: Contexto) -> Hallazgo:
    try:
        return comprobacion(contexto)
    except OperationalError as error:
        raise BaseNoDisponible from error
    except DatabaseError as error:
        # The server's own words name tables and roles, never values of a row: these queries have no such
        # values.
        return Hallazgo(
            False, _("No se puede comprobar: %(error)s") % {"error": str(error).strip()}, PREPARAR()
        )


def _linea(identificador: str, hallazgo: Hallazgo) -> Comprobacion:
    remedio = hallazgo.remedio if hallazgo.aviso or not hallazgo.ok else ""
    return Comprobacion(identificador, hallazgo.ok, hallazgo.detalle, remedio)


def _abrir(alias: str) -> BaseDatabaseWrapper | None:
    try:
        connections[alias].ensure_connection()
    except OperationalError:
        return None
    return connections[alias]


#: ``{id: (whether it needs the tables, the check)}``, in the order they are shown.
_COMPROBACIONES: dict[str, tuple[bool, Callable[[Contexto], Hallazgo]]] = {
    "roles": (False, servidor.roles),
    "rol-web": (True, servidor.rol_de_la_web),
    "esquema-cerrado": (True, servidor.esquema_cerrado),
    "seguridad-por-filas": (True, servidor.seguridad_por_filas),
    "politicas-de-fila": (True, servidor.politicas),
    "documentos-cerrados": (True, servidor.documentos_cerrados),
    "migraciones": (True, esquema.migraciones),
    "esquema-langgraph": (True, esquema.esquema_de_langgraph),
    "extension-vector": (False, esquema.extension_vector),
    "dimensiones-vector": (True, esquema.dimensiones_de_los_vectores),
    "vectores-huerfanos": (True, esquema.vectores_huerfanos),
    "indice-aproximado": (True, esquema.indice_aproximado),
    "embeddings": (False, esquema.modelo_de_embeddings),
    "documentos-en-politica": (True, contenido.documentos_fuera_de_politica),
    "documentos-danados": (True, contenido.documentos_danados),
    "hilos-con-dueno": (True, contenido.hilos_sin_dueno),
    "caducados-sin-barrer": (True, contenido.caducados_sin_barrer),
    "ultimo-barrido": (True, contenido.ultimo_barrido),
    "depuracion": (False, ajustes.depuracion),
    "secretos": (False, ajustes.secretos),
    "direccion-publica": (False, ajustes.direccion_publica),
    "dias-de-las-copias": (False, ajustes.dias_de_las_copias),
}
