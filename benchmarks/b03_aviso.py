"""B3: purchasing writes a notice. Both embed it with the same model; the peer also keeps its HNSW index.

The first line includes the embedding, the same on both sides: what purchasing waits for. The second leaves it
out (the vectors are made beforehand): what the store is answerable for. Both have the target; the dearer the
model, the less the first can tell.
"""

from __future__ import annotations

from collections.abc import Iterator

from langgraph.store.base import BaseStore

from benchmarks.arnes import CALENTAMIENTO, Caso, Operacion
from benchmarks.avisos import leer_avisos
from benchmarks.banco import Banco
from memoria.embeddings import ModeloEmbeddings
from memoria.politica import espacio

ID = "B3"


def casos(banco: Banco) -> Iterator[Caso]:
    banco.cargar_avisos()
    cuantas = banco.tamanos.operaciones + CALENTAMIENTO
    yield from _con(banco, banco.modelo, "apuntar un aviso, con el modelo", 0.5, "nuevo-a", cuantas)
    hechos = VectoresHechos(banco.modelo, _textos(cuantas))
    yield from _con(banco, hechos, "apuntar un aviso, sin contar el modelo", 0.5, "nuevo-b", cuantas)


def _con(
    banco: Banco, modelo: ModeloEmbeddings, trabajo: str, objetivo: float | None, clave: str, cuantas: int
) -> Iterator[Caso]:
    proveedores = banco.proveedores_al_azar(cuantas)
    textos = _textos(cuantas)
    with banco.compras(modelo) as nuestro, banco.stock(modelo) as stock:

        def apuntar(almacen: BaseStore) -> Operacion:
            def operacion(i: int) -> None:
                almacen.put(
                    espacio("proveedores", proveedores[i]),
                    f"{clave}-{i}",
                    {"texto": textos[i], "fecha": "2026-11-29"},
                )

            return operacion

        yield Caso(trabajo, apuntar(nuestro), apuntar(stock), objetivo)


def _textos(cuantos: int) -> list[str]:
    """Notices that nobody has written yet, of the length of real ones."""
    escritos = [aviso.texto for aviso in leer_avisos()]
    return [f"{escritos[i % len(escritos)]} Lo confirman para el pedido {1000 + i}." for i in range(cuantos)]


class VectoresHechos(ModeloEmbeddings):
    """The vectors of ``textos``, made once: a model that costs nothing to ask."""

    def __init__(self, modelo: ModeloEmbeddings, textos: list[str]) -> None:
        self.nombre = f"{modelo.nombre} (hechos)"
        self.dims = modelo.dims
        self.umbral = modelo.umbral
        self._vectores = dict(zip(textos, modelo.embed_documents(textos), strict=True))

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self._vectores[texto] for texto in texts]

    def embed_query(self, text: str) -> list[float]:
        return self._vectores[text]
