"""Reads of the screens: a page of the list, a document, its history. Each inside its space."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from django.contrib.auth.models import User
from django.db import connection
from django.http import Http404

from memoria.almacen import embeddings_configurados
from memoria.documentos import busqueda
from memoria.documentos.acceso import en_espacio
from memoria.documentos.busqueda import Hallazgo
from memoria.documentos.indice import hay_tabla
from memoria.documentos.models import Pagina, Version
from memoria.embeddings import se_comparo

POR_PAGINA = 50
#: Sections on screen: more than an agent gets, few enough to read.
HALLAZGOS = 10


@dataclass(frozen=True)
class Lista:
    """A page of the list; ``siguiente`` is the mark of the next one, ``None`` at the end."""

    paginas: list[Pagina]
    siguiente: int | None


def lista(espacio: str, *, despues: int | None, borradas: bool) -> Lista:
    """Documents by path. ``despues`` is the number of the last one seen: paths may name somebody, and the
    mark goes in the URL. One that is no longer there starts the list at the top."""
    with en_espacio(espacio):
        todas = Pagina.objects.filter(espacio=espacio).sin_texto()
        todas = todas.borradas() if borradas else todas.vivas()
        if despues is not None:
            vista = Pagina.objects.filter(espacio=espacio, pk=despues).values_list("ruta", flat=True).first()
            todas = todas.filter(ruta__gt=vista or "")
        filas = list(todas.order_by("ruta")[: POR_PAGINA + 1])
    hay_mas = len(filas) > POR_PAGINA
    filas = filas[:POR_PAGINA]
    return Lista(filas, filas[-1].pk if hay_mas else None)


def una(espacio: str, pagina_id: int) -> Pagina:
    """The document, deleted or not. Raises ``Http404``."""
    with en_espacio(espacio):
        pagina = Pagina.objects.filter(espacio=espacio, pk=pagina_id).first()
    if pagina is None:
        raise Http404
    return pagina


def historia(espacio: str, pagina_id: int) -> list[Version]:
    """The versions of a document, the last one first, without their texts."""
    with en_espacio(espacio):
        return list(Version.objects.filter(pagina=pagina_id).defer("texto").order_by("-numero"))


def version(espacio: str, pagina_id: int, numero: int) -> Version | None:
    with en_espacio(espacio):
        return Version.objects.filter(pagina=pagina_id, numero=numero).first()


def anterior(espacio: str, pagina_id: int, numero: int) -> Version | None:
    """The version before that one which is still there."""
    with en_espacio(espacio):
        return Version.objects.filter(pagina=pagina_id, numero__lt=numero).order_by("-numero").first()


def por_ruta(espacio: str, rutas: Iterable[str]) -> dict[str, int]:
    """Which of those paths are documents, and their numbers."""
    with en_espacio(espacio):
        return dict(
            Pagina.objects.vivas().filter(espacio=espacio, ruta__in=list(rutas)).values_list("ruta", "pk")
        )


def buscar(espacio: str, consulta: str) -> tuple[list[Hallazgo], bool]:
    """The sections that answer, and whether meaning was looked at too."""
    modelo = embeddings_configurados() if hay_tabla() else None
    hallazgos = busqueda.buscar_documentos(_conectar, espacio, consulta, modelo=modelo, limite=HALLAZGOS)
    return hallazgos, se_comparo(modelo, consulta, (h.similitud for h in hallazgos))


@contextmanager
def _conectar() -> Iterator[psycopg.Connection[Any]]:
    """The connection below Django's: the search is the one the agents use."""
    connection.ensure_connection()
    yield connection.connection


def nombres(autores: Iterable[int | None]) -> dict[int, str]:
    """The names of the people with those numbers; one whose account is gone has none."""
    ids = {a for a in autores if a}
    return (
        {u.pk: u.get_full_name() or u.get_username() for u in User.objects.filter(pk__in=ids)} if ids else {}
    )
