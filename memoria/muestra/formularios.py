"""The part of the sample that people write: through the site's own forms, logged in as them.

The core knows no application by import, so pages are named by URL and fields by what the page shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from html.parser import HTMLParser
from typing import Any

from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from memoria.models import Documento
from memoria.muestra.datos import PROVEEDORES, avisos
from memoria.muestra.documentos import DOCUMENTOS
from memoria.politica import prefijo


class FormularioRechazado(RuntimeError):
    """A form of the site did not take the sample: a fault of one of the two, never of the person."""


def escribir_avisos(usuario: User, hoy: date) -> None:
    """Suppliers and notices, each in its form of purchasing's."""
    navegador = Navegador(usuario)
    dados_de_alta = navegador.leer(reverse("compras:proveedores"))
    for proveedor in PROVEEDORES:
        if proveedor.codigo not in dados_de_alta:
            navegador.enviar(
                reverse("compras:proveedor_nuevo"),
                {"codigo": proveedor.codigo, "nombre": proveedor.nombre, "activo": "on"},
            )
    # Each sample notice has a day of its own, which tells the ones a killed run already wrote.
    escritos = set(Documento.objects.del_espacio("proveedores").values_list("prefix", "value__fecha"))
    for proveedor, campos in avisos(hoy):
        if (prefijo("proveedores", proveedor.codigo), campos["fecha"]) not in escritos:
            navegador.enviar(reverse("compras:aviso_nuevo"), {"proveedor": proveedor.codigo, **campos})


def escribir_documentos(usuario: User) -> None:
    """The conventions of each agent, in the form of documents."""
    navegador = Navegador(usuario)
    for espacio, ruta, titulo, importancia, texto in DOCUMENTOS:
        if ruta not in navegador.leer(reverse("documentos:lista", args=[espacio])):
            campos = {"ruta": ruta, "titulo": titulo, "importancia": importancia, "texto": texto}
            navegador.enviar(reverse("documentos:nuevo", args=[espacio]), campos)


def hay_solicitudes(usuario: User) -> bool:
    """Whether the queue of privacy shows any request, open or closed."""
    return "SUP-" in Navegador(usuario).leer(reverse("privacidad:solicitudes") + "?estado=todas")


def tramitar_supresion(
    recibe: User, aprueba: User, *, suprimido: str, pendiente: str, recibida: date
) -> None:
    """One customer erased, from receipt to evidence, and the request of another left waiting."""
    navegador, segundo = Navegador(recibe), Navegador(aprueba)
    nueva = reverse("privacidad:nueva")
    solicitud = {"espacio": "clientes", "canal": "correo", "recibida": recibida.isoformat()}
    pagina = navegador.enviar(nueva, {**solicitud, "sujeto_id": suprimido})
    como = {"identificar-como": "Documento de identidad enseñado en tienda"}
    navegador.enviar(pagina, como, formulario=f"{pagina}identificar/")
    navegador.enviar(pagina, {}, formulario=f"{pagina}revisar/")
    segundo.enviar(pagina, {}, formulario=f"{pagina}aprobar/")
    segundo.enviar(pagina, {}, formulario=f"{pagina}ejecutar/")
    navegador.enviar(nueva, {**solicitud, "sujeto_id": pendiente})


class Navegador:
    """A person at the site: opens a page, fills its form, sends it."""

    def __init__(self, usuario: User) -> None:
        self.cliente = Client(SERVER_NAME="localhost")
        self.cliente.force_login(usuario, backend="django.contrib.auth.backends.ModelBackend")

    def leer(self, url: str) -> str:
        return self.cliente.get(url).content.decode()

    def enviar(self, url: str, campos: Mapping[str, Any], *, formulario: str = "") -> str:
        """Send the form of the page at ``url`` (the one that goes to ``formulario``); returns where it leads.

        Raises :class:`FormularioRechazado` when the site shows the form again.
        """
        lector = _Ocultos()
        lector.feed(self.leer(url))
        destino = formulario or url
        respuesta = self.cliente.post(destino, {**lector.campos, **campos})
        if respuesta.status_code != 302:
            raise FormularioRechazado(f"{destino}: {respuesta.status_code}")
        return respuesta.headers["Location"]


class _Ocultos(HTMLParser):
    """The hidden fields of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.campos: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        atributos = dict(attrs)
        if tag == "input" and atributos.get("type") == "hidden" and atributos.get("name"):
            self.campos[str(atributos["name"])] = atributos.get("value") or ""
