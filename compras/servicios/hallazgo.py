"""Searching the notices of one supplier: the agents' search, as screens show it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from django.contrib.auth.models import User

from compras.almacen import almacen
from compras.lectura import Aviso, varios
from compras.models import Proveedor
from compras.servicios.paso import VER, exigir, traducir
from memoria import politica
from memoria.busqueda import hallar_avisos
from memoria.embeddings import se_comparo

#: Hits of a search on screen: more than an agent gets, few enough to read.
HALLAZGOS = 10
#: Of a longer text, what is shown is around the first word that matched. In characters.
LARGO_FRAGMENTO = 400
_ANTES = 80

Trozos = list[tuple[str, bool]]


@dataclass(frozen=True)
class Hallado:
    """A notice and why it is here: the pieces of its text, each marked or not, and whether by its meaning."""

    aviso: Aviso
    trozos: Trozos
    por_significado: bool

    @property
    def por_palabras(self) -> bool:
        return any(marcado for _, marcado in self.trozos)


@dataclass(frozen=True)
class Hallazgos:
    """The answer to a search. Without ``por_significado`` only the words themselves were looked for."""

    hallados: list[Hallado]
    por_significado: bool


def buscar(
    *,
    proveedor: Proveedor,
    consulta: str,
    por: User,
    desde: date | None = None,
    hasta: date | None = None,
    importancia: str = "",
    limite: int = HALLAZGOS,
) -> Hallazgos:
    """The notices of one supplier that answer ``consulta``, best first. Nothing is renewed by looking.

    Raises ``SinPermiso`` and ``MemoriaNoDisponible``.
    """
    exigir(por, VER)
    with traducir():
        memoria = almacen()
        encontrados = hallar_avisos(
            memoria,
            proveedor.codigo,
            consulta,
            limite=limite,
            desde=desde,
            hasta=hasta,
            importancia=importancia or None,
        )
        con_significado = se_comparo(memoria.modelo, consulta, (h.score for h in encontrados))
    # Those of a code that was joined to another are under the other one.
    codigo = politica.sujeto(encontrados[0].namespace)[1] if encontrados else proveedor.codigo
    # What the screen shows besides the text; what was withdrawn a moment ago is left out.
    avisos = {a.clave: a for a in varios(codigo, [h.key for h in encontrados])}
    return Hallazgos(
        [
            Hallado(avisos[h.key], fragmento(h.trozos()), h.por_significado)
            for h in encontrados
            if h.key in avisos
        ],
        por_significado=con_significado,
    )


def fragmento(trozos: Trozos, largo: int = LARGO_FRAGMENTO) -> Trozos:
    """The part of a text around its first mark, or its beginning when there is none; "…" where it is cut."""
    total = sum(len(texto) for texto, _ in trozos)
    if total <= largo:
        return trozos
    primera, pasado = 0, 0
    for texto, marcado in trozos:
        if marcado:
            primera = pasado
            break
        pasado += len(texto)
    inicio = max(0, min(primera - _ANTES, total - largo))
    cortados: Trozos = []
    posicion = 0
    for texto, marcado in trozos:
        dentro = texto[max(0, inicio - posicion) : max(0, inicio + largo - posicion)]
        if dentro:
            cortados.append((dentro, marcado))
        posicion += len(texto)
    if inicio > 0:
        cortados.insert(0, ("…", False))
    if inicio + largo < total:
        cortados.append(("…", False))
    return cortados
