"""The store: the policy on every path in, lifetimes and renewal on every path out."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest
from langgraph.store.base import BaseStore, GetOp, ListNamespacesOp, Op, PutOp, SearchOp

from memoria.almacen import AlmacenMemoria, DimensionDistinta, abrir_almacen
from memoria.embeddings import EmbeddingsNoDisponibles, ModeloEmbeddings
from memoria.politica import ESPACIOS, Escritor, PoliticaIncumplida, documento_preferencia, espacio

C9 = espacio("clientes", "C9")
P1 = espacio("proveedores", "P1")
Fila = tuple[Any, ...]


def preferencia(valor: str = "tienda Sol", tipo: str = "recogida") -> dict[str, Any]:
    return documento_preferencia("clientes", tipo=tipo, valor=valor, hilo="h1")[1]


def aviso(texto: str = "Cierran en agosto") -> dict[str, Any]:
    return {"texto": texto, "fecha": "2026-11-29", "importancia": "normal"}


@pytest.fixture
def caduca(propietario: psycopg.Connection) -> Callable[..., datetime]:
    """``caduca("clientes.C9", "pref-recogida")``: when; with ``dentro_de="-1 hour"`` it is changed first."""

    def leer(prefijo: str, clave: str, dentro_de: str | None = None) -> datetime:
        if dentro_de:
            propietario.execute(
                "UPDATE langgraph.store SET expires_at = now() + %s::interval WHERE prefix = %s AND key = %s",
                (dentro_de, prefijo, clave),
            )
        fila = propietario.execute(
            "SELECT expires_at FROM langgraph.store WHERE prefix = %s AND key = %s", (prefijo, clave)
        ).fetchone()
        assert fila
        assert isinstance(fila[0], datetime)
        return fila[0]

    return leer


def filas(conexion: psycopg.Connection, tabla: str = "store") -> list[Fila]:
    return conexion.execute(f"SELECT t::text FROM langgraph.{tabla} t ORDER BY 1").fetchall()


# -- writes -----------------------------------------------------------------------------------------


def escribir_put(almacen: BaseStore, documento: dict[str, Any], **mas: Any) -> None:
    almacen.put(C9, "pref-recogida", documento, **mas)


def escribir_aput(almacen: BaseStore, documento: dict[str, Any], **mas: Any) -> None:
    asyncio.run(almacen.aput(C9, "pref-recogida", documento, **mas))


def escribir_batch(almacen: BaseStore, documento: dict[str, Any], **mas: Any) -> None:
    almacen.batch([PutOp(C9, "pref-recogida", documento, **mas)])


def escribir_abatch(almacen: BaseStore, documento: dict[str, Any], **mas: Any) -> None:
    asyncio.run(almacen.abatch([PutOp(C9, "pref-recogida", documento, **mas)]))


CAMINOS = [escribir_put, escribir_aput, escribir_batch, escribir_abatch]


@pytest.mark.parametrize("escribir", CAMINOS)
def test_the_lifetime_of_the_namespace_goes_with_every_write(
    almacen: AlmacenMemoria, propietario: psycopg.Connection, escribir: Callable[..., None]
) -> None:
    escribir(almacen, preferencia())
    minutos, vida = propietario.execute(
        "SELECT ttl_minutes, expires_at - updated_at FROM langgraph.store"
    ).fetchone()  # type: ignore[misc]
    assert minutos == ESPACIOS["clientes"].vida_minutos
    assert vida == timedelta(days=365)


@pytest.mark.parametrize("escribir", CAMINOS)
@pytest.mark.parametrize(
    ("documento", "mas"),
    [
        ({**preferencia(), "tipo": "exigente"}, {}),
        ({**preferencia(), "inferido": "parece exigente"}, {}),
        ({**preferencia(), "texto": "a\x00b"}, {}),
        ({**preferencia(), "texto": "x" * 1_000_000}, {}),
        (preferencia(), {"ttl": 0.5}),
        (preferencia(), {"ttl": 10**9}),
    ],
)
def test_a_write_that_breaks_the_policy_writes_nothing(
    almacen: AlmacenMemoria,
    propietario: psycopg.Connection,
    escribir: Callable[..., None],
    documento: dict[str, Any],
    mas: dict[str, Any],
) -> None:
    with pytest.raises(PoliticaIncumplida):
        escribir(almacen, documento, **mas)
    assert filas(propietario) == []


def test_a_notice_lives_ninety_days_whatever_the_default_of_the_store(
    almacen_compras: AlmacenMemoria, propietario: psycopg.Connection
) -> None:
    almacen_compras.put(P1, "a1", aviso())
    assert propietario.execute("SELECT ttl_minutes FROM langgraph.store").fetchone() == (90 * 1440,)


def test_an_agent_writes_no_notice_and_deletes_none(
    almacen: AlmacenMemoria, almacen_compras: AlmacenMemoria, propietario: psycopg.Connection
) -> None:
    almacen_compras.put(P1, "a1", aviso())
    antes = filas(propietario)
    with pytest.raises(PoliticaIncumplida, match="nunca un agente"):
        almacen.put(P1, "a1", aviso("otro"))
    with pytest.raises(PoliticaIncumplida):
        almacen.delete(P1, "a1")
    assert filas(propietario) == antes


def test_the_database_holds_the_same_rule_for_who_writes(bd: str, propietario: psycopg.Connection) -> None:
    """A process that claims to be purchasing but connects as the agents is refused by row-level security."""
    with (
        abrir_almacen(escritor=Escritor.COMPRAS) as impostor,
        pytest.raises(PoliticaIncumplida, match="conexión"),
    ):
        impostor.put(P1, "a1", aviso())
    assert filas(propietario) == []


def test_batch_is_all_or_nothing(almacen: AlmacenMemoria, propietario: psycopg.Connection) -> None:
    with pytest.raises(PoliticaIncumplida):
        almacen.batch([PutOp(C9, "pref-recogida", preferencia()), PutOp(C9, "otra", preferencia())])
    assert filas(propietario) == []


def test_in_abatch_one_bad_write_takes_no_neighbour_down(
    almacen: AlmacenMemoria, propietario: psycopg.Connection
) -> None:
    """LangGraph may put the operations of several callers into one abatch."""
    ops = [
        PutOp(C9, "pref-recogida", preferencia()),
        PutOp(C9, "pref-contacto", {"texto": "mal"}),
        PutOp(espacio("clientes", "C10"), "pref-recogida", preferencia()),
    ]
    with pytest.raises(PoliticaIncumplida):
        asyncio.run(almacen.abatch(ops))
    assert propietario.execute(
        "SELECT array_agg(prefix ORDER BY prefix) FROM langgraph.store"
    ).fetchone() == (["clientes.C10", "clientes.C9"],)


@pytest.mark.parametrize(
    "mala",
    [
        GetOp(C9, "a\x00b"),
        GetOp(("", "x"), "a"),
        PutOp(P1, "a1", {"texto": "x"}),
        PutOp(("clientes", 9), "pref-recogida", preferencia()),  # type: ignore[arg-type]
        PutOp(C9, "pref-recogida", {**preferencia(), 7: "x"}),  # type: ignore[dict-item]
        PutOp(C9, "pref-recogida", ["texto"]),  # type: ignore[arg-type]
        PutOp(C9, "pref-recogida", 5),  # type: ignore[arg-type]
    ],
)
def test_in_abatch_one_refused_operation_of_any_kind_takes_no_neighbour_down(
    almacen: AlmacenMemoria, mala: Any
) -> None:
    with pytest.raises((ValueError, psycopg.DataError)):
        asyncio.run(almacen.abatch([PutOp(C9, "pref-recogida", preferencia()), mala]))
    assert [i.key for i in almacen.search(C9)] == ["pref-recogida"]


def test_in_abatch_an_endpoint_that_is_away_takes_no_neighbour_down(
    almacen: AlmacenMemoria, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Caido(Asimetrico):
        def embed_query(self, text: str) -> list[float]:
            raise EmbeddingsNoDisponibles("No contesta.")

    monkeypatch.setattr(almacen, "modelo", Caido())
    ops: list[Op] = [SearchOp(P1, query="agosto"), PutOp(C9, "pref-recogida", preferencia())]
    with pytest.raises(EmbeddingsNoDisponibles):
        asyncio.run(almacen.abatch(ops))
    assert [i.key for i in almacen.search(C9)] == ["pref-recogida"]


def test_callers_that_write_at_once_answer_each_for_their_own(almacen: AlmacenMemoria) -> None:
    async def todos() -> list[Any]:
        return list(
            await asyncio.gather(
                almacen.aput(C9, "pref-recogida", preferencia()),
                almacen.aput(C9, "pref-contacto", {"texto": "mal"}),
                almacen.aput(C9, "pref-horario", preferencia("tardes", "horario")),
                return_exceptions=True,
            )
        )

    primero, segundo, tercero = asyncio.run(todos())
    assert (primero, tercero) == (None, None)
    assert isinstance(segundo, PoliticaIncumplida)
    assert {i.key for i in almacen.search(C9)} == {"pref-recogida", "pref-horario"}


def test_a_new_value_of_a_kind_overwrites_the_old(almacen: AlmacenMemoria) -> None:
    almacen.put(C9, "pref-recogida", preferencia("Sol"))
    almacen.put(C9, "pref-recogida", preferencia("Getafe"))
    assert [i.value["valor"] for i in almacen.search(C9)] == ["Getafe"]


def test_a_batch_of_many_writes_and_reads(almacen_compras: AlmacenMemoria) -> None:
    almacen_compras.batch([PutOp(P1, f"a{n}", aviso(f"Aviso número {n}")) for n in range(120)])
    uno, encontrados, espacios, nada = almacen_compras.batch(
        [GetOp(P1, "a7"), SearchOp(P1, limit=200), ListNamespacesOp(), GetOp(P1, "no")]
    )
    assert uno.value["texto"] == "Aviso número 7"  # type: ignore[union-attr]
    assert len(encontrados) == 120  # type: ignore[arg-type]
    assert espacios == [P1]
    assert nada is None


# -- vectors ----------------------------------------------------------------------------------------


def test_a_preference_is_never_embedded(almacen: AlmacenMemoria, propietario: psycopg.Connection) -> None:
    almacen.put(C9, "pref-recogida", preferencia(), index=["texto", "valor"])
    assert filas(propietario, "store_vectors") == []


@pytest.mark.parametrize("index", [None, ["texto"], ["texto", "asunto"]])
def test_only_the_text_of_a_notice_is_embedded(
    almacen_compras: AlmacenMemoria, propietario: psycopg.Connection, index: Any
) -> None:
    almacen_compras.put(P1, "a1", {**aviso(), "asunto": "Verano"}, index=index)
    assert propietario.execute("SELECT field_name FROM langgraph.store_vectors").fetchall() == [("texto",)]


def test_a_re_put_leaves_no_vector_of_a_text_that_is_gone(
    almacen_compras: AlmacenMemoria, propietario: psycopg.Connection
) -> None:
    """lg#8214, lg#8757 (M2): without index, and with fewer texts."""
    almacen_compras.put(P1, "a1", aviso())
    propietario.execute(
        "INSERT INTO langgraph.store_vectors (prefix, key, field_name, embedding)"
        " SELECT prefix, key, 'texto.1', embedding FROM langgraph.store_vectors"
    )
    almacen_compras.put(P1, "a1", aviso("El pedido mínimo sube"))
    assert propietario.execute("SELECT field_name FROM langgraph.store_vectors").fetchall() == [("texto",)]
    almacen_compras.put(P1, "a1", aviso("El pedido mínimo baja"), index=False)
    assert filas(propietario, "store_vectors") == []
    assert almacen_compras.search(P1, query="cierran en agosto") == []


