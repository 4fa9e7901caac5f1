"""Before writing: what is already said of that supplier, so that nobody writes it again."""

from __future__ import annotations

from difflib import SequenceMatcher

from django.contrib.auth.models import User

from compras.almacen import almacen
from compras.lectura import Aviso, varios
from compras.models import Proveedor
from compras.servicios.paso import VER, exigir, traducir
from memoria.busqueda import buscar_avisos
from memoria.identificadores import plegar

#: Notices shown while somebody writes.
PARECIDOS = 3
#: Of two texts with this share of their letters in the same order, one is enough: a word or a date apart.
CASI_IGUAL = 0.9
#: What is compared of each: the rest of a long text costs more than it tells.
_LARGO = 1000
#: Among how many of the most alike an almost equal one is looked for.
_CANDIDATOS = 5


def parecidos(*, proveedor: Proveedor, texto: str, por: User) -> list[Aviso]:
    """Notices in force of that supplier that may say the same, the likeliest first.

    Raises ``SinPermiso`` and ``MemoriaNoDisponible``.
    """
    return _los_que_mas(proveedor, texto, por, PARECIDOS)


def casi_iguales(*, proveedor: Proveedor, texto: str, clave: str, por: User) -> list[Aviso]:
    """Those that practically say the same as ``texto``, other than the one with that key.

    Raises ``SinPermiso`` and ``MemoriaNoDisponible``.
    """
    dicho = _lo_que_dice(texto)
    return [
        aviso
        for aviso in _los_que_mas(proveedor, texto, por, _CANDIDATOS)
        if aviso.clave != clave and _semejanza(dicho, _lo_que_dice(aviso.texto)) >= CASI_IGUAL
    ]


def _los_que_mas(proveedor: Proveedor, texto: str, por: User, cuantos: int) -> list[Aviso]:
    exigir(por, VER)
    with traducir():
        hallados = buscar_avisos(almacen(), proveedor.codigo, texto, limite=cuantos)
    return varios(proveedor.codigo, [h.key for h in hallados])


def _lo_que_dice(texto: str) -> str:
    return "".join(c if c.isalnum() else " " for c in plegar(texto[:_LARGO])).strip()


def _semejanza(uno: str, otro: str) -> float:
    comparador = SequenceMatcher(None, " ".join(uno.split()), " ".join(otro.split()), autojunk=False)
    # The two quick ones are upper bounds: most pairs end there.
    if comparador.real_quick_ratio() < CASI_IGUAL or comparador.quick_ratio() < CASI_IGUAL:
        return 0.0
    return comparador.ratio()
