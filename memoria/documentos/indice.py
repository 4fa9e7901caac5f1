"""The sections of a page and their vectors, kept to what the page says.

The sections are written with the page, in its transaction. Their vectors come after: embedding may be a call
to an endpoint, and a document is saved, and found by its words, whether or not that answers.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

from django.db import connection

from memoria.almacen import embeddings_configurados, en_texto
from memoria.documentos.acceso import en_espacio
from memoria.documentos.models import Pagina, Seccion
from memoria.documentos.secciones import partir
from memoria.embeddings import ErrorEmbeddings, ModeloEmbeddings

logger = logging.getLogger(__name__)

#: Texts embedded at a time.
LOTE = 64


def reindexar(paginas: Iterable[Pagina]) -> None:
    """Make the sections of those pages again, in the caller's transaction; a deleted page has none.

    The old ones go with their lexemes and their vectors: nothing of a text outlives it here.
    """
    lista = list(paginas)
    Seccion.objects.filter(pagina__in=lista).delete()
    Seccion.objects.bulk_create(
        Seccion(
            espacio=pagina.espacio,
            pagina=pagina,
            orden=orden,
            encabezado=trozo.encabezado,
            texto=trozo.texto,
        )
        for pagina in lista
        if pagina.borrada is None
        for orden, trozo in enumerate(partir(pagina.titulo, pagina.texto))
    )


def incrustar(
    espacio: str,
    *,
    pagina_id: int | None = None,
    modelo: ModeloEmbeddings | None = None,
    parar: Callable[[], bool] = lambda: False,
    avance: Callable[[int], None] = lambda _n: None,
) -> int:
    """Embed the sections that have no vector of this model, in batches; returns how many were embedded.

    Outside any transaction of the caller's. Without pgvector it does nothing.

    Raises :class:`memoria.embeddings.ErrorEmbeddings`; what was embedded by then stays.
    """
    if not hay_tabla():
        return 0
    modelo = modelo or embeddings_configurados()
    hechas, desde = 0, 0
    while not parar():
        with en_espacio(espacio), connection.cursor() as cursor:
            cursor.execute(
                _PENDIENTES, {"modelo": modelo.nombre, "desde": desde, "pagina": pagina_id, "n": LOTE}
            )
            pendientes: list[tuple[int, str, str]] = cursor.fetchall()
        if not pendientes:
            break
        vectores = modelo.embed_documents([f"{e}\n{t}".strip() for _id, e, t in pendientes])
        with en_espacio(espacio), connection.cursor() as cursor:
            cursor.execute(
                _PONER,
                {
                    "modelo": modelo.nombre,
                    "ids": [fila[0] for fila in pendientes],
                    "vectores": [en_texto(v) for v in vectores],
                },
            )
        desde = pendientes[-1][0]
        hechas += len(pendientes)
        avance(hechas)
    return hechas


def incrustar_sin_fallar(espacio: str, pagina_id: int) -> None:
    """After a page was saved: its vectors if they can be had; else the next synchronisation makes them."""
    try:
        incrustar(espacio, pagina_id=pagina_id)
    except ErrorEmbeddings as error:
        logger.warning("Documento guardado sin vectores: %s", error)


def hay_tabla() -> bool:
    """Whether this database has the table of vectors (it does where it has pgvector)."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('public.documentos_vector') IS NOT NULL")
        fila: tuple[Any, ...] = cursor.fetchone()
    return bool(fila[0])


_PENDIENTES = """
SELECT s.id, s.encabezado, s.texto FROM documentos_seccion s
WHERE s.id > %(desde)s AND (%(pagina)s::bigint IS NULL OR s.pagina_id = %(pagina)s)
  AND NOT EXISTS (SELECT FROM documentos_vector v WHERE v.seccion_id = s.id AND v.modelo = %(modelo)s)
ORDER BY s.id
LIMIT %(n)s
"""
# A section that went while its text was being embedded gets no vector. One of another model gives way.
_PONER = """
INSERT INTO documentos_vector (seccion_id, espacio, modelo, embedding)
SELECT s.id, s.espacio, %(modelo)s, n.vector::text::vector
FROM unnest(%(ids)s::bigint[], %(vectores)s::text[]) AS n (id, vector)
JOIN documentos_seccion s ON s.id = n.id
FOR KEY SHARE OF s
ON CONFLICT (seccion_id) DO UPDATE SET modelo = EXCLUDED.modelo, embedding = EXCLUDED.embedding
"""