def test_the_vector_follows_the_text(almacen_compras: AlmacenMemoria) -> None:
    consulta = "Cierran la fábrica en agosto"
    almacen_compras.put(P1, "a1", aviso(consulta))
    antes = almacen_compras.search(P1, query=consulta)[0].score
    almacen_compras.put(P1, "a1", aviso("El pedido mínimo pasa a 900 euros"))
    despues = almacen_compras.search(P1, query=consulta)[0].score
    assert antes
    assert despues
    assert antes - despues > 0.1


class Asimetrico(ModeloEmbeddings):
    """A two-dimensional model that gives a query the opposite vector of the same text as a document."""

    nombre, dims, umbral = "asimetrico", 2, 0.4

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return [[1.0, 0.0] if t.startswith("bueno") else [0.0, 1.0] for t in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0, 0.0]


def test_a_query_is_embedded_as_a_query(bd: str, almacen_compras: AlmacenMemoria) -> None:
    """lg#9007 (M11): the stock store would embed it as a document and bring the wrong one first."""
    assert almacen_compras.modelo
    anchura = almacen_compras.modelo.dims

    class Ancho(Asimetrico):
        dims = anchura

        def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
            return [v + [0.0] * (self.dims - 2) for v in super().embed_documents(texts)]

        def embed_query(self, text: str) -> list[float]:
            return [*super().embed_query(text), *[0.0] * (self.dims - 2)]

    with abrir_almacen(os.environ["DATABASE_URL"], escritor=Escritor.COMPRAS, embeddings=Ancho()) as almacen:
        almacen.put(P1, "b", aviso("bueno"))
        almacen.put(P1, "m", aviso("malo"))
        assert [i.key for i in almacen.search(P1, query="malo")] == ["b", "m"]
        assert [i.key for i in asyncio.run(almacen.asearch(P1, query="malo"))] == ["b", "m"]


