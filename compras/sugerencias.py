"""Which supplier is meant by what somebody types: a code, a name, a part of it, with accents or without."""

from __future__ import annotations

from django.db.models import Case, IntegerField, When

from compras.models import Proveedor, ProveedorQuerySet
from memoria.identificadores import plegar

#: Suppliers offered at a time: what one reads at a glance.
SUGERENCIAS = 12


def etiqueta(proveedor: Proveedor) -> str:
    """How a supplier is written in a field; :func:`el_que_es` reads it back."""
    return f"{proveedor.nombre} ({proveedor.codigo})"


def sugerir(texto: str, *, limite: int = SUGERENCIAS, inactivos: bool = False) -> list[Proveedor]:
    """The active suppliers whose code or name holds every word of ``texto``, the likeliest first.

    With ``inactivos``, those that are not active after them, but for the one whose code it is.
    """
    texto = texto.replace("\x00", " ")
    plegado = plegar(texto).strip()
    if not plegado:
        return list(_entre(inactivos).order_by("-activo", "nombre", "codigo")[:limite])
    orden = Case(
        When(nombre_plegado__startswith=plegado, then=1),
        When(codigo__istartswith=plegado, then=2),
        default=3,
        output_field=IntegerField(),
    )
    # Its whole code is no guess, active or not.
    es_su_codigo = Case(When(codigo__iexact=texto.strip(), then=0), default=1, output_field=IntegerField())
    parecidos = _entre(inactivos).parecidos(texto)
    return list(parecidos.order_by(es_su_codigo, "-activo", orden, "nombre", "codigo")[:limite])


def el_que_es(texto: str, *, inactivos: bool = False) -> Proveedor | None:
    """The one active supplier that ``texto`` names whole: its code, its name, or both as offered.

    With ``inactivos`` it may be one that is not active, where no active one is called so. ``None`` when there
    is none, or when several are called so.
    """
    texto = texto.strip()
    # What a list offered is found by its code; the rest reads them all.
    ofrecido = texto.rpartition(" (")[2].removesuffix(")")
    for hallado in _entre(inactivos).filter(codigo__in={texto, ofrecido}):
        if texto in (hallado.codigo, etiqueta(hallado)):
            return hallado
    plegado = plegar(texto)
    for condicion in ({"etiqueta": texto}, {"codigo__iexact": texto}, {"nombre_plegado": plegado}):
        hallados: list[Proveedor] = list(
            _entre(inactivos).plegados().filter(**condicion).order_by("-activo")[:2]
        )
        if hallados:
            es_uno = len(hallados) == 1 or hallados[0].activo > hallados[1].activo
            return hallados[0] if es_uno else None
    return None


def _entre(inactivos: bool) -> ProveedorQuerySet:
    return Proveedor.objects.all() if inactivos else Proveedor.objects.activos()
