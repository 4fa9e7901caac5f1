"""The search in its page: the agents' own, with why each notice is there, and nothing of it in a URL."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from compras import servicios
from compras.servicios.hallazgo import fragmento
from tests.compras.comun import LISTA, texto_de
from tests.memoria.test_embeddings import servidor

#: An address where nobody listens.
APAGADO = "http://127.0.0.1:9/v1"

Navegar = Callable[..., Any]
Escribir = Callable[..., str]


def sin_marcas(respuesta: Any) -> str:
    return re.sub("</?mark>", "", texto_de(respuesta))


def test_dice_por_que_y_no_lleva_nada_a_la_url(
    escribir: Escribir, otro_proveedor: Any, navegar: Navegar
) -> None:
    escribir("Cierran la fábrica en agosto por vacaciones", importancia="alta")
    escribir("Secreto ajeno de la fábrica en agosto", proveedor=otro_proveedor)
    respuesta = navegar("consulta").post(LISTA, {"proveedor": "P1", "consulta": "fábrica cerrada en agosto"})
    assert respuesta.status_code == 200
    assert "Cierran la fábrica en agosto" in sin_marcas(respuesta)
    assert "<mark>fábrica</mark>" in texto_de(respuesta)
    assert "Por sus palabras" in texto_de(respuesta)
    assert "Importante" in texto_de(respuesta)
    assert "Secreto ajeno" not in sin_marcas(respuesta)
    assert 'value="fábrica cerrada en agosto"' in texto_de(respuesta)
    assert "no está disponible" not in texto_de(respuesta)


def test_lo_que_solo_lleva_el_asunto_tambien_dice_por_que(escribir: Escribir, navegar: Navegar) -> None:
    escribir("Nada que añadir por ahora", asunto="RX-4417")
    pagina = texto_de(navegar("consulta").post(LISTA, {"proveedor": "P1", "consulta": "RX-4417"}))
    assert "Por su asunto" in pagina
    assert "Por sus palabras" not in pagina


def test_lo_marcado_no_deja_pasar_html(escribir: Escribir, navegar: Navegar) -> None:
    escribir('<script>alert(1)</script> fábrica<img src=x onerror="alert(2)">')
    respuesta = navegar("consulta").post(LISTA, {"proveedor": "P1", "consulta": "fábrica <b>"})
    html = respuesta.content.decode()
    assert "<mark>fábrica</mark>" in html
    assert "<script>alert" not in html
    assert "<img src=x" not in html
    assert "&lt;script&gt;" in html


def test_las_fechas_y_la_importancia_acotan_antes_de_elegir(
    escribir: Escribir, proveedor: Any, compradora: Any
) -> None:
    """More matching notices than an answer holds: the filter does not choose among the answer's."""
    hoy = timezone.localdate()
    for n in range(15):
        escribir(f"La fábrica cierra en agosto, nota {n}")
    escribir("La fábrica cierra en agosto, la antigua", fecha=hoy - timedelta(days=60), importancia="alta")
    buscar: dict[str, Any] = {"proveedor": proveedor, "consulta": "fábrica agosto", "por": compradora}
    assert len(servicios.buscar(**buscar).hallados) == 10
    for filtro in ({"hasta": hoy - timedelta(days=30)}, {"importancia": "alta"}):
        (unico,) = servicios.buscar(**buscar, **filtro).hallados
        assert unico.aviso.texto.endswith("la antigua")
    assert servicios.buscar(**buscar, desde=hoy, importancia="alta").hallados == []


@pytest.mark.parametrize(
    ("datos", "frase"),
    [
        ({"proveedor": "", "consulta": "cierre"}, "elija un proveedor"),
        ({"proveedor": "P1", "consulta": "  "}, "escriba qué busca"),
        ({"proveedor": "C9", "consulta": "cierre"}, "no está en la lista"),
        ({"proveedor": "P1", "consulta": "a\x00b"}, "caracteres invisibles"),
        ({"proveedor": "P1", "consulta": "x" * 100_000}, "acórtelo"),
        ({"proveedor": "P1", "consulta": "cierre", "desde": "ayer"}, "fecha que exista"),
    ],
)
def test_buscar_mal_se_dice(navegar: Navegar, proveedor: Any, datos: dict[str, str], frase: str) -> None:
    respuesta = navegar("consulta").post(LISTA, datos)
    assert respuesta.status_code == 422
    assert frase in texto_de(respuesta)


