"""Replay: single data that were erased, restricted or corrected (E6)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memoria.models import Documento
from privacidad import registro, servicios
from privacidad.estados import Estado
from privacidad.models import Asiento, Restriccion
from privacidad.resumenes import resumen
from tests.ordenes import ordenar
from tests.privacidad.restaurada import Copias


@pytest.fixture
def dos_datos(preferencia: Callable[..., None]) -> None:
    for cliente in ("C1", "C10"):
        preferencia(cliente)
        preferencia(cliente, "horario", "mañanas")


def dato(clave: str = "pref-idioma", de: str = "clientes.C1") -> dict[str, Any]:
    documento = Documento.objects.get(prefix=de, key=clave)
    return {"espacio": "clientes", "sujeto_id": "C1", "clave": clave, "visto": documento.updated_at}


@pytest.mark.usefixtures("dos_datos")
def test_el_borrado_de_un_dato_suelto_se_repite_y_lo_dicho_despues_se_queda(
    copias: Copias, fichero: Path, dpo: Any, dicho: Callable[..., None]
) -> None:
    """Art. 17 of one datum: a restore may not undo it either."""
    copias.hacer()
    for clave in ("pref-idioma", "pref-horario"):
        servicios.borrar_dato(**dato(clave), motivo="Lo pide", por=dpo)
    ordenar("exportar_registro", fichero)
    assert "idioma" in fichero.read_text()
    copias.restaurar()
    dicho("C1", "horario")  # said again since
    datos, _, codigo = ordenar("reaplicar_supresiones", fichero, "--dry-run")
    assert (datos["datos_borrados"], codigo, Documento.objects.count()) == (1, 0, 4)
    datos, _, codigo = ordenar("reaplicar_supresiones", fichero)
    assert (datos["datos_borrados"], datos["a_mano"], codigo) == (1, [], 0)
    quedan = Documento.objects.values_list("prefix", "key").order_by("prefix", "key")
    assert list(quedan) == [
        ("clientes.C1", "pref-horario"),
        ("clientes.C10", "pref-horario"),
        ("clientes.C10", "pref-idioma"),
    ]
    assert ordenar("reaplicar_supresiones", fichero)[0]["datos_borrados"] == 0
    assert ordenar("verificar_registro", "--contra", fichero)[2] == 0


@pytest.mark.usefixtures("dos_datos")
def test_lo_que_se_dijo_despues_de_borrar_un_dato_ya_estaba_en_la_copia_y_se_queda(
    copias: Copias, fichero: Path, dpo: Any, preferencia: Callable[..., None]
) -> None:
    servicios.borrar_dato(**dato(), motivo="Lo pide", por=dpo)
    preferencia("C1", "idioma", "inglés")
    ordenar("exportar_registro", fichero)
    copias.hacer()
    copias.restaurar()
    assert ordenar("reaplicar_supresiones", fichero)[0]["datos_borrados"] == 0
    assert Documento.objects.count() == 4


@pytest.mark.usefixtures("dos_datos")
def test_las_limitaciones_se_rehacen_y_las_levantadas_se_levantan(
    copias: Copias, fichero: Path, dpo: Any
) -> None:
    def limitar(sujeto_id: str, clave: str = "") -> Restriccion:
        return servicios.restringir(
            espacio="clientes", sujeto_id=sujeto_id, clave=clave, motivo="Lo discute", por=dpo
        )

    vieja = limitar("C10", "pref-horario")
    copias.hacer()
    servicios.levantar(restriccion=vieja, motivo="Era cierto", por=dpo)
    limitar("C1", "pref-idioma")
    nueva = limitar("C10")
    ordenar("exportar_registro", fichero)
    assert "pref-idioma" not in fichero.read_text()
    copias.restaurar()
    datos, _, codigo = ordenar("reaplicar_supresiones", fichero)
    assert (datos["limitaciones_rehechas"], datos["a_mano"], codigo) == (3, [], 0)
    en_vigor = Restriccion.objects.filter(levantada__isnull=True).values_list("prefijo", "clave")
    assert set(en_vigor) == {("clientes.C1", "pref-idioma"), ("clientes.C10", "")}
    limitados = Documento.objects.filter(limitado=True).values_list("prefix", "key")
    assert set(limitados) == {
        ("clientes.C1", "pref-idioma"),
        ("clientes.C10", "pref-idioma"),
        ("clientes.C10", "pref-horario"),
    }
    assert ordenar("reaplicar_supresiones", fichero)[0]["limitaciones_rehechas"] == 0
    # The register goes on speaking of each by its number, and the next one gets a new one.
    rehecha = Restriccion.objects.get(prefijo="clientes.C10", clave="")
    servicios.levantar(restriccion=rehecha, motivo="Era cierto", por=dpo)
    assert (
        Asiento.objects.filter(tipo="limitacion_levantada").latest("numero").datos["limitacion"] == nueva.pk
    )
    assert limitar("C10", "pref-idioma").pk > nueva.pk


@pytest.mark.usefixtures("dos_datos")
def test_una_rectificacion_no_se_puede_rehacer_y_se_dice_hasta_que_se_hace(
    copias: Copias, fichero: Path, dpo: Any
) -> None:
    copias.hacer()
    servicios.rectificar(**dato(), valor="aranés", por=dpo)
    ordenar("exportar_registro", fichero)
    assert "aranés" not in fichero.read_text()
    assert ordenar("reaplicar_supresiones", fichero)[0]["a_mano"] == []  # nothing was restored
    copias.restaurar()
    datos, avisos, codigo = ordenar("reaplicar_supresiones", fichero)
    asiento = Asiento.objects.get(tipo="rectificacion")
    assert datos["a_mano"] == [
        {"asiento": asiento.numero, "tipo": "rectificacion", "momento": asiento.momento.isoformat()}
    ]
    assert f"Asiento {asiento.numero} (rectificacion" in avisos
    assert "C1" not in avisos
    assert codigo == 3
    servicios.rectificar(**dato(), valor="aranés", por=dpo)
    datos, _, codigo = ordenar("reaplicar_supresiones", fichero)
    assert (datos["a_mano"], codigo) == ([], 0)


@pytest.mark.usefixtures("dos_datos")
def test_una_limitacion_de_la_que_el_registro_no_dice_el_dato_se_dice_hasta_que_se_hace(
    fichero: Path, dpo: Any
) -> None:
    """As entries were before they held the digest of what the restriction was over."""
    registro.anotar(
        tipo="limitacion", resumen=resumen("clientes.C1"), datos={"limitacion": 7, "alcance": "documento"}
    )
    ordenar("exportar_registro", fichero)
    datos, _, codigo = ordenar("reaplicar_supresiones", fichero)
    assert ([p["tipo"] for p in datos["a_mano"]], codigo) == (["limitacion"], 3)
    servicios.restringir(
        espacio="clientes", sujeto_id="C1", clave="pref-idioma", motivo="Lo discute", por=dpo
    )
    datos, _, codigo = ordenar("reaplicar_supresiones", fichero)
    assert (datos["a_mano"], codigo) == ([], 0)


def test_lo_que_se_borro_entero_despues_no_se_toca_dato_a_dato(
    copias: Copias, fichero: Path, dpo: Any, preferencia: Callable[..., None], hasta: Callable[..., Any]
) -> None:
    preferencia("C1")
    preferencia("C1", "horario", "mañanas")
    copias.hacer()
    servicios.rectificar(**dato(), valor="aranés", por=dpo)
    servicios.restringir(espacio="clientes", sujeto_id="C1", motivo="Lo discute", por=dpo)
    hasta(Estado.COMPLETADA, "C1")
    ordenar("exportar_registro", fichero)
    copias.restaurar()
    datos, _, codigo = ordenar("reaplicar_supresiones", fichero)
    assert (datos["documentos_borrados"], datos["a_mano"], datos["limitaciones_rehechas"], codigo) == (
        2,
        [],
        0,
        0,
    )
    assert not Restriccion.objects.exists()
