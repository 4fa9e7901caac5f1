"""What the tests of privacy share: people, data of a subject and a request taken to a given point."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from memoria import politica
from memoria.agentes import ContextoCliente, configuracion
from memoria.models import Documento
from privacidad import plazos, servicios
from privacidad.estados import Estado
from privacidad.models import Expediente, Solicitud
from tests.ordenes import ordenar
from tests.privacidad.restaurada import Copias
from tests.privacidad.servidor_langfuse import PUBLICA, SECRETA, ServidorLangfuse


@pytest.fixture
def dpo(persona: Callable[..., Any]) -> Any:
    """Who receives."""
    return persona("dpo", nombre="dpo-uno")


@pytest.fixture
def otro_dpo(persona: Callable[..., Any]) -> Any:
    """Who approves."""
    return persona("dpo", nombre="dpo-dos")


@pytest.fixture
def recibida(dpo: Any) -> Callable[..., Any]:
    """``recibida("C1")``: a request just received today."""

    def crear(sujeto_id: str = "C1", espacio: str = "clientes", dia: date | None = None, **otros: Any) -> Any:
        return servicios.recibir(
            espacio=espacio,
            sujeto_id=sujeto_id,
            canal="correo",
            recibida=dia or plazos.hoy(),
            por=dpo,
            **otros,
        )

    return crear


@pytest.fixture
def hasta(recibida: Callable[..., Any], dpo: Any, otro_dpo: Any) -> Callable[..., Any]:
    """``hasta(Estado.APROBADA, "C1")``: a request taken by the services to that state."""

    def llevar(estado: str, sujeto_id: str = "C1", **otros: Any) -> Any:
        solicitud = recibida(sujeto_id, **otros)
        for paso, servicio, datos in (
            (Estado.IDENTIFICADA, servicios.identificar, {"como": "DNI en tienda", "por": dpo}),
            (Estado.REVISADA, servicios.revisar, {"por": dpo}),
            (Estado.APROBADA, servicios.aprobar, {"por": otro_dpo}),
            (Estado.COMPLETADA, servicios.ejecutar, {}),
        ):
            if solicitud.estado == estado:
                break
            servicio(solicitud=solicitud, **datos)
            assert solicitud.estado == paso
        return solicitud

    return llevar


@pytest.fixture
def preferencia(almacen: Any) -> Callable[..., None]:
    """``preferencia("C1", "idioma")``: a document of a customer, as an agent writes it."""

    def poner(cliente: str, tipo: str = "idioma", valor: str = "catalán") -> None:
        clave, documento = politica.documento_preferencia(
            "clientes", tipo=tipo, valor=valor, hilo=f"h-{cliente}"
        )
        almacen.put(politica.espacio("clientes", cliente), clave, documento)

    return poner


@pytest.fixture
def conversacion(hilos: Any) -> Callable[..., None]:
    """``conversacion("C1", "h1")``: a thread of a customer with a checkpoint, a blob and a pending write."""
    from langgraph.checkpoint.base import empty_checkpoint

    def guardar(cliente: str, thread_id: str, texto: str = "hola") -> None:
        config = configuracion(ContextoCliente(cliente_id=cliente, tienda="T1"), thread_id)
        config["configurable"].setdefault("checkpoint_ns", "")
        punto = empty_checkpoint()
        punto["channel_values"] = {"messages": [texto]}
        punto["channel_versions"] = {"messages": "1"}
        siguiente = hilos.put(config, punto, {"source": "loop", "step": 0}, {"messages": "1"})
        hilos.put_writes(siguiente, [("messages", texto)], "tarea")

    return guardar


@pytest.fixture
def volcado(propietario: Any) -> Callable[..., dict[str, list[Any]]]:
    """``volcado(sin="C1")``: every column of every table of LangGraph and of the registry, for the owner.

    Rows of the customer ``sin`` and of the threads that begin with ``h-sin-`` are left out.
    """

    def leer(sin: str) -> dict[str, list[Any]]:
        tablas = [
            fila[0]
            for fila in propietario.execute(
                "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables"
                " WHERE schemaname = 'langgraph' OR tablename = 'hilos' ORDER BY 1"
            )
        ]
        resultado = {}
        for tabla in tablas:
            filas = [f[0] for f in propietario.execute(f"SELECT to_jsonb(t)::text FROM {tabla} t")]
            resultado[tabla] = sorted(
                f for f in filas if f'"clientes.{sin}"' not in f and f'"h-{sin}-' not in f
            )
        return resultado

    return leer


@pytest.fixture
def apariciones(propietario: Any) -> Callable[[str], list[str]]:
    """Every table in which some row has a text in it, in any column, bytes included."""

    def buscar(texto: str) -> list[str]:
        tablas = propietario.execute(
            "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables"
            " WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        ).fetchall()
        en_hexadecimal = texto.encode().hex()
        return [
            tabla
            for (tabla,) in tablas
            if propietario.execute(
                f"SELECT EXISTS (SELECT FROM {tabla} t WHERE to_jsonb(t)::text ILIKE '%%' || %s || '%%'"
                " OR to_jsonb(t)::text ILIKE '%%' || %s || '%%')",
                [texto, en_hexadecimal],
            ).fetchone()[0]
        ]

    return buscar


@pytest.fixture
def sin_guardas(propietario: Any) -> Callable[..., None]:
    """Run a statement past every trigger and foreign key, as a restore may: committed at once."""

    def escribir(sentencia: str, parametros: Any = None) -> None:
        with propietario.transaction():
            propietario.execute("SET LOCAL session_replication_role = replica")
            propietario.execute(sentencia, parametros)

    return escribir


@pytest.fixture
def pasa_la_valla(propietario: Any) -> Callable[[], None]:
    """The fences of every subject erased so far come to their end, as when ``VALLA_MINUTOS`` have gone by."""

    def pasar() -> None:
        propietario.execute(
            "UPDATE vallas.vallas SET hasta = clock_timestamp() - interval '1 second'"
            " WHERE hasta < 'infinity'"
        )

    return pasar


@pytest.fixture
def producir(dpo: Any) -> Callable[..., Expediente]:
    def hacer(sujeto_id: str = "C1") -> Expediente:
        return servicios.producir(espacio="clientes", sujeto_id=sujeto_id, por=dpo)

    return hacer


@pytest.fixture
def charla(hilos: Any) -> Callable[..., None]:
    """A thread with messages as an agent leaves them, and whatever else is put in its state."""
    from langgraph.checkpoint.base import empty_checkpoint

    def guardar(cliente: str, thread_id: str, mensajes: list[Any], version: str = "1", **estado: Any) -> None:
        config = configuracion(ContextoCliente(cliente_id=cliente, tienda="T1"), thread_id)
        config["configurable"].setdefault("checkpoint_ns", "")
        punto = empty_checkpoint()
        punto["channel_values"] = {"messages": mensajes, **estado}
        versiones: Any = dict.fromkeys(punto["channel_values"], version)
        punto["channel_versions"] = versiones
        hilos.put(config, punto, {"source": "loop", "step": 0}, versiones)

    return guardar


@pytest.fixture
def diez(bd: str) -> None:
    """Ten entries: the fifth names a subject by its digest."""
    from privacidad import registro

    for n in range(1, 11):
        registro.anotar(
            tipo="prueba",
            referencia=f"SUP-2026-{n:04}",
            resumen="ab" * 32 * (n == 5),
            datos={"n": n, "á": [None]},
        )


@pytest.fixture
def con_copia(
    hasta: Callable[..., Any],
    preferencia: Callable[..., None],
    conversacion: Callable[..., None],
    dpo: Any,
    otro_dpo: Any,
) -> Callable[..., Any]:
    """A completed request of a customer, with its sealed copy."""

    def hacer(sujeto_id: str = "C-sellado", valor: str = "occitano", texto: str = "soy canario") -> Any:
        preferencia(sujeto_id, valor=valor)
        conversacion(sujeto_id, f"h-{sujeto_id}-1", texto=texto)
        solicitud = hasta(Estado.REVISADA, sujeto_id)
        servicios.decidir_copia(
            solicitud=solicitud, hasta=plazos.hoy() + timedelta(days=30), motivo=None, por=dpo
        )
        servicios.aprobar(solicitud=solicitud, por=otro_dpo)
        servicios.ejecutar(solicitud=solicitud)
        assert solicitud.estado == Estado.COMPLETADA
        return solicitud

    return hacer


@pytest.fixture
def completada(
    hasta: Callable[..., Any], preferencia: Callable[..., None], conversacion: Callable[..., None]
) -> Callable[..., Solicitud]:
    """``completada("C1")``: a request carried out, with two documents and a thread erased."""

    def llevar(sujeto_id: str = "C1", **otros: Any) -> Solicitud:
        preferencia(sujeto_id)
        preferencia(sujeto_id, "horario", "tardes")
        conversacion(sujeto_id, f"h-{sujeto_id}")
        solicitud: Solicitud = hasta(Estado.COMPLETADA, sujeto_id, **otros)
        return solicitud

    return llevar


@pytest.fixture
def copias(bd: str, tmp_path: Path) -> Iterator[Copias]:
    """Copies of the database, which is itself again in the end."""
    copias = Copias(bd, tmp_path)
    yield copias
    copias.volver()


@pytest.fixture
def fichero(tmp_path: Path) -> Path:
    """Where the register is exported to."""
    return tmp_path / "registro.jsonl"


@pytest.fixture
def dicho(copias: Copias) -> Callable[..., None]:
    """``dicho("C1", "horario")``: an agent writes a preference, and maybe a thread, in the restored copy."""
    from langgraph.checkpoint.base import empty_checkpoint

    from memoria.almacen import abrir_almacen
    from memoria.hilos import abrir_checkpointer

    def decir(cliente: str, tipo: str, thread_id: str | None = None) -> None:
        with abrir_almacen(copias.url("memoria_agentes"), min_size=1) as almacen:
            clave, documento = politica.documento_preferencia(
                "clientes", tipo=tipo, valor="correo" if tipo == "contacto" else "tardes", hilo="h-nuevo"
            )
            almacen.put(politica.espacio("clientes", cliente), clave, documento)
        if thread_id:
            config = configuracion(ContextoCliente(cliente_id=cliente, tienda="T1"), thread_id)
            config["configurable"].setdefault("checkpoint_ns", "")
            with abrir_checkpointer(copias.url("memoria_agentes")) as hilos:
                hilos.put(config, empty_checkpoint(), {"source": "loop", "step": 0}, {})

    return decir


@pytest.fixture
def historia(
    copias: Copias,
    fichero: Path,
    preferencia: Callable[..., None],
    conversacion: Callable[..., None],
    hasta: Callable[..., Any],
) -> Any:
    """C1 and C2 have data; a copy is made; C1 is erased; the register is exported; the copy is restored."""
    for cliente in ("C1", "C10", "C2"):
        preferencia(cliente)
        preferencia(cliente, "horario", "mañanas")
        conversacion(cliente, f"h-{cliente}")
    copias.hacer()
    solicitud = hasta(Estado.COMPLETADA, "C1")
    assert ordenar("exportar_registro", fichero)[2] == 0
    copias.restaurar()
    assert Documento.objects.del_sujeto("clientes", "C1").count() == 2
    return solicitud


@pytest.fixture
def hasta_completada(dpo: Any, otro_dpo: Any) -> Callable[..., None]:
    """Take a request on, from wherever it is, to its end."""

    orden = list(Estado.values)

    def seguir(solicitud: Solicitud) -> None:
        for paso, servicio, datos in (
            (Estado.IDENTIFICADA, servicios.identificar, {"como": "DNI en tienda", "por": dpo}),
            (Estado.REVISADA, servicios.revisar, {"por": dpo}),
            (Estado.APROBADA, servicios.aprobar, {"por": otro_dpo}),
            (Estado.COMPLETADA, servicios.ejecutar, {}),
        ):
            if orden.index(solicitud.estado) < orden.index(paso):
                servicio(solicitud=solicitud, **datos)

    return seguir


@pytest.fixture
def servidor(settings: Any) -> Iterator[ServidorLangfuse]:
    """A Langfuse, which this installation is connected to."""
    with ServidorLangfuse() as servidor:
        settings.LANGFUSE_URL = servidor.url
        settings.LANGFUSE_PUBLIC_KEY, settings.LANGFUSE_SECRET_KEY = PUBLICA, SECRETA
        yield servidor
