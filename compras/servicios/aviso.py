"""Writing and correcting a notice.

A notice lives in the agents' memory and nowhere else; the log entry of each change names its key, never its
text.
"""

from __future__ import annotations

import json
import math
import secrets
import time
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any

from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.utils import timezone
from django.utils.translation import gettext as _

from compras.almacen import almacen
from compras.errores import (
    AvisoCaducado,
    AvisoCambiado,
    AvisoDanado,
    AvisoNoValido,
    ClaveRepetida,
    ErrorDeCompras,
    ProveedorInactivo,
    frase_de,
)
from compras.lectura import Aviso, uno
from compras.models import Proveedor
from compras.servicios.paso import (
    ESCRIBIR,
    anotar,
    del_aviso,
    espacio,
    exigir,
    existente,
    traducir,
    turno,
)
from memoria import politica
from memoria.citado import sin_invisibles
from memoria.politica import ESPACIOS, Importancia, Origen, PoliticaIncumplida
from memoria.vallas import DatoLimitado

#: A notice may be dated tomorrow (it is already that day somewhere, or it takes effect then), not later.
DIAS_POR_DELANTE = 1
#: Nothing that anybody writes now was known before: a year of two figures, typed where four go.
PRIMER_DIA = date(2000, 1, 1)

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
    admitidos: Mapping[str, Any] | None = None,
) -> str:
    """Write a new notice and return its key.

    ``clave`` lets a form name the notice beforehand, so that sending it twice writes it once. ``admitidos``
    goes to the log: which kinds of personal identifiers it holds knowingly, and why (see
    :class:`memoria.identificadores_form.ConIdentificadores`).

    Raises ``SinPermiso``, ``AvisoNoValido``, ``ProveedorInactivo``, ``ClaveRepetida`` and
    ``MemoriaNoDisponible``.
    """
    exigir(por, ESCRIBIR)
    documento = componer(
        texto=texto, fecha=fecha, importancia=importancia, asunto=asunto, valido_hasta=valido_hasta
    )
    documento["autor"] = str(por.pk)
    clave = clave or nueva_clave()
    with turno(proveedor, clave):
        if not Proveedor.objects.activos().filter(pk=proveedor.pk).exists():
            raise ProveedorInactivo
        if uno(proveedor.codigo, clave):
            raise ClaveRepetida
        anotar(por, proveedor, ADDITION, {**del_aviso(clave), **(admitidos or {})})
        with traducir():
            almacen().put(espacio(proveedor), clave, documento)
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
    admitidos: Mapping[str, Any] | None = None,
) -> None:
    """Correct a notice; who wrote it, when, and when it expires stay as they were.

    ``version`` is the :attr:`Aviso.version` that was being corrected; ``admitidos`` as in :func:`escribir`.

    Raises ``SinPermiso``, ``AvisoNoValido``, ``AvisoNoExiste``, ``AvisoCaducado``, ``AvisoDanado``,
    ``AvisoCambiado`` (and then nothing was overwritten) and ``MemoriaNoDisponible``.
    """
    exigir(por, ESCRIBIR)
    documento = componer(
        texto=texto, fecha=fecha, importancia=importancia, asunto=asunto, valido_hasta=valido_hasta
    )
    with turno(proveedor, clave):
        aviso = existente(proveedor, clave)
        if no_se_puede := motivo_de_no_corregir(aviso):
            raise no_se_puede
        if aviso.version != version:
            raise AvisoCambiado
        if aviso.autor:
            documento["autor"] = aviso.autor
        hecho = {**del_aviso(clave), "fields": _cambiados(aviso, documento), **(admitidos or {})}
        anotar(por, proveedor, CHANGE, hecho)
        with traducir():
            almacen().put(espacio(proveedor), clave, documento, ttl=_resto_de_vida(aviso))


def motivo_de_no_corregir(aviso: Aviso) -> ErrorDeCompras | None:
    """Why nobody can correct that notice, as the error that says so; ``None`` when it can be."""
    if aviso.caducado:
        return AvisoCaducado()
    if aviso.limitado:
        return AvisoNoValido(frase_de(DatoLimitado()))
    return AvisoDanado() if aviso.danos else None


def quien_cambio(proveedor: Proveedor, clave: str) -> str | None:
    """The name of who last changed that notice, as the log has it; ``None`` when nobody did it here."""
    entrada = (
        LogEntry.objects.filter(
            content_type=ContentType.objects.get_for_model(Proveedor),
            object_id=str(proveedor.pk),
            # As a piece of the entry: a key may be any text, and another entry may hold it elsewhere.
            change_message__contains=json.dumps(del_aviso(clave))[1:-1],
        )
        .select_related("user")
        .order_by("-action_time", "-pk")
        .first()
    )
    return (entrada.user.get_full_name() or entrada.user.get_username()) if entrada else None


def componer(
    *,
    texto: str,
    fecha: date,
    importancia: str = Importancia.NORMAL,
    asunto: str = "",
    valido_hasta: date | None = None,
) -> dict[str, Any]:
    """The document of a notice, checked against every rule: screens, services and the import share them.

    Characters that nobody sees go: what comes with a paste hides nothing from whoever reads, nor a word from
    the search.

    Raises ``AvisoNoValido``, whose sentence never repeats the text.
    """
    documento = {
        "texto": sin_invisibles(texto).replace("\r\n", "\n").replace("\r", "\n").strip(),
        "fecha": fecha.isoformat(),
        "importancia": str(importancia),
        "origen": str(Origen.COMPRAS),
    }
    if asunto := sin_invisibles(asunto).strip():
        documento["asunto"] = asunto
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
    if fecha < PRIMER_DIA:
        raise AvisoNoValido(
            _("La fecha es anterior al año %(anio)s: escriba el año con sus cuatro cifras.")
            % {"anio": PRIMER_DIA.year},
            campo="fecha",
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


def _resto_de_vida(aviso: Aviso) -> int:
    """Whole minutes left. The store keeps the expiry of a living notice whatever we say here; but should it
    expire between our check and the write, it must not be born again with a whole life."""
    if aviso.caduca is None:
        return _REGLAS.vida_minutos
    return max(1, math.ceil((aviso.caduca - timezone.now()).total_seconds() / 60))


def _cambiados(aviso: Aviso, documento: dict[str, Any]) -> list[str]:
    antes = {c: v.isoformat() if isinstance(v, date) else v for c, v in aviso.contenido.items() if v}
    return [c for c in aviso.contenido if antes.get(c) != documento.get(c)]
