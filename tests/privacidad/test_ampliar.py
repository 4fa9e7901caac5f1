"""The extension of the deadline (art. 12(3) GDPR): it changes the date and nothing else of a request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.urls import reverse

from privacidad import plazos, servicios
from privacidad.errores import DatoNoValido, TransicionNoPermitida
from privacidad.estados import Estado
from privacidad.models import Escrito, Solicitud


@pytest.mark.parametrize("estado", [Estado.RECIBIDA, Estado.IDENTIFICADA, Estado.REVISADA, Estado.APROBADA])
def test_se_amplia_una_vez_en_cualquier_estado_abierto(
    hasta: Callable[..., Any], dpo: Any, estado: Estado
) -> None:
    solicitud = hasta(estado)
    servicios.ampliar(solicitud=solicitud, motivo="Hay que mirar muchas conversaciones", por=dpo)
    assert solicitud.estado == Solicitud.objects.get().estado == estado
    assert solicitud.vence == plazos.ampliado(solicitud.recibida)
    assert solicitud.escritos.get().tipo == Escrito.Tipo.AMPLIACION
    with pytest.raises(DatoNoValido, match="solo se puede una"):
        servicios.ampliar(solicitud=solicitud, motivo="Otra vez", por=dpo)


def test_una_cerrada_no_se_amplia(hasta: Callable[..., Any], dpo: Any) -> None:
    with pytest.raises(TransicionNoPermitida):
        servicios.ampliar(solicitud=hasta(Estado.COMPLETADA), motivo="Tarde", por=dpo)


def test_ampliar_no_es_recibir_ni_aprobar(
    hasta: Callable[..., Any], preferencia: Callable[..., None], dpo: Any, otro_dpo: Any
) -> None:
    """The certificate must not say that one person alone received and approved what two did."""
    preferencia("C1")
    solicitud = hasta(Estado.RECIBIDA)
    servicios.ampliar(solicitud=solicitud, motivo="Hay que mirar mucho", por=otro_dpo)
    servicios.identificar(solicitud=solicitud, como="Documento enseñado", por=dpo)
    servicios.revisar(solicitud=solicitud, por=dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    assert solicitud.excepcion_motivo == ""
    certificado = solicitud.escritos.get(tipo=Escrito.Tipo.CERTIFICADO)
    assert certificado.datos["excepcion"] == ""
    assert "Hay que mirar mucho" not in str(certificado.datos)


def test_se_amplia_desde_la_pagina(navegar: Callable[..., Any], hasta: Callable[..., Any]) -> None:
    solicitud = hasta(Estado.IDENTIFICADA)
    cliente = navegar("dpo", nombre="dpo-tres")
    assert "Ampliar el plazo dos meses" in cliente.get(solicitud.get_absolute_url()).content.decode()
    paso = reverse("privacidad:paso", args=[solicitud.referencia, "ampliar"])
    respuesta = cliente.post(paso, {"ampliar-motivo": "Hay que mirar mucho"})
    assert respuesta.status_code == 302
    assert Solicitud.objects.get().ampliada
    assert "Ampliar el plazo dos meses" not in cliente.get(solicitud.get_absolute_url()).content.decode()


def test_quien_recibio_la_vinculada_puede_decir_por_que_aprueba(
    navegar: Callable[..., Any], recibida: Callable[..., Any], dpo: Any
) -> None:
    """Whoever received any of the two is offered the exception, as the service asks for it."""
    solicitud = recibida("C1")
    otra = navegar("dpo", nombre="dpo-dos")
    servicios.recibir(
        espacio="clientes", sujeto_id="C1", canal="web", recibida=plazos.hoy(), por=otra.usuario
    )
    servicios.identificar(solicitud=solicitud, como="Documento enseñado", por=dpo)
    servicios.revisar(solicitud=solicitud, por=dpo)
    paso = reverse("privacidad:paso", args=[solicitud.referencia, "aprobar"])
    assert otra.post(paso).status_code == 422
    assert otra.post(paso, {"aprobar-excepcion_motivo": "Solo estamos dos"}).status_code == 302
    assert Solicitud.objects.get(pk=solicitud.pk).excepcion_motivo == "Solo estamos dos"
