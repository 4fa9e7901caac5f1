"""Access files too large for a page: asked for there, made by the command."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from privacidad import expedientes, plazos, servicios
from privacidad.errores import DatoNoValido, SinPermiso
from privacidad.estados import Estado
from privacidad.models import Asiento, Expediente
from privacidad.resumenes import resumen_de_usuario
from tests import ordenes
from tests.privacidad.test_acceso import PAGINA, bajado, contenido


@pytest.fixture
def pedido(
    navegar: Callable[..., Any], preferencia: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> tuple[Client, Expediente]:
    """A file asked for on the page, of a person who has more than a page can read."""
    monkeypatch.setattr("privacidad.servicios.acceso.MAXIMO_EN_UNA_PAGINA", 1)
    for tipo in ("idioma", "horario"):
        preferencia("C1", tipo)
    cliente = navegar("dpo", nombre="pide")
    pagina = cliente.post(f"{PAGINA}producir/", follow=True).content.decode()
    assert "lo hará la tarea programada" in pagina
    assert "Se está preparando" in pagina
    assert "Descargar el JSON" not in pagina
    return cliente, Expediente.objects.get()


def test_lo_grande_lo_produce_la_orden(pedido: tuple[Client, Expediente], dpo: Any) -> None:
    cliente, expediente = pedido
    assert expediente.pendiente
    assert bytes(expediente.json) == bytes(expediente.pdf) == b""
    # With its quotes: two letters alone turn up by chance in what is encrypted.
    assert b'"C1"' not in bytes(expediente.pedido)
    with pytest.raises(DatoNoValido, match="preparando"):
        bajado(expediente, "json", dpo)
    simulado, codigo = ordenar("--dry-run")
    assert (simulado["producidos"], simulado["pendientes"], codigo) == (1, 1, 0)
    assert ordenar() == ({"producidos": 1, "fallidos": 0, "pendientes": 0, "simulado": False}, 0)
    assert ordenar()[0]["producidos"] == 0
    hecho = Expediente.objects.get()
    assert not hecho.pendiente
    assert hecho.por == expediente.por
    assert hecho.creado > expediente.creado
    assert [d["clave"] for d in contenido(hecho, dpo)["documentos"]] == ["pref-horario", "pref-idioma"]
    # The command made it, for who asked.
    quien = resumen_de_usuario(expediente.por)
    asientos = Asiento.objects.order_by("numero").values_list("tipo", "referencia", "datos__por")
    assert list(asientos)[:2] == [
        ("acceso_pedido", hecho.referencia, quien),
        ("acceso", hecho.referencia, quien),
    ]
    assert "Descargar el JSON" in cliente.get(PAGINA).content.decode()


def test_pedirlo_dos_veces_no_lo_hace_dos_veces(pedido: tuple[Client, Expediente]) -> None:
    cliente, _expediente = pedido
    respuesta = cliente.post(f"{PAGINA}producir/")
    assert respuesta.status_code == 422
    assert "se está preparando" in respuesta.content.decode()
    assert Expediente.objects.count() == 1
    ordenar()
    cliente.post(f"{PAGINA}producir/")
    assert Expediente.objects.pendientes().count() == 1


def test_de_quien_se_suprime_mientras_espera_no_se_produce(
    pedido: tuple[Client, Expediente], hasta: Callable[..., Any]
) -> None:
    _cliente, expediente = pedido
    solicitud = hasta(Estado.COMPLETADA)
    assert solicitud.evidencias.get().destinos["casa"]["borrados"]["expedientes"] == 1
    with pytest.raises(DatoNoValido, match="ya no está pedido"):
        servicios.producir_pedido(expediente=Expediente.objects.get())
    with pytest.raises(DatoNoValido, match=r"suprimido|ya no está pedido"):
        servicios.producir_pedido(expediente=expediente)  # read before the erasure
    assert ordenar()[0]["producidos"] == 0
    vacio = Expediente.objects.get()
    assert bytes(vacio.pedido) == bytes(vacio.json) == b""


def test_el_que_falla_no_para_a_los_demas(
    pedido: tuple[Client, Expediente], preferencia: Callable[..., None], dpo: Any
) -> None:
    _cliente, roto = pedido
    Expediente.objects.filter(pk=roto.pk).update(pedido=b"otra cosa")
    for tipo in ("idioma", "horario"):
        preferencia("C2", tipo)
    servicios.pedir_expediente(espacio="clientes", sujeto_id="C2", por=dpo)
    datos, codigo = ordenar()
    assert (datos["producidos"], datos["fallidos"], datos["pendientes"], codigo) == (1, 1, 1, 3)


def test_cada_uno_tiene_su_turno_aunque_otro_falle_siempre(
    pedido: tuple[Client, Expediente],
    preferencia: Callable[..., None],
    dpo: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _cliente, roto = pedido
    Expediente.objects.filter(pk=roto.pk).update(pedido=b"otra cosa")
    for tipo in ("idioma", "horario"):
        preferencia("C2", tipo)
    servicios.pedir_expediente(espacio="clientes", sujeto_id="C2", por=dpo)
    with monkeypatch.context() as parche:
        agotar_tras(parche, 1)
        datos, codigo = ordenar("--batch-size", "1")
    assert (datos["producidos"], datos["fallidos"], datos["pendientes"], codigo) == (0, 1, 2, 3)
    with monkeypatch.context() as parche:
        agotar_tras(parche, 1)  # time for one: whose turn it is
        datos, codigo = ordenar("--batch-size", "1")
    assert (datos["producidos"], datos["fallidos"], datos["pendientes"], codigo) == (1, 0, 1, 3)
    assert Expediente.objects.pendientes().get() == roto


def test_un_lote_pequeno_no_deja_a_nadie_sin_hacer(
    pedido: tuple[Client, Expediente], preferencia: Callable[..., None], dpo: Any
) -> None:
    for tipo in ("idioma", "horario"):
        preferencia("C2", tipo)
    servicios.pedir_expediente(espacio="clientes", sujeto_id="C2", por=dpo)
    assert ordenar("--batch-size", "1") == (
        {"producidos": 2, "fallidos": 0, "pendientes": 0, "simulado": False},
        0,
    )


def test_si_se_acaba_el_tiempo_y_queda_alguno_lo_dice(
    pedido: tuple[Client, Expediente], monkeypatch: pytest.MonkeyPatch
) -> None:
    agotar_tras(monkeypatch, 0)
    datos, codigo = ordenar()
    assert (datos["producidos"], datos["fallidos"], datos["pendientes"], codigo) == (0, 0, 1, 3)


def agotar_tras(parche: pytest.MonkeyPatch, cuantos: int) -> None:
    """The command is told to stop when it has begun that many."""
    quedan = iter([False] * cuantos)
    parche.setattr("memoria.comandos.Plazo.agotado", property(lambda _plazo: next(quedan, True)))


def test_lo_que_cabe_se_produce_en_la_pagina(
    navegar: Callable[..., Any], preferencia: Callable[..., None], persona: Callable[..., Any]
) -> None:
    preferencia("C1")
    pagina = navegar("dpo").post(f"{PAGINA}producir/", follow=True).content.decode()
    assert "Expediente producido" in pagina
    with pytest.raises(SinPermiso):
        servicios.pedir_expediente(espacio="clientes", sujeto_id="C1", por=persona("compras", nombre="c"))


def test_cuenta_tambien_lo_que_hay_sellado(
    preferencia: Callable[..., None],
    charla: Callable[..., None],
    hasta: Callable[..., Any],
    dpo: Any,
    otro_dpo: Any,
) -> None:
    preferencia("C1")
    charla("C1", "h1", ["hola"])
    assert expedientes.filas("clientes", "C1") == 4  # a document, a thread, its checkpoint and its blob
    solicitud = hasta(Estado.REVISADA)
    hasta_cuando = plazos.hoy() + timedelta(days=30)
    servicios.decidir_copia(solicitud=solicitud, hasta=hasta_cuando, motivo=None, por=dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    assert expedientes.filas("clientes", "C1") == expedientes.FILAS_POR_TROZO
    assert expedientes.filas("clientes", "C2") == 0


def ordenar(*opciones: str) -> tuple[dict[str, Any], int]:
    """``producir_expedientes``: ``(JSON, exit code)``."""
    datos, _, codigo = ordenes.ordenar("producir_expedientes", *opciones)
    return datos, codigo
