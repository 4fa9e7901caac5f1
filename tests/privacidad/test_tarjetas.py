"""What the panel says of privacy: what came back and what is half done are told apart from what is done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.urls import reverse

from privacidad import servicios
from privacidad.estados import Estado


def titulos(cliente: Any) -> dict[str, int | None]:
    respuesta = cliente.get(reverse("panel"))
    return {str(t.titulo): t.cifra for t in respuesta.context["tarjetas"] if "upresi" in str(t.titulo)}


def test_parciales_y_reaparecidas_tienen_la_suya(
    navegar: Callable[..., Any],
    hasta: Callable[..., Any],
    preferencia: Callable[..., None],
    dpo: Any,
    otro_dpo: Any,
) -> None:
    preferencia("C1")
    retenida = hasta(Estado.REVISADA, "C1")
    servicios.excluir(
        solicitud=retenida, destino="memoria", clave="pref-idioma", motivo="reclamacion", por=dpo
    )
    servicios.aprobar(solicitud=retenida, por=otro_dpo)
    servicios.ejecutar(solicitud=retenida)
    vuelta = hasta(Estado.COMPLETADA, "C2")
    servicios.reabrir(solicitud=vuelta, sujeto_id="C2", hallado=["memoria"])
    hasta(Estado.APROBADA, "C3")
    cliente = navegar("dpo")
    assert titulos(cliente) == {
        "Supresiones reaparecidas": 1,
        "Supresiones a medias": 1,
        "Supresiones por ejecutar": 1,
        "Solicitudes de supresión": 3,
    }
    lista = cliente.get(reverse("privacidad:solicitudes")).content.decode()
    for solicitud in (retenida, vuelta):
        assert solicitud.referencia in lista
    solo = cliente.get(reverse("privacidad:solicitudes"), {"estado": Estado.REAPARECIDA}).content.decode()
    assert vuelta.referencia in solo
    assert retenida.referencia not in solo


def test_sin_nada_a_medias_no_hay_tarjeta(
    navegar: Callable[..., Any], hasta: Callable[..., Any], preferencia: Callable[..., None]
) -> None:
    preferencia("C1")
    hasta(Estado.COMPLETADA, "C1")
    assert titulos(navegar("dpo")) == {"Solicitudes de supresión": 0}


def test_sin_permiso_no_se_dice_nada(navegar: Callable[..., Any], hasta: Callable[..., Any]) -> None:
    hasta(Estado.APROBADA, "C1")
    assert titulos(navegar("consulta")) == {}
