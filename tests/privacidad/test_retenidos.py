"""What is held back (art. 17(3) GDPR) stays as it was, whatever door somebody tries, until it is let go."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from datetime import date
from typing import Any

import psycopg
import pytest
from django.urls import reverse

from compras import servicios as de_compras
from compras.errores import ErrorDeCompras
from compras.models import Proveedor
from memoria.comandos import Plazo
from memoria.models import Documento, Hilo
from memoria.politica import PoliticaIncumplida, documento_preferencia, espacio
from memoria.retencion import barrer
from memoria.vallas import DatoRetenido
from privacidad import servicios, supresion
from privacidad.destinos import destino
from privacidad.errores import DatoNoValido, ErrorDePrivacidad
from privacidad.estados import Estado
from privacidad.models import Exclusion, Mencion, Restriccion, Solicitud
from tests.esperas import EnOtroHilo, esperar_a_que_espere

TELEFONO = {"telefono": "612345678"}


@pytest.fixture
def fila(propietario: Any) -> Callable[..., Any]:
    """The whole row of a document, as text: what must not change by a byte."""

    def leer(clave: str = "pref-contacto", prefijo: str = "clientes.RA1") -> Any:
        return propietario.execute(
            "SELECT to_jsonb(s)::text FROM langgraph.store s WHERE prefix = %s AND key = %s", [prefijo, clave]
        ).fetchone()

    return leer


@pytest.fixture
def retenida(hasta: Callable[..., Any], preferencia: Callable[..., None], otro_dpo: Any) -> Exclusion:
    """RA1 has two documents, and the one that names somebody else's telephone is held back."""
    preferencia("RA1", "contacto", "llamar al 612 345 678")
    preferencia("RA1", "idioma")
    return servicios.excluir(
        solicitud=hasta(Estado.REVISADA, "RA1"),
        destino="memoria",
        clave="pref-contacto",
        motivo="reclamacion",
        por=otro_dpo,
    )


def ejecutada(exclusion: Exclusion, por: Any) -> Solicitud:
    servicios.aprobar(solicitud=exclusion.solicitud, por=por)
    servicios.ejecutar(solicitud=exclusion.solicitud)
    assert exclusion.solicitud.estado == Estado.PARCIAL
    return exclusion.solicitud


# -- the doors ----------------------------------------------------------------------------------------


def test_un_agente_ni_la_cambia_ni_la_borra_y_recibe_una_frase(
    retenida: Exclusion, almacen: Any, fila: Callable[..., Any]
) -> None:
    antes = fila()
    clave, documento = documento_preferencia("clientes", tipo="contacto", valor="nunca", hilo="h9")
    with pytest.raises(DatoRetenido, match="retenido"):
        almacen.put(espacio("clientes", "RA1"), clave, documento)
    with pytest.raises(DatoRetenido, match="retenido"):
        almacen.delete(espacio("clientes", "RA1"), clave)
    assert fila() == antes
    assert issubclass(DatoRetenido, PoliticaIncumplida)  # the model gets the sentence and the run goes on
    almacen.delete(espacio("clientes", "RA1"), "pref-idioma")


def test_leerla_la_renueva_y_no_la_cambia(
    retenida: Exclusion, almacen: Any, propietario: Any, fila: Callable[..., Any]
) -> None:
    propietario.execute(
        "UPDATE langgraph.store SET ttl_minutes = 20000, expires_at = now() + interval '5 days'"
    )
    assert almacen.get(espacio("clientes", "RA1"), "pref-contacto") is not None
    assert propietario.execute(
        "SELECT expires_at > now() + interval '6 days' FROM langgraph.store WHERE key = 'pref-contacto'"
    ).fetchone() == (True,)


def test_ni_se_rectifica_ni_se_borra_el_dato(retenida: Exclusion, dpo: Any, fila: Callable[..., Any]) -> None:
    antes = fila()
    suyo = {"espacio": "clientes", "sujeto_id": "RA1", "clave": "pref-contacto",
            "visto": Documento.objects.get(key="pref-contacto").updated_at, "por": dpo}  # fmt: skip
    with pytest.raises(DatoNoValido, match=retenida.solicitud.referencia):
        servicios.borrar_dato(**suyo, motivo="Lo pide")
    with pytest.raises(DatoNoValido, match=retenida.solicitud.referencia):
        servicios.rectificar(**suyo, valor="por correo")
    assert fila() == antes


def test_despues_de_ejecutar_su_limitacion_no_se_levanta(
    retenida: Exclusion, dpo: Any, otro_dpo: Any, fila: Callable[..., Any]
) -> None:
    solicitud = ejecutada(retenida, otro_dpo)
    antes = fila()
    with pytest.raises(DatoNoValido, match=solicitud.referencia):
        servicios.levantar(restriccion=Restriccion.objects.get(), motivo="Ya está", por=dpo)
    assert Restriccion.objects.get().levantada is None
    assert fila() == antes


