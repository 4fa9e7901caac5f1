"""Everything the system holds on a person (arts. 15 and 20 GDPR), as portable JSON and as a readable PDF.

One pass over the data: each item goes to the JSON as it comes, compressed, and the first ones of each kind to
the PDF (:mod:`privacidad.expediente_en_papel`), which says where the rest is.
``docs/privacidad/derechos.md`` documents the JSON.
"""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import Q

from memoria import politica
from memoria.models import Documento, Hilo
from privacidad import conversaciones, copias, de_la_casa, entradas, expediente_en_papel
from privacidad.destinos import DESTINOS, Sujeto, destino
from privacidad.errores import DestinoNoDisponible
from privacidad.expediente_en_papel import EN_PDF, SOLO_EN_JSON
from privacidad.informacion import informar
from privacidad.models import Copia, Restriccion, Solicitud, TrozoCopia
from privacidad.olvido import en_el_prefijo
from privacidad.resumenes import resumen

ESQUEMA = "memoria/expediente"
VERSION = 2
#: In the order of the file.
SECCIONES = (
    "documentos",
    "conversaciones",
    "avisos_retirados",
    "menciones",
    "limitaciones",
    "solicitudes",
    "cuenta",
    "accesos",
    "datos_bloqueados",
    "conversaciones_bloqueadas",
    "pasos_bloqueados",
    "recuentos",
)
#: Rows in a piece of a sealed copy, more or less.
FILAS_POR_TROZO = 600
#: Rows read at a time.
LOTE = 500

Elemento = dict[str, Any]


@dataclass
class Compuesto:
    """The two files, not encrypted yet. ``cuantos`` says how many items of each kind there are."""

    json_gz: bytes
    pdf: bytes
    cuantos: dict[str, int]
    copias: list[Copia] = field(default_factory=list)


def componer(*, espacio: str, sujeto_id: str, referencia: str, momento: datetime) -> Compuesto:
    """Read everything once and write both files."""
    cuantos = dict.fromkeys(SECCIONES, 0)
    vistos: dict[str, list[Elemento]] = {s: [] for s in SECCIONES}
    abiertas = list(_copias(espacio, sujeto_id))
    cabecera = {
        "esquema": ESQUEMA,
        "version": VERSION,
        "referencia": referencia,
        "producido": momento.isoformat(),
        "espacio": espacio,
        "identificador": sujeto_id,
        "informacion": [i._asdict() for i in informar(espacio)],
        "no_incluye": no_incluye(espacio),
    }
    salida = io.BytesIO()
    with gzip.GzipFile(fileobj=salida, mode="wb", mtime=0) as comprimido:
        comprimido.write(_json(cabecera)[:-1])
        actual = None
        for seccion, elemento in _elementos(espacio, sujeto_id, abiertas):
            while actual != seccion:
                actual = _abrir_siguiente(comprimido, actual)
            comprimido.write(b"," * bool(cuantos[seccion]) + _json(elemento))
            cuantos[seccion] += 1
            if len(vistos[seccion]) < (EN_PDF if seccion not in SOLO_EN_JSON else 0):
                vistos[seccion].append(elemento)
        while actual != SECCIONES[-1]:
            actual = _abrir_siguiente(comprimido, actual)
        comprimido.write(b"]}\n")
    return Compuesto(
        json_gz=salida.getvalue(),
        pdf=expediente_en_papel.escribir(
            espacio=espacio,
            sujeto_id=sujeto_id,
            referencia=referencia,
            momento=momento,
            vistos=vistos,
            cuantos=cuantos,
            no_incluye=no_incluye(espacio),
        ),
        cuantos=cuantos,
        copias=abiertas,
    )


def filas(espacio: str, sujeto_id: str) -> int:
    """How many rows a file has to read, what is sealed included: how long it takes grows with them."""
    sujeto = Sujeto.capturar(espacio, sujeto_id)
    trozos = TrozoCopia.objects.filter(
        copia__solicitud__resumen=resumen(sujeto.prefijo), copia__destruida__isnull=True
    ).count()
    propias = sum(sum(destino(d).contar(sujeto).values()) for d in ("memoria", "hilos"))
    return propias + entradas.contar(espacio, sujeto_id) + FILAS_POR_TROZO * trozos