def test_a_model_of_other_dimensions_is_refused_at_the_door(
    bd: str, almacen_compras: AlmacenMemoria, propietario: psycopg.Connection
) -> None:
    """lg#6687 (M10): both numbers, and nothing lost."""
    almacen_compras.put(P1, "a1", aviso())
    antes = filas(propietario, "store_vectors")
    assert almacen_compras.modelo
    with (
        pytest.raises(DimensionDistinta, match=rf"\b2\b.*\b{almacen_compras.modelo.dims}\b"),
        abrir_almacen(embeddings=Asimetrico()),
    ):
        pass
    assert filas(propietario, "store_vectors") == antes


# -- lifetimes and renewal ----------------------------------------------------------------------------


def leer_get(almacen: BaseStore, namespace: tuple[str, ...], clave: str, **mas: Any) -> bool:
    return almacen.get(namespace, clave, **mas) is not None


def leer_aget(almacen: BaseStore, namespace: tuple[str, ...], clave: str, **mas: Any) -> bool:
    return asyncio.run(almacen.aget(namespace, clave, **mas)) is not None


def leer_search(almacen: BaseStore, namespace: tuple[str, ...], clave: str, **mas: Any) -> bool:
    return clave in [i.key for i in almacen.search(namespace, **mas)]


def leer_asearch(almacen: BaseStore, namespace: tuple[str, ...], clave: str, **mas: Any) -> bool:
    return clave in [i.key for i in asyncio.run(almacen.asearch(namespace, **mas))]


