"""The chain of the register: whatever is changed is named, nobody forks it, and its file outside agrees."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import transaction
from hypothesis import given
from hypothesis import strategies as st

from privacidad import exportacion, registro
from privacidad.estados import Estado
from privacidad.models import Asiento
from privacidad.registro import ORIGEN, Cadena, Entrada
from tests.esperas import a_la_vez
from tests.ordenes import ordenar

TABLAS = ("privacidad_asiento", "privacidad_escrito")
SENTENCIAS = ("UPDATE {} SET {} = {}", "DELETE FROM {}", "DELETE FROM {} WHERE false", "TRUNCATE {} CASCADE")


# -- verifying ------------------------------------------------------------------------------------


def test_un_registro_vacio_esta_entero(bd: str) -> None:
    assert ordenar("verificar_registro") == (
        {
            "entradas": 0,
            "ok": True,
            "primera_rota": None,
            "evidencias_alteradas": [],
            "evidencias_perdidas": [],
            "escritos_alterados": [],
            "escritos_perdidos": [],
        },
        "El registro está entero. Asientos comprobados: 0.\n",
        0,
    )


def test_lo_que_escriben_los_servicios_esta_entero(
    hasta: Callable[..., Any], preferencia: Callable[..., None]
) -> None:
    preferencia("C1")
    hasta(Estado.COMPLETADA)
    datos, _, codigo = ordenar("verificar_registro")
    assert (datos["ok"], codigo) == (True, 0)
    assert datos["entradas"] == Asiento.objects.count() > 5


@pytest.mark.parametrize(
    ("sentencia", "rota"),
    [
        ("UPDATE privacidad_asiento SET referencia = 'SUP-2026-0006' WHERE numero = 5", 5),
        ("UPDATE privacidad_asiento SET tipo = 'pruebb' WHERE numero = 5", 5),
        ("UPDATE privacidad_asiento SET resumen = overlay(resumen PLACING 'c' FROM 9) WHERE numero = 5", 5),
        ("UPDATE privacidad_asiento SET momento = momento + interval '1 microsecond' WHERE numero = 5", 5),
        ("UPDATE privacidad_asiento SET momento = 'infinity' WHERE numero = 5", 5),
        ("UPDATE privacidad_asiento SET momento = '0044-03-15 BC' WHERE numero = 5", 5),
        ("""UPDATE privacidad_asiento SET datos = '{"n": 5.0, "á": [null]}' WHERE numero = 5""", 5),
        ("""UPDATE privacidad_asiento SET datos = '{"n": 5, "á": []}' WHERE numero = 5""", 5),
        ("""UPDATE privacidad_asiento SET datos = '[]' WHERE numero = 5""", 5),
        ("UPDATE privacidad_asiento SET anterior = upper(anterior) WHERE numero = 5", 5),
        ("UPDATE privacidad_asiento SET huella = overlay(huella PLACING 'g' FROM 1) WHERE numero = 10", 10),
        ("UPDATE privacidad_asiento SET huella = repeat('0', 64) WHERE numero = 1", 1),
        ("DELETE FROM privacidad_asiento WHERE numero = 1", 1),
        ("DELETE FROM privacidad_asiento WHERE numero IN (4, 7)", 4),
        ("INSERT INTO privacidad_asiento SELECT 0, momento, tipo, referencia, resumen, datos, anterior,"
         " repeat('f', 64) FROM privacidad_asiento WHERE numero = 1", 0),
        ("INSERT INTO privacidad_asiento SELECT 11, momento, tipo, referencia, resumen, datos, huella,"
         " repeat('f', 64) FROM privacidad_asiento WHERE numero = 10", 11),
        ("UPDATE privacidad_asiento SET numero = CASE numero WHEN 6 THEN 106 ELSE numero END", 6),
    ],
)  # fmt: skip
def test_lo_que_cambia_un_superusuario_se_nombra(
    sentencia: str, rota: int, diez: None, sin_guardas: Callable[..., None]
) -> None:
    sin_guardas(sentencia)
    datos, avisos, codigo = ordenar("verificar_registro")
    assert (datos["ok"], datos["primera_rota"], codigo) == (False, rota, 6)
    assert datos["entradas"] == Asiento.objects.count()
    assert f"el asiento {rota} falta o no es el que se escribió" in avisos


def test_dos_asientos_cambiados_de_sitio_se_nombran(diez: None, sin_guardas: Callable[..., None]) -> None:
    sin_guardas(
        "UPDATE privacidad_asiento SET numero = 100 WHERE numero = 3;"
        " UPDATE privacidad_asiento SET numero = 3 WHERE numero = 8;"
        " UPDATE privacidad_asiento SET numero = 8 WHERE numero = 100"
    )
    assert registro.verificar().primera_rota == 3


def test_se_recorre_por_paginas(diez: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for lote in (1, 3, 10, 11):
        monkeypatch.setattr(registro, "LOTE", lote)
        assert [e.numero for e in registro.entradas()] == list(range(1, 11))
        assert [e.numero for e in registro.entradas(hasta=4)] == [1, 2, 3, 4]
        assert registro.verificar().ok


def test_un_final_cortado_no_se_ve_desde_dentro_y_si_desde_fuera(
    diez: None, sin_guardas: Callable[..., None], tmp_path: Path
) -> None:
    fichero = tmp_path / "registro.jsonl"
    ordenar("exportar_registro", fichero)
    sin_guardas("DELETE FROM privacidad_asiento WHERE numero > 8")
    assert registro.verificar().ok
    datos, _, codigo = ordenar("verificar_registro", "--contra", fichero)
    assert (datos["entradas"], datos["primera_rota"], codigo) == (8, 9, 6)


def test_un_final_cortado_se_ve_desde_la_ultima_verificacion(
    diez: None, sin_guardas: Callable[..., None]
) -> None:
    assert ordenar("verificar_registro")[2] == 0
    sin_guardas("DELETE FROM privacidad_asiento WHERE numero > 8")
    assert registro.verificar().primera_rota == 9


def test_una_evidencia_sin_su_asiento_se_ve(
    hasta: Callable[..., Any], preferencia: Callable[..., None], sin_guardas: Callable[..., None]
) -> None:
    preferencia("C1")
    hasta(Estado.COMPLETADA)
    numero = Asiento.objects.get(tipo="supresion").numero
    sin_guardas(f"DELETE FROM privacidad_asiento WHERE numero >= {numero}")
    assert registro.verificar() == (numero - 1, numero, Asiento.objects.get(numero=numero - 1).huella)


def rehacer(desde: int) -> list[str]:
    """What a superuser who knows the code would run: an entry changed, the rest of the chain made again."""
    sentencias, anterior = [], ""
    for entrada in registro.entradas():
        if entrada.numero < desde:
            continue
        nueva = (
            replace(entrada, tipo="falso") if entrada.numero == desde else replace(entrada, anterior=anterior)
        )
        anterior = nueva.calcular()
        sentencias.append(
            f"UPDATE privacidad_asiento SET tipo = '{nueva.tipo}', anterior = '{nueva.anterior}',"
            f" huella = '{anterior}' WHERE numero = {entrada.numero}"
        )
    return sentencias


def test_una_cadena_rehecha_se_ve_contra_lo_exportado_y_contra_la_ultima_verificacion(
    diez: None, sin_guardas: Callable[..., None], tmp_path: Path
) -> None:
    fichero = tmp_path / "registro.jsonl"
    ordenar("exportar_registro", fichero)
    sin_guardas("; ".join(rehacer(4)))
    assert registro.verificar().ok
    assert ordenar("verificar_registro", "--contra", fichero)[0]["primera_rota"] == 4
    assert ordenar("verificar_registro")[2] == 0
    sin_guardas("; ".join(rehacer(7)))
    assert registro.verificar().primera_rota == 10


# -- the canonical form -----------------------------------------------------------------------------

textos = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=20)
valores = st.recursive(
    st.none() | st.booleans() | st.integers() | textos,
    lambda dentro: st.lists(dentro, max_size=3) | st.dictionaries(textos, dentro, max_size=3),
    max_leaves=6,
)
momentos = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)).map(  # noqa: DTZ001 - the strategy adds the zone
    registro.en_iso
)
campos = st.fixed_dictionaries(
    {
        "numero": st.integers(1, 2**63 - 1),
        "momento": momentos,
        "tipo": textos,
        "referencia": textos,
        "resumen": textos,
        "datos": st.dictionaries(textos, valores, max_size=3),
        "anterior": textos,
    }
)


@given(una=campos, otra=campos)
def test_cambiar_cualquier_campo_cambia_la_huella(una: dict[str, Any], otra: dict[str, Any]) -> None:
    huella = Entrada(**una).calcular()
    for campo, valor in otra.items():
        igual = registro.canonico(una[campo]) == registro.canonico(valor)
        assert (Entrada(**{**una, campo: valor}).calcular() == huella) is igual


@given(una=campos, corte=st.integers(0, 40))
def test_un_texto_no_se_corre_al_campo_de_al_lado(una: dict[str, Any], corte: int) -> None:
    junto = una["tipo"] + una["referencia"]
    movida = {**una, "tipo": junto[:corte], "referencia": junto[corte:]}
    igual = movida["tipo"] == una["tipo"]
    assert (Entrada(**movida).calcular() == Entrada(**una).calcular()) is igual


@given(una=campos)
def test_una_linea_se_lee_como_se_escribio_y_con_otro_byte_no(una: dict[str, Any]) -> None:
    entrada = Entrada(**una, huella="ff")
    linea = entrada.linea()
    assert "\n" not in linea
    assert Entrada.de_linea(linea) == entrada
    for otra in (linea + " ", " " + linea, linea.replace('{"', '{ "', 1)):
        with pytest.raises(ValueError, match="register"):
            Entrada.de_linea(otra)


@given(cadena=st.lists(campos, min_size=2, max_size=6), dato=st.data())
def test_cualquier_cambio_de_cualquier_asiento_se_detecta_donde_esta(
    cadena: list[dict[str, Any]], dato: st.DataObject
) -> None:
    entradas: list[Entrada] = []
    for n, valores in enumerate(cadena, start=1):
        anterior = entradas[-1].huella if entradas else ORIGEN
        entrada = Entrada(**{**valores, "numero": n, "anterior": anterior})
        entradas.append(replace(entrada, huella=entrada.calcular()))
    cual = dato.draw(st.integers(0, len(entradas) - 1))
    campo = dato.draw(st.sampled_from([*cadena[0], "huella"]))
    otro: Any = dato.draw(textos if campo == "huella" else campos.map(lambda c: c[campo]))
    if registro.canonico(otro) == registro.canonico(getattr(entradas[cual], campo)):
        return
    entradas[cual] = replace(entradas[cual], **{campo: otro})
    camino = Cadena()
    rotas = [camino.seguir(e) for e in entradas]
    rota = next(r for r in rotas if r is not None)
    assert rota == cual + 1 or (campo == "numero" and rota == min(otro, cual + 1))


def test_lo_que_jsonb_devolveria_de_otra_forma_no_se_anota(bd: str) -> None:
    for datos in ({"horas": 1.5}, {"horas": [1e20]}, {"n": float("nan")}):
        with pytest.raises(TypeError):
            registro.anotar(tipo="prueba", datos=datos)
    mezclados: dict[Any, Any] = {10: "diez", 9: ("tupla", 2**70), "x": True}
    registro.anotar(tipo="prueba", datos=mezclados)
    assert registro.verificar().ok


# -- it only grows --------------------------------------------------------------------------------


@pytest.mark.parametrize("tabla", TABLAS)
@pytest.mark.parametrize("sentencia", SENTENCIAS)
def test_ni_la_web_ni_el_propietario_pueden_cambiarlo(
    tabla: str,
    sentencia: str,
    diez: None,
    como: Callable[[str], psycopg.Connection],
    propietario: psycopg.Connection,
) -> None:
    orden = sentencia.format(tabla, "numero", "numero")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        como("memoria_web").execute(orden)
    with pytest.raises(psycopg.errors.RestrictViolation, match="solo admite filas nuevas"):
        propietario.execute(orden)


def test_dos_que_escriben_a_la_vez_no_bifurcan_la_cadena(bd: str) -> None:
    def escribir(quien: int) -> None:
        for n in range(15):
            with transaction.atomic():
                registro.anotar(tipo="prueba", datos={"quien": quien, "n": n})
                transaction.set_rollback(n % 5 == 4)  # what is rolled back leaves no gap

    a_la_vez(*(partial(escribir, q) for q in range(4)))
    assert registro.verificar()[:2] == (48, None)
    for quien in range(4):
        suyos = [a.datos["n"] for a in Asiento.objects.filter(datos__quien=quien)]
        assert suyos == [n for n in range(15) if n % 5 != 4]


def test_la_web_no_puede_quitar_ni_cambiar_la_verificacion_que_delata_un_final_cortado(
    diez: None, como: Callable[[str], psycopg.Connection], sin_guardas: Callable[..., None]
) -> None:
    assert ordenar("verificar_registro")[2] == 0
    web = como("memoria_web")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        web.execute("DELETE FROM memoria_ejecucion")
    with pytest.raises(psycopg.errors.RestrictViolation, match="no cambia"):
        web.execute("UPDATE memoria_ejecucion SET recuento = '{}'")
    sin_guardas("DELETE FROM privacidad_asiento WHERE numero > 8")
    datos, _, codigo = ordenar("verificar_registro")
    assert (datos["primera_rota"], codigo) == (9, 6)


def test_las_ejecuciones_viejas_las_borra_el_dueno(diez: None, propietario: psycopg.Connection) -> None:
    ordenar("verificar_registro")
    borradas = propietario.execute("DELETE FROM memoria_ejecucion WHERE inicio < now()").rowcount
    assert borradas == 1


# -- the file outside -----------------------------------------------------------------------------


def test_se_exporta_un_asiento_por_linea_tras_la_cabecera(diez: None, tmp_path: Path) -> None:
    fichero = tmp_path / "registro.jsonl"
    datos, _, codigo = ordenar("exportar_registro", fichero)
    assert (datos, codigo) == ({"entradas": 10}, 0)
    cabecera, *lineas = [json.loads(linea) for linea in fichero.read_text().splitlines()]
    assert (cabecera["entradas"], cabecera["cabeza"], cabecera["formato"]) == (10, lineas[-1]["huella"], 1)
    assert [linea["numero"] for linea in lineas] == list(range(1, 11))
    assert list(exportacion.leer(fichero)) == list(registro.entradas())
    assert fichero.stat().st_mode & 0o077 == 0
    assert [f.name for f in tmp_path.iterdir()] == ["registro.jsonl"]


def test_exportar_otra_vez_continua_el_fichero(diez: None, tmp_path: Path) -> None:
    fichero = tmp_path / "registro.jsonl"
    ordenar("exportar_registro", fichero)
    antes = fichero.read_text().splitlines()
    assert ordenar("exportar_registro", fichero)[0] == {"entradas": 10}
    assert fichero.read_text().splitlines() == antes
    registro.anotar(tipo="prueba")
    assert ordenar("exportar_registro", fichero)[0] == {"entradas": 11}
    assert fichero.read_text().splitlines()[1:11] == antes[1:]


def test_un_registro_mas_corto_u_otro_no_pisan_el_fichero(
    diez: None, sin_guardas: Callable[..., None], tmp_path: Path
) -> None:
    fichero = tmp_path / "registro.jsonl"
    ordenar("exportar_registro", fichero)
    antes = fichero.read_bytes()
    sin_guardas("DELETE FROM privacidad_asiento WHERE numero > 8")
    datos, _, codigo = ordenar("exportar_registro", fichero)
    assert codigo == 6
    assert "10 asientos y la base solo 8" in datos["error"]
    registro.anotar(tipo="otra")
    registro.anotar(tipo="otra")
    datos, _, codigo = ordenar("exportar_registro", fichero)
    assert codigo == 6
    assert "el asiento 10 es otro" in datos["error"]
    assert fichero.read_bytes() == antes


def test_un_registro_roto_no_se_exporta(diez: None, sin_guardas: Callable[..., None], tmp_path: Path) -> None:
    sin_guardas("UPDATE privacidad_asiento SET tipo = 'x' WHERE numero = 5")
    datos, _, codigo = ordenar("exportar_registro", tmp_path / "registro.jsonl")
    assert codigo == 6
    assert "roto en el asiento 5" in datos["error"]
    assert not list(tmp_path.iterdir())


def test_lo_que_no_es_una_exportacion_no_se_pisa_ni_se_lee(diez: None, tmp_path: Path) -> None:
    ajeno = tmp_path / "notas.txt"
    for contenido in (b"", b"notas\n", b"\xff\xfe", b"[]\n", b'{"entradas": 1}\n', b"{" * 5000):
        ajeno.write_bytes(contenido)
        for orden, *opciones in (("exportar_registro", ajeno), ("verificar_registro", "--contra", ajeno)):
            datos, _, codigo = ordenar(str(orden), *opciones)
            assert codigo == 2
            assert "no es una exportación del registro" in datos["error"]
        assert ajeno.read_bytes() == contenido
    for imposible in (tmp_path, tmp_path / "no" / "hay.jsonl"):
        assert ordenar("exportar_registro", imposible)[2] == 2


def test_cualquier_byte_cambiado_del_fichero_se_ve(diez: None, tmp_path: Path) -> None:
    fichero = tmp_path / "registro.jsonl"
    ordenar("exportar_registro", fichero)
    bueno = fichero.read_bytes()
    for donde in range(0, len(bueno), 7):
        malo = bytearray(bueno)
        malo[donde] ^= 1
        fichero.write_bytes(malo)
        with pytest.raises((exportacion.RegistroRoto, exportacion.ExportacionImposible)):
            exportacion.comprobar(fichero)
    for donde in range(0, len(bueno), 97):
        fichero.write_bytes(bueno[:donde])
        with pytest.raises((exportacion.RegistroRoto, exportacion.ExportacionImposible)):
            exportacion.comprobar(fichero)
    fichero.write_bytes(bueno[:-1])
    with pytest.raises(exportacion.RegistroRoto, match="asiento 10"):
        exportacion.comprobar(fichero)
    fichero.write_bytes(bueno)
    assert exportacion.comprobar(fichero).entradas == 10


def test_un_fichero_de_otra_clave_se_dice(diez: None, tmp_path: Path, settings: Any) -> None:
    fichero = tmp_path / "registro.jsonl"
    ordenar("exportar_registro", fichero)
    assert "rrrrrrrr" not in fichero.read_text()
    settings.CLAVE_REGISTRO = "otra" * 20
    datos, _, codigo = ordenar("verificar_registro", "--contra", fichero)
    assert codigo == 2
    assert "otra CLAVE_REGISTRO" in datos["error"]


def test_quien_no_tiene_la_clave_no_hace_un_fichero_que_pase(
    diez: None, tmp_path: Path, settings: Any
) -> None:
    """A chain made again in the file would be right in itself: the seal of its header is not."""
    fichero = tmp_path / "registro.jsonl"
    ordenar("exportar_registro", fichero)
    cabecera = json.loads(fichero.read_text().splitlines()[0])
    fichero.write_text(registro.canonico({**cabecera, "entradas": 0, "cabeza": ORIGEN}) + "\n")
    with pytest.raises(exportacion.RegistroRoto, match="cabecera"):
        exportacion.comprobar(fichero)


def test_una_cabecera_con_el_numero_en_texto_no_pasa(diez: None, tmp_path: Path) -> None:
    """Its seal would: it is made of what is written, and that is written alike."""
    fichero = tmp_path / "registro.jsonl"
    ordenar("exportar_registro", fichero)
    fichero.write_text(fichero.read_text().replace('"entradas":10', '"entradas":"10"'))
    for orden, *opciones in (("exportar_registro", fichero), ("verificar_registro", "--contra", fichero)):
        assert ordenar(orden, *opciones)[2] == 2
