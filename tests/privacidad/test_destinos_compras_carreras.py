"""A notice that changes its place while the review looks for mentions: found where it was, or not moved."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from django.utils import timezone

from compras import servicios as compras
from compras.errores import ErrorDeCompras, FusionImposible, NoSePuedeReponer
from compras.models import Proveedor, Retirada
from memoria import mudanzas
from privacidad import plazos, servicios
from privacidad.errores import AvisosMoviendose
from privacidad.estados import Estado
from privacidad.models import Solicitud
from tests.esperas import EnOtroHilo, a_la_vez, esperando, esperar

TELEFONO = {"telefono": "612345678"}


@pytest.fixture
def lola(persona: Callable[..., Any]) -> Any:
    usuaria = persona("compras", nombre="lola")
    assert usuaria.has_perms(["compras.change_proveedor", "compras.escribir_avisos"])
    return usuaria


@pytest.fixture
def p1(bd: str) -> Proveedor:
    return Proveedor.objects.create(codigo="P1", nombre="Alfares")


@pytest.fixture
def p2(bd: str) -> Proveedor:
    return Proveedor.objects.create(codigo="P2", nombre="Otros")


@pytest.fixture
def escribir(lola: Any, p1: Proveedor) -> Callable[..., str]:
    def uno(texto: str = "Preguntar a la clienta, 612345678, antes") -> str:
        return compras.escribir(proveedor=p1, texto=texto, fecha=timezone.localdate(), por=lola)

    return uno


@contextmanager
def parado_en(bd: str, cerrojo: str) -> Iterator[None]:
    """Whoever needs that lock waits until the end of the block."""
    with psycopg.connect(bd) as conexion:
        conexion.execute(cerrojo)
        yield
        conexion.rollback()


ENTRE_LAS_DOS_BUSQUEDAS = "LOCK TABLE public.documentos_pagina IN ACCESS EXCLUSIVE MODE"
ANTES_DE_CONFIRMAR = "SELECT pg_advisory_xact_lock(hashtextextended('privacidad:registro', 0))"


def esperan(propietario: psycopg.Connection, cuantos: int, hilo: EnOtroHilo) -> None:
    """Until that many wait for some lock, or that thread is over."""
    esperar(lambda: len(esperando(propietario)) >= cuantos or not hilo.en_marcha(), "nobody waits")


def identificada(recibida: Callable[..., Any], dpo: Any) -> Solicitud:
    solicitud: Solicitud = recibida("C1", identificadores=TELEFONO)
    servicios.identificar(solicitud=solicitud, como="DNI en tienda", por=dpo)
    return solicitud


def borrarlo_todo(solicitud: Solicitud, dpo: Any, otro_dpo: Any) -> None:
    for mencion in solicitud.menciones.all():
        servicios.decidir_mencion(mencion=mencion, decision="borrar", motivo="Es suyo", por=dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    assert solicitud.estado == Estado.COMPLETADA


@pytest.mark.parametrize("parada", [ENTRE_LAS_DOS_BUSQUEDAS, ANTES_DE_CONFIRMAR])
@pytest.mark.parametrize("que", ["reponer", "retirar", "fusionar"])
def test_what_moves_during_a_review_is_found_and_erased(
    que: str,
    parada: str,
    recibida: Callable[..., Any],
    escribir: Callable[..., str],
    preferencia: Callable[..., None],
    apariciones: Callable[[str], list[str]],
    propietario: psycopg.Connection,
    bd: str,
    p1: Proveedor,
    p2: Proveedor,
    lola: Any,
    dpo: Any,
    otro_dpo: Any,
) -> None:
    preferencia("C1")
    clave = escribir()
    if que == "reponer":
        compras.retirar(proveedor=p1, clave=clave, motivo="error", por=lola)
        numero = Retirada.objects.get().pk
    mover: Callable[[], Any] = {
        "reponer": lambda: compras.reponer(retirada=numero, por=lola),
        "retirar": lambda: compras.retirar(proveedor=p1, clave=clave, motivo="error", por=lola),
        "fusionar": lambda: compras.fusionar(origen=p1, destino=p2, por=lola),
    }[que]
    solicitud = identificada(recibida, dpo)
    with parado_en(bd, parada):
        revision = EnOtroHilo(lambda: servicios.revisar(solicitud=solicitud, por=dpo)).empezar()
        esperan(propietario, 1, revision)
        movida = EnOtroHilo(mover).empezar()
        esperan(propietario, 2, movida)
    revision.resultado()
    if que == "retirar":  # it is withdrawn and not kept: its address is in the review, and it is gone
        assert movida.resultado() is False
    else:
        with pytest.raises((NoSePuedeReponer, FusionImposible)):
            movida.resultado()
    solicitud.refresh_from_db()
    assert solicitud.menciones.count() == 1
    borrarlo_todo(solicitud, dpo, otro_dpo)
    assert apariciones("612345678") == []


def test_what_moves_first_is_found_where_it_went(
    recibida: Callable[..., Any],
    escribir: Callable[..., str],
    propietario: psycopg.Connection,
    bd: str,
    p1: Proveedor,
    p2: Proveedor,
    lola: Any,
    dpo: Any,
) -> None:
    escribir()
    solicitud = identificada(recibida, dpo)
    # The merge has moved its rows and cannot commit yet: the log it writes at the end is not to be had.
    with parado_en(bd, "LOCK TABLE public.django_admin_log IN SHARE MODE"):
        movida = EnOtroHilo(lambda: compras.fusionar(origen=p1, destino=p2, por=lola)).empezar()
        esperan(propietario, 1, movida)
        revision = EnOtroHilo(lambda: servicios.revisar(solicitud=solicitud, por=dpo)).empezar()
        esperan(propietario, 2, revision)
    assert movida.resultado().movidos == 1
    revision.resultado()
    assert [m.prefijo for m in solicitud.menciones.all()] == ["proveedores.P2"]


@pytest.mark.parametrize("que", ["reponer", "retirar", "fusionar"])
def test_a_move_that_waits_too_long_says_so_and_changes_nothing(
    que: str,
    escribir: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
    bd: str,
    p1: Proveedor,
    p2: Proveedor,
    lola: Any,
) -> None:
    monkeypatch.setattr(mudanzas, "ESPERA", "100ms")
    clave, otra = escribir(), escribir("Otra cosa")
    compras.retirar(proveedor=p1, clave=otra, motivo="error", por=lola)
    numero = Retirada.objects.get().pk
    mover: Callable[[], Any] = {
        "reponer": lambda: compras.reponer(retirada=numero, por=lola),
        "retirar": lambda: compras.retirar(proveedor=p1, clave=clave, motivo="error", por=lola),
        "fusionar": lambda: compras.fusionar(origen=p1, destino=p2, por=lola),
    }[que]
    with parado_en(bd, f"SELECT pg_advisory_xact_lock({mudanzas.CERROJO})"):
        with pytest.raises(ErrorDeCompras, match=r"[Pp]rivacidad está .* dentro de un momento"):
            mover()
        assert [r.pk for r in Retirada.objects.all()] == [numero]
        # Whatever moves nothing goes on.
        assert escribir("Cierran en agosto")
    mover()


def test_a_review_that_waits_too_long_says_so_and_stays_as_it_was(
    recibida: Callable[..., Any],
    preferencia: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    bd: str,
    dpo: Any,
) -> None:
    monkeypatch.setattr(mudanzas, "ESPERA", "100ms")
    preferencia("C1")
    solicitud = identificada(recibida, dpo)
    with parado_en(bd, f"SELECT pg_advisory_xact_lock_shared({mudanzas.CERROJO})"):
        with pytest.raises(AvisosMoviendose):
            servicios.revisar(solicitud=solicitud, por=dpo)
        solicitud.refresh_from_db()
        assert solicitud.estado == Estado.IDENTIFICADA
    servicios.revisar(solicitud=solicitud, por=dpo)
    with parado_en(bd, f"SELECT pg_advisory_xact_lock_shared({mudanzas.CERROJO})"):
        # What another receipt brings is looked for at once, and is not registered if it cannot be.
        with pytest.raises(AvisosMoviendose):
            recibida("C1", identificadores={"email": "ana@example.es"})
        assert Solicitud.objects.count() == 1


def test_reviews_runs_and_moves_at_once_do_not_block_each_other_for_ever(
    recibida: Callable[..., Any],
    escribir: Callable[..., str],
    preferencia: Callable[..., None],
    p1: Proveedor,
    lola: Any,
    dpo: Any,
    otro_dpo: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Linked receipts search again with the register in sight; runs hold a fence that moves wait for."""
    monkeypatch.setattr(mudanzas, "ESPERA", "60s")  # who waits for ever ends so, who is slow does not
    preferencia("C1")
    preferencia("C2")
    solicitud = identificada(recibida, dpo)
    servicios.revisar(solicitud=solicitud, por=dpo)
    clave = escribir("Nada de nadie")

    def repetir(f: Callable[[], object]) -> Callable[[], None]:
        def una_y_otra_vez() -> None:
            """For a while, and three times at least: a busy machine may take the while for one."""
            fin = time.monotonic() + 4
            for vez in itertools.count():
                if vez >= 3 and time.monotonic() > fin:
                    return
                f()

        return una_y_otra_vez

    def mover() -> None:
        compras.retirar(proveedor=p1, clave=clave, motivo="error", por=lola)
        compras.reponer(retirada=Retirada.objects.get().pk, por=lola)

    def volver_a_recibir() -> None:
        servicios.recibir(
            espacio="clientes",
            sujeto_id="C1",
            canal="correo",
            recibida=plazos.hoy(),
            identificadores={"telefono": "699888777"},
            por=dpo,
        )

    def suprimir_a_otro() -> None:
        servicios.ejecutar(solicitud=ajena, simular=True)

    ajena = recibida("P1", espacio="proveedores")
    servicios.retirar(solicitud=ajena, motivo="Se equivocó", por=dpo)
    ajena = recibida("C2")
    servicios.identificar(solicitud=ajena, como="DNI en tienda", por=dpo)
    servicios.revisar(solicitud=ajena, por=dpo)
    servicios.aprobar(solicitud=ajena, por=otro_dpo)
    trabajos = (
        mover,
        volver_a_recibir,
        suprimir_a_otro,
        lambda: servicios.revisar(solicitud=solicitud, por=dpo),
    )
    a_la_vez(
        *(repetir(f) for f in trabajos)
    )  # which gives up on who does not end, and raises what was raised
