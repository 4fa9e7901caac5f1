"""What privacy keeps for a time goes on its day, by the sweep, and leaves an entry."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from memoria.comandos import Plazo
from memoria.models import Ejecucion
from privacidad import plazos, retencion, servicios
from privacidad.estados import Estado
from privacidad.models import Asiento, Copia, Expediente, TrozoCopia


def barrer(*opciones: str) -> dict[str, Any]:
    salida = io.StringIO()
    call_command("barrer", "--json", *opciones, stdout=salida, stderr=io.StringIO())
    datos: dict[str, Any] = json.loads(salida.getvalue())
    return datos


@pytest.fixture
def copia(hasta: Callable[..., Any], preferencia: Callable[..., None], dpo: Any, otro_dpo: Any) -> Copia:
    preferencia("C1")
    solicitud = hasta(Estado.REVISADA)
    servicios.decidir_copia(solicitud=solicitud, hasta=plazos.hoy() + timedelta(days=1), motivo=None, por=dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    return Copia.objects.get()


@pytest.fixture
def expediente(preferencia: Callable[..., None], dpo: Any) -> Expediente:
    preferencia("C2", valor="guaraní")
    return servicios.producir(espacio="clientes", sujeto_id="C2", por=dpo)


def test_lo_que_no_ha_llegado_a_su_dia_se_queda(copia: Copia, expediente: Expediente) -> None:
    hecho = barrer()
    assert (hecho["copias_destruidas"], hecho["expedientes_vaciados"]) == (0, 0)
    assert TrozoCopia.objects.exists()
    assert bytes(Expediente.objects.get().pdf)


def test_llegado_el_dia_se_destruye_y_queda_en_el_registro(
    copia: Copia, expediente: Expediente, sin_guardas: Callable[..., None]
) -> None:
    sin_guardas("UPDATE privacidad_copia SET destruir_el = %s", [plazos.hoy()])
    Expediente.objects.update(caduca=timezone.now())
    previsto = barrer("--dry-run")
    assert (previsto["copias_destruidas"], previsto["expedientes_vaciados"]) == (1, 1)
    assert TrozoCopia.objects.exists()
    hecho = barrer()
    assert (hecho["copias_destruidas"], hecho["expedientes_vaciados"]) == (1, 1)
    assert not TrozoCopia.objects.exists()
    vacio = Expediente.objects.get()
    assert (bytes(vacio.pdf), bytes(vacio.json)) == (b"", b"")
    assert vacio.destruido
    assert Copia.objects.get().destruida
    asientos = Asiento.objects.filter(tipo__in=["copia_destruida", "expediente_destruido"])
    assert {a.referencia for a in asientos} == {copia.solicitud.referencia, expediente.referencia}
    repetido = barrer()
    assert (repetido["copias_destruidas"], repetido["expedientes_vaciados"]) == (0, 0)
    assert (
        Ejecucion.objects.filter(comando="barrer", recuento__copias_destruidas=1, simulada=False).count() == 1
    )


def test_sin_tiempo_no_empieza_ninguno(
    copia: Copia, expediente: Expediente, sin_guardas: Callable[..., None]
) -> None:
    sin_guardas("UPDATE privacidad_copia SET destruir_el = %s", [plazos.hoy()])
    Expediente.objects.update(caduca=timezone.now())
    agotado = Plazo(1e-9)
    assert retencion.barrer(plazo=agotado, simular=False) == {
        "copias_destruidas": 0,
        "expedientes_vaciados": 0,
    }
    assert TrozoCopia.objects.exists()
