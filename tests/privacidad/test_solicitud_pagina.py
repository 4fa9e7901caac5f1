"""What the page of a request offers once it has been run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from privacidad import servicios
from privacidad.estados import Estado
from privacidad.models import Evidencia


def _retenida(hasta: Callable[..., Any], preferencia: Callable[..., None], dpo: Any, otro_dpo: Any) -> Any:
    preferencia("C1")
    preferencia("C1", "horario", "tardes")
    solicitud = hasta(Estado.REVISADA)
    exclusion = servicios.excluir(
        solicitud=solicitud, destino="memoria", clave="pref-idioma", motivo="reclamacion", por=dpo
    )
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    assert solicitud.estado == Estado.PARCIAL
    return exclusion


def test_what_only_waits_for_a_held_row_is_not_offered_to_be_erased(
    hasta: Callable[..., Any],
    preferencia: Callable[..., None],
    navegar: Callable[..., Any],
    dpo: Any,
    otro_dpo: Any,
) -> None:
    exclusion = _retenida(hasta, preferencia, dpo, otro_dpo)
    pagina = exclusion.solicitud.get_absolute_url()
    quien = navegar("dpo", nombre="quien-mira")
    assert "Borrar los datos de esta persona" not in quien.get(pagina).content.decode()
    servicios.liberar(exclusion=exclusion, por=otro_dpo)
    assert "Borrar los datos de esta persona" in quien.get(pagina).content.decode()


def test_an_evidence_with_something_held_does_not_say_that_nothing_is_left(
    hasta: Callable[..., Any], preferencia: Callable[..., None], dpo: Any, otro_dpo: Any
) -> None:
    _retenida(hasta, preferencia, dpo, otro_dpo)
    evidencia = Evidencia.objects.get()
    assert evidencia.destinos["memoria"]["despues"]["documentos"] == 1
    assert "cero" not in str(evidencia.get_resultado_display())
