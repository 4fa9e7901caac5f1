"""The services: who may do what to a notice, what stays, and what two people at once may not break."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from typing import Any

import psycopg
import pytest
from django.contrib.admin.models import LogEntry
from django.db import connections
from django.utils import timezone

from compras import lectura, servicios
from compras.errores import (
    AvisoCaducado,
    AvisoCambiado,
    AvisoNoExiste,
    AvisoNoValido,
    ClaveRepetida,
    ErrorDeCompras,
    ProveedorInactivo,
    SinPermiso,
)
from memoria.politica import espacio
from tests.esperas import LIMITE, esperar_a_que_espere

Escribir = Callable[..., str]
Fila = Callable[..., Any]


def corregir(proveedor: Any, clave: str, por: Any, **campos: Any) -> None:
    aviso = lectura.uno(proveedor.codigo, clave)
    assert aviso
    servicios.corregir(
        **{
            "proveedor": proveedor,
            "clave": clave,
            "version": aviso.version,
            "por": por,
            **aviso.contenido,
            **campos,
        }
    )


# -- writing ----------------------------------------------------------------------------------------


def test_escribir_guarda_texto_autor_y_vida(escribir: Escribir, compradora: Any, fila: Fila) -> None:
    clave = escribir(
        "Cierran en agosto\r\npor inventario ",
        importancia="alta",
        asunto="Cierre",
        valido_hasta=timezone.localdate() + timedelta(days=30),
    )
    guardada = fila("P1", clave)
    assert guardada["value"] == {
        "texto": "Cierran en agosto\npor inventario",
        "fecha": timezone.localdate().isoformat(),
        "importancia": "alta",
        "asunto": "Cierre",
        "valido_hasta": (timezone.localdate() + timedelta(days=30)).isoformat(),
        "origen": "compras",
        "autor": str(compradora.pk),
    }
    assert guardada["ttl_minutes"] == 90 * 24 * 60
    assert guardada["expires_at"] - guardada["created_at"] == timedelta(days=90)


def test_claves_nuevas_se_ordenan_por_tiempo_y_no_se_repiten() -> None:
    claves = []
    for _ in range(50):
        claves.append(servicios.nueva_clave())
        time.sleep(0.002)
    assert claves == sorted(claves)
    assert len({servicios.nueva_clave() for _ in range(5000)}) == 5000


def test_escribir_con_una_clave_que_ya_esta_no_sobrescribe(escribir: Escribir, fila: Fila) -> None:
    clave = escribir("El primero", clave="a" * 32)
    with pytest.raises(ClaveRepetida):
        escribir("El segundo", clave=clave)
    assert fila("P1", clave)["value"]["texto"] == "El primero"


def test_escribir_de_un_proveedor_inactivo_se_niega(
    escribir: Escribir, proveedor: Any, cuantos: Callable[[], int]
) -> None:
    type(proveedor).objects.update(activo=False)
    with pytest.raises(ProveedorInactivo):
        escribir()
    assert cuantos() == 0


@pytest.mark.parametrize("grupo", ["consulta", "dpo", "operaciones"])
def test_sin_permiso_no_se_escribe_ni_corrige_ni_retira(
    escribir: Escribir, proveedor: Any, persona: Callable[..., Any], fila: Fila, grupo: str
) -> None:
    clave = escribir("Tal cual")
    antes, ajena = fila("P1", clave), persona(grupo)
    with pytest.raises(SinPermiso):
        escribir("Otro", por=ajena)
    with pytest.raises(SinPermiso):
        corregir(proveedor, clave, ajena, texto="Otro")
    with pytest.raises(SinPermiso):
        servicios.retirar(proveedor=proveedor, clave=clave, motivo="error", por=ajena)
    assert fila("P1", clave) == antes


def test_buscar_sin_permiso_se_niega(proveedor: Any, persona: Callable[..., Any]) -> None:
    with pytest.raises(SinPermiso):
        servicios.buscar(proveedor=proveedor, consulta="cierre", por=persona("operaciones"))


@pytest.mark.parametrize(
    ("campos", "campo"),
    [
        ({"texto": ""}, "texto"),
        ({"texto": " \n\t "}, "texto"),
        ({"texto": "x" * 4001}, "texto"),
        ({"texto": "x" * 1_000_000}, "texto"),
        ({"texto": "sal\x00to"}, "texto"),
        ({"texto": "sal\x07to"}, "texto"),
        ({"texto": "roto \ud800"}, "texto"),
        ({"asunto": "x" * 121}, "asunto"),
        ({"importancia": "altísima"}, "importancia"),
        ({"fecha": date(2999, 1, 1)}, "fecha"),
        ({"fecha": date(2026, 3, 2), "valido_hasta": date(2026, 3, 1)}, "valido_hasta"),
    ],
)
def test_lo_que_no_vale_se_dice_sin_repetirlo_y_no_se_escribe(
    escribir: Escribir, cuantos: Callable[[], int], campos: dict[str, Any], campo: str
) -> None:
    with pytest.raises(AvisoNoValido) as error:
        escribir(**campos)
    assert error.value.campo == campo
    assert str(error.value).endswith(".")
    assert "xxx" not in str(error.value)
    assert cuantos() == 0
    assert LogEntry.objects.count() == 0


def test_fecha_de_manana_vale_y_la_de_pasado_manana_no(escribir: Escribir) -> None:
    manana = timezone.localdate() + timedelta(days=1)
    escribir(fecha=manana)
    with pytest.raises(AvisoNoValido):
        escribir(fecha=manana + timedelta(days=1))


# -- correcting -------------------------------------------------------------------------------------


def test_corregir_conserva_vida_autor_y_momento(
    escribir: Escribir,
    proveedor: Any,
    persona: Callable[..., Any],
    compradora: Any,
    fila: Fila,
    mover: Callable[..., None],
) -> None:
    clave = escribir("Cierran en julio")
    mover(clave, "3 days")
    antes = fila("P1", clave)
    corregir(proveedor, clave, persona("compras", nombre="otra"), texto="Cierran en agosto")
    despues = fila("P1", clave)
    assert despues["value"]["texto"] == "Cierran en agosto"
    assert despues["value"]["autor"] == str(compradora.pk)
    assert despues["updated_at"] > antes["updated_at"]
    for columna in ("created_at", "expires_at", "ttl_minutes"):
        assert despues[columna] == antes[columna]


def test_corregir_un_aviso_importado_no_le_inventa_autor(
    proveedor: Any, compradora: Any, almacen_compras: Any, fila: Fila
) -> None:
    almacen_compras.put(espacio("proveedores", "P1"), "A1", {"texto": "Uno", "fecha": "2026-03-01"})
    corregir(proveedor, "A1", compradora, texto="Dos")
    assert fila("P1", "A1")["value"]["texto"] == "Dos"
    assert "autor" not in fila("P1", "A1")["value"]


def test_corregir_lo_que_otra_persona_cambio_no_sobrescribe(
    escribir: Escribir, proveedor: Any, compradora: Any, fila: Fila
) -> None:
    clave = escribir("Uno")
    abierto = lectura.uno("P1", clave)
    assert abierto
    corregir(proveedor, clave, compradora, texto="Dos")
    with pytest.raises(AvisoCambiado):
        corregir(proveedor, clave, compradora, texto="Tres", version=abierto.version)
    assert fila("P1", clave)["value"]["texto"] == "Dos"


def test_corregir_un_aviso_caducado_no_lo_resucita(
    escribir: Escribir, proveedor: Any, compradora: Any, fila: Fila, mover: Callable[..., None]
) -> None:
    clave = escribir("Uno")
    mover(clave, "-1 minute")
    antes = fila("P1", clave)
    with pytest.raises(AvisoCaducado):
        corregir(proveedor, clave, compradora, texto="Dos")
    assert fila("P1", clave) == antes


def test_corregir_lo_retirado_no_lo_resucita(
    escribir: Escribir, proveedor: Any, compradora: Any, cuantos: Callable[[], int]
) -> None:
    clave = escribir("Uno")
    abierto = lectura.uno("P1", clave)
    assert abierto
    servicios.retirar(proveedor=proveedor, clave=clave, motivo="error", por=compradora)
    with pytest.raises(AvisoNoExiste):
        servicios.corregir(
            proveedor=proveedor, clave=clave, version=abierto.version, por=compradora, **abierto.contenido
        )
    assert cuantos() == 0


@pytest.mark.parametrize("orden", ["corregir y corregir", "corregir y retirar"])
def test_dos_personas_a_la_vez_gana_una_y_la_otra_lo_sabe(
    escribir: Escribir,
    proveedor: Any,
    compradora: Any,
    persona: Callable[..., Any],
    propietario: psycopg.Connection,
    fila: Fila,
    orden: str,
) -> None:
    """Both have passed the form and wait at the notice's turn when we let them go."""
    clave = escribir("Uno")
    abierto = lectura.uno("P1", clave)
    assert abierto
    segunda = persona("compras", nombre="otra")

    def cambiar(texto: str, por: Any) -> str:
        try:
            if orden == "corregir y retirar" and por == segunda:
                servicios.retirar(proveedor=proveedor, clave=clave, motivo="error", por=por)
                return "retirado"
            servicios.corregir(
                proveedor=proveedor,
                clave=clave,
                version=abierto.version,
                por=por,
                **{**abierto.contenido, "texto": texto},
            )
            return texto
        except ErrorDeCompras as error:
            return type(error).__name__
        finally:
            connections.close_all()

    cerrojo = ("SELECT pg_advisory_lock(hashtextextended(%s, 0))", [f"aviso:P1:{clave}"])
    propietario.execute(*cerrojo)
    with ThreadPoolExecutor(2) as hilos:
        futuros = [hilos.submit(cambiar, "Dos", compradora), hilos.submit(cambiar, "Tres", segunda)]
        try:
            esperar_a_que_espere(propietario, cuantas=2)
            assert fila("P1", clave)["value"]["texto"] == "Uno"
        finally:
            propietario.execute("SELECT pg_advisory_unlock_all()")
        resultados = [f.result(timeout=LIMITE) for f in futuros]
    if orden == "corregir y corregir":
        ganadora = next(r for r in resultados if r in ("Dos", "Tres"))
        assert sorted(resultados) == sorted([ganadora, "AvisoCambiado"])
        assert fila("P1", clave)["value"]["texto"] == ganadora
    else:
        assert resultados in (["Dos", "retirado"], ["AvisoNoExiste", "retirado"])
        assert fila("P1", clave) is None


