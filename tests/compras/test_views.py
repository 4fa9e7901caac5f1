"""The purchasing pages: who gets in, what they show, and that nothing typed is lost or written by mistake."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from compras import lectura, servicios
from memoria.documentos import servicios as documentos
from memoria.politica import documento_preferencia, espacio
from tests.compras.comun import LISTA, PROVEEDORES, datos_de, retirada_de, texto_de, url

Navegar = Callable[..., Any]
Escribir = Callable[..., str]
NUEVO = "/compras/avisos/nuevo/"


def datos_nuevos(**campos: Any) -> dict[str, Any]:
    return {
        "proveedor": "P1",
        "clave": servicios.nueva_clave(),
        "texto": "Cierran en agosto",
        "fecha": timezone.localdate().isoformat(),
        "importancia": "normal",
        "asunto": "",
        "valido_hasta": "",
        **campos,
    }


# -- who gets in --------------------------------------------------------------------------------------

DE_VER, DE_ESCRIBIR = ("avisos", "aviso"), ("aviso_nuevo", "aviso_corregir", "aviso_retirar")


def paginas(clave: str) -> dict[str, str]:
    return {
        "avisos": LISTA,
        "aviso": url("aviso", clave),
        "proveedores": PROVEEDORES,
        "aviso_nuevo": NUEVO,
        "aviso_corregir": url("aviso_corregir", clave),
        "aviso_retirar": url("aviso_retirar", clave),
    }


def test_sin_entrar_todas_llevan_al_acceso(escribir: Escribir) -> None:
    for pagina in paginas(escribir()).values():
        respuesta = Client().get(pagina)
        assert respuesta.status_code == 302
        assert respuesta["Location"] == f"/admin/login/?next={pagina}"


@pytest.mark.parametrize(
    ("grupo", "permitidas"),
    [
        ("compras", {"avisos", "aviso", "proveedores", "aviso_nuevo", "aviso_corregir", "aviso_retirar"}),
        ("consulta", {"avisos", "aviso", "proveedores"}),
        ("dpo", {"avisos", "aviso"}),
        ("operaciones", set()),
        (None, set()),
    ],
)
def test_cada_grupo_entra_donde_le_toca(
    escribir: Escribir, navegar: Navegar, grupo: str | None, permitidas: set[str]
) -> None:
    clave = escribir()
    cliente = navegar(*([grupo] if grupo else []))
    estados = {nombre: cliente.get(pagina).status_code for nombre, pagina in paginas(clave).items()}
    assert estados == {nombre: 200 if nombre in permitidas else 403 for nombre in estados}


@pytest.mark.parametrize("grupo", ["consulta", "dpo", "operaciones"])
def test_sin_permiso_un_envio_no_cambia_nada(
    escribir: Escribir, navegar: Navegar, fila: Callable[..., Any], cuantos: Callable[[], int], grupo: str
) -> None:
    clave = escribir("Tal cual")
    antes, cliente = fila("P1", clave), navegar(grupo)
    assert cliente.post(NUEVO, datos_nuevos()).status_code == 403
    assert cliente.post(url("aviso_corregir", clave), datos_de(clave, texto="Otro")).status_code == 403
    assert cliente.post(url("aviso_retirar", clave), {"motivo": "error"}).status_code == 403
    assert (fila("P1", clave), cuantos()) == (antes, 1)


def test_sesion_terminada_un_envio_no_escribe_y_lo_dice(
    escribir: Escribir, fila: Callable[..., Any], cuantos: Callable[[], int]
) -> None:
    clave = escribir("Tal cual")
    antes = fila("P1", clave)
    for pagina, datos in (
        (NUEVO, datos_nuevos()),
        (url("aviso_corregir", clave), datos_de(clave, texto="Otro")),
        (url("aviso_retirar", clave), {}),
    ):
        respuesta = Client().post(pagina, datos, follow=True)
        assert respuesta.redirect_chain == [(f"/admin/login/?next={pagina}", 302)]
        assert "no se ha guardado nada" in texto_de(respuesta)
    assert (fila("P1", clave), cuantos()) == (antes, 1)


def test_sin_la_marca_del_formulario_no_se_escribe(
    navegar: Navegar, proveedor: Any, cuantos: Callable[[], int]
) -> None:
    estricto = Client(enforce_csrf_checks=True)
    estricto.cookies = navegar("compras").cookies
    assert estricto.post(NUEVO, datos_nuevos()).status_code == 403
    assert cuantos() == 0


def test_de_otro_proveedor_o_de_un_cliente_es_404(
    escribir: Escribir, otro_proveedor: Any, navegar: Navegar, almacen: Any
) -> None:
    """P10 begins like P1, and a customer may have the id of a supplier: neither is reached."""
    clave = escribir(proveedor=otro_proveedor)
    preferencia, documento = documento_preferencia("clientes", tipo="idioma", valor="francés", hilo="h1")
    almacen.put(espacio("clientes", "P1"), preferencia, documento)
    cliente = navegar("compras")
    codigos = ("P1", "C9", "clientes.P1", "../clientes.P1", "P1.P10", "%", "\x07", "P1/x")
    for nombre in ("aviso", "aviso_corregir", "aviso_retirar"):
        for codigo in codigos:
            for ajena in (clave, preferencia, "no-existe", "a.b/c%\x07"):
                assert cliente.get(url(nombre, ajena, codigo)).status_code == 404
    for ruta in ("%00", "%2500", "x" * 5000):
        assert cliente.get(f"{LISTA}{ruta}/{clave}/").status_code == 404
        assert cliente.get(f"{LISTA}P10/{ruta}/").status_code == 404
    assert almacen.get(espacio("clientes", "P1"), preferencia)


@pytest.mark.parametrize("clave", ["2026.03/1", "a b", "ñ%2F", "..", "corregir"])
def test_cualquier_clave_importada_tiene_su_pagina(
    proveedor: Any, almacen_compras: Any, navegar: Navegar, clave: str
) -> None:
    almacen_compras.put(espacio("proveedores", "P1"), clave, {"texto": "Hola", "fecha": "2026-03-01"})
    cliente = navegar("compras")
    enlace = re.search(rf'href="({LISTA}P1/[^"]+/)"', cliente.get(LISTA).content.decode())
    assert enlace
    assert "Hola" in texto_de(cliente.get(unescape(enlace[1])))
    assert cliente.get(url("aviso_corregir", clave)).status_code == 200


# -- writing ------------------------------------------------------------------------------------------


def test_escribir_lleva_al_aviso_y_lo_dice(
    navegar: Navegar, proveedor: Any, fila: Callable[..., Any]
) -> None:
    cliente, datos = navegar("compras"), datos_nuevos(texto="Cierran <b>en agosto</b>")
    respuesta = cliente.post(NUEVO, datos, follow=True)
    assert respuesta.redirect_chain == [(url("aviso", datos["clave"]), 302)]
    assert "El aviso está guardado" in texto_de(respuesta)
    assert b"&lt;b&gt;en agosto&lt;/b&gt;" in respuesta.content
    assert fila("P1", datos["clave"])["value"]["autor"] == str(cliente.usuario.pk)


def test_el_formulario_nuevo_trae_hoy_una_clave_y_los_activos(
    navegar: Navegar, proveedor: Any, otro_proveedor: Any
) -> None:
    type(proveedor).objects.filter(codigo="P10").update(activo=False)
    cliente = navegar("compras")
    pagina = texto_de(cliente.get(NUEVO, {"proveedor": "P1"}))
    assert f'value="{timezone.localdate().isoformat()}"' in pagina
    assert 'value="Cerámicas del Norte (P1)"' in pagina
    assert "(P10)" not in pagina
    otra = texto_de(cliente.get(NUEVO))
    claves = set(re.findall(r'name="clave" value="([0-9a-f]{32})"', pagina + otra))
    assert len(claves) == 2


@pytest.mark.parametrize(
    ("campos", "frase"),
    [
        ({"texto": ""}, "Escriba el texto"),
        ({"texto": " \r\n "}, "Escriba el texto"),
        ({"texto": "y" * 1_000_000}, "acórtelo"),
        ({"texto": "sal\x00to"}, "caracteres invisibles"),
        ({"texto": "sal\x07to"}, "caracteres invisibles"),
        ({"asunto": "y" * 121}, "acórtelo"),
        ({"proveedor": ""}, "Elija un proveedor"),
        ({"proveedor": "C9"}, "no está en la lista"),
        ({"proveedor": "P\x001"}, "errorlist"),
        ({"fecha": ""}, "Indique la fecha"),
        ({"fecha": "31/02/2026"}, "fecha que exista"),
        ({"fecha": "2999-01-01"}, "futuro"),
        ({"fecha": "0026-11-20"}, "La fecha es anterior al año 2000"),
        ({"valido_hasta": "2020-01-01"}, "La validez termina antes"),
        ({"importancia": "altísima"}, "errorlist"),
        ({"clave": "../x"}, "vuelva a abrirlo"),
        ({"clave": ""}, "errorlist"),
    ],
)
def test_escribir_mal_se_dice_conserva_lo_escrito_y_no_escribe(
    navegar: Navegar, proveedor: Any, cuantos: Callable[[], int], campos: dict[str, str], frase: str
) -> None:
    datos = datos_nuevos(**{"asunto": "Verano", "texto": "Cierran en agosto", **campos})
    respuesta = navegar("compras").post(NUEVO, datos)
    assert respuesta.status_code == 422
    pagina = texto_de(respuesta)
    assert frase in pagina
    assert "No se ha guardado" in pagina
    assert datos["texto"] in pagina.replace("\n", "\r\n") or datos["texto"] in pagina
    assert datos["asunto"] in pagina
    assert cuantos() == 0


def test_cuatro_mil_caracteres_con_saltos_de_linea_caben(
    navegar: Navegar, proveedor: Any, cuantos: Callable[[], int]
) -> None:
    """A browser counts a line break as one character and sends two."""
    texto = ("x" * 79 + "\r\n") * 50
    assert navegar("compras").post(NUEVO, datos_nuevos(texto=texto[:-2])).status_code == 302
    assert cuantos() == 1


def test_enviar_dos_veces_escribe_uno(navegar: Navegar, proveedor: Any, cuantos: Callable[[], int]) -> None:
    cliente, datos = navegar("compras"), datos_nuevos()
    cliente.post(NUEVO, datos)
    respuesta = cliente.post(NUEVO, datos, follow=True)
    assert respuesta.redirect_chain == [(url("aviso", datos["clave"]), 302)]
    assert "ya estaba guardado" in texto_de(respuesta)
    assert cuantos() == 1


def test_volver_atras_y_escribir_otra_cosa_no_pierde_nada(
    navegar: Navegar, proveedor: Any, cuantos: Callable[[], int], fila: Callable[..., Any]
) -> None:
    cliente, datos = navegar("compras"), datos_nuevos(texto="El primero")
    cliente.post(NUEVO, datos)
    respuesta = cliente.post(NUEVO, {**datos, "texto": "El segundo"})
    assert respuesta.status_code == 422
    pagina = texto_de(respuesta)
    assert "El segundo" in pagina
    clave = re.search(r'name="clave" value="([0-9a-f]{32})"', pagina)
    assert clave
    assert clave[1] != datos["clave"]
    assert cuantos() == 1
    cliente.post(NUEVO, {**datos, "texto": "El segundo", "clave": clave[1]})
    assert fila("P1", datos["clave"])["value"]["texto"] == "El primero"
    assert fila("P1", clave[1])["value"]["texto"] == "El segundo"


# -- one notice ---------------------------------------------------------------------------------------


def test_el_aviso_dice_quien_cuando_y_hasta_cuando(
    escribir: Escribir, navegar: Navegar, mover: Callable[..., None], proveedor: Any, compradora: Any
) -> None:
    clave = escribir("Cierran en agosto", valido_hasta=timezone.localdate(), importancia="alta")
    mover(clave, "10 days 1 hour")
    pagina = texto_de(navegar("compras").get(url("aviso", clave)))
    for dato in ("Cierran en agosto", "Cerámicas del Norte", "Lola Prieto", "dentro de 10 días", "Alta"):
        assert dato in pagina
    assert "Última corrección" not in pagina
    assert url("aviso_corregir", clave) in pagina
    assert url("aviso_retirar", clave) in pagina
    aviso = lectura.uno("P1", clave)
    assert aviso
    servicios.corregir(
        proveedor=proveedor, clave=clave, version=aviso.version, por=compradora, **aviso.contenido
    )
    assert "Última corrección" in texto_de(navegar("consulta").get(url("aviso", clave)))


def test_quien_solo_consulta_no_ve_enlaces_para_cambiar(escribir: Escribir, navegar: Navegar) -> None:
    clave = escribir()
    pagina = texto_de(navegar("consulta").get(url("aviso", clave)))
    assert url("aviso_corregir", clave) not in pagina
    assert url("aviso_retirar", clave) not in pagina


def test_el_autor_que_falta_se_dice(
    escribir: Escribir, navegar: Navegar, compradora: Any, almacen_compras: Any
) -> None:
    clave = escribir()
    almacen_compras.put(espacio("proveedores", "P1"), "A1", {"texto": "Hola", "fecha": "2026-03-01"})
    cliente = navegar("consulta")
    assert "se importó de un fichero" in texto_de(cliente.get(url("aviso", "A1")))
    compradora.logentry_set.all().delete()
    compradora.delete()
    assert "alguien que ya no usa" in texto_de(cliente.get(url("aviso", clave)))


def test_un_aviso_caducado_se_ve_y_no_se_corrige(
    escribir: Escribir, navegar: Navegar, mover: Callable[..., None], fila: Callable[..., Any]
) -> None:
    clave = escribir("Ya no vale")
    datos = datos_de(clave, texto="Otro")
    mover(clave, "-1 hour")
    antes, cliente = fila("P1", clave), navegar("compras")
    pagina = texto_de(cliente.get(url("aviso", clave)))
    assert "Caducado." in pagina
    assert url("aviso_corregir", clave) not in pagina
    assert url("aviso_retirar", clave) in pagina
    assert cliente.get(url("aviso_corregir", clave))["Location"] == url("aviso", clave)
    enviado = texto_de(cliente.post(url("aviso_corregir", clave), datos))
    assert "ha caducado" in enviado
    assert "Otro" in enviado
    assert fila("P1", clave) == antes


def test_un_aviso_de_un_proveedor_que_no_esta_en_la_lista_se_ve(
    bd: str, almacen_compras: Any, navegar: Navegar
) -> None:
    almacen_compras.put(espacio("proveedores", "Z9"), "A1", {"texto": "Hola", "fecha": "2026-03-01"})
    cliente = navegar("compras")
    assert "Hola" in texto_de(cliente.get(LISTA))
    assert "no está en la lista de proveedores" in texto_de(cliente.get(url("aviso", "A1", "Z9")))
    assert cliente.get(url("aviso_corregir", "A1", "Z9")).status_code == 404


def test_corregir_desde_la_pagina(
    escribir: Escribir, navegar: Navegar, fila: Callable[..., Any], mover: Callable[..., None]
) -> None:
    clave = escribir("Cierran en julio")
    mover(clave, "3 days")
    caduca, cliente = fila("P1", clave)["expires_at"], navegar("compras")
    formulario = texto_de(cliente.get(url("aviso_corregir", clave)))
    assert "Cierran en julio" in formulario
    respuesta = cliente.post(
        url("aviso_corregir", clave), datos_de(clave, texto="Cierran en agosto"), follow=True
    )
    assert respuesta.redirect_chain == [(url("aviso", clave), 302)]
    assert "está corregido" in texto_de(respuesta)
    assert fila("P1", clave)["value"]["texto"] == "Cierran en agosto"
    assert fila("P1", clave)["expires_at"] == caduca


def test_corregir_lo_que_otra_persona_cambio_ensena_las_dos_cosas(
    escribir: Escribir, navegar: Navegar, fila: Callable[..., Any]
) -> None:
    clave = escribir("Uno")
    mios = datos_de(clave, texto="Lo mío")
    navegar("compras", nombre="otra").post(url("aviso_corregir", clave), datos_de(clave, texto="Lo ajeno"))
    cliente = navegar("compras")
    respuesta = cliente.post(url("aviso_corregir", clave), mios)
    assert respuesta.status_code == 422
    pagina = texto_de(respuesta)
    assert "Otra persona cambió este aviso" in pagina
    assert "Lo mío" in pagina
    assert "Lo ajeno" in pagina
    assert fila("P1", clave)["value"]["texto"] == "Lo ajeno"
    version = re.search(r'name="version" value="([^"]+)"', pagina)
    assert version
    cliente.post(url("aviso_corregir", clave), {**mios, "version": version[1]})
    assert fila("P1", clave)["value"]["texto"] == "Lo mío"


def test_corregir_lo_que_alguien_retiro_no_pierde_lo_escrito(
    escribir: Escribir, navegar: Navegar, cuantos: Callable[[], int]
) -> None:
    clave = escribir("Uno")
    datos, cliente = datos_de(clave, texto="Media hora de trabajo"), navegar("compras")
    cliente.post(url("aviso_retirar", clave), retirada_de(clave))
    pagina = texto_de(cliente.post(url("aviso_corregir", clave), datos))
    assert "ya no existe" in pagina
    assert "Media hora de trabajo" in pagina
    assert cuantos() == 0


@pytest.mark.parametrize("version", ["", "ayer", "2026-03-01T10:00:00", "\x00"])
def test_corregir_con_una_version_inventada_no_escribe(
    escribir: Escribir, navegar: Navegar, fila: Callable[..., Any], version: str
) -> None:
    clave = escribir("Uno")
    antes = fila("P1", clave)
    respuesta = navegar("compras").post(
        url("aviso_corregir", clave), datos_de(clave, texto="Dos", version=version)
    )
    assert respuesta.status_code == 422
    assert "Dos" in texto_de(respuesta)
    assert fila("P1", clave) == antes


def test_retirar_pregunta_antes_y_borra_despues(
    escribir: Escribir, navegar: Navegar, cuantos: Callable[[], int]
) -> None:
    clave, cliente = escribir("Se retira"), navegar("compras")
    assert "Se retira" in texto_de(cliente.get(url("aviso_retirar", clave)))
    assert cuantos() == 1
    datos = retirada_de(clave)
    respuesta = cliente.post(url("aviso_retirar", clave), datos, follow=True)
    assert respuesta.redirect_chain == [(LISTA, 302)]
    assert "está retirado" in texto_de(respuesta)
    assert cuantos() == 0
    assert "ya no existe" in texto_de(cliente.post(url("aviso_retirar", clave), datos, follow=True))


def test_en_el_panel_lo_primero_es_escribir_un_aviso(
    navegar: Callable[..., Any], persona: Callable[..., Any]
) -> None:
    documentos.crear(
        espacio="compras",
        ruta="normas.md",
        titulo="Normas",
        texto="Así se hace.",
        por=persona("compras", nombre="otra"),
    )
    tarjetas = navegar("compras").get("/").context["tarjetas"]
    assert any(str(t.titulo).startswith("Documentos") for t in tarjetas)
    assert str(tarjetas[0].titulo) == "Escribir un aviso"
