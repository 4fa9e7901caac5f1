"""B1: read a customer's card, renewing it, as the prompt does before every model call.

The peer renews on every read; ours only what has lost more than a day of its life. So the lines that decide
read cards renewed at some moment of the last 23 hours, another customer's each time; "sin leer en dos días"
is the read that does renew, and "10 lecturas" a conversation of ten model calls of which the first one
renews.
"""

from __future__ import annotations

from collections.abc import Iterator

from langgraph.store.base import BaseStore

from benchmarks.arnes import CALENTAMIENTO, Caso, Operacion
from benchmarks.banco import Banco
from memoria.politica import espacio

ID = "B1"
LLAMADAS = 10


def casos(banco: Banco) -> Iterator[Caso]:
    cuantas = banco.tamanos.operaciones + CALENTAMIENTO
    with banco.agentes() as nuestro, banco.stock() as stock:

        def leer(almacen: BaseStore, clientes: list[str], veces: int = 1) -> Operacion:
            def operacion(i: int) -> None:
                for _ in range(veces):
                    hallados = almacen.search(espacio("clientes", clientes[i]), limit=10)
                    assert len(hallados) == 3

            return operacion

        def caso(trabajo: str, objetivo: float | None, unidad: str = "ms", **opciones: int) -> Caso:
            return Caso(
                trabajo,
                leer(nuestro, clientes, **opciones),
                leer(stock, clientes, **opciones),
                objetivo,
                unidad,
            )

        for parte in (100, 10, 1):
            total = max(1, banco.tamanos.clientes // parte)
            banco.cargar_clientes(total)
            clientes = banco.clientes_al_azar(cuantas)
            yield caso(f"leer una ficha, {total:,} clientes", 0.35)
        clientes = banco.clientes_al_azar(cuantas)
        yield caso("leer una ficha", 0.01, "B de WAL")
        clientes = banco.clientes_al_azar(cuantas)
        banco.envejecer(clientes)
        yield caso("leer una ficha sin leer en dos días", None)
        clientes = banco.clientes_al_azar(cuantas)
        banco.envejecer(clientes)
        yield caso("leer una ficha sin leer en dos días", None, "B de WAL")
        clientes = banco.clientes_al_azar(cuantas)
        banco.envejecer(clientes)
        yield caso(f"{LLAMADAS} lecturas, la primera tras dos días", None, veces=LLAMADAS)
        clientes = banco.clientes_al_azar(cuantas)
        banco.envejecer(clientes)
        yield caso(f"{LLAMADAS} lecturas, la primera tras dos días", None, "B de WAL", veces=LLAMADAS)
