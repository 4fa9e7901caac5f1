"""The documents of the house (:mod:`memoria.documentos`) where a person may be named.

No document is of a subject: what there is to erase in them are mentions, decided one by one like those of the
store. A page as it is now is one row to decide, and each version of its history another. The sections that
are searched hold nothing that their page does not, and go with it.

In a mention the address of a page is ``("documentos.compras", "12")`` and that of a version
``("documentos.compras", "12.3")``: numbers, which name nobody. The prefix is no namespace of the store.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Q

from memoria.documentos.acceso import en_espacio
from memoria.documentos.espacios import ESPACIOS
from memoria.documentos.models import Pagina, Version
from privacidad import identificadores
from privacidad.identificadores import Buscados
from privacidad.models import Mencion, Solicitud
from privacidad.olvido import resumen_de_fila
from privacidad.tosco import nombra, patrones

NOMBRE = RAIZ = "documentos"
FILAS: tuple[str, ...] = ("paginas", "versiones")
Direccion = tuple[str, str]


class Fila(NamedTuple):
    """A page (``version`` is ``None``) or one of its versions."""

    espacio: str
    pagina: int
    version: int | None

    @property
    def direccion(self) -> Direccion:
        numero = "" if self.version is None else f".{self.version}"
        return f"{RAIZ}.{self.espacio}", f"{self.pagina}{numero}"


def fila_de(direccion: Direccion) -> Fila | None:
    """What an address is of; ``None`` when it is of no document."""
    raiz, _, espacio = direccion[0].partition(".")
    pagina, _, version = direccion[1].partition(".")
    if raiz != RAIZ or espacio not in ESPACIOS or not pagina.isdigit() or not (version or "0").isdigit():
        return None
    return Fila(espacio, int(pagina), int(version) if version else None)


def mencionan(solicitud: Solicitud, buscados: Buscados) -> list[tuple[Direccion, str]]:
    """``[(address, kind of identifier), …]`` of every page and version that names the person."""
    if not buscados:
        return []
    parametros = patrones(buscados)
    halladas = []
    for espacio in ESPACIOS:
        with en_espacio(espacio), connection.chunked_cursor() as cursor:
            cursor.execute(BUSCAR, parametros)
            for pagina, version, texto in cursor:
                direccion = Fila(espacio, pagina, version).direccion
                halladas += [(direccion, c) for c in identificadores.hallados(buscados, [texto])]
    return halladas


def olvidar_reescritas(solicitud: Solicitud) -> None:
    """Forget what is to be looked at again: a page that was changed after it was decided about."""
    for direccion in _reescritas(solicitud):
        solicitud.menciones.filter(prefijo=direccion[0], clave=direccion[1]).delete()


def textos(direcciones: Iterable[Direccion]) -> dict[Direccion, tuple[str, list[str]]]:
    """Of each address that is of a document: how it is called, and what it says."""
    dichos: dict[Direccion, tuple[str, list[str]]] = {}
    for espacio, filas in _por_espacio(direcciones).items():
        with en_espacio(espacio):
            paginas = {p.pk: p for p in Pagina.objects.filter(pk__in={f.pagina for f in filas})}
            versiones = {(v.pagina_id, v.numero): v for v in Version.objects.filter(_estas(filas))}
        for fila in filas:
            pagina = paginas.get(fila.pagina)
            version = versiones.get((fila.pagina, fila.version or 0))
            if pagina and fila.version is None:
                dichos[fila.direccion] = pagina.ruta, [pagina.ruta, pagina.titulo, pagina.texto]
            elif pagina and version:
                nombre = f"{pagina.ruta} · {version.numero}"
                dichos[fila.direccion] = nombre, _textos_de(version)
    return dichos


def por_borrar(resumen: str, solicitud: Solicitud | None) -> list[Fila]:
    """What was decided to erase for the subject of that digest, and is there.

    While its request is open, not a page that was changed since and no longer names them. Afterwards only
    digests of the addresses are left, and what was there at the decision is found by them.
    """
    decididas = Mencion.objects.por_borrar(resumen)
    direcciones: set[Direccion] = set(
        decididas.filter(prefijo__startswith=f"{RAIZ}.").exclude(clave="").values_list("prefijo", "clave")
    )
    if solicitud is not None and direcciones:
        direcciones -= _limpias(solicitud)
    filas = [f for d in direcciones if (f := fila_de(d))]
    olvidadas = dict(decididas.filter(clave="").values_list("prefijo", "momento"))
    if not olvidadas:
        return filas
    ahora = set(Mencion.objects.con_direccion(resumen).values_list("prefijo", "clave"))
    return [*filas, *(f for f in reencontradas(olvidadas) if f.direccion not in ahora)]


def reencontradas(olvidadas: dict[str, datetime]) -> Iterator[Fila]:
    """The pages and versions whose digest is one of these, unchanged since what was decided about them."""
    if not olvidadas:
        return
    hasta = max(olvidadas.values())
    for espacio in ESPACIOS:
        with en_espacio(espacio):
            paginas = list(Pagina.objects.filter(actualizada__lte=hasta).values_list("pk", "actualizada"))
            versiones = list(
                Version.objects.filter(momento__lte=hasta).values_list("pagina", "numero", "momento")
            )
        candidatas = [(Fila(espacio, p, None), m) for p, m in paginas]
        candidatas += [(Fila(espacio, p, n), m) for p, n, m in versiones]
        for fila, momento in candidatas:
            decidido = olvidadas.get(resumen_de_fila(*fila.direccion))
            if decidido and momento <= decidido:
                yield fila


def contar(filas: Collection[Fila]) -> dict[str, int]:
    """How many pages, versions, sections and vectors go with those rows. A page takes all its versions."""
    return _en_cada_espacio(filas, _contar)


def borrar(filas: Collection[Fila]) -> dict[str, int]:
    """Delete those rows, and say how many of each there were."""
    return _en_cada_espacio(filas, _borrar)


def selladas(fila: Fila) -> list[str]:
    """The page and its versions, or that version, as lines of a sealed copy."""
    with en_espacio(fila.espacio), connection.cursor() as cursor:
        cursor.execute(SELLAR, fila._asdict())
        return [linea for (linea,) in cursor.fetchall()]


# -- inside a space -------------------------------------------------------------------------------


def _en_cada_espacio(filas: Collection[Fila], que: Any) -> dict[str, int]:
    total = dict.fromkeys(("paginas", "versiones", "secciones", "vectores"), 0)
    for espacio, suyas in _por_espacio(f.direccion for f in filas).items():
        with en_espacio(espacio), connection.cursor() as cursor:
            for nombre, cuantas in que(cursor, suyas).items():
                total[nombre] += cuantas
    return total


def _contar(cursor: Any, filas: list[Fila]) -> dict[str, int]:
    cursor.execute(CONTAR, _parametros(filas))
    paginas, versiones, secciones = cursor.fetchone()
    vectores = 0
    cursor.execute("SELECT to_regclass('public.documentos_vector') IS NOT NULL")
    if cursor.fetchone()[0]:
        cursor.execute(CONTAR_VECTORES, _parametros(filas))
        vectores = cursor.fetchone()[0]
    return {"paginas": paginas, "versiones": versiones, "secciones": secciones, "vectores": vectores}


def _borrar(cursor: Any, filas: list[Fila]) -> dict[str, int]:
    habia = _contar(cursor, filas)
    cursor.execute(BORRAR_VERSIONES, _parametros(filas))
    cursor.execute(BORRAR_PAGINAS, _parametros(filas))
    return habia


def _parametros(filas: list[Fila]) -> dict[str, Any]:
    versiones = [(f.pagina, f.version) for f in filas if f.version is not None]
    return {
        "paginas": [f.pagina for f in filas if f.version is None],
        "de": [p for p, _n in versiones],
        "numeros": [n for _p, n in versiones],
    }


def _por_espacio(direcciones: Iterable[Direccion]) -> dict[str, list[Fila]]:
    por_espacio: dict[str, list[Fila]] = {}
    for direccion in direcciones:
        if fila := fila_de(direccion):
            por_espacio.setdefault(fila.espacio, []).append(fila)
    return por_espacio


def _textos_de(version: Version) -> list[str]:
    return [version.titulo, version.texto, version.motivo, str(version.admitidos.get("motivo", ""))]


def _estas(filas: Iterable[Fila]) -> Q:
    condicion = Q(pk__in=[])
    for fila in filas:
        if fila.version is not None:
            condicion |= Q(pagina=fila.pagina, numero=fila.version)
    return condicion


def _reescritas(solicitud: Solicitud) -> set[Direccion]:
    """The pages that were changed after something was decided about them. A version never changes."""
    decididas = (
        solicitud.menciones.filter(prefijo__startswith=f"{RAIZ}.")
        .exclude(decision=Mencion.Decision.PENDIENTE)
        .values_list("prefijo", "clave", "momento")
    )
    momentos = {(p, c): m for p, c, m in decididas}
    cambiadas: set[Direccion] = set()
    for espacio, filas in _por_espacio(momentos).items():
        with en_espacio(espacio):
            ids = [f.pagina for f in filas if f.version is None]
            paginas = list(Pagina.objects.filter(pk__in=ids).values_list("pk", "actualizada"))
        for pk, actualizada in paginas:
            direccion = Fila(espacio, pk, None).direccion
            if actualizada > momentos[direccion]:
                cambiadas.add(direccion)
    return cambiadas


def _limpias(solicitud: Solicitud) -> set[Direccion]:
    """Of those that were changed, the ones that no longer name the person."""
    cambiadas = _reescritas(solicitud)
    if not cambiadas:
        return cambiadas
    buscados = identificadores.de_la_solicitud(solicitud)
    dichos = textos(cambiadas)
    return {d for d in cambiadas if d in dichos and not identificadores.hallados(buscados, dichos[d][1])}


_DE_PAGINA = "ruta || E'\\n' || titulo || E'\\n' || texto"
_DE_VERSION = "concat_ws(E'\\n', titulo, texto, motivo, admitidos ->> 'motivo')"
BUSCAR = f"""
SELECT id, NULL, {_DE_PAGINA} FROM public.documentos_pagina WHERE {nombra(_DE_PAGINA)}
UNION ALL
SELECT pagina_id, numero, {_DE_VERSION} FROM public.documentos_version WHERE {nombra(_DE_VERSION)}
ORDER BY 1, 2 NULLS FIRST
"""
_ESTAS_VERSIONES = """(
    pagina_id = ANY (%(paginas)s::bigint[])
    OR (pagina_id, numero) IN (SELECT p, n FROM unnest(%(de)s::bigint[], %(numeros)s::int[]) AS f (p, n))
)"""
CONTAR = f"""
SELECT (SELECT count(*) FROM public.documentos_pagina WHERE id = ANY (%(paginas)s::bigint[])),
       (SELECT count(*) FROM public.documentos_version WHERE {_ESTAS_VERSIONES}),
       (SELECT count(*) FROM public.documentos_seccion WHERE pagina_id = ANY (%(paginas)s::bigint[]))
"""
CONTAR_VECTORES = """
SELECT count(*) FROM public.documentos_vector v JOIN public.documentos_seccion s ON s.id = v.seccion_id
WHERE s.pagina_id = ANY (%(paginas)s::bigint[])
"""
BORRAR_VERSIONES = "SELECT public.documentos_borrar_versiones(%(de)s::bigint[], %(numeros)s::int[])"
# Its versions, sections and vectors go with it, by the keys of the database.
BORRAR_PAGINAS = "DELETE FROM public.documentos_pagina WHERE id = ANY (%(paginas)s::bigint[])"
SELLAR = """
SELECT jsonb_build_object('tabla', 'documentos_pagina', 'fila', to_jsonb(t))::text
FROM public.documentos_pagina t WHERE id = %(pagina)s AND %(version)s::int IS NULL
UNION ALL
SELECT jsonb_build_object('tabla', 'documentos_version', 'fila', to_jsonb(t))::text
FROM public.documentos_version t
WHERE pagina_id = %(pagina)s AND (%(version)s::int IS NULL OR numero = %(version)s::int)
"""
