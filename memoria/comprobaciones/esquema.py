"""Schemas and vectors."""

from __future__ import annotations

import time

from django.db.migrations.loader import MigrationLoader
from django.utils.translation import gettext as _

from memoria.almacen import dimensiones, embeddings_configurados
from memoria.comprobaciones.base import PREPARAR, Contexto, Hallazgo
from memoria.embeddings import ErrorEmbeddings
from memoria.preparacion import PGVECTOR_MINIMO, VERSIONES_CONOCIDAS


def migraciones(c: Contexto) -> Hallazgo:
    cargador = MigrationLoader(c.conexion)
    pendientes = sum(m not in cargador.applied_migrations for m in cargador.graph.nodes)
    return Hallazgo(pendientes == 0, _("Migraciones sin aplicar: %(n)s.") % {"n": pendientes}, PREPARAR())


def esquema_de_langgraph(c: Contexto) -> Hallazgo:
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


def extension_vector(c: Contexto) -> Hallazgo:
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


def dimensiones_de_los_vectores(c: Contexto) -> Hallazgo:
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


def vectores_huerfanos(c: Contexto) -> Hallazgo:
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


def indice_aproximado(c: Contexto) -> Hallazgo:
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


def modelo_de_embeddings(c: Contexto) -> Hallazgo:
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
