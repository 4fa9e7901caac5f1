"""The identifiers of the person of a request, as they are looked for."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from memoria.identificadores import Clase, Identificador, enmascarar, entender, es_distintivo
from privacidad.models import Solicitud

#: How a mention says that what was found is the id of the request itself.
SUJETO = "sujeto"

#: What the names given at intake stand for; any other is looked for as it is.
_CLASES = {
    "email": Clase.EMAIL,
    "correo": Clase.EMAIL,
    "telefono": Clase.TELEFONO,
    "movil": Clase.TELEFONO,
    "nif": Clase.NIF,
    "nie": Clase.NIF,
    "dni": Clase.NIF,
    "nombre": Clase.NOMBRE,
}

Buscados = list[tuple[str, Identificador]]


def de_la_solicitud(solicitud: Solicitud) -> Buscados:
    """``[(kind, identifier), …]``: what was given at intake and, where it is distinctive, the subject's id.

    Empty once the request is closed: by then they have been destroyed.
    """
    buscados: Buscados = []
    for nombre, valor in solicitud.identificadores().items():
        clase = _CLASES.get(nombre.partition("-")[0], Clase.OTRO)
        if identificador := entender(clase, valor):
            buscados.append((str(clase), identificador))
    if es_distintivo(solicitud.sujeto_id) and (propio := entender(Clase.OTRO, solicitud.sujeto_id)):
        buscados.append((SUJETO, propio))
    return buscados


def como_se_escribe(solicitud: Solicitud) -> Buscados:
    """Those, and each two words together of a longer name: how a person is called in a sentence."""
    buscados = de_la_solicitud(solicitud)
    for clase, identificador in list(buscados):
        palabras = identificador.valor.split() if clase == Clase.NOMBRE else []
        for dos in pairwise(palabras):
            if parte := entender(Clase.NOMBRE, " ".join(dos)):
                buscados.append((clase, parte))
    return buscados


def sumar(unos: Mapping[str, str], otros: Mapping[str, str]) -> dict[str, str]:
    """Both sets of identifiers: a second e-mail is one more, not the first one corrected."""
    suma = dict(unos)
    for nombre, valor in otros.items():
        if valor in suma.values():
            continue
        libre, n = nombre, 1
        while libre in suma:
            n += 1
            libre = f"{nombre}-{n}"
        suma[libre] = valor
    return suma


def hallados(buscados: Buscados, textos: list[str]) -> list[str]:
    """Which kinds of identifier some of the texts hold, each once."""
    return list(dict.fromkeys(clase for clase, i in buscados if any(i.tramos(t) for t in textos)))


def textos_de_fila(prefijo: str, clave: str, valor: Any) -> list[str]:
    """Every text of a row of the store: each part of its address and all that its value holds."""
    return [*map(descodificada, prefijo.split(".")), clave, *textos_de(valor)]


def descodificada(etiqueta: str) -> str:
    """A label of the store as the id it is of (see :func:`memoria.politica.espacio`)."""
    return etiqueta.replace("%2E", ".").replace("%25", "%")


def textos_de(valor: Any) -> list[str]:
    """Every text in a JSON value: strings, numbers, and the keys of its objects."""
    if isinstance(valor, str):
        return [valor]
    if isinstance(valor, dict):
        return [t for k, v in valor.items() for t in (k, *textos_de(v))]
    if isinstance(valor, list):
        return [t for v in valor for t in textos_de(v)]
    if isinstance(valor, (int, float)) and not isinstance(valor, bool):
        return [str(valor)]
    return []


def tapar(buscados: Buscados, texto: str) -> str:
    """A text with every one of the identifiers masked in it."""
    return enmascarar(texto, sorted(t for _clase, i in buscados for t in i.tramos(texto)))


#: Letters shown on each side of what was found.
CONTEXTO = 60


def fragmento(buscados: Buscados, texto: str) -> str:
    """The part of a text around the first identifier it holds, all of them masked; empty with none."""
    tramos = sorted(t for _clase, i in buscados for t in i.tramos(texto))
    if not tramos:
        return ""
    inicio, fin = max(0, tramos[0][0] - CONTEXTO), min(len(texto), tramos[0][1] + CONTEXTO)
    tapado = enmascarar(texto, tramos)
    return ("…" if inicio else "") + tapado[inicio:fin] + ("…" if fin < len(texto) else "")
