"""The person's own rows, as they are shown before erasing them: enough to know which is which, masked."""

from __future__ import annotations

from typing import Any, NamedTuple

from django.db.models import QuerySet

from memoria import politica
from memoria.identificadores import velar
from memoria.models import Documento, Hilo
from privacidad.models import Solicitud
from privacidad.olvido import en_el_prefijo

#: Documents shown in the preview.
DE_MUESTRA = 3
#: Letters of a text that are shown, masked.
LARGO = 160


class Fila(NamedTuple):
    """One row of the person: where it is, its key there and what it says, masked."""

    destino: str
    clave: str
    texto: str
    cuando: Any


def documentos(solicitud: Solicitud) -> QuerySet[Documento]:
    """The documents of the person of an open request, expired ones included; none of a closed one."""
    if not solicitud.sujeto_id:
        return Documento.objects.none()
    prefijo = politica.prefijo(solicitud.espacio, solicitud.sujeto_id)
    return Documento.objects.filter(en_el_prefijo("prefix", prefijo)).order_by("prefix", "key")


def hilos(solicitud: Solicitud) -> QuerySet[Hilo]:
    """Their threads."""
    if not solicitud.sujeto_id:
        return Hilo.objects.none()
    return Hilo.objects.del_sujeto(solicitud.espacio, solicitud.sujeto_id).order_by("thread_id")


def primeras(solicitud: Solicitud) -> list[Fila]:
    """The first documents, masked: what the preview shows."""
    return [fila(d) for d in documentos(solicitud)[:DE_MUESTRA]]


def fila(objeto: Documento | Hilo) -> Fila:
    """A document or a thread as it is shown."""
    if isinstance(objeto, Hilo):
        return Fila("hilos", objeto.thread_id, "", objeto.visto)
    valor = objeto.value
    texto = valor.get("texto") if isinstance(valor, dict) else valor
    texto = texto if isinstance(texto, str) else ""
    corto = texto[:LARGO] + ("…" if len(texto) > LARGO else "")
    return Fila("memoria", objeto.key, velar(corto), objeto.updated_at)
