"""The suppliers in their pages and from a file."""

from __future__ import annotations

import io
import json
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.contrib.admin.models import LogEntry
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connections
from django.test import Client
from django.urls import reverse

from compras.models import Proveedor
from memoria.models import Ejecucion
from tests.compras.comun import LISTA, PROVEEDORES, texto_de

Navegar = Callable[..., Any]
NUEVO, FICHA = f"{PROVEEDORES}nuevo/", f"{PROVEEDORES}ficha/P1/"


def test_por_paginas_con_sus_avisos(escribir: Callable[..., str], navegar: Navegar, proveedor: Any) -> None:
    escribir()
    for n in range(60):
        Proveedor.objects.create(codigo=f"Q{n:03}", nombre=f"Proveedor {n}", activo=n > 0)
    cliente = navegar("consulta")
    primera = cliente.get(PROVEEDORES)
    assert f"{LISTA}?proveedor=P1" in texto_de(primera)
    assert "Inactivo" in texto_de(primera)
    assert "Añadir un proveedor" not in texto_de(primera)
    siguiente = re.search(r'rel="next" href="(\?[^"]+)"', primera.content.decode())
    assert siguiente
    segunda = texto_de(cliente.get(PROVEEDORES + unescape(siguiente[1])))
    assert "Q059" in segunda
    assert ">Q048<" not in segunda
    assert cliente.get(PROVEEDORES, {"despues": "\x00"}).status_code == 200


def test_se_busca_por_codigo_o_nombre_sin_llevarlo_a_la_url(
    navegar: Navegar, proveedor: Any, otro_proveedor: Any
) -> None:
    cliente = navegar("consulta")
    for buscado in ("cerám", "p1", "NORTE"):
        assert "Cerámicas del Norte" in texto_de(cliente.post(PROVEEDORES, {"buscado": buscado}))
    assert "Textiles" not in texto_de(cliente.post(PROVEEDORES, {"buscado": "norte"}))
    assert "Ningún proveedor" in texto_de(cliente.post(PROVEEDORES, {"buscado": "100%"}))
    for malo in ("", "\x00", "x" * 1000):
        assert cliente.post(PROVEEDORES, {"buscado": malo}).status_code == 422
    for n in range(60):
        Proveedor.objects.create(codigo=f"Q{n:03}", nombre=f"Norte {n}")
    assert "Hay más" in texto_de(cliente.post(PROVEEDORES, {"buscado": "norte"}))


def test_anadir_uno(navegar: Navegar, bd: str) -> None:
    cliente = navegar("compras")
    respuesta = cliente.post(
        NUEVO, {"codigo": " P7 ", "nombre": "Vidrios del Este", "activo": "on"}, follow=True
    )
    assert respuesta.redirect_chain == [(f"{PROVEEDORES}ficha/P7/", 302)]
    assert "Vidrios del Este" in texto_de(respuesta)
    assert LogEntry.objects.get().object_repr == "P7"


@pytest.mark.parametrize("codigo", ["", "P\x072", "x" * 201, "." * 70, "P1", "p1", "P\x001"])
def test_anadir_mal_se_dice_y_conserva_lo_escrito(navegar: Navegar, proveedor: Any, codigo: str) -> None:
    respuesta = navegar("compras").post(NUEVO, {"codigo": codigo, "nombre": "Otro", "activo": "on"})
    assert respuesta.status_code == 422
    assert 'value="Otro"' in texto_de(respuesta)
    assert "errorlist" in texto_de(respuesta)
    assert Proveedor.objects.count() == 1


@pytest.mark.parametrize("codigo", ["nuevo", "a/b", "..", "ñ%2F", "a b.c"])
def test_cualquier_codigo_tiene_su_pagina(navegar: Navegar, bd: str, codigo: str) -> None:
    Proveedor.objects.create(codigo=codigo, nombre="El raro")
    cliente = navegar("compras")
    enlace = re.search(rf'href="({PROVEEDORES}ficha/[^"]+/)"', cliente.get(PROVEEDORES).content.decode())
    assert enlace
    assert "El raro" in texto_de(cliente.get(unescape(enlace[1])))


def test_un_nombre_que_no_cabe_dice_cuanto_cabe(navegar: Navegar, proveedor: Any) -> None:
    cliente = navegar("compras")
    for pagina in (NUEVO, FICHA):
        respuesta = cliente.post(pagina, {"codigo": "P7", "nombre": "x" * 201, "activo": "on"})
        assert respuesta.status_code == 422
        assert "Aquí caben 200 caracteres y hay 201: acórtelo." in texto_de(respuesta)
    assert cliente.post(FICHA, {"nombre": "x" * 200, "activo": "on"}).status_code == 302


