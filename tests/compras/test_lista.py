"""The list of notices in its page: filters in the URL, pages both ways, and what it costs."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from datetime import timedelta
from html import unescape
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memoria.politica import espacio
from tests.compras.comun import LISTA, PROVEEDORES, texto_de, url
from tests.memoria.explorador_comun import paginas

Navegar = Callable[..., Any]
Escribir = Callable[..., str]
CSV = "/compras/avisos/csv/"


def test_muestra_lo_vigente_y_lo_caducado_si_se_pide(
    escribir: Escribir, navegar: Navegar, mover: Callable[..., None]
) -> None:
    escribir("Sigue en pie")
    mover(escribir("Ya no vale"), "-1 hour")
    cliente = navegar("consulta")
    vigentes, caducados = cliente.get(LISTA), cliente.get(LISTA, {"estado": "caducado"})
    assert "Sigue en pie" in texto_de(vigentes)
    assert "Ya no vale" not in texto_de(vigentes)
    assert "Ya no vale" in texto_de(caducados)
    assert "Caducado" in texto_de(caducados)
    assert "Escribir un aviso" not in texto_de(vigentes)
    assert "Escribir un aviso" in texto_de(navegar("compras", nombre="otra").get(LISTA))


@pytest.fixture
def sesenta(proveedor: Any, otro_proveedor: Any, almacen_compras: Any) -> None:
    for n in range(60):
        for codigo in ("P1", "P10"):
            almacen_compras.put(
                espacio("proveedores", codigo),
                f"A{n:02}",
                {"texto": f"De {codigo}: {n:02}.", "fecha": "2026-03-01"},
                index=False,
            )


def test_por_paginas_conserva_los_filtros(sesenta: None, navegar: Navegar) -> None:
    primera, segunda = paginas(navegar("compras"), f"{LISTA}?proveedor=P10", "next")
    assert texto_de(primera).count("De P10") == 50
    assert texto_de(segunda).count("De P10") == 10
    assert "De P1:" not in texto_de(primera) + texto_de(segunda)


@pytest.mark.parametrize("filtros", ["estado=vigente", "proveedor=P1", "autor=nadie&desde=2026-01-01"])
def test_se_vuelve_atras_por_las_mismas_paginas(sesenta: None, navegar: Navegar, filtros: str) -> None:
    cliente = navegar("compras")

    def vistos(respuesta: Any) -> list[str]:
        return re.findall(r"De (P\d+: \d\d)\.", texto_de(respuesta))

    ida = [(r.request["QUERY_STRING"], vistos(r)) for r in paginas(cliente, f"{LISTA}?{filtros}", "next")]
    vuelta = [vistos(r) for r in paginas(cliente, f"{LISTA}?{ida[-1][0]}", "prev")]
    assert len(ida) == (2 if "P1" in filtros else 3)
    assert vuelta == [v for _, v in reversed(ida)]


def test_los_filtros_enviados_quedan_en_la_url_por_codigo(
    escribir: Escribir, otro_proveedor: Any, navegar: Navegar
) -> None:
    """What is typed may be the name of a person: the URL has the code."""
    escribir("Lo suyo")
    escribir("Lo ajeno", proveedor=otro_proveedor)
    hoy = timezone.localdate().isoformat()
    respuesta = navegar("consulta").post(
        LISTA,
        {"proveedor": "Cerámicas del Norte (P1)", "desde": hoy, "estado": "todos", "importancia": ""},
        follow=True,
    )
    assert respuesta.redirect_chain == [(f"{LISTA}?proveedor=P1&desde={hoy}&estado=todos", 302)]
    pagina = texto_de(respuesta)
    assert "Lo suyo" in pagina
    assert "Lo ajeno" not in pagina
    assert 'value="Cerámicas del Norte (P1)"' in pagina


def test_filtra_por_fechas_importancia_y_autor(
    escribir: Escribir, navegar: Navegar, persona: Callable[..., Any], compradora: Any, almacen_compras: Any
) -> None:
    hoy = timezone.localdate()
    otra = persona("compras", nombre="otra")
    escribir("Viejo", fecha=hoy - timedelta(days=40))
    escribir("Urgente", importancia="alta")
    escribir("De otra", por=otra)
    almacen_compras.put(espacio("proveedores", "P1"), "A1", {"texto": "Importado", "fecha": hoy.isoformat()})
    cliente = navegar("consulta")

    def ve(**filtros: str) -> set[str]:
        pagina = texto_de(cliente.get(LISTA, filtros))
        return {t for t in ("Viejo", "Urgente", "De otra", "Importado") if f">{t}<" in pagina}

    assert ve() == {"Viejo", "Urgente", "De otra", "Importado"}
    assert ve(desde=(hoy - timedelta(days=1)).isoformat()) == {"Urgente", "De otra", "Importado"}
    assert ve(hasta=(hoy - timedelta(days=1)).isoformat()) == {"Viejo"}
    assert ve(importancia="alta") == {"Urgente"}
    assert ve(importancia="normal") == {"Viejo", "De otra", "Importado"}
    assert ve(autor=str(otra.pk)) == {"De otra"}
    assert ve(autor=str(compradora.pk), importancia="alta") == {"Urgente"}
    assert ve(autor="nadie") == {"Importado"}


@pytest.mark.parametrize(
    "consulta",
    [
        "estado=raro",
        "importancia=9",
        "proveedor=NO",
        "proveedor=%00",
        "autor=999999",
        "autor=%C2%B2",
        "autor=99999999999999999999",
        "desde=ayer",
        "desde=0000-00-00",
        "desde=2026-03-02&hasta=2026-03-01",
    ],
)
def test_un_filtro_que_no_puede_ser_se_dice_y_no_filtra(
    escribir: Escribir, navegar: Navegar, consulta: str
) -> None:
    escribir("Sigue a la vista")
    respuesta = navegar("compras").get(f"{LISTA}?{consulta}")
    assert respuesta.status_code == 200
    assert "errorlist" in texto_de(respuesta)
    assert "Sigue a la vista" in texto_de(respuesta)


def test_un_filtro_enviado_que_no_puede_ser_no_se_pierde(escribir: Escribir, navegar: Navegar) -> None:
    escribir("Sigue a la vista")
    respuesta = navegar("compras").post(LISTA, {"proveedor": "No hay tal", "importancia": "alta"})
    assert respuesta.status_code == 422
    assert 'value="No hay tal"' in texto_de(respuesta)
    assert "no está en la lista" in texto_de(respuesta)


def _marca(texto: str) -> str:
    return base64.urlsafe_b64encode(texto.encode()).decode()


@pytest.mark.parametrize("marca", ["despues", "antes"])
@pytest.mark.parametrize(
    "valor",
    [
        "inventada",
        "",
        "ñ",
        _marca("[" * 2900),
        _marca('["2", "0001-01-01T00:00:00+23:59", "a", "b"]'),
        _marca('["2", "9999-12-31T23:59:59-23:59", "a", "b"]'),
        _marca('["2", "2026-01-01T00:00:00", "a", "b"]'),
    ],
    ids=range(7),
)
def test_una_marca_de_pagina_inventada_es_404(navegar: Navegar, marca: str, valor: str) -> None:
    assert navegar("compras").get(LISTA, {marca: valor}).status_code == 404


def test_de_un_proveedor_inactivo_tambien_se_ve(escribir: Escribir, navegar: Navegar, proveedor: Any) -> None:
    escribir("De antes de cerrar")
    type(proveedor).objects.update(activo=False)
    respuesta = navegar("consulta").post(LISTA, {"proveedor": "P1", "estado": "vigente"}, follow=True)
    assert "De antes de cerrar" in texto_de(respuesta)


def test_dos_mil_proveedores_no_hacen_la_pagina_mas_grande(navegar: Navegar, proveedor: Any) -> None:
    cliente = navegar("compras")
    antes = len(cliente.get(LISTA).content)
    tipo = type(proveedor)
    tipo.objects.bulk_create(tipo(codigo=f"Q{n:04}", nombre=f"Proveedor {n}") for n in range(2000))
    assert abs(len(cliente.get(LISTA).content) - antes) < 200  # the mark of the form changes at each request
    sugeridos = cliente.post("/compras/proveedores/sugeridos/", {"proveedor": "proveedor 19"})
    assert 0 < sugeridos.content.decode().count("<option") <= 12


def test_se_sugieren_proveedores_a_quien_ve_avisos(navegar: Navegar, proveedor: Any, persona: Any) -> None:
    sitio = "/compras/proveedores/sugeridos/"
    type(proveedor).objects.create(codigo="P7", nombre="Cerámicas Paradas", activo=False)
    respuesta = navegar("dpo").post(sitio, {"proveedor": "ceramicas"})
    assert "Cerámicas del Norte (P1)" in texto_de(respuesta)
    respuesta = navegar("consulta").post(sitio, {"proveedor": "Cerámicas\x00"})
    assert texto_de(respuesta).index("(P1)") < texto_de(respuesta).index("(P7)")
    assert navegar("operaciones").post(sitio, {"proveedor": "c"}).status_code == 403
    assert Client().post(sitio)["Location"] == f"/admin/login/?next={LISTA}"


def test_las_consultas_no_crecen_con_las_filas(
    proveedor: Any, almacen_compras: Any, navegar: Navegar
) -> None:
    cliente = navegar("compras")

    def consultas(pagina: str) -> int:
        with CaptureQueriesContext(connection) as capturadas:
            respuesta = cliente.get(pagina)
            assert respuesta.status_code == 200
            b"".join(getattr(respuesta, "streaming_content", ()))
        return len(capturadas)

    def sembrar(desde: int, hasta: int) -> None:
        for n in range(desde, hasta):
            type(proveedor).objects.create(codigo=f"Q{n:03}", nombre=f"Proveedor {n}")
            almacen_compras.put(
                espacio("proveedores", f"Q{n:03}"), "A", {"texto": "x", "fecha": "2026-03-01"}, index=False
            )

    sembrar(0, 2)
    filtrada = f"{LISTA}?proveedor=Q001&autor=nadie"
    antes = {pagina: consultas(pagina) for pagina in (LISTA, filtrada, PROVEEDORES, CSV)}
    sembrar(2, 60)
    assert {pagina: consultas(pagina) for pagina in antes} == antes
    assert max(antes.values()) <= 9


def test_mirar_no_renueva(escribir: Escribir, navegar: Navegar, fila: Callable[..., Any]) -> None:
    clave = escribir("Cierran en agosto")
    antes, cliente = fila("P1", clave), navegar("compras")
    for pagina in (LISTA, url("aviso", clave), f"{PROVEEDORES}ficha/P1/", CSV):
        respuesta = cliente.get(pagina)
        assert respuesta.status_code == 200
        b"".join(getattr(respuesta, "streaming_content", ()))
    cliente.post(LISTA, {"proveedor": "P1", "consulta": "cierran en agosto"})
    assert fila("P1", clave) == antes


def test_lo_que_privacidad_revisa_se_senala(
    escribir: Escribir, navegar: Navegar, propietario: psycopg.Connection
) -> None:
    escribir("Dudoso")
    propietario.execute("UPDATE langgraph.store SET limitado = true")
    try:
        assert "En revisión por privacidad" in texto_de(navegar("consulta").get(LISTA))
    finally:
        propietario.execute("UPDATE langgraph.store SET limitado = false")


def test_el_panel_cuenta_los_avisos_a_quien_puede_verlos(
    escribir: Escribir, navegar: Navegar, mover: Callable[..., None]
) -> None:
    escribir()
    mover(escribir(), "6 days")
    pagina = texto_de(navegar("compras").get("/"))
    assert "avisos escritos desde el lunes" in pagina
    assert "aviso caduca en los próximos siete días" in pagina
    assert "desde el lunes" not in texto_de(navegar("operaciones").get("/"))


@pytest.mark.parametrize("pagina", [LISTA, CSV])
def test_quien_entra(navegar: Navegar, proveedor: Any, pagina: str) -> None:
    assert Client().get(pagina)["Location"] == f"/admin/login/?next={pagina}"
    assert navegar("operaciones").get(pagina).status_code == 403
    for grupo in ("compras", "consulta", "dpo"):
        assert navegar(grupo).get(pagina).status_code == 200


def test_el_enlace_de_descarga_lleva_los_filtros(escribir: Escribir, navegar: Navegar) -> None:
    escribir()
    pagina = navegar("consulta").get(LISTA, {"proveedor": "P1", "estado": "todos"}).content.decode()
    enlace = re.search(rf'href="({CSV}\?[^"]+)"', pagina)
    assert enlace
    assert unescape(enlace[1]) == f"{CSV}?proveedor=P1&estado=todos"


def test_un_proveedor_inactivo_se_encuentra_por_lo_que_se_escriba(
    escribir: Escribir, navegar: Navegar, proveedor: Any
) -> None:
    escribir("De antes de cerrar")
    type(proveedor).objects.update(activo=False)
    cliente = navegar("consulta")
    for escrito in ("ceramicas del norte", "p1", "Cerámicas del Norte (P1)"):
        respuesta = cliente.post(LISTA, {"proveedor": escrito}, follow=True)
        assert respuesta.redirect_chain == [(f"{LISTA}?proveedor=P1&estado=vigente", 302)]
    assert "Diga cuál de estos es" in texto_de(cliente.post(LISTA, {"proveedor": "ceram"}))
    nadie = texto_de(cliente.post(LISTA, {"proveedor": "C9"}))
    assert "Ese proveedor no está en la lista: elija otro." in nadie
    assert "(P1)" in texto_de(cliente.post("/compras/proveedores/sugeridos/", {"proveedor": "ceramicas"}))


def test_entre_dos_que_se_llaman_igual_se_entiende_el_activo(
    escribir: Escribir, navegar: Navegar, proveedor: Any
) -> None:
    type(proveedor).objects.create(codigo="P0", nombre=proveedor.nombre, activo=False)
    respuesta = navegar("consulta").post(LISTA, {"proveedor": "Cerámicas del Norte"})
    assert respuesta["Location"] == f"{LISTA}?proveedor=P1&estado=vigente"


def test_las_sugerencias_no_meten_el_acceso_en_el_campo(proveedor: Any) -> None:
    sitio = "/compras/proveedores/sugeridos/"
    respuesta = Client().post(sitio, {"proveedor": "c"}, headers={"HX-Request": "true"})
    assert (respuesta.status_code, respuesta.content) == (204, b"")