def leer_busqueda(almacen: BaseStore, namespace: tuple[str, ...], clave: str, **mas: Any) -> bool:
    return clave in [i.key for i in almacen.search(namespace, query="cierre", **mas)]


def leer_con_filtro(almacen: BaseStore, namespace: tuple[str, ...], clave: str, **mas: Any) -> bool:
    return clave in [i.key for i in almacen.search(namespace, filter={"texto": {"$ne": "x"}}, **mas)]


LECTURAS = [leer_get, leer_aget, leer_search, leer_asearch, leer_con_filtro]


@pytest.mark.parametrize("leer", LECTURAS)
def test_what_has_expired_is_not_read_before_the_sweep(
    almacen: AlmacenMemoria, caduca: Callable[..., datetime], leer: Callable[..., bool]
) -> None:
    """lg#8354 (M3); and a read must not bring it back to life."""
    almacen.put(C9, "pref-recogida", preferencia())
    muerto = caduca("clientes.C9", "pref-recogida", dentro_de="-1 second")
    assert not leer(almacen, C9, "pref-recogida")
    assert caduca("clientes.C9", "pref-recogida") == muerto
    assert almacen.list_namespaces() == []


@pytest.mark.parametrize("leer", LECTURAS)
def test_reading_a_card_renews_what_has_lost_more_than_a_day(
    almacen: AlmacenMemoria, caduca: Callable[..., datetime], leer: Callable[..., bool]
) -> None:
    almacen.put(C9, "pref-recogida", preferencia())
    entera = caduca("clientes.C9", "pref-recogida")
    caduca("clientes.C9", "pref-recogida", dentro_de="300 days")
    assert leer(almacen, C9, "pref-recogida")
    assert timedelta(0) <= caduca("clientes.C9", "pref-recogida") - entera < timedelta(minutes=1)


@pytest.mark.parametrize("leer", LECTURAS)
def test_reading_a_card_that_has_lost_less_than_a_day_writes_nothing(
    almacen: AlmacenMemoria,
    propietario: psycopg.Connection,
    caduca: Callable[..., datetime],
    leer: Callable[..., bool],
) -> None:
    almacen.put(C9, "pref-recogida", preferencia())
    antes = caduca("clientes.C9", "pref-recogida", dentro_de="364 days 1 hour")
    fila = propietario.execute("SELECT xmin::text, ctid::text FROM langgraph.store").fetchone()
    assert leer(almacen, C9, "pref-recogida")
    assert propietario.execute("SELECT xmin::text, ctid::text FROM langgraph.store").fetchone() == fila
    assert caduca("clientes.C9", "pref-recogida") == antes


