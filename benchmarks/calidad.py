"""How good is the search of notices? ``python -m benchmarks.calidad [--json FILE]``.

Recall@3 and nDCG@3 by kind of question over the hand-labelled sets in ``datos/``. For the questions that no
notice answers, how often nothing is returned, next to the answerable questions left with nothing (lost). A
ranking is any function ``(proveedor_id, consulta) -> ordered aviso ids``; ``evaluar`` measures it. The
product's own is :func:`memoria.busqueda.buscar_avisos`, over notices written through its store; full text
alone and vectors alone are its peers.

``--avisos`` and ``--consultas`` take another set. In ``datos/``, ``avisos_propios.csv`` with
``consultas_propias.csv``, and ``consultas_posteriores.csv`` on the notices of both, tell whether what is
gained on the first holds.

With ``--url --modelo --dims`` (and ``EMBEDDINGS_API_KEY``) a remote model is measured instead: its threshold
is read off the last table.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

from langgraph.store.base import PutOp

from benchmarks.avisos import AVISOS, CONSULTAS, Aviso, Consulta, leer_avisos, leer_consultas
from benchmarks.banco import Banco, abrir_banco
from memoria.almacen import AlmacenMemoria
from memoria.busqueda import buscar_avisos, normalizada
from memoria.embeddings import ModeloEmbeddings, crear_embeddings
from memoria.politica import espacio, prefijo

CORTE = 3
#: Below any similarity: with it the hybrid always answers.
SIN_UMBRAL = -1.0

Ranking = Callable[[str, str], list[str]]


@dataclass(frozen=True)
class Fila:
    """Means over the questions of one kind."""

    preguntas: int
    recall: float
    ndcg: float


@dataclass(frozen=True)
class Tabla:
    """Means by kind, and the share of unanswerable and of answerable questions (lost) that got nothing."""

    todas: Fila
    por_tipo: dict[str, Fila]
    abstencion: float
    perdidas: float


@dataclass(frozen=True)
class Informe:
    """The table of each ranking, and that of the hybrid at each threshold (as text, for JSON)."""

    modelo: str
    umbral: float
    rankings: dict[str, Tabla]
    umbrales: dict[str, Tabla]


def evaluar(ranking: Ranking, consultas: Sequence[Consulta]) -> Tabla:
    con_respuesta = [c for c in consultas if c.relevantes]
    sin_respuesta = [c for c in consultas if not c.relevantes]
    vistos = {c: ranking(c.proveedor_id, c.texto)[:CORTE] for c in consultas}
    tipos = dict.fromkeys(c.tipo for c in con_respuesta)
    return Tabla(
        todas=_fila(con_respuesta, vistos),
        por_tipo={tipo: _fila([c for c in con_respuesta if c.tipo == tipo], vistos) for tipo in tipos},
        abstencion=_media(not vistos[c] for c in sin_respuesta),
        perdidas=_media(not vistos[c] for c in con_respuesta),
    )


def _fila(consultas: Sequence[Consulta], vistos: dict[Consulta, list[str]]) -> Fila:
    return Fila(
        preguntas=len(consultas),
        recall=_media(recall(vistos[c], c.relevantes) for c in consultas),
        ndcg=_media(ndcg(vistos[c], c.relevantes) for c in consultas),
    )


def recall(vistos: Sequence[str], relevantes: frozenset[str]) -> float:
    return len(relevantes.intersection(vistos)) / min(CORTE, len(relevantes))


def ndcg(vistos: Sequence[str], relevantes: frozenset[str]) -> float:
    """Binary gains, the discount of a hit at place n being 1 / log2(n + 1)."""
    descuentos = [1 / math.log2(puesto + 2) for puesto in range(CORTE)]
    ganado = sum(d for d, aviso in zip(descuentos, vistos, strict=False) if aviso in relevantes)
    return ganado / sum(descuentos[: len(relevantes)])


def _media(valores: Iterable[float]) -> float:
    lista = list(valores)
    return fmean(lista) if lista else 0.0


# -- rankings -------------------------------------------------------------------------------------

# Full text as PostgreSQL brings it, over the same lexemes as the product's: any term, ranked by ts_rank.
TEXTO_COMPLETO = f"""
WITH pregunta AS (
    SELECT string_agg(quote_literal(lexeme), ' | ')::tsquery AS alguno
    FROM unnest(to_tsvector('pg_catalog.spanish', {normalizada("%(consulta)s::text")}))
)
SELECT key FROM store, pregunta WHERE prefix = %(prefijo)s AND lexemas @@ alguno
ORDER BY ts_rank(lexemas, alguno) DESC, key DESC LIMIT %(limite)s
"""

VECTORES = """
SELECT key, 1 - (embedding <=> %(vector)s::vector) AS similitud FROM store_vectors
WHERE prefix = %(prefijo)s ORDER BY embedding <=> %(vector)s::vector, key DESC LIMIT %(limite)s
"""


class Buscador:
    """The rankings over the notices of ``almacen``; ``modelo`` remembers what it was asked."""

    def __init__(self, almacen: AlmacenMemoria, modelo: ModeloRecordado) -> None:
        self.almacen = almacen
        self.modelo = modelo

    def texto_completo(self, proveedor_id: str, consulta: str) -> list[str]:
        parametros = {"prefijo": prefijo("proveedores", proveedor_id), "consulta": consulta, "limite": CORTE}
        return [fila["key"] for fila in self.almacen.consultar(TEXTO_COMPLETO, parametros)]

    def vectores_con(self, umbral: float) -> Ranking:
        """Vectors alone, notices under the threshold left out one by one."""

        def ranking(proveedor_id: str, consulta: str) -> list[str]:
            parametros = {
                "prefijo": prefijo("proveedores", proveedor_id),
                "vector": self.modelo.embed_query(consulta),
                "limite": CORTE,
            }
            filas = self.almacen.consultar(VECTORES, parametros)
            return [fila["key"] for fila in filas if fila["similitud"] >= umbral]

        return ranking

    def producto_con(self, umbral: float) -> Ranking:
        """What screens and tools get, were this the threshold of the model."""

        def ranking(proveedor_id: str, consulta: str) -> list[str]:
            self.modelo.umbral = umbral
            return [a.key for a in buscar_avisos(self.almacen, proveedor_id, consulta, limite=CORTE)]

        return ranking


class ModeloRecordado(ModeloEmbeddings):
    """A model that embeds each question once, however many rankings ask, and whose threshold can be moved."""

    def __init__(self, modelo: ModeloEmbeddings) -> None:
        self.nombre, self.dims, self.umbral = modelo.nombre, modelo.dims, modelo.umbral
        self._modelo = modelo
        self._consultas: dict[str, list[float]] = {}

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._modelo.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        if text not in self._consultas:
            self._consultas[text] = self._modelo.embed_query(text)
        return self._consultas[text]


@contextmanager
def _buscador(banco: Banco, avisos: Sequence[Aviso]) -> Iterator[Buscador]:
    modelo = ModeloRecordado(banco.modelo)
    with banco.compras(modelo) as almacen:
        almacen.batch(
            PutOp(
                espacio("proveedores", aviso.proveedor_id),
                aviso.aviso_id,
                {"texto": aviso.texto, "fecha": aviso.fecha},
            )
            for aviso in avisos
        )
        yield Buscador(almacen, modelo)


def medir(
    banco: Banco, avisos: Sequence[Aviso] | None = None, consultas: Sequence[Consulta] | None = None
) -> Informe:
    avisos = leer_avisos() if avisos is None else avisos
    consultas = leer_consultas() if consultas is None else consultas
    umbral = banco.modelo.umbral
    with _buscador(banco, avisos) as b:
        rankings: dict[str, Ranking] = {
            "texto completo": b.texto_completo,
            "vectores": b.vectores_con(SIN_UMBRAL),
            "vectores con umbral": b.vectores_con(umbral),
            "producto sin umbral": b.producto_con(SIN_UMBRAL),
            "producto": b.producto_con(umbral),
        }
        umbrales = sorted({umbral, *(round(umbral + paso * 0.01, 4) for paso in range(-6, 9, 2))})
        return Informe(
            modelo=banco.modelo.nombre,
            umbral=umbral,
            rankings={nombre: evaluar(ranking, consultas) for nombre, ranking in rankings.items()},
            umbrales={str(u): evaluar(b.producto_con(u), consultas) for u in umbrales},
        )


# -- printing -------------------------------------------------------------------------------------


def imprimir(informe: Informe) -> Iterator[str]:
    yield f"{informe.modelo}, umbral {informe.umbral}: recall@{CORTE} / nDCG@{CORTE}"
    tipos = list(next(iter(informe.rankings.values())).por_tipo)
    yield f"{'':20}" + "".join(f"{t:>15}" for t in ["todas", *tipos, "abstención", "perdidas"])
    for nombre, tabla in informe.rankings.items():
        filas = [tabla.todas, *(tabla.por_tipo[t] for t in tipos)]
        celdas = [f"{f.recall:.2f} / {f.ndcg:.2f}" for f in filas]
        celdas += [f"{tabla.abstencion:.2f}", f"{tabla.perdidas:.2f}"]
        yield f"{nombre:20}" + "".join(f"{c:>15}" for c in celdas)
    yield ""
    yield "El producto según el umbral"
    for umbral, t in informe.umbrales.items():
        yield (
            f"{float(umbral):6.3f}  recall {t.todas.recall:.2f}  nDCG {t.todas.ndcg:.2f}"
            f"  abstención {t.abstencion:.2f}  perdidas {t.perdidas:.2f}"
        )


def main() -> None:
    argumentos = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    argumentos.add_argument("--json", type=Path, metavar="FILE")
    argumentos.add_argument("--avisos", type=Path, metavar="CSV", nargs="+", default=[AVISOS])
    argumentos.add_argument("--consultas", type=Path, metavar="CSV", default=CONSULTAS)
    argumentos.add_argument("--url")
    argumentos.add_argument("--modelo")
    argumentos.add_argument("--dims", type=int)
    argumentos.add_argument("--umbral", type=float)
    opciones = argumentos.parse_args()
    modelo = crear_embeddings(
        url=opciones.url,
        modelo=opciones.modelo,
        dims=opciones.dims,
        api_key=os.environ.get("EMBEDDINGS_API_KEY"),
        umbral=opciones.umbral,
    )
    with abrir_banco(modelo) as banco:
        informe = medir(
            banco, [a for f in opciones.avisos for a in leer_avisos(f)], leer_consultas(opciones.consultas)
        )
    for linea in imprimir(informe):
        print(linea)
    if opciones.json:
        opciones.json.write_text(
            json.dumps(asdict(informe), ensure_ascii=False, indent=2) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