def test_la_que_ya_estaba_impugnada_se_levanta_mientras_no_se_ejecuta(retenida: Exclusion, dpo: Any) -> None:
    limitacion = servicios.restringir(
        espacio="clientes", sujeto_id="RA1", clave="pref-contacto", motivo="Lo discute", por=dpo
    )
    servicios.levantar(restriccion=limitacion, motivo="Era cierto", por=dpo)


def test_ni_por_la_mencion_de_otra_persona(
    retenida: Exclusion, recibida: Callable[..., Any], dpo: Any, otro_dpo: Any, fila: Callable[..., Any]
) -> None:
    ejecutada(retenida, otro_dpo)
    antes = fila()
    otra = recibida("RB1", identificadores=TELEFONO)
    servicios.identificar(solicitud=otra, como="DNI en tienda", por=dpo)
    servicios.revisar(solicitud=otra, por=dpo)
    mencion = otra.menciones.get()
    with pytest.raises(DatoNoValido, match=retenida.solicitud.referencia):
        servicios.decidir_mencion(mencion=mencion, decision="borrar", motivo="Es el suyo", por=dpo)
    mencion.refresh_from_db()
    assert mencion.decision == Mencion.Decision.PENDIENTE
    servicios.decidir_mencion(mencion=mencion, decision="conservar", motivo="Está retenido", por=dpo)
    assert fila() == antes


def test_decidida_antes_de_retenerse_la_ejecucion_la_deja_y_sigue_a_medias(
    preferencia: Callable[..., None],
    hasta: Callable[..., Any],
    recibida: Callable[..., Any],
    dpo: Any,
    otro_dpo: Any,
    fila: Callable[..., Any],
) -> None:
    preferencia("RA1", "contacto", "llamar al 612 345 678")
    preferencia("RB1")
    otra = recibida("RB1", identificadores=TELEFONO)
    servicios.identificar(solicitud=otra, como="DNI en tienda", por=dpo)
    servicios.revisar(solicitud=otra, por=dpo)
    servicios.decidir_mencion(mencion=otra.menciones.get(), decision="borrar", motivo="Es el suyo", por=dpo)
    servicios.aprobar(solicitud=otra, por=otro_dpo)
    exclusion = servicios.excluir(
        solicitud=hasta(Estado.REVISADA, "RA1"),
        destino="memoria",
        clave="pref-contacto",
        motivo="reclamacion",
        por=dpo,
    )
    antes = fila()

    evidencia = servicios.ejecutar(solicitud=otra)

    assert otra.estado == Estado.PARCIAL
    assert fila() == antes
    assert not Documento.objects.filter(prefix="clientes.RB1").exists()
    menciones = evidencia.destinos["menciones"]
    assert (menciones["antes"], menciones["borrados"], menciones["despues"]) == (
        {"documentos": 1, "vectores": 0},
        {"documentos": 0, "vectores": 0},
        {"documentos": 1, "vectores": 0},
    )
    servicios.ejecutar(solicitud=otra)
    assert otra.estado == Estado.PARCIAL
    assert supresion.solo_espera_lo_retenido(otra)
    # Let go, the other's run goes on.
    servicios.liberar(exclusion=exclusion, por=otro_dpo)
    servicios.ejecutar(solicitud=otra)
    assert otra.estado == Estado.COMPLETADA
    assert not Documento.objects.exists()


