"""Names of suppliers that name somebody who is not that supplier: found, decided, taken away, kept away."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse

from compras import servicios as compras
from compras.models import Proveedor
from privacidad import copias as selladas
from privacidad import plazos, servicios
from privacidad.errores import MencionesSinDecidir
from privacidad.estados import Estado
from privacidad.models import Solicitud
from tests.ordenes import ordenar
from tests.privacidad.restaurada import Copias
from tests.privacidad.test_acceso import contenido

DE_MARTA = {"identificadores": {"nombre": "Marta Ruiz Gil", "telefono": "612345678"}}


@pytest.fixture
def lola(persona: Callable[..., Any]) -> Any:
    return persona("compras", nombre="lola")


@pytest.fixture
def proveedor(lola: Any) -> Callable[..., Proveedor]:
    def uno(codigo: str, nombre: str) -> Proveedor:
        return compras.crear_proveedor(codigo=codigo, nombre=nombre, por=lola)

    return uno


@pytest.fixture
def revisada(hasta: Callable[..., Any]) -> Callable[..., Solicitud]:
    return lambda sujeto="C1", **otros: hasta(Estado.REVISADA, sujeto, **{**DE_MARTA, **otros})


def direcciones(solicitud: Solicitud) -> set[tuple[str, str]]:
    return set(solicitud.menciones.values_list("prefijo", "clave"))


def de(proveedor: Proveedor) -> tuple[str, str]:
    return "nombres.proveedores", str(proveedor.pk)


def decidir(solicitud: Solicitud, proveedor: Proveedor, decision: str, por: Any) -> None:
    mencion = solicitud.menciones.filter(prefijo=de(proveedor)[0], clave=str(proveedor.pk)).first()
    assert mencion
    servicios.decidir_mencion(mencion=mencion, decision=decision, motivo="Es suyo", por=por)


def nombres() -> dict[str, str]:
    return dict(Proveedor.objects.values_list("codigo", "nombre"))


def test_they_are_found_shown_masked_and_wait_for_a_decision(
    proveedor: Callable[..., Proveedor],
    revisada: Callable[..., Solicitud],
    navegar: Callable[..., Any],
    otro_dpo: Any,
) -> None:
    nombran = [proveedor("P7", "Marta Ruiz Gil 612345678"), proveedor("P8", "Ruiz Gil, MARTA (alfares)")]
    proveedor("P9", "Marta Gil")
    proveedor("P10", "Pedidos 6123456780")
    solicitud = revisada()
    assert direcciones(solicitud) == {de(p) for p in nombran}
    assert solicitud.menciones.count() == 3  # of one, by both
    html = (
        navegar("dpo", nombre="quien-mira")
        .get(reverse("privacidad:menciones", args=[solicitud.referencia]))
        .content.decode()
    )
    assert "P7" in html
    assert "612345678" not in html
    with pytest.raises(MencionesSinDecidir):
        servicios.aprobar(solicitud=solicitud, por=otro_dpo)


def test_the_one_who_asks_has_a_name_that_is_theirs(
    proveedor: Callable[..., Proveedor], revisada: Callable[..., Solicitud]
) -> None:
    proveedor("P7", "Marta Ruiz Gil")
    unido, otro = proveedor("P8", "Ruiz Gil, Marta"), proveedor("P9", "Marta Ruiz Gil e hijos")
    Proveedor.objects.filter(pk=unido.pk).update(
        activo=False, fusionado_en=Proveedor.objects.get(codigo="P7")
    )
    solicitud = revisada("P7", espacio="proveedores")
    assert direcciones(solicitud) == {de(otro)}
    assert solicitud.vista_previa["compras"]["nombres"] == 2
    # A customer may have the id of a supplier.
    assert len(direcciones(revisada("P7"))) == 3


def test_the_code_takes_its_place_and_what_was_kept_stays(
    proveedor: Callable[..., Proveedor],
    revisada: Callable[..., Solicitud],
    dpo: Any,
    otro_dpo: Any,
    propietario: Any,
) -> None:
    suya, queda = proveedor("P7", "Marta Ruiz Gil 612345678"), proveedor("P8", "Marta Ruiz Gil e hijos")
    proveedor("P9", "Otra")
    solicitud = revisada()
    decidir(solicitud, suya, "borrar", dpo)
    decidir(solicitud, queda, "conservar", dpo)
    solicitud.refresh_from_db()
    assert solicitud.vista_previa["nombres"] == {"nombres": 1}
    servicios.decidir_copia(solicitud=solicitud, hasta=plazos.hoy() + timedelta(days=1), motivo=None, por=dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    evidencia = servicios.ejecutar(solicitud=solicitud)
    assert solicitud.estado == Estado.COMPLETADA
    hecho = evidencia.destinos["nombres"]
    assert hecho["antes"] == hecho["borrados"] == {"nombres": 1}
    assert hecho["despues"] == {"nombres": 0}
    assert any("compras_proveedor" in s for s in hecho["sql"])
    assert nombres() == {"P7": "P7", "P8": "Marta Ruiz Gil e hijos", "P9": "Otra"}
    suya.refresh_from_db()
    assert suya.activo  # purchasing goes on buying from it
    # Its sealed copy has the name; their access file, which could not tell what in it is theirs, has not.
    lineas = [json.loads(linea) for linea in selladas.leer(solicitud.copia, de_otros=True)]
    assert [(f["tabla"], f["fila"]["nombre"]) for f in lineas] == [("nombres", "Marta Ruiz Gil 612345678")]
    assert list(selladas.leer(solicitud.copia)) == []
    datos, _, codigo = ordenar("verificar_supresiones")
    assert (datos["menciones_reaparecidas"], codigo) == ([], 0)


def test_their_access_file_says_where_they_were_found(
    proveedor: Callable[..., Proveedor], revisada: Callable[..., Solicitud], dpo: Any
) -> None:
    proveedor("P7", "Marta Ruiz Gil 612345678")
    revisada()
    hecho = servicios.producir(espacio="clientes", sujeto_id="C1", por=dpo)
    halladas = contenido(hecho, dpo)["menciones"]
    assert [(m["donde"], m["pasajes"]) for m in halladas] == [
        ("nombres · proveedores · P7", ["Marta Ruiz Gil 612345678"])
    ]


def test_another_name_is_another_thing_to_decide(
    proveedor: Callable[..., Proveedor],
    revisada: Callable[..., Solicitud],
    lola: Any,
    dpo: Any,
    otro_dpo: Any,
) -> None:
    limpio, sigue = proveedor("P7", "Marta Ruiz Gil 612345678"), proveedor("P8", "La del 612345678")
    solicitud = revisada()
    for p in (limpio, sigue):
        decidir(solicitud, p, "borrar", dpo)
    # Whether it is active is no name.
    compras.cambiar_proveedor(proveedor=sigue, nombre=sigue.nombre, activo=False, por=lola)
    servicios.revisar(solicitud=solicitud, por=dpo)
    assert not solicitud.menciones.filter(decision="pendiente").exists()
    compras.cambiar_proveedor(proveedor=sigue, nombre="Marta Ruiz Gil", activo=True, por=lola)
    servicios.revisar(solicitud=solicitud, por=dpo)
    assert set(solicitud.menciones.filter(decision="pendiente").values_list("clave", flat=True)) == {
        str(sigue.pk)
    }
    decidir(solicitud, sigue, "borrar", dpo)
    # One that names nobody since is not touched.
    compras.cambiar_proveedor(proveedor=limpio, nombre="Alfares", activo=True, por=lola)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    evidencia = servicios.ejecutar(solicitud=solicitud)
    assert evidencia.destinos["nombres"]["borrados"] == {"nombres": 1}
    assert nombres() == {"P7": "Alfares", "P8": "P8"}


def test_what_a_restored_copy_brings_back_goes_again_and_what_was_written_since_stays(
    proveedor: Callable[..., Proveedor],
    revisada: Callable[..., Solicitud],
    copias: Copias,
    fichero: Path,
    dpo: Any,
    otro_dpo: Any,
) -> None:
    suya = proveedor("P7", "Marta Ruiz Gil 612345678")
    proveedor("P8", "Otra")
    copias.hacer()
    solicitud = revisada()
    decidir(solicitud, suya, "borrar", dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    ordenar("exportar_registro", fichero)
    copias.restaurar()
    datos, _, codigo = ordenar("reaplicar_supresiones", fichero)
    assert (datos["documentos_borrados"], codigo) == (1, 0)
    with closing(copias.conectar()) as conexion:
        filas = conexion.execute("SELECT codigo, nombre FROM compras_proveedor ORDER BY 1").fetchall()
    assert filas == [("P7", "P7"), ("P8", "Otra")]
    datos, _, codigo = ordenar("reaplicar_supresiones", fichero)
    assert (datos["documentos_borrados"], codigo) == (0, 0)


def test_one_that_comes_back_is_told_and_one_written_anew_is_not(
    proveedor: Callable[..., Proveedor],
    revisada: Callable[..., Solicitud],
    lola: Any,
    dpo: Any,
    otro_dpo: Any,
) -> None:
    suya = proveedor("P7", "Marta Ruiz Gil 612345678")
    solicitud = revisada()
    decidir(solicitud, suya, "borrar", dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    Proveedor.objects.filter(pk=suya.pk).update(nombre="Marta Ruiz Gil 612345678")
    datos, _, codigo = ordenar("verificar_supresiones")
    assert (datos["menciones_reaparecidas"], codigo) == ([solicitud.referencia], 3)
    compras.cambiar_proveedor(proveedor=suya, nombre="Marta Ruiz", activo=True, por=lola)
    datos, _, codigo = ordenar("verificar_supresiones")
    assert (datos["menciones_reaparecidas"], codigo) == ([], 0)
