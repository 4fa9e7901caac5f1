"""What purchasing does with supplier notices: write, correct, withdraw and search them.

A notice lives in the agents' memory and nowhere else; the log entry of each change names its key, never its
text.

Two people on one notice: the check of the version and the write must be one step, and they happen on two
connections (Django's reads, the store's pool writes). A ``SELECT … FOR UPDATE`` on Django's would make our
own ``put`` wait for ourselves for ever, so each change takes a PostgreSQL advisory lock of its own notice,
held by Django's transaction until the ``put`` has been committed. It is a transaction lock: it works through
a pooler.
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from psycopg import OperationalError

from compras.almacen import almacen
from compras.errores import (
    AvisoCaducado,
    AvisoCambiado,
    AvisoDanado,
    AvisoNoExiste,
    AvisoNoValido,
    ClaveRepetida,
    ErrorDeCompras,
    MemoriaNoDisponible,
    ProveedorInactivo,
    SinPermiso,
)
from compras.lectura import Aviso, uno, varios
from compras.models import Proveedor
from memoria import politica
from memoria.almacen import DimensionDistinta
from memoria.busqueda import buscar_avisos
from memoria.conexion import BaseNoDisponible, BaseSinPreparar
from memoria.embeddings import ErrorEmbeddings
from memoria.politica import ESPACIOS, Importancia, Origen, PoliticaIncumplida

VER = "compras.ver_avisos"
ESCRIBIR = "compras.escribir_avisos"

#: Hits of a search on screen: more than an agent gets, few enough to read.
HALLAZGOS = 10
#: A notice may be dated tomorrow (it is already that day somewhere, or it takes effect then), not later.
DIAS_POR_DELANTE = 1

_REGLAS = ESPACIOS["proveedores"]


def escribir(
    *,
    proveedor: Proveedor,
    texto: str,
    fecha: date,
    importancia: str = Importancia.NORMAL,
    asunto: str = "",
    valido_hasta: date | None = None,
    por: User,
    clave: str | None = None,
) -> str:
    """Write a new notice and return its key.

    ``clave`` lets a form name the notice beforehand, so that sending it twice writes it once.

    Raises ``SinPermiso``, ``AvisoNoValido``, ``ProveedorInactivo``, ``ClaveRepetida`` and
    ``MemoriaNoDisponible``.
    """
    _exigir(por, ESCRIBIR)
    documento = componer(
        texto=texto, fecha=fecha, importancia=importancia, asunto=asunto, valido_hasta=valido_hasta
    )
    documento["autor"] = str(por.pk)
    clave = clave or nueva_clave()
    with _turno(proveedor, clave):
        if not Proveedor.objects.activos().filter(pk=proveedor.pk).exists():
            raise ProveedorInactivo
        if uno(proveedor.codigo, clave):
            raise ClaveRepetida
        _anotar(por, proveedor, clave, ADDITION, added={})
        with _traducir():
            almacen().put(_espacio(proveedor), clave, documento)
    return clave


def corregir(
    *,
    proveedor: Proveedor,
    clave: str,
    texto: str,
    fecha: date,
    importancia: str = Importancia.NORMAL,
    asunto: str = "",
    valido_hasta: date | None = None,
    version: datetime,
    por: User,
) -> None:
    """Correct a notice; who wrote it, when, and when it expires stay as they were.

    ``version`` is the :attr:`Aviso.version` that was being corrected.

    Raises ``SinPermiso``, ``AvisoNoValido``, ``AvisoNoExiste``, ``AvisoCaducado``, ``AvisoDanado``,
    ``AvisoCambiado`` (and then nothing was overwritten) and ``MemoriaNoDisponible``.
    """
    _exigir(por, ESCRIBIR)
    documento = componer(
        texto=texto, fecha=fecha, importancia=importancia, asunto=asunto, valido_hasta=valido_hasta
    )
    with _turno(proveedor, clave):
        aviso = _existente(proveedor, clave)
        if no_se_puede := motivo_de_no_corregir(aviso):
            raise no_se_puede
        if aviso.version != version:
            raise AvisoCambiado
        if aviso.autor:
            documento["autor"] = aviso.autor
        _anotar(por, proveedor, clave, CHANGE, changed={"fields": _cambiados(aviso, documento)})
        with _traducir():
            almacen().put(_espacio(proveedor), clave, documento, ttl=_resto_de_vida(aviso))


def motivo_de_no_corregir(aviso: Aviso) -> ErrorDeCompras | None:
    """Why nobody can correct that notice, as the error that says so; ``None`` when it can be."""
    if aviso.caducado:
        return AvisoCaducado()
    return AvisoDanado() if aviso.danos else None


def retirar(*, proveedor: Proveedor, clave: str, por: User) -> None:
    """Delete a notice from the memory, expired or not.

    Raises ``SinPermiso``, ``AvisoNoExiste`` and ``MemoriaNoDisponible``.
    """
    _exigir(por, ESCRIBIR)
    with _turno(proveedor, clave):
        _existente(proveedor, clave)
        _anotar(por, proveedor, clave, DELETION, deleted={})
        with _traducir():
            almacen().delete(_espacio(proveedor), clave)


@dataclass(frozen=True)
class Hallazgos:
    """The answer to a search. Without ``por_significado`` only the words themselves were looked for."""

    avisos: list[Aviso]
    por_significado: bool


def buscar(*, proveedor: Proveedor, consulta: str, por: User, limite: int = HALLAZGOS) -> Hallazgos:
    """The notices of one supplier that answer ``consulta``, best first. Nothing is renewed by looking.

    Raises ``SinPermiso`` and ``MemoriaNoDisponible``.
    """
    _exigir(por, VER)
    with _traducir():
        memoria = almacen()
        claves = [h.key for h in buscar_avisos(memoria, proveedor.codigo, consulta, limite=limite)]
    return Hallazgos(varios(proveedor.codigo, claves), por_significado=memoria.modelo is not None)


def componer(
    *,
    texto: str,
    fecha: date,
    importancia: str = Importancia.NORMAL,
    asunto: str = "",
    valido_hasta: date | None = None,
) -> dict[str, Any]:
    """The document of a notice, checked against every rule: screens, services and the import share them.

    Raises ``AvisoNoValido``, whose sentence never repeats the text.
    """
    documento = {
        "texto": texto.replace("\r\n", "\n").replace("\r", "\n").strip(),
        "fecha": fecha.isoformat(),
        "importancia": str(importancia),
        "origen": str(Origen.COMPRAS),
    }
    if asunto.strip():
        documento["asunto"] = asunto.strip()
    if valido_hasta:
        documento["valido_hasta"] = valido_hasta.isoformat()
    if not documento["texto"]:
        raise AvisoNoValido(_("Escriba el texto del aviso."), campo="texto")
    for campo in _REGLAS.campos:
        if len(documento.get(campo.nombre, "")) > campo.maximo:
            raise AvisoNoValido(
                _("Aquí caben %(maximo)s caracteres y hay %(hay)s: acórtelo.")
                % {"maximo": campo.maximo, "hay": len(documento[campo.nombre])},
                campo=campo.nombre,
            )
    if importancia not in tuple(Importancia):
        raise AvisoNoValido(_("La importancia es normal o alta."), campo="importancia")
    if fecha > timezone.localdate() + timedelta(days=DIAS_POR_DELANTE):
        raise AvisoNoValido(
            _("La fecha es la del día en que se supo: no puede estar en el futuro."), campo="fecha"
        )
    if valido_hasta and valido_hasta < fecha:
        raise AvisoNoValido(_("La validez termina antes de la fecha del aviso."), campo="valido_hasta")
    try:
        politica.comprobar_documento(_REGLAS, "clave", documento)
    except PoliticaIncumplida as error:
        # All that is left to break: its sentence speaks of documents and fields, ours to whoever typed.
        raise AvisoNoValido(
            _("Hay caracteres invisibles que no se pueden guardar: bórrelos o escríbalo de nuevo."),
            campo="texto",
        ) from error
    return documento


def nueva_clave() -> str:
    """Sortable by time and unique: 12 hexadecimal digits of milliseconds and 20 of chance."""
    return f"{time.time_ns() // 1_000_000:012x}{secrets.token_hex(10)}"


def _exigir(por: User, permiso: str) -> None:
    if not por.has_perm(permiso):
        raise SinPermiso


def _espacio(proveedor: Proveedor) -> tuple[str, str]:
    return politica.espacio("proveedores", proveedor.codigo)


@contextmanager
def _turno(proveedor: Proveedor, clave: str) -> Iterator[None]:
    """One change at a time of this notice, until the end of the transaction."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"aviso:{proveedor.codigo}:{clave}"]
            )
        yield


