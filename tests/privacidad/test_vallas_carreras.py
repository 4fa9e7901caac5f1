"""Fences and whoever is writing when an erasure comes: waited for, refused, or not noticing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest

from memoria.models import Documento, Hilo
from memoria.vallas import CODIGO_HILO, CODIGO_SUJETO
from privacidad import retenidos, servicios
from privacidad.errores import EscriturasEnCurso
from privacidad.estados import Estado
from tests.esperas import EnOtroHilo, esperar_a_que_espere
from tests.privacidad.vallas_comun import NUEVO_DOCUMENTO, NUEVO_HILO, Retenida, intento

SI_ESTA = (
    " ON CONFLICT (thread_id) DO UPDATE SET visto = now()"
    " WHERE hilos.espacio = EXCLUDED.espacio AND hilos.sujeto_id = EXCLUDED.sujeto_id"
)


def test_una_escritura_en_vuelo_se_espera_y_se_borra(
    como: Callable[[str], psycopg.Connection],
    hasta: Callable[..., Any],
    preferencia: Callable[..., None],
    propietario: Any,
) -> None:
    """Committed before the count: it is counted and erased. Its snapshot is older than the fence."""
    preferencia("C1")
    solicitud = hasta(Estado.APROBADA)
    agente = como("memoria_agentes")
    agente.execute("BEGIN")
    agente.execute(NUEVO_DOCUMENTO, ["clientes.C1"])
    agente.execute(NUEVO_HILO, ["h-C1-z", "C1"])
    with EnOtroHilo(lambda: servicios.ejecutar(solicitud=solicitud)) as supresion:
        esperar_a_que_espere(propietario, "%vallas.levantar%")
        agente.execute("COMMIT")
    evidencia = supresion.resultado()
    assert evidencia.destinos["memoria"]["borrados"]["documentos"] == 2
    assert evidencia.destinos["hilos"]["borrados"]["hilos"] == 1
    assert not Documento.objects.exists()
    assert not Hilo.objects.exists()


@pytest.mark.parametrize("sentencia", ["documento", "hilo nuevo", "hilo suyo", "hilo suyo de otro"])
def test_una_escritura_que_llega_durante_la_supresion_espera_y_se_rechaza(
    sentencia: str,
    como: Callable[[str], psycopg.Connection],
    hasta: Callable[..., Any],
    conversacion: Callable[..., None],
    propietario: Any,
) -> None:
    conversacion("C1", "h-C1-a")
    solicitud = hasta(Estado.APROBADA)
    consulta, parametros, codigo = {
        "documento": (NUEVO_DOCUMENTO, ["clientes.C1"], CODIGO_SUJETO),
        "hilo nuevo": (NUEVO_HILO, ["h-C1-b", "C1"], CODIGO_SUJETO),
        # The upsert of the registry waits inside INSERT … ON CONFLICT for the row that is being deleted.
        "hilo suyo": (NUEVO_HILO + SI_ESTA, ["h-C1-a", "C1"], CODIGO_HILO),
        "hilo suyo de otro": (NUEVO_HILO + SI_ESTA, ["h-C1-a", "C10"], CODIGO_HILO),
    }[sentencia]
    agente = como("memoria_agentes")
    with Retenida(solicitud, propietario) as supresion:
        with EnOtroHilo(lambda: intento(agente, consulta, parametros)) as escritura:
            esperar_a_que_espere(propietario, "INSERT INTO%")
            supresion.soltar()
        assert escritura.resultado() == codigo
    assert supresion.resultado().destinos["hilos"]["borrados"]["hilos"] == 1
    assert not Documento.objects.exists()
    assert not Hilo.objects.exists()


def test_quien_espera_a_la_supresion_no_la_detiene_al_apartar_lo_retenido(
    hasta: Callable[..., Any],
    preferencia: Callable[..., None],
    como: Callable[[str], psycopg.Connection],
    propietario: Any,
    dpo: Any,
    otro_dpo: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is held back is restricted, and whoever writes asks for the lock of restrictions too."""
    preferencia("C1")
    preferencia("C1", "horario")
    solicitud = hasta(Estado.REVISADA)
    servicios.excluir(
        solicitud=solicitud, destino="memoria", clave="pref-idioma", motivo="reclamacion", por=dpo
    )
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    agente = como("memoria_agentes")
    apartar = retenidos.apartar
    with ExitStack() as pila:
        escritura = EnOtroHilo(lambda: intento(agente, NUEVO_DOCUMENTO, ["clientes.C1"]))

        def con_alguien_esperando(de: Any) -> None:
            pila.enter_context(escritura)
            esperar_a_que_espere(propietario, "INSERT INTO langgraph.store%")
            apartar(de)

        monkeypatch.setattr(retenidos, "apartar", con_alguien_esperando)
        servicios.ejecutar(solicitud=solicitud)
    assert escritura.resultado() == CODIGO_SUJETO
    assert [(d.key, d.limitado) for d in Documento.objects.all()] == [("pref-idioma", True)]


