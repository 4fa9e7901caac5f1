"""Reads of supplier notices for the screens, from the mirror of the store: looking renews nothing."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from django.contrib.auth.models import User
from django.db.models import F, Q
from django.db.models.fields.json import KT
from django.utils import timezone

from memoria import politica
from memoria.models import Documento
from memoria.politica import Importancia
from memoria.querysets import DocumentoQuerySet

ESPACIO = "proveedores"
AVISOS_POR_PAGINA = 50
_ORDEN = ("fecha", "created_at", "prefix", "key")


@dataclass(frozen=True)
class Aviso:
    """One notice. ``fecha`` is the day it was known, ``escrito`` the moment it was written here."""

    proveedor_id: str
    clave: str
    texto: str
    fecha: date
    importancia: str
    asunto: str
    valido_hasta: date | None
    autor: str
    escrito: datetime
    #: When it was last written: what a correction says it was based on.
    version: datetime
    caduca: datetime | None

    @property
    def contenido(self) -> dict[str, Any]:
        """What a person may change, by the names of :func:`compras.avisos.escribir`."""
        return {
            "texto": self.texto,
            "fecha": self.fecha,
            "importancia": self.importancia,
            "asunto": self.asunto,
            "valido_hasta": self.valido_hasta,
        }

    @property
    def corregido(self) -> datetime | None:
        return self.version if self.version > self.escrito else None

    @property
    def caducado(self) -> bool:
        """Expired: agents no longer read it, and it waits to be deleted."""
        return self.caduca is not None and self.caduca <= timezone.now()

    @property
    def es_importante(self) -> bool:
        return self.importancia == Importancia.ALTA

    @property
    def validez_pasada(self) -> bool:
        """What it says held until a day that is over; agents still read it until it expires."""
        return self.valido_hasta is not None and self.valido_hasta < timezone.localdate()


@dataclass(frozen=True)
class Filtros:
    """What the list shows. ``estado``: "vigente", "caducado" or "todos"; empty strings filter nothing."""

    proveedor: str = ""
    estado: str = "vigente"
    importancia: str = ""


@dataclass(frozen=True)
class Pagina:
    """``siguiente`` is the mark where the next page begins; ``None`` on the last one."""

    avisos: list[Aviso]
    siguiente: str | None


class MarcaNoValida(ValueError):
    """The mark of a page was not made here."""


def uno(proveedor_id: str, clave: str) -> Aviso | None:
    """The notice of that supplier with that key, expired or not."""
    fila = Documento.objects.del_sujeto(ESPACIO, proveedor_id).filter(key=clave).first()
    return _aviso(fila) if fila else None


def varios(proveedor_id: str, claves: Sequence[str]) -> list[Aviso]:
    """The notices of that supplier with those keys, in their order; those that are gone are left out."""
    filas = {f.key: f for f in Documento.objects.del_sujeto(ESPACIO, proveedor_id).filter(key__in=claves)}
    return [_aviso(filas[clave]) for clave in claves if clave in filas]


def pagina(filtros: Filtros, *, despues: str | None = None) -> Pagina:
    """Notices by date, newest first, beginning after the mark ``despues``. No counting, no skipping.

    Raises ``MarcaNoValida``.
    """
    consulta = _filtrados(filtros).annotate(fecha=KT("value__fecha"))
    if despues is not None:
        consulta = consulta.filter(_detras_de(leer_marca(despues)))
    filas = list(consulta.order_by(*(F(campo).desc() for campo in _ORDEN))[: AVISOS_POR_PAGINA + 1])
    hay_mas = len(filas) > AVISOS_POR_PAGINA
    filas = filas[:AVISOS_POR_PAGINA]
    return Pagina([_aviso(f) for f in filas], _marca(filas[-1]) if hay_mas else None)


def escritos_desde(momento: datetime) -> int:
    """How many notices in force were written from then on."""
    return _avisos().vigentes().filter(created_at__gte=momento).count()


def caducan_antes_de(momento: datetime) -> int:
    """How many notices in force will have expired by then."""
    return _avisos().vigentes().filter(expires_at__lt=momento).count()


def vigentes_por_proveedor(codigos: Iterable[str]) -> dict[str, int]:
    """How many notices in force each of those suppliers has; the ones with none are not in it."""
    prefijos = {politica.prefijo(ESPACIO, c): c for c in codigos}
    claves = Documento.objects.vigentes().filter(prefix__in=prefijos).values_list("prefix", flat=True)
    recuento = dict.fromkeys(prefijos.values(), 0)
    for prefijo in claves:
        recuento[prefijos[prefijo]] += 1
    return recuento


def nombre_del_autor(aviso: Aviso) -> str | None:
    """The name of who wrote it; ``None`` when nobody of this application did, or they are no longer in it."""
    if not aviso.autor.isdecimal():
        return None
    usuario = User.objects.filter(pk=int(aviso.autor)).first()
    return (usuario.get_full_name() or usuario.get_username()) if usuario else None


def _avisos() -> DocumentoQuerySet[Documento]:
    consulta: DocumentoQuerySet[Documento] = Documento.objects.del_espacio(ESPACIO)
    return consulta


def _filtrados(filtros: Filtros) -> DocumentoQuerySet[Documento]:
    consulta = _avisos()
    if filtros.proveedor:
        consulta = Documento.objects.del_sujeto(ESPACIO, filtros.proveedor)
    if filtros.estado == "vigente":
        consulta = consulta.vigentes()
    elif filtros.estado == "caducado":
        consulta = consulta.caducados()
    if filtros.importancia == Importancia.ALTA:
        consulta = consulta.filter(value__importancia=Importancia.ALTA)
    elif filtros.importancia:
        # The field may be missing, and then it is normal.
        consulta = consulta.filter(
            ~Q(value__has_key="importancia") | Q(value__importancia=filtros.importancia)
        )
    return consulta


def _detras_de(valores: Sequence[Any]) -> Q:
    """``(fecha, created_at, prefix, key) < valores``, as the ORM can say it."""
    condicion, iguales = Q(), Q()
    for campo, valor in zip(_ORDEN, valores, strict=True):
        condicion |= iguales & Q(**{f"{campo}__lt": valor})
        iguales &= Q(**{campo: valor})
    return condicion


def _marca(fila: Documento) -> str:
    # Nothing of what a notice says: its date, when it was written, and where it is.
    valores = [fila.value["fecha"], fila.created_at.isoformat(), fila.prefix, fila.key]
    return base64.urlsafe_b64encode(json.dumps(valores).encode()).decode()


def leer_marca(marca: str) -> tuple[str, datetime, str, str]:
    """The values a page begins after. Raises ``MarcaNoValida``."""
    try:
        fecha, escrito, prefijo, clave = json.loads(base64.urlsafe_b64decode(marca.encode()))
        momento = datetime.fromisoformat(escrito)
        textos_validos = all(isinstance(t, str) and "\x00" not in t for t in (fecha, prefijo, clave))
    except (binascii.Error, ValueError, TypeError) as error:
        raise MarcaNoValida from error
    if not textos_validos or momento.tzinfo is None:
        raise MarcaNoValida
    return fecha, momento, prefijo, clave


def _aviso(fila: Documento) -> Aviso:
    valor = fila.value
    return Aviso(
        proveedor_id=fila.sujeto[1],
        clave=fila.key,
        texto=valor["texto"],  # this and its date are in every notice: the store takes none without
        fecha=date.fromisoformat(valor["fecha"]),
        importancia=valor.get("importancia", Importancia.NORMAL),
        asunto=valor.get("asunto", ""),
        valido_hasta=date.fromisoformat(valor["valido_hasta"]) if "valido_hasta" in valor else None,
        autor=valor.get("autor", ""),
        escrito=fila.created_at,
        version=fila.updated_at,
        caduca=fila.expires_at,
    )
