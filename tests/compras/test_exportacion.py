"""The notices of a filter as CSV: inert, whole, read back as they were, and in constant memory."""

from __future__ import annotations

import csv
import io
import tracemalloc
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from django.contrib.admin.models import LogEntry
from django.core.exceptions import PermissionDenied
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from compras import hoja, importacion, listado
from compras.exportacion import COLUMNAS, exportar
from compras.listado import Filtros
from memoria.politica import espacio

CSV = "/compras/avisos/csv/"
Navegar = Callable[..., Any]


def filas_de(contenido: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(contenido.decode("utf-8-sig"), newline=""), delimiter=";"))


def bajar(cliente: Any, **filtros: str) -> bytes:
    respuesta = cliente.get(CSV, filtros)
    assert respuesta.status_code == 200
    return b"".join(respuesta.streaming_content)


def test_lleva_lo_filtrado_y_nada_mas(
    escribir: Callable[..., str], otro_proveedor: Any, navegar: Navegar
) -> None:
    clave = escribir("Cierran; en «agosto»\ny vuelven", importancia="alta", asunto="Verano")
    escribir("Lo ajeno", proveedor=otro_proveedor)
    contenido = bajar(navegar("consulta"), proveedor="P1")
    assert contenido.startswith(b"\xef\xbb\xbfproveedor_id;aviso_id;")
    (fila,) = filas_de(contenido)
    assert tuple(fila) == COLUMNAS
    assert fila["texto"] == "Cierran; en «agosto»\ny vuelven"
    assert (fila["aviso_id"], fila["importancia"], fila["asunto"]) == (clave, "alta", "Verano")
    assert fila["proveedor"] == "Cerámicas del Norte"


def test_el_fichero_lleva_la_fecha_y_no_se_abre_en_el_navegador(navegar: Navegar, proveedor: Any) -> None:
    respuesta = navegar("consulta").get(CSV)
    nombre = f"avisos-{timezone.localdate().isoformat()}.csv"
    assert respuesta["Content-Disposition"] == f'attachment; filename="{nombre}"'
    assert respuesta["Content-Type"] == "text/csv; charset=utf-8"


def test_queda_escrito_quien_y_cuantos(escribir: Callable[..., str], navegar: Navegar) -> None:
    escribir()
    escribir()
    cliente = navegar("consulta")
    bajar(cliente)
    asiento = LogEntry.objects.latest("pk")
    assert asiento.user == cliente.usuario
    assert asiento.get_change_message() == "Avisos descargados: 2."


def test_quien_se_va_a_medias_tambien_queda_escrito(
    proveedor: Any, almacen_compras: Any, persona: Any
) -> None:
    sembrar(almacen_compras, 3)
    trozos = exportar(filtros=Filtros(), por=persona("consulta"))
    assert LogEntry.objects.latest("pk").get_change_message() == "Descarga de avisos empezada."
    next(trozos)
    next(trozos)
    trozos.close()  # type: ignore[attr-defined]  # a generator
    assert LogEntry.objects.latest("pk").get_change_message() == "Avisos descargados: 3."


def test_mirar_las_cabeceras_no_es_llevarselo(navegar: Navegar, proveedor: Any) -> None:
    assert navegar("consulta").head(CSV).status_code == 200
    assert not LogEntry.objects.exists()


def test_sin_permiso_no_empieza(persona: Any) -> None:
    with pytest.raises(PermissionDenied):
        exportar(filtros=Filtros(), por=persona("operaciones"))


def test_un_filtro_que_no_puede_ser_no_se_lleva_todo(escribir: Callable[..., str], navegar: Navegar) -> None:
    escribir()
    respuesta = navegar("consulta").get(CSV, {"proveedor": "NO"})
    assert (respuesta.status_code, respuesta["Location"]) == (302, "/compras/avisos/?proveedor=NO")


def test_lo_que_privacidad_revisa_no_viaja(
    escribir: Callable[..., str], navegar: Navegar, propietario: psycopg.Connection
) -> None:
    escribir("Se puede llevar")
    propietario.execute(
        "UPDATE langgraph.store SET limitado = true WHERE key = %s", [escribir("Está en revisión")]
    )
    try:
        assert [f["texto"] for f in filas_de(bajar(navegar("consulta")))] == ["Se puede llevar"]
    finally:
        propietario.execute("UPDATE langgraph.store SET limitado = false")