def no_incluye(espacio: str) -> list[str]:
    """What a file of a subject of that namespace leaves out, and why."""
    return [*_NO_INCLUYE, *(entradas.NO_INCLUYE if espacio == entradas.ESPACIO else ())]


def _abrir_siguiente(comprimido: gzip.GzipFile, actual: str | None) -> str:
    """Close one section of the file and open the next; a section with nothing is an empty list."""
    siguiente = SECCIONES[0 if actual is None else SECCIONES.index(actual) + 1]
    comprimido.write((b"" if actual is None else b"]") + b"," + _json(siguiente) + b":[")
    return siguiente


def _json(valor: Any) -> bytes:
    return json.dumps(valor, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


# -- what there is ----------------------------------------------------------------------------------


def _elementos(espacio: str, sujeto_id: str, abiertas: list[Copia]) -> Iterator[tuple[str, Elemento]]:
    prefijo = politica.prefijo(espacio, sujeto_id)
    yield from (("documentos", e) for e in _documentos(en_el_prefijo("prefix", prefijo)))
    yield from (("conversaciones", e) for e in _conversaciones(espacio, sujeto_id))
    yield from (("avisos_retirados", e) for e in de_la_casa.avisos_retirados(espacio, sujeto_id))
    yield from (("menciones", e) for e in de_la_casa.mencionada(resumen(prefijo)))
    yield from (("limitaciones", e) for e in _limitaciones(en_el_prefijo("prefijo", prefijo)))
    yield from (("solicitudes", e) for e in _solicitudes(resumen(prefijo)))
    yield from (("cuenta", e) for e in entradas.cuenta(espacio, sujeto_id))
    yield from (("accesos", e) for e in entradas.accesos(espacio, sujeto_id))
    for seccion, bloqueados in _BLOQUEADOS.items():
        for copia in abiertas:
            de_la_copia = {
                "solicitud": copia.solicitud.referencia,
                "se_destruye": copia.destruir_el.isoformat(),
            }
            yield from ((seccion, {**de_la_copia, **e}) for e in bloqueados(copia))
    yield from (("recuentos", e) for e in _recuentos(espacio, sujeto_id))


def _documentos(suyos: Q) -> Iterator[Elemento]:
    for d in Documento.objects.filter(suyos).order_by("prefix", "key").iterator(chunk_size=LOTE):
        yield {
            "clave": d.key,
            "contenido": d.value,
            "escrito": _momento(d.created_at),
            "actualizado": _momento(d.updated_at),
            "caduca": _momento(d.expires_at),
            "vida_en_minutos": d.ttl_minutes,
            "limitado": d.limitado,
        }


def _conversaciones(espacio: str, sujeto_id: str) -> Iterator[Elemento]:
    suyos = Hilo.objects.del_sujeto(espacio, sujeto_id).order_by("thread_id")
    lote: list[Hilo] = []
    for hilo in suyos.iterator(chunk_size=LOTE):
        lote.append(hilo)
        if len(lote) == LOTE:
            yield from _con_mensajes(lote)
            lote = []
    yield from _con_mensajes(lote)


def _con_mensajes(lote: list[Hilo]) -> Iterator[Elemento]:
    leidas = {h: (m, e) for h, m, e in conversaciones.leer([h.thread_id for h in lote])}
    for hilo in lote:
        mensajes, estado = leidas.pop(hilo.thread_id, ([], {}))
        yield {
            "hilo": hilo.thread_id,
            "creado": _momento(hilo.creado),
            "visto": _momento(hilo.visto),
            "mensajes": mensajes,
            "estado": estado,
        }


def _limitaciones(suyas: Q) -> Iterator[Elemento]:
    for r in Restriccion.objects.filter(suyas).iterator(chunk_size=LOTE):
        yield {
            "clave": r.clave or None,
            "motivo": r.motivo,
            "desde": _momento(r.creada),
            "levantada": _momento(r.levantada),
            "motivo_levantada": r.motivo_levantada,
        }


def _solicitudes(de: str) -> Iterator[Elemento]:
    for s in Solicitud.objects.filter(resumen=de).order_by("pk").iterator(chunk_size=LOTE):
        yield {
            "referencia": s.referencia,
            "canal": s.canal,
            "recibida": s.recibida.isoformat(),
            "vence": s.vence.isoformat(),
            "estado": s.estado,
            "cerrada": _momento(s.cerrada),
            "identificadores": s.identificadores(),
        }


def _copias(espacio: str, sujeto_id: str) -> Iterator[Copia]:
    de = resumen(politica.prefijo(espacio, sujeto_id))
    yield from Copia.objects.filter(solicitud__resumen=de, destruida__isnull=True).select_related("solicitud")


def _datos_bloqueados(copia: Copia) -> Iterator[Elemento]:
    return (json.loads(linea) for linea in copias.leer(copia) if not conversaciones.es_de_alguna(linea))


def _conversaciones_bloqueadas(copia: Copia) -> Iterator[Elemento]:
    return (c._asdict() for c in conversaciones.leer_selladas(lambda: copias.leer(copia)))


def _pasos_bloqueados(copia: Copia) -> Iterator[Elemento]:
    """What the conversations were kept in, row by row: each step of theirs, with what was said in it."""
    for linea in copias.leer(copia):
        if conversaciones.es_de_alguna(linea):
            paso = json.loads(linea)
            yield {**paso, "fila": conversaciones.fila_legible(paso["fila"])}


#: The sections that come from a sealed copy, in their order. Each reads it again: it does not fit in memory.
_BLOQUEADOS: Mapping[str, Callable[[Copia], Iterator[Elemento]]] = {
    "datos_bloqueados": _datos_bloqueados,
    "conversaciones_bloqueadas": _conversaciones_bloqueadas,
    "pasos_bloqueados": _pasos_bloqueados,
}


def _recuentos(espacio: str, sujeto_id: str) -> Iterator[Elemento]:
    """What each place the product knows of counts of the person, the ones outside it included."""
    sujeto = Sujeto.capturar(espacio, sujeto_id)
    for d in DESTINOS:
        if not d.activo:
            continue
        try:
            cuantos: dict[str, int] | None = d.contar(sujeto)
        except DestinoNoDisponible:
            cuantos = None
        yield {"donde": d.nombre, "cuantos": cuantos}


def _momento(momento: datetime | None) -> str | None:
    return momento.isoformat() if momento else None


_NO_INCLUYE = (
    "Lo que textos de otras personas digan de ella: esos textos no son suyos, y sin más datos que su "
    "identificador no se sabe cuáles la nombran.",
    "Lo que digan de ella los textos de la casa (avisos de proveedores y sus anotaciones, documentos) que no "
    "se hayan encontrado en una solicitud suya abierta: solo entonces se la busca en ellos, con los datos "
    "que dio. De los que se borraron porque la nombraban solo queda, si se decidió, la copia bloqueada.",
    "El contenido de lo que está fuera de esta aplicación, como las trazas: solo cuánto hay.",
    "Lo que otros sistemas del responsable tengan de ella, como pedidos o devoluciones.",
    "De las conversaciones que siguen guardadas, los pasos anteriores al último que aún no se hayan borrado: "
    "repiten lo que ya está aquí, menos lo que un resumen haya sustituido en las largas. Solo cuántos hay.",
    "Lo que no dice nada más de ella, de lo que solo figura cuánto hay: los vectores, que son números "
    "calculados de esos textos; las anotaciones de administración sobre sus conversaciones, que dicen qué "
    "hizo quien administra; dónde se la anotó en solicitudes de otras personas, que son de esas personas; y "
    "otros expedientes como este.",
)
