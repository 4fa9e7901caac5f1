"""Two codes of a supplier joined after the copy was made, and erased as one: the replay reaches both."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from compras import servicios as compras
from compras.models import Proveedor
from memoria.models import Documento
from privacidad import copias as de_copias
from privacidad import plazos, registro, servicios
from privacidad.estados import Estado
from privacidad.models import Asiento, Copia, Solicitud
from tests.ordenes import ordenar
from tests.privacidad.restaurada import Copias

pytestmark = pytest.mark.usefixtures("almacen_compras")


@pytest.fixture
def unir(persona: Callable[..., Any]) -> Callable[[], None]:
    """AUT1 and AUT2, two notices each, and another supplier; ``unir()`` joins AUT1 to AUT2."""
    lola = persona("compras", nombre="lola")
    suyos = [
        compras.crear_proveedor(codigo=c, nombre=f"Zoilo {c}", por=lola) for c in ("AUT1", "AUT2", "AUT10")
    ]
    for proveedor in suyos:
        for n in (1, 2):
            compras.escribir(
                proveedor=proveedor, texto=f"Entrega tarde los lunes {n} {proveedor.codigo}", asunto="",
                fecha=plazos.hoy(), por=lola,
            )  # fmt: skip

    def hacer() -> None:
        compras.fusionar(origen=suyos[0], destino=suyos[1], por=lola)

    return hacer


def avisos() -> dict[str, int]:
    codigos = ("AUT1", "AUT2", "AUT10")
    return {c: Documento.objects.del_sujeto("proveedores", c).count() for c in codigos}


def nombres() -> dict[str, str]:
    return dict(Proveedor.objects.values_list("codigo", "nombre"))


def test_lo_de_un_codigo_que_se_unio_al_suprimido_tambien_se_borra(
    unir: Callable[[], None], copias: Copias, fichero: Path, hasta: Callable[..., Any]
) -> None:
    copias.hacer()
    unir()
    hasta(Estado.COMPLETADA, "AUT2", espacio="proveedores")
    assert avisos() == {"AUT1": 0, "AUT2": 0, "AUT10": 2}
    ordenar("exportar_registro", fichero)
    assert "AUT" not in fichero.read_text()
    copias.restaurar()
    assert avisos() == {"AUT1": 2, "AUT2": 2, "AUT10": 2}
    datos, _, codigo = ordenar("reaplicar_supresiones", fichero)
    assert (datos["documentos_borrados"], datos["unidos_sin_borrar"], codigo) == (4, [], 0)
    assert avisos() == {"AUT1": 0, "AUT2": 0, "AUT10": 2}
    assert nombres() == {"AUT1": "AUT1", "AUT2": "AUT2", "AUT10": "Zoilo AUT10"}
    assert not Proveedor.objects.get(codigo="AUT1").activo
    antes = list(registro.entradas())
    assert ordenar("reaplicar_supresiones", fichero)[0]["reaplicadas"] == 0
    assert list(registro.entradas()) == antes


def test_lo_que_se_escribio_del_codigo_despues_se_queda(
    unir: Callable[[], None], copias: Copias, fichero: Path, hasta: Callable[..., Any], almacen_compras: Any
) -> None:
    copias.hacer()
    unir()
    hasta(Estado.COMPLETADA, "AUT2", espacio="proveedores")
    ordenar("exportar_registro", fichero)
    copias.restaurar()
    with copias.conectar() as conexion:
        conexion.execute(
            "UPDATE langgraph.store SET updated_at = now() WHERE value ->> 'texto' LIKE '%1 AUT1'"
        )
    assert ordenar("reaplicar_supresiones", fichero)[2] == 0
    assert avisos() == {"AUT1": 1, "AUT2": 0, "AUT10": 2}


def test_el_asiento_de_quien_no_tiene_codigos_unidos_no_dice_nada_de_ellos(
    hasta: Callable[..., Any], unir: Callable[[], None]
) -> None:
    hasta(Estado.COMPLETADA, "AUT10", espacio="proveedores")
    assert "unidos" not in Asiento.objects.get(tipo="supresion").datos


def test_la_copia_bloqueada_se_hace_otra_vez_con_lo_de_los_dos(
    unir: Callable[[], None],
    copias: Copias,
    fichero: Path,
    hasta: Callable[..., Any],
    dpo: Any,
    otro_dpo: Any,
) -> None:
    copias.hacer()
    unir()
    solicitud = hasta(Estado.REVISADA, "AUT2", espacio="proveedores")
    servicios.decidir_copia(
        solicitud=solicitud, hasta=plazos.hoy() + timedelta(days=900), motivo=None, por=dpo
    )
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    ordenar("exportar_registro", fichero)
    copias.restaurar()
    datos, _, codigo = ordenar("reaplicar_supresiones", fichero)
    assert (datos["copias_perdidas"], codigo) == ([], 0)
    filas = [json.loads(linea) for linea in de_copias.leer(Copia.objects.get())]
    avisos_sellados = [f["fila"]["prefix"] for f in filas if f["tabla"] == "store"]
    assert sorted(avisos_sellados) == ["proveedores.AUT1"] * 2 + ["proveedores.AUT2"] * 2
    assert avisos() == {"AUT1": 0, "AUT2": 0, "AUT10": 2}
    assert ordenar("reaplicar_supresiones", fichero)[0]["copias_perdidas"] == []


@pytest.mark.parametrize("de", ["AUT1", "AUT2"])
def test_lo_retenido_que_no_se_encuentra_puede_estar_en_el_codigo_unido_y_no_se_borra(
    de: str, unir: Callable[[], None], copias: Copias, fichero: Path, hasta: Callable[..., Any], dpo: Any,
    otro_dpo: Any,
) -> None:  # fmt: skip
    clave = Documento.objects.del_sujeto("proveedores", de).earliest("created_at").key
    copias.hacer()
    unir()
    solicitud = hasta(Estado.REVISADA, "AUT2", espacio="proveedores")
    servicios.excluir(solicitud=solicitud, destino="memoria", clave=clave, motivo="reclamacion", por=dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    assert avisos() == {"AUT1": 0, "AUT2": 1, "AUT10": 2}
    ordenar("exportar_registro", fichero)
    copias.restaurar()
    for _vez in range(2):
        datos, avisado, codigo = ordenar("reaplicar_supresiones", fichero)
        if de == "AUT2":
            assert (datos["unidos_sin_borrar"], codigo) == ([], 0)
            assert avisos() == {"AUT1": 0, "AUT2": 1, "AUT10": 2}
        else:
            assert (datos["unidos_sin_borrar"], codigo) == ([solicitud.referencia], 3)
            assert f"{solicitud.referencia}: hay retenido un dato" in avisado
            assert avisos() == {"AUT1": 2, "AUT2": 0, "AUT10": 2}
    assert Solicitud.objects.get().estado == Estado.PARCIAL
