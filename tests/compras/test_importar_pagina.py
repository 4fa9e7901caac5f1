"""Importing from the page: looked at first, done after, and the file kept nowhere in between."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from django.contrib.admin.models import LogEntry
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from compras.models import Proveedor
from compras.servicios.entrada import MAXIMO_DE_BYTES, MAXIMO_DE_LINEAS
from tests.compras.comun import texto_de

IMPORTAR = "/compras/avisos/importar/"
Navegar = Callable[..., Any]
CABECERA = "proveedor_id;aviso_id;fecha;texto\n"
BUENAS = CABECERA + "P1;A1;2026-03-09;Cierran en agosto\nP1;A2;2026-03-10;Suben los portes\n"
MEZCLA = BUENAS + "P1;A3;ayer;Mala\nP9;A4;2026-03-11;De uno nuevo\n"


def subir(cliente: Any, texto: str | bytes, **campos: str) -> Any:
    contenido = texto.encode() if isinstance(texto, str) else texto
    return cliente.post(IMPORTAR, {"fichero": SimpleUploadedFile("avisos.csv", contenido), **campos})


def llevado(respuesta: Any) -> dict[str, str]:
    """The hidden fields of the page that asks for confirmation."""
    pagina = respuesta.content.decode()
    return dict(re.findall(r'type="hidden" name="(contenido|todo_o_nada)" value="([^"]*)"', pagina))


def test_se_mira_antes_y_se_guarda_despues(
    proveedor: Any, navegar: Navegar, cuantos: Callable[[], int], fila: Callable[..., Any]
) -> None:
    cliente = navegar("compras")
    mirado = subir(cliente, MEZCLA)
    pagina = texto_de(mirado)
    assert mirado.status_code == 200
    assert "Guardar 3 avisos" in pagina
    assert "Línea 4: La columna fecha no es una fecha que exista, como 31/12/2026 o 2026-12-31." in pagina
    assert "Cierran en agosto" in pagina
    assert "P9" in pagina
    assert (cuantos(), Proveedor.objects.count()) == (0, 1)
    hecho = cliente.post(IMPORTAR, llevado(mirado))
    assert hecho.status_code == 200
    assert "Hecho" in texto_de(hecho)
    assert cuantos() == 3
    assert fila("P9", "A4")["value"]["texto"] == "De uno nuevo"
    assert "autor" not in fila("P1", "A1")["value"]
    asiento = LogEntry.objects.latest("pk")
    assert asiento.user == cliente.usuario
    assert asiento.get_change_message() == "Avisos importados: 3. Líneas rechazadas: 1."


def test_de_muestra_solo_se_ensena_lo_que_se_va_a_guardar(
    proveedor: Any, navegar: Navegar, escribir: Callable[..., Any]
) -> None:
    cliente = navegar("compras")
    cliente.post(IMPORTAR, llevado(subir(cliente, BUENAS)))
    Proveedor.objects.create(codigo="P8", nombre="Cerrado", activo=False)
    otras = "P8;A3;2026-03-11;De uno inactivo\nP1;A1;2026-03-09;Con otro texto\nP1;A5;2026-03-12;Es nuevo\n"
    pagina = texto_de(subir(cliente, BUENAS + otras))
    assert "Guardar 1 aviso" in pagina
    assert "Los primeros avisos nuevos" in pagina
    assert "Es nuevo" in pagina
    for otro in ("Cierran en agosto", "Suben los portes", "De uno inactivo", "Con otro texto"):
        assert otro not in pagina


def test_confirmar_dos_veces_no_duplica(proveedor: Any, navegar: Navegar, cuantos: Callable[[], int]) -> None:
    cliente = navegar("compras")
    campos = llevado(subir(cliente, BUENAS))
    cliente.post(IMPORTAR, campos)
    otra = cliente.post(IMPORTAR, campos)
    assert "<dd>2</dd>" in texto_de(otra)  # they were there
    assert cuantos() == 2
    assert LogEntry.objects.count() == 1


def test_todo_o_nada_con_una_mala_no_deja_guardar(
    proveedor: Any, navegar: Navegar, cuantos: Callable[[], int]
) -> None:
    cliente = navegar("compras")
    mirado = subir(cliente, MEZCLA, todo_o_nada="on")
    assert "así no se puede guardar" in texto_de(mirado)
    assert llevado(mirado) == {}
    # Nor when it became bad after it was looked at.
    campos = llevado(subir(cliente, BUENAS, todo_o_nada="on"))
    assert campos["todo_o_nada"] == "on"
    subir_otro = llevado(subir(cliente, CABECERA + "P1;A2;2026-03-10;Otra cosa\n"))
    cliente.post(IMPORTAR, subir_otro)
    respuesta = cliente.post(IMPORTAR, campos)
    assert respuesta.status_code == 422
    assert "No se ha guardado nada" in texto_de(respuesta)
    assert cuantos() == 1


def test_todo_o_nada_sin_malas_se_guarda_todo(
    proveedor: Any, navegar: Navegar, cuantos: Callable[[], int]
) -> None:
    cliente = navegar("compras")
    hecho = cliente.post(IMPORTAR, llevado(subir(cliente, BUENAS, todo_o_nada="on")))
    assert hecho.status_code == 200
    assert cuantos() == 2


def test_lo_que_lleva_la_pagina_es_de_quien_lo_subio_y_no_se_cambia(
    proveedor: Any, navegar: Navegar, cuantos: Callable[[], int]
) -> None:
    campos = llevado(subir(navegar("compras"), BUENAS))
    otra = navegar("compras", nombre="otra")
    for contenido in (campos["contenido"], campos["contenido"][:-1], "eJxLTAQAAWwAwA==:x", "ñ", ""):
        respuesta = otra.post(IMPORTAR, {"contenido": contenido})
        assert respuesta.status_code == 422
        assert "elíjalo otra vez" in texto_de(respuesta)
    assert cuantos() == 0


def test_entre_los_dos_pasos_no_queda_en_ningun_sitio(
    proveedor: Any, navegar: Navegar, propietario: psycopg.Connection
) -> None:
    secreto = "Ramona Quinones Zarzalejo"
    subir(navegar("compras"), CABECERA + f"P1;A1;2026-03-09;{secreto}\n")
    tablas = [
        f[0]
        for f in propietario.execute(
            "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables"
            " WHERE schemaname IN ('public', 'langgraph')"
        )
    ]
    for tabla in tablas:
        hay = propietario.execute(f"SELECT count(*) FROM {tabla} t WHERE t::text LIKE %s", [f"%{secreto}%"])
        fila = hay.fetchone()
        assert fila is not None
        assert fila[0] == 0, tabla


def test_los_datos_de_una_persona_se_senalan_sin_repetirlos(proveedor: Any, navegar: Navegar) -> None:
    respuesta = subir(
        navegar("compras"), CABECERA + "P1;A1;2026-03-09;" + "x" * 200 + " llamar al 612 345 678\n"
    )
    pagina = texto_de(respuesta)
    assert "Línea 2: Lleva datos de una persona: Teléfono." in pagina
    assert "612 345 678" not in pagina
    assert "Guardar 1 aviso" in pagina


@pytest.mark.parametrize(
    ("contenido", "frase"),
    [
        (b"", "está vacío"),
        (b"PK\x03\x04\x14\x00\x81\x00", "no es texto"),
        (b"proveedor_id,fecha\nP1,2026-03-09\n", "faltan columnas: texto"),
        (b"x" * (MAXIMO_DE_BYTES + 1), "más de 64 kB"),
        (
            (CABECERA + "".join(f"P1;A{n};2026-03-09;x\n" for n in range(MAXIMO_DE_LINEAS + 1))).encode(),
            "más de 250 líneas",
        ),
    ],
)
def test_lo_que_no_vale_se_dice(proveedor: Any, navegar: Navegar, contenido: bytes, frase: str) -> None:
    respuesta = subir(navegar("compras"), contenido)
    assert respuesta.status_code == 422
    assert frase in texto_de(respuesta)


def test_mientras_se_importa_otro_se_dice_y_no_se_pierde(
    proveedor: Any, navegar: Navegar, como: Callable[..., psycopg.Connection], cuantos: Callable[[], int]
) -> None:
    cliente = navegar("compras")
    campos = llevado(subir(cliente, BUENAS))
    otra = como("memoria_web")
    with otra.transaction():
        otra.execute("SELECT pg_advisory_xact_lock(hashtextextended('memoria:importar_avisos', 0))")
        ocupado = cliente.post(IMPORTAR, campos)
    assert ocupado.status_code == 422
    assert "Se está importando otro fichero" in texto_de(ocupado)
    assert cuantos() == 0
    assert cliente.post(IMPORTAR, llevado(ocupado)).status_code == 200
    assert cuantos() == 2


def test_quien_no_puede_anadir_proveedores_no_los_anade(
    proveedor: Any, persona: Callable[..., Any], cuantos: Callable[[], int]
) -> None:
    from django.contrib.auth.models import Permission

    usuaria = persona(nombre="sin-alta")
    usuaria.user_permissions.set(Permission.objects.filter(codename__in=["ver_avisos", "escribir_avisos"]))
    cliente = Client()
    cliente.force_login(usuaria, backend="django.contrib.auth.backends.ModelBackend")
    mirado = subir(cliente, MEZCLA)
    assert "usted no puede añadir proveedores" in texto_de(mirado)
    cliente.post(IMPORTAR, llevado(mirado))
    assert (cuantos(), Proveedor.objects.count()) == (2, 1)


def test_un_proveedor_inactivo_no_admite_avisos_nuevos(
    proveedor: Any, navegar: Navegar, cuantos: Callable[[], int]
) -> None:
    cliente = navegar("compras")
    cliente.post(IMPORTAR, llevado(subir(cliente, BUENAS)))
    Proveedor.objects.update(activo=False)
    mirado = texto_de(subir(cliente, BUENAS + "P1;A5;2026-03-12;Uno más\n"))
    assert "El proveedor está inactivo" in mirado
    assert "No hay ningún aviso nuevo que guardar." in mirado
    assert cuantos() == 2


def test_lo_retirado_no_vuelve_por_un_fichero_de_antes(
    proveedor: Any, compradora: Any, navegar: Navegar, cuantos: Callable[[], int]
) -> None:
    from compras import servicios

    cliente = navegar("compras")
    cliente.post(IMPORTAR, llevado(subir(cliente, BUENAS)))
    servicios.retirar(proveedor=proveedor, clave="A1", motivo="error", por=compradora)
    assert "Este aviso se retiró" in texto_de(subir(cliente, BUENAS))
    assert cuantos() == 1


def test_quien_entra(proveedor: Any, navegar: Navegar) -> None:
    assert Client().get(IMPORTAR)["Location"] == f"/admin/login/?next={IMPORTAR}"
    for grupo in ("consulta", "dpo", "operaciones"):
        assert navegar(grupo).get(IMPORTAR).status_code == 403
        assert subir(navegar(grupo, nombre=f"otra-{grupo}"), BUENAS).status_code == 403
    assert navegar("compras").get(IMPORTAR).status_code == 200


def test_sin_la_marca_del_formulario_no_se_importa(
    proveedor: Any, navegar: Navegar, cuantos: Callable[[], int]
) -> None:
    cliente = navegar("compras")
    campos = llevado(subir(cliente, BUENAS))
    estricto = Client(enforce_csrf_checks=True)
    estricto.cookies = cliente.cookies
    assert estricto.post(IMPORTAR, campos).status_code == 403
    assert cuantos() == 0


def test_lo_restringido_se_rechaza_por_su_linea_y_lo_demas_entra(
    proveedor: Any,
    otro_proveedor: Any,
    propietario: psycopg.Connection,
    persona: Callable[..., Any],
    cuantos: Callable[[], int],
) -> None:
    from compras.importacion import importar

    propietario.execute(
        "INSERT INTO public.privacidad_restriccion (prefijo, clave, motivo, motivo_levantada, por_id)"
        " VALUES ('proveedores.P10', '', 'x', '', %s)",
        [persona("dpo").pk],
    )
    fichero = BUENAS + "P10;B1;2026-03-12;No puede entrar\n"
    hecho = importar(io.BytesIO(fichero.encode()))
    assert (hecho.creados, cuantos()) == (2, 2)
    assert [r["linea"] for r in hecho.rechazados] == [4]
    assert "Privacidad está revisando" in hecho.rechazados[0]["motivo"]
    nada = importar(io.BytesIO(fichero.replace("A1", "C1").replace("A2", "C2").encode()), todo_o_nada=True)
    assert (nada.creados, nada.anulada, cuantos()) == (0, True, 2)


def test_lo_que_se_acaba_de_suprimir_se_dice_a_quien_importa(
    proveedor: Any, como: Callable[..., psycopg.Connection], cuantos: Callable[[], int]
) -> None:
    """What the memory says to an agent speaks of a conversation."""
    from compras.importacion import importar

    como("memoria_web").execute("SELECT vallas.levantar('proveedores.P1', 'proveedores', 'P1', 15, '{}')")
    hecho = importar(io.BytesIO(BUENAS.encode()))
    assert [r["linea"] for r in hecho.rechazados] == [2, 3]
    assert all("solicitud de privacidad" in r["motivo"] for r in hecho.rechazados)
    assert cuantos() == 0


def test_lo_que_otro_importo_entretanto_no_se_ofrece_de_nuevo(
    proveedor: Any, navegar: Navegar, como: Callable[..., psycopg.Connection]
) -> None:
    """The page that comes back while another import runs offers what is still to be done."""
    cliente = navegar("compras")
    campos, de_una_vez = (llevado(subir(cliente, BUENAS, **c)) for c in ({}, {"todo_o_nada": "on"}))
    cliente.post(IMPORTAR, campos)
    otra = como("memoria_web")
    with otra.transaction():
        otra.execute("SELECT pg_advisory_xact_lock(hashtextextended('memoria:importar_avisos', 0))")
        for enviado in (campos, de_una_vez):
            ocupado = cliente.post(IMPORTAR, enviado)
            assert "No hay ningún aviso nuevo que guardar." in texto_de(ocupado)
            assert llevado(ocupado) == {}


def test_la_muestra_se_lee_como_en_las_demas_paginas(proveedor: Any, navegar: Navegar) -> None:
    fichero = "proveedor_id;fecha;texto;importancia\nP1;2026-03-09;Uno;alta\nP1;2026-03-10;Otro;\n"
    pagina = texto_de(subir(navegar("compras"), fichero))
    for dicho in (">09/03/2026<", ">Alta<", ">10/03/2026<", ">Normal<"):
        assert dicho in pagina


def test_que_tiene_de_malo_un_codigo_o_una_clave_se_dice_por_su_columna(
    bd: str, cuantos: Callable[[], int]
) -> None:
    """A code that is added here obeys the same rule as one that is added by hand."""
    from compras.importacion import importar

    filas = [
        ["P1\u200b", "A1", "2026-03-09", "Parece P1 y no lo es"],
        ["P" * 201, "A2", "2026-03-09", "Largo"],
        ["P1", "A" * 201, "2026-03-09", "Largo"],
    ]
    fichero = CABECERA + "".join(";".join(fila) + "\n" for fila in filas)
    hecho = importar(io.BytesIO(fichero.encode()))
    assert (hecho.creados, cuantos(), Proveedor.objects.count()) == (0, 0, 0)
    dichos = [r["motivo"] for r in hecho.rechazados]
    assert "proveedor_id" in dichos[0]
    assert "invisibles" in dichos[0]
    assert "proveedor_id" in dichos[1]
    assert "demasiado largo" in dichos[1]
    assert "aviso_id" in dichos[2]


def test_la_fecha_se_escribe_como_en_el_formulario(
    proveedor: Any, navegar: Navegar, fila: Callable[..., Any]
) -> None:
    cliente = navegar("compras")
    mirado = subir(cliente, CABECERA + "P1;A1;20/11/2026;Uno\nP1;A2;31/02/2026;Dos\nP1;A3;20/11/0026;Tres\n")
    pagina = texto_de(mirado)
    assert "Guardar 1 aviso" in pagina
    assert "Línea 3: La columna fecha no es una fecha que exista" in pagina
    assert "Línea 4: La fecha es anterior al año 2000: escriba el año con sus cuatro cifras." in pagina
    cliente.post(IMPORTAR, llevado(mirado))
    assert fila("P1", "A1")["value"]["fecha"] == "2026-11-20"


def test_las_mayusculas_no_hacen_otro_proveedor(
    proveedor: Any, navegar: Navegar, cuantos: Callable[[], int]
) -> None:
    cabecera = "proveedor_id;fecha;texto\n"
    cliente = navegar("compras")
    fichero = cabecera + "p1;2026-03-09;Uno\nn7;2026-03-09;De uno nuevo\nN7;2026-03-10;Otro de él\n"
    cliente.post(IMPORTAR, llevado(subir(cliente, fichero)))
    assert set(Proveedor.objects.values_list("codigo", flat=True)) == {"P1", "n7"}
    # The same line, whichever way the code was written, is the same notice.
    mirado = texto_de(subir(cliente, cabecera + "P1;2026-03-09;Uno\nN7;2026-03-09;De uno nuevo\n"))
    assert "No hay ningún aviso nuevo que guardar." in mirado
    assert cuantos() == 3
    # Where both ways are in the list, each is its own, and another way is nobody's.
    Proveedor.objects.create(codigo="Pq1", nombre="Uno")
    Proveedor.objects.create(codigo="PQ1", nombre="Otro")
    mirado = texto_de(subir(cliente, cabecera + "PQ1;2026-03-09;De PQ1\npq1;2026-03-09;De nadie\n"))
    assert "Guardar 1 aviso" in mirado
    assert "Línea 3: Hay varios proveedores con ese código" in mirado


def test_un_codigo_con_un_caracter_invisible_se_dice_por_su_columna(proveedor: Any, navegar: Navegar) -> None:
    pagina = texto_de(subir(navegar("compras"), CABECERA + "P\x001;A1;2026-03-09;Uno\n"))
    assert "Columna proveedor_id. El código no lleva espacios alrededor ni caracteres invisibles." in pagina