# -- inert, and back ----------------------------------------------------------------------------------

_CELDA = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40) | st.builds(
    "".join, st.lists(st.sampled_from(["'", "=", "+", "-", "@", "\t", "\r", "\n", ";", '"', "a"]), max_size=8)
)


@given(st.lists(_CELDA, min_size=1, max_size=5))
def test_ninguna_celda_es_una_formula_y_vuelve_como_era(celdas: list[str]) -> None:
    (leidas,) = csv.reader(io.StringIO(hoja.escribir([celdas]), newline=""), delimiter=";")
    assert not any(c.startswith(tuple("=+-@\t\r")) for c in leidas)
    assert [hoja.viva(c) for c in leidas] == celdas


_ALFABETO = st.characters(exclude_categories=["Cc", "Cs"]) | st.sampled_from("=+-@'\";,\n")
_TEXTO = st.text(_ALFABETO, min_size=1, max_size=50).map(str.strip).filter(bool)


@settings(max_examples=30)
@given(
    st.dictionaries(
        st.text(_ALFABETO, min_size=1, max_size=20).map(str.strip).filter(bool), _TEXTO, max_size=4
    )
)
def test_lo_que_se_descarga_se_importa_como_era(
    bd: str,
    escribir: Callable[..., str],
    propietario: psycopg.Connection,
    persona: Any,
    avisos: dict[str, str],
) -> None:
    from django.contrib.auth.models import User

    propietario.execute("DELETE FROM langgraph.store")
    lector = User.objects.filter(username="lectora").first() or persona("consulta", nombre="lectora")
    for clave, texto in avisos.items():
        escribir(texto, clave=clave, asunto=texto[:100].replace("\n", " "))
    antes = propietario.execute(
        "SELECT prefix, key, value - 'autor' FROM langgraph.store ORDER BY key"
    ).fetchall()
    contenido = b"".join(exportar(filtros=Filtros(), por=lector))
    propietario.execute("DELETE FROM langgraph.store")
    hecho = importacion.importar(io.BytesIO(contenido))
    assert (hecho.creados, hecho.rechazados) == (len(avisos), [])
    vuelta = propietario.execute(
        "SELECT prefix, key, value - 'autor' FROM langgraph.store ORDER BY key"
    ).fetchall()
    assert vuelta == antes
    otra_vez = importacion.importar(io.BytesIO(contenido))
    assert (otra_vez.creados, otra_vez.sin_cambios) == (0, len(avisos))


# -- size ---------------------------------------------------------------------------------------------


def sembrar(almacen: Any, cuantos: int) -> None:
    for n in range(cuantos):
        documento = {"texto": f"Aviso {n}", "fecha": "2026-03-01"}
        almacen.put(espacio("proveedores", "P1"), f"A{n}", documento, index=False)


def test_veinte_mil_caben_en_la_memoria_de_quinientos(
    proveedor: Any, propietario: psycopg.Connection, persona: Any
) -> None:
    """What is alive at any moment is a batch, not the file: 12 MB of text here."""
    propietario.execute(
        """
        INSERT INTO langgraph.store (prefix, key, value, created_at, expires_at)
        SELECT 'proveedores.P1', 'A' || n,
               jsonb_build_object('texto', repeat('=x;"', 150), 'fecha', '2026-03-01'),
               now(), now() + interval '9 days'
        FROM generate_series(1, 20000) n
        """
    )
    lector, vistas, largo = persona("consulta"), 0, 0
    tracemalloc.start()
    for trozo in exportar(filtros=Filtros(), por=lector):
        largo += len(trozo)
        vistas += trozo.count(b"2026-03-01")
    _, pico = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert vistas == 20_000
    assert largo > 12_000_000
    assert pico < 6_000_000


def test_el_recorrido_no_repite_ni_pierde(proveedor: Any, almacen_compras: Any) -> None:
    sembrar(almacen_compras, 23)
    tandas = list(listado.recorrer(Filtros(), por_tanda=5))
    assert [len(t) for t in tandas] == [5, 5, 5, 5, 3]
    assert len({a.clave for t in tandas for a in t}) == 23
