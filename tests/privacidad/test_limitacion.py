"""Art. 18: what is restricted no agent reads, whatever it does, and nobody writes over it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest
from django.db import transaction

from memoria.agentes import ContextoCliente, configuracion
from memoria.almacen import dimensiones
from memoria.busqueda import buscar_avisos
from memoria.comandos import Plazo
from memoria.explorador.ficha import Ficha
from memoria.models import Documento
from memoria.politica import PoliticaIncumplida, documento_preferencia, espacio
from memoria.retencion import barrer
from privacidad import servicios
from privacidad.destinos import Recuento, Sujeto, destino
from privacidad.errores import DatoNoValido, SinPermiso
from privacidad.estados import Estado
from privacidad.models import Asiento, Restriccion
from tests.esperas import EnOtroHilo, esperar_a_que_espere

C1, P1 = espacio("clientes", "C1"), espacio("proveedores", "P1")
AVISO = {"texto": "Suben los precios en enero", "fecha": "2026-11-29"}


@pytest.fixture
def restringir(dpo: Any) -> Callable[..., Restriccion]:
    def hacer(clave: str = "", sujeto_id: str = "C1", raiz: str = "clientes") -> Restriccion:
        return servicios.restringir(
            espacio=raiz, sujeto_id=sujeto_id, clave=clave, motivo="Dice que no es suyo", por=dpo
        )

    return hacer


def leido(almacen: Any, de: tuple[str, str] = C1) -> set[str]:
    """Keys that an agent gets, by every way there is of reading; all the ways agree."""
    por_ficha = {i.key for i in almacen.search(de)}
    todas = ["pref-idioma", "pref-horario", "a1", "a2"]
    assert {k for k in todas if almacen.get(de, k)} == por_ficha
    assert {i.key for i in almacen.search(de[:1], limit=100) if i.namespace == de} == por_ficha
    assert {i.key for i in almacen.search(de, filter={"texto": {"$ne": "otro"}})} == por_ficha
    assert (de in almacen.list_namespaces(prefix=de[:1])) is bool(por_ficha)
    a_la_vez = asyncio.run(_asincrono(almacen, de, todas))
    assert a_la_vez == por_ficha
    return por_ficha


async def _asincrono(almacen: Any, de: tuple[str, str], claves: list[str]) -> set[str]:
    items = [await almacen.aget(de, k) for k in claves]
    hallados = {i.key for i in await almacen.asearch(de)}
    assert {i.key for i in items if i} == hallados
    return hallados


# -- reading ----------------------------------------------------------------------------------------


def test_un_documento_limitado_no_lo_lee_ningun_agente(
    almacen: Any, preferencia: Callable[..., None], restringir: Callable[..., Restriccion], dpo: Any
) -> None:
    preferencia("C1", "idioma")
    preferencia("C1", "horario", "tarde")
    preferencia("C10", "idioma")
    limitacion = restringir("pref-idioma")
    assert leido(almacen) == {"pref-horario"}
    assert leido(almacen, espacio("clientes", "C10")) == {"pref-idioma"}
    servicios.levantar(restriccion=limitacion, motivo="Era suyo", por=dpo)
    assert leido(almacen) == {"pref-idioma", "pref-horario"}


def test_una_ficha_limitada_desaparece_entera(
    almacen: Any, preferencia: Callable[..., None], restringir: Callable[..., Restriccion]
) -> None:
    preferencia("C1", "idioma")
    preferencia("C1", "horario", "tarde")
    restringir()
    assert leido(almacen) == set()


def test_un_aviso_limitado_no_sale_en_ninguna_busqueda_y_compras_lo_ve(
    almacen: Any, almacen_compras: Any, restringir: Callable[..., Restriccion], como: Callable[..., Any]
) -> None:
    almacen_compras.put(P1, "a1", AVISO)
    almacen_compras.put(P1, "a2", {**AVISO, "texto": "Cierran en agosto por vacaciones"})
    consulta = "subida de precios"
    assert next(i.key for i in buscar_avisos(almacen, "P1", consulta)) == "a1"
    restringir("a1", "P1", "proveedores")
    assert leido(almacen, P1) == {"a2"}
    assert "a1" not in {i.key for i in almacen.search(P1, query=consulta)}
    assert "a1" not in {i.key for i in buscar_avisos(almacen, "P1", consulta)}
    vectores = "SELECT key FROM langgraph.store_vectors ORDER BY key"
    assert como("memoria_agentes").execute(vectores).fetchall() == [("a2",)]
    assert como("memoria_web").execute(vectores).fetchall() == [("a1",), ("a2",)]
    assert {i.key for i in almacen_compras.search(P1)} == {"a1", "a2"}


def test_el_agente_no_puede_quitar_la_marca(
    almacen: Any,
    preferencia: Callable[..., None],
    restringir: Callable[..., Restriccion],
    como: Callable[..., Any],
    propietario: Any,
) -> None:
    preferencia("C1")
    restringir()
    agentes = como("memoria_agentes")
    propietario.execute(
        "INSERT INTO langgraph.store_vectors (prefix, key, field_name, embedding, limitado)"
        " SELECT prefix, key, 'texto', array_fill(0, ARRAY[%s])::vector, true FROM langgraph.store",
        [dimensiones(propietario.cursor())],
    )
    for tabla in ("store", "store_vectors"):
        assert agentes.execute(f"UPDATE langgraph.{tabla} SET limitado = false").rowcount == 0
        assert agentes.execute(f"DELETE FROM langgraph.{tabla}").rowcount == 0
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        agentes.execute("SELECT prefijo FROM public.privacidad_restriccion")
    assert leido(almacen) == set()


def test_la_ficha_lo_muestra_y_el_agente_no_lo_recibe(
    preferencia: Callable[..., None], restringir: Callable[..., Restriccion]
) -> None:
    preferencia("C1", valor="occitano")
    assert "occitano" in Ficha.de("clientes", "C1", con_hilos=False).prompt
    restringir()
    ficha = Ficha.de("clientes", "C1", con_hilos=False)
    assert [d.limitado for d in ficha.documentos] == [True]
    assert "occitano" not in ficha.prompt
    assert ficha.vigentes == []


# -- writing ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("clave", ["pref-idioma", ""])
def test_un_agente_no_escribe_ni_borra_lo_limitado(
    clave: str, almacen: Any, preferencia: Callable[..., None], restringir: Callable[..., Restriccion]
) -> None:
    preferencia("C1", valor="catalán")
    restringir(clave)
    for escribir in (
        lambda: preferencia("C1", valor="inglés"),
        lambda: almacen.delete(C1, "pref-idioma"),
        lambda: asyncio.run(almacen.adelete(C1, "pref-idioma")),
    ):
        with pytest.raises(PoliticaIncumplida, match="limitado mientras privacidad"):
            escribir()
    assert Documento.objects.get(key="pref-idioma").value["valor"] == "catalán"
    if clave:
        preferencia("C1", "horario", "tarde")
        assert leido(almacen) == {"pref-horario"}
    else:
        with pytest.raises(PoliticaIncumplida, match="limitado"):
            preferencia("C1", "horario", "tarde")


def test_un_rechazo_no_se_lleva_a_sus_vecinos(
    almacen: Any, preferencia: Callable[..., None], restringir: Callable[..., Restriccion]
) -> None:
    preferencia("C1")
    restringir()

    async def a_la_vez() -> list[Any]:
        puestas = []
        for cliente in ("C1", "C2", "C3"):
            clave, documento = documento_preferencia("clientes", tipo="idioma", valor="v", hilo="h")
            puestas.append(almacen.aput(espacio("clientes", cliente), clave, documento))
        return await asyncio.gather(*puestas, return_exceptions=True)

    errores = asyncio.run(a_la_vez())
    assert any(isinstance(e, PoliticaIncumplida) for e in errores)
    assert {d.prefix for d in Documento.objects.all()} == {"clientes.C1", "clientes.C2", "clientes.C3"}


def test_compras_tampoco_cambia_un_aviso_limitado(
    almacen_compras: Any, restringir: Callable[..., Restriccion], como: Callable[..., Any]
) -> None:
    almacen_compras.put(P1, "a1", AVISO)
    restringir("a1", "P1", "proveedores")
    with pytest.raises(PoliticaIncumplida, match="limitado"):
        almacen_compras.put(P1, "a1", {**AVISO, "texto": "Otra cosa"})
    with pytest.raises(PoliticaIncumplida, match="limitado"):
        almacen_compras.delete(P1, "a1")
    web = como("memoria_web")
    for orden in ("UPDATE langgraph.store SET value = '{}'", "DELETE FROM langgraph.store"):
        with pytest.raises(psycopg.DatabaseError, match="limitado"):
            web.execute(orden)
    assert Documento.objects.get().value == AVISO


def test_quien_escribia_cuando_se_limita_no_deja_nada_a_la_vista(
    almacen: Any,
    preferencia: Callable[..., None],
    restringir: Callable[..., Restriccion],
    como: Any,
    propietario: psycopg.Connection,
) -> None:
    """A write that was in flight is found by the restriction, which waits for it."""
    preferencia("C1")
    agente = como("memoria_agentes")
    with agente.transaction():
        agente.execute(
            "INSERT INTO langgraph.store (prefix, key, value) VALUES ('clientes.C1', 'pref-horario', '{}')"
        )
        limitacion = EnOtroHilo(restringir).empezar()
        esperar_a_que_espere(propietario)
    limitacion.resultado()
    assert leido(almacen) == set()
    assert Documento.objects.filter(limitado=True).count() == 2


@pytest.mark.parametrize(
    ("primero", "leidas"), [("limitar", {"pref-horario"}), ("levantar", {"pref-idioma", "pref-horario"})]
)
def test_levantar_la_ficha_a_la_vez_que_cambia_la_de_un_documento(
    primero: str,
    leidas: set[str],
    almacen: Any,
    preferencia: Callable[..., None],
    restringir: Callable[..., Restriccion],
    propietario: psycopg.Connection,
    dpo: Any,
) -> None:
    """Neither sees what the other has not committed: each marks by what is in force, so they take turns."""
    preferencia("C1", "idioma")
    preferencia("C1", "horario", "tarde")
    ficha = restringir()
    documento = restringir("pref-idioma") if primero == "levantar" else None
    levantar = EnOtroHilo(lambda: servicios.levantar(restriccion=ficha, motivo="Era suya", por=dpo))
    with ExitStack() as pila, transaction.atomic():
        if documento:
            servicios.levantar(restriccion=documento, motivo="Era suyo", por=dpo)
        else:
            restringir("pref-idioma")
        pila.enter_context(levantar)
        esperar_a_que_espere(propietario, "%")
    levantar.resultado()
    assert leido(almacen) == leidas


def test_levantar_mientras_se_suprime_espera_y_dice_que_ya_no_esta(
    preferencia: Callable[..., None],
    restringir: Callable[..., Restriccion],
    hasta: Callable[..., Any],
    propietario: psycopg.Connection,
    dpo: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The erasure has the documents and will want the restriction: neither waits for the other for ever."""
    preferencia("C1")
    limitacion = restringir("pref-idioma")
    solicitud = hasta(Estado.APROBADA, "C1")
    levantar = EnOtroHilo(lambda: servicios.levantar(restriccion=limitacion, motivo="Era suyo", por=dpo))
    hilos = destino("hilos")  # its turn comes after that of the documents
    suprimir = hilos.suprimir
    with ExitStack() as pila:

        def con_alguien_que_levanta(sujeto: Sujeto) -> Recuento:
            pila.enter_context(levantar)
            esperar_a_que_espere(propietario, "%")
            return suprimir(sujeto)

        monkeypatch.setattr(hilos, "suprimir", con_alguien_que_levanta)
        servicios.ejecutar(solicitud=solicitud)
    with pytest.raises(DatoNoValido, match="ya no está en vigor"):
        levantar.resultado()
    assert solicitud.estado == Estado.COMPLETADA


