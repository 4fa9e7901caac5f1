"""The purchasing pages on what something else wrote, broke or restricted."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from typing import Any

import psycopg
import pytest
from django.utils import timezone

from compras import lectura, servicios
from tests.compras.comun import LISTA, datos_de, retirada_de, texto_de, url

Navegar = Callable[..., Any]
Escribir = Callable[..., str]


@pytest.fixture
def danado(propietario: psycopg.Connection) -> Callable[..., None]:
    """``danado("raro", {"texto": "x"})``: a row written past the store."""

    def escribir(clave: str, valor: Any, prefijo: str = "proveedores.P1") -> None:
        propietario.execute(
            "INSERT INTO langgraph.store (prefix, key, value) VALUES (%s, %s, %s)",
            [prefijo, clave, psycopg.types.json.Jsonb(valor)],
        )

    return escribir


@pytest.mark.parametrize(
    ("valor", "falta"),
    [
        ({"texto": "Solo texto"}, "Falta la fecha"),
        ({"fecha": "2026-03-01"}, "Falta el texto"),
        ({"texto": ["x"], "fecha": 5}, "Falta el texto"),
        ({"texto": "Sin día", "fecha": "31/02/2026"}, "Falta la fecha"),
        ({"texto": "x", "fecha": "2026-03-01", "valido_hasta": "pronto"}, "Hasta cuándo es válido"),
        ({"texto": "x", "fecha": "2026-03-01", "asunto": {"a": 1}}, "que no cabe en él"),
        ({"texto": "x", "fecha": "2026-03-01", "autor": 7, "nota": None}, "que un aviso no lleva"),
        ([{"texto": "x"}], "Falta el texto"),
        (None, "Falta el texto"),
    ],
)
def test_un_aviso_danado_se_ve_dice_que_le_falta_y_se_retira(
    escribir: Escribir,
    danado: Callable[..., None],
    navegar: Navegar,
    fila: Callable[..., Any],
    valor: Any,
    falta: str,
) -> None:
    sano = escribir("El que está bien")
    danado("raro", valor)
    antes, cliente = fila("P1", "raro"), navegar("compras")
    lista = texto_de(cliente.get(LISTA))
    assert "El que está bien" in lista
    assert lista.count("Dañado") == 1
    assert falta in lista
    pagina = texto_de(cliente.get(url("aviso", "raro")))
    assert falta in pagina
    assert url("aviso_corregir", "raro") not in pagina
    assert cliente.get(url("aviso_corregir", "raro"))["Location"] == url("aviso", "raro")
    correccion = {**datos_de(sano), "version": antes["updated_at"].isoformat()}
    enviado = cliente.post(url("aviso_corregir", "raro"), correccion)
    assert enviado.status_code == 422
    assert "está dañado" in texto_de(enviado)
    assert fila("P1", "raro") == antes
    assert cliente.get(url("aviso_retirar", "raro")).status_code == 200
    assert cliente.post(url("aviso_retirar", "raro"), retirada_de("raro")).status_code == 302
    assert fila("P1", "raro") is None
    assert "Dañado" not in texto_de(cliente.get(LISTA))


def test_una_fila_que_no_es_de_ningun_proveedor_se_ve_sin_enlace(
    bd: str, danado: Callable[..., None], navegar: Navegar
) -> None:
    danado("k", {"texto": "Perdida", "fecha": "2026-03-01"}, prefijo="proveedores.P1.mas")
    lista = texto_de(navegar("compras").get(LISTA))
    assert "Perdida" in lista
    assert "No se sabe de qué proveedor es." in lista
    assert f'href="{LISTA}P1' not in lista


def test_las_paginas_pasan_por_encima_de_los_danados(
    bd: str, danado: Callable[..., None], navegar: Navegar
) -> None:
    for n in range(60):
        danado(f"d{n:02}", {"texto": f"Sin fecha {n:02}."})
    cliente = navegar("compras")
    primera = cliente.get(LISTA)
    siguiente = re.search(r'rel="next" href="(\?[^"]+)"', primera.content.decode())
    assert siguiente
    segunda = texto_de(cliente.get(LISTA + unescape(siguiente[1])))
    vistos = re.findall(r"Sin fecha (\d\d)\.", texto_de(primera) + segunda)
    assert sorted(vistos) == [f"{n:02}" for n in range(60)]


def test_un_aviso_que_privacidad_revisa_lo_dice_y_no_se_ofrece_cambiarlo(
    escribir: Escribir, navegar: Navegar, propietario: psycopg.Connection
) -> None:
    clave, cliente = escribir("Dudoso"), navegar("compras")
    propietario.execute("UPDATE langgraph.store SET limitado = true")
    try:
        pagina = texto_de(cliente.get(url("aviso", clave)))
        corregir = cliente.get(url("aviso_corregir", clave), follow=True)
    finally:
        propietario.execute("UPDATE langgraph.store SET limitado = false")
    assert "En revisión por privacidad." in pagina
    assert "Retirar el aviso" not in pagina
    assert "Corregir el aviso" not in pagina
    # Told before anybody types, not after.
    assert corregir.redirect_chain == [(url("aviso", clave), 302)]
    assert "Privacidad está revisando este aviso" in texto_de(corregir)


def test_un_aviso_con_un_autor_imposible_se_ve(
    escribir: Escribir, navegar: Navegar, propietario: psycopg.Connection
) -> None:
    clave = escribir("El de siempre")
    propietario.execute(
        "UPDATE langgraph.store SET value = jsonb_set(value, '{autor}', to_jsonb(repeat('9', 5000)))"
    )
    respuesta = navegar("consulta").get(url("aviso", clave))
    assert respuesta.status_code == 200
    assert "El de siempre" in texto_de(respuesta)


def test_quien_cambio_un_aviso_no_es_quien_hizo_otra_cosa(
    proveedor: Any, compradora: Any, persona: Callable[..., Any]
) -> None:
    """A key may be any text: also one that other entries of the log hold for another reason."""
    otra = persona("compras", nombre="otra")
    for clave in ("aviso", "texto", "1"):
        servicios.escribir(
            proveedor=proveedor, clave=clave, texto="Uno", fecha=timezone.localdate(), por=compradora
        )
    aviso = lectura.uno("P1", "texto")
    assert aviso
    servicios.corregir(
        proveedor=proveedor,
        clave="texto",
        version=aviso.version,
        por=otra,
        **{**aviso.contenido, "texto": "Dos"},
    )
    assert servicios.quien_cambio(proveedor, "aviso") == "Lola Prieto"
    assert servicios.quien_cambio(proveedor, "texto") == "otra"
