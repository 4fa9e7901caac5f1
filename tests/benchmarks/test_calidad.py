"""What the search of notices promises on the labelled questions, with the embedded model, held up.

The figures are of quality, not of time: the same on every machine.
"""

from __future__ import annotations

import pytest
from langgraph.store.base import PutOp

from benchmarks.avisos import leer_avisos, leer_consultas
from benchmarks.calidad import Buscador, Fila, ModeloRecordado, Tabla, evaluar
from memoria.almacen import AlmacenMemoria
from memoria.politica import espacio

#: Without any threshold: vectors always answer.
SIN_UMBRAL = -1.0
# A mean of the same hits may differ in its last bit.
IGUAL = 1e-9


@pytest.fixture
def tablas(almacen_compras: AlmacenMemoria, monkeypatch: pytest.MonkeyPatch) -> dict[str, Tabla]:
    """The product and its two peers over ``avisos.csv`` and ``consultas.csv``."""
    almacen_compras.batch(
        PutOp(espacio("proveedores", a.proveedor_id), a.aviso_id, {"texto": a.texto, "fecha": a.fecha})
        for a in leer_avisos()
    )
    assert almacen_compras.modelo
    modelo = ModeloRecordado(almacen_compras.modelo)
    monkeypatch.setattr(almacen_compras, "modelo", modelo)
    b = Buscador(almacen_compras, modelo)
    consultas = leer_consultas()
    return {
        "producto": evaluar(b.producto_con(modelo.umbral), consultas),
        "texto completo": evaluar(b.texto_completo, consultas),
        "vectores": evaluar(b.vectores_con(SIN_UMBRAL), consultas),
    }


def test_the_search_finds_what_was_labelled_better_than_its_peers(tablas: dict[str, Tabla]) -> None:
    producto, pares = tablas["producto"], [tablas["texto completo"], tablas["vectores"]]
    assert producto.todas.recall >= 0.75
    assert producto.todas.ndcg >= 0.68
    for par in pares:
        assert producto.todas.recall > par.todas.recall
        assert producto.todas.ndcg > par.todas.ndcg
    for tipo, fila in producto.por_tipo.items():
        de_los_pares: list[Fila] = [par.por_tipo[tipo] for par in pares]
        assert fila.recall >= max(f.recall for f in de_los_pares) - IGUAL, tipo
        assert fila.ndcg >= max(f.ndcg for f in de_los_pares) - IGUAL, tipo
    sin_respuesta = sum(not c.relevantes for c in leer_consultas())
    assert round(producto.abstencion * sin_respuesta) >= 3
    assert round(producto.perdidas * producto.todas.preguntas) <= 3