def test_un_punto_de_control_que_llega_durante_la_supresion_se_rechaza(
    hasta: Callable[..., Any], conversacion: Callable[..., None], como: Any, propietario: Any
) -> None:
    """The foreign key waits for the registry's row and finds it gone: what a trigger would have said."""
    conversacion("C1", "h-C1-a")
    solicitud = hasta(Estado.APROBADA)
    agente = como("memoria_agentes")
    with Retenida(solicitud, propietario) as supresion:
        punto = (
            "INSERT INTO langgraph.checkpoints (thread_id, checkpoint_id, checkpoint) VALUES (%s, '9', '{}')"
        )
        with EnOtroHilo(lambda: intento(agente, punto, ["h-C1-a"])) as escritura:
            esperar_a_que_espere(propietario, "INSERT INTO langgraph.checkpoints%")
            supresion.soltar()
        assert escritura.resultado() == "23503"  # foreign_key_violation
    (quedan,) = propietario.execute("SELECT count(*) FROM langgraph.checkpoints").fetchone()
    assert quedan == 0


def test_mientras_se_suprime_a_uno_los_demas_escriben_sin_esperar(
    hasta: Callable[..., Any],
    preferencia: Callable[..., None],
    conversacion: Callable[..., None],
    propietario: Any,
) -> None:
    preferencia("C1")
    solicitud = hasta(Estado.APROBADA)
    with Retenida(solicitud, propietario) as supresion:
        preferencia("C10")
        conversacion("C10", "h10")
        assert supresion.en_marcha()  # all of it was written while the erasure held its locks
        supresion.soltar()
    supresion.resultado()
    assert [d.prefix for d in Documento.objects.all()] == ["clientes.C10"]


def test_una_carga_grande_no_agota_los_cerrojos_y_una_supresion_la_espera(
    hasta: Callable[..., Any],
    preferencia: Callable[..., None],
    como: Callable[[str], psycopg.Connection],
    propietario: Any,
) -> None:
    """More rows than the lock table has room for, in one transaction, with the subject's among them."""
    preferencia("C1")
    solicitud = hasta(Estado.APROBADA)
    carga = como("postgres")
    carga.execute("BEGIN")
    carga.execute(
        "INSERT INTO langgraph.store (prefix, key, value)"
        " SELECT 'clientes.X' || n, 'k', '{}' FROM generate_series(1, 20000) n"
    )
    carga.execute(NUEVO_DOCUMENTO, ["clientes.C1"])
    with EnOtroHilo(lambda: servicios.ejecutar(solicitud=solicitud)) as supresion:
        esperar_a_que_espere(propietario, "%vallas.levantar%")
        carga.execute("COMMIT")
    assert supresion.resultado().destinos["memoria"]["borrados"]["documentos"] == 2
    assert Documento.objects.count() == 20_000


def test_si_alguien_no_termina_de_escribir_se_dice_y_no_se_borra_nada(
    hasta: Callable[..., Any], preferencia: Callable[..., None], como: Any
) -> None:
    preferencia("C1")
    solicitud = hasta(Estado.APROBADA)
    agente = como("memoria_agentes")
    agente.execute("BEGIN")
    agente.execute("UPDATE langgraph.store SET prefix = prefix WHERE prefix = 'clientes.C1'")
    with pytest.raises(EscriturasEnCurso, match="no se ha borrado nada"):
        servicios.ejecutar(solicitud=solicitud)
    agente.execute("ROLLBACK")
    assert solicitud.estado == Estado.APROBADA
    assert Documento.objects.count() == 1
    servicios.ejecutar(solicitud=solicitud)
    assert not Documento.objects.exists()


def test_una_supresion_que_se_deshace_no_deja_valla(
    hasta: Callable[..., Any], preferencia: Callable[..., None], propietario: Any, sin_guardas: Any
) -> None:
    preferencia("C1")
    solicitud = hasta(Estado.APROBADA)
    servicios.ejecutar(solicitud=solicitud, simular=True)
    assert propietario.execute("SELECT count(*) FROM vallas.vallas").fetchone() == (0,)
    preferencia("C1", "horario")
    assert Documento.objects.count() == 2
