"""B4: erase a customer who has 4 documents and 20 threads of 20 checkpoints.

Ours is one transaction: it raises the fences, holds the threads, counts, deletes and counts again. The peer
lists the customer's documents and deletes them one by one, and calls LangGraph's ``delete_thread`` for each
thread: no counts, no transaction, and somebody tells it which threads they were.

The last line is not the peer's work: the same in every destination that an erasure looks at in PostgreSQL,
our own tables and mentions included.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from langgraph.checkpoint.base import empty_checkpoint
from psycopg.types.json import Jsonb

from benchmarks.arnes import CALENTAMIENTO, Caso, Operacion
from benchmarks.banco import Banco
from memoria import politica
from memoria.agentes import ContextoCliente, configuracion
from memoria.hilos import abrir_checkpointer

ID = "B4"
HILOS, PUNTOS = 20, 20
TIPOS = ("recogida", "contacto", "idioma", "horario")
#: Of a thread that is only there to make the tables large: the depth of an index is what counts.
FILAS_DE_FONDO = 4
TABLAS = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")


def casos(banco: Banco) -> Iterator[Caso]:
    cuantos = banco.tamanos.operaciones + CALENTAMIENTO
    banco.cargar_avisos()
    _hilo_de_muestra()
    with banco.stock() as almacen, banco.hilos_stock() as hilos:

        def par(sujetos: Sequence[str]) -> Operacion:
            def operacion(i: int) -> None:
                espacio = politica.espacio("clientes", sujetos[i])
                while hallados := almacen.search(espacio, limit=10):
                    for hallado in hallados:
                        almacen.delete(espacio, hallado.key)
                for n in range(1, HILOS + 1):
                    hilos.delete_thread(f"{sujetos[i]}-h{n}")

            return operacion

        for parte in (100, 10, 1):
            total = max(1, banco.tamanos.clientes // parte)
            banco.cargar_clientes(total)
            sujetos = _cargar(banco, f"B{parte}x", cuantos, max(1, banco.tamanos.hilos // parte))
            yield Caso(f"borrar un cliente, {total:,} clientes", _transaccion(sujetos), par(sujetos), 0.35)
        sujetos = _cargar(banco, "BTx", cuantos, 0)
        yield Caso("borrarlo y mirar en toda la casa", _toda_la_casa(sujetos), par(sujetos), None)


def _transaccion(sujetos: Sequence[str]) -> Operacion:
    from privacidad.destinos.hilos import Hilos
    from privacidad.destinos.memoria import Memoria

    return _borrando(sujetos, (Memoria(), Hilos()))


def _toda_la_casa(sujetos: Sequence[str]) -> Operacion:
    from privacidad.destinos import DESTINOS

    return _borrando(sujetos, tuple(d for d in DESTINOS if not d.externo))


def _borrando(sujetos: Sequence[str], destinos: Sequence[Any]) -> Operacion:
    from django.db import transaction

    from privacidad import vallas
    from privacidad.destinos import Sujeto

    def operacion(i: int) -> None:
        with transaction.atomic():
            vallas.levantar("clientes", sujetos[i])
            sujeto = Sujeto.capturar("clientes", sujetos[i], bloquear=True)
            antes = [d.contar(sujeto) for d in destinos]
            borrados = [d.suprimir(sujeto) for d in destinos]
            despues = [d.verificar(sujeto) for d in destinos]
        assert borrados == antes
        assert antes[0]["documentos"] == len(TIPOS)
        assert antes[1]["checkpoints"] == HILOS * PUNTOS
        assert not any(n for recuento in despues for n in recuento.values())

    return operacion


# -- data ---------------------------------------------------------------------------------------------


def _hilo_de_muestra() -> None:
    """A thread as LangGraph writes it: every checkpoint adds a message, with its blob and its two writes."""
    config: Any = configuracion(ContextoCliente(cliente_id="muestra", tienda="T1"), "muestra")
    config["configurable"].setdefault("checkpoint_ns", "")
    with abrir_checkpointer() as hilos:
        mensajes = []
        for n in range(PUNTOS):
            mensajes.append(("user", f"¿Ha llegado ya mi pedido {n}? Quedamos en que estaría esta semana."))
            punto = empty_checkpoint()
            punto["channel_values"] = {"messages": mensajes}
            punto["channel_versions"] = {"messages": f"{n + 1:032}"}
            config = hilos.put(config, punto, {"source": "loop", "step": n}, punto["channel_versions"])
            hilos.put_writes(
                config, [("messages", mensajes[-1]), ("branch:to:model", None)], str(uuid.uuid4())
            )


def _cargar(banco: Banco, raiz: str, cuantos: int, fondo: int) -> list[str]:
    """So many customers to erase, on both sides, and ``fondo`` threads of somebody else around them."""
    tipos = [
        politica.documento_preferencia("clientes", tipo=t, valor="por la tarde", hilo="h") for t in TIPOS
    ]
    for esquema in ("langgraph", "stock"):
        banco.propietario.execute(
            _DOCUMENTOS.format(esquema=esquema),
            {
                "raiz": raiz,
                "cuantos": cuantos,
                "claves": [clave for clave, _ in tipos],
                "documentos": [Jsonb(documento) for _, documento in tipos],
            },
        )
    banco.propietario.execute(_REGISTRO, {"raiz": raiz, "cuantos": cuantos, "hilos": HILOS})
    banco.propietario.execute(_REGISTRO, {"raiz": f"fondo-{raiz}", "cuantos": 1, "hilos": fondo})
    for tabla in TABLAS:
        columnas = _columnas(banco, tabla)
        calificadas = ", ".join(f"t.{c}" for c in columnas.split(", "))
        for sujeto, filas in ((raiz, None), (f"fondo-{raiz}", FILAS_DE_FONDO)):
            banco.propietario.execute(
                f"INSERT INTO langgraph.{tabla} (thread_id, {columnas})"
                f" SELECT h.thread_id, {calificadas} FROM hilos h,"
                f" (SELECT ctid AS orden, * FROM langgraph.{tabla} WHERE thread_id = 'muestra' LIMIT %s) t"
                # A conversation is written at once, not scattered over the table.
                " WHERE starts_with(h.sujeto_id, %s) ORDER BY h.ctid, t.orden",
                [filas, sujeto],
            )
        banco.propietario.execute(
            f"INSERT INTO stock.{tabla} (thread_id, {columnas}) SELECT thread_id, {columnas}"
            f" FROM langgraph.{tabla} WHERE starts_with(thread_id, %s) OR starts_with(thread_id, %s)"
            " ORDER BY ctid",
            [raiz, f"fondo-{raiz}"],
        )
    banco.asentar(*TABLAS)
    return [f"{raiz}{n}" for n in range(1, cuantos + 1)]


def _columnas(banco: Banco, tabla: str) -> str:
    filas = banco.propietario.execute(
        "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped"
        " AND attname <> 'thread_id' ORDER BY attnum",
        [f"langgraph.{tabla}"],
    )
    return ", ".join(f[0] for f in filas)


_DOCUMENTOS = """
INSERT INTO {esquema}.store (prefix, key, value, expires_at, ttl_minutes)
SELECT 'clientes.' || %(raiz)s || n, clave, documento, now() + interval '300 days', 525600
FROM generate_series(1, %(cuantos)s::int) AS n,
     LATERAL unnest(%(claves)s::text[], %(documentos)s::jsonb[]) AS p (clave, documento)
"""
_REGISTRO = """
INSERT INTO hilos (thread_id, espacio, sujeto_id)
SELECT %(raiz)s || n || '-h' || h, 'clientes', %(raiz)s || n
FROM generate_series(1, %(cuantos)s::int) AS n, generate_series(1, %(hilos)s::int) AS h
"""
