"""The register in its page, on the panel and in the admin: read there, and changed nowhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from memoria.models import Ejecucion
from privacidad import registro, servicios
from privacidad.estados import Estado
from privacidad.models import Asiento
from tests.ordenes import ordenar

PAGINA = "/privacidad/registro/"


def texto(respuesta: Any) -> str:
    return " ".join(str(respuesta.content.decode()).split())


@pytest.mark.parametrize(
    ("grupo", "esperado"), [("compras", 403), ("consulta", 403), ("operaciones", 200), ("dpo", 200)]
)
def test_cada_grupo_ve_lo_suyo(grupo: str, esperado: int, diez: None, navegar: Callable[..., Any]) -> None:
    assert navegar(grupo).get(PAGINA).status_code == esperado


def test_sin_entrar_no_se_ve(client: Any, bd: str) -> None:
    assert client.get(PAGINA)["Location"].startswith("/admin/login/?next=")


def test_solo_se_lee(navegar: Callable[..., Any]) -> None:
    assert navegar("dpo").post(PAGINA).status_code == 405


def test_la_pagina_dice_como_fue_la_ultima_verificacion(
    diez: None, navegar: Callable[..., Any], sin_guardas: Callable[..., None]
) -> None:
    cliente = navegar("dpo")
    assert "Todavía no se ha verificado" in texto(cliente.get(PAGINA))
    ordenar("verificar_registro")
    assert "etiqueta--bien" in texto(cliente.get(PAGINA))
    assert "etiqueta--mal" not in texto(cliente.get(PAGINA))
    assert "El registro está roto" not in texto(cliente.get("/"))
    sin_guardas("UPDATE privacidad_asiento SET tipo = 'x' WHERE numero = 5")
    ordenar("verificar_registro")
    for pagina in (PAGINA, "/"):
        assert "asiento 5" in texto(cliente.get(pagina))
    assert "etiqueta--mal" in texto(cliente.get(PAGINA))
    # An attempt that got no answer says nothing of the register.
    Ejecucion.objects.create(
        comando="verificar_registro", codigo=75, inicio=datetime.now(UTC) + timedelta(hours=1)
    )
    assert "asiento 5" in texto(cliente.get("/"))
    assert "asiento 5" not in texto(navegar("consulta").get("/"))


def test_un_byte_que_cambia_un_superusuario_llega_al_cuadro_y_al_repararlo_vuelve_a_verde(
    hasta: Callable[..., Any],
    preferencia: Callable[..., None],
    navegar: Callable[..., Any],
    sin_guardas: Callable[..., None],
) -> None:
    preferencia("C1")
    hasta(Estado.COMPLETADA)
    asiento = Asiento.objects.get(tipo="supresion")
    dpo = navegar("dpo", nombre="dpo-tres")

    def cuadro_tras_verificar(codigo: int, rota: int | None) -> str:
        datos, avisos, salida = ordenar("verificar_registro")
        assert (salida, datos["primera_rota"], datos["ok"]) == (codigo, rota, rota is None)
        assert (f"el asiento {rota} falta o no es" in avisos) is (rota is not None)
        return texto(dpo.get(reverse("privacidad:cuadro")))

    assert "Registro íntegro" in cuadro_tras_verificar(0, None)

    cambiado = ("T" if asiento.referencia[0] != "T" else "U") + asiento.referencia[1:]
    poner = "UPDATE privacidad_asiento SET referencia = '{}' WHERE numero = " + str(asiento.numero)
    sin_guardas(poner.format(cambiado))
    assert registro.verificar().entradas == Asiento.objects.count() > asiento.numero  # not the last one
    for _vez in range(2):  # and it is not forgotten by being looked at again
        cuadro = cuadro_tras_verificar(6, asiento.numero)
        assert "El registro está roto" in cuadro
        assert f"el asiento {asiento.numero} " in cuadro
        assert "Registro íntegro" not in cuadro

    sin_guardas(poner.format(asiento.referencia))
    cuadro = cuadro_tras_verificar(0, None)
    assert "Registro íntegro" in cuadro
    assert "El registro está roto" not in cuadro


def test_las_paginas_van_de_cincuenta_en_cincuenta_por_el_numero(
    bd: str, navegar: Callable[..., Any]
) -> None:
    for n in range(1, 121):
        registro.anotar(tipo="prueba", referencia=f"R-{n:03}")
    cliente = navegar("dpo")
    primera = texto(cliente.get(PAGINA))
    assert "R-120" in primera
    assert "R-071" in primera
    assert "R-070" not in primera
    assert "Los últimos" not in primera
    segunda = texto(cliente.get(f"{PAGINA}?antes=71"))
    assert "R-070" in segunda
    assert "R-021" in segunda
    assert "R-020" not in segunda
    # "Anteriores" are the older entries, here on the page that follows.
    assert 'rel="prev" href="?despues=70">Posteriores<' in segunda
    assert 'rel="next" href="?antes=21">Anteriores<' in segunda
    assert 'href="?">Los últimos<' in segunda
    assert "R-120" in texto(cliente.get(f"{PAGINA}?despues=70"))
    assert 'rel="next"' not in texto(cliente.get(f"{PAGINA}?antes=21"))
    for rara in ("antes=x", "antes=-1", "antes=99999999999999999999", "despues=%00"):
        assert "R-120" in texto(cliente.get(f"{PAGINA}?{rara}"))


def test_todo_lo_que_se_anota_tiene_nombre_en_la_pagina() -> None:
    from privacidad.vistas.registro import TIPOS

    codigo = "".join(f.read_text() for f in Path("privacidad").rglob("*.py"))
    anotados = set(re.findall(r'anotar\(\s*tipo="(\w+)"', codigo))
    assert "supresion" in anotados
    assert not anotados - set(TIPOS) - set(Estado.values)


def test_el_detalle_se_lee_sin_ser_programador(bd: str, navegar: Callable[..., Any]) -> None:
    registro.anotar(tipo="gestion", datos={"destino": "langfuse", "antes": {"trazas": 2}, "nada": None})
    pagina = texto(navegar("dpo").get(PAGINA))
    assert "Destino externo" in pagina
    assert "langfuse" in pagina
    assert "{&quot;trazas&quot;:2}" in pagina
    assert "None" not in pagina


def test_quien_abrio_una_copia_tiene_nombre_mientras_tiene_cuenta(
    con_copia: Callable[..., Any], persona: Callable[..., Any], navegar: Callable[..., Any]
) -> None:
    copia = con_copia().copia
    quien = persona("dpo", nombre="quien-abre")
    servicios.abrir_copia(copia=copia, motivo="La pide el juzgado", por=quien)
    dpo = navegar("dpo", nombre="quien-mira")
    assert "<dt>Quién</dt><dd>quien-abre</dd>" in texto(dpo.get(PAGINA))
    with CaptureQueriesContext(connection) as una:
        dpo.get(PAGINA)
    servicios.abrir_copia(copia=copia, motivo="La vuelve a pedir", por=persona("dpo", nombre="otra-mas"))
    with CaptureQueriesContext(connection) as dos:
        assert "<dd>otra-mas</dd>" in texto(dpo.get(PAGINA))
    assert len(una) == len(dos)
    quien.delete()
    pagina = texto(dpo.get(PAGINA))
    assert "quien-abre" not in pagina
    assert "<dt>Quién</dt><dd>Una cuenta que ya no existe</dd>" in pagina
    assert pagina.count("<dt>Quién</dt>") == 2


def test_la_administracion_lo_enseña_y_no_deja_tocarlo(diez: None, navegar: Callable[..., Any]) -> None:
    cliente = navegar("dpo")
    assert cliente.get("/admin/privacidad/asiento/").status_code == 200
    assert cliente.get("/admin/privacidad/asiento/5/change/").status_code == 200
    assert cliente.post("/admin/privacidad/asiento/5/change/", {"tipo": "x"}).status_code == 403
    assert cliente.post("/admin/privacidad/asiento/5/delete/", {"post": "yes"}).status_code == 403
    assert cliente.get("/admin/privacidad/asiento/add/").status_code == 403
    assert navegar("compras").get("/admin/privacidad/asiento/").status_code == 403


def test_una_ejecucion_que_no_hallo_nada_no_se_llama_borrado(
    hasta: Callable[..., Any], preferencia: Callable[..., None], navegar: Callable[..., Any]
) -> None:
    preferencia("C1")
    con_datos, sin_datos = hasta(Estado.COMPLETADA, "C1"), hasta(Estado.COMPLETADA, "C2")
    filas = navegar("dpo", nombre="x").get(PAGINA).context["filas"]
    dichas = {f["asiento"].referencia: f["que"] for f in filas if f["asiento"].tipo == "supresion"}
    assert dichas == {con_datos.referencia: "Datos borrados", sin_datos.referencia: "Sin datos localizados"}
