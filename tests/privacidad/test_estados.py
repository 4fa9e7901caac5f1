"""The table of states, walked at random through the services and compared with the one of the database."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from privacidad import estados, plazos, servicios
from privacidad.errores import TransicionNoPermitida
from privacidad.estados import Estado
from privacidad.models import Solicitud


def test_toda_solicitud_abierta_puede_cerrarse() -> None:
    alcanzables: dict[str, set[str]] = {}
    for estado in Estado:
        vistos, pendientes = {estado.value}, [estado.value]
        while pendientes:
            nuevos = estados.TRANSICIONES[pendientes.pop()] - vistos
            vistos |= nuevos
            pendientes += nuevos
        alcanzables[estado] = vistos
    assert all(alcanzables[e] & estados.CERRADAS for e in Estado)
    assert alcanzables[Estado.RECIBIDA] == set(Estado.values) - {Estado.VINCULADA}
    assert {e for e in estados.CERRADAS if estados.TRANSICIONES[e]} == {Estado.COMPLETADA}


def test_cualquier_secuencia_de_pasos_sigue_la_tabla(dpo: Any, otro_dpo: Any) -> None:
    numeros: Iterator[int] = itertools.count()
    pasos: dict[str, tuple[Estado, Callable[..., Any], dict[str, Any], Estado]] = {
        "identificar": (
            Estado.IDENTIFICADA,
            servicios.identificar,
            {"como": "x", "por": dpo},
            Estado.IDENTIFICADA,
        ),
        "revisar": (Estado.REVISADA, servicios.revisar, {"por": dpo}, Estado.REVISADA),
        "aprobar": (Estado.APROBADA, servicios.aprobar, {"por": otro_dpo}, Estado.APROBADA),
        "ejecutar": (Estado.EN_CURSO, servicios.ejecutar, {}, Estado.COMPLETADA),
        "denegar": (Estado.DENEGADA, servicios.denegar, {"motivo": "x", "por": dpo}, Estado.DENEGADA),
        "retirar": (Estado.RETIRADA, servicios.retirar, {"motivo": "x", "por": dpo}, Estado.RETIRADA),
    }

    class Vida(RuleBasedStateMachine):
        @initialize()
        def recibir(self) -> None:
            self.sujeto = f"S{next(numeros)}"
            self.solicitud = servicios.recibir(
                espacio="clientes", sujeto_id=self.sujeto, canal="web", recibida=plazos.hoy(), por=dpo
            )
            self.estado = Estado.RECIBIDA

        @rule(nombre=st.sampled_from(sorted(pasos)))
        def dar_un_paso(self, nombre: str) -> None:
            a, servicio, datos, queda = pasos[nombre]
            if estados.permitida(self.estado, a):
                servicio(solicitud=self.solicitud, **datos)
                self.estado = queda
            else:
                with pytest.raises(TransicionNoPermitida):
                    servicio(solicitud=self.solicitud, **datos)

        @invariant()
        def la_base_dice_lo_mismo(self) -> None:
            if not hasattr(self, "solicitud"):
                return
            guardada = Solicitud.objects.get(pk=self.solicitud.pk)
            assert guardada.estado == self.solicitud.estado == self.estado
            ultimo = guardada.pasos.last()
            assert ultimo is not None
            assert ultimo.estado == self.estado
            assert bool(guardada.sujeto_id) is guardada.abierta

    run_state_machine_as_test(
        Vida,
        settings=settings(
            max_examples=25,
            stateful_step_count=12,
            deadline=None,
            suppress_health_check=[HealthCheck.function_scoped_fixture],
        ),
    )


@pytest.mark.parametrize("de", Estado.values)
def test_el_disparador_tiene_la_misma_tabla(propietario: Any, recibida: Callable[..., Any], de: str) -> None:
    admitidas = set()
    for a in Estado.values:
        solicitud = recibida(f"S-{de}-{a}")
        with propietario.transaction():
            propietario.execute("SET LOCAL session_replication_role = replica")
            propietario.execute(_PONER, _valores(de, solicitud.pk))
            propietario.execute(
                "INSERT INTO privacidad_evidencia (solicitud_id, resultado, destinos, vectores_huerfanos,"
                " rol, sesion, momento, posicion_wal) VALUES (%s, 'borrado', '{}', 0, '', '', now(), '')",
                [solicitud.pk],
            )
        try:
            propietario.execute(_PONER, _valores(a, solicitud.pk))
        except psycopg.errors.CheckViolation:
            continue
        admitidas.add(a)
    # Within an open state other things may change (the deadline, what is held back), so it admits itself.
    misma = {de} if de in estados.ABIERTAS else set()
    assert admitidas == estados.TRANSICIONES[de] | misma


_PONER = """
UPDATE privacidad_solicitud
SET estado = %s, sujeto_id = %s, reservado = %s, cerrada = CASE WHEN %s THEN now() END,
    principal_id = CASE WHEN %s THEN id END
WHERE id = %s
"""


def _valores(estado: str, pk: int) -> list[Any]:
    cerrada = estado in estados.CERRADAS
    dato = "" if cerrada else "S"
    return [estado, dato, dato, cerrada, estado == Estado.VINCULADA, pk]


@pytest.mark.parametrize(
    "cambio",
    [
        "estado = 'inventado'",
        "estado = 'identificada', referencia = 'SUP-1999-0001'",
        "estado = 'identificada', recibida = recibida - 1",
        "estado = 'identificada', resumen = 'otro'",
        "estado = 'identificada', sujeto_id = ''",
        "principal_id = id",
        "estado = 'denegada', cerrada = now()",
    ],
)
def test_la_base_rechaza_un_cambio_que_ningun_servicio_hace(
    propietario: Any, recibida: Callable[..., Any], cambio: str
) -> None:
    recibida()
    with pytest.raises(psycopg.errors.CheckViolation):
        propietario.execute(f"UPDATE privacidad_solicitud SET {cambio}")


def test_la_base_no_completa_sin_evidencia(propietario: Any, hasta: Callable[..., Any]) -> None:
    hasta(Estado.APROBADA)
    propietario.execute("UPDATE privacidad_solicitud SET estado = 'en_curso'")
    with pytest.raises(psycopg.errors.CheckViolation, match="sin evidencia"):
        propietario.execute(
            "UPDATE privacidad_solicitud"
            " SET estado = 'completada', sujeto_id = '', reservado = '', cerrada = now()"
        )


def test_la_base_no_admite_una_solicitud_que_no_empieza_recibida(
    propietario: Any, recibida: Callable[..., Any]
) -> None:
    recibida()
    with pytest.raises(psycopg.errors.CheckViolation, match="empieza recibida"):
        propietario.execute(
            "INSERT INTO privacidad_solicitud (espacio, sujeto_id, reservado, motivo_sin_copia, resumen,"
            " canal, recibida, vence, estado, vista_previa)"
            " SELECT espacio, 'X', '', '', 'x', canal, recibida, vence, 'aprobada', '{}'"
            " FROM privacidad_solicitud"
        )
