"""Withdrawn notices, and entries of purchasing's log, that name somebody who is not their supplier: found,
decided, erased, kept away."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.urls import reverse
from django.utils import timezone

from compras import servicios as compras
from compras.errores import NoSePuedeReponer
from compras.models import Proveedor, Retirada
from privacidad import servicios
from privacidad.errores import MencionesSinDecidir
from privacidad.estados import Estado
from privacidad.models import Solicitud
from tests.ordenes import ordenar
from tests.privacidad.restaurada import Copias

TELEFONO = {"telefono": "612345678"}


@pytest.fixture
def lola(persona: Callable[..., Any]) -> Any:
    return persona("compras", nombre="lola")


@pytest.fixture
def retirar(lola: Any) -> Callable[..., Retirada]:
    """``retirar("Llamar al 612345678")``: a notice of that supplier, written and withdrawn."""

    def uno(texto: str, *, codigo: str = "P1", asunto: str = "", explicacion: str = "") -> Retirada:
        proveedor = Proveedor.objects.get_or_create(codigo=codigo, defaults={"nombre": "Alfares"})[0]
        clave = compras.escribir(
            proveedor=proveedor, texto=texto, asunto=asunto, fecha=timezone.localdate(), por=lola
        )
        compras.retirar(proveedor=proveedor, clave=clave, motivo="error", explicacion=explicacion, por=lola)
        return Retirada.objects.latest("pk")

    return uno


@pytest.fixture
def revisada(hasta: Callable[..., Any]) -> Callable[..., Solicitud]:
    return lambda sujeto="C1", **otros: hasta(
        Estado.REVISADA, sujeto, **{"identificadores": TELEFONO, **otros}
    )


def direcciones(solicitud: Solicitud) -> set[tuple[str, str]]:
    return set(solicitud.menciones.values_list("prefijo", "clave"))


def de(retirada: Retirada) -> tuple[str, str]:
    return "retirados.proveedores", str(retirada.pk)


def decidir(solicitud: Solicitud, retirada: Retirada, decision: str, por: Any) -> None:
    [mencion] = solicitud.menciones.filter(clave=str(retirada.pk))
    servicios.decidir_mencion(mencion=mencion, decision=decision, motivo="Es suyo", por=por)


def test_it_finds_them_whatever_part_names_the_person(
    retirar: Callable[..., Retirada], recibida: Callable[..., Any], dpo: Any
) -> None:
    nombran = [
        retirar("Preguntar a la clienta,\n612 34 56 78,\tantes de servir"),
        retirar("Nada", asunto="La del +34 612-345-678"),
        retirar("Lo dijo Mariana Ríos"),
        retirar("Nada", explicacion="Ya se lo dijo mariana rios"),
    ]
    retirar("Pedido 6123456780, EAN 8461234567805")
    solicitud = recibida("C1", identificadores={**TELEFONO, "nombre": "Mariana Ríos"})
    servicios.identificar(solicitud=solicitud, como="DNI en tienda", por=dpo)
    servicios.revisar(solicitud=solicitud, por=dpo)
    assert direcciones(solicitud) == {de(r) for r in nombran}


def test_what_a_withdrawn_request_had_decided_the_next_one_does_not_do(
    retirar: Callable[..., Retirada], revisada: Callable[..., Solicitud], dpo: Any, otro_dpo: Any
) -> None:
    retirada = retirar("Llamar al 612345678")
    primera = revisada()
    decidir(primera, retirada, "borrar", dpo)
    servicios.retirar(solicitud=primera, motivo="Ya no lo pide", por=dpo)
    segunda = revisada()
    assert segunda.vista_previa["retirados"] == {"avisos": 0}
    decidir(segunda, retirada, "conservar", dpo)
    servicios.aprobar(solicitud=segunda, por=otro_dpo)
    servicios.ejecutar(solicitud=segunda)
    assert segunda.estado == Estado.COMPLETADA
    assert Retirada.objects.get() == retirada


def test_past_their_time_they_are_rows_too(
    retirar: Callable[..., Retirada], revisada: Callable[..., Solicitud]
) -> None:
    pasada = retirar("Llamar al 612345678")
    Retirada.objects.update(reponible_hasta=timezone.now())
    assert direcciones(revisada()) == {de(pasada)}


def test_those_of_the_supplier_are_theirs_and_no_mentions(
    retirar: Callable[..., Retirada], revisada: Callable[..., Solicitud]
) -> None:
    retirar("Llamar al 612345678", codigo="AUT1")
    retirar("Llamar al 612345678", codigo="AUT2")
    Proveedor.objects.filter(codigo="AUT2").update(
        fusionado_en=Proveedor.objects.get(codigo="AUT1"), activo=False
    )
    ajena = retirar("Lo hace la del 612345678", codigo="AUT10")
    solicitud = revisada("AUT1", espacio="proveedores")
    assert direcciones(solicitud) == {de(ajena)}
    assert solicitud.vista_previa["compras"]["retirados"] == 2
    # A customer may have the id of a supplier.
    assert len(direcciones(revisada("AUT1"))) == 3


def test_the_dpo_sees_it_masked_and_decides(
    retirar: Callable[..., Retirada],
    revisada: Callable[..., Solicitud],
    navegar: Callable[..., Any],
    dpo: Any,
    otro_dpo: Any,
) -> None:
    retirada = retirar("Para los portes llamar a Ana, 612 34 56 78, por la tarde.")
    solicitud = revisada()
    html = navegar("dpo", nombre="quien-mira").get(
        reverse("privacidad:menciones", args=[solicitud.referencia])
    )
    assert "P1 · " in html.content.decode()
    assert "Para los portes llamar a Ana, 6" in html.content.decode()
    assert "612 34 56 78" not in html.content.decode()
    with pytest.raises(MencionesSinDecidir):
        servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    decidir(solicitud, retirada, "borrar", dpo)
    solicitud.refresh_from_db()
    assert solicitud.vista_previa["retirados"] == {"avisos": 1}


def test_what_was_decided_goes_and_the_rest_stays(
    retirar: Callable[..., Retirada],
    revisada: Callable[..., Solicitud],
    dpo: Any,
    otro_dpo: Any,
    apariciones: Callable[[str], list[str]],
) -> None:
    suya, conservada = retirar("Llamar al 612 34 56 78"), retirar("Es el 612.345.678")
    ajena = retirar("Nada de nadie")
    solicitud = revisada()
    decidir(solicitud, suya, "borrar", dpo)
    decidir(solicitud, conservada, "conservar", dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    evidencia = servicios.ejecutar(solicitud=solicitud)
    assert solicitud.estado == Estado.COMPLETADA
    hecho = evidencia.destinos["retirados"]
    assert hecho["antes"] == hecho["borrados"] == {"avisos": 1}
    assert hecho["despues"] == {"avisos": 0}
    assert any("compras_retirada" in s for s in hecho["sql"])
    assert set(Retirada.objects.values_list("pk", flat=True)) == {conservada.pk, ajena.pk}
    assert apariciones("612 34 56 78") == []
    # Closed, it holds no address, and still knows by its digest that it is not there.
    assert not solicitud.menciones.exclude(clave="").exists()
    datos, _, codigo = ordenar("verificar_supresiones")
    assert (datos["menciones_reaparecidas"], codigo) == ([], 0)


def test_one_that_comes_back_is_told(
    retirar: Callable[..., Retirada], revisada: Callable[..., Solicitud], dpo: Any, otro_dpo: Any
) -> None:
    retirada = retirar("Llamar al 612345678")
    numero = retirada.pk
    solicitud = revisada()
    decidir(solicitud, retirada, "borrar", dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    retirada.pk = numero
    retirada.save(force_insert=True)
    datos, _, codigo = ordenar("verificar_supresiones")
    assert (datos["menciones_reaparecidas"], codigo) == ([solicitud.referencia], 3)
    # Another one with the same number, withdrawn since, is not it.
    Retirada.objects.update(momento=timezone.now())
    datos, _, codigo = ordenar("verificar_supresiones")
    assert (datos["menciones_reaparecidas"], codigo) == ([], 0)


def test_while_it_is_decided_about_it_is_not_put_back(
    retirar: Callable[..., Retirada], revisada: Callable[..., Solicitud], lola: Any, dpo: Any, otro_dpo: Any
) -> None:
    """It would be in the store, where its address is another."""
    retirada, de_otro = retirar("Llamar al 612345678"), retirar("Nada", codigo="P10")
    solicitud = revisada()
    with pytest.raises(NoSePuedeReponer):
        compras.reponer(retirada=retirada.pk, por=lola)
    compras.reponer(retirada=de_otro.pk, por=lola)
    decidir(solicitud, retirada, "borrar", dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    with pytest.raises(NoSePuedeReponer):
        compras.reponer(retirada=retirada.pk, por=lola)
    servicios.ejecutar(solicitud=solicitud)
    with pytest.raises(NoSePuedeReponer):
        compras.reponer(retirada=retirada.pk, por=lola)
    compras.reponer(retirada=retirar("Otra cosa").pk, por=lola)


def test_what_a_restored_copy_brings_back_goes_again(
    retirar: Callable[..., Retirada],
    revisada: Callable[..., Solicitud],
    copias: Copias,
    fichero: Path,
    dpo: Any,
    otro_dpo: Any,
) -> None:
    suya, ajena = retirar("Llamar al 612 34 56 78"), retirar("Nada de nadie")
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
        assert conexion.execute("SELECT id FROM compras_retirada").fetchall() == [(ajena.pk,)]
    datos, _, codigo = ordenar("reaplicar_supresiones", fichero)
    assert (datos["documentos_borrados"], codigo) == (0, 0)


# -- the log ------------------------------------------------------------------------------------------


@pytest.fixture
def anotar(lola: Any) -> Callable[..., LogEntry]:
    """``anotar("Lo pide Ana")``: the entry of a notice whose identifiers were kept for that reason."""

    def uno(motivo: str, *, codigo: str = "P1") -> LogEntry:
        proveedor = Proveedor.objects.get_or_create(codigo=codigo, defaults={"nombre": "Alfares"})[0]
        compras.escribir(
            proveedor=proveedor,
            texto="Cierran en agosto",
            fecha=timezone.localdate(),
            por=lola,
            admitidos={"identificadores": ["telefono"], "motivo": motivo},
        )
        return LogEntry.objects.latest("pk")

    return uno


def en_el_registro(solicitud: Solicitud) -> set[str]:
    return {clave for prefijo, clave in direcciones(solicitud) if prefijo == "anotaciones.compras"}


def test_an_entry_that_names_the_person_is_found(
    anotar: Callable[..., LogEntry], revisada: Callable[..., Solicitud], propietario: Any
) -> None:
    con_tilde, propia = anotar("Lo pide Mariana Ríos"), anotar("Es mariana rios", codigo="AUT1")
    frase = anotar("Nada")
    LogEntry.objects.filter(pk=frase.pk).update(change_message="Se lo dijo a RÍOS, Mariana, 612 345 678.")
    for de_nadie in ("Lo pide María Ríos", "Pedido 6123456780"):
        anotar(de_nadie)
    nombre = {"identificadores": {"nombre": "Mariana Ríos", **TELEFONO}}
    assert "u00ed" in con_tilde.change_message  # Django escapes it
    assert en_el_registro(revisada("C1", **nombre)) == {str(e.pk) for e in (con_tilde, propia, frase)}
    # Of the supplier who asks, theirs go with what is theirs.
    assert en_el_registro(revisada("AUT1", espacio="proveedores", **nombre)) == {
        str(con_tilde.pk),
        str(frase.pk),
    }


def test_an_entry_goes_when_it_was_decided_so_and_stays_away(
    anotar: Callable[..., LogEntry],
    revisada: Callable[..., Solicitud],
    copias: Copias,
    fichero: Path,
    dpo: Any,
    otro_dpo: Any,
) -> None:
    suya, conservada, ajena = anotar("Lo pide el 612345678"), anotar("612 345 678"), anotar("Nada")
    copias.hacer()
    solicitud = revisada()
    for entrada, decision in ((suya, "borrar"), (conservada, "conservar")):
        [mencion] = solicitud.menciones.filter(clave=str(entrada.pk))
        servicios.decidir_mencion(mencion=mencion, decision=decision, motivo="Es suyo", por=dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    evidencia = servicios.ejecutar(solicitud=solicitud)
    assert solicitud.estado == Estado.COMPLETADA
    hecho = evidencia.destinos["anotaciones"]
    assert (hecho["antes"], hecho["borrados"], hecho["despues"]) == (
        {"anotaciones": 1},
        {"anotaciones": 1},
        {"anotaciones": 0},
    )
    quedan = {conservada.pk, ajena.pk}
    assert set(LogEntry.objects.values_list("pk", flat=True)) == quedan
    ordenar("exportar_registro", fichero)
    copias.restaurar()
    datos, _, codigo = ordenar("reaplicar_supresiones", fichero)
    assert (datos["documentos_borrados"], codigo) == (1, 0)
    with closing(copias.conectar()) as conexion:
        filas = conexion.execute("SELECT id FROM django_admin_log").fetchall()
    assert {pk for (pk,) in filas} == quedan
