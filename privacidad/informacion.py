"""What art. 15(1) GDPR asks to be told with the data: what for, which, to whom, for how long, from where.

Nothing of it is a fixed sentence about the house: purposes, periods and sources are those of
:mod:`memoria.politica`, recipients those this installation is configured with. What the application cannot
know (who runs those servers and in which country, what is done with the data elsewhere) is said to be
missing, so that whoever answers adds it.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit

from django.conf import settings

from memoria import entorno, politica
from memoria.explorador.palabras import nombre_de_tipo
from memoria.politica import Escritor, Espacio, Origen
from privacidad import entradas


class Informacion(NamedTuple):
    """The sentences, in Spanish, under one heading; ``letra`` is that of art. 15(1)."""

    letra: str
    titulo: str
    frases: list[str]


class Destinatario(NamedTuple):
    """A server this installation sends data to: its host name, and which data, what for."""

    servidor: str
    que: str


def informar(espacio: str) -> list[Informacion]:
    """Everything there is to tell of the data of a subject of that namespace, in the order of the article."""
    reglas = politica.ESPACIOS[espacio]
    return [
        Informacion("a", "Para qué se tratan", [reglas.finalidad, *_si_entra(reglas, _ENTRA_FINALIDAD)]),
        Informacion("b", "Qué datos se recuerdan", _categorias(reglas)),
        Informacion("c", "Quién los recibe", _quien_los_recibe(reglas)),
        Informacion("d", "Cuánto tiempo se guardan", _plazos(reglas)),
        Informacion("e", "Qué puede pedir", [_DERECHOS]),
        Informacion("f", "Ante quién puede reclamar", [_RECLAMAR]),
        Informacion(
            "g",
            "De dónde salen",
            [*(_ORIGENES[o] for o in _origenes(reglas)), *_si_entra(reglas, _ENTRA_ORIGEN)],
        ),
        Informacion("h", "Decisiones automatizadas", [_DECISIONES]),
    ]


def destinatarios(espacio: str) -> list[Destinatario]:
    """The servers that data of a subject of that namespace are sent to, as this process is configured.

    The mail server is not one of them: a reminder holds references and dates, and nothing of the person.
    """
    reglas = politica.ESPACIOS[espacio]
    habla = reglas.escritor is Escritor.AGENTE
    posibles = (
        (
            settings.LANGFUSE_URL if habla else "",
            "las trazas de lo que hacen los agentes en sus conversaciones (Langfuse), para ver si "
            "funcionan bien",
        ),
        (
            entorno.modelo().url,
            "lo que se dice en las conversaciones y lo que se recuerda, al modelo de lenguaje, para responder"
            if habla
            else "los avisos que consulta el agente de compras, al modelo de lenguaje, para proponer los "
            "pedidos",
        ),
        (
            entorno.embeddings().url,
            "el texto de los avisos, al modelo que los compara por su significado, para encontrarlos"
            if reglas.incrusta
            else "lo que un agente busca en los documentos y avisos de la casa, que puede repetir palabras "
            "de la conversación, al modelo que los compara por su significado, para encontrarlos",
        ),
    )
    return [Destinatario(urlsplit(url).hostname or url, que) for url, que in posibles if url]


def _categorias(reglas: Espacio) -> list[str]:
    if reglas.tipos:
        frase = f"Una lista cerrada de preferencias: {', '.join(nombre_de_tipo(t) for t in reglas.tipos)}."
    else:
        frase = "Avisos que conviene tener en cuenta al comprarle."
    frases = [frase, f"De cada dato: {', '.join(c.nombre.replace('_', ' ') for c in reglas.campos)}."]
    if reglas.escritor is Escritor.AGENTE:
        frases.append("Aparte, las conversaciones con los agentes tal como se mantuvieron.")
    return [*frases, *_si_entra(reglas, _ENTRA_CATEGORIAS)]


def _quien_los_recibe(reglas: Espacio) -> list[str]:
    hay = destinatarios(reglas.nombre)
    frases = [f"{d.servidor}: {d.que}." for d in hay]
    if entorno.modelo().url:
        frases.append("Esta aplicación no los comunica a nadie más.")
    else:
        # Agents answer with some model: that none is configured here does not mean that there is none.
        frases.append(
            f"Esta aplicación no los comunica a nadie{' más' * bool(hay)}. El modelo de lenguaje de los "
            "agentes no está configurado en ella: si lo sirve otro sistema, también los recibe, y el "
            "responsable debe decir cuál es."
        )
    if hay:
        frases.append(
            "La aplicación no sabe qué empresa lleva esos servidores ni en qué país están: lo dice el "
            "responsable del tratamiento."
        )
    return frases


def _plazos(reglas: Espacio) -> list[str]:
    dias = reglas.vida_minutos // politica.MINUTOS_POR_DIA
    desde = "desde la última vez que se usa o se repite" if reglas.renueva_al_leer else "desde que se escribe"
    frases = [
        f"Cada dato recordado, {dias} días {desde}; uno cuyo uso está limitado, mientras lo esté.",
        "Las conversaciones no tienen plazo en la política de la memoria: se guardan hasta que se borran.",
        f"Este expediente, {settings.ACCESO_DIAS} días desde que se produce.",
        "Lo bloqueado tras una supresión, hasta la fecha que figura en cada dato. De una solicitud "
        "cerrada quedan sus fechas, sus pasos y un resumen con clave, sin el identificador.",
        *_si_entra(reglas, _ENTRA_PLAZO % {"horas": settings.SESSION_COOKIE_AGE // 3600}),
    ]
    if settings.COPIAS_DIAS:
        frases.append(f"Lo borrado puede seguir en copias de seguridad otros {settings.COPIAS_DIAS} días.")
    else:
        frases.append("Cuánto se guardan las copias de seguridad no consta en la aplicación.")
    return frases


def _si_entra(reglas: Espacio, frase: str) -> list[str]:
    """A sentence about those who sign in to this application, which of all subjects only employees do."""
    return [frase] if reglas.nombre == entradas.ESPACIO else []


def _origenes(reglas: Espacio) -> list[Origen]:
    """Who declares what is remembered there, as its documents say."""
    return [Origen(v) for c in reglas.campos if c.nombre == "origen" for v in c.valores]


_ORIGENES = {
    Origen.CLIENTE: "De la propia persona, que lo declara al hablar con un agente.",
    Origen.EMPLEADO: "Del propio empleado, que lo declara al hablar con un agente.",
    Origen.COMPRAS: "Del personal de compras, que lo anota en su aplicación; nunca de un modelo.",
}
_DERECHOS = (
    "Que se corrijan, que se supriman, que se limite su uso, recibirlos en un formato que lea una máquina "
    "(el documento JSON adjunto) y oponerse a que se traten."
)
_RECLAMAR = "Ante la Agencia Española de Protección de Datos (www.aepd.es)."
_DECISIONES = (
    "Esta aplicación no toma decisiones sobre la persona ni deduce nada de ella: recuerda lo que se ha "
    "declarado. De otros tratamientos informa el responsable."
)
_ENTRA_FINALIDAD = (
    "Si entra en esta aplicación, su cuenta y sus accesos, para saber quién puede hacer qué y para proteger "
    "las cuentas."
)
_ENTRA_CATEGORIAS = (
    "Si entra en esta aplicación, su cuenta y sus accesos: de cada uno, cuándo, desde qué dirección y con "
    "qué programa."
)
_ENTRA_PLAZO = (
    "La cuenta, mientras exista. Los accesos no tienen plazo en la aplicación: se guardan hasta que se "
    "suprimen. Una sesión caduca a las %(horas)s horas."
)
_ENTRA_ORIGEN = "De sus accesos a esta aplicación: lo anota la aplicación al entrar."
