"""The table of states, walked at random through the services and compared with the one of the database."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from typing import Any

import psycopg
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from privacidad import estados, plazos, servicios
from privacidad.errores import CuatroOjos, DatoNoValido, OtraSolicitudAbierta, TransicionNoPermitida
from privacidad.estados import Estado
from privacidad.models import (
    AMPLIADA,
    Asiento,
    Copia,
    Escrito,
    Evidencia,
    Exclusion,
    Mencion,
    Paso,
    Solicitud,
)
from privacidad.vistas.cuadro import motivo_de_la_fecha


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


CLAVES = ("pref-idioma", "pref-horario")


def test_cualquier_secuencia_de_pasos_sigue_la_tabla(
    dpo: Any, otro_dpo: Any, preferencia: Callable[..., None]
) -> None:
    """Every step there is, in any order, against a model of what should become of the request.

    What is not allowed raises, and changes nothing.
    """
    numeros: Iterator[int] = itertools.count()
    hoy = plazos.hoy()
    quien_sea = st.sampled_from([dpo, otro_dpo])
    clave_que_sea = st.sampled_from(CLAVES)
    hace = st.integers(0, 150).map(lambda dias: hoy - timedelta(days=dias))

    class Vida(RuleBasedStateMachine):
        @initialize(dia=hace)
        def recibir(self, dia: date) -> None:
            self.sujeto = f"S{next(numeros)}"
            for clave in CLAVES:
                preferencia(self.sujeto, clave.removeprefix("pref-"))
            self.datos = set(CLAVES)
            self.completada: Solicitud | None = None
            self._empezar(dia)

        def _empezar(self, dia: date) -> None:
            self.solicitud = self._recibir(dia)
            self.estado: str = Estado.RECIBIDA
            self.recepciones, self.ampliada = [dia], False
            self.retenidas: dict[str, Exclusion] = {}
            self.guardar_copia = self.copiada = False

        def _recibir(self, dia: date) -> Solicitud:
            return servicios.recibir(
                espacio="clientes", sujeto_id=self.sujeto, canal="web", recibida=dia, por=dpo
            )

        @rule(dia=hace)
        def recibir_otra(self, dia: date) -> None:
            if self.estado in estados.CERRADAS:
                self._empezar(dia)
                return
            otra = self._recibir(dia)
            assert (otra.estado, otra.principal) == (Estado.VINCULADA, self.solicitud)
            self.recepciones.append(dia)
            self.ampliada = self.ampliada and hoy <= plazos.vencimiento(min(self.recepciones))

        @rule(
            paso=st.sampled_from(
                [
                    (Estado.IDENTIFICADA, servicios.identificar, {"como": "x", "por": dpo}),
                    (Estado.REVISADA, servicios.revisar, {"por": dpo}),
                    (Estado.APROBADA, servicios.aprobar, {"por": otro_dpo}),
                    (Estado.DENEGADA, servicios.denegar, {"motivo": "x", "por": dpo}),
                    (Estado.RETIRADA, servicios.retirar, {"motivo": "x", "por": dpo}),
                ]
            )
        )
        def dar_un_paso(self, paso: tuple[Estado, Callable[..., Any], dict[str, Any]]) -> None:
            a, servicio, datos = paso
            if not estados.permitida(self.estado, a):
                return self._se_niega(TransicionNoPermitida, servicio, solicitud=self.solicitud, **datos)
            servicio(solicitud=self.solicitud, **datos)
            self.estado = a
            return None

        @rule(cuantos=st.integers(1, 4))
        def avanzar(self, cuantos: int) -> None:
            """The usual way, several steps of it: at random few would ever get to be run."""
            for _ in range(cuantos):
                match self.estado:
                    case Estado.RECIBIDA:
                        servicios.identificar(solicitud=self.solicitud, como="x", por=dpo)
                        self.estado = Estado.IDENTIFICADA
                    case Estado.IDENTIFICADA:
                        servicios.revisar(solicitud=self.solicitud, por=dpo)
                        self.estado = Estado.REVISADA
                    case Estado.REVISADA:
                        servicios.aprobar(solicitud=self.solicitud, por=otro_dpo)
                        self.estado = Estado.APROBADA
                    case Estado.APROBADA:
                        self.ejecutar()

        @rule()
        def aprobar_quien_la_recibio(self) -> None:
            negado = CuatroOjos if self.estado == Estado.REVISADA else TransicionNoPermitida
            self._se_niega(negado, servicios.aprobar, solicitud=self.solicitud, por=dpo)

        @rule()
        def ejecutar(self) -> None:
            if self.estado not in estados.EJECUTABLES:
                return self._se_niega(TransicionNoPermitida, servicios.ejecutar, solicitud=self.solicitud)
            servicios.ejecutar(solicitud=self.solicitud)
            borradas = self.datos - set(self.retenidas)
            if borradas or self.estado != Estado.PARCIAL:  # of a partial one, there may be nothing to do yet
                self.copiada = self.copiada or bool(self.guardar_copia and borradas)
                self.guardar_copia = self.copiada
            self.datos -= borradas
            self.estado = Estado.PARCIAL if self.retenidas else Estado.COMPLETADA
            if not self.retenidas:
                self.completada = Solicitud.objects.get(pk=self.solicitud.pk)
            return None

        @rule()
        def ampliar(self) -> None:
            datos = {"solicitud": self.solicitud, "motivo": "Hay que mirar mucho", "por": dpo}
            if self.estado in estados.CERRADAS:
                self._se_niega(TransicionNoPermitida, servicios.ampliar, **datos)
            elif self.ampliada or hoy > plazos.vencimiento(min(self.recepciones)):
                self._se_niega(DatoNoValido, servicios.ampliar, **datos)
            else:
                servicios.ampliar(**datos)
                self.ampliada = True

        @rule(clave=clave_que_sea, por=quien_sea)
        def retener(self, clave: str, por: Any) -> None:
            datos: dict[str, Any] = {"solicitud": self.solicitud, "destino": "memoria", "clave": clave}
            datos |= {"motivo": "reclamacion", "por": por}
            if self.estado in estados.CERRADAS:
                self._se_niega(TransicionNoPermitida, servicios.excluir, **datos)
            elif clave in self.retenidas or clave not in self.datos:
                self._se_niega(DatoNoValido, servicios.excluir, **datos)
            elif self._hace_falta_otra(por):
                self._se_niega(CuatroOjos, servicios.excluir, **datos)
            else:
                self.retenidas[clave] = servicios.excluir(**datos)
                self._vuelve_a_revisarse()

        @rule(clave=clave_que_sea, por=quien_sea)
        def soltar(self, clave: str, por: Any) -> None:
            if clave not in self.retenidas or self.estado in estados.CERRADAS:
                return
            datos = {"exclusion": self.retenidas[clave], "por": por}
            if self._hace_falta_otra(por):
                self._se_niega(CuatroOjos, servicios.liberar, **datos)
                return
            servicios.liberar(**datos)
            del self.retenidas[clave]
            self._vuelve_a_revisarse()

        @rule(guardar=st.booleans(), por=quien_sea)
        def decidir_la_copia(self, guardar: bool, por: Any) -> None:
            datos = {"solicitud": self.solicitud, "por": por}
            datos |= {
                "hasta": hoy + timedelta(days=9) if guardar else None,
                "motivo": None if guardar else "x",
            }
            if self.estado in estados.CERRADAS:
                self._se_niega(TransicionNoPermitida, servicios.decidir_copia, **datos)
            elif self.copiada:
                self._se_niega(DatoNoValido, servicios.decidir_copia, **datos)
            elif self._hace_falta_otra(por):
                self._se_niega(CuatroOjos, servicios.decidir_copia, **datos)
            else:
                servicios.decidir_copia(**datos)
                self.guardar_copia = guardar
                self._vuelve_a_revisarse()

        @rule()
        def reaparecer(self) -> None:
            datos: dict[str, Any] = {"sujeto_id": self.sujeto, "hallado": ["memoria"]}
            if self.completada is None:
                self._se_niega(TransicionNoPermitida, servicios.reabrir, solicitud=self.solicitud, **datos)
            elif self.completada.pk != self.solicitud.pk and self.estado not in estados.CERRADAS:
                self._se_niega(OtraSolicitudAbierta, servicios.reabrir, solicitud=self.completada, **datos)
            elif self.completada.pk == self.solicitud.pk and self.estado == Estado.COMPLETADA:
                servicios.reabrir(solicitud=self.solicitud, **datos)
                self.estado = Estado.REAPARECIDA

        def _hace_falta_otra(self, por: Any) -> bool:
            return por == dpo and self.estado in (Estado.PARCIAL, Estado.REAPARECIDA)

        def _vuelve_a_revisarse(self) -> None:
            if self.estado == Estado.APROBADA:
                self.estado = Estado.REVISADA

        def _se_niega(self, error: type[Exception], servicio: Callable[..., Any], **datos: Any) -> None:
            antes = self._todo()
            with pytest.raises(error):
                servicio(**datos)
            assert self._todo() == antes

        def _todo(self) -> list[Any]:
            tablas = (Solicitud, Paso, Exclusion, Copia, Evidencia, Escrito)
            return [Asiento.objects.count(), *(list(t.objects.order_by("pk").values()) for t in tablas)]

        @invariant()
        def la_base_dice_lo_mismo(self) -> None:
            if not hasattr(self, "solicitud"):
                return
            guardada = Solicitud.objects.get(pk=self.solicitud.pk)
            assert guardada.estado == self.estado
            assert bool(guardada.sujeto_id) is guardada.abierta
            activas = set(guardada.exclusiones.activas().values_list("pk", flat=True))
            assert activas == {exclusion.pk for exclusion in self.retenidas.values()}
            assert Copia.objects.filter(solicitud=guardada).exists() is self.copiada

        @invariant()
        def hay_una_abierta_como_mucho(self) -> None:
            if hasattr(self, "solicitud"):
                suyas = Solicitud.objects.filter(resumen=self.solicitud.resumen)
                assert suyas.abiertas().count() == (self.estado in estados.ABIERTAS)

        @invariant()
        def el_plazo_es_el_de_la_ley(self) -> None:
            if not hasattr(self, "solicitud"):
                return
            guardada = Solicitud.objects.get(pk=self.solicitud.pk)
            primera = min(self.recepciones)
            limite = plazos.ampliado(primera) if self.ampliada else plazos.vencimiento(primera)
            assert guardada.vence == limite
            assert guardada.ampliada == (limite if self.ampliada else None)
            assert f"{primera:%d/%m/%Y}" in motivo_de_la_fecha(guardada)
            assert ("Ampliada" in motivo_de_la_fecha(guardada)) is self.ampliada

        @invariant()
        def los_pasos_dados_son_los_de_la_tabla(self) -> None:
            if not hasattr(self, "solicitud"):
                return
            pasos = list(self.solicitud.pasos.exclude(estado=AMPLIADA).values_list("estado", "por"))
            camino = [estado for estado, _por in pasos]
            assert camino[0] == Estado.RECIBIDA
            assert camino[-1] == self.estado
            assert all(itertools.starmap(estados.permitida, itertools.pairwise(camino)))
            if Estado.EN_CURSO in camino:
                # What was run is what somebody else approved: after the last review there is an approval.
                antes = pasos[: camino.index(Estado.EN_CURSO)]
                assert antes[-1] == (Estado.APROBADA, otro_dpo.pk)

    run_state_machine_as_test(
        Vida,
        settings=settings(
            max_examples=20,
            stateful_step_count=25,
            phases=[Phase.generate],  # each step is a dozen of queries: to shrink takes minutes
            print_blob=True,
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


@pytest.mark.parametrize("rol", ["memoria_web", ""])
def test_lo_decidido_de_cada_fila_no_se_cambia_ni_se_borra(
    rol: str,
    hasta: Callable[..., Any],
    preferencia: Callable[..., None],
    como: Callable[[str], psycopg.Connection],
    propietario: psycopg.Connection,
    dpo: Any,
    otro_dpo: Any,
) -> None:
    """Holds, and what was decided about mentions: evidence, whoever writes. Only an address is forgotten."""
    preferencia("C1")
    solicitud = hasta(Estado.REVISADA)
    for decision in ("borrar", "pendiente"):
        Mencion.objects.create(
            solicitud=solicitud,
            prefijo=f"proveedores.{decision}",
            clave="a1",
            identificador="nif",
            decision=decision,
        )
    exclusion = servicios.excluir(
        solicitud=solicitud, destino="memoria", clave="pref-idioma", motivo="reclamacion", por=dpo
    )
    conexion = como(rol) if rol else propietario
    mencion = "WHERE decision = 'borrar'"
    siempre = [
        "DELETE FROM privacidad_exclusion",
        "UPDATE privacidad_exclusion SET motivo = 'obligacion'",
        "UPDATE privacidad_exclusion SET creada = now()",
        "UPDATE privacidad_exclusion SET por_id = NULL",
        f"UPDATE privacidad_mencion SET identificador = 'email' {mencion}",
    ]
    cerrada = [
        "UPDATE privacidad_exclusion SET liberada = NULL",
        f"UPDATE privacidad_mencion SET decision = 'conservar' {mencion}",
        f"UPDATE privacidad_mencion SET motivo = 'otro' {mencion}",
        f"DELETE FROM privacidad_mencion {mencion}",
    ]
    for sentencia in siempre:
        with pytest.raises(psycopg.errors.RestrictViolation):
            conexion.execute(sentencia)
    servicios.liberar(exclusion=exclusion, por=otro_dpo)
    servicios.denegar(solicitud=solicitud, motivo="No procede", por=dpo)
    for sentencia in [*siempre, *cerrada]:
        with pytest.raises(psycopg.errors.RestrictViolation):
            conexion.execute(sentencia)
    conexion.execute("DELETE FROM privacidad_mencion WHERE decision = 'pendiente'")
    conexion.execute("UPDATE privacidad_mencion SET prefijo = 'resumen', clave = ''")
    conexion.execute("UPDATE privacidad_exclusion SET clave = 'resumen'")
