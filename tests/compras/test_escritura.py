"""Writing a notice from its page: which supplier, what is alike, identifiers, and the cursor."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from compras import lectura, servicios
from compras.forms import FormularioNuevo
from compras.models import Proveedor
from compras.sugerencias import el_que_es, sugerir
from tests.compras.comun import texto_de, url

Escribir = Callable[..., str]
Navegar = Callable[..., Any]
NUEVO = "/compras/avisos/nuevo/"
SUGERENCIAS, PARECIDOS = "/compras/escribir/proveedores/", "/compras/escribir/parecidos/"


def datos(**campos: Any) -> dict[str, Any]:
    return {
        "proveedor": "P1",
        "clave": servicios.nueva_clave(),
        "texto": "Cierran en agosto",
        "fecha": timezone.localdate().isoformat(),
        "importancia": "normal",
        **campos,
    }


def valor(pagina: str, nombre: str) -> list[str]:
    return re.findall(rf'name="{nombre}"[^>]* value="([^"]*)"', pagina)


def con_foco(pagina: str) -> list[str]:
    return re.findall(r'<(?:input|textarea|select)[^>]* name="(\w+)"[^>]* autofocus', pagina) + re.findall(
        r'<(?:input|textarea|select)(?=[^>]* autofocus)[^>]* autofocus(?:="")? name="(\w+)"', pagina
    )


@pytest.fixture
def sin_memoria(propietario: psycopg.Connection) -> Iterator[None]:
    """The store does not open: its vectors have other dimensions than the model."""
    from compras.almacen import cerrar

    cerrar()
    propietario.execute("ALTER TABLE langgraph.store_vectors RENAME TO guardada")
    propietario.execute("CREATE TABLE langgraph.store_vectors (prefix text, key text, embedding vector(3))")
    propietario.execute("GRANT SELECT ON langgraph.store_vectors TO memoria_web")
    yield
    cerrar()
    propietario.execute("DROP TABLE langgraph.store_vectors")
    propietario.execute("ALTER TABLE langgraph.guardada RENAME TO store_vectors")


# -- the supplier -------------------------------------------------------------------------------------


@pytest.fixture
def lista(bd: str) -> None:
    for codigo, nombre, activo in (
        ("P1", "Cerámicas del Norte", True),
        ("P10", "Cerámicas del Norte", True),
        ("P2", "Bodegas Muñoz (Rioja)", True),
        ("p2", "Otra", True),
        ("X%_1", "Cien % algodón", True),
        ("Z1", "Cerámicas cerradas", False),
    ):
        Proveedor.objects.create(codigo=codigo, nombre=nombre, activo=activo)
    Proveedor.objects.create(
        codigo="M1", nombre="Unido", activo=False, fusionado_en=Proveedor.objects.get(codigo="P1")
    )


@pytest.mark.parametrize(
    ("escrito", "codigo"),
    [
        ("P1", "P1"),
        (" P1 ", "P1"),
        ("p10", "P10"),
        ("P2", "P2"),
        ("p2", "p2"),
        ("Cerámicas del Norte (P1)", "P1"),
        ("bodegas munoz (rioja)", "P2"),
        ("Bodegas Muñoz (Rioja) (P2)", "P2"),
        ("X%_1", "X%_1"),
        ("Cerámicas del Norte", None),  # two are called so
        ("Cerámicas", None),
        ("Z1", None),  # inactive
        ("X11", None),  # % and _ are letters
        ("", None),
    ],
)
def test_un_proveedor_por_su_codigo_o_por_su_nombre(lista: None, escrito: str, codigo: str | None) -> None:
    hallado = el_que_es(escrito)
    assert (hallado.codigo if hallado else None) == codigo


@pytest.mark.parametrize(
    ("escrito", "codigos"),
    [
        ("ceramicas", ["P1", "P10"]),
        ("NORTE cera", ["P1", "P10"]),
        ("p1", ["P1", "P10"]),
        ("Muñ", ["P2"]),
        ("%", ["X%_1"]),
        ("_", ["X%_1"]),
        ("nada de esto", []),
        ("Cerámicas del Norte (P10)", ["P10"]),
        ("q\x00z9", []),
    ],
)
def test_sugerencias_por_trozos_con_acentos_o_sin_ellos(
    lista: None, escrito: str, codigos: list[str]
) -> None:
    assert [p.codigo for p in sugerir(escrito)] == codigos


def test_el_codigo_entero_va_primero_tambien_de_uno_inactivo(lista: None) -> None:
    Proveedor.objects.create(codigo="CER", nombre="Otra cosa", activo=False)
    assert [p.codigo for p in sugerir("cer", inactivos=True)] == ["CER", "P1", "P10", "Z1"]
    assert [p.codigo for p in sugerir("cer")] == ["P1", "P10"]


def test_entre_dos_mil_se_ofrecen_doce_en_una_consulta(bd: str, navegar: Navegar) -> None:
    Proveedor.objects.bulk_create(
        Proveedor(codigo=f"Q{n:04}", nombre=f"Suministros {n}") for n in range(2_000)
    )
    cliente = navegar("compras")
    with CaptureQueriesContext(connection) as consultas:
        pagina = texto_de(cliente.get(NUEVO))
    assert pagina.count('<option value="Suministros') == 12
    assert sum("compras_proveedor" in c["sql"] for c in consultas) <= 1
    respuesta = cliente.post(SUGERENCIAS, {"proveedor": "suministros 1999"})
    assert respuesta.content.count(b"<option") == 1


@pytest.mark.parametrize(
    ("escrito", "frase"),
    [
        ("Cerámicas", "Diga cuál de estos es"),
        ("Z1", "El proveedor Z1 está inactivo: elija otro."),
        ("z1", "El proveedor Z1 está inactivo: elija otro."),
        ("M1", "El código M1 se unió al P1: elija ese."),
        ("NOPE", "Ese proveedor no está en la lista: elija otro."),
        ("   ", "Elija un proveedor"),
        ("a\x00", "errorlist"),
        ("x" * 5000, "no está en la lista"),
    ],
)
def test_un_proveedor_que_no_se_sabe_cual_es_se_pregunta(
    lista: None, navegar: Navegar, cuantos: Callable[[], int], escrito: str, frase: str
) -> None:
    respuesta = navegar("compras").post(NUEVO, datos(proveedor=escrito))
    assert respuesta.status_code == 422
    assert frase in texto_de(respuesta)
    if frase.startswith("Diga"):
        assert "Cerámicas del Norte (P1); Cerámicas del Norte (P10)" in texto_de(respuesta)
    assert "Cierran en agosto" in texto_de(respuesta)
    assert cuantos() == 0


# -- who gets help --------------------------------------------------------------------------------------


@pytest.mark.parametrize("ruta", [SUGERENCIAS, PARECIDOS])
def test_las_ayudas_son_de_quien_escribe(proveedor: Any, navegar: Navegar, ruta: str) -> None:
    envio = {"proveedor": "P1", "texto": "Cierran la fábrica en agosto"}
    assert Client().post(ruta, envio)["Location"] == f"/admin/login/?next={NUEVO}"
    # Inside the form a page of login has no place.
    nada = Client().post(ruta, envio, headers={"HX-Request": "true"})
    assert (nada.status_code, nada.content) == (204, b"")
    for grupo in ("consulta", "dpo", "operaciones"):
        assert navegar(grupo).post(ruta, envio).status_code == 403
    cliente = navegar("compras")
    assert cliente.post(ruta, envio).status_code == 200
    assert cliente.get(ruta, envio).status_code == 405  # nothing of it in a URL
    assert cliente.post(ruta, {}).status_code == 200


# -- what is alike ----------------------------------------------------------------------------------------


def test_lo_parecido_de_ese_proveedor_se_ensena_y_lo_de_otro_no(
    escribir: Escribir, otro_proveedor: Any, navegar: Navegar, fila: Any
) -> None:
    clave = escribir("Cierran la fábrica por vacaciones en agosto")
    escribir("Cierran la fábrica en agosto, lo dijo el del sur", proveedor=otro_proveedor)
    antes = fila("P1", clave)
    envio = {"proveedor": "Cerámicas del Norte (P1)", "texto": "La fábrica cierra en agosto"}
    pagina = texto_de(navegar("compras").post(PARECIDOS, envio))
    assert "¿Es este?" in pagina
    assert url("aviso", clave) in pagina
    assert "del sur" not in pagina
    assert fila("P1", clave) == antes


@pytest.mark.parametrize(
    "envio",
    [
        {"proveedor": "P1", "texto": "Cierran"},
        {"proveedor": "", "texto": "La fábrica cierra en agosto"},
        {"proveedor": "NO", "texto": "La fábrica cierra en agosto"},
        {"proveedor": "P1", "texto": "\x00" * 50},
    ],
)
def test_sin_bastante_escrito_no_se_busca(
    escribir: Escribir, navegar: Navegar, envio: dict[str, str]
) -> None:
    escribir("Cierran la fábrica en agosto")
    respuesta = navegar("compras").post(PARECIDOS, envio)
    assert respuesta.status_code == 200
    assert respuesta.content.strip() == b""


@pytest.mark.parametrize(
    "texto",
    [
        "Cierran la fábrica por vacaciones del 3 al 24 de agosto.",
        "cierran la FÁBRICA por vacaciones,  del 3 al 24 de agosto",
        "Cierran la fábrica por vacaciones del 3 al 31 de agosto.",
    ],
)
def test_lo_casi_igual_se_pregunta_y_se_puede_seguir(
    escribir: Escribir, navegar: Navegar, cuantos: Callable[[], int], texto: str
) -> None:
    clave = escribir("Cierran la fábrica por vacaciones del 3 al 24 de agosto.")
    cliente, envio = navegar("compras"), datos(texto=texto)
    respuesta = cliente.post(NUEVO, envio)
    assert respuesta.status_code == 422
    pagina = texto_de(respuesta)
    assert "Esto ya está escrito." in pagina
    assert url("aviso_corregir", clave) in pagina
    assert valor(pagina, "iguales_vistos") == [clave]
    assert cuantos() == 1
    assert cliente.post(NUEVO, {**envio, "iguales_vistos": "otra"}).status_code == 422
    assert cliente.post(NUEVO, {**envio, "iguales_vistos": clave}).status_code == 302
    assert cuantos() == 2


@pytest.mark.parametrize(
    "texto", ["Cierran por inventario en agosto", "Cierran la fábrica", "Suben el precio un 4 % en agosto"]
)
def test_lo_que_dice_otra_cosa_no_se_pregunta(escribir: Escribir, navegar: Navegar, texto: str) -> None:
    escribir("Cierran la fábrica por vacaciones del 3 al 24 de agosto.")
    assert navegar("compras").post(NUEVO, datos(texto=texto)).status_code == 302


def test_sin_busqueda_no_hay_parecidos_y_lo_escrito_se_conserva(
    proveedor: Any, sin_memoria: None, navegar: Navegar
) -> None:
    cliente = navegar("compras")
    envio = datos(texto="La fábrica cierra en agosto por vacaciones")
    parecidos = cliente.post(PARECIDOS, envio)
    assert (parecidos.status_code, parecidos.content.strip()) == (200, b"")
    respuesta = cliente.post(NUEVO, envio)
    assert respuesta.status_code == 422
    assert "La memoria de avisos no responde" in texto_de(respuesta)
    assert envio["texto"] in texto_de(respuesta)
    assert valor(texto_de(respuesta), "clave") == [envio["clave"]]


# -- identifiers --------------------------------------------------------------------------------------------


def test_un_identificador_se_senala_y_se_guarda_con_su_motivo(
    proveedor: Any, navegar: Navegar, fila: Any
) -> None:
    cliente, envio = navegar("compras"), datos(texto="Llamar a Ramón: 612 34 56 78", asunto="ana@x.es")
    pagina = texto_de(cliente.post(NUEVO, envio))
    assert "<mark>612 34 56 78</mark>" in pagina
    assert "<mark>ana@x.es</mark>" in pagina
    assert con_foco(pagina) == ["motivo_identificadores"]
    assert fila("P1", envio["clave"]) is None
    vistos = {"identificadores_vistos": valor(pagina, "identificadores_vistos")[0]}
    for motivo, frase in (("", "Escriba por qué"), ("Es el 612-345-678", "no debe llevar datos personales")):
        respuesta = cliente.post(NUEVO, {**envio, **vistos, "motivo_identificadores": motivo})
        assert respuesta.status_code == 422
        assert frase in texto_de(respuesta)
    assert LogEntry.objects.count() == 0
    con_motivo = {**envio, **vistos, "motivo_identificadores": "Es el del muelle"}
    assert cliente.post(NUEVO, con_motivo).status_code == 302
    assert fila("P1", envio["clave"])["value"]["texto"] == envio["texto"]
    mensaje = json.loads(LogEntry.objects.get().change_message)[0]["added"]
    assert mensaje["identificadores"] == ["email", "telefono"]
    assert mensaje["motivo"] == "Es el del muelle"
    assert "612" not in LogEntry.objects.get().change_message.replace(envio["clave"], "")


def test_al_corregir_tambien_se_senala(escribir: Escribir, navegar: Navegar, fila: Any) -> None:
    clave = escribir("Llamar a Ramón")
    aviso = lectura.uno("P1", clave)
    assert aviso
    cliente = navegar("compras")
    envio = {**datos(texto="Llamar a Ramón: 612345678"), "version": aviso.version.isoformat()}
    pagina = texto_de(cliente.post(url("aviso_corregir", clave), envio))
    assert "<mark>612345678</mark>" in pagina
    assert fila("P1", clave)["value"]["texto"] == "Llamar a Ramón"
    envio |= {
        "identificadores_vistos": valor(pagina, "identificadores_vistos")[0],
        "motivo_identificadores": "Es el del muelle",
    }
    assert cliente.post(url("aviso_corregir", clave), envio).status_code == 302
    mensaje = json.loads(LogEntry.objects.latest("pk").change_message)[0]["changed"]
    assert mensaje["fields"] == ["texto"]
    assert mensaje["identificadores"] == ["telefono"]


def test_el_motivo_no_se_pide_otra_vez_cuando_el_formulario_vuelve_por_otra_cosa(
    escribir: Escribir, navegar: Navegar, cuantos: Callable[[], int]
) -> None:
    texto = "Cierran en agosto, preguntar en el 612 34 56 78"
    escribir(texto)
    cliente, envio = navegar("compras"), datos(texto=texto)
    pagina = texto_de(cliente.post(NUEVO, envio))
    envio |= {
        "identificadores_vistos": valor(pagina, "identificadores_vistos")[0],
        "motivo_identificadores": "Es el del muelle",
    }
    pagina = texto_de(cliente.post(NUEVO, envio))
    assert "Esto ya está escrito." in pagina
    assert "Datos personales" not in pagina
    enviado = {
        **{c: envio[c] for c in ("proveedor", "clave", "texto", "fecha", "importancia")},
        **{
            c: valor(pagina, c)[0]
            for c in ("identificadores_vistos", "motivo_identificadores", "iguales_vistos")
        },
    }
    assert cliente.post(NUEVO, enviado).status_code == 302
    assert cuantos() == 2


# -- two versions -------------------------------------------------------------------------------------------


def test_lo_que_otra_persona_cambio_se_ensena_con_su_nombre(
    escribir: Escribir, navegar: Navegar, compradora: Any, proveedor: Any
) -> None:
    clave = escribir("Uno")
    aviso = lectura.uno("P1", clave)
    assert aviso
    servicios.corregir(
        proveedor=proveedor,
        clave=clave,
        version=aviso.version,
        por=compradora,
        **{**aviso.contenido, "texto": "Lo ajeno"},
    )
    envio = {**datos(texto="Lo mío"), "version": aviso.version.isoformat()}
    pagina = texto_de(navegar("compras").post(url("aviso_corregir", clave), envio))
    assert "Lo cambió Lola Prieto" in pagina
    assert "Lo que hay ahora" in pagina
    assert "Lo que ha escrito usted" in pagina
    assert pagina.index("Lo ajeno") < pagina.index("Lo mío")
    assert con_foco(pagina) == ["texto"]


# -- the cursor ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("envio", "campo"),
    [
        (None, "proveedor"),
        ({"proveedor": "P1"}, "texto"),
    ],
)
def test_el_cursor_empieza_donde_hay_que_escribir(
    proveedor: Any, navegar: Navegar, envio: dict[str, str] | None, campo: str
) -> None:
    assert con_foco(texto_de(navegar("compras").get(NUEVO, envio))) == [campo]


@pytest.mark.parametrize(
    ("mal", "campo"),
    [({"fecha": ""}, "fecha"), ({"texto": "", "fecha": ""}, "texto"), ({"proveedor": "NO"}, "proveedor")],
)
def test_el_cursor_va_a_lo_que_esta_mal(
    proveedor: Any, navegar: Navegar, mal: dict[str, str], campo: str
) -> None:
    assert con_foco(texto_de(navegar("compras").post(NUEVO, datos(**mal)))) == [campo]


def test_el_orden_de_los_campos_es_el_de_escribir(bd: str) -> None:
    visibles = [campo.name for campo in FormularioNuevo().visible_fields()]
    assert visibles == ["proveedor", "texto", "importancia", "asunto", "fecha", "valido_hasta"]


@pytest.mark.parametrize("corregido", [False, True])
def test_what_nobody_sees_is_not_written(
    proveedor: Proveedor, escribir: Escribir, navegar: Navegar, corregido: bool
) -> None:
    """A soft hyphen from a PDF would also split the word that the search looks for."""
    navegador = navegar("compras")
    enviado = datos(
        texto="Cie\u00adrran\u202e \U000e0049\U000e0047en agosto 👩‍🔧", asunto="\u2066Cierre\u2069"
    )
    clave = escribir() if corregido else str(enviado["clave"])
    direccion = NUEVO
    if corregido:
        direccion = url("aviso_corregir", clave)
        enviado["version"] = valor(navegador.get(direccion).content.decode(), "version")[0]
    assert navegador.post(direccion, enviado).status_code == 302
    aviso = lectura.uno("P1", clave)
    assert aviso is not None
    assert (aviso.texto, aviso.asunto) == ("Cierran en agosto 👩‍🔧", "Cierre")
