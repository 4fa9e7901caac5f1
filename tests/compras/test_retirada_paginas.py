"""The pages of what is withdrawn: who gets in, what they say, and putting it back from them."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from compras.models import Retirada
from tests.compras.comun import datos_de, retirada_de, texto_de, url

Escribir = Callable[..., str]
Fila = Callable[..., Any]
Navegar = Callable[..., Any]
LISTA = "/compras/retirados/"


@pytest.mark.parametrize(
    ("grupo", "entra"), [("compras", True), ("consulta", False), ("dpo", False), ("operaciones", False)]
)
def test_quien_entra(escribir: Escribir, retirar: Any, navegar: Navegar, grupo: str, entra: bool) -> None:
    retirada = retirar(escribir())
    reponer = reverse("compras:reponer", args=[retirada.pk])
    cliente = navegar(grupo)
    assert cliente.get(LISTA).status_code == (200 if entra else 403)
    assert cliente.get(reponer).status_code == 405
    assert cliente.post(reponer).status_code == (302 if entra else 403)
    assert Retirada.objects.exists() is not entra


def test_sin_entrar_lleva_al_acceso(escribir: Escribir, retirar: Any) -> None:
    retirada = retirar(escribir())
    assert Client().get(LISTA)["Location"] == f"/admin/login/?next={LISTA}"
    respuesta = Client().post(reverse("compras:reponer", args=[retirada.pk]))
    assert respuesta["Location"] == f"/admin/login/?next={LISTA}"
    assert Retirada.objects.exists()


def test_lo_que_no_existe_es_404(navegar: Navegar, proveedor: Any) -> None:
    cliente = navegar("compras")
    assert cliente.post(reverse("compras:reponer", args=[404])).status_code == 404
    assert cliente.get(LISTA, {"despues": "inventada"}).status_code == 404
    assert cliente.get(LISTA, {"despues": "9" * 30}).status_code == 404
    assert cliente.get(LISTA, {"proveedor": "\x00"}).status_code == 200


def test_la_lista_dice_que_quien_por_que_y_hasta_cuando(
    escribir: Escribir, retirar: Any, navegar: Navegar
) -> None:
    retirada = retirar(
        escribir("Cierran <b>en agosto</b>", asunto="Verano"), motivo="incidencia", incidencia="INC-7"
    )
    pagina = texto_de(navegar("compras").get(LISTA))
    for dicho in ("Cerámicas del Norte", "Verano", "Lola Prieto", "Ya es una incidencia: INC-7", "Reponer"):
        assert dicho in pagina
    assert timezone.localtime(retirada.reponible_hasta).strftime("%d/%m/%Y").lstrip("0") in pagina
    assert b"&lt;b&gt;" in navegar("compras", nombre="otra").get(LISTA).content


def test_la_lista_se_filtra_por_proveedor_y_no_ensena_lo_que_no_se_puede_reponer(
    escribir: Escribir, retirar: Any, navegar: Navegar, otro_proveedor: Any, compradora: Any
) -> None:
    retirar(escribir("Del norte"))
    clave = escribir("Del sur", proveedor=otro_proveedor)
    retirar(clave, proveedor=otro_proveedor)
    pasada = retirar(escribir("Ya pasado"))
    Retirada.objects.filter(pk=pasada.pk).update(reponible_hasta=timezone.now())
    cliente = navegar("compras")
    todos, uno = texto_de(cliente.get(LISTA)), texto_de(cliente.get(LISTA, {"proveedor": "P10"}))
    assert "Del norte" in todos
    assert "Del sur" in todos
    assert "Ya pasado" not in todos
    assert "Del norte" not in uno
    assert "Del sur" in uno


def test_por_paginas_y_con_las_mismas_consultas(proveedor: Any, compradora: Any, navegar: Navegar) -> None:
    cliente, ahora = navegar("compras"), timezone.now()

    def sembrar(cuantas: int) -> None:
        Retirada.objects.bulk_create(
            Retirada(
                proveedor=proveedor,
                clave=f"k{n}",
                documento={"texto": f"Aviso {n}.", "fecha": "2026-03-01"},
                escrito=ahora,
                version=ahora,
                motivo="error",
                por=compradora,
                reponible_hasta=ahora + timedelta(days=3),
            )
            for n in range(cuantas)
        )

    def consultas() -> int:
        with CaptureQueriesContext(connection) as capturadas:
            assert cliente.get(LISTA).status_code == 200
        return len(capturadas)

    sembrar(2)
    antes = consultas()
    sembrar(58)
    assert consultas() == antes
    primera = texto_de(cliente.get(LISTA, {"proveedor": "P1"}))
    assert primera.count("Reponer<") == 50
    siguiente = primera.partition('rel="next" href="')[2].partition('"')[0]
    assert "proveedor=P1" in siguiente
    segunda = texto_de(cliente.get(LISTA + siguiente))
    assert segunda.count("Reponer<") == 10
    assert "Volver al principio" in segunda


def test_retirar_y_reponer_desde_las_paginas(escribir: Escribir, navegar: Navegar, fila: Fila) -> None:
    clave, cliente = escribir("Cierran en agosto"), navegar("compras")
    antes = fila("P1", clave)
    pagina = reverse("compras:aviso_retirar", args=["P1", clave])
    formulario = texto_de(cliente.get(pagina, {"motivo": "incidencia"}))
    assert "Se puede reponer durante 30 días" in formulario
    assert re.findall(r'value="([^"]+)"[^>]* checked', formulario) == ["incidencia"]
    datos = retirada_de(clave, motivo="incidencia")
    mal = cliente.post(pagina, {**datos, "explicacion": "Lo lleva tienda 4"})
    assert mal.status_code == 422
    assert "Escriba la referencia" in texto_de(mal)
    assert "Lo lleva tienda 4" in texto_de(mal)
    assert fila("P1", clave) == antes
    bien = cliente.post(pagina, {**datos, "incidencia": "INC-7"}, follow=True)
    assert "está retirado" in texto_de(bien)
    assert "se repone desde «Avisos retirados»" in texto_de(bien)
    retirada = Retirada.objects.get()
    vuelta = cliente.post(reverse("compras:reponer", args=[retirada.pk]), follow=True)
    assert vuelta.redirect_chain == [(reverse("compras:aviso", args=["P1", clave]), 302)]
    assert "vuelve a estar donde estaba" in texto_de(vuelta)
    assert fila("P1", clave) == antes
    otra_vez = cliente.post(reverse("compras:reponer", args=[retirada.pk]))
    assert otra_vez.status_code == 404


def test_lo_que_alguien_corrigio_no_se_retira_sin_verlo(
    escribir: Escribir, navegar: Navegar, fila: Fila
) -> None:
    clave, cliente = escribir("Cierran en agosto"), navegar("compras")
    visto = retirada_de(clave, motivo="otro", explicacion="Ya no cierran")
    navegar("compras", nombre="otra").post(
        url("aviso_corregir", clave), datos_de(clave, texto="Cierran en julio")
    )
    respuesta = cliente.post(url("aviso_retirar", clave), visto)
    pagina = texto_de(respuesta)
    assert respuesta.status_code == 422
    assert "Otra persona cambió este aviso" in pagina
    assert "Cierran en julio" in pagina
    assert "Ya no cierran" in pagina
    assert fila("P1", clave)["value"]["texto"] == "Cierran en julio"
    # Now it has been seen.
    version = re.search(r'name="version" value="([^"]+)"', pagina)
    assert version
    assert cliente.post(url("aviso_retirar", clave), {**visto, "version": version[1]}).status_code == 302
    assert fila("P1", clave) is None


@pytest.mark.parametrize("version", [None, "", "ayer", "\x00"])
def test_sin_la_version_no_se_retira_y_no_se_nombra_el_campo(
    escribir: Escribir, navegar: Navegar, fila: Fila, version: str | None
) -> None:
    clave = escribir("Cierran en agosto")
    datos = {"motivo": "error"} if version is None else {"motivo": "error", "version": version}
    respuesta = navegar("compras").post(url("aviso_retirar", clave), datos)
    pagina = texto_de(respuesta)
    assert respuesta.status_code == 422
    assert "El formulario llegó incompleto: vuelva a abrirlo." in pagina
    assert "oculto" not in pagina
    assert fila("P1", clave) is not None


@pytest.mark.parametrize("grupo", ["compras", "consulta"])
def test_la_direccion_de_un_aviso_retirado_dice_que_se_retiro(
    escribir: Escribir, retirar: Any, navegar: Navegar, grupo: str
) -> None:
    retirada = retirar(escribir("Cierran en agosto"))
    cliente = navegar(grupo)
    respuesta = cliente.get(url("aviso", retirada.clave), follow=True)
    assert respuesta.status_code == 200
    assert "Ese aviso se retiró" in texto_de(respuesta)
    destino = f"{LISTA}?proveedor=P1" if grupo == "compras" else "/compras/avisos/"
    assert respuesta.redirect_chain == [(destino, 302)]
    assert ("Cierran en agosto" in texto_de(respuesta)) is (grupo == "compras")
    Retirada.objects.update(reponible_hasta=timezone.now() - timedelta(days=1))
    assert cliente.get(url("aviso", retirada.clave)).status_code == 404
