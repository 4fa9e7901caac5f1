"""Search of supplier notices, one function for screens and tools alike."""

from __future__ import annotations

from langgraph.store.base import BaseStore, SearchItem

from memoria import politica


def buscar_avisos(
    almacen: BaseStore, proveedor_id: str, consulta: str, *, limite: int = 3
) -> list[SearchItem]:
    """The notices of one supplier that answer ``consulta``, best first; an empty list is an answer too.

    Never renews a notice and never returns one of another supplier.
    """
    umbral = getattr(getattr(almacen, "modelo", None), "umbral", politica.UMBRAL_POR_DEFECTO)
    hallados = almacen.search(
        politica.espacio("proveedores", proveedor_id), query=consulta, limit=limite, refresh_ttl=False
    )
    return [a for a in hallados if a.score is None or a.score >= umbral]