def _existente(proveedor: Proveedor, clave: str) -> Aviso:
    aviso = uno(proveedor.codigo, clave)
    if aviso is None:
        raise AvisoNoExiste
    return aviso


def _resto_de_vida(aviso: Aviso) -> int:
    """Whole minutes left. The store keeps the expiry of a living notice whatever we say here; but should it
    expire between our check and the write, it must not be born again with a whole life."""
    if aviso.caduca is None:
        return _REGLAS.vida_minutos
    return max(1, math.ceil((aviso.caduca - timezone.now()).total_seconds() / 60))


def _cambiados(aviso: Aviso, documento: dict[str, Any]) -> list[str]:
    antes = {c: v.isoformat() if isinstance(v, date) else v for c, v in aviso.contenido.items() if v}
    return [c for c in aviso.contenido if antes.get(c) != documento.get(c)]


def _anotar(por: User, proveedor: Proveedor, clave: str, accion: int, **hecho: dict[str, Any]) -> None:
    """The log entry. ``hecho`` is the verb of Django's own log, with what it says besides which notice."""
    LogEntry.objects.log_actions(
        user_id=por.pk,
        queryset=Proveedor.objects.filter(pk=proveedor.pk),
        action_flag=accion,
        change_message=[{verbo: {"name": "aviso", "object": clave, **mas}} for verbo, mas in hecho.items()],
        single_object=True,
    )


@contextmanager
def _traducir() -> Iterator[None]:
    """The edge of the memory: its errors in the words of this app."""
    try:
        yield
    except PoliticaIncumplida as error:
        raise AvisoNoValido(str(error)) from error
    except (BaseNoDisponible, BaseSinPreparar, DimensionDistinta, ErrorEmbeddings, OperationalError) as error:
        raise MemoriaNoDisponible from error
