"""What a certificate says of other people's rows comes from the counts, not from what was decided."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from memoria.politica import espacio
from privacidad import plazos, servicios
from privacidad.estados import Estado
from privacidad.models import Escrito, Solicitud
from tests.privacidad.lector import leer

NO_HALLADO = "Lo que se decidió borrar y no está en esos recuentos no se halló al ejecutar la supresión"
EN_LA_COPIA = "incluidos los textos de otras fichas que la mencionaban"


@pytest.fixture
def decidida(
    hasta: Callable[..., Any], preferencia: Callable[..., None], dpo: Any, otro_dpo: Any
) -> Callable[..., Solicitud]:
    """An approved request whose telephone stood in the cards of two others, and what was decided of those."""

    def llevar(decision: str = "borrar", copia: bool = False) -> Solicitud:
        for otro in ("C2", "C3"):
            preferencia(otro, "contacto", "llamar al 612 345 678")
        solicitud: Solicitud = hasta(Estado.REVISADA, "C1", identificadores={"telefono": "612345678"})
        for mencion in solicitud.menciones.all():
            servicios.decidir_mencion(mencion=mencion, decision=decision, motivo="Es el suyo", por=dpo)
        if copia:
            manana = plazos.hoy() + timedelta(days=1)
            servicios.decidir_copia(solicitud=solicitud, hasta=manana, motivo=None, por=dpo)
        servicios.aprobar(solicitud=solicitud, por=otro_dpo)
        return solicitud

    return llevar


def certificado(solicitud: Solicitud) -> tuple[Escrito, str]:
    servicios.ejecutar(solicitud=solicitud)
    escrito = solicitud.escritos.get()
    return escrito, leer(escrito.pdf)


def test_what_was_erased_of_others_is_told_by_the_counts(
    decidida: Callable[..., Solicitud], preferencia: Callable[..., None]
) -> None:
    preferencia("C1")
    solicitud = decidida(copia=True)
    texto = certificado(solicitud)[1]
    assert solicitud.evidencias.get().destinos["menciones"]["borrados"]["documentos"] == 2
    assert "que se decidió borrar: 2. Motivo: Es el suyo" in texto
    cuenta = "Datos de otras personas que la mencionan, documentos: 2"
    assert f"se borraron, según los recuentos: {cuenta}." in texto
    assert f"{EN_LA_COPIA} ({cuenta})" in texto
    assert NO_HALLADO not in texto


@pytest.mark.parametrize("reescritas", [("C2",), ("C2", "C3")])
def test_a_row_that_no_longer_names_them_is_not_said_to_be_erased(
    decidida: Callable[..., Solicitud], preferencia: Callable[..., None], reescritas: tuple[str, ...]
) -> None:
    preferencia("C1")
    solicitud = decidida(copia=True)
    for otro in reescritas:
        preferencia(otro, "contacto", "ya no")
    texto = certificado(solicitud)[1]
    borradas = 2 - len(reescritas)
    assert solicitud.evidencias.get().destinos["menciones"]["borrados"]["documentos"] == borradas
    assert ("no se borró ninguno, según los recuentos" in texto) is (not borradas)
    assert (
        f"se borraron, según los recuentos: Datos de otras personas que la mencionan, documentos: {borradas}."
        in texto
    ) is bool(borradas)
    assert NO_HALLADO in texto
    assert (EN_LA_COPIA in texto) is bool(borradas)


def test_when_nothing_at_all_was_found_the_communication_says_so_of_what_was_decided(
    decidida: Callable[..., Solicitud], almacen: Any
) -> None:
    solicitud = decidida()
    for otro in ("C2", "C3"):
        almacen.delete(espacio("clientes", otro), "pref-contacto")
    escrito, texto = certificado(solicitud)
    assert escrito.tipo == Escrito.Tipo.SIN_DATOS
    assert "que se decidió borrar: 2" in texto
    assert "no se borró ninguno, según los recuentos" in texto
    assert NO_HALLADO in texto


def test_what_was_kept_is_not_said_to_be_in_the_copy(
    decidida: Callable[..., Solicitud], preferencia: Callable[..., None]
) -> None:
    preferencia("C1")
    texto = certificado(decidida("conservar", copia=True))[1]
    assert "que se decidió conservar: 2" in texto
    assert "Filas que contiene: 1." in texto
    assert EN_LA_COPIA not in texto
    assert "se decidió borrar" not in texto


def test_the_restriction_we_put_ourselves_is_no_difference(
    hasta: Callable[..., Any], preferencia: Callable[..., None], dpo: Any, otro_dpo: Any
) -> None:
    preferencia("C1")
    preferencia("C1", "horario", "tardes")
    solicitud = hasta(Estado.REVISADA)
    exclusion = servicios.excluir(
        solicitud=solicitud, destino="memoria", clave="pref-idioma", motivo="reclamacion", por=dpo
    )
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    servicios.liberar(exclusion=exclusion, por=otro_dpo)
    escrito, texto = certificado(solicitud)
    cuentas = [e["destinos"]["casa"] for e in escrito.datos["evidencias"]]
    assert cuentas[0]["despues"]["limitaciones"] == 0
    assert cuentas[1]["antes"]["limitaciones"] == 1
    assert escrito.datos["diferencias"] == []
    assert "se añadieron" not in texto