def test_sin_hallazgos_se_dice_y_que_probar(navegar: Navegar, proveedor: Any) -> None:
    cliente = navegar("consulta")
    respuesta = texto_de(cliente.post(LISTA, {"proveedor": "P1", "consulta": "cierre"}))
    assert "Ningún aviso vigente de Cerámicas del Norte responde a eso." in respuesta
    assert "Pruebe con otras palabras" in respuesta
    acotada = texto_de(cliente.post(LISTA, {"proveedor": "P1", "consulta": "cierre", "importancia": "alta"}))
    assert "Pruebe sin las fechas o sin la importancia" in acotada


def test_sin_permiso_no_se_busca(navegar: Navegar, escribir: Escribir) -> None:
    escribir("Cierran en agosto")
    respuesta = navegar("operaciones").post(LISTA, {"proveedor": "P1", "consulta": "agosto"})
    assert respuesta.status_code == 403


def test_sin_vectores_la_busqueda_lo_dice(
    escribir: Escribir, navegar: Navegar, propietario: psycopg.Connection
) -> None:
    """Without pgvector there is no table of vectors, and the store of a new process opens without them."""
    from compras.almacen import cerrar

    escribir("Cierran la fábrica en agosto")
    propietario.execute("ALTER TABLE langgraph.store_vectors RENAME TO store_vectors_guardada")
    cerrar()
    try:
        cliente = navegar("compras")
        hallada = cliente.post(LISTA, {"proveedor": "P1", "consulta": "fábrica"})
        vacia = cliente.post(LISTA, {"proveedor": "P1", "consulta": "transporte marítimo"})
    finally:
        cerrar()
        propietario.execute("ALTER TABLE langgraph.store_vectors_guardada RENAME TO store_vectors")
    for respuesta in (hallada, vacia):
        assert respuesta.status_code == 200
        assert "La búsqueda por significado no está disponible" in texto_de(respuesta)
    assert "<mark>fábrica</mark>" in texto_de(hallada)


@pytest.mark.parametrize("contesta", [True, False])
def test_sin_quien_incruste_la_busqueda_lo_dice(
    contesta: bool, escribir: Escribir, navegar: Navegar, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the endpoint answers something else, a gateway's page of errors, or nothing at all."""
    from compras.almacen import cerrar

    escribir("Cierran la fábrica en agosto")
    with servidor(lambda _cuerpo: (200, "<h1>Portal</h1>")) as (url, _peticiones):
        for nombre, valor in (("URL", url), ("MODEL", "m"), ("DIMS", "512")):
            monkeypatch.setenv(f"EMBEDDINGS_{nombre}", valor if contesta else valor.replace(url, APAGADO))
        cerrar()
        try:
            cliente = navegar("compras")
            respuestas = [
                cliente.post(LISTA, {"proveedor": "P1", "consulta": consulta})
                for consulta in ("fábrica", "transporte marítimo")
            ]
        finally:
            cerrar()
    for respuesta in respuestas:
        assert respuesta.status_code == 200
        assert "La búsqueda por significado no está disponible" in texto_de(respuesta)
    assert "<mark>fábrica</mark>" in texto_de(respuestas[0])


@given(
    st.lists(st.tuples(st.text(min_size=1, max_size=60), st.booleans()), min_size=1, max_size=8),
    st.integers(1, 120),
)
def test_un_fragmento_es_una_parte_del_texto_y_lleva_la_primera_marca(
    trozos: list[tuple[str, bool]], largo: int
) -> None:
    entero = "".join(t for t, _ in trozos)
    corto = fragmento(trozos, largo)
    dicho = [(t, m) for t, m in corto if t != "…" or t in entero]
    texto = "".join(t for t, _ in dicho)
    if len(entero) <= largo:
        assert corto == trozos
        return
    assert texto.strip("…") in entero
    assert len("".join(t for t, _ in corto)) <= largo + 2
    primera = next((t for t, m in trozos if m), None)
    if primera is not None and largo > 100:
        assert any(m and primera.startswith(t) for t, m in corto)


def test_en_la_pagina_se_busca_como_los_agentes_con_el_codigo_viejo(
    escribir: Escribir, proveedor: Any, otro_proveedor: Any, compradora: Any, navegar: Navegar
) -> None:
    escribir("Cierran la fábrica en agosto", proveedor=otro_proveedor)
    servicios.fusionar(origen=otro_proveedor, destino=proveedor, por=compradora)
    respuesta = navegar("consulta").post(LISTA, {"proveedor": "P10", "consulta": "fábrica"})
    assert "<mark>fábrica</mark>" in texto_de(respuesta)
