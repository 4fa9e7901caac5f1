"""The nightly watch: what came back of somebody erased is found and reopened; who comes anew is left
alone."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any

import psycopg
import pytest
from django.conf import settings as ajustes
from django.core.management import call_command

from memoria.models import Documento, Ejecucion
from privacidad import plazos, servicios, vigilancia
from privacidad.errores import DatoNoValido, OtraSolicitudAbierta, TransicionNoPermitida
from privacidad.estados import Estado
from privacidad.models import Asiento, Evidencia, Gestion, Paso, Solicitud
from tests import ordenes
from tests.privacidad.servidor_langfuse import ServidorLangfuse

Reponer = Callable[..., None]


def ordenar(*opciones: str) -> tuple[dict[str, Any], str, int]:
    """``verificar_supresiones``: ``(JSON, stderr, exit code)``."""
    return ordenes.ordenar("verificar_supresiones", *opciones)


@pytest.fixture
def reponer(propietario: psycopg.Connection) -> Reponer:
    """``reponer("C1", momento)``: a document written past the fence, as a restored copy puts it there."""

    def poner(sujeto_id: str, momento: datetime, *, hilo: str = "h-otro", prefijo: str = "") -> None:
        with propietario.transaction():
            propietario.execute("SET LOCAL session_replication_role = replica")
            propietario.execute(
                "INSERT INTO langgraph.store (prefix, key, value, created_at, updated_at)"
                " VALUES (%s, 'pref-idioma', jsonb_build_object('texto', 'x', 'hilo', %s::text), %s, %s)",
                [prefijo or f"clientes.{sujeto_id}", hilo, momento, momento],
            )

    return poner


@pytest.fixture
def reponer_hilo(propietario: psycopg.Connection) -> Reponer:
    def poner(espacio: str, sujeto_id: str, thread_id: str, momento: datetime) -> None:
        with propietario.transaction():
            propietario.execute("SET LOCAL session_replication_role = replica")
            propietario.execute(
                "INSERT INTO hilos (thread_id, espacio, sujeto_id, creado) VALUES (%s, %s, %s, %s)",
                [thread_id, espacio, sujeto_id, momento],
            )

    return poner


@pytest.fixture
def suprimida(hasta: Callable[..., Any], preferencia: Callable[..., None]) -> Solicitud:
    """The request of C1, erased and complete; received long enough ago that its deadline has passed."""
    preferencia("C1")
    solicitud: Solicitud = hasta(Estado.COMPLETADA, "C1", dia=date(2026, 1, 5))
    return solicitud


@pytest.fixture
def borrado(suprimida: Solicitud) -> datetime:
    """The moment of that erasure."""
    return Evidencia.objects.get(solicitud=suprimida).momento


VALLA = timedelta(minutes=ajustes.VALLA_MINUTOS)


def test_sin_nadie_suprimido_no_hay_nada_que_verificar(bd: str) -> None:
    datos, _, codigo = ordenar()
    assert (datos["verificadas"], datos["reaparecidas"], datos["recordatorios"], codigo) == (0, 0, 0, 0)
    assert Ejecucion.objects.filter(comando="verificar_supresiones", codigo=0).exists()


def test_a_quien_no_ha_vuelto_no_se_le_abre_nada(
    suprimida: Solicitud, preferencia: Callable[..., None]
) -> None:
    preferencia("C10")
    datos, _, codigo = ordenar()
    assert (datos["verificadas"], datos["reaparecidas"], codigo) == (1, 0, 0)
    suprimida.refresh_from_db()
    assert suprimida.estado == Estado.COMPLETADA


def test_e1_lo_que_reaparece_abre_la_solicitud_con_su_plazo_y_se_vuelve_a_borrar(
    suprimida: Solicitud, borrado: datetime, reponer: Reponer
) -> None:
    vence = suprimida.vence
    reponer("C1", borrado - timedelta(days=1))
    reponer("C10", borrado - timedelta(days=1))
    datos, avisos, codigo = ordenar()
    assert (datos["reaparecidas"], datos["recordatorios"], codigo) == (1, 0, 0)
    assert "grupo dpo" in avisos, "nobody has an address to be reminded at"
    assert suprimida.referencia in avisos
    assert "C1" not in avisos
    suprimida.refresh_from_db()
    assert (suprimida.estado, suprimida.sujeto_id, suprimida.cerrada) == (Estado.REAPARECIDA, "C1", None)
    assert suprimida.vence == vence < plazos.hoy()
    assert Asiento.objects.get(tipo="hallazgo").datos == {"destinos": ["memoria"]}
    assert Paso.objects.get(estado=Estado.REAPARECIDA).por is None

    call_command("ejecutar_supresiones", "--json", stdout=io.StringIO(), stderr=io.StringIO())
    suprimida.refresh_from_db()
    assert (suprimida.estado, suprimida.sujeto_id) == (Estado.COMPLETADA, "")
    assert [d.prefix for d in Documento.objects.all()] == ["clientes.C10"]
    assert ordenar()[0]["reaparecidas"] == 0


@pytest.mark.parametrize(
    ("cuando", "reaparece"),
    [
        (timedelta(days=-400), True),
        (timedelta(0), True),
        (VALLA - timedelta(minutes=1), True),
        (VALLA + timedelta(minutes=1), False),
        (timedelta(days=30), False),
    ],
    ids=["copia-antigua", "justo-antes", "dentro-de-la-valla", "tras-la-valla", "un-mes-despues"],
)
def test_lo_de_antes_es_reaparicion_y_lo_de_despues_una_ficha_nueva(
    suprimida: Solicitud, borrado: datetime, reponer: Reponer, cuando: timedelta, reaparece: bool
) -> None:
    reponer("C1", borrado + cuando)
    assert ordenar()[0]["reaparecidas"] == int(reaparece)
    suprimida.refresh_from_db()
    assert suprimida.estado == (Estado.REAPARECIDA if reaparece else Estado.COMPLETADA)
    assert Documento.objects.count() == 1, "the watch itself erases nothing"


def test_e1_lo_dicho_en_un_hilo_borrado_no_es_de_una_ficha_nueva(
    hasta: Callable[..., Any], conversacion: Callable[..., None], reponer: Reponer
) -> None:
    conversacion("C1", "h-C1-1")
    solicitud = hasta(Estado.COMPLETADA, "C1")
    despues = Evidencia.objects.get().momento + VALLA + timedelta(hours=1)
    reponer("C1", despues, hilo="h-C1-2")
    assert ordenar()[0]["reaparecidas"] == 0
    reponer("C1", despues, hilo="h-C1-1", prefijo="clientes.C1.notas")
    assert ordenar()[0]["reaparecidas"] == 1
    solicitud.refresh_from_db()
    assert solicitud.estado == Estado.REAPARECIDA


@pytest.mark.parametrize(("dias", "reaparece"), [(-1, True), (1, False)])
def test_un_hilo_de_antes_reaparece_y_uno_nuevo_no(
    suprimida: Solicitud, borrado: datetime, reponer_hilo: Reponer, dias: int, reaparece: bool
) -> None:
    reponer_hilo("clientes", "C1", "h-C1-9", borrado + timedelta(days=dias))
    assert ordenar()[0]["reaparecidas"] == int(reaparece)


@pytest.mark.parametrize(("segundos", "reaparece"), [(-60, True), (1, False)])
def test_un_acceso_de_antes_reaparece_y_entrar_despues_no(
    hasta: Callable[..., Any], propietario: psycopg.Connection, segundos: int, reaparece: bool
) -> None:
    hasta(Estado.COMPLETADA, "E7", espacio="empleados")
    momento = Evidencia.objects.get().momento + timedelta(seconds=segundos)
    propietario.execute(
        "INSERT INTO axes_accesslog"
        " (username, attempt_time, user_agent, http_accept, path_info, session_hash)"
        " VALUES ('E7', %s, '', '', '', '')",
        [momento],
    )
    assert ordenar()[0]["reaparecidas"] == int(reaparece)


def test_un_espacio_por_debajo_es_de_la_misma_persona(
    suprimida: Solicitud, borrado: datetime, reponer: Reponer
) -> None:
    reponer("C1", borrado, prefijo="clientes.C1.notas")
    assert ordenar()[0]["reaparecidas"] == 1


@pytest.mark.parametrize(
    "prefijo", ["clientes.C1%2E5", "clientes.C_1", "empleados.C1", "otros.C1", "clientes"]
)
def test_lo_de_otras_personas_o_de_nadie_no_es_reaparicion(
    suprimida: Solicitud, borrado: datetime, reponer: Reponer, prefijo: str
) -> None:
    reponer("", borrado, prefijo=prefijo)
    datos, _, codigo = ordenar()
    assert (datos["verificadas"], datos["reaparecidas"], codigo) == (1, 0, 0)


def test_manda_la_ultima_supresion_de_la_persona(
    hasta: Callable[..., Any],
    suprimida: Solicitud,
    borrado: datetime,
    reponer: Reponer,
    propietario: psycopg.Connection,
) -> None:
    reponer("C1", borrado + VALLA + timedelta(minutes=1))  # a new card…
    otra = hasta(Estado.COMPLETADA, "C1")  # …erased as well
    assert not Documento.objects.exists()
    with propietario.transaction():
        propietario.execute("SET LOCAL session_replication_role = replica")
        propietario.execute(
            "UPDATE privacidad_evidencia SET momento = momento + interval '2 days' WHERE solicitud_id = %s",
            [otra.pk],
        )
    reponer("C1", borrado + timedelta(days=1))
    assert ordenar()[0]["reaparecidas"] == 1
    otra.refresh_from_db()
    suprimida.refresh_from_db()
    assert (otra.estado, suprimida.estado) == (Estado.REAPARECIDA, Estado.COMPLETADA)


def test_a_quien_le_falta_la_evidencia_se_le_busca_igual(
    suprimida: Solicitud,
    borrado: datetime,
    reponer: Reponer,
    preferencia: Callable[..., None],
    hasta: Callable[..., Any],
    sin_guardas: Callable[..., None],
) -> None:
    """Somebody deleted it past every guard: the register still says when the person was erased."""
    preferencia("C2")
    hasta(Estado.COMPLETADA, "C2")
    sin_guardas("DELETE FROM privacidad_evidencia WHERE solicitud_id = %s", [suprimida.pk])
    datos, _, codigo = ordenar()
    assert (datos["verificadas"], datos["reaparecidas"], codigo) == (2, 0, 0)
    reponer("C1", borrado - timedelta(hours=1))
    assert ordenar()[0]["reaparecidas"] == 1


def test_con_otra_abierta_no_se_abre_la_cerrada(
    recibida: Callable[..., Any], suprimida: Solicitud, borrado: datetime, reponer: Reponer
) -> None:
    recibida("C1")
    reponer("C1", borrado)
    assert ordenar()[0]["reaparecidas"] == 0
    with pytest.raises(OtraSolicitudAbierta):
        servicios.reabrir(solicitud=suprimida, sujeto_id="C1", hallado=["memoria"])
    suprimida.refresh_from_db()
    assert suprimida.estado == Estado.COMPLETADA


def test_un_simulacro_cuenta_y_no_abre(suprimida: Solicitud, borrado: datetime, reponer: Reponer) -> None:
    reponer("C1", borrado)
    asientos = Asiento.objects.count()
    datos, _, codigo = ordenar("--dry-run")
    assert (datos["reaparecidas"], datos["simulado"], codigo) == (1, True, 0)
    suprimida.refresh_from_db()
    assert (suprimida.estado, suprimida.sujeto_id) == (Estado.COMPLETADA, "")
    assert Asiento.objects.count() == asientos


def test_la_segunda_vez_no_hace_nada_mas(suprimida: Solicitud, borrado: datetime, reponer: Reponer) -> None:
    reponer("C1", borrado)
    assert ordenar()[0]["reaparecidas"] == 1
    assert ordenar()[0]["reaparecidas"] == 0
    assert Paso.objects.filter(estado=Estado.REAPARECIDA).count() == 1


def test_dos_a_la_vez_la_segunda_se_va(bd: str) -> None:
    with psycopg.connect(bd) as otra:
        otra.execute("SELECT pg_advisory_xact_lock(hashtextextended('memoria:verificar_supresiones', 0))")
        assert ordenar()[2] == 4


@pytest.mark.parametrize("lote", ["1", "2", "7", "5000"])
def test_por_lotes_se_encuentra_lo_mismo(
    hasta: Callable[..., Any], reponer: Reponer, reponer_hilo: Reponer, lote: str
) -> None:
    suprimidas = [hasta(Estado.COMPLETADA, f"C{n}") for n in (1, 3, 5)]
    momento = min(Evidencia.objects.values_list("momento", flat=True))
    for n in range(1, 8):
        reponer(f"C{n}", momento)
        reponer_hilo("clientes", f"C{n}", f"h-{n}", momento)
    datos, _, _ = ordenar("--batch-size", lote)
    assert (datos["verificadas"], datos["reaparecidas"]) == (3, 3)
    assert {s.estado for s in Solicitud.objects.filter(pk__in=[s.pk for s in suprimidas])} == {
        Estado.REAPARECIDA
    }
    assert {tuple(a.datos["destinos"]) for a in Asiento.objects.filter(tipo="hallazgo")} == {
        ("hilos", "memoria")
    }


def test_si_no_da_tiempo_se_dice(suprimida: Solicitud, borrado: datetime, reponer: Reponer) -> None:
    reponer("C1", borrado)
    busqueda = vigilancia.buscar(cuantos=10, agotado=lambda: True)
    assert not busqueda.completa
    assert busqueda.hallazgos == []


def test_el_hallazgo_no_nombra_a_la_persona(
    suprimida: Solicitud, borrado: datetime, reponer: Reponer
) -> None:
    reponer("C1", borrado)
    busqueda = vigilancia.buscar(cuantos=10, agotado=lambda: False)
    assert [h.sujeto_id for h in busqueda.hallazgos] == ["C1"]
    assert "C1" not in repr(busqueda)


# -- the service ------------------------------------------------------------------------------------


def test_no_se_abre_con_el_identificador_de_otra_persona(suprimida: Solicitud) -> None:
    with pytest.raises(DatoNoValido):
        servicios.reabrir(solicitud=suprimida, sujeto_id="C2", hallado=["memoria"])
    suprimida.refresh_from_db()
    assert (suprimida.estado, suprimida.sujeto_id) == (Estado.COMPLETADA, "")


def test_solo_se_abre_una_completada(hasta: Callable[..., Any]) -> None:
    solicitud = hasta(Estado.REVISADA, "C1")
    with pytest.raises(TransicionNoPermitida):
        servicios.reabrir(solicitud=solicitud, sujeto_id="C1", hallado=["memoria"])


# -- external destinations ----------------------------------------------------------------------------


def test_una_traza_que_llego_tarde_abre_la_solicitud_y_se_borra_tambien_alli(
    servidor: ServidorLangfuse, suprimida: Solicitud, borrado: datetime
) -> None:
    assert suprimida.gestiones.get().estado == Gestion.Estado.SIN_DATOS
    servidor.poner("C1", momento=borrado - timedelta(minutes=5))
    servidor.poner("C1", momento=borrado + timedelta(hours=1))
    servidor.poner("C2", momento=borrado - timedelta(minutes=5))
    assert ordenar()[0]["reaparecidas"] == 1
    gestion = suprimida.gestiones.get()
    assert (gestion.estado, gestion.recuento) == (Gestion.Estado.PENDIENTE, {})
    call_command("ejecutar_supresiones", "--json", stdout=io.StringIO(), stderr=io.StringIO())
    suprimida.refresh_from_db()
    gestion.refresh_from_db()
    assert (suprimida.estado, gestion.estado) == (Estado.COMPLETADA, Gestion.Estado.HECHA)
    assert (servidor.de("C1"), servidor.de("C2")) == (1, 1), "the later one is of a new card"
    assert gestion.recuento == {"antes": {"trazas": 1}, "borrados": {"trazas": 1}, "despues": {"trazas": 0}}


def test_las_trazas_de_quien_vuelve_son_suyas(
    servidor: ServidorLangfuse, suprimida: Solicitud, borrado: datetime
) -> None:
    servidor.poner("C1", momento=borrado + timedelta(seconds=1))
    assert ordenar()[0]["reaparecidas"] == 0
    assert servidor.de("C1") == 1


def test_un_destino_que_no_responde_no_se_da_por_verificado(
    servidor: ServidorLangfuse, suprimida: Solicitud, borrado: datetime, reponer: Reponer
) -> None:
    reponer("C1", borrado)
    servidor.modo = "500"
    datos, avisos, codigo = ordenar()
    assert (datos["verificadas"], datos["reaparecidas"], codigo) == (0, 1, 3)
    assert datos["sin_respuesta"] == ["langfuse"]
    assert "500" in avisos


def test_lo_que_estaba_por_verificar_se_verifica_y_cierra_la_solicitud(
    hasta: Callable[..., Any], servidor: ServidorLangfuse
) -> None:
    servidor.poner("C1", 2)
    servidor.modo = "asincrono"
    solicitud = hasta(Estado.APROBADA, "C1")
    servicios.ejecutar(solicitud=solicitud)
    datos = ordenar()[0]
    assert (datos["completadas"], datos["por_verificar"]) == (0, 1)
    solicitud.refresh_from_db()
    assert solicitud.estado == Estado.PARCIAL

    servidor.procesar()
    peticiones = len(servidor.peticiones)
    assert ordenar("--dry-run")[0]["completadas"] == 0
    assert len(servidor.peticiones) == peticiones
    datos = ordenar()[0]
    assert (datos["completadas"], datos["por_verificar"]) == (1, 0)
    solicitud.refresh_from_db()
    assert (solicitud.estado, solicitud.sujeto_id) == (Estado.COMPLETADA, "")
    assert len(servidor.pedidas("DELETE")) == 1


def test_la_que_no_se_puede_verificar_no_impide_lo_demas(
    hasta: Callable[..., Any], servidor: ServidorLangfuse
) -> None:
    """One whose reserved data cannot be read, say: it is told, and the others and the reminders go on."""
    servidor.modo = "asincrono"
    una, otra = (hasta(Estado.APROBADA, c) for c in ("C1", "C2"))
    for solicitud in (una, otra):
        servidor.poner(solicitud.sujeto_id, 2)
        servicios.ejecutar(solicitud=solicitud)
        assert solicitud.estado == Estado.PARCIAL
    Solicitud.objects.filter(pk=una.pk).update(reservado=b"otra cosa")
    servidor.procesar()
    datos, avisos, codigo = ordenar()
    assert (datos["completadas"], codigo) == (1, 3)
    assert f"{una.referencia}: No se puede descifrar" in avisos
    otra.refresh_from_db()
    assert otra.estado == Estado.COMPLETADA


# -- mentions -----------------------------------------------------------------------------------------


@pytest.fixture
def mencion_borrada(
    almacen_compras: Any, recibida: Callable[..., Any], dpo: Any, otro_dpo: Any, propietario: Any
) -> tuple[Solicitud, tuple[Any, ...]]:
    """A notice of a supplier that named C1 by telephone, erased; the request, and the row as it was."""
    almacen_compras.put(
        ("proveedores", "P1"), "a1", {"texto": "Llamar al 612 345 678", "fecha": "2026-11-29"}
    )
    fila = propietario.execute(
        "SELECT prefix, key, value::text, created_at, updated_at FROM langgraph.store"
    ).fetchone()
    solicitud = recibida("C1", identificadores={"telefono": "612345678"})
    servicios.identificar(solicitud=solicitud, como="DNI en tienda", por=dpo)
    servicios.revisar(solicitud=solicitud, por=dpo)
    servicios.decidir_mencion(
        mencion=solicitud.menciones.get(), decision="borrar", motivo="Es el suyo", por=dpo
    )
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    assert not Documento.objects.exists()
    return solicitud, fila


def test_una_fila_borrada_por_mencionar_que_vuelve_se_dice(
    mencion_borrada: tuple[Solicitud, tuple[Any, ...]], sin_guardas: Callable[..., None], tmp_path: Any
) -> None:
    solicitud, fila = mencion_borrada
    assert ordenar()[0]["menciones_reaparecidas"] == []
    sin_guardas(
        "INSERT INTO langgraph.store (prefix, key, value, created_at, updated_at)"
        " VALUES (%s, %s, %s, %s, %s)",
        fila,
    )
    datos, avisos, codigo = ordenar()
    assert (datos["menciones_reaparecidas"], codigo) == ([solicitud.referencia], 3)
    assert f"{solicitud.referencia}: ha vuelto un dato de otra persona" in avisos
    assert "612" not in avisos
    # What it says to do does it.
    fichero = tmp_path / "registro.jsonl"
    call_command("exportar_registro", fichero, stdout=io.StringIO())
    call_command("reaplicar_supresiones", fichero, stdout=io.StringIO(), stderr=io.StringIO())
    assert not Documento.objects.exists()
    datos, _, codigo = ordenar()
    assert (datos["menciones_reaparecidas"], codigo) == ([], 0)


def test_lo_que_se_escribe_despues_en_el_mismo_sitio_no_es_que_vuelva(
    mencion_borrada: tuple[Solicitud, tuple[Any, ...]], almacen_compras: Any
) -> None:
    almacen_compras.put(("proveedores", "P1"), "a1", {"texto": "Ruta norte", "fecha": "2026-11-30"})
    datos, _, codigo = ordenar()
    assert (datos["menciones_reaparecidas"], codigo) == ([], 0)