# -- keeping ----------------------------------------------------------------------------------------


def test_lo_limitado_no_se_barre_hasta_que_se_levanta(
    preferencia: Callable[..., None], restringir: Callable[..., Restriccion], propietario: Any, dpo: Any
) -> None:
    preferencia("C1")
    preferencia("C2")
    limitacion = restringir()
    propietario.execute("UPDATE langgraph.store SET expires_at = now() - interval '3 days'")
    assert Documento.objects.caducados().count() == 1
    assert barrer(lote=10, plazo=Plazo(), simular=True)["borrados"] == 1
    assert barrer(lote=10, plazo=Plazo(), simular=False)["borrados"] == 1
    assert Documento.objects.get().prefix == "clientes.C1"
    servicios.levantar(restriccion=limitacion, motivo="Ya no hace falta", por=dpo)
    assert barrer(lote=10, plazo=Plazo(), simular=False)["borrados"] == 1


def test_leerlo_no_lo_renueva(
    almacen: Any, preferencia: Callable[..., None], restringir: Callable[..., Restriccion], propietario: Any
) -> None:
    preferencia("C1")
    propietario.execute("UPDATE langgraph.store SET expires_at = now() + interval '2 days'")
    antes = Documento.objects.get().expires_at
    restringir()
    leido(almacen)
    assert Documento.objects.get().expires_at == antes


