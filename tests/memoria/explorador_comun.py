"""What the tests of the explorer share."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin

from django.test import Client
from langgraph.checkpoint.base import empty_checkpoint

from memoria.hilos import CLAVE_SUJETO


def crear_hilo(hilos: Any, thread_id: str, sujeto_id: str, nombre: str = "clientes", puntos: int = 1) -> None:
    """A thread of a subject with that many checkpoints, through the checkpointer."""
    config = {
        "configurable": {"thread_id": thread_id, "checkpoint_ns": "", CLAVE_SUJETO: (nombre, sujeto_id)}
    }
    for _ in range(puntos):
        hilos.put(config, empty_checkpoint(), {"source": "loop", "step": 1, "parents": {}}, {})


class Enlaces(HTMLParser):
    """Every start tag of a page, as ``(tag, attributes)``."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.etiquetas: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.etiquetas.append((tag, dict(attrs)))

    def de(self, tag: str) -> list[dict[str, str | None]]:
        return [a for t, a in self.etiquetas if t == tag]


def paginas(cliente: Client, url: str, rel: str) -> Iterator[Any]:
    """The pages from ``url`` on, following the link of that ``rel`` as a person would."""
    siguiente: str | None = url
    while siguiente:
        respuesta = cliente.get(siguiente)
        yield respuesta
        enlaces = [a["href"] for a in Enlaces(respuesta.content.decode()).de("a") if a.get("rel") == rel]
        siguiente = urljoin(siguiente, enlaces[0]) if enlaces else None
