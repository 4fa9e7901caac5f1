"""The checklist of ``doctor``: small functions, each with an id, what it found and what to do about it.

They read catalogs and counts; what a document says they only compare with the policy, and never show. Nothing
they do changes anything.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.db import DatabaseError, OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.utils import timezone
from django.utils.translation import gettext as _

from memoria import entorno
from memoria.almacen import dimensiones, embeddings_configurados
from memoria.conexion import BaseNoDisponible
from memoria.danados import contar_danados
from memoria.embeddings import ErrorEmbeddings
from memoria.metricas import barridos_hechos
from memoria.permisos import politicas_de_fila
from memoria.politica import ESPACIOS, clave_preferencia
from memoria.preparacion import PG_MINIMO, PGVECTOR_MINIMO, VERSIONES_CONOCIDAS, esta_preparada
from memoria.servidor import ROL_AGENTES, ROL_WEB

#: A sweep is daily: what expired longer ago than this, no sweep has looked at.
BARRIDO_TARDIO = timedelta(days=2)
LARGO_MINIMO_SECRETO = 50
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


class Hallazgo(NamedTuple):
    """What a check found. ``remedio`` says what to do if it is not ``ok``, or if ``aviso``: then also
    when it is."""

    ok: bool
    detalle: str
    remedio: str
    aviso: bool = False


@dataclass(frozen=True)
class _Contexto:
    conexion: BaseDatabaseWrapper

    def fila(self, consulta: str, parametros: Any = None) -> tuple[Any, ...]:
        with self.conexion.cursor() as cursor:
            cursor.execute(consulta, parametros)
            fila: tuple[Any, ...] = cursor.fetchone()
            return fila

    def valor(self, consulta: str, parametros: Any = None) -> Any:
        return self.fila(consulta, parametros)[0]

    def lista(self, consulta: str, parametros: Any = None) -> list[Any]:
        with self.conexion.cursor() as cursor:
            cursor.execute(consulta, parametros)
            return [f[0] for f in cursor.fetchall()]


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
    return list(_todas(_Contexto(conexion), entra_la_web=web is not None))


def _todas(contexto: _Contexto, *, entra_la_web: bool) -> Iterator[Comprobacion]:
    yield _linea(SERVIDOR, _servidor(contexto))
    yield _linea("conexion-web", _conexion_web(entra_la_web))
    with contexto.conexion.cursor() as cursor:
        preparada = entra_la_web and esta_preparada(cursor)
    yield _linea(PREPARADA, _preparada(preparada))
    for identificador, (necesita_tablas, comprobacion) in _COMPROBACIONES.items():
        if necesita_tablas and not preparada:
            hallazgo = Hallazgo(
                False, _("No se puede comprobar: la base de datos no está preparada."), _PREPARAR()
            )
        else:
            hallazgo = _con_cuidado(comprobacion, contexto)
        yield _linea(identificador, hallazgo)


def _con_cuidado(comprobacion: Callable[[_Contexto], Hallazgo], contexto: _Contexto) -> Hallazgo:
    try:
        return comprobacion(contexto)
    except OperationalError as error:
        raise BaseNoDisponible from error
    except DatabaseError as error:
        # The server's own words name tables and roles, never values of a row: these queries have no such
        # values.
        return Hallazgo(
            False, _("No se puede comprobar: %(error)s") % {"error": str(error).strip()}, _PREPARAR()
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


def _PREPARAR() -> str:  # noqa: N802 - a constant, but for the language it is read in
    return _("Ejecute «manage.py preparar» con el usuario propietario.")


# -- the server and its roles -----------------------------------------------------------------------


def _conexion_web(entra: bool) -> Hallazgo:
    return Hallazgo(
        entra,
        _("La conexión de la web (DATABASE_URL) entra.")
        if entra
        else _("La conexión de la web (DATABASE_URL) no entra."),
        _("Ejecute «manage.py preparar», que crea su usuario, y compruebe usuario y clave de DATABASE_URL."),
    )


def _preparada(si: bool) -> Hallazgo:
    return Hallazgo(
        si, _("Están las tablas.") if si else _("Faltan las tablas, o el permiso de verlas."), _PREPARAR()
    )


def _servidor(c: _Contexto) -> Hallazgo:
    version = c.valor("SELECT current_setting('server_version_num')::int")
    return Hallazgo(
        version >= PG_MINIMO,
        _("PostgreSQL %(version)s.") % {"version": version // 10000},
        _("Actualice PostgreSQL: el mínimo es el 15."),
    )


def _roles(c: _Contexto) -> Hallazgo:
    hay = c.lista("SELECT rolname FROM pg_roles WHERE rolname = ANY (%s)", [[ROL_WEB, ROL_AGENTES]])
    return Hallazgo(
        len(hay) == 2,
        _("Roles presentes: %(roles)s.") % {"roles": ", ".join(sorted(hay)) or "–"},
        _PREPARAR(),
    )


def _rol_de_la_web(c: _Contexto) -> Hallazgo:
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


def _esquema_cerrado(c: _Contexto) -> Hallazgo:
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
        abiertos == 0, _("Permisos de PUBLIC en el esquema langgraph: %(n)s.") % {"n": abiertos}, _PREPARAR()
    )


def _seguridad_por_filas(c: _Contexto) -> Hallazgo:
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
        _PREPARAR(),
    )


def _politicas(c: _Contexto) -> Hallazgo:
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


# -- schemas, vectors -------------------------------------------------------------------------------


def _migraciones(c: _Contexto) -> Hallazgo:
    cargador = MigrationLoader(c.conexion)
    pendientes = sum(m not in cargador.applied_migrations for m in cargador.graph.nodes)
    return Hallazgo(pendientes == 0, _("Migraciones sin aplicar: %(n)s.") % {"n": pendientes}, _PREPARAR())


def _esquema_de_langgraph(c: _Contexto) -> Hallazgo:
    detalle, bien = [], True
    for tabla, conocida in VERSIONES_CONOCIDAS.items():
        if not c.valor("SELECT to_regclass(%s) IS NOT NULL", [f"langgraph.{tabla}"]):
            continue  # vector_migrations exists only with pgvector, which has a line of its own
        version = c.valor(f"SELECT coalesce(max(v), -1) FROM langgraph.{tabla}")
        bien = bien and 0 <= version <= conocida
        detalle.append(f"{tabla} {version}/{conocida}")
    return Hallazgo(
        bien,
        _("Versiones del esquema de LangGraph (la que hay/la que se conoce): %(v)s.")
        % {"v": ", ".join(detalle)},
        _("Si hay una mayor que la conocida, actualice la aplicación; si no, ejecute «manage.py preparar»."),
    )


def _extension_vector(c: _Contexto) -> Hallazgo:
    versiones = c.lista("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    version = versiones[0] if versiones else None
    return Hallazgo(
        version is not None and tuple(int(n) for n in version.split(".")[:2]) >= PGVECTOR_MINIMO,
        _("pgvector %(version)s.") % {"version": version} if version else _("No está la extensión «vector»."),
        _(
            "Que un administrador instale pgvector 0.5 o posterior y ejecute CREATE EXTENSION vector (o "
            "ALTER EXTENSION vector UPDATE) en esta base; después, «manage.py preparar»."
        ),
    )


def _dimensiones_de_los_vectores(c: _Contexto) -> Hallazgo:
    with c.conexion.cursor() as cursor:
        tabla = dimensiones(cursor)  # type: ignore[arg-type]  # Django's cursor: execute and fetchone are alike
    modelo = embeddings_configurados().dims
    return Hallazgo(
        tabla == modelo,
        _("El modelo da %(modelo)s dimensiones y la tabla de vectores es de %(tabla)s.")
        % {"modelo": modelo, "tabla": tabla}
        if tabla
        else _("No hay tabla de vectores."),
        _("Configure un modelo de las dimensiones de la tabla, o vacíela y ejecute «manage.py preparar».")
        if tabla
        else _("Con pgvector instalado, ejecute «manage.py preparar»."),
    )


def _vectores_huerfanos(c: _Contexto) -> Hallazgo:
    if not c.valor("SELECT to_regclass('langgraph.store_vectors') IS NOT NULL"):
        return Hallazgo(True, _("No hay tabla de vectores."), "")
    n = c.valor(
        """
        SELECT count(*) FROM langgraph.store_vectors v
        WHERE NOT EXISTS (SELECT FROM langgraph.store s WHERE s.prefix = v.prefix AND s.key = v.key)
        """
    )
    return Hallazgo(
        n == 0,
        _("Vectores sin documento: %(n)s.") % {"n": n},
        _("Falta la clave ajena de store_vectors: restáurela y borre los vectores sin documento."),
    )


def _indice_aproximado(c: _Contexto) -> Hallazgo:
    indices = c.lista(
        """
        SELECT i.indexrelid::regclass::text FROM pg_index i
        JOIN pg_class k ON k.oid = i.indexrelid JOIN pg_am m ON m.oid = k.relam
        WHERE i.indrelid = to_regclass('langgraph.store_vectors') AND m.amname IN ('hnsw', 'ivfflat')
        """
    )
    return Hallazgo(
        not indices,
        _("Índices aproximados sobre los vectores: %(indices)s.") % {"indices": ", ".join(indices) or "0"},
        _("Bórrelos con DROP INDEX CONCURRENTLY: encarecen cada escritura y ninguna búsqueda los usa."),
    )


def _modelo_de_embeddings(c: _Contexto) -> Hallazgo:
    inicio = time.perf_counter()
    try:
        modelo = embeddings_configurados()
        modelo.embed_query("aviso")
    except ErrorEmbeddings as error:
        return Hallazgo(
            False, str(error), _("Compruebe las variables EMBEDDINGS_* y que el servicio responde.")
        )
    return Hallazgo(
        True,
        _("%(modelo)s responde en %(ms)s ms.")
        % {"modelo": modelo.nombre, "ms": round((time.perf_counter() - inicio) * 1000)},
        "",
    )


# -- what is in the tables --------------------------------------------------------------------------


def _documentos_fuera_de_politica(c: _Contexto) -> Hallazgo:
    cerradas = [f"{e.nombre}/{clave_preferencia(t)}" for e in ESPACIOS.values() for t in e.tipos]
    desconocidos, sin_caducidad, clave_ajena = c.fila(
        """
        SELECT count(*) FILTER (WHERE raiz <> ALL (%(raices)s) OR prefix !~ '^[^.]+[.][^.]+$'),
               count(*) FILTER (WHERE expires_at IS NULL),
               count(*) FILTER (WHERE raiz = ANY (%(cerrados)s) AND raiz || '/' || key <> ALL (%(claves)s))
        FROM (SELECT split_part(prefix, '.', 1) AS raiz, prefix, key, expires_at FROM langgraph.store) AS s
        """,
        {
            "raices": list(ESPACIOS),
            "cerrados": [e.nombre for e in ESPACIOS.values() if e.tipos],
            "claves": cerradas,
        },
    )
    return Hallazgo(
        not (desconocidos or sin_caducidad or clave_ajena),
        _(
            "Documentos en un espacio desconocido: %(desconocidos)s; sin caducidad: %(sin_caducidad)s; con "
            "una clave fuera de la lista cerrada: %(clave_ajena)s."
        )
        % {"desconocidos": desconocidos, "sin_caducidad": sin_caducidad, "clave_ajena": clave_ajena},
        _("Alguien escribe sin pasar por memoria.almacen: encuéntrelo, y borre o corrija esos documentos."),
    )


def _documentos_danados(c: _Contexto) -> Hallazgo:
    danados, vistos = contar_danados(c.conexion)
    return Hallazgo(
        danados == 0,
        _("Documentos vigentes sin la forma que pide la política: %(danados)s, de %(vistos)s mirados.")
        % {"danados": danados, "vistos": vistos},
        _(
            "Alguien escribe sin pasar por memoria.almacen, o algo los estropeó. Los avisos salen como "
            "«Dañado» en la lista de compras, donde se retiran; las preferencias, bórrelas: la persona las "
            "volverá a decir."
        ),
    )


def _hilos_sin_dueno(c: _Contexto) -> Hallazgo:
    n = c.valor(
        """
        SELECT count(DISTINCT p.thread_id) FROM langgraph.checkpoints p
        WHERE NOT EXISTS (SELECT FROM public.hilos h WHERE h.thread_id = p.thread_id)
        """
    )
    return Hallazgo(
        n == 0,
        _("Hilos con puntos de control y sin dueño: %(n)s.") % {"n": n},
        _("Alguien escribe sin pasar por memoria.hilos: borre esos hilos y ejecute «manage.py preparar»."),
    )


def _caducados_sin_barrer(c: _Contexto) -> Hallazgo:
    # What is restricted or held back is not swept (arts. 18 and 17(3) GDPR).
    n = c.valor(
        "SELECT count(*) FROM langgraph.store WHERE expires_at < now() - %s AND NOT limitado AND NOT retenido",
        [BARRIDO_TARDIO],
    )
    return Hallazgo(
        n == 0,
        _("Documentos caducados hace más de %(dias)s días: %(n)s.") % {"dias": BARRIDO_TARDIO.days, "n": n},
        _("Ejecute «manage.py barrer» y programe que se ejecute cada día."),
    )


def _ultimo_barrido(c: _Contexto) -> Hallazgo:
    hay = c.valor("SELECT EXISTS (SELECT FROM langgraph.store WHERE expires_at < now() - interval '1 day')")
    ultimo = (
        barridos_hechos().using(c.conexion.alias).order_by("-inicio").values_list("inicio", flat=True).first()
    )
    reciente = ultimo is not None and ultimo > timezone.now() - BARRIDO_TARDIO
    return Hallazgo(
        reciente or not hay,
        _("Último barrido: %(fecha)s.")
        % {"fecha": f"{timezone.localtime(ultimo):%Y-%m-%d %H:%M}" if ultimo else _("ninguno")},
        _("Hay documentos caducados y nadie los barre: programe «manage.py barrer» cada día."),
    )


# -- settings ---------------------------------------------------------------------------------------


def _depuracion(c: _Contexto) -> Hallazgo:
    return Hallazgo(
        not settings.DEBUG,
        _("DEBUG está encendido.") if settings.DEBUG else _("DEBUG está apagado."),
        _("Quite la variable DEBUG o póngala en off: enseña datos en las páginas de error."),
    )


def _secretos(c: _Contexto) -> Hallazgo:
    secretos = ("SECRET_KEY", "CLAVE_REGISTRO", "CLAVE_SELLO")
    cortos = [v for v in secretos if len(getattr(settings, v)) < LARGO_MINIMO_SECRETO]
    return Hallazgo(
        not cortos,
        _("Secretos con menos de %(largo)s caracteres: %(cortos)s.")
        % {"largo": LARGO_MINIMO_SECRETO, "cortos": ", ".join(cortos) or "0"},
        _(
            "Genere uno más largo. CLAVE_REGISTRO y CLAVE_SELLO no se cambian una vez en uso: lo ya "
            "registrado dejaría de reconocerse, y lo sellado de poder abrirse."
        ),
    )


# What follows only warns: an installation works without it, and its documents say that it is not known.


def _direccion_publica(c: _Contexto) -> Hallazgo:
    return Hallazgo(
        True,
        _("Dirección pública en los documentos y los avisos: %(direccion)s.")
        % {"direccion": settings.SITE_URL or _("ninguna")},
        _(
            "Ponga en SITE_URL la dirección con la que se entra desde fuera: sin ella, los certificados no "
            "dicen en qué servidor se comprueban, y los recordatorios no llevan enlace."
        ),
        aviso=not settings.SITE_URL,
    )


def _dias_de_las_copias(c: _Contexto) -> Hallazgo:
    dias = settings.COPIAS_DIAS
    return Hallazgo(
        True,
        _("Días que se conservan las copias de seguridad: %(dias)s.")
        % {"dias": _("no consta") if dias is None else dias},
        _(
            "Ponga en COPIAS_DIAS los días que se conservan las copias de seguridad y el WAL archivado: sin "
            "ello, los certificados no dicen hasta qué día puede quedar en ellas lo borrado."
        ),
        aviso=dias is None,
    )


#: ``{id: (whether it needs the tables, the check)}``, in the order they are shown.
_COMPROBACIONES: dict[str, tuple[bool, Callable[[_Contexto], Hallazgo]]] = {
    "roles": (False, _roles),
    "rol-web": (True, _rol_de_la_web),
    "esquema-cerrado": (True, _esquema_cerrado),
    "seguridad-por-filas": (True, _seguridad_por_filas),
    "politicas-de-fila": (True, _politicas),
    "migraciones": (True, _migraciones),
    "esquema-langgraph": (True, _esquema_de_langgraph),
    "extension-vector": (False, _extension_vector),
    "dimensiones-vector": (True, _dimensiones_de_los_vectores),
    "vectores-huerfanos": (True, _vectores_huerfanos),
    "indice-aproximado": (True, _indice_aproximado),
    "embeddings": (False, _modelo_de_embeddings),
    "documentos-en-politica": (True, _documentos_fuera_de_politica),
    "documentos-danados": (True, _documentos_danados),
    "hilos-con-dueno": (True, _hilos_sin_dueno),
    "caducados-sin-barrer": (True, _caducados_sin_barrer),
    "ultimo-barrido": (True, _ultimo_barrido),
    "depuracion": (False, _depuracion),
    "secretos": (False, _secretos),
    "direccion-publica": (False, _direccion_publica),
    "dias-de-las-copias": (False, _dias_de_las_copias),
}
