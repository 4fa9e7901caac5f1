"""The rows a sealed copy takes: what an erasure deletes in this database, row by row, as lines of JSON.

Not what only shows that somebody was here (sessions, addresses written down in other requests) nor what is
itself a copy (access files). And nothing of what is outside: it is deleted there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from django.db import connection

from privacidad.destinos import Sujeto, destino
from privacidad.destinos.casa import retenidas_antes
from privacidad.destinos.menciones import Menciones
from privacidad.fuentes import FUENTES
from privacidad.fuentes.retirados import DEL_PROVEEDOR
from privacidad.models import Solicitud
from privacidad.resumenes import resumen

#: Rows fetched at a time. A row of a conversation may be large, so few.
FILAS = 100
#: What is of somebody else, or of nobody, and named the person: not for their access file.
DE_OTROS = ("menciones", "documentos_pagina", "documentos_version", "retirados", "anotaciones", "nombres")


def lineas(sujeto: Sujeto) -> Iterator[bytes]:
    """Every row, ``{"fila": {column: value}, "tabla": name}``, the subject's own first; in constant memory.

    What is held back is left out: it stays.
    """
    parametros = _parametros(sujeto)
    for consulta in _CONSULTAS:
        yield from _filas(consulta, parametros)
    yield from _de_fuentes(sujeto)


def es_de_otros(linea: bytes) -> bool:
    """Whether a line is of somebody else's row. ``jsonb`` writes the longer name last: the line ends so."""
    return linea.endswith(_FINALES)


_FINALES = tuple(f'"tabla": "{tabla}"}}'.encode() for tabla in DE_OTROS)


def _parametros(sujeto: Sujeto) -> dict[str, Any]:
    retenidos = set(sujeto.excluidos.get("hilos", ()))
    # Of who had been erased and is there again, what goes is what is from before.
    hasta = {nombre: destino(nombre).hasta(sujeto) or "infinity" for nombre in ("memoria", "casa")}
    direcciones = cast("Menciones", destino("menciones")).direcciones(sujeto)
    return {
        "prefijo": sujeto.prefijo,
        "patron": sujeto.prefijo.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_") + ".%",
        "memoria_hasta": hasta["memoria"],
        "hasta": hasta["casa"],
        "retenidas_antes": retenidas_antes(sujeto),
        "excluidas": list(sujeto.excluidos.get("memoria", ())),
        "hilos": [h for h in sujeto.hilos if h not in retenidos],
        "prefijos": [p for p, _clave in direcciones],
        "claves": [c for _prefijo, c in direcciones],
        # NULL equals nothing: what is of suppliers or of employees only is not looked for in others.
        "empleado": sujeto.sujeto_id if sujeto.espacio == "empleados" else None,
        "codigo": sujeto.sujeto_id if sujeto.espacio == "proveedores" else None,
    }


def _filas(consulta: str, parametros: dict[str, Any]) -> Iterator[bytes]:
    """The rows of one table as lines, through a cursor of the server."""
    with connection.chunked_cursor() as cursor:
        cursor.execute(consulta, parametros)
        while lote := cursor.fetchmany(FILAS):
            for (linea,) in lote:
                yield linea.encode()


def _de_fuentes(sujeto: Sujeto) -> Iterator[bytes]:
    suyo = resumen(sujeto.prefijo)
    abierta = Solicitud.objects.abiertas().filter(resumen=suyo).first()
    vistas: set[str] = set()  # a version that was decided on goes with its page too
    for fuente in FUENTES:
        for fila in fuente.por_borrar(suyo, abierta):
            for linea in fuente.selladas(fila):
                if linea not in vistas:
                    vistas.add(linea)
                    yield linea.encode()


def _de(tabla: str, desde: str, fila: str = "to_jsonb(t)") -> str:
    """A statement that gives the rows of ``t``, every column they have."""
    return f"SELECT jsonb_build_object('tabla', '{tabla}', 'fila', {fila})::text FROM {desde}"


