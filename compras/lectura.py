"""Reads of supplier notices for the screens, from the mirror of the store: looking renews nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from django.contrib.auth.models import User
from django.db.models import BooleanField, Count
from django.db.models.expressions import RawSQL
from django.utils import timezone
from django.utils.translation import gettext as _

from memoria import politica
from memoria.models import Documento
from memoria.politica import Importancia, PoliticaIncumplida
from memoria.querysets import DocumentoQuerySet

ESPACIO = "proveedores"


@dataclass(frozen=True)
class Aviso:
    """One notice. ``fecha`` is the day it was known, ``escrito`` the moment it was written here.

    The store takes no notice without text and date; but a row that something else wrote, or broke, must not
    hide the others: ``danos`` says in sentences what is wrong with it.
    """

    #: ``None`` when the row is where no supplier's notices are: then it has no page of its own.
    proveedor_id: str | None
    clave: str
    texto: str
    fecha: date | None
    importancia: str
    asunto: str
    valido_hasta: date | None
    autor: str
    escrito: datetime
    #: When it was last written: what a correction says it was based on.
    version: datetime
    caduca: datetime | None
    #: Contested (art. 18 GDPR): stored, and no agent reads it.
    limitado: bool = False
    danos: tuple[str, ...] = ()

    @property
    def contenido(self) -> dict[str, Any]:
        """What a person may change, by the names of :func:`compras.servicios.escribir`."""
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


def uno(proveedor_id: str, clave: str) -> Aviso | None:
    """The notice of that supplier with that key, expired or not."""
    fila = Documento.objects.del_sujeto(ESPACIO, proveedor_id).filter(key=clave).first()
    return de_fila(fila) if fila else None


def varios(proveedor_id: str, claves: Sequence[str]) -> list[Aviso]:
    """The notices of that supplier with those keys, in their order; those that are gone are left out."""
    filas = {f.key: f for f in Documento.objects.del_sujeto(ESPACIO, proveedor_id).filter(key__in=claves)}
    return [de_fila(filas[clave]) for clave in claves if clave in filas]


def escritos_desde(momento: datetime) -> int:
    """How many notices in force were written from then on."""
    return de_todos().vigentes().filter(created_at__gte=momento).count()


def caducan_antes_de(momento: datetime) -> int:
    """How many notices in force will have expired by then."""
    return de_todos().vigentes().filter(expires_at__lt=momento).count()


def vigentes_por_proveedor(codigos: Iterable[str]) -> dict[str, int]:
    """How many notices in force each of those suppliers has."""
    prefijos = {politica.prefijo(ESPACIO, c): c for c in codigos}
    grupos = Documento.objects.vigentes().filter(prefix__in=prefijos).values("prefix").annotate(n=Count("*"))
    recuento = dict.fromkeys(prefijos.values(), 0)
    return recuento | {prefijos[prefijo]: n for prefijo, n in grupos.values_list("prefix", "n")}


def todos_de(codigo: str) -> int:
    """How many notices that supplier has, expired ones too."""
    return Documento.objects.del_sujeto(ESPACIO, codigo).count()


def nombre_del_autor(aviso: Aviso) -> str | None:
    """The name of who wrote it; ``None`` when nobody of this application did, or they are no longer in it."""
    # A damaged notice may have anything here: more figures than a user's number has are nobody's.
    if not (aviso.autor.isdecimal() and len(aviso.autor) < 19):
        return None
    usuario = User.objects.filter(pk=int(aviso.autor)).first()
    return (usuario.get_full_name() or usuario.get_username()) if usuario else None


def de_todos() -> DocumentoQuerySet[Documento]:
    """The notices of every supplier, as the indexes of ``memoria/sql/indices.sql`` ask for them."""
    # The ORM says the same with a LIKE, from which PostgreSQL cannot tell that an index is of these.
    condicion = RawSQL(
        "prefix ~>=~ 'proveedores.' AND prefix ~<~ 'proveedores/'", [], output_field=BooleanField()
    )
    consulta: DocumentoQuerySet[Documento] = Documento.objects.filter(condicion)
    return consulta


def de_fila(fila: Documento) -> Aviso:
    """A row of the mirror as a notice, however broken."""
    valor = fila.value if isinstance(fila.value, dict) else {}
    proveedor_id = _proveedor(fila)
    return Aviso(
        proveedor_id=proveedor_id,
        clave=fila.key,
        texto=_texto(valor, "texto"),
        fecha=_fecha(valor, "fecha"),
        importancia=_texto(valor, "importancia") or Importancia.NORMAL,
        asunto=_texto(valor, "asunto"),
        valido_hasta=_fecha(valor, "valido_hasta"),
        autor=_texto(valor, "autor"),
        escrito=fila.created_at,
        version=fila.updated_at,
        caduca=fila.expires_at,
        limitado=fila.limitado,
        danos=tuple(_danos(fila, valor, proveedor_id)),
    )


def _proveedor(fila: Documento) -> str | None:
    try:
        return fila.sujeto[1]
    except PoliticaIncumplida:
        return None


def _texto(valor: dict[str, Any], campo: str) -> str:
    texto = valor.get(campo)
    return texto if isinstance(texto, str) else ""


def _fecha(valor: dict[str, Any], campo: str) -> date | None:
    try:
        return date.fromisoformat(_texto(valor, campo))
    except ValueError:
        return None


def _danos(fila: Documento, valor: dict[str, Any], proveedor_id: str | None) -> Iterator[str]:
    """What breaks the policy, in the words of purchasing."""
    try:
        politica.comprobar_guardado(fila.prefix, fila.key, fila.value)
    except PoliticaIncumplida:
        conocidos = [
            (proveedor_id is None, _("No se sabe de qué proveedor es.")),
            (not _texto(valor, "texto").strip(), _("Falta el texto.")),
            (_fecha(valor, "fecha") is None, _("Falta la fecha, o no es una fecha.")),
            (
                "valido_hasta" in valor and _fecha(valor, "valido_hasta") is None,
                _("Hasta cuándo es válido no es una fecha."),
            ),
        ]
        frases = [frase for hay, frase in conocidos if hay]
        yield from frases or [_("Tiene algo que un aviso no lleva, o que no cabe en él.")]
