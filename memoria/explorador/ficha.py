"""The card of a subject: what is kept of them, in which conversations, and what their agent is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count
from django.utils import timezone

from memoria import politica
from memoria.agentes.herramientas import LIMITE_PREFERENCIAS
from memoria.agentes.prompts import prompt_de
from memoria.explorador.palabras import caduca_en, nombre_de_origen, nombre_de_tipo
from memoria.models import Checkpoint, Documento, Hilo

#: A person has a handful of documents; a supplier may have many notices, and those have a page of their own.
DOCUMENTOS_POR_FICHA = 200
HILOS_POR_FICHA = 100


@dataclass(frozen=True)
class DocumentoVisto:
    """A document in words. ``vence`` says how long it has left; an expired one has no ``vence``.

    A ``limitado`` one is contested: it is kept, and no agent reads it.
    """

    clave: str
    tipo: str
    texto: str
    origen: str
    hilo: str
    fecha: str
    importante: bool
    escrito: datetime
    actualizado: datetime
    caducado: bool
    vence: str
    limitado: bool

    @classmethod
    def de(cls, documento: Documento, ahora: datetime) -> DocumentoVisto:
        valor = _valor(documento)
        caducado = documento.expires_at is not None and documento.expires_at <= ahora
        return cls(
            clave=documento.key,
            tipo=nombre_de_tipo(str(valor.get("tipo") or valor.get("asunto") or "")),
            texto=str(valor.get("texto") or ""),
            origen=nombre_de_origen(str(valor.get("origen") or "")),
            hilo=str(valor.get("hilo") or ""),
            fecha=str(valor.get("fecha") or ""),
            importante=valor.get("importancia") == politica.Importancia.ALTA,
            escrito=documento.created_at,
            actualizado=documento.updated_at,
            caducado=caducado,
            vence="" if caducado else caduca_en(documento.expires_at, ahora),
            limitado=documento.limitado,
        )

    @property
    def lo_lee_el_agente(self) -> bool:
        return not (self.caducado or self.limitado)


@dataclass(frozen=True)
class HiloVisto:
    thread_id: str
    creado: datetime
    visto: datetime
    puntos: int


@dataclass(frozen=True)
class Ficha:
    """``hilos`` is ``None`` when this person may not see them. ``prompt`` is the system text of the agent."""

    documentos: list[DocumentoVisto]
    hay_mas_documentos: bool
    hilos: list[HiloVisto] | None
    hay_mas_hilos: bool
    prompt: str

    @classmethod
    def de(cls, nombre: str, sujeto_id: str, *, con_hilos: bool) -> Ficha:
        """The card of one subject; empty when nothing is kept of them. At most three queries."""
        ahora = timezone.now()
        filas = list(
            Documento.objects.del_sujeto(nombre, sujeto_id).order_by("-updated_at", "key")[
                : DOCUMENTOS_POR_FICHA + 1
            ]
        )
        documentos = [(d, DocumentoVisto.de(d, ahora)) for d in filas[:DOCUMENTOS_POR_FICHA]]
        # As the agent reads them: in this same order, and no more of them.
        leidos = [_valor(d) for d, visto in documentos if visto.lo_lee_el_agente][:LIMITE_PREFERENCIAS]
        hilos = _hilos(nombre, sujeto_id) if con_hilos else []
        return cls(
            documentos=[visto for _d, visto in documentos],
            hay_mas_documentos=len(filas) > DOCUMENTOS_POR_FICHA,
            hilos=hilos[:HILOS_POR_FICHA] if con_hilos else None,
            hay_mas_hilos=len(hilos) > HILOS_POR_FICHA,
            prompt=prompt_de(nombre, leidos),
        )

    @property
    def vigentes(self) -> list[DocumentoVisto]:
        """What the agent may be given."""
        return [d for d in self.documentos if d.lo_lee_el_agente]


def _valor(documento: Documento) -> Mapping[str, Any]:
    # The column is JSON: another writer may have left a list there, and its page must open all the same.
    return documento.value if isinstance(documento.value, dict) else {}


def _hilos(nombre: str, sujeto_id: str) -> list[HiloVisto]:
    if "\x00" in sujeto_id:
        return []  # the store has a label for it; the registry is a text column, which cannot hold it
    propios = Hilo.objects.del_sujeto(nombre, sujeto_id).order_by("-visto", "thread_id")
    filas = list(propios[: HILOS_POR_FICHA + 1])
    suyos = Checkpoint.objects.filter(thread_id__in=[h.thread_id for h in filas])
    puntos = dict(suyos.values("thread_id").annotate(n=Count("*")).values_list("thread_id", "n"))
    return [HiloVisto(h.thread_id, h.creado, h.visto, puntos.get(h.thread_id, 0)) for h in filas]