def test_la_que_se_retiene_a_mitad_lo_deshace_todo(
    preferencia: Callable[..., None],
    hasta: Callable[..., Any],
    recibida: Callable[..., Any],
    dpo: Any,
    otro_dpo: Any,
    propietario: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The hold is committed after the run looked for what is held, and before it deletes."""
    preferencia("RA1", "contacto", "llamar al 612 345 678")
    preferencia("RB1")
    ajena = hasta(Estado.REVISADA, "RA1")
    otra = recibida("RB1", identificadores=TELEFONO)
    servicios.identificar(solicitud=otra, como="DNI en tienda", por=dpo)
    servicios.revisar(solicitud=otra, por=dpo)
    servicios.decidir_mencion(mencion=otra.menciones.get(), decision="borrar", motivo="Es el suyo", por=dpo)
    servicios.aprobar(solicitud=otra, por=otro_dpo)
    menciones = destino("menciones")
    borrar = menciones._con  # type: ignore[attr-defined]

    def retener_y_borrar(consulta: str, direcciones: Any) -> Any:
        if consulta == menciones.BORRAR:  # type: ignore[attr-defined]
            propietario.execute(
                "INSERT INTO privacidad_exclusion (solicitud_id, destino, clave, motivo)"
                " VALUES (%s, 'memoria', 'pref-contacto', 'obligacion')",
                [ajena.pk],
            )
        return borrar(consulta, direcciones)

    monkeypatch.setattr(menciones, "_con", retener_y_borrar)
    with pytest.raises(ErrorDePrivacidad, match="Se acaba de retener"):
        servicios.ejecutar(solicitud=otra)
    assert Documento.objects.count() == 2
    assert Solicitud.objects.get(pk=otra.pk).estado == Estado.APROBADA


def test_una_conversacion_que_se_estaba_borrando_no_se_retiene(
    hasta: Callable[..., Any],
    conversacion: Callable[..., None],
    propietario: Any,
    como: Callable[[str], psycopg.Connection],
    dpo: Any,
) -> None:
    conversacion("RA1", "h1")
    solicitud = hasta(Estado.REVISADA, "RA1")
    retener = EnOtroHilo(
        lambda: servicios.excluir(
            solicitud=solicitud, destino="hilos", clave="h1", motivo="reclamacion", por=dpo
        )
    )
    with ExitStack() as pila, propietario.transaction():
        propietario.execute("SELECT langgraph.borrar_hilos(ARRAY['h1'])")
        propietario.execute("DELETE FROM hilos WHERE thread_id = 'h1'")
        pila.enter_context(retener)
        esperar_a_que_espere(como("postgres"), 'INSERT INTO "privacidad_exclusion"%')
    with pytest.raises(DatoNoValido, match="se acaba de borrar"):
        retener.resultado()
    assert not Exclusion.objects.exists()


def test_de_un_identificador_que_no_cabe_tal_cual_en_la_memoria_tambien_se_retiene(
    preferencia: Callable[..., None],
    hasta: Callable[..., Any],
    almacen: Any,
    dpo: Any,
    fila: Callable[..., Any],
) -> None:
    raro = "R.A%1\t\r\n2"
    preferencia(raro, "contacto", "por correo")
    servicios.excluir(
        solicitud=hasta(Estado.REVISADA, raro),
        destino="memoria",
        clave="pref-contacto",
        motivo="reclamacion",
        por=dpo,
    )
    with pytest.raises(DatoRetenido):
        almacen.delete(espacio("clientes", raro), "pref-contacto")


def test_caducada_no_se_barre_ni_la_leen_los_agentes(
    retenida: Exclusion, propietario: Any, almacen: Any, fila: Callable[..., Any]
) -> None:
    propietario.execute("UPDATE langgraph.store SET expires_at = now() - interval '3 days'")
    antes = fila()
    assert barrer(lote=10, plazo=Plazo(), simular=True)["borrados"] == 1
    assert barrer(lote=10, plazo=Plazo(), simular=False)["borrados"] == 1
    assert fila() == antes
    assert fila("pref-idioma") is None
    assert almacen.get(espacio("clientes", "RA1"), "pref-contacto") is None
    assert not Documento.objects.caducados().exists()


@pytest.mark.parametrize("rol", ["memoria_web", "memoria_agentes", "postgres"])
@pytest.mark.parametrize(
    "sentencia",
    [
        "DELETE FROM langgraph.store WHERE key = 'pref-contacto'",
        "UPDATE langgraph.store SET value = '{}' WHERE key = 'pref-contacto'",
        "UPDATE langgraph.store SET prefix = 'clientes.RA2' WHERE key = 'pref-contacto'",
        "SELECT langgraph.borrar_sujeto('clientes.RA1')",
        "SELECT langgraph.borrar_filas(ARRAY['clientes.RA1'], ARRAY['pref-contacto'])",
        "SELECT langgraph.borrar_sujeto_hasta('clientes.RA1', now())",
    ],
)
def test_la_base_lo_niega_a_quien_sea(
    rol: str,
    sentencia: str,
    retenida: Exclusion,
    como: Callable[[str], psycopg.Connection],
    fila: Callable[..., Any],
) -> None:
    antes = fila()
    conexion = como(rol)
    ajena = (rol == "memoria_web" and "WHERE" in sentencia) or (
        rol == "memoria_agentes" and "SELECT" in sentencia
    )
    if ajena and "WHERE" in sentencia:
        conexion.execute(sentencia)  # the row policy lets the web touch no customer: nothing is found to do
    else:
        with pytest.raises(psycopg.DatabaseError) as error:
            conexion.execute(sentencia)
        assert error.value.sqlstate == ("42501" if ajena else "MV004")
        assert "612" not in str(error.value)
    assert fila() == antes


def test_nadie_la_suelta_sin_soltarla(retenida: Exclusion, como: Callable[[str], psycopg.Connection]) -> None:
    with pytest.raises(psycopg.DatabaseError) as error:
        como("memoria_agentes").execute("UPDATE langgraph.store SET retenido = false WHERE retenido")
    assert error.value.sqlstate == "MV004"


def test_soltarla_o_cerrar_la_solicitud_la_deja_como_las_demas(
    retenida: Exclusion, otro_dpo: Any, almacen: Any, hasta: Callable[..., Any]
) -> None:
    servicios.liberar(exclusion=retenida, por=otro_dpo)
    assert not Documento.objects.filter(retenido=True).exists()
    servicios.excluir(
        solicitud=retenida.solicitud,
        destino="memoria",
        clave="pref-contacto",
        motivo="obligacion",
        por=otro_dpo,
    )
    assert Documento.objects.get(retenido=True).key == "pref-contacto"
    servicios.retirar(solicitud=retenida.solicitud, motivo="Ya no lo pide", por=otro_dpo)
    assert not Documento.objects.filter(retenido=True).exists()
    almacen.delete(espacio("clientes", "RA1"), "pref-contacto")


# -- purchasing ---------------------------------------------------------------------------------------


def test_compras_ni_corrige_ni_retira_un_aviso_retenido(
    almacen_compras: Any,
    hasta: Callable[..., Any],
    dpo: Any,
    navegar: Callable[..., Any],
    fila: Callable[..., Any],
) -> None:
    proveedor = Proveedor.objects.create(codigo="P1", nombre="Norte")
    almacen_compras.put(
        ("proveedores", "P1"), "a1", {"texto": "Ruta norte", "fecha": "2026-11-29", "importancia": "normal"}
    )
    servicios.excluir(
        solicitud=hasta(Estado.REVISADA, "P1", espacio="proveedores"),
        destino="memoria",
        clave="a1",
        motivo="obligacion",
        por=dpo,
    )
    antes = fila("a1", "proveedores.P1")
    quien = navegar("compras").usuario
    with pytest.raises(ErrorDeCompras, match="obliga a conservar"):
        de_compras.corregir(
            proveedor=proveedor,
            clave="a1",
            texto="Ruta sur",
            fecha=date(2026, 11, 29),
            version=Documento.objects.get().updated_at,
            por=quien,
        )
    with pytest.raises(ErrorDeCompras, match="obliga a conservar"):
        de_compras.retirar(proveedor=proveedor, clave="a1", por=quien, motivo="error")
    assert fila("a1", "proveedores.P1") == antes


# -- conversations ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rol", ["memoria_agentes", "postgres"])
@pytest.mark.parametrize("tabla", ["langgraph.checkpoints", "langgraph.checkpoint_blobs", "public.hilos"])
def test_una_conversacion_retenida_no_se_borra(
    rol: str,
    tabla: str,
    conversacion: Callable[..., None],
    hasta: Callable[..., Any],
    dpo: Any,
    hilos: Any,
    como: Callable[[str], psycopg.Connection],
) -> None:
    for hilo in ("h-C1-a", "h-C1-b"):
        conversacion("C1", hilo)
    exclusion = servicios.excluir(
        solicitud=hasta(Estado.REVISADA, "C1"), destino="hilos", clave="h-C1-a", motivo="reclamacion", por=dpo
    )
    with pytest.raises(DatoRetenido):
        hilos.delete_thread("h-C1-a")
    with pytest.raises(psycopg.DatabaseError) as error:
        como(rol).execute(f"DELETE FROM {tabla} WHERE thread_id = 'h-C1-a'")
    assert error.value.sqlstate == "MV004"
    conversacion("C1", "h-C1-a", "sigo hablando")  # it goes on, whoever holds it
    hilos.delete_thread("h-C1-b")
    servicios.liberar(exclusion=exclusion, por=dpo)
    hilos.delete_thread("h-C1-a")
    assert not Hilo.objects.exists()


# -- pages --------------------------------------------------------------------------------------------


def test_la_pagina_de_derechos_lo_dice_con_el_numero_de_la_solicitud(
    retenida: Exclusion, navegar: Callable[..., Any], fila: Callable[..., Any]
) -> None:
    antes = fila()
    cliente = navegar("dpo", nombre="x")
    visto = Documento.objects.get(key="pref-contacto").updated_at.isoformat()
    respuesta = cliente.post(
        reverse("privacidad:derecho", args=["clientes", "RA1", "borrar"]),
        {"clave": "pref-contacto", "visto": visto, "motivo": "Lo pide"},
    )
    assert respuesta.status_code == 422
    assert retenida.solicitud.referencia in respuesta.content.decode()
    assert fila() == antes
