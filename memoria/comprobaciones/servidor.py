"""The server, its roles, and what each may see."""

from __future__ import annotations

from django.utils.translation import gettext as _

from memoria import entorno
from memoria.comprobaciones.base import PREPARAR, Contexto, Hallazgo
from memoria.permisos import politicas_de_fila
from memoria.preparacion import PG_MINIMO
from memoria.servidor import ROL_AGENTES, ROL_WEB


def conexion_web(entra: bool) -> Hallazgo:
    return Hallazgo(
        entra,
        _("La conexión de la web (DATABASE_URL) entra.")
        if entra
        else _("La conexión de la web (DATABASE_URL) no entra."),
        _("Ejecute «manage.py preparar», que crea su usuario, y compruebe usuario y clave de DATABASE_URL."),
    )


def preparada(si: bool) -> Hallazgo:
    return Hallazgo(
        si, _("Están las tablas.") if si else _("Faltan las tablas, o el permiso de verlas."), PREPARAR()
    )


def servidor(c: Contexto) -> Hallazgo:
    version = c.valor("SELECT current_setting('server_version_num')::int")
    return Hallazgo(
        version >= PG_MINIMO,
        _("PostgreSQL %(version)s.") % {"version": version // 10000},
        _("Actualice PostgreSQL: el mínimo es el 15."),
    )


def roles(c: Contexto) -> Hallazgo:
    hay = c.lista("SELECT rolname FROM pg_roles WHERE rolname = ANY (%s)", [[ROL_WEB, ROL_AGENTES]])
    return Hallazgo(
        len(hay) == 2,
        _("Roles presentes: %(roles)s.") % {"roles": ", ".join(sorted(hay)) or "–"},
        PREPARAR(),
    )


def rol_de_la_web(c: Contexto) -> Hallazgo:
    if entorno.conninfo_propietario() == entorno.conninfo_web():
        return Hallazgo(True, _("No hay un propietario aparte configurado (DATABASE_URL_OWNER)."), "")
    usuario, superusuario, propietario = c.fila(
        """
        SELECT current_user::text, r.rolsuper OR r.rolbypassrls,
               EXISTS (SELECT FROM pg_class
                       WHERE oid = to_regclass('langgraph.store') AND pg_has_role(relowner, 'USAGE'))
        FROM pg_roles r WHERE r.rolname = current_user
        """
    )
    return Hallazgo(
        not superusuario and not propietario,
        _("La web entra como %(usuario)s.") % {"usuario": usuario},
        _("Ponga en DATABASE_URL el usuario %(rol)s: ni superusuario ni dueño de las tablas.")
        % {"rol": ROL_WEB},
    )


def esquema_cerrado(c: Contexto) -> Hallazgo:
    # In an ACL, grantee 0 is PUBLIC. A NULL acl is the default, which for schemas and tables gives PUBLIC
    # nothing.
    abiertos = c.valor(
        """
        SELECT count(*) FROM (
            SELECT a.grantee FROM pg_namespace n, aclexplode(n.nspacl) a WHERE n.nspname = 'langgraph'
            UNION ALL
            SELECT a.grantee FROM pg_class t, aclexplode(t.relacl) a
            WHERE t.relnamespace = 'langgraph'::regnamespace
        ) AS permisos WHERE grantee = 0
        """
    )
    return Hallazgo(
        abiertos == 0, _("Permisos de PUBLIC en el esquema langgraph: %(n)s.") % {"n": abiertos}, PREPARAR()
    )


def seguridad_por_filas(c: Contexto) -> Hallazgo:
    sin = c.lista(
        """
        SELECT relname::text FROM pg_class
        WHERE relnamespace = 'langgraph'::regnamespace AND relname = ANY (%s) AND NOT relrowsecurity
        """,
        [list(politicas_de_fila())],
    )
    return Hallazgo(
        not sin,
        _("Tablas sin seguridad por filas: %(tablas)s.") % {"tablas": ", ".join(sin) or "0"},
        PREPARAR(),
    )


def politicas(c: Contexto) -> Hallazgo:
    tablas = set(
        c.lista(
            "SELECT relname::text FROM pg_class"
            " WHERE relnamespace = 'langgraph'::regnamespace AND relkind = 'r'"
        )
    )
    puestas = set(
        c.lista("SELECT tablename || '.' || policyname FROM pg_policies WHERE schemaname = 'langgraph'")
    )
    deseadas = {
        f"{tabla}.{nombre}"
        for tabla, nombres in politicas_de_fila().items()
        if tabla in tablas
        for nombre in nombres
    }
    return Hallazgo(
        puestas == deseadas,
        _("Políticas de fila que faltan: %(faltan)s; que sobran: %(sobran)s.")
        % {"faltan": len(deseadas - puestas), "sobran": len(puestas - deseadas)},
        _("Ejecute «manage.py preparar»; si alguna sobra, bórrela con DROP POLICY."),
    )


def documentos_cerrados(c: Contexto) -> Hallazgo:
    abiertas = c.lista(
        """
        SELECT relname::text FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname LIKE 'documentos\\_%%'
          AND NOT (relrowsecurity AND relforcerowsecurity)
        """,
        [],
    )
    return Hallazgo(
        not abiertas,
        _("Tablas de documentos que no separan los espacios: %(tablas)s.")
        % {"tablas": ", ".join(abiertas) or "0"},
        _(
            "Como propietario, ponga en cada una ALTER TABLE … ENABLE ROW LEVEL SECURITY y FORCE ROW LEVEL "
            "SECURITY: hasta entonces, un espacio puede ver los documentos de otro."
        ),
    )