def test_la_supresion_borra_lo_limitado_y_olvida_la_limitacion(
    hasta: Callable[..., Any],
    preferencia: Callable[..., None],
    restringir: Callable[..., Restriccion],
    apariciones: Callable[[str], list[str]],
) -> None:
    preferencia("C-limitado")
    restringir("", "C-limitado")
    hasta(Estado.COMPLETADA, "C-limitado")
    assert not Documento.objects.exists()
    assert apariciones("C-limitado") == []
    limitacion = Restriccion.objects.get()
    assert limitacion.levantada
    assert limitacion.motivo == ""


# -- the service --------------------------------------------------------------------------------------


def test_sin_permiso_no_se_limita_ni_se_levanta(
    preferencia: Callable[..., None], restringir: Callable[..., Restriccion], persona: Callable[..., Any]
) -> None:
    preferencia("C1")
    otro = persona("operaciones")
    with pytest.raises(SinPermiso):
        servicios.restringir(espacio="clientes", sujeto_id="C1", motivo="x", por=otro)
    limitacion = restringir()
    with pytest.raises(SinPermiso):
        servicios.levantar(restriccion=limitacion, motivo="x", por=otro)
    assert Restriccion.objects.get().levantada is None


def test_lo_que_no_vale_se_dice_y_no_cambia_nada(
    preferencia: Callable[..., None], restringir: Callable[..., Restriccion], dpo: Any
) -> None:
    with pytest.raises(DatoNoValido, match="no hay ese dato"):
        restringir()
    preferencia("C1")
    with pytest.raises(DatoNoValido, match="no hay ese dato"):
        restringir("pref-horario")
    with pytest.raises(DatoNoValido, match="motivo"):
        servicios.restringir(espacio="clientes", sujeto_id="C1", motivo=" ", por=dpo)
    limitacion = restringir("pref-idioma")
    with pytest.raises(DatoNoValido, match="ya está limitado"):
        restringir("pref-idioma")
    servicios.levantar(restriccion=limitacion, motivo="Era suyo", por=dpo)
    with pytest.raises(DatoNoValido, match="ya no está en vigor"):
        servicios.levantar(restriccion=limitacion, motivo="Era suyo", por=dpo)
    assert Restriccion.objects.count() == 1


