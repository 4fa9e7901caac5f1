"""The import: every shape of file a spreadsheet writes, every bad line told, nothing twice or undone."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from hypothesis import given, settings
from hypothesis import strategies as st

from compras import hoja, importacion, lectura, servicios
from compras.models import Proveedor
from tests.compras.importar_comun import UNO, importar

DATOS = Path(__file__).parents[2] / "benchmarks" / "datos" / "avisos.csv"
Fila = Callable[..., Any]


# -- shapes of file -------------------------------------------------------------------------------------


@pytest.mark.parametrize("codificacion", ["utf-8", "utf-8-sig", "cp1252"])
@pytest.mark.parametrize("separador", [",", ";", "\t"])
@pytest.mark.parametrize("fin", ["\n", "\r\n"])
def test_cada_codificacion_y_separador(
    bd: str, fichero: Callable[..., Path], fila: Fila, codificacion: str, separador: str, fin: str
) -> None:
    ruta = fichero([UNO], codificacion=codificacion, separador=separador, fin=fin)
    codigo, datos, _ = importar(ruta)
    assert (codigo, datos["creados"], datos["rechazados"]) == (0, 1, [])
    assert fila("P1", "A1")["value"] == {
        "texto": UNO[3],
        "fecha": "2026-03-09",
        "importancia": "normal",
        "origen": "compras",
    }


_ALFABETO = st.characters(codec="cp1252", exclude_categories=["Cc", "Cs"]) | st.sampled_from('";,\n')
_TEXTOS = st.lists(
    st.text(_ALFABETO, min_size=1, max_size=60).filter(lambda t: t.strip()), min_size=1, max_size=3
)


@settings(max_examples=25)
@given(_TEXTOS, st.sampled_from(["utf-8", "utf-8-sig", "cp1252"]), st.sampled_from([",", ";", "\t"]))
def test_cualquier_texto_llega_entero(
    bd: str, fichero: Callable[..., Path], textos: list[str], codificacion: str, separador: str
) -> None:
    filas = [["P1", str(n), "2026-03-09", texto] for n, texto in enumerate(textos)]
    ruta = fichero(filas, codificacion=codificacion, separador=separador)
    with hoja.abrir(ruta) as abierto:
        hecho = importacion.Importacion()
        leidos = list(
            importacion._renglones(hoja.leer(abierto, obligatorias=importacion.OBLIGATORIAS), hecho)
        )
    assert hecho.rechazados == []
    assert [r.documento["texto"] for r in leidos] == [t.strip() for t in textos]


def test_columnas_en_otro_orden_y_las_que_sobran(bd: str, fichero: Callable[..., Path], fila: Fila) -> None:
    ruta = fichero(
        [["alta", "x", "Hola", "2026-03-09", "P1", "Cierre", "2026-04-01", "A1"]],
        cabecera=[
            "Importancia",
            "otra",
            " TEXTO ",
            "fecha",
            "proveedor_id",
            "asunto",
            "valido_hasta",
            "aviso_id",
        ],
    )
    assert importar(ruta)[0] == 0
    assert fila("P1", "A1")["value"] == {
        "texto": "Hola",
        "fecha": "2026-03-09",
        "importancia": "alta",
        "asunto": "Cierre",
        "valido_hasta": "2026-04-01",
        "origen": "compras",
    }


@pytest.mark.parametrize(
    ("contenido", "frase"),
    [
        (b"", "faltan columnas: proveedor_id, fecha, texto"),
        (b"proveedor_id,fecha\nP1,2026-03-09\n", "faltan columnas: texto"),
        (b"proveedor_id|fecha|texto\nP1|2026-03-09|Hola\n", "faltan columnas"),
        (b"proveedor_id,fecha,texto,texto\nP1,2026-03-09,a,b\n", "columnas repetidas: texto"),
        (b"PK\x03\x04\x14\x00\x81\x00", "no es texto"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "faltan columnas"),
        ("proveedor_id,fecha,texto\n".encode("utf-16"), "está en UTF-16"),
        ("proveedor_id,fecha,texto\n".encode("utf-16-le"), "está en UTF-16"),
        ("proveedor_id,fecha,texto\n".encode("utf-16-be"), "está en UTF-16"),
        (b"\x00" * 100, "faltan columnas"),
        (b"x" * (hoja.LARGO_MAXIMO_LEIDO + 1) + b",fecha,texto\n", "nombre de columna larguísimo"),
    ],
)
def test_lo_que_no_es_un_csv_de_avisos_es_un_error_de_uso(
    bd: str, tmp_path: Path, contenido: bytes, frase: str
) -> None:
    ruta = tmp_path / "malo.csv"
    ruta.write_bytes(contenido)
    codigo, datos, dicho = importar(ruta)
    assert codigo == 2
    assert frase in dicho
    assert "creados" not in datos


def test_un_fichero_que_no_esta_o_una_carpeta_es_un_error_de_uso(bd: str, tmp_path: Path) -> None:
    codigo, _, dicho = importar(tmp_path / "no-esta.csv")
    assert (codigo, "No existe el fichero" in dicho) == (2, True)
    codigo, _, dicho = importar(tmp_path)
    assert (codigo, "No se puede leer" in dicho) == (2, True)


# -- bad lines ------------------------------------------------------------------------------------------


def test_cada_linea_mala_se_dice_y_las_buenas_se_escriben(bd: str, fichero: Callable[..., Path]) -> None:
    secreto = "Ramona Quiñones"
    filas = [
        ["P1", "A1", "2026-03-09", f"{secreto}\ndos líneas"],  # 2 and 3
        ["", "A2", "2026-03-09", secreto],  # 4
        ["P1", "A3", "09/03/26", secreto],
        ["P1", "A4", "2026-02-31", secreto],
        ["P1", "A5", "2999-01-01", secreto],
        ["P1", "A6", "2026-03-09", "  "],
        ["P1", "A7", "2026-03-09", secreto + "x" * 1_000_000],
        ["P1", "A8", "2026-03-09", f"{secreto}\x00"],  # 10
        ["P1", "A9" * 200, "2026-03-09", secreto],
        ["P" * 300, "A10", "2026-03-09", secreto],
        ["P1", "A11", "2026-03-09", secreto, "de más"],
        ["P1", "A12"],
        [],
        ["P1", "A13", "2026-03-09", "Buena"],  # 16
    ]
    codigo, datos, dicho = importar(fichero(filas))
    assert codigo == 3
    assert datos["creados"] == 2
    assert [r["linea"] for r in datos["rechazados"]] == list(range(4, 15))
    assert all(r["motivo"].endswith(".") for r in datos["rechazados"])
    assert secreto not in json.dumps(datos, ensure_ascii=False) + dicho
    assert sorted(lectura.vigentes_por_proveedor(["P1"]).items()) == [("P1", 2)]


def test_unas_comillas_mal_puestas_no_se_llevan_las_demas_lineas(bd: str, tmp_path: Path) -> None:
    ruta = tmp_path / "avisos.csv"
    ruta.write_text(
        'proveedor_id,aviso_id,fecha,texto\nP1,A1,2026-03-09,"Roto" aquí\nP1,A2,2026-03-09,El "bueno" sí\n'
        'P1,A3,2026-03-09,"Sin cerrar\nP1,A4,2026-03-09,Se lo traga\n',
        encoding="utf-8",
    )
    codigo, datos, _ = importar(ruta)
    assert (codigo, datos["creados"]) == (3, 2)
    assert [r["linea"] for r in datos["rechazados"]] == [2, 4]
    assert "hasta la línea 5" in datos["rechazados"][1]["motivo"]


@pytest.mark.parametrize(
    "despues",
    ["", 'P1,ZZ,2026-03-09,"Bien"\n', 'P1,ZZ,2026-03-09,"dos\nlíneas"\n'],
    ids=["nada", "comillas", "dos-lineas"],
)
@pytest.mark.parametrize("cuantas", [3, 700])
def test_unas_comillas_sin_cerrar_cuestan_su_linea_y_ninguna_mas(
    bd: str, tmp_path: Path, cuantos: Callable[[], int], despues: str, cuantas: int
) -> None:
    ruta = tmp_path / "avisos.csv"
    buenas = "".join(f"P1,A{n},2026-03-09,Aviso {n}\n" for n in range(cuantas))
    ruta.write_text(
        f'proveedor_id,aviso_id,fecha,texto\nP1,A,2026-03-09,"Sin cerrar\n{buenas}{despues}', encoding="utf-8"
    )
    codigo, datos, _ = importar(ruta, "--all-or-nothing")
    assert (codigo, datos["anulada"], cuantos()) == (3, True, 0)
    codigo, datos, _ = importar(ruta)
    assert (codigo, datos["creados"]) == (3, cuantas + bool(despues))
    assert [r["linea"] for r in datos["rechazados"]] == [2]
    assert "no se cierran bien" in datos["rechazados"][0]["motivo"]


def test_unas_comillas_que_se_llevan_otras_lineas_lo_dicen(bd: str, tmp_path: Path) -> None:
    """It is a file as good as any: nobody knows but who wrote it."""
    ruta = tmp_path / "avisos.csv"
    ruta.write_text(
        "proveedor_id,aviso_id,fecha,texto\n"
        'P1,A1,2026-03-09,"Sin cerrar\nP1,A2,2026-03-09,Tragada\nP1,A3,2026-03-09,Cierra"\n'
        'P1,A4,09/03/26,"dos\nlíneas"\n',
        encoding="utf-8",
    )
    codigo, datos, _ = importar(ruta)
    assert (codigo, datos["creados"]) == (3, 1)
    assert [a["linea"] for a in datos["avisados"]] == [2]
    assert "se cierran en la línea 4" in datos["avisados"][0]["motivo"]
    assert [r["linea"] for r in datos["rechazados"]] == [5]
    assert "se cierran en la línea 6" in datos["rechazados"][0]["motivo"]


# -- letters that would be stored as others ---------------------------------------------------------------


def test_un_octeto_suelto_no_estropea_las_letras_de_todo_el_fichero(
    bd: str, tmp_path: Path, cuantos: Callable[[], int]
) -> None:
    ruta = tmp_path / "avisos.csv"
    lineas = [f"P1,A{n},2026-03-09,Año y señal {n}\r\n".encode() for n in range(4000)]
    lineas[3000] = "P1,A,2026-03-09,Señal\r\n".encode("cp1252")
    ruta.write_bytes(b"proveedor_id,aviso_id,fecha,texto\r\n" + b"".join(lineas))
    codigo, _, dicho = importar(ruta)
    assert (codigo, cuantos()) == (2, 0)
    assert "está en UTF-8, pero la línea 3002 " in dicho
    lineas = [linea.decode(errors="replace").replace("\ufffd", "ñ").encode("cp1252") for linea in lineas]
    lineas[2500] = "P1,A,2026-03-09,Señal\r\n".encode()
    ruta.write_bytes(b"proveedor_id,aviso_id,fecha,texto\r\n" + b"".join(lineas))
    codigo, _, dicho = importar(ruta)
    assert (codigo, cuantos()) == (2, 0)
    assert "está en Windows-1252, pero la línea 2502 " in dicho


def test_lo_que_en_windows_1252_parece_utf_8_sin_serlo_llega_entero(
    bd: str, fichero: Callable[..., Path], fila: Fila
) -> None:
    texto = "Dice «SÍ», «AQUÍ» y “QUÉ”: año"
    assert importar(fichero([["P1", "A1", "2026-03-09", texto]], codificacion="cp1252"))[0] == 0
    assert fila("P1", "A1")["value"]["texto"] == texto


@pytest.mark.parametrize("texto", ["Año", "¿Qué?", "20 €", "Él dijo “no”"])
def test_las_letras_que_ya_venian_mal_copiadas_se_senalan(
    bd: str, fichero: Callable[..., Path], texto: str
) -> None:
    malo = texto.encode().decode("cp1252", errors="replace")
    _, datos, _ = importar(fichero([["P1", "A1", "2026-03-09", malo], ["P1", "A2", "2026-03-09", texto]]))
    assert [a["linea"] for a in datos["avisados"]] == [2]
    assert "letras mal copiadas" in datos["avisados"][0]["motivo"]


# -- what has no end ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("orden", ["importar_avisos", "importar_proveedores"])
def test_lo_que_no_es_un_fichero_corriente_no_se_lee(bd: str, tmp_path: Path, orden: str) -> None:
    os.mkfifo(tmp_path / "tubo")
    for ruta in (Path("/dev/zero"), tmp_path / "tubo"):
        with pytest.raises(CommandError, match="No se puede leer") as error:
            call_command(orden, str(ruta), stderr=io.StringIO())
        assert error.value.returncode == 2


def test_se_para_tambien_mientras_se_mira_la_codificacion_y_entre_lineas_malas(
    bd: str, fichero: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    malas = fichero([["P1", f"A{n}", "mala", "x"] for n in range(9)])
    hecho = importacion.importar(malas, parar=lambda: True)
    assert (hecho.siguiente_linea, hecho.rechazados) == (2, [])
    monkeypatch.setattr(importacion, "LINEAS_ENTRE_PREGUNTAS", 3)
    preguntas = iter([False, False, True])  # the file is one piece, to be looked at
    hecho = importacion.importar(malas, parar=lambda: next(preguntas))
    assert (hecho.siguiente_linea, len(hecho.rechazados)) == (7, 5)


def test_un_campo_sin_fin_se_dice_y_no_agota_la_memoria(bd: str, tmp_path: Path) -> None:
    ruta = tmp_path / "avisos.csv"
    with ruta.open("w") as f:
        f.write("proveedor_id,fecha,texto\n")
        f.write("x" * (2 * hoja.LARGO_MAXIMO_LEIDO + 10))
    codigo, _, dicho = importar(ruta)
    assert codigo == 2
    assert "millones de caracteres" in dicho


def test_leer_un_fichero_no_cambia_lo_largo_que_pueden_ser_los_campos_de_otro(tmp_path: Path) -> None:
    """The limit is of the whole process: two threads that set it and put it back leave it wrong."""
    ruta = tmp_path / "avisos.csv"
    ruta.write_text("proveedor_id,fecha,texto\nP1,2026-03-09,a\nP1,2026-03-09,b\n")
    antes = csv.field_size_limit()
    with hoja.abrir(ruta) as uno, hoja.abrir(ruta) as otro:
        primera = hoja.leer(uno, obligatorias=importacion.OBLIGATORIAS)
        segunda = hoja.leer(otro, obligatorias=importacion.OBLIGATORIAS)
        next(primera)
        next(segunda)
        assert len(list(primera)) == 1  # it ends while the other goes on
        assert csv.field_size_limit() == antes == hoja.LARGO_MAXIMO_LEIDO
        assert len(list(segunda)) == 1


# -- again, and over what is there ------------------------------------------------------------------------


def test_importar_dos_veces_no_duplica_ni_alarga_la_vida(
    bd: str, fichero: Callable[..., Path], fila: Fila, cuantos: Callable[[], int], mover: Callable[..., None]
) -> None:
    ruta = fichero([UNO, ["P2", "", "2026-03-09", "Sin clave"]])
    assert importar(ruta)[1]["creados"] == 2
    mover("A1", "5 days")
    antes = fila("P1", "A1")
    codigo, datos, _ = importar(ruta)
    assert codigo == 0
    assert (datos["creados"], datos["sin_cambios"], datos["proveedores_creados"]) == (0, 2, 0)
    assert fila("P1", "A1") == antes
    assert cuantos() == 2


def test_sin_aviso_id_dos_lineas_iguales_son_un_aviso(
    bd: str, fichero: Callable[..., Path], cuantos: Callable[[], int]
) -> None:
    iguales = [["P1", "2026-03-09", "Lo mismo"]] * 2 + [["P1", "2026-03-10", "Lo mismo"]]
    _, datos, _ = importar(fichero(iguales, cabecera=["proveedor_id", "fecha", "texto"]))
    assert (datos["creados"], datos["sin_cambios"], cuantos()) == (2, 1, 2)


def test_reimportar_no_deshace_lo_que_alguien_corrigio(
    bd: str, fichero: Callable[..., Path], fila: Fila, persona: Callable[..., Any]
) -> None:
    ruta = fichero([UNO, ["P1", "A2", "2026-03-09", "Otro"]])
    importar(ruta)
    aviso = lectura.uno("P1", "A1")
    assert aviso
    servicios.corregir(
        proveedor=Proveedor.objects.get(codigo="P1"),
        clave="A1",
        version=aviso.version,
        por=persona("compras"),
        **{**aviso.contenido, "texto": "Corregido a mano"},
    )
    codigo, datos, _ = importar(ruta)
    assert (codigo, datos["creados"], datos["sin_cambios"]) == (3, 0, 1)
    assert [r["linea"] for r in datos["rechazados"]] == [2]
    assert fila("P1", "A1")["value"]["texto"] == "Corregido a mano"


def test_la_misma_clave_en_otro_proveedor_es_otro_aviso(
    bd: str, fichero: Callable[..., Path], fila: Fila
) -> None:
    importar(fichero([["P1", "A1", "2026-03-09", "De uno"], ["P10", "A1", "2026-03-09", "De diez"]]))
    assert fila("P1", "A1")["value"]["texto"] == "De uno"
    assert fila("P10", "A1")["value"]["texto"] == "De diez"


def test_proveedores_nuevos_se_anaden_y_los_que_hay_no_cambian(
    proveedor: Any, fichero: Callable[..., Path]
) -> None:
    _, datos, _ = importar(fichero([UNO, ["P2", "A1", "2026-03-09", "De dos"]]))
    assert datos["proveedores_creados"] == 1
    nombres = dict(Proveedor.objects.values_list("codigo", "nombre"))
    assert nombres == {"P1": "Cerámicas del Norte", "P2": "P2"}
