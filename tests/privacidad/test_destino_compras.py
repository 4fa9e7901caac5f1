"""What purchasing keeps of a supplier: counted, erased, told to the watch, and nobody else's touched."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.core.management import call_command
from django.utils import timezone

from compras import servicios as compras
from compras.errores import NoSePuedeReponer
from compras.models import Proveedor, Retirada
from privacidad import servicios
from privacidad.destinos import DESTINOS, Sujeto, destino
from privacidad.estados import Estado
from privacidad.models import Asiento


@pytest.fixture
def autonoma(persona: Callable[..., Any]) -> Proveedor:
    """A self-employed supplier with one notice in the memory and one withdrawn, beside P10 with the same."""
    lola = persona("compras", nombre="lola")
    for codigo, nombre in (("P10", "Textiles del Sur"), ("P1", "Ramona Quiñones")):
        proveedor = Proveedor.objects.create(codigo=codigo, nombre=nombre)
        for texto in ("Cierra en agosto", "Llamar a Ramona"):
            clave = compras.escribir(proveedor=proveedor, texto=texto, fecha=timezone.localdate(), por=lola)
        compras.retirar(
            proveedor=proveedor, clave=clave, motivo="otro", explicacion="Lo dice Ramona", por=lola
        )
    return proveedor


def sujeto(espacio: str = "proveedores") -> Sujeto:
    return Sujeto.capturar(espacio, "P1")


def test_cuenta_y_borra_lo_suyo_y_nada_mas(autonoma: Proveedor) -> None:
    d = destino("compras")
    assert d.contar(sujeto()) == {"retirados": 1, "anotaciones": 3, "nombres": 1}
    for ajeno in ("clientes", "empleados"):
        assert d.contar(sujeto(ajeno)) == {"retirados": 0, "anotaciones": 0, "nombres": 0}
        d.suprimir(sujeto(ajeno))
    assert d.suprimir(sujeto()) == {"retirados": 1, "anotaciones": 3, "nombres": 1}
    assert d.contar(sujeto()) == {"retirados": 0, "anotaciones": 0, "nombres": 0}
    autonoma.refresh_from_db()
    assert (autonoma.codigo, autonoma.nombre, autonoma.activo) == ("P1", "P1", False)
    otro = Proveedor.objects.get(codigo="P10")
    assert (otro.nombre, otro.activo) == ("Textiles del Sur", True)
    assert [r.proveedor for r in Retirada.objects.all()] == [otro]
    assert {e.object_id for e in LogEntry.objects.all()} == {str(otro.pk)}


def test_una_supresion_entera_no_deja_nada_que_reponer(
    autonoma: Proveedor, hasta: Callable[..., Any], persona: Any
) -> None:
    retirada = Retirada.objects.get(proveedor=autonoma)
    solicitud = hasta(Estado.APROBADA, "P1", espacio="proveedores")
    with pytest.raises(NoSePuedeReponer):
        compras.reponer(retirada=retirada.pk, por=persona("compras", nombre="otra"))
    evidencia = servicios.ejecutar(solicitud=solicitud)
    assert solicitud.estado == Estado.COMPLETADA
    hecho = evidencia.destinos["compras"]
    assert hecho["antes"] == hecho["borrados"] == {"retirados": 1, "anotaciones": 3, "nombres": 1}
    assert hecho["despues"] == {"retirados": 0, "anotaciones": 0, "nombres": 0}
    assert "P1" not in str(hecho["parametros"])
    with pytest.raises(NoSePuedeReponer):
        compras.reponer(retirada=retirada.pk, por=persona("compras", nombre="una-mas"))


def test_de_una_copia_restaurada_se_borra_lo_de_entonces(autonoma: Proveedor, persona: Any) -> None:
    borrado = timezone.now()
    lola = persona("compras", nombre="otra")
    clave = compras.escribir(
        proveedor=autonoma, texto="Vuelve a servirnos", fecha=timezone.localdate(), por=lola
    )
    compras.retirar(proveedor=autonoma, clave=clave, motivo="error", por=lola)
    d = destino("compras")
    assert d.suprimir_hasta(sujeto(), borrado) == {"retirados": 1, "anotaciones": 3, "nombres": 0}
    assert d.contar(sujeto()) == {"retirados": 1, "anotaciones": 2, "nombres": 1}


def test_lo_que_una_copia_devuelve_sin_nada_despues_pierde_el_nombre(autonoma: Proveedor) -> None:
    d = destino("compras")
    assert d.suprimir_hasta(sujeto(), timezone.now()) == {"retirados": 1, "anotaciones": 3, "nombres": 1}


def test_dice_a_quien_conoce_y_desde_cuando(autonoma: Proveedor) -> None:
    hace_un_mes = timezone.now() - timedelta(days=30)
    Retirada.objects.filter(proveedor=autonoma).update(momento=hace_un_mes)
    for cuantos in (1, 100):
        rastros = {
            (r.espacio, r.sujeto_id): r.desde for r in destino("compras").sujetos(cuantos, timezone.now())
        }
        assert set(rastros) == {("proveedores", "P1"), ("proveedores", "P10")}
        assert rastros["proveedores", "P1"] == hace_un_mes


def test_lo_retirado_que_reaparece_abre_la_solicitud(autonoma: Proveedor, hasta: Callable[..., Any]) -> None:
    fila = Retirada.objects.get(proveedor=autonoma)
    solicitud = hasta(Estado.COMPLETADA, "P1", espacio="proveedores")
    fila.pk = None
    fila.save()  # as a restored backup would bring it: with its date of then
    call_command("verificar_supresiones", "--json", stdout=io.StringIO(), stderr=io.StringIO())
    solicitud.refresh_from_db()
    assert (solicitud.estado, solicitud.sujeto_id) == (Estado.REAPARECIDA, "P1")
    assert Asiento.objects.get(tipo="hallazgo").datos == {"destinos": ["compras"]}
    call_command("ejecutar_supresiones", "--json", stdout=io.StringIO(), stderr=io.StringIO())
    solicitud.refresh_from_db()
    assert solicitud.estado == Estado.COMPLETADA
    assert not Retirada.objects.filter(proveedor=autonoma).exists()


def test_va_dentro_de_la_transaccion_de_la_supresion() -> None:
    assert not destino("compras").externo
    nombres = [d.nombre for d in DESTINOS]
    assert nombres.index("memoria") < nombres.index("compras")
