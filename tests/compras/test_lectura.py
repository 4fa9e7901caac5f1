"""Reads for the screens: order, pages, filters, marks."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import psycopg
import pytest
from django.utils import timezone
from psycopg.types.json import Jsonb

from compras import lectura, listado
from compras.listado import Filtros
from memoria.politica import documento_preferencia, espacio


@pytest.fixture
def sembrar(almacen_compras: Any) -> Callable[..., None]:
    def hacerlo(proveedor_id: str, clave: str, fecha: str, **campos: str) -> None:
        documento = {"texto": f"Texto de {clave}", "fecha": fecha, **campos}
        almacen_compras.put(espacio("proveedores", proveedor_id), clave, documento)

    return hacerlo


def todas(filtros: Filtros) -> list[list[str]]:
    paginas, marca = [], None
    while True:
        pagina = listado.pagina(filtros, despues=marca)
        paginas.append([a.clave for a in pagina.avisos])
        if (marca := pagina.siguiente) is None:
            return paginas


def test_paginas_de_la_mas_nueva_a_la_mas_vieja_sin_perder_ni_repetir(sembrar: Callable[..., None]) -> None:
    # Many share their date, as in an import: the rest of the order decides.
    esperadas = set()
    for n in range(123):
        clave = f"A{n:03}"
        sembrar(f"P{n % 3}", clave, (date(2026, 3, 1) + timedelta(days=n % 4)).isoformat())
        esperadas.add(clave)
    paginas = todas(Filtros())
    assert [len(p) for p in paginas] == [50, 50, 23]
    vistas = [clave for pagina in paginas for clave in pagina]
    assert len(vistas) == 123
    assert set(vistas) == esperadas
    fechas = [int(clave[1:]) % 4 for clave in vistas]
    assert fechas == sorted(fechas, reverse=True)


def test_una_pagina_justa_no_promete_otra(sembrar: Callable[..., None]) -> None:
    for n in range(listado.AVISOS_POR_PAGINA):
        sembrar("P1", f"A{n:03}", "2026-03-01")
    assert listado.pagina(Filtros()).siguiente is None


def test_filtros_por_proveedor_estado_e_importancia(
    sembrar: Callable[..., None], propietario: psycopg.Connection
) -> None:
    sembrar("P1", "viejo", "2026-03-01")
    sembrar("P1", "normal", "2026-03-02", importancia="normal")
    sembrar("P1", "alta", "2026-03-03", importancia="alta")
    sembrar("P10", "ajeno", "2026-03-04")
    propietario.execute(
        "UPDATE langgraph.store SET expires_at = now() - interval '1 hour' WHERE key = 'viejo'"
    )
    assert todas(Filtros()) == [["ajeno", "alta", "normal"]]
    assert todas(Filtros(proveedor="P1")) == [["alta", "normal"]]
    assert todas(Filtros(proveedor="P1", estado="caducado")) == [["viejo"]]
    assert todas(Filtros(estado="todos")) == [["ajeno", "alta", "normal", "viejo"]]
    assert todas(Filtros(importancia="alta")) == [["alta"]]
    # A notice that does not say is normal.
    assert todas(Filtros(importancia="normal")) == [["ajeno", "normal"]]


def test_las_preferencias_de_los_clientes_no_son_avisos(sembrar: Callable[..., None], almacen: Any) -> None:
    clave, documento = documento_preferencia("clientes", tipo="idioma", valor="francés", hilo="h1")
    almacen.put(espacio("clientes", "P1"), clave, documento)
    sembrar("P1", "suyo", "2026-03-01")
    assert todas(Filtros(estado="todos")) == [["suyo"]]
    assert lectura.uno("P1", clave) is None


@pytest.mark.parametrize(
    "marca",
    [
        "",
        "no-es-base64!",
        "ñ",
        base64.urlsafe_b64encode(b"{}").decode(),
        base64.urlsafe_b64encode(b"[1, 2, 3, 4]").decode(),
        base64.urlsafe_b64encode(b"\xff\xfe").decode(),
        base64.urlsafe_b64encode(json.dumps(["2026-03-01", "2026-03-01", "p", "k"]).encode()).decode(),
        base64.urlsafe_b64encode(
            json.dumps(["2026-03-01", "2026-03-01T00:00:00+00:00", "p\x00", "k"]).encode()
        ).decode(),
    ],
)
def test_una_marca_ajena_se_niega(marca: str) -> None:
    with pytest.raises(listado.MarcaNoValida):
        listado.leer_marca(marca)


def test_recuentos_del_panel_y_de_proveedores(
    sembrar: Callable[..., None], propietario: psycopg.Connection
) -> None:
    for clave in ("hoy", "pronto", "pasado"):
        sembrar("P1", clave, "2026-03-01")
    propietario.execute(
        "UPDATE langgraph.store SET expires_at = now() + interval '2 days' WHERE key = 'pronto'"
    )
    propietario.execute(
        "UPDATE langgraph.store SET expires_at = now() - interval '1 day' WHERE key = 'pasado'"
    )
    ahora = timezone.now()
    assert lectura.escritos_desde(ahora - timedelta(hours=1)) == 2
    assert lectura.escritos_desde(ahora + timedelta(hours=1)) == 0
    assert lectura.caducan_antes_de(ahora + timedelta(days=7)) == 1
    assert lectura.vigentes_por_proveedor(["P1", "P10"]) == {"P1": 2, "P10": 0}


def test_lo_que_no_es_fecha_tambien_tiene_su_sitio(bd: str, propietario: psycopg.Connection) -> None:
    """Dates that are no dates, keys and codes of any alphabet: the page after a mark is what follows it."""
    raros = ["", "2026-03-01", "31/02/2026", "ñ", "Ñ", "z", "Z", "-", "2026-03-01x", "x" * 100]
    for n, raro in enumerate(raros * 8):
        propietario.execute(
            "INSERT INTO langgraph.store (prefix, key, value, created_at) VALUES (%s, %s, %s, 'epoch')",
            [
                f"proveedores.{'aAñÑ-_'[n % 6]}{n % 3}",
                f"{raro}{n}"[:200] or "k",
                Jsonb({"texto": "x", "fecha": raro} if raro else {"texto": "x"}),
            ],
        )
    todos = [a.clave for t in listado.recorrer(Filtros(estado="todos"), por_tanda=7) for a in t]
    ida, marca = [], None
    while True:
        pagina = listado.pagina(Filtros(estado="todos"), despues=marca)
        ida += [a.clave for a in pagina.avisos]
        if (marca := pagina.siguiente) is None:
            break
    assert ida == todos
    assert len(set(todos)) == len(raros) * 8