def test_el_registro_dice_que_se_limito_y_no_a_quien(
    preferencia: Callable[..., None], restringir: Callable[..., Restriccion], dpo: Any
) -> None:
    preferencia("C-registrado")
    servicios.levantar(restriccion=restringir("pref-idioma", "C-registrado"), motivo="Era suyo", por=dpo)
    asientos = list(Asiento.objects.order_by("numero"))
    assert [a.tipo for a in asientos] == ["limitacion", "limitacion_levantada"]
    assert asientos[0].datos["alcance"] == "documento"
    assert "C-registrado" not in str([(a.datos, a.referencia) for a in asientos])


def test_una_limitacion_deshecha_no_deja_marca(
    almacen: Any, preferencia: Callable[..., None], restringir: Callable[..., Restriccion]
) -> None:
    preferencia("C1")
    with transaction.atomic():
        restringir()
        transaction.set_rollback(True)
    assert leido(almacen) == {"pref-idioma"}
    assert not Documento.objects.filter(limitado=True).exists()


def test_la_pagina_dice_que_las_conversaciones_no_se_limitan(
    navegar: Callable[..., Any],
    preferencia: Callable[..., None],
    conversacion: Callable[..., None],
    restringir: Callable[..., Restriccion],
    hilos: Any,
) -> None:
    """And it is so: the agent goes on with a thread of a restricted card."""
    preferencia("C1")
    conversacion("C1", "h1", texto="lo discutido")
    restringir()
    hilo = hilos.get_tuple(configuracion(ContextoCliente(cliente_id="C1", tienda="T1"), "h1"))
    assert hilo.checkpoint["channel_values"]["messages"] == ["lo discutido"]
    pagina = navegar("dpo").get("/privacidad/derechos/clientes/C1/").content.decode()
    assert "Las conversaciones no se pueden limitar" in pagina
