"""The explorer: who may look, what is shown of each subject, and that looking changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from memoria.agentes.herramientas import LIMITE_PREFERENCIAS, leer_preferencias
from memoria.agentes.prompts import prompt_de
from memoria.politica import documento_preferencia, espacio
from tests.memoria.explorador_comun import crear_hilo, paginas

Recordar = Callable[..., None]


@pytest.fixture
def recordar(almacen: Any) -> Recordar:
    """``recordar("C9", recogida="tienda")``: preferences of a customer, through the store."""

    def escribir(sujeto_id: str, hilo: str = "h1", nombre: str = "clientes", **valores: str) -> None:
        for tipo, valor in valores.items():
            clave, documento = documento_preferencia(nombre, tipo=tipo, valor=valor, hilo=hilo)
            almacen.put(espacio(nombre, sujeto_id), clave, documento)

    return escribir


def caducar(propietario: psycopg.Connection, pref: str, clave: str, hace: str = "1 hour") -> None:
    cambiadas = propietario.execute(
        "UPDATE langgraph.store SET expires_at = now() - %s::interval WHERE prefix = %s AND key = %s",
        (hace, pref, clave),
    )
    assert cambiadas.rowcount == 1


def texto(respuesta: Any) -> str:
    assert respuesta.status_code == 200
    return str(respuesta.content.decode())


# -- who may look -----------------------------------------------------------------------------------

PAGINAS = [
    pytest.param("/memoria/", id="espacios"),
    pytest.param("/memoria/clientes/", id="espacio"),
    pytest.param("/memoria/ficha/clientes/C9/", id="ficha"),
]


@pytest.mark.parametrize("url", PAGINAS)
def test_anonymous_is_sent_to_the_login(bd: str, client: Client, url: str) -> None:
    respuesta = client.get(url)
    assert respuesta.status_code == 302
    assert respuesta["Location"] == f"{reverse('admin:login')}?next={url}"


@pytest.mark.parametrize("url", PAGINAS)
@pytest.mark.parametrize(
    "grupos", [(), ("compras",), ("operaciones",)], ids=["none", "compras", "operaciones"]
)
def test_without_the_permission_it_is_forbidden(
    navegar: Callable[..., Client], url: str, grupos: tuple[str, ...]
) -> None:
    assert navegar(*grupos).get(url).status_code == 403


@pytest.mark.parametrize("url", PAGINAS)
@pytest.mark.parametrize("grupo", ["dpo", "consulta"])
def test_with_the_permission_it_opens(navegar: Callable[..., Client], url: str, grupo: str) -> None:
    assert navegar(grupo).get(url).status_code == 200


@pytest.mark.parametrize("url", PAGINAS)
def test_it_only_reads(navegar: Callable[..., Client], url: str) -> None:
    assert navegar("dpo").post(url).status_code == 405


@pytest.mark.parametrize(
    "url",
    [
        "/memoria/pedidos/",
        "/memoria/ficha/pedidos/C9/",
        "/memoria/ficha/clientes/",
        "/memoria/ficha/clientes/C%009/",
        "/memoria/ficha/clientes/" + "x" * 201 + "/",
        "/memoria/ficha/clientes/" + "%2525" * 80 + "/",
    ],
)
def test_what_is_no_subject_is_not_found(navegar: Callable[..., Client], url: str) -> None:
    assert navegar("dpo").get(url).status_code == 404


# -- namespaces ---------------------------------------------------------------------------------------


def test_namespaces_with_their_counts(
    navegar: Callable[..., Client], recordar: Recordar, propietario: psycopg.Connection
) -> None:
    recordar("C9", recogida="tienda Sol", idioma="catalán")
    recordar("C10", recogida="en casa")
    caducar(propietario, "clientes.C9", "pref-idioma")

    filas = {f["nombre"]: f for f in navegar("dpo").get("/memoria/").context["filas"]}

    assert (
        filas["clientes"]["documentos"],
        filas["clientes"]["sujetos"],
        filas["clientes"]["caducados"],
    ) == (3, 2, 1)
    assert (filas["empleados"]["documentos"], filas["empleados"]["sujetos"]) == (0, 0)


def test_a_namespace_outside_the_policy_is_pointed_out(
    navegar: Callable[..., Client], propietario: psycopg.Connection
) -> None:
    propietario.execute("INSERT INTO langgraph.store (prefix, key, value) VALUES ('cestas.C9', 'k', '{}')")
    pagina = texto(navegar("dpo").get("/memoria/"))
    assert "cestas" in pagina
    assert "fuera de la política" in pagina


# -- the subjects of a namespace ------------------------------------------------------------------------


@pytest.fixture
def muchos(propietario: psycopg.Connection) -> list[str]:
    """120 customers, their ids byte by byte; beside them the same ids as employees."""
    for nombre in ("clientes", "empleados"):
        propietario.execute(
            """
            INSERT INTO langgraph.store (prefix, key, value)
            SELECT %s || '.C' || n, 'pref-idioma', '{"texto": "t"}' FROM generate_series(1, 120) AS n
            """,
            (nombre,),
        )
    return sorted(f"C{n}" for n in range(1, 121))


def sujetos(respuesta: Any) -> list[str]:
    assert respuesta.status_code == 200
    return [e.sujeto_id for e in respuesta.context["pagina"].entradas]


def test_paging_forwards_shows_every_subject_once(navegar: Callable[..., Client], muchos: list[str]) -> None:
    vistos = [sujetos(r) for r in paginas(navegar("dpo"), "/memoria/clientes/", "next")]
    assert [len(p) for p in vistos] == [50, 50, 20]
    assert [s for pagina in vistos for s in pagina] == muchos


def test_paging_backwards_shows_the_same_pages(navegar: Callable[..., Client], muchos: list[str]) -> None:
    cliente = navegar("dpo")
    ida = [sujetos(r) for r in paginas(cliente, "/memoria/clientes/", "next")]
    ultima = f"/memoria/clientes/?despues={ida[1][-1]}"
    vuelta = [sujetos(r) for r in paginas(cliente, ultima, "prev")]
    assert vuelta == ida[::-1]


def test_from_a_page_reached_backwards_one_can_go_forwards_again(
    navegar: Callable[..., Client], muchos: list[str]
) -> None:
    cliente = navegar("dpo")
    ida = [sujetos(r) for r in paginas(cliente, "/memoria/clientes/", "next")]
    for n in (1, 0):  # a page in the middle and the first one, which has nothing before it
        [vuelta, *siguientes] = paginas(cliente, f"/memoria/clientes/?antes={ida[n + 1][0]}", "next")
        assert sujetos(vuelta) == ida[n]
        assert [sujetos(r) for r in siguientes] == ida[n + 1 :]


def test_pages_count_nothing_and_skip_nothing(
    navegar: Callable[..., Client], muchos: list[str], conexion: Any
) -> None:
    cliente = navegar("dpo")
    with CaptureQueriesContext(conexion) as consultas:
        cliente.get(f"/memoria/clientes/?despues={muchos[49]}")
    del_almacen = [c["sql"] for c in consultas if "store" in c["sql"]]
    assert len(del_almacen) == 1
    assert "OFFSET" not in del_almacen[0]
    assert "LIMIT 51" in del_almacen[0]


def test_the_number_of_queries_does_not_grow_with_the_rows(
    navegar: Callable[..., Client], recordar: Recordar, muchos: list[str], conexion: Any
) -> None:
    cliente = navegar("dpo")
    with CaptureQueriesContext(conexion) as con_muchos:
        cliente.get("/memoria/clientes/")
    with CaptureQueriesContext(conexion) as con_ninguno:
        cliente.get("/memoria/proveedores/")
    assert len(con_muchos) == len(con_ninguno)


@pytest.mark.parametrize("marca", ["%00", "nadie", "%F0%9F%A6%8A", "a.b", "x" * 5000])
def test_a_mark_that_names_nobody_is_no_error(navegar: Callable[..., Client], marca: str) -> None:
    cliente = navegar("dpo")
    assert cliente.get(f"/memoria/clientes/?despues={marca}").status_code == 200
    assert cliente.get(f"/memoria/clientes/?antes={marca}").status_code == 200


def test_a_prefix_no_code_of_ours_wrote_is_shown_without_a_link(
    navegar: Callable[..., Client], propietario: psycopg.Connection
) -> None:
    propietario.execute(
        "INSERT INTO langgraph.store (prefix, key, value) VALUES ('clientes.C9.mas', 'k', '[]')"
    )
    pagina = texto(navegar("dpo").get("/memoria/clientes/"))
    assert "clientes.C9.mas" in pagina
    assert "fuera de la política" in pagina


def test_search_opens_the_card_of_that_exact_id(navegar: Callable[..., Client], recordar: Recordar) -> None:
    recordar("C9", recogida="tienda Sol")
    cliente = navegar("dpo")
    assert cliente.get("/memoria/clientes/", {"id": "C9"})["Location"] == "/memoria/ficha/clientes/C9/"
    for otro in ("C", "C90", "c9", "C\x009", "x" * 300):
        respuesta = cliente.get("/memoria/clientes/", {"id": otro})
        assert "No hay nada guardado con el identificador" in texto(respuesta)


def test_search_finds_who_has_only_conversations(navegar: Callable[..., Client], hilos: Any) -> None:
    crear_hilo(hilos, "h1", "C9")
    assert navegar("dpo").get("/memoria/clientes/", {"id": "C9"}).status_code == 302


# -- the card -----------------------------------------------------------------------------------------


def test_the_card_shows_each_document_with_its_origin_and_how_long_it_has_left(
    navegar: Callable[..., Client], recordar: Recordar, propietario: psycopg.Connection
) -> None:
    recordar("C9", hilo="conversacion-7", recogida="tienda Sol")
    propietario.execute("UPDATE langgraph.store SET expires_at = now() + interval '12 days 3 hours'")

    respuesta = navegar("dpo").get("/memoria/ficha/clientes/C9/")

    [documento] = respuesta.context["ficha"].documentos
    assert (documento.tipo, documento.origen, documento.hilo) == ("recogida", "el cliente", "conversacion-7")
    pagina = texto(respuesta)
    assert "Prefiere recoger sus pedidos así: tienda Sol" in pagina
    assert "conversacion-7" in pagina
    assert "dentro de 12 días" in pagina
    assert ">caducado<" not in pagina


def test_an_expired_document_is_marked_and_its_agent_does_not_get_it(
    navegar: Callable[..., Client], recordar: Recordar, propietario: psycopg.Connection
) -> None:
    recordar("C9", recogida="tienda Sol", idioma="catalán")
    caducar(propietario, "clientes.C9", "pref-idioma", hace="1 second")

    respuesta = navegar("dpo").get("/memoria/ficha/clientes/C9/")

    assert '<span class="etiqueta etiqueta--mal">caducado</span>' in texto(respuesta)
    estado = {d.tipo: d.caducado for d in respuesta.context["ficha"].documentos}
    assert estado == {"recogida": False, "idioma": True}
    assert "tienda Sol" in respuesta.context["ficha"].prompt
    assert "catalán" not in respuesta.context["ficha"].prompt


def test_the_prompt_is_the_agents_own(
    navegar: Callable[..., Client], recordar: Recordar, almacen: Any
) -> None:
    recordar("C9", recogida="tienda <Sol> & «Luna»", idioma="catalán")
    leidos = [i.value for i in almacen.search(espacio("clientes", "C9"))]

    respuesta = navegar("dpo").get("/memoria/ficha/clientes/C9/")

    assert respuesta.context["ficha"].prompt == prompt_de("clientes", leidos)
    assert "tienda &lt;Sol&gt; &amp; ‹Luna›" in texto(respuesta)


def test_the_prompt_has_no_more_documents_than_the_agent_reads(
    navegar: Callable[..., Client], almacen: Any, propietario: psycopg.Connection
) -> None:
    """Somebody opened the closed list: the agent reads the ten latest in force, and so does the card."""
    propietario.execute(
        """
        INSERT INTO langgraph.store (prefix, key, value, updated_at, expires_at)
        SELECT 'clientes.C9', 'k' || n, jsonb_build_object('texto', 'Dicho ' || n || '.'),
               now() - n * interval '1 minute',
               now() + CASE WHEN n % 5 = 0 THEN interval '-1 hour' ELSE interval '10 days' END
        FROM generate_series(1, 30) AS n
        """
    )
    prompt = navegar("dpo").get("/memoria/ficha/clientes/C9/").context["ficha"].prompt
    leidos = [i.value for i in leer_preferencias(almacen, espacio("clientes", "C9"))]
    assert len(leidos) == LIMITE_PREFERENCIAS
    assert prompt == prompt_de("clientes", leidos)
    assert prompt.count("Dicho") == LIMITE_PREFERENCIAS


def test_a_subject_without_anything_has_an_empty_card(navegar: Callable[..., Client]) -> None:
    pagina = texto(navegar("dpo").get("/memoria/ficha/clientes/C404/"))
    assert "No se recuerda nada." in pagina
    assert "- (ninguna)" in pagina


def test_the_card_of_one_subject_shows_nothing_of_another(
    navegar: Callable[..., Client], recordar: Recordar, hilos: Any
) -> None:
    recordar("C1", recogida="uno")
    recordar("C10", recogida="diez")
    recordar("C1", nombre="empleados", seccion="pescadería")
    crear_hilo(hilos, "de-c10", "C10")
    pagina = texto(navegar("dpo").get("/memoria/ficha/clientes/C1/"))
    assert "uno" in pagina
    assert not any(ajeno in pagina for ajeno in ("diez", "pescadería", "de-c10"))


def test_conversations_with_how_many_checkpoints_each_in_two_queries(
    navegar: Callable[..., Client], hilos: Any, conexion: Any
) -> None:
    for n in range(1, 5):
        crear_hilo(hilos, f"h{n}", "C9", puntos=n)
    cliente = navegar("dpo")
    with CaptureQueriesContext(conexion) as consultas:
        respuesta = cliente.get("/memoria/ficha/clientes/C9/")
    assert {h.thread_id: h.puntos for h in respuesta.context["ficha"].hilos} == {
        "h1": 1,
        "h2": 2,
        "h3": 3,
        "h4": 4,
    }
    assert len([c for c in consultas if "hilos" in c["sql"] or "checkpoints" in c["sql"]]) == 2


def test_conversations_need_their_own_permission(navegar: Callable[..., Client], hilos: Any) -> None:
    from django.contrib.auth.models import Permission

    crear_hilo(hilos, "conversacion-7", "C9")
    cliente = navegar()
    cliente.usuario.user_permissions.add(Permission.objects.get(codename="view_documento"))  # type: ignore[attr-defined]
    assert "conversacion-7" not in texto(cliente.get("/memoria/ficha/clientes/C9/"))
    assert cliente.get("/memoria/clientes/", {"id": "C9"}).status_code == 200  # not even that there are some
    assert "conversacion-7" in texto(navegar("dpo").get("/memoria/ficha/clientes/C9/"))


def test_a_document_of_another_shape_does_not_break_the_card(
    navegar: Callable[..., Client], propietario: psycopg.Connection
) -> None:
    propietario.execute(
        """INSERT INTO langgraph.store (prefix, key, value) VALUES
           ('clientes.C9', 'lista', '[1, 2]'), ('clientes.C9', 'otra', '{"texto": 7, "tipo": null}')"""
    )
    pagina = texto(navegar("dpo").get("/memoria/ficha/clientes/C9/"))
    assert "lista" in pagina
    assert "no caduca" in pagina


def test_notices_are_shown_as_the_tool_gives_them(
    navegar: Callable[..., Client], almacen_compras: Any, propietario: psycopg.Connection
) -> None:
    for clave, frase in (("a1", "Cierran en agosto"), ("a2", "Suben los portes")):
        almacen_compras.put(espacio("proveedores", "P1"), clave, {"texto": frase, "fecha": "2026-11-29"})
    caducar(propietario, "proveedores.P1", "a2")

    respuesta = navegar("consulta").get("/memoria/ficha/proveedores/P1/")

    assert "<li>2026-11-29: Cierran en agosto</li>" in texto(respuesta)
    assert "<li>2026-11-29: Suben los portes</li>" not in texto(respuesta)
    assert [d.caducado for d in respuesta.context["ficha"].documentos].count(True) == 1


# -- looking changes nothing ----------------------------------------------------------------------------


def test_browsing_renews_nothing(
    navegar: Callable[..., Client],
    recordar: Recordar,
    almacen_compras: Any,
    propietario: psycopg.Connection,
) -> None:
    recordar("C9", recogida="tienda Sol", idioma="catalán")
    almacen_compras.put(espacio("proveedores", "P1"), "a1", {"texto": "Cierran", "fecha": "2026-11-29"})
    # Old enough for an agent's read to renew it, and one already expired.
    propietario.execute("UPDATE langgraph.store SET expires_at = now() + interval '3 days'")
    caducar(propietario, "clientes.C9", "pref-idioma")

    def filas() -> Any:
        # xmin changes with any rewrite of the row, whatever it writes.
        return propietario.execute(
            "SELECT xmin::text, s::text FROM langgraph.store s ORDER BY prefix, key"
        ).fetchall()

    antes = filas()
    cliente = navegar("dpo")
    for url in (
        "/",
        "/memoria/",
        "/memoria/clientes/",
        "/memoria/clientes/?id=C9",
        "/memoria/ficha/clientes/C9/",
        "/memoria/proveedores/",
        "/memoria/ficha/proveedores/P1/",
    ):
        assert cliente.get(url).status_code in (200, 302)
    assert filas() == antes


def test_it_works_without_pgvector(navegar: Callable[..., Client], recordar: Recordar, conexion: Any) -> None:
    recordar("C9", recogida="tienda Sol")
    cliente = navegar("dpo")
    with CaptureQueriesContext(conexion) as consultas:
        for url in ("/", "/memoria/", "/memoria/clientes/", "/memoria/ficha/clientes/C9/"):
            assert cliente.get(url).status_code == 200
    assert not [c for c in consultas if "store_vectors" in c["sql"]]


@pytest.fixture
def conexion(bd: str) -> Any:
    """The connection the pages use."""
    from django.db import connection

    return connection
