"""The written list: what the agents' memory keeps, where, in which shape and for how long.

Everything else derives from this module: the tool schemas, the checks of the store, the row-level
security of the database, the screens and the alarms. It is pure Python on purpose: no Django, no
database, nothing read from the environment.

The picture to keep in mind is the card behind the counter: on it goes what a person has said and no
other system holds. Nothing a model infers, nothing a business table already knows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Any

MINUTOS_POR_DIA = 24 * 60
#: A safety net only: every write carries the lifetime of its namespace.
VIDA_POR_DEFECTO_MINUTOS = 365 * MINUTOS_POR_DIA
#: A read renews only what has lost more than this; the rest of the reads write nothing at all.
RENOVACION_PEREZOSA_MINUTOS = MINUTOS_POR_DIA
#: PostgreSQL indexes ``(prefix, key)``; a longer label or key would break the index page, not the rule.
LARGO_MAXIMO_ETIQUETA = 200
LARGO_MAXIMO_CLAVE = 200
#: Similarity below which a notice is no answer, when the embedding model says nothing of its own scale.
UMBRAL_POR_DEFECTO = 0.4


class PoliticaIncumplida(ValueError):
    """A write breaks the memory policy. The message is a Spanish sentence to act on.

    It never repeats the text that was refused: that text may be personal data.
    """


class TipoPreferencia(StrEnum):
    """The closed list of what a person may ask to be remembered."""

    RECOGIDA = "recogida"
    CONTACTO = "contacto"
    IDIOMA = "idioma"
    HORARIO = "horario"
    SECCION = "seccion"


class Escritor(StrEnum):
    """Who writes a namespace. Supplier notices are written by people, never by a model."""

    AGENTE = "agente"
    COMPRAS = "compras"


class Origen(StrEnum):
    """Who declared what a document says."""

    CLIENTE = "cliente"
    EMPLEADO = "empleado"
    COMPRAS = "compras"


class Importancia(StrEnum):
    """Set by people, never by a model."""

    NORMAL = "normal"
    ALTA = "alta"


@dataclass(frozen=True)
class Campo:
    """One key of a document.

    ``maximo`` is in characters; ``valores`` closes the field; ``es_fecha`` asks for ``AAAA-MM-DD``.
    """

    nombre: str
    maximo: int
    obligatorio: bool = True
    valores: tuple[str, ...] = ()
    es_fecha: bool = False


@dataclass(frozen=True)
class Espacio:
    """One root namespace and its rules.

    ``finalidad`` is what the documents are kept for, as whom they are about is told (art. 15(1)(a) GDPR).
    ``vida_minutos`` is the longest a document lives without being read or said again, in whole minutes.
    ``incrusta`` says whether ``texto`` (and only ``texto``) is embedded for search by meaning.
    ``documentos_esperados`` is the number of documents per subject above which the closed list must have
    been opened by somebody; ``None`` where there is no such number.
    """

    nombre: str
    finalidad: str
    escritor: Escritor
    vida_minutos: int
    renueva_al_leer: bool
    incrusta: bool
    campos: tuple[Campo, ...]
    tipos: tuple[TipoPreferencia, ...] = ()
    documentos_esperados: int | None = None

    @property
    def conserva_vida_al_corregir(self) -> bool:
        """A correction of a notice is not a new notice; a preference said again is said anew."""
        return not self.renueva_al_leer


def _preferencia(origen: Origen, tipos: tuple[TipoPreferencia, ...]) -> tuple[Campo, ...]:
    return (
        Campo("texto", maximo=300),
        Campo("tipo", maximo=40, valores=tuple(tipos)),
        Campo("valor", maximo=200),
        Campo("origen", maximo=20, valores=(origen,)),
        Campo("hilo", maximo=200),
    )


_TIPOS_CLIENTE = (
    TipoPreferencia.RECOGIDA,
    TipoPreferencia.CONTACTO,
    TipoPreferencia.IDIOMA,
    TipoPreferencia.HORARIO,
)
_TIPOS_EMPLEADO = (TipoPreferencia.SECCION,)

ESPACIOS: Mapping[str, Espacio] = {
    e.nombre: e
    for e in (
        Espacio(
            nombre="clientes",
            finalidad="Atender a la persona, en sus próximas conversaciones, como ella misma ha pedido.",
            escritor=Escritor.AGENTE,
            vida_minutos=365 * MINUTOS_POR_DIA,
            renueva_al_leer=True,
            incrusta=False,
            campos=_preferencia(Origen.CLIENTE, _TIPOS_CLIENTE),
            tipos=_TIPOS_CLIENTE,
            documentos_esperados=len(_TIPOS_CLIENTE),
        ),
        Espacio(
            nombre="proveedores",
            finalidad=(
                "Que quien planifica las compras tenga en cuenta lo que se sabe del proveedor y todavía "
                "no es una incidencia."
            ),
            escritor=Escritor.COMPRAS,
            vida_minutos=90 * MINUTOS_POR_DIA,
            renueva_al_leer=False,
            incrusta=True,
            campos=(
                Campo("texto", maximo=4000),
                Campo("fecha", maximo=10, es_fecha=True),
                Campo("importancia", maximo=20, obligatorio=False, valores=tuple(Importancia)),
                Campo("asunto", maximo=120, obligatorio=False),
                Campo("valido_hasta", maximo=10, obligatorio=False, es_fecha=True),
                Campo("origen", maximo=20, obligatorio=False, valores=(Origen.COMPRAS,)),
                Campo("autor", maximo=40, obligatorio=False),
            ),
        ),
        Espacio(
            nombre="empleados",
            finalidad="Atender al empleado según la sección en la que ha dicho que trabaja.",
            escritor=Escritor.AGENTE,
            vida_minutos=180 * MINUTOS_POR_DIA,
            renueva_al_leer=True,
            incrusta=False,
            campos=_preferencia(Origen.EMPLEADO, _TIPOS_EMPLEADO),
            tipos=_TIPOS_EMPLEADO,
            documentos_esperados=len(_TIPOS_EMPLEADO),
        ),
    )
}


# -- namespaces and subjects ----------------------------------------------------------------------


def espacio(nombre: str, sujeto_id: str) -> tuple[str, str]:
    """The LangGraph namespace of one subject: ``espacio("clientes", "C9") -> ("clientes", "C9")``.

    Any non-empty id maps to exactly one label and back (see :func:`sujeto`): the characters a LangGraph
    label or a PostgreSQL text cannot hold (a period, NUL and the other control characters) are
    percent-encoded, and so is the percent sign itself.

    Raises :class:`PoliticaIncumplida` for an unknown namespace or an empty id.
    """
    _definicion(nombre)
    if not isinstance(sujeto_id, str) or not sujeto_id:
        raise PoliticaIncumplida(f"El identificador del sujeto en «{nombre}» está vacío: indique uno.")
    return nombre, _ESPECIALES.sub(lambda m: f"%{ord(m[0]):02X}", sujeto_id)


def sujeto(de: Sequence[str] | str) -> tuple[str, str]:
    """The inverse of :func:`espacio`, from a namespace or from the ``prefix`` column of ``store``.

    ``sujeto("clientes.C9") == sujeto(("clientes", "C9")) == ("clientes", "C9")``.

    Raises :class:`PoliticaIncumplida` when it is not the namespace of a subject.
    """
    partes = tuple(de.split(".")) if isinstance(de, str) else tuple(de)
    if len(partes) != 2:
        raise PoliticaIncumplida(
            f"Un espacio tiene dos partes, nombre e identificador, y este tiene {len(partes)}."
        )
    nombre, etiqueta = partes
    if not isinstance(etiqueta, str):
        raise PoliticaIncumplida("El identificador de un sujeto es un texto.")
    identificador = _CODIFICADO.sub(lambda m: chr(int(m[1], 16)), etiqueta)
    if espacio(nombre, identificador)[1] != etiqueta:
        raise PoliticaIncumplida(
            f"La etiqueta del sujeto en «{nombre}» no es canónica: constrúyala con politica.espacio()."
        )
    return nombre, identificador


def prefijo(nombre: str, sujeto_id: str) -> str:
    """The ``prefix`` column of ``store`` for one subject: ``prefijo("clientes", "C9") -> "clientes.C9"``."""
    return ".".join(espacio(nombre, sujeto_id))


def espacio_de(namespace: Sequence[str]) -> Espacio:
    """The rules of the namespace a document lives in. Raises :class:`PoliticaIncumplida`."""
    return ESPACIOS[sujeto(namespace)[0]]


_ESPECIALES = re.compile(r"[%.\x00-\x1f\x7f]")
_CODIFICADO = re.compile(r"%([0-9A-F]{2})")
#: What no text that is kept may hold: control characters (line breaks and tabs are fine) and lone surrogates.
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|[\ud800-\udfff]")


def _definicion(nombre: str) -> Espacio:
    try:
        return ESPACIOS[nombre]
    except (KeyError, TypeError):
        raise PoliticaIncumplida(
            f"El espacio no está en la política; los que hay son: {', '.join(ESPACIOS)}."
        ) from None


# -- documents ------------------------------------------------------------------------------------

_FRASES: Mapping[TipoPreferencia, str] = {
    TipoPreferencia.RECOGIDA: "Prefiere recoger sus pedidos así: {valor}",
    TipoPreferencia.CONTACTO: "Prefiere que se le contacte así: {valor}",
    TipoPreferencia.IDIOMA: "Prefiere que se le hable en: {valor}",
    TipoPreferencia.HORARIO: "Prefiere este horario: {valor}",
    TipoPreferencia.SECCION: "Trabaja en la sección: {valor}",
}


def clave_preferencia(tipo: TipoPreferencia) -> str:
    """One key per kind, so a new value of the same kind overwrites the old one."""
    return f"pref-{tipo}"


def documento_preferencia(nombre: str, *, tipo: str, valor: str, hilo: str) -> tuple[str, dict[str, Any]]:
    """Key and document of a preference declared in thread ``hilo`` by a subject of namespace ``nombre``.

    Raises :class:`PoliticaIncumplida` when the kind is not one of the namespace or the value is unusable.
    """
    definicion = _definicion(nombre)
    if tipo not in definicion.tipos:
        raise PoliticaIncumplida(_tipo_desconocido(definicion))
    kind = TipoPreferencia(tipo)
    valor = valor.strip() if isinstance(valor, str) else valor
    documento = {
        "texto": _FRASES[kind].format(valor=valor),
        "tipo": str(kind),
        "valor": valor,
        "origen": str(next(c for c in definicion.campos if c.nombre == "origen").valores[0]),
        "hilo": hilo,
    }
    clave = clave_preferencia(kind)
    comprobar_documento(definicion, clave, documento)
    return clave, documento


def comprobar_escritura(
    namespace: Sequence[str], clave: str, documento: Any, ttl: float | None, escritor: Escritor
) -> int:
    """Check one write against the whole policy; returns its lifetime in whole minutes.

    ``ttl`` is what the caller asked for, in minutes; ``None`` takes the lifetime of the namespace.

    Raises :class:`PoliticaIncumplida`.
    """
    nombre, identificador = sujeto(namespace)
    definicion = ESPACIOS[nombre]
    if len(namespace[1]) > LARGO_MAXIMO_ETIQUETA:
        raise PoliticaIncumplida(
            f"El identificador del sujeto en «{nombre}» pasa de {LARGO_MAXIMO_ETIQUETA} caracteres: "
            "use el identificador del sistema de origen, no un texto."
        )
    if CONTROL.search(identificador):
        raise PoliticaIncumplida(
            f"El identificador del sujeto en «{nombre}» tiene caracteres de control: no puede ser de nadie."
        )
    if escritor is not definicion.escritor:
        raise PoliticaIncumplida(escritor_equivocado(definicion))
    comprobar_documento(definicion, clave, documento)
    return comprobar_vida(definicion, ttl)


def comprobar_vida(definicion: Espacio, ttl: float | None) -> int:
    """The lifetime of a write in whole minutes, never longer than the namespace allows.

    LangGraph keeps ``ttl_minutes`` in an INT column: a fraction would become 0 at the first renewal.
    """
    if ttl is None:
        return definicion.vida_minutos
    if isinstance(ttl, bool) or not isinstance(ttl, (int, float)) or not float(ttl).is_integer() or ttl < 1:
        raise PoliticaIncumplida(
            f"La vida de un documento de «{definicion.nombre}» se da en minutos enteros, 1 o más; "
            f"omita ttl para que sea la del espacio ({definicion.vida_minutos})."
        )
    if ttl > definicion.vida_minutos:
        raise PoliticaIncumplida(
            f"Un documento de «{definicion.nombre}» vive como mucho {definicion.vida_minutos} minutos."
        )
    return int(ttl)


def comprobar_documento(definicion: Espacio, clave: str, documento: Any) -> None:
    """Check key and shape of a document. Raises :class:`PoliticaIncumplida`."""
    if not isinstance(clave, str) or not clave or len(clave) > LARGO_MAXIMO_CLAVE or CONTROL.search(clave):
        raise PoliticaIncumplida(
            f"La clave de un documento de «{definicion.nombre}» es un texto de 1 a {LARGO_MAXIMO_CLAVE} "
            "caracteres sin caracteres de control."
        )
    if not isinstance(documento, Mapping) or not all(isinstance(campo, str) for campo in documento):
        raise PoliticaIncumplida(f"Un documento de «{definicion.nombre}» es un objeto con sus campos.")
    sobran = sorted(set(documento) - {c.nombre for c in definicion.campos})
    if sobran:
        raise PoliticaIncumplida(
            f"Un documento de «{definicion.nombre}» no lleva {_enumerar(sobran)}; lleva "
            f"{_enumerar([c.nombre for c in definicion.campos])}."
        )
    for campo in definicion.campos:
        _comprobar_campo(definicion, campo, documento)
    if definicion.tipos and clave != clave_preferencia(TipoPreferencia(documento["tipo"])):
        raise PoliticaIncumplida(
            f"La clave de una preferencia es «pref-» y su tipo: aquí «pref-{documento['tipo']}»."
        )


def comprobar_guardado(prefijo: str, clave: str, documento: Any) -> None:
    """Check a row of ``store`` as it is, whoever wrote it. Raises :class:`PoliticaIncumplida`."""
    nombre, _sujeto_id = sujeto(prefijo)
    comprobar_documento(ESPACIOS[nombre], clave, documento)


def _comprobar_campo(definicion: Espacio, campo: Campo, documento: Mapping[str, Any]) -> None:
    quien = f"El campo «{campo.nombre}» de «{definicion.nombre}»"
    valor = documento.get(campo.nombre)
    if valor is None and not campo.obligatorio and campo.nombre not in documento:
        return
    if not isinstance(valor, str) or not valor.strip():
        raise PoliticaIncumplida(f"{quien} es un texto y no puede estar vacío.")
    if CONTROL.search(valor):
        raise PoliticaIncumplida(f"{quien} tiene caracteres de control que no se pueden guardar: quítelos.")
    if len(valor) > campo.maximo:
        raise PoliticaIncumplida(f"{quien} tiene {len(valor)} caracteres y el máximo es {campo.maximo}.")
    if campo.valores and valor not in campo.valores:
        raise PoliticaIncumplida(
            _tipo_desconocido(definicion)
            if campo.nombre == "tipo"
            else f"{quien} solo puede ser {_enumerar(campo.valores)}."
        )
    if campo.es_fecha and not _es_fecha(valor):
        raise PoliticaIncumplida(f"{quien} es una fecha de la forma AAAA-MM-DD.")


def _es_fecha(valor: str) -> bool:
    try:
        return date.fromisoformat(valor).isoformat() == valor
    except ValueError:
        return False


def _tipo_desconocido(definicion: Espacio) -> str:
    return (
        f"Ese tipo de preferencia no se guarda en «{definicion.nombre}»: "
        f"la lista cerrada es {_enumerar(definicion.tipos)}."
    )


def escritor_equivocado(definicion: Espacio) -> str:
    if definicion.escritor is Escritor.COMPRAS:
        return (
            "Los avisos de proveedor los escribe compras desde su aplicación, nunca un agente: "
            "abra el almacén con escritor=Escritor.COMPRAS y la conexión de la web."
        )
    return f"En «{definicion.nombre}» solo escriben los agentes: lo que se guarda lo declara la persona."


def _enumerar(nombres: Sequence[str]) -> str:
    return ", ".join(f"«{n[:40]}»" for n in nombres)