def test_cambiar_el_nombre_y_dejarlo_inactivo(navegar: Navegar, proveedor: Any) -> None:
    cliente = navegar("compras")
    respuesta = cliente.post(FICHA, {"nombre": "Cerámicas del Norte, S. L.", "codigo": "P2"}, follow=True)
    assert "El proveedor está cambiado." in texto_de(respuesta)
    proveedor.refresh_from_db()
    assert (proveedor.codigo, proveedor.nombre, proveedor.activo) == (
        "P1",
        "Cerámicas del Norte, S. L.",
        False,
    )
    assert LogEntry.objects.count() == 1
    cliente.post(FICHA, {"nombre": "Cerámicas del Norte, S. L."})
    assert LogEntry.objects.count() == 1  # nothing changed, nothing to tell
    assert cliente.post(FICHA, {"nombre": " "}).status_code == 422
    assert cliente.post(FICHA, {"nombre": "x" * 201}).status_code == 422


@pytest.mark.parametrize("pagina", [PROVEEDORES, NUEVO, FICHA])
def test_quien_entra(navegar: Navegar, proveedor: Any, pagina: str) -> None:
    assert Client().get(pagina)["Location"] == f"/admin/login/?next={pagina}"
    assert navegar("compras").get(pagina).status_code == 200
    assert navegar("consulta").get(pagina).status_code == (403 if pagina == NUEVO else 200)
    assert navegar("dpo").get(pagina).status_code == 403


def test_quien_solo_consulta_no_cambia_nada(navegar: Navegar, proveedor: Any) -> None:
    cliente = navegar("consulta")
    assert "Guardar los cambios" not in texto_de(cliente.get(FICHA))
    assert cliente.post(FICHA, {"nombre": "Otro"}).status_code == 403
    assert cliente.post(NUEVO, {"codigo": "P9", "nombre": "Otro"}).status_code == 403
    proveedor.refresh_from_db()
    assert proveedor.nombre == "Cerámicas del Norte"
    assert cliente.get(FICHA.replace("P1", "NO")).status_code == 404


def test_en_la_administracion_solo_se_miran(navegar: Navegar, proveedor: Any) -> None:
    cliente = navegar("compras")
    pagina = f"/admin/compras/proveedor/{proveedor.pk}/change/"
    assert cliente.get("/admin/compras/proveedor/").status_code == 200
    assert cliente.get(pagina).status_code == 200
    assert cliente.post(pagina, {"codigo": "P2", "nombre": "Otro", "activo": "on"}).status_code == 403
    assert cliente.get("/admin/compras/proveedor/add/").status_code == 403
    assert cliente.get(f"/admin/compras/proveedor/{proveedor.pk}/delete/").status_code == 403


# -- from a file ------------------------------------------------------------------------------------------


def importar(ruta: Path, *opciones: str) -> tuple[int, dict[str, Any]]:
    salida, codigo = io.StringIO(), 0
    try:
        call_command(
            "importar_proveedores", str(ruta), "--json", *opciones, stdout=salida, stderr=io.StringIO()
        )
    except CommandError as error:
        codigo = error.returncode
    return codigo, json.loads(salida.getvalue())


def test_se_importa_la_lista_se_pone_al_dia_y_se_puede_repetir(
    proveedor: Any, otro_proveedor: Any, tmp_path: Path
) -> None:
    ruta = tmp_path / "proveedores.csv"
    ruta.write_bytes(
        "codigo;nombre;activo\nP1;Cerámicas del Norte, S. L.;sí\nP10;Textiles del Sur;NO\nP11;Nuevo;\n"
        "P12;=Nuevo;1\nP13;;sí\n;x;sí\nP14;x;quizá\n".encode("cp1252")
    )
    codigo, datos = importar(ruta, "--dry-run")
    assert (codigo, datos["creados"], Proveedor.objects.count()) == (3, 2, 2)
    codigo, datos = importar(ruta)
    assert (codigo, datos["creados"], datos["actualizados"], datos["sin_cambios"]) == (3, 2, 2, 0)
    assert [r["linea"] for r in datos["rechazados"]] == [6, 7, 8]
    assert all(r["motivo"].endswith(".") for r in datos["rechazados"])
    assert dict(Proveedor.objects.values_list("codigo", "activo")) == {
        "P1": True,
        "P10": False,
        "P11": True,
        "P12": True,
    }
    assert Proveedor.objects.get(codigo="P1").nombre == "Cerámicas del Norte, S. L."
    codigo, datos = importar(ruta)
    assert (datos["creados"], datos["actualizados"], datos["sin_cambios"]) == (0, 0, 4)
    assert Ejecucion.objects.filter(comando="importar_proveedores").count() == 3