@pytest.mark.parametrize("leer", [*LECTURAS, leer_busqueda])
def test_a_notice_is_never_renewed_whoever_reads_it(
    almacen: AlmacenMemoria,
    almacen_compras: AlmacenMemoria,
    caduca: Callable[..., datetime],
    leer: Callable[..., bool],
) -> None:
    almacen_compras.put(P1, "a1", aviso("Cierre de agosto"))
    antes = caduca("proveedores.P1", "a1", dentro_de="5 days")
    assert leer(almacen, P1, "a1")
    assert leer(almacen_compras, P1, "a1")
    assert caduca("proveedores.P1", "a1") == antes


@pytest.mark.parametrize("leer", LECTURAS)
def test_a_screen_that_asks_not_to_renew_does_not(
    almacen: AlmacenMemoria, caduca: Callable[..., datetime], leer: Callable[..., bool]
) -> None:
    """M5: browsing never renews."""
    almacen.put(C9, "pref-recogida", preferencia())
    antes = caduca("clientes.C9", "pref-recogida", dentro_de="5 days")
    assert leer(almacen, C9, "pref-recogida", refresh_ttl=False)
    assert caduca("clientes.C9", "pref-recogida") == antes


def test_correcting_a_notice_keeps_what_is_left_of_its_life(
    almacen_compras: AlmacenMemoria, caduca: Callable[..., datetime]
) -> None:
    """M5: editing neither drops the lifetime nor restarts it."""
    almacen_compras.put(P1, "a1", aviso())
    antes = caduca("proveedores.P1", "a1", dentro_de="5 days")
    almacen_compras.put(P1, "a1", aviso("Cierran del 1 al 20 de agosto"))
    assert caduca("proveedores.P1", "a1") == antes


def test_a_notice_written_over_an_expired_one_is_a_new_notice(
    almacen_compras: AlmacenMemoria, caduca: Callable[..., datetime]
) -> None:
    almacen_compras.put(P1, "a1", aviso())
    muerto = caduca("proveedores.P1", "a1", dentro_de="-1 day")
    almacen_compras.put(P1, "a1", aviso("Otra cosa"))
    assert caduca("proveedores.P1", "a1") - muerto > timedelta(days=89)


def test_a_preference_said_again_begins_its_life_again(
    almacen: AlmacenMemoria, caduca: Callable[..., datetime]
) -> None:
    almacen.put(C9, "pref-recogida", preferencia())
    antes = caduca("clientes.C9", "pref-recogida", dentro_de="5 days")
    almacen.put(C9, "pref-recogida", preferencia("Getafe"))
    assert caduca("clientes.C9", "pref-recogida") - antes > timedelta(days=359)


# -- isolation, concurrency -----------------------------------------------------------------------------


@pytest.mark.parametrize("otro", ["C1", "C10", "C_9", "CX9", "c9", "C9%", "C9.1"])
def test_a_card_is_read_by_its_own_id_only(almacen: AlmacenMemoria, otro: str) -> None:
    """lg#8300, CVE-2026-71433 (M1): no id sees that of another which begins or looks the same."""
    almacen.put(C9, "pref-recogida", preferencia())
    almacen.put(espacio("clientes", otro), "pref-recogida", preferencia("Getafe"))
    assert [i.value["valor"] for i in almacen.search(C9)] == ["tienda Sol"]
    assert [i.value["valor"] for i in almacen.search(espacio("clientes", otro))] == ["Getafe"]


def test_a_wildcard_of_like_is_a_letter_like_any_other(almacen: AlmacenMemoria) -> None:
    almacen.put(espacio("clientes", "anaX1"), "pref-recogida", preferencia())
    assert almacen.search(espacio("clientes", "ana_1")) == []
    assert almacen.search(espacio("clientes", "%")) == []


def test_twenty_parallel_reads_over_one_connection_all_finish(
    bd: str, almacen: AlmacenMemoria, almacen_compras: AlmacenMemoria
) -> None:
    """lg#7218 (M9): two connections per call would deadlock a pool of one."""
    almacen.put(C9, "pref-recogida", preferencia())
    almacen_compras.put(P1, "a1", aviso())
    salida = threading.Barrier(20)
    with abrir_almacen(min_size=1, max_size=1) as estrecho, ThreadPoolExecutor(20) as hilos:

        def leer(n: int) -> int:
            salida.wait(timeout=10)
            return len(estrecho.search(C9)) + len(estrecho.search(P1, query="agosto"))

        assert list(hilos.map(leer, range(20), timeout=30)) == [2] * 20
