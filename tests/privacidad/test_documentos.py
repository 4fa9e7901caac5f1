"""Documents of the house that name somebody: pages and history, decided one by one, erased and kept away."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from memoria.documentos import lectura
from memoria.documentos import servicios as documentos
from memoria.documentos.models import Pagina
from privacidad import servicios
from privacidad.errores import MencionesSinDecidir
from privacidad.estados import Estado
from privacidad.models import Solicitud
from tests.ordenes import ordenar
from tests.privacidad.restaurada import Copias

TELEFONO = {"telefono": "612345678"}


@pytest.fixture
def autora(persona: Callable[..., Any]) -> Any:
    quien = persona("compras", nombre="quien-escribe")
    quien.user_permissions.set(Permission.objects.filter(content_type__app_label="documentos"))
    return quien


@pytest.fixture
def escribir(autora: Any) -> Callable[..., Pagina]:
    def uno(ruta: str, texto: str, *, espacio: str = "compras", titulo: str = "Portes") -> Pagina:
        return documentos.crear(espacio=espacio, ruta=ruta, titulo=titulo, texto=texto, por=autora)

    return uno


@pytest.fixture
def cambiar(autora: Any) -> Callable[[Pagina, str], None]:
    def uno(pagina: Pagina, texto: str) -> None:
        ahora = lectura.una(pagina.espacio, pagina.pk)
        documentos.cambiar(
            espacio=pagina.espacio,
            pagina_id=pagina.pk,
            version=ahora.version,
            titulo=ahora.titulo,
            texto=texto,
            importancia=ahora.importancia,
            por=autora,
        )

    return uno


@pytest.fixture
def revisada(hasta: Callable[..., Any]) -> Callable[[], Solicitud]:
    return lambda: hasta(Estado.REVISADA, "C1", identificadores=TELEFONO)


def direcciones(solicitud: Solicitud) -> set[tuple[str, str]]:
    return set(solicitud.menciones.values_list("prefijo", "clave"))


def decidir(solicitud: Solicitud, clave: str, decision: str, por: Any) -> None:
    [mencion] = solicitud.menciones.filter(clave=clave)
    servicios.decidir_mencion(mencion=mencion, decision=decision, motivo="Es suyo", por=por)


def quedan(propietario: psycopg.Connection) -> list[int]:
    return [
        propietario.execute(f"SELECT count(*) FROM documentos_{t}").fetchone()[0]  # type: ignore[index]
        for t in ("pagina", "version", "seccion", "vector")
    ]


def test_it_finds_pages_and_versions_in_every_space(
    escribir: Callable[..., Pagina], cambiar: Callable[..., None], revisada: Callable[[], Solicitud]
) -> None:
    ahora = escribir("ahora.md", "# Contacto\n\nLlamar a Ana, 612 34 56 78.")
    antes = escribir("antes.md", "Llamar al 612.345.678", espacio="sala")
    cambiar(antes, "Llamar a la tienda.")
    titulo = escribir("titulo.md", "Nada.", espacio="cliente", titulo="Reclamación del 612345678")
    escribir("otra.md", "Pedido 6123456780, EAN 8461234567805.")
    assert direcciones(revisada()) == {
        ("documentos.compras", f"{ahora.pk}"),
        ("documentos.compras", f"{ahora.pk}.1"),
        ("documentos.sala", f"{antes.pk}.1"),
        ("documentos.cliente", f"{titulo.pk}"),
        ("documentos.cliente", f"{titulo.pk}.1"),
    }


def test_a_reason_and_a_path_may_name_somebody_too(
    escribir: Callable[..., Pagina], autora: Any, revisada: Callable[[], Solicitud]
) -> None:
    uno = escribir("llamar-612345678.md", "Nada.")
    dos = escribir("dos.md", "Nada.")
    documentos.borrar(
        espacio="compras", pagina_id=dos.pk, version=1, motivo="Lo pide el 612345678", por=autora
    )
    assert direcciones(revisada()) == {
        ("documentos.compras", f"{uno.pk}"),
        ("documentos.compras", f"{dos.pk}.2"),
    }


def test_the_dpo_sees_each_masked_and_decides(
    escribir: Callable[..., Pagina], revisada: Callable[[], Solicitud], dpo: Any, otro_dpo: Any
) -> None:
    pagina = escribir("contacto.md", "Para los portes llamar a Ana, 612 34 56 78, por la tarde.")
    solicitud = revisada()
    cliente = Client()
    cliente.force_login(dpo, backend="django.contrib.auth.backends.ModelBackend")
    html = cliente.get(reverse("privacidad:menciones", args=[solicitud.referencia])).content.decode()
    assert "contacto.md" in html
    assert "contacto.md · 1" in html
    assert "Para los portes llamar a Ana, 6" in html
    assert "612 34 56 78" not in html
    with pytest.raises(MencionesSinDecidir):
        servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    decidir(solicitud, f"{pagina.pk}", "borrar", dpo)
    solicitud.refresh_from_db()
    assert solicitud.vista_previa["documentos"] == {
        "paginas": 1,
        "versiones": 1,
        "secciones": 1,
        "vectores": 1,
    }


def test_what_was_decided_goes_and_the_rest_stays(
    escribir: Callable[..., Pagina],
    cambiar: Callable[..., None],
    revisada: Callable[[], Solicitud],
    dpo: Any,
    otro_dpo: Any,
    propietario: psycopg.Connection,
    apariciones: Callable[[str], list[str]],
) -> None:
    entera = escribir("entera.md", "# Ana\n\nLlamar al 612 34 56 78.")
    version = escribir("version.md", "Llamar al 612.345.678")
    cambiar(version, "Llamar a la tienda.")
    ajena = escribir("ajena.md", "Nada de nadie.")
    solicitud = revisada()
    for clave in (f"{entera.pk}", f"{entera.pk}.1", f"{version.pk}.1"):
        decidir(solicitud, clave, "borrar", dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    evidencia = servicios.ejecutar(solicitud=solicitud)
    assert evidencia.destinos["documentos"]["antes"] == {
        "paginas": 1,
        "versiones": 2,
        "secciones": 1,
        "vectores": 1,
    }
    assert evidencia.destinos["documentos"]["borrados"] == evidencia.destinos["documentos"]["antes"]
    assert set(evidencia.destinos["documentos"]["despues"].values()) == {0}
    assert any("documentos_borrar_versiones" in s for s in evidencia.destinos["documentos"]["sql"])
    assert quedan(propietario) == [2, 2, 2, 2]
    assert lectura.una("compras", version.pk).texto == "Llamar a la tienda."
    assert [v.numero for v in lectura.historia("compras", version.pk)] == [2]
    assert lectura.una("compras", ajena.pk).texto == "Nada de nadie."
    assert apariciones("612 34 56 78") == apariciones("612.345.678") == []
    # Closed, it holds no address, and still knows by their digests that they are not there.
    assert not solicitud.menciones.exclude(clave="").exists()
    datos, _, codigo = ordenar("verificar_supresiones")
    assert (datos["reaparecidas"], codigo) == (0, 0)


def test_kept_is_kept(
    escribir: Callable[..., Pagina], revisada: Callable[[], Solicitud], dpo: Any, otro_dpo: Any
) -> None:
    pagina = escribir("contacto.md", "Llamar al 612 34 56 78.")
    solicitud = revisada()
    decidir(solicitud, f"{pagina.pk}", "conservar", dpo)
    decidir(solicitud, f"{pagina.pk}.1", "conservar", dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    assert "612" in lectura.una("compras", pagina.pk).texto


def test_a_page_that_no_longer_names_them_is_not_touched(
    escribir: Callable[..., Pagina],
    cambiar: Callable[..., None],
    revisada: Callable[[], Solicitud],
    dpo: Any,
    otro_dpo: Any,
) -> None:
    pagina = escribir("contacto.md", "Llamar al 612 34 56 78.")
    solicitud = revisada()
    decidir(solicitud, f"{pagina.pk}", "borrar", dpo)
    decidir(solicitud, f"{pagina.pk}.1", "borrar", dpo)
    cambiar(pagina, "Llamar a la tienda.")
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    evidencia = servicios.ejecutar(solicitud=solicitud)
    assert evidencia.destinos["documentos"]["borrados"]["paginas"] == 0
    assert [v.numero for v in lectura.historia("compras", pagina.pk)] == [2]
    assert lectura.una("compras", pagina.pk).texto == "Llamar a la tienda."


def test_a_page_changed_after_the_decision_is_asked_about_again(
    escribir: Callable[..., Pagina], cambiar: Callable[..., None], revisada: Callable[[], Solicitud], dpo: Any
) -> None:
    pagina = escribir("contacto.md", "Llamar al 612 34 56 78.")
    solicitud = revisada()
    decidir(solicitud, f"{pagina.pk}", "conservar", dpo)
    decidir(solicitud, f"{pagina.pk}.1", "conservar", dpo)
    cambiar(pagina, "Su número: 612345678.")
    from privacidad import menciones

    menciones.buscar(solicitud)
    pendientes = solicitud.menciones.filter(decision="pendiente").values_list("clave", flat=True)
    assert set(pendientes) == {f"{pagina.pk}", f"{pagina.pk}.2"}


def test_what_a_restored_copy_brings_back_goes_again(
    escribir: Callable[..., Pagina],
    cambiar: Callable[..., None],
    revisada: Callable[[], Solicitud],
    copias: Copias,
    fichero: Path,
    dpo: Any,
    otro_dpo: Any,
) -> None:
    entera = escribir("entera.md", "Llamar al 612 34 56 78.")
    version = escribir("version.md", "Llamar al 612345678")
    cambiar(version, "Llamar a la tienda.")
    copias.hacer()
    solicitud = revisada()
    for clave in (f"{entera.pk}", f"{entera.pk}.1", f"{version.pk}.1"):
        decidir(solicitud, clave, "borrar", dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    ordenar("exportar_registro", fichero)
    copias.restaurar()
    datos, _, codigo = ordenar("reaplicar_supresiones", fichero)
    assert (datos["documentos_borrados"], codigo) == (3, 0)
    with closing(copias.conectar()) as conexion:
        assert conexion.execute("SELECT ruta FROM documentos_pagina").fetchall() == [("version.md",)]
        assert conexion.execute("SELECT numero FROM documentos_version").fetchall() == [(2,)]
    datos, _, codigo = ordenar("reaplicar_supresiones", fichero)
    assert (datos["documentos_borrados"], codigo) == (0, 0)
