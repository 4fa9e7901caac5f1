"""Least privilege: the two roles that are not the owner, their grants and their row policies. Idempotent.

The row policies derive from the memory policy: the web reads all and the agents all that is not restricted,
each namespace is written by its own role.
"""

from __future__ import annotations

import logging
from importlib import resources
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import DictRow

from memoria import entorno
from memoria.conexion import ESQUEMA
from memoria.models import modelos_solo_anexar
from memoria.politica import ESPACIOS, Escritor
from memoria.servidor import ROL_AGENTES, ROL_WEB

logger = logging.getLogger(__name__)

Conexion = psycopg.Connection[DictRow]

_ROL_DE = {Escritor.AGENTE: ROL_AGENTES, Escritor.COMPRAS: ROL_WEB}
_TABLAS_DEL_ALMACEN = ("store", "store_vectors")
_TABLAS_DE_HILOS = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")


class PreparacionImposible(RuntimeError):
    """``preparar`` cannot go on. The message says who must do what."""


def crear_roles(conexion: Conexion) -> None:
    """Create ``memoria_web`` and ``memoria_agentes`` where missing, with the password their own URL has.

    An existing role is left as it is. Raises :class:`PreparacionImposible`.
    """
    for rol, variable in ((ROL_WEB, "DATABASE_URL"), (ROL_AGENTES, "PG_AGENTES")):
        if conexion.execute("SELECT FROM pg_roles WHERE rolname = %s", [rol]).fetchone() is not None:
            continue
        try:
            conexion.execute(
                sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(
                    sql.Identifier(rol), _cifrada(conexion, rol, variable)
                )
            )
        except psycopg.errors.InsufficientPrivilege:
            raise PreparacionImposible(
                f"Falta el rol {rol} y este usuario no puede crearlo: que un administrador ejecute "
                f"CREATE ROLE {rol} LOGIN y repita «preparar»."
            ) from None
        except (psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):
            logger.debug("rol %s creado a la vez por otra ejecución", rol)


def _cifrada(conexion: Conexion, rol: str, variable: str) -> sql.Literal:
    """The verifier of the role's password, so that the password is in no server log; NULL without one."""
    usuario, clave = entorno.usuario_y_clave(variable)
    if usuario != rol or not clave:
        return sql.Literal(None)
    cifrada = conexion.pgconn.encrypt_password(clave.encode(), rol.encode(), b"scram-sha-256")
    return sql.Literal(cifrada.decode())


def conceder(conexion: Conexion) -> None:
    """Grants, functions and row policies, in one transaction: nobody sees a moment without them.

    What is already as it should be is not touched, so a second run takes no lock that readers would wait for.
    """
    with conexion.transaction():
        for guion in (
            "permisos.sql",
            "limitaciones.sql",
            "retenciones.sql",
            "funciones.sql",
            "vallas.sql",
            "vigilancia.sql",
            "documentos.sql",
        ):
            conexion.execute(resources.files("memoria").joinpath("sql", guion).read_text(encoding="utf-8"))
        for modelo in modelos_solo_anexar():
            conexion.execute(
                sql.SQL("REVOKE UPDATE, DELETE, TRUNCATE ON {} FROM {}").format(
                    sql.Identifier(modelo._meta.db_table), sql.Identifier(ROL_WEB)
                )
            )
        for tabla, deseadas in politicas_de_fila().items():
            if _existe(conexion, tabla):
                _poner_politicas(conexion, tabla, deseadas)


def politicas_de_fila() -> dict[str, dict[str, str]]:
    """The row policies every table of LangGraph must have: ``{table: {name: definition}}``."""
    almacen = {}
    for escritor, rol in _ROL_DE.items():
        suyos = " OR ".join(
            f"starts_with(prefix, '{e.nombre}.')" for e in ESPACIOS.values() if e.escritor is escritor
        )
        # What is restricted (art. 18 GDPR, sql/limitaciones.sql) no agent reads. A blind UPDATE or DELETE
        # asks no leave to read, so those say it too.
        libre = "NOT limitado" if escritor is Escritor.AGENTE else "true"
        almacen[f"{rol}_lee"] = f"FOR SELECT TO {rol} USING ({libre})"
        almacen[f"{rol}_anade"] = f"FOR INSERT TO {rol} WITH CHECK ({suyos})"
        almacen[f"{rol}_cambia"] = f"FOR UPDATE TO {rol} USING ({libre} AND ({suyos})) WITH CHECK ({suyos})"
        almacen[f"{rol}_borra"] = f"FOR DELETE TO {rol} USING ({libre} AND ({suyos}))"
    hilos = {
        f"{ROL_WEB}_lee": f"FOR SELECT TO {ROL_WEB} USING (true)",
        f"{ROL_AGENTES}_todo": f"FOR ALL TO {ROL_AGENTES} USING (true) WITH CHECK (true)",
    }
    return {**dict.fromkeys(_TABLAS_DEL_ALMACEN, almacen), **dict.fromkeys(_TABLAS_DE_HILOS, hilos)}


def _poner_politicas(conexion: Conexion, tabla: str, deseadas: dict[str, str]) -> None:
    en = sql.Identifier(ESQUEMA, tabla)
    if not _una(conexion, _TIENE_RLS, [f"{ESQUEMA}.{tabla}"])["relrowsecurity"]:
        conexion.execute(sql.SQL("ALTER TABLE {} ENABLE ROW LEVEL SECURITY").format(en))
    # PostgreSQL rewrites a condition when it keeps it; the comment keeps the definition as it was given.
    puestas = {
        f["polname"]: f["definicion"] for f in conexion.execute(_POLITICAS_PUESTAS, [f"{ESQUEMA}.{tabla}"])
    }
    for nombre in puestas:
        nuestra = nombre.startswith((ROL_WEB, ROL_AGENTES))
        if nuestra and (nombre not in deseadas or puestas[nombre] != deseadas[nombre]):
            conexion.execute(sql.SQL("DROP POLICY {} ON {}").format(sql.Identifier(nombre), en))
    for nombre, definicion in deseadas.items():
        if puestas.get(nombre) != definicion:
            politica = sql.Identifier(nombre)
            conexion.execute(sql.SQL("CREATE POLICY {} ON {} ").format(politica, en) + sql.SQL(definicion))
            conexion.execute(
                sql.SQL("COMMENT ON POLICY {} ON {} IS {}").format(politica, en, sql.Literal(definicion))
            )


_TIENE_RLS = "SELECT relrowsecurity FROM pg_class WHERE oid = %s::regclass"
_POLITICAS_PUESTAS = """
SELECT polname, obj_description(oid, 'pg_policy') AS definicion FROM pg_policy WHERE polrelid = %s::regclass
"""


def _existe(conexion: Conexion, tabla: str) -> bool:
    return bool(_una(conexion, "SELECT to_regclass(%s) IS NOT NULL AS hay", [f"{ESQUEMA}.{tabla}"])["hay"])


def _una(conexion: Conexion, consulta: str, parametros: list[Any]) -> DictRow:
    fila = conexion.execute(consulta, parametros).fetchone()
    assert fila is not None  # noqa: S101 - every caller's query returns exactly one row
    return fila
