"""Which supplier is meant by what somebody types: a code, a name, a part of it, with accents or without."""

from __future__ import annotations

from typing import Any

from django.db.models import Case, F, Func, IntegerField, QuerySet, TextField, Value, When
from django.db.models.functions import Concat

from compras.models import Proveedor
from memoria.identificadores import plegar

#: Suppliers offered at a time: what one reads at a glance.
SUGERENCIAS = 12


class _Plegado(Func):
    """As :func:`memoria.identificadores.plegar`, in the database (``unaccent`` is an extension)."""

    template = r"regexp_replace(normalize(lower(%(expressions)s), NFKD), '[\u0300-\u036f]', '', 'g')"
    output_field = TextField()


def etiqueta(proveedor: Proveedor) -> str:
    """How a supplier is written in a field; :func:`el_que_es` reads it back."""
    return f"{proveedor.nombre} ({proveedor.codigo})"


def sugerir(texto: str, *, limite: int = SUGERENCIAS) -> list[Proveedor]:
    """The active suppliers whose code or name holds every word of ``texto``, the likeliest first."""
    plegado = plegar(texto.replace("\x00", " ")).strip()
    if not plegado:
        return list(Proveedor.objects.activos().order_by("nombre", "codigo")[:limite])
    consulta = _activos()
    for palabra in plegado.replace("(", " ").replace(")", " ").split():
        consulta = consulta.filter(dicho__contains=palabra)
    orden = Case(
        When(codigo__iexact=plegado, then=0),
        When(nombre_plegado__startswith=plegado, then=1),
        When(codigo__istartswith=plegado, then=2),
        default=3,
        output_field=IntegerField(),
    )
    return list(consulta.order_by(orden, "nombre", "codigo")[:limite])


def el_que_es(texto: str) -> Proveedor | None:
    """The one active supplier that ``texto`` names whole: its code, its name, or both as offered.

    ``None`` when there is none, or when several are called so.
    """
    texto = texto.strip()
    if exacto := Proveedor.objects.activos().filter(codigo=texto).first():
        return exacto
    plegado = plegar(texto)
    for condicion in ({"etiqueta": texto}, {"codigo__iexact": texto}, {"nombre_plegado": plegado}):
        hallados = list(_activos().filter(**condicion)[:2])
        if hallados:
            uno: Proveedor = hallados[0]
            return uno if len(hallados) == 1 else None
    return None


def _activos() -> QuerySet[Any]:
    return Proveedor.objects.activos().annotate(
        nombre_plegado=_Plegado(F("nombre")),
        dicho=_Plegado(Concat("nombre", Value(" "), "codigo")),
        etiqueta=Concat("nombre", Value(" ("), "codigo", Value(")")),
    )