def test_dos_escrituras_con_la_misma_clave_escriben_una(
    escribir: Escribir, cuantos: Callable[[], int]
) -> None:
    def enviar(_: int) -> str:
        try:
            return escribir("Enviado dos veces", clave="b" * 32)
        except ClaveRepetida:
            return "repetida"
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as hilos:
        resultados = list(hilos.map(enviar, range(4)))
    assert sorted(resultados) == ["b" * 32, "repetida", "repetida", "repetida"]
    assert cuantos() == 1


# -- withdrawing and searching ------------------------------------------------------------------------


def test_retirar_borra_el_documento_y_su_vector(
    escribir: Escribir, proveedor: Any, compradora: Any, propietario: psycopg.Connection
) -> None:
    clave, otra = escribir("Se retira"), escribir("Se queda")
    servicios.retirar(proveedor=proveedor, clave=clave, motivo="error", por=compradora)
    for tabla in ("store", "store_vectors"):
        assert propietario.execute(f"SELECT key FROM langgraph.{tabla}").fetchall() == [(otra,)]
    with pytest.raises(AvisoNoExiste):
        servicios.retirar(proveedor=proveedor, clave=clave, motivo="error", por=compradora)


def test_retirar_un_aviso_caducado_tambien_se_puede(
    escribir: Escribir,
    proveedor: Any,
    compradora: Any,
    mover: Callable[..., None],
    cuantos: Callable[[], int],
) -> None:
    clave = escribir()
    mover(clave, "-1 hour")
    servicios.retirar(proveedor=proveedor, clave=clave, motivo="error", por=compradora)
    assert cuantos() == 0


