"""Replay: what is held back, and the sealed copies (E6)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memoria.models import Documento
from privacidad import plazos, servicios
from privacidad.estados import Estado
from privacidad.models import Asiento, Copia, Exclusion, Solicitud
from tests.ordenes import ordenar
from tests.privacidad.restaurada import Copias, sellado


def test_lo_retenido_en_una_solicitud_sin_ejecutar_se_retiene_otra_vez(
    copias: Copias, fichero: Path, preferencia: Callable[..., None], hasta: Callable[..., Any], dpo: Any
) -> None:
    """Otherwise the run after the restore would erase what was held back after the copy was made."""
    preferencia("C1")
    preferencia("C1", "horario", "mañanas")
    solicitud = hasta(Estado.REVISADA, "C1")
    copias.hacer()
    for clave in ("pref-horario", "pref-idioma"):
        exclusion = servicios.excluir(
            solicitud=solicitud, destino="memoria", clave=clave, motivo="obligacion", por=dpo
        )
    servicios.liberar(exclusion=exclusion, por=dpo)
    ordenar("exportar_registro", fichero)
    copias.restaurar()
    assert ordenar("reaplicar_supresiones", fichero)[2] == 0
    assert Exclusion.objects.activas().get().clave == "pref-horario"
    assert Documento.objects.get(retenido=True).key == "pref-horario"


def test_lo_que_dejo_la_ejecucion_vuelve_a_estar_apartado(
    copias: Copias, fichero: Path, preferencia: Callable[..., None], hasta: Callable[..., Any], dpo: Any,
    otro_dpo: Any,
) -> None:  # fmt: skip
    preferencia("C1")
    preferencia("C1", "horario", "mañanas")
    solicitud = hasta(Estado.REVISADA, "C1")
    servicios.excluir(
        solicitud=solicitud, destino="memoria", clave="pref-idioma", motivo="obligacion", por=dpo
    )
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    copias.hacer()
    servicios.ejecutar(solicitud=solicitud)
    ordenar("exportar_registro", fichero)
    copias.restaurar()
    ordenar("reaplicar_supresiones", fichero)
    assert Documento.objects.get().limitado


@pytest.fixture
def con_copia(hasta: Callable[..., Any], preferencia: Callable[..., None], conversacion: Callable[..., None],
              dpo: Any) -> Any:  # fmt: skip
    preferencia("C1")
    preferencia("C1", "horario", "mañanas")
    conversacion("C1", "h-C1")
    solicitud = hasta(Estado.REVISADA, "C1")
    servicios.decidir_copia(
        solicitud=solicitud, hasta=plazos.hoy() + timedelta(days=900), motivo=None, por=dpo
    )
    return solicitud


@pytest.mark.parametrize("antes_de_decidir", [False, True])
def test_la_copia_bloqueada_se_vuelve_a_hacer_con_lo_que_vuelve(
    antes_de_decidir: bool,
    con_copia: Any,
    copias: Copias,
    fichero: Path,
    dicho: Callable[..., None],
    otro_dpo: Any,
    dpo: Any,
) -> None:
    hasta_cuando = con_copia.copia_hasta
    if antes_de_decidir:
        servicios.decidir_copia(solicitud=con_copia, hasta=None, motivo="No hace falta", por=dpo)
        copias.hacer()
        servicios.decidir_copia(solicitud=con_copia, hasta=hasta_cuando, motivo=None, por=dpo)
    servicios.aprobar(solicitud=con_copia, por=otro_dpo)
    if not antes_de_decidir:
        copias.hacer()
    servicios.ejecutar(solicitud=con_copia)
    antes = sellado(con_copia)
    assert antes == [("hilos", "h-C1"), ("store", "pref-horario"), ("store", "pref-idioma")]
    ordenar("exportar_registro", fichero)
    copias.restaurar()
    dicho("C1", "contacto")  # said afterwards: of no copy
    datos, _, codigo = ordenar("reaplicar_supresiones", fichero)
    assert (datos["copias_perdidas"], codigo) == ([], 0)
    assert [c["referencia"] for c in datos["copias_rehechas"]] == [con_copia.referencia]
    assert datos["copias_rehechas"][0]["filas"] == datos["copias_rehechas"][0]["eran"]
    assert Solicitud.objects.get().estado == Estado.COMPLETADA
    assert Solicitud.objects.get().copia_hasta == hasta_cuando
    assert Copia.objects.get().destruir_el == hasta_cuando
    assert sellado(con_copia) == antes
    assert [d.key for d in Documento.objects.all()] == ["pref-contacto"]
    datos, _, codigo = ordenar("reaplicar_supresiones", fichero)
    assert (datos["copias_rehechas"], datos["copias_perdidas"], codigo) == ([], [], 0)
    assert Asiento.objects.filter(tipo="copia_sellada").count() == 2


def test_la_que_no_se_puede_volver_a_hacer_se_dice_en_todas_partes(
    con_copia: Any, copias: Copias, fichero: Path, otro_dpo: Any, navegar: Callable[..., Any]
) -> None:
    servicios.aprobar(solicitud=con_copia, por=otro_dpo)
    copias.hacer()
    servicios.ejecutar(solicitud=con_copia)
    ordenar("exportar_registro", fichero)
    copias.restaurar()
    with closing(copias.conectar()) as conexion:  # an older copy of these tables: the data are not there
        conexion.execute("SET session_replication_role = replica")
        for tabla in ("langgraph.store", "langgraph.checkpoints", "langgraph.checkpoint_blobs",
                      "langgraph.checkpoint_writes", "public.hilos"):  # fmt: skip
            conexion.execute(f"DELETE FROM {tabla}")
    for _vez in range(2):
        datos, avisos, codigo = ordenar("reaplicar_supresiones", fichero)
        assert (datos["copias_rehechas"], datos["copias_perdidas"]) == ([], [con_copia.referencia])
        assert codigo == 3
        assert (
            f"Copias bloqueadas que se han perdido y no se han podido volver a hacer: {con_copia}" in avisos
        )
        asiento = Asiento.objects.get(tipo="copia_perdida")
        assert asiento.referencia == con_copia.referencia
    pagina = navegar("dpo", nombre="x").get(con_copia.get_absolute_url()).content.decode()
    assert "se perdió al restaurar" in pagina


def test_la_que_perdio_lo_que_le_anadio_otra_ejecucion_se_dice(
    con_copia: Any, copias: Copias, fichero: Path, otro_dpo: Any, dpo: Any
) -> None:
    exclusion = servicios.excluir(
        solicitud=con_copia, destino="memoria", clave="pref-idioma", motivo="obligacion", por=dpo
    )
    servicios.aprobar(solicitud=con_copia, por=otro_dpo)
    servicios.ejecutar(solicitud=con_copia)
    copias.hacer()
    servicios.liberar(exclusion=exclusion, por=otro_dpo)
    servicios.ejecutar(solicitud=con_copia)
    assert con_copia.estado == Estado.COMPLETADA
    ordenar("exportar_registro", fichero)
    copias.restaurar()
    datos, _, codigo = ordenar("reaplicar_supresiones", fichero)
    assert (datos["copias_perdidas"], codigo) == ([con_copia.referencia], 3)
    assert not Documento.objects.exists()


def test_con_otra_clave_de_sello_se_dice_cual_es(
    con_copia: Any, copias: Copias, fichero: Path, otro_dpo: Any, dpo: Any, settings: Any
) -> None:
    """Whether a copy made in two runs is whole is only known by reading it."""
    exclusion = servicios.excluir(
        solicitud=con_copia, destino="memoria", clave="pref-idioma", motivo="obligacion", por=dpo
    )
    servicios.aprobar(solicitud=con_copia, por=otro_dpo)
    servicios.ejecutar(solicitud=con_copia)
    servicios.liberar(exclusion=exclusion, por=otro_dpo)
    servicios.ejecutar(solicitud=con_copia)
    copias.hacer()
    ordenar("exportar_registro", fichero)
    copias.restaurar()
    clave, settings.CLAVE_SELLO = settings.CLAVE_SELLO, "o" * 50
    datos, _, codigo = ordenar("reaplicar_supresiones", fichero)
    assert (codigo, "CLAVE_SELLO" in datos["error"]) == (2, True)
    settings.CLAVE_SELLO = clave
    assert ordenar("reaplicar_supresiones", fichero)[2] == 0
