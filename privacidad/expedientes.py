"""Everything the system holds on a person (arts. 15 and 20 GDPR), as portable JSON and as a readable PDF.

One pass over the data: each item goes to the JSON as it comes, compressed, and the first ones of each kind to
the PDF, which says where the rest is. ``docs/privacidad/derechos.md`` documents the JSON.
"""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Q
from django.utils import timezone, translation

from memoria import politica
from memoria.explorador.palabras import nombre_de_espacio, nombre_de_tipo
from memoria.models import Documento, Hilo
from privacidad import conversaciones, copias, de_la_casa
from privacidad.destinos import DESTINOS, Sujeto, destino
from privacidad.errores import DestinoNoDisponible
from privacidad.escritos.papel import Papel
from privacidad.escritos.pdf import dia
from privacidad.estados import Estado
from privacidad.informacion import informar
from privacidad.models import Copia, Restriccion, Solicitud, TrozoCopia
from privacidad.olvido import en_el_prefijo
from privacidad.plazos import MADRID
from privacidad.resumenes import resumen

ESQUEMA = "memoria/expediente"
VERSION = 1
#: In the order of the file.
SECCIONES = (
    "documentos",
    "conversaciones",
    "avisos_retirados",
    "menciones",
    "limitaciones",
    "solicitudes",
    "datos_bloqueados",
    "recuentos",
)
#: How many items of each kind the PDF shows, and how many messages of each conversation.
EN_PDF = 200
MENSAJES_EN_PDF = 40
LARGO_EN_PDF = 1_500
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
        "no_incluye": list(_NO_INCLUYE),
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
            if len(vistos[seccion]) < EN_PDF:
                vistos[seccion].append(elemento)
        while actual != SECCIONES[-1]:
            actual = _abrir_siguiente(comprimido, actual)
        comprimido.write(b"]}\n")
    return Compuesto(
        json_gz=salida.getvalue(),
        pdf=_pdf(espacio, sujeto_id, referencia, momento, vistos, cuantos),
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
    return propias + FILAS_POR_TROZO * trozos


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
    for copia in abiertas:
        yield from (("datos_bloqueados", e) for e in _bloqueados(copia))
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


def _bloqueados(copia: Copia) -> Iterator[Elemento]:
    for linea in copias.leer(copia):
        yield {
            "solicitud": copia.solicitud.referencia,
            "se_destruye": copia.destruir_el.isoformat(),
            **json.loads(linea),
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


# -- on paper -----------------------------------------------------------------------------------------


def _pdf(
    espacio: str,
    sujeto_id: str,
    referencia: str,
    momento: datetime,
    vistos: dict[str, list[Elemento]],
    cuantos: dict[str, int],
) -> bytes:
    with translation.override("es"):
        papel = Papel(
            titulo="Datos que constan de una persona",
            numero=referencia,
            responsable=settings.RESPONSABLE,
            momento=momento,
            identidad=resumen(referencia),
        )
        papel.ficha(
            [
                ("De quién", f"{nombre_de_espacio(espacio)}, identificador «{sujeto_id}»"),
                ("Producido", _fecha(momento.isoformat())),
            ]
        )
        papel.apartado("Sobre estos datos (artículo 15.1 del RGPD)")
        papel.ficha([(i.titulo, "\n".join(i.frases)) for i in informar(espacio)])
        for seccion in SECCIONES:
            _seccion(papel, seccion, vistos[seccion], cuantos[seccion])
        papel.apartado("Lo que no está en este expediente")
        for frase in _NO_INCLUYE:
            papel.parrafo(frase)
        return papel.bytes()


def _seccion(papel: Papel, seccion: str, elementos: list[Elemento], cuantos: int) -> None:
    papel.apartado(f"{_TITULOS[seccion]} ({cuantos})")
    if not elementos:
        papel.parrafo("No hay.")
    for elemento in elementos:
        _ESCRIBIR[seccion](papel, elemento)
    if cuantos > len(elementos):
        papel.parrafo(
            f"Aquí se muestran {len(elementos)} de {cuantos}: todos están en el documento JSON adjunto.",
            negrita=True,
        )


def _escribir_documento(papel: Papel, d: Elemento) -> None:
    contenido = d["contenido"] if isinstance(d["contenido"], dict) else {"texto": str(d["contenido"])}
    pares = [
        ("Dato", nombre_de_tipo(str(contenido.get("tipo") or d["clave"]))),
        *((_CAMPOS.get(k, k), _corto(v)) for k, v in contenido.items() if k != "tipo"),
        ("Escrito", _fecha(d["escrito"])),
        ("Actualizado", _fecha(d["actualizado"])),
        ("Caduca", _fecha(d["caduca"], sin="no caduca")),
    ]
    if d["limitado"]:
        pares.append(("Limitado", "sí: ningún agente lo lee"))
    papel.ficha(pares)


def _escribir_conversacion(papel: Papel, c: Elemento) -> None:
    papel.parrafo(
        f"Conversación {c['hilo']}, del {_fecha(c['creado'])} al {_fecha(c['visto'])}.", negrita=True
    )
    for mensaje in c["mensajes"][:MENSAJES_EN_PDF]:
        if isinstance(mensaje, dict):
            papel.parrafo(f"{mensaje.get('quien', '')}: {_corto(mensaje.get('texto', ''))}")
        else:
            papel.parrafo(_corto(mensaje))
    if len(c["mensajes"]) > MENSAJES_EN_PDF:
        papel.parrafo(f"Tiene {len(c['mensajes'])} mensajes: todos están en el documento JSON.")


def _escribir_retirado(papel: Papel, r: Elemento) -> None:
    _escribir_documento(papel, {**r, "limitado": False})
    motivo = "; ".join(filter(None, (r["motivo"], r["explicacion"], r["incidencia"])))
    papel.ficha([("Retirado", _fecha(r["retirado"])), ("Motivo", _corto(motivo))])


def _escribir_mencion(papel: Papel, m: Elemento) -> None:
    papel.ficha(
        [
            ("Dónde", m["donde"]),
            ("Dice", _corto("\n".join(m["pasajes"]))),
            ("De la solicitud", m["solicitud"]),
        ]
    )


def _escribir_limitacion(papel: Papel, r: Elemento) -> None:
    papel.ficha(
        [
            ("Sobre", r["clave"] or "toda la ficha"),
            ("Motivo", _corto(r["motivo"])),
            ("Desde", _fecha(r["desde"])),
            ("Levantada", _fecha(r["levantada"]) if r["levantada"] else "no: está en vigor"),
        ]
    )


def _escribir_solicitud(papel: Papel, s: Elemento) -> None:
    papel.ficha(
        [
            ("Referencia", s["referencia"]),
            ("Recibida", dia(s["recibida"])),
            ("Estado", str(Estado(s["estado"]).label)),
            ("Cerrada", _fecha(s["cerrada"]) if s["cerrada"] else "no"),
            *((k, _corto(v)) for k, v in s["identificadores"].items()),
        ]
    )


def _escribir_bloqueado(papel: Papel, b: Elemento) -> None:
    fila = b["fila"]
    papel.ficha(
        [
            ("De la supresión", b["solicitud"]),
            ("Se destruye el", dia(b["se_destruye"])),
            ("Dato", _corto(next((fila[c] for c in _QUE_DICE if fila.get(c)), b["tabla"]))),
        ]
    )


#: The columns that say what a row is about, whatever its table.
_QUE_DICE = ("value", "documento", "change_message", "nombre", "thread_id")


def _escribir_recuento(papel: Papel, r: Elemento) -> None:
    d = destino(r["donde"])
    if r["cuantos"] is None:
        papel.parrafo(f"{d.etiqueta}: no se ha podido consultar.")
        return
    hay = ", ".join(f"{n} {d.etiquetas[que] % n}" for que, n in r["cuantos"].items() if n)
    papel.parrafo(f"{d.etiqueta}: {hay or 'nada'}.")


_NO_INCLUYE = (
    "Lo que textos de otras personas digan de ella: esos textos no son suyos, y sin más datos que su "
    "identificador no se sabe cuáles la nombran.",
    "Lo que digan de ella los textos de la casa (avisos de proveedores y sus anotaciones, documentos) que no "
    "se hayan encontrado en una solicitud suya abierta: solo entonces se la busca en ellos, con los datos "
    "que dio. De los que se borraron porque la nombraban solo queda, si se decidió, la copia bloqueada.",
    "El contenido de lo que está fuera de esta aplicación, como las trazas: solo cuánto hay.",
    "Lo que otros sistemas del responsable tengan de ella, como pedidos o devoluciones.",
)
_TITULOS = {
    "documentos": "Lo que se recuerda",
    "conversaciones": "Conversaciones",
    "avisos_retirados": "Avisos retirados, que aún se guardan",
    "menciones": "Lo que dicen de ella los textos de la casa",
    "limitaciones": "Limitaciones del tratamiento",
    "solicitudes": "Solicitudes de supresión",
    "datos_bloqueados": "Datos bloqueados tras una supresión",
    "recuentos": "Cuánto hay en cada sitio",
}
_CAMPOS = {
    "texto": "Texto",
    "valor": "Valor",
    "origen": "Lo dijo",
    "hilo": "En la conversación",
    "fecha": "Fecha",
    "importancia": "Importancia",
    "asunto": "Asunto",
    "valido_hasta": "Válido hasta",
    "autor": "Autor",
}
_ESCRIBIR = {
    "documentos": _escribir_documento,
    "conversaciones": _escribir_conversacion,
    "avisos_retirados": _escribir_retirado,
    "menciones": _escribir_mencion,
    "limitaciones": _escribir_limitacion,
    "solicitudes": _escribir_solicitud,
    "datos_bloqueados": _escribir_bloqueado,
    "recuentos": _escribir_recuento,
}


def _corto(valor: Any) -> str:
    texto = valor if isinstance(valor, str) else json.dumps(valor, ensure_ascii=False)
    return texto if len(texto) <= LARGO_EN_PDF else f"{texto[:LARGO_EN_PDF]}… (sigue en el documento JSON)"


def _fecha(iso: str | None, *, sin: str = "no consta") -> str:
    if not iso:
        return sin
    return timezone.localtime(datetime.fromisoformat(iso), MADRID).strftime("%d/%m/%Y %H:%M")