def test_el_registro_dice_quien_y_que_clave_nunca_el_texto(
    escribir: Escribir, proveedor: Any, compradora: Any
) -> None:
    clave = escribir("Llamar a Ramona Quiñones")
    corregir(proveedor, clave, compradora, texto="Llamar a Ramona Quiñones por la tarde")
    servicios.retirar(proveedor=proveedor, clave=clave, motivo="error", por=compradora)
    entradas = list(LogEntry.objects.order_by("pk"))
    assert [e.action_flag for e in entradas] == [1, 2, 3]
    for entrada in entradas:
        assert entrada.user == compradora
        assert entrada.object_id == str(proveedor.pk)
        assert clave in entrada.get_change_message()
        assert "Ramona" not in entrada.change_message + entrada.object_repr


def test_el_registro_dice_que_se_cambio(escribir: Escribir, proveedor: Any, compradora: Any) -> None:
    clave = escribir("Cierran en agosto")
    corregir(proveedor, clave, compradora, asunto="Verano", importancia="alta")
    corregir(proveedor, clave, compradora)
    mensajes = [json.loads(e.change_message)[0] for e in LogEntry.objects.order_by("pk")]
    assert "fields" not in mensajes[0]["added"]
    assert [m["changed"]["fields"] for m in mensajes[1:]] == [["importancia", "asunto"], []]


def test_si_la_memoria_se_niega_no_queda_registro(
    escribir: Escribir, propietario: psycopg.Connection
) -> None:
    propietario.execute("REVOKE INSERT, UPDATE ON langgraph.store FROM memoria_web")
    try:
        with pytest.raises(AvisoNoValido):
            escribir()
    finally:
        propietario.execute("GRANT INSERT, UPDATE ON langgraph.store TO memoria_web")
    assert LogEntry.objects.count() == 0


def test_buscar_da_solo_los_de_ese_proveedor_y_no_renueva(
    escribir: Escribir, otro_proveedor: Any, proveedor: Any, compradora: Any, fila: Fila
) -> None:
    suyo = escribir("Cierran la fábrica en agosto por vacaciones")
    escribir("Cierran la fábrica en agosto por vacaciones", proveedor=otro_proveedor)
    antes = fila("P1", suyo)
    hallados = servicios.buscar(
        proveedor=proveedor, consulta="cierre de la fábrica en agosto", por=compradora
    )
    assert [h.aviso.clave for h in hallados.hallados] == [suyo]
    assert hallados.por_significado
    assert fila("P1", suyo) == antes


def test_buscar_no_da_lo_caducado(
    escribir: Escribir, proveedor: Any, compradora: Any, mover: Callable[..., None]
) -> None:
    mover(escribir("Cierran la fábrica en agosto"), "-1 hour")
    hallados = servicios.buscar(proveedor=proveedor, consulta="cierran la fábrica en agosto", por=compradora)
    assert hallados.hallados == []
