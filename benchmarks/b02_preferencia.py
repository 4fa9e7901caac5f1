"""B2: an agent writes a preference. The peer embeds its text and puts the vector into its default HNSW index.

The peer's index holds the vectors of the notices only. With one per preference, as it would have had by then,
it would be ten times larger: that favours the peer.
"""

from __future__ import annotations

from collections.abc import Iterator

from langgraph.store.base import BaseStore

from benchmarks.arnes import CALENTAMIENTO, Caso, Operacion
from benchmarks.banco import Banco
from memoria.politica import documento_preferencia, espacio

ID = "B2"


def casos(banco: Banco) -> Iterator[Caso]:
    cuantas = banco.tamanos.operaciones + CALENTAMIENTO
    banco.cargar_clientes()
    banco.cargar_avisos()
    with banco.agentes() as nuestro, banco.stock() as stock:
        for trabajo, tipo in (
            ("apuntar una preferencia nueva", "horario"),
            ("cambiar una preferencia", "contacto"),
        ):
            clientes = banco.clientes_al_azar(cuantas)
            yield Caso(trabajo, _apuntar(nuestro, clientes, tipo), _apuntar(stock, clientes, tipo), 0.25)


def _apuntar(almacen: BaseStore, clientes: list[str], tipo: str) -> Operacion:
    def operacion(i: int) -> None:
        clave, documento = documento_preferencia(
            "clientes", tipo=tipo, valor=f"a partir de las {i % 24}", hilo=f"h{i}"
        )
        almacen.put(espacio("clientes", clientes[i]), clave, documento)

    return operacion
