"""What the page of a request offers once it has been run."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse

from privacidad import plazos, servicios
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


def _texto(quien: Any, solicitud: Any) -> str:
    return " ".join(quien.get(solicitud.get_absolute_url()).content.decode().split())


def test_a_copy_decided_after_a_first_run_is_to_be_made_and_not_lost(
    hasta: Callable[..., Any],
    preferencia: Callable[..., None],
    navegar: Callable[..., Any],
    dpo: Any,
    otro_dpo: Any,
) -> None:
    solicitud = _retenida(hasta, preferencia, dpo, otro_dpo).solicitud
    servicios.decidir_copia(
        solicitud=solicitud, hasta=plazos.hoy() + timedelta(days=90), motivo=None, por=otro_dpo
    )
    pagina = _texto(navegar("dpo", nombre="quien-mira"), solicitud)
    assert "Al borrar se guardará una copia bloqueada" in pagina
    assert "se perdió" not in pagina


def test_a_refused_request_promises_no_copy_and_no_erasure(
    hasta: Callable[..., Any],
    preferencia: Callable[..., None],
    navegar: Callable[..., Any],
    dpo: Any,
) -> None:
    preferencia("C1")
    solicitud = hasta(Estado.REVISADA)
    servicios.decidir_copia(
        solicitud=solicitud, hasta=plazos.hoy() + timedelta(days=90), motivo=None, por=dpo
    )
    quien = navegar("dpo", nombre="quien-mira")
    assert "Se borrarían" in _texto(quien, solicitud)
    servicios.denegar(solicitud=solicitud, motivo="No es la persona titular", por=dpo)
    pagina = _texto(quien, solicitud)
    assert "Al borrar se guardará" not in pagina
    assert "No hay copia bloqueada: la solicitud se cerró sin borrar nada." in pagina
    assert "Se borrarían" not in pagina
    assert "La revisión contó 1 documento" in pagina


def test_who_can_let_a_held_row_go_is_not_told_that_it_is_for_somebody_else(
    hasta: Callable[..., Any],
    preferencia: Callable[..., None],
    navegar: Callable[..., Any],
    dpo: Any,
    otro_dpo: Any,
) -> None:
    solicitud = _retenida(hasta, preferencia, dpo, otro_dpo).solicitud
    pagina = _texto(navegar("dpo", nombre="quien-mira"), solicitud)
    assert "El siguiente paso le corresponde a otra persona" not in pagina
    assert "Todo lo demás está borrado: lo que queda se borra cuando se suelte." in pagina
    aprobada = hasta(Estado.APROBADA, "C2")
    solo_mira = navegar("operaciones", nombre="otra-mira")
    assert "Borrar los datos de esta persona" in _texto(solo_mira, aprobada)
    identificada = hasta(Estado.IDENTIFICADA, "C3")
    assert "El siguiente paso le corresponde a otra persona" in _texto(solo_mira, identificada)


@pytest.mark.parametrize(
    ("paso", "campo"), [("denegar", "motivo"), ("ampliar", "motivo"), ("identificar", "como")]
)
def test_what_the_person_is_told_and_how_they_were_known_is_more_than_a_letter(
    recibida: Callable[..., Any], navegar: Callable[..., Any], paso: str, campo: str
) -> None:
    """A refusal, and an extension, are reasoned: the document would have gone out with that letter."""
    solicitud = recibida("C1")
    url = reverse("privacidad:paso", args=[solicitud.referencia, paso])
    quien = navegar("dpo", nombre="quien-tramita")
    respuesta = quien.post(url, {f"{paso}-{campo}": " z "})
    assert respuesta.status_code == 422
    assert "Explíquelo un poco más: con" in respuesta.content.decode()
    assert not solicitud.escritos.exists()
    assert quien.post(url, {f"{paso}-{campo}": "No consta quién lo pide"}).status_code == 302