def test_un_codigo_unido_a_otro_no_se_activa(proveedor: Any, otro_proveedor: Any, tmp_path: Path) -> None:
    Proveedor.objects.filter(codigo="P10").update(activo=False, fusionado_en=proveedor)
    ruta = tmp_path / "proveedores.csv"
    ruta.write_text("codigo,nombre,activo\nP10,Otro nombre,si\n", encoding="utf-8")
    codigo, datos = importar(ruta)
    assert (codigo, datos["actualizados"], len(datos["rechazados"])) == (3, 0, 1)
    ruta.write_text("codigo,nombre\nP10,Otro nombre\n", encoding="utf-8")
    assert importar(ruta)[1]["actualizados"] == 1
    assert Proveedor.objects.get(codigo="P10").nombre == "Otro nombre"


def test_un_codigo_repetido_en_el_fichero_se_dice_y_repetirlo_no_cambia_nada(
    proveedor: Any, tmp_path: Path
) -> None:
    ruta = tmp_path / "proveedores.csv"
    ruta.write_text(
        "codigo,nombre,activo\nPV1,Uno,si\np1,Cambiado,si\nPV1,Uno otra vez,no\npv1,Y otra,no\n",
        encoding="utf-8",
    )
    for vez, (creados, actualizados, sin_cambios) in enumerate([(1, 1, 0), (0, 0, 2), (0, 0, 2)]):
        codigo, datos = importar(ruta, "--batch-size", "1" if vez else "100")
        assert codigo == 3
        assert (datos["creados"], datos["actualizados"], datos["sin_cambios"]) == (
            creados,
            actualizados,
            sin_cambios,
        )
        assert [r["linea"] for r in datos["rechazados"]] == [4, 5]
        assert all("está ya en la línea 2" in r["motivo"] for r in datos["rechazados"])
    assert dict(Proveedor.objects.values_list("codigo", "nombre")) == {"P1": "Cambiado", "PV1": "Uno"}


def test_lo_que_no_es_una_lista_es_un_error_de_uso(bd: str, tmp_path: Path) -> None:
    ruta = tmp_path / "proveedores.csv"
    ruta.write_text("codigo\nP1\n", encoding="utf-8")
    codigo, datos = importar(ruta)
    assert (codigo, "faltan columnas: nombre" in datos["error"]) == (2, True)


def test_una_linea_mala_dice_que_columna(bd: str, tmp_path: Path) -> None:
    ruta = tmp_path / "proveedores.csv"
    ruta.write_text("codigo,nombre,activo\nP1,,si\n,x,si\nP2,x,quizá\n", encoding="utf-8")
    _, datos = importar(ruta)
    for rechazo, columna in zip(datos["rechazados"], ("nombre", "codigo", "activo"), strict=True):
        assert rechazo["motivo"].startswith(f"Columna {columna}.")


def test_uno_que_alguien_anade_a_la_vez_se_pone_al_dia(
    bd: str, tmp_path: Path, propietario: psycopg.Connection, como: Callable[..., psycopg.Connection]
) -> None:
    """Looked for before the other commits, and written after."""
    ruta = tmp_path / "proveedores.csv"
    ruta.write_text("codigo,nombre\nP1,El del fichero\nP2,Otro\n", encoding="utf-8")
    otra = como("memoria_web")
    with ThreadPoolExecutor(1) as hilo:
        with otra.transaction():
            otra.execute(
                "INSERT INTO compras_proveedor (codigo, nombre, activo) VALUES ('P1', 'A mano', true)"
            )
            futuro = hilo.submit(_importar_y_cerrar, ruta)
            plazo = time.monotonic() + 30
            while not propietario.execute(
                "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'"
            ).fetchone()[0]:  # type: ignore[index]  # a count always comes back
                assert time.monotonic() < plazo
                assert not futuro.done()
                time.sleep(0.02)
        assert futuro.result()[0] == 0
    assert dict(Proveedor.objects.values_list("codigo", "nombre")) == {"P1": "El del fichero", "P2": "Otro"}


def _importar_y_cerrar(ruta: Path) -> tuple[int, dict[str, Any]]:
    try:
        return importar(ruta)
    finally:
        connections.close_all()


def test_se_busca_con_acentos_o_sin_ellos_y_por_palabras(navegar: Navegar, proveedor: Any) -> None:
    cliente = navegar("consulta")
    for buscado in ("ceramicas", "norte CERÁMICAS"):
        assert "Cerámicas del Norte" in texto_de(cliente.post(PROVEEDORES, {"buscado": buscado}))


def test_uno_con_un_codigo_de_otras_reglas_se_puede_cambiar(navegar: Navegar, bd: str) -> None:
    raro = Proveedor.objects.create(codigo="P1\u200b", nombre="El raro")
    ficha = reverse("compras:proveedor", args=[raro.codigo])
    assert navegar("compras").post(ficha, {"nombre": "Otro", "activo": "on"}).status_code == 302
    raro.refresh_from_db()
    assert raro.nombre == "Otro"
