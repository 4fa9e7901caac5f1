"""Evidence and steps are only added to, whoever tries; a request is never deleted."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from django.db.models.deletion import ProtectedError

from privacidad.errores import RegistroSoloAnexar
from privacidad.estados import Estado
from privacidad.models import Evidencia, Paso, Solicitud

TABLAS = ("privacidad_evidencia", "privacidad_paso")
SENTENCIAS = ("UPDATE {} SET id = id", "DELETE FROM {}", "DELETE FROM {} WHERE false", "TRUNCATE {} CASCADE")


@pytest.mark.parametrize("tabla", TABLAS)
@pytest.mark.parametrize("sentencia", SENTENCIAS)
def test_el_rol_de_la_web_no_puede(
    tabla: str, sentencia: str, hasta: Callable[..., Any], como: Callable[[str], psycopg.Connection]
) -> None:
    hasta(Estado.COMPLETADA)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        como("memoria_web").execute(sentencia.format(tabla))


@pytest.mark.parametrize("tabla", TABLAS)
@pytest.mark.parametrize("sentencia", SENTENCIAS)
def test_el_propietario_tampoco(
    tabla: str, sentencia: str, hasta: Callable[..., Any], propietario: Any
) -> None:
    hasta(Estado.COMPLETADA)
    with pytest.raises(psycopg.errors.RestrictViolation, match="solo admite filas nuevas"):
        propietario.execute(sentencia.format(tabla))


@pytest.mark.parametrize("sentencia", ["DELETE FROM {}", "TRUNCATE {} CASCADE"])
def test_una_solicitud_no_se_borra(sentencia: str, recibida: Callable[..., Any], propietario: Any) -> None:
    recibida()
    with pytest.raises(psycopg.errors.RestrictViolation):
        propietario.execute(sentencia.format("privacidad_solicitud"))


@pytest.mark.parametrize("modelo", [Paso, Evidencia])
def test_el_orm_se_niega_por_todas_sus_puertas(modelo: Any, hasta: Callable[..., Any], dpo: Any) -> None:
    hasta(Estado.COMPLETADA)
    fila = modelo.objects.first()
    for intento in (
        fila.save,
        fila.delete,
        modelo.objects.all().delete,
        lambda: modelo.objects.update(id=1),
        lambda: modelo.objects.bulk_update([fila], ["solicitud"]),
        lambda: modelo.objects.update_or_create(pk=fila.pk, defaults={"solicitud": None}),
        lambda: fila.solicitud.pasos.all().delete(),
    ):
        with pytest.raises(RegistroSoloAnexar):
            intento()
    with pytest.raises(ProtectedError):
        Solicitud.objects.all().delete()
    with contextlib.suppress(ProtectedError):
        dpo.delete()
    assert modelo.objects.filter(pk=fila.pk).exists()


def test_los_agentes_no_ven_nada_de_privacidad(como: Callable[[str], psycopg.Connection]) -> None:
    conexion = como("memoria_agentes")
    for tabla in ("privacidad_solicitud", *TABLAS, "privacidad_contador"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            conexion.execute(f"SELECT FROM {tabla}")
    for funcion in ("borrar_sujeto('clientes.C1')", "borrar_hilos('{}')", "testigo()"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            conexion.execute(f"SELECT * FROM langgraph.{funcion}")


def test_las_migraciones_se_deshacen_y_se_rehacen(bd: str, propietario: psycopg.Connection) -> None:
    from django.core.management import call_command
    from django.db import connections

    try:
        call_command("migrate", "privacidad", "0004_grupos", database="owner", verbosity=0)
        propietario.execute(
            "INSERT INTO privacidad_solicitud"
            " (espacio, sujeto_id, identificadores, resumen, canal, recibida, vence, estado, vista_previa)"
            " VALUES ('clientes', 'C1', '{}', 'x', 'web', now(), now() + interval '1 day', 'recibida', '{}')"
        )
        propietario.execute("UPDATE privacidad_solicitud SET estado = 'identificada'")  # by its guard of then
        call_command("migrate", "privacidad", "zero", database="owner", verbosity=0)
        assert not [
            t for t in connections["owner"].introspection.table_names() if t.startswith("privacidad_")
        ]
    finally:
        call_command("preparar", verbosity=0)
    assert Solicitud.objects.count() == 0
