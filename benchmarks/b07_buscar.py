"""B7: an agent asks for the notices of its supplier, through the tool.

The peer searches its vectors: with the same model, the same notices and the same questions, and not renewing,
which would cost it more. Both embed the question, each its own way: ours in two phrasings, the peer as it
comes, as one more document. That ours finds more is in the table of quality.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from langchain.tools import ToolRuntime
from langgraph.store.base import BaseStore
from langgraph.store.postgres import PostgresStore

from benchmarks.arnes import CALENTAMIENTO, Caso
from benchmarks.avisos import leer_consultas
from benchmarks.banco import GRANDE, Banco
from memoria.agentes.contextos import ContextoCompras, configuracion
from memoria.agentes.herramientas import LIMITE_AVISOS, avisos_proveedor
from memoria.politica import espacio

ID = "B7"
OBJETIVO = 1.2


def casos(banco: Banco) -> Iterator[Caso]:
    total, por_proveedor = banco.tamanos.proveedores, banco.tamanos.avisos
    for proveedores in sorted({max(1, total // 100), max(1, total // 10), total}):
        banco.cargar_avisos(proveedores)
        ids = banco.proveedores_al_azar(banco.tamanos.operaciones + CALENTAMIENTO)
        yield from _con(banco, f"buscar entre {por_proveedor} avisos, de {proveedores:,} proveedores", ids)
        del_grande = (
            f"buscar entre {banco.tamanos.avisos_del_grande:,} avisos, de {proveedores:,} proveedores"
        )
        yield from _con(banco, del_grande, [GRANDE] * len(ids))


def _con(banco: Banco, trabajo: str, proveedores: list[str]) -> Iterator[Caso]:
    consultas = [consulta.texto for consulta in leer_consultas()]
    herramienta = avisos_proveedor()
    with banco.agentes() as nuestro, banco.stock() as stock:

        def nuestra(i: int) -> object:
            return herramienta.func(  # type: ignore[attr-defined]  # a StructuredTool
                consulta=consultas[i % len(consultas)], runtime=_ejecucion(nuestro, proveedores[i])
            )

        def del_par(i: int) -> object:
            return _buscar(stock, proveedores[i], consultas[i % len(consultas)])

        yield Caso(trabajo, nuestra, del_par, OBJETIVO)


def _buscar(stock: PostgresStore, proveedor_id: str, consulta: str) -> object:
    return stock.search(
        espacio("proveedores", proveedor_id), query=consulta, limit=LIMITE_AVISOS, refresh_ttl=False
    )


def _ejecucion(almacen: BaseStore, proveedor_id: str) -> ToolRuntime[Any, Any]:
    """What a tool gets of the run that calls it."""
    contexto = ContextoCompras(comprador_id="E1", proveedor_id=proveedor_id)
    return ToolRuntime(
        state={},
        context=contexto,
        config=configuracion(contexto, "banco"),
        stream_writer=lambda _: None,
        tool_call_id="banco",
        store=almacen,
    )