# Bytes as base64, since a checkpoint is not text.
_CON_BLOB = (
    "(to_jsonb(t) - 'blob') || jsonb_build_object('blob', translate(encode(blob, 'base64'), E'\\n', ''))"
)
_DE_LA_FICHA = "(prefijo = %(prefijo)s OR prefijo LIKE %(patron)s)"
_CONSULTAS = (
    _de(
        "store",
        "langgraph.store t WHERE (prefix = %(prefijo)s OR prefix LIKE %(patron)s)"
        " AND key <> ALL (%(excluidas)s::text[])"
        " AND (%(memoria_hasta)s::timestamptz = 'infinity' OR (prefix, key) IN"
        " (SELECT v.prefijo, v.clave FROM langgraph.vueltos(%(prefijo)s, %(memoria_hasta)s) v))",
        "to_jsonb(t) - 'lexemas'",
    ),
    _de("hilos", "public.hilos t WHERE thread_id = ANY (%(hilos)s::text[])"),
    _de("checkpoints", "langgraph.checkpoints t WHERE thread_id = ANY (%(hilos)s::text[])"),
    _de(
        "checkpoint_blobs",
        "langgraph.checkpoint_blobs t WHERE thread_id = ANY (%(hilos)s::text[])",
        _CON_BLOB,
    ),
    _de(
        "checkpoint_writes",
        "langgraph.checkpoint_writes t WHERE thread_id = ANY (%(hilos)s::text[])",
        _CON_BLOB,
    ),
    _de(
        "privacidad_restriccion",
        f"public.privacidad_restriccion t WHERE {_DE_LA_FICHA}"
        " AND (cardinality(%(excluidas)s::text[]) = 0 OR clave <> ALL (%(excluidas)s::text[] || ''::text))"
        " AND (creada <= %(hasta)s OR clave = ANY (%(retenidas_antes)s::text[]))",
    ),
    _de(
        "django_admin_log",
        "public.django_admin_log t JOIN public.django_content_type c ON c.id = t.content_type_id"
        " WHERE c.app_label = 'memoria' AND c.model = 'hilo' AND t.object_id = ANY (%(hilos)s::text[])",
    ),
    _de(
        "django_admin_log",
        "public.django_admin_log t JOIN public.django_content_type c ON c.id = t.content_type_id"
        " JOIN public.compras_proveedor p ON p.id::text = t.object_id"
        f" WHERE c.app_label = 'compras' AND c.model = 'proveedor' AND {DEL_PROVEEDOR}"
        " AND t.action_time <= %(hasta)s",
    ),
    *(
        _de(tabla, f"public.{tabla} t WHERE username = %(empleado)s AND attempt_time <= %(hasta)s")
        for tabla in ("axes_accessattempt", "axes_accesslog", "axes_accessfailurelog")
    ),
    _de(
        "compras_retirada",
        "public.compras_retirada t JOIN public.compras_proveedor p ON p.id = t.proveedor_id"
        f" WHERE {DEL_PROVEEDOR} AND t.momento <= %(hasta)s",
    ),
    _de(
        "compras_proveedor",
        f"public.compras_proveedor p WHERE {DEL_PROVEEDOR} AND (nombre <> codigo OR activo)"
        " AND NOT EXISTS (SELECT FROM public.django_admin_log l"
        " JOIN public.django_content_type c ON c.id = l.content_type_id"
        " WHERE c.app_label = 'compras' AND c.model = 'proveedor' AND l.object_id = p.id::text"
        " AND l.action_time > %(hasta)s)",
        "to_jsonb(p)",
    ),
    _de(
        "menciones",
        "langgraph.store t JOIN unnest(%(prefijos)s::text[], %(claves)s::text[]) AS m (prefijo, clave)"
        " ON m.prefijo = t.prefix AND m.clave = t.key",
        "to_jsonb(t) - 'lexemas'",
    ),
)
