"""What was decided after the copy was made, restored: put back as it was, or the request is reviewed again.

Never is an older decision than the last registered one acted on.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from memoria.models import Documento
from privacidad import plazos, registro, servicios
from privacidad.errores import RevisionPerdida
from privacidad.estados import Estado
from privacidad.models import Asiento, Exclusion, Mencion, Solicitud
from privacidad.resumenes import resumen
from tests.ordenes import ordenar
from tests.privacidad.restaurada import Copias

TELEFONO = "612345678"


@pytest.fixture
def restaurar(copias: Copias, fichero: Path) -> Callable[[], tuple[dict[str, Any], str, int]]:
    """Export the register, restore the copy and replay."""

    def hacer() -> tuple[dict[str, Any], str, int]:
        assert ordenar("exportar_registro", fichero)[2] == 0
        copias.restaurar()
        return ordenar("reaplicar_supresiones", fichero)

    return hacer


@pytest.fixture
def aviso(almacen_compras: Any) -> Callable[..., None]:
    """A notice of P1 with the person's telephone in it."""

    def poner(clave: str = "a1") -> None:
        valor = {
            "texto": f"Preguntar a la clienta {TELEFONO}",
            "fecha": "2026-11-01",
            "importancia": "normal",
        }
        almacen_compras.put(("proveedores", "P1"), clave, valor)

    return poner


@pytest.fixture
def revisada(hasta: Callable[..., Any], aviso: Callable[..., None], preferencia: Callable[..., None]) -> Any:
    preferencia("C1")
    aviso()
    return hasta(Estado.REVISADA, "C1", identificadores={"telefono": TELEFONO})


@pytest.fixture
def decidir(dpo: Any) -> Callable[..., None]:
    def hacer(solicitud: Solicitud, decision: str) -> None:
        for mencion in solicitud.menciones.exclude(clave=""):
            servicios.decidir_mencion(mencion=mencion, decision=decision, motivo="Así se ha visto", por=dpo)

    return hacer


def avisos() -> list[str]:
    return sorted(Documento.objects.filter(prefix="proveedores.P1").values_list("key", flat=True))


# -- mentions --------------------------------------------------------------------------------------


@pytest.mark.parametrize("ejecutada", [False, True])
@pytest.mark.parametrize(
    ("antes", "despues"),
    [("borrar", "conservar"), ("conservar", "borrar"), (None, "borrar"), (None, "conservar")],
)
def test_cuenta_la_ultima_decision_sobre_una_mencion(
    antes: str | None, despues: str, ejecutada: bool, revisada: Any, decidir: Callable[..., None],
    copias: Copias, restaurar: Callable[..., Any], otro_dpo: Any,
) -> None:  # fmt: skip
    if antes:
        decidir(revisada, antes)
    copias.hacer()
    decidir(revisada, despues)
    servicios.aprobar(solicitud=revisada, por=otro_dpo)
    if ejecutada:
        servicios.ejecutar(solicitud=revisada)
    datos, _, codigo = restaurar()
    assert (datos["solicitudes_atrasadas"][0]["al_dia"], datos["por_revisar"], codigo) == (True, [], 0)
    mencion = Mencion.objects.get()
    assert (mencion.decision, mencion.por) == (despues, None)
    assert mencion.momento == Asiento.objects.filter(tipo="mencion").latest("numero").momento
    if not ejecutada:
        assert ordenar("ejecutar_supresiones")[0]["completadas"] == 1
    assert avisos() == (["a1"] if despues == "conservar" else [])
    # Nor does the watch go by the older one.
    assert ordenar("verificar_supresiones")[0]["reaparecidas"] == 0
    assert Solicitud.objects.get().estado == Estado.COMPLETADA
    if not ejecutada:
        certificado = Solicitud.objects.get().escritos.get()
        assert [m["decision"] for m in certificado.datos["menciones"]] == [despues]


def test_la_decision_sobre_lo_que_hallo_una_revision_posterior_se_toma_otra_vez(
    revisada: Any, aviso: Callable[..., None], decidir: Callable[..., None], copias: Copias,
    restaurar: Callable[..., Any], fichero: Path, dpo: Any, otro_dpo: Any,
) -> None:  # fmt: skip
    """The copy has the notice and no review that had found it."""
    aviso("a2")
    decidir(revisada, "conservar")
    copias.hacer()
    servicios.revisar(solicitud=revisada, por=dpo)
    decidir(revisada, "borrar")
    servicios.aprobar(solicitud=revisada, por=otro_dpo)
    datos, avisado, codigo = restaurar()
    ref = revisada.referencia
    assert (datos["por_revisar"], codigo) == ([{"referencia": ref, "identificadores_de": []}], 3)
    assert datos["solicitudes_atrasadas"] == [
        {"referencia": ref, "estaba": "revisada", "estado": "revisada", "al_dia": False}
    ]
    assert f"{ref}: lo que se revisó" in avisado
    actual = Solicitud.objects.get()
    with pytest.raises(RevisionPerdida):
        servicios.aprobar(solicitud=actual, por=otro_dpo)
    assert ordenar("ejecutar_supresiones")[0]["completadas"] == 0
    # It is told until it is done.
    assert ordenar("reaplicar_supresiones", fichero)[2] == 3
    servicios.revisar(solicitud=actual, por=dpo)
    assert ordenar("reaplicar_supresiones", fichero)[2] == 0
    assert sorted(actual.menciones.values_list("clave", "decision")) == [
        ("a1", "borrar"),
        ("a2", "pendiente"),
    ]
    decidir(actual, "borrar")
    servicios.aprobar(solicitud=actual, por=otro_dpo)
    servicios.ejecutar(solicitud=actual)
    assert (actual.estado, avisos()) == (Estado.COMPLETADA, [])


def test_lo_decidido_sobre_lo_que_hallo_una_revision_posterior_y_se_ejecuto_se_conserva_por_su_resumen(
    hasta: Callable[..., Any], aviso: Callable[..., None], preferencia: Callable[..., None],
    decidir: Callable[..., None], copias: Copias, restaurar: Callable[..., Any], otro_dpo: Any,
) -> None:  # fmt: skip
    preferencia("C1")
    aviso()
    copias.hacer()
    solicitud = hasta(Estado.REVISADA, "C1", identificadores={"telefono": TELEFONO})
    decidir(solicitud, "borrar")
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    assert restaurar()[2] == 0
    mencion = Mencion.objects.get()
    assert (mencion.clave, mencion.decision, avisos()) == ("", "borrar", [])
    assert mencion.prefijo == Asiento.objects.get(tipo="mencion").datos["fila"]


def test_lo_que_quedo_sin_decidir_no_se_da_por_aprobado(
    revisada: Any, copias: Copias, restaurar: Callable[..., Any], dpo: Any, otro_dpo: Any
) -> None:
    """The notice was deleted by another hand after the copy, and the next review did not find it."""
    copias.hacer()
    with copias.conectar(copias.base) as conexion:
        conexion.execute("DELETE FROM langgraph.store WHERE key = 'a1'")
    servicios.revisar(solicitud=revisada, por=dpo)
    servicios.aprobar(solicitud=revisada, por=otro_dpo)
    datos, _, codigo = restaurar()
    assert (len(datos["por_revisar"]), codigo) == (1, 3)
    assert Solicitud.objects.get().estado == Estado.REVISADA


def test_la_que_se_aprobo_despues_de_la_copia_sin_nada_mas_sigue_aprobada(
    revisada: Any, decidir: Callable[..., None], copias: Copias, restaurar: Callable[..., Any], otro_dpo: Any
) -> None:
    decidir(revisada, "borrar")
    copias.hacer()
    servicios.aprobar(solicitud=revisada, por=otro_dpo)
    assert restaurar()[2] == 0
    assert ordenar("ejecutar_supresiones")[0]["completadas"] == 1
    assert avisos() == []


# -- identifiers of a linked request ---------------------------------------------------------------


@pytest.mark.parametrize("estado", [Estado.IDENTIFICADA, Estado.REVISADA, Estado.APROBADA])
def test_los_identificadores_de_una_vinculada_se_piden_otra_vez(
    estado: Estado, hasta: Callable[..., Any], recibida: Callable[..., Any], aviso: Callable[..., None],
    preferencia: Callable[..., None], decidir: Callable[..., None], copias: Copias,
    restaurar: Callable[..., Any], fichero: Path, dpo: Any, otro_dpo: Any, navegar: Callable[..., Any],
) -> None:  # fmt: skip
    preferencia("C1")
    aviso()
    una = hasta(estado, "C1")
    copias.hacer()
    otra = recibida("C1", identificadores={"telefono": TELEFONO})
    datos, avisado, codigo = restaurar()
    assert datos["por_revisar"] == [{"referencia": una.referencia, "identificadores_de": [otra.referencia]}]
    assert codigo == 3
    assert otra.referencia in avisado
    assert una.referencia in avisado
    assert TELEFONO not in avisado
    assert all(not s["al_dia"] for s in datos["solicitudes_atrasadas"] if s["referencia"] == una.referencia)
    actual = Solicitud.objects.get(pk=una.pk)
    assert actual.estado == (Estado.IDENTIFICADA if estado == Estado.IDENTIFICADA else Estado.REVISADA)
    pagina = " ".join(navegar("dpo", nombre="x").get(actual.get_absolute_url()).content.decode().split())
    assert f"llegaron con {otra.referencia} se han perdido" in pagina
    if estado != Estado.IDENTIFICADA:
        assert "Aprobar la supresión" not in pagina
        with pytest.raises(RevisionPerdida):
            servicios.aprobar(solicitud=actual, por=otro_dpo)
    assert ordenar("ejecutar_supresiones")[0]["completadas"] == 0
    assert ordenar("reaplicar_supresiones", fichero)[0]["por_revisar"] == datos["por_revisar"]
    # What the command says to do, done.
    recibida("C1", identificadores={"telefono": TELEFONO})
    servicios.revisar(solicitud=actual, por=dpo)
    assert ordenar("reaplicar_supresiones", fichero)[2] == 0
    pagina = navegar("dpo", nombre="z").get(actual.get_absolute_url()).content.decode()
    assert "se han perdido" not in pagina
    decidir(actual, "borrar")
    servicios.aprobar(solicitud=actual, por=otro_dpo)
    servicios.ejecutar(solicitud=actual)
    assert (actual.estado, avisos()) == (Estado.COMPLETADA, [])


def test_una_vinculada_que_no_trajo_identificadores_no_obliga_a_nada(
    revisada: Any, recibida: Callable[..., Any], decidir: Callable[..., None], copias: Copias,
    restaurar: Callable[..., Any], otro_dpo: Any,
) -> None:  # fmt: skip
    decidir(revisada, "borrar")
    servicios.aprobar(solicitud=revisada, por=otro_dpo)
    copias.hacer()
    recibida("C1")
    datos, _, codigo = restaurar()
    assert (datos["por_revisar"], codigo) == ([], 0)
    assert Solicitud.objects.get(pk=revisada.pk).estado == Estado.APROBADA


def test_los_de_una_que_ya_se_ejecuto_en_parte_se_piden_y_no_se_completa_sin_ellos(
    hasta: Callable[..., Any], recibida: Callable[..., Any], aviso: Callable[..., None],
    preferencia: Callable[..., None], copias: Copias, restaurar: Callable[..., Any], fichero: Path, dpo: Any,
    otro_dpo: Any, navegar: Callable[..., Any],
) -> None:  # fmt: skip
    preferencia("C1")
    aviso()
    una = hasta(Estado.REVISADA, "C1")
    exclusion = servicios.excluir(
        solicitud=una, destino="memoria", clave="pref-idioma", motivo="obligacion", por=dpo
    )
    servicios.aprobar(solicitud=una, por=otro_dpo)
    servicios.ejecutar(solicitud=una)
    copias.hacer()
    otra = recibida("C1", identificadores={"telefono": TELEFONO})
    datos, _, codigo = restaurar()
    assert datos["por_revisar"] == [{"referencia": una.referencia, "identificadores_de": [otra.referencia]}]
    assert codigo == 3
    servicios.liberar(exclusion=Exclusion.objects.get(pk=exclusion.pk), por=otro_dpo)
    assert ordenar("ejecutar_supresiones")[0]["completadas"] == 0
    actual = Solicitud.objects.get(pk=una.pk)
    assert (actual.estado, Documento.objects.filter(key="pref-idioma").exists()) == (Estado.PARCIAL, False)
    pagina = navegar("dpo", nombre="x").get(actual.get_absolute_url()).content.decode()
    assert f"llegaron con {otra.referencia} se han perdido" in pagina
    recibida("C1", identificadores={"telefono": TELEFONO})
    assert ordenar("reaplicar_supresiones", fichero)[2] == 0
    mencion = Mencion.objects.get()
    servicios.decidir_mencion(mencion=mencion, decision="borrar", motivo="Es su teléfono", por=otro_dpo)
    assert ordenar("ejecutar_supresiones")[0]["completadas"] == 1
    assert avisos() == []


def test_los_identificadores_de_una_solicitud_posterior_sin_revisar_tambien_se_piden(
    recibida: Callable[..., Any], preferencia: Callable[..., None], copias: Copias,
    restaurar: Callable[..., Any],
) -> None:  # fmt: skip
    preferencia("C1")
    copias.hacer()
    una = recibida("C1", identificadores={"telefono": TELEFONO})
    datos, _, codigo = restaurar()
    assert datos["por_revisar"] == [{"referencia": una.referencia, "identificadores_de": [una.referencia]}]
    assert (datos["solicitudes_rehechas"][0]["al_dia"], codigo) == (False, 3)


# -- the other kinds of entry ----------------------------------------------------------------------


@pytest.mark.parametrize("suelta", [False, True])
def test_lo_retenido_o_soltado_antes_de_ejecutar_es_lo_ultimo_que_se_decidio(
    suelta: bool, hasta: Callable[..., Any], preferencia: Callable[..., None], copias: Copias,
    restaurar: Callable[..., Any], dpo: Any, otro_dpo: Any,
) -> None:  # fmt: skip
    preferencia("C1")
    preferencia("C1", "horario", "mañanas")
    solicitud = hasta(Estado.REVISADA, "C1")
    datos = {"solicitud": solicitud, "destino": "memoria", "clave": "pref-horario", "motivo": "obligacion"}
    exclusion = servicios.excluir(**datos, por=dpo) if suelta else None
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    copias.hacer()
    if exclusion:
        servicios.liberar(exclusion=exclusion, por=dpo)
    else:
        servicios.excluir(**datos, por=dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    assert restaurar()[2] == 0
    assert Solicitud.objects.get().estado == Estado.APROBADA
    ordenar("ejecutar_supresiones")
    assert Documento.objects.filter(key="pref-horario").exists() is not suelta
    assert Solicitud.objects.get().estado == (Estado.COMPLETADA if suelta else Estado.PARCIAL)


@pytest.mark.parametrize("con_copia", [False, True])
def test_lo_ultimo_que_se_decidio_de_la_copia_bloqueada(
    con_copia: bool, hasta: Callable[..., Any], preferencia: Callable[..., None], copias: Copias,
    restaurar: Callable[..., Any], dpo: Any, otro_dpo: Any,
) -> None:  # fmt: skip
    preferencia("C1")
    solicitud = hasta(Estado.REVISADA, "C1")
    cuando = plazos.hoy() + timedelta(days=900)
    con, sin = {"hasta": cuando, "motivo": None}, {"hasta": None, "motivo": "No hace falta"}
    servicios.decidir_copia(solicitud=solicitud, por=dpo, **(sin if con_copia else con))
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    copias.hacer()
    servicios.decidir_copia(solicitud=solicitud, por=dpo, **(con if con_copia else sin))
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    assert restaurar()[2] == 0
    restaurada = Solicitud.objects.get()
    assert (restaurada.estado, restaurada.copia_hasta) == (Estado.APROBADA, cuando if con_copia else None)


# -- requests that nothing here knows --------------------------------------------------------------


def test_la_vinculada_que_se_pierde_con_una_abierta_se_dice_con_ella(
    recibida: Callable[..., Any], copias: Copias, restaurar: Callable[..., Any]
) -> None:
    """The date it came in on may be the one that sets the deadline."""
    copias.hacer()
    una = recibida("C1")
    otra = recibida("C1", dia=plazos.hoy() - timedelta(days=20))
    datos, _, _ = restaurar()
    assert datos["solicitudes_perdidas"] == [una.referencia, otra.referencia]
    assert datos["solicitudes_cerradas_perdidas"] == []


def test_la_vinculada_a_una_cerrada_que_tambien_se_pierde_es_de_las_cerradas(
    recibida: Callable[..., Any], copias: Copias, restaurar: Callable[..., Any], dpo: Any
) -> None:
    copias.hacer()
    una = recibida("C1")
    otra = recibida("C1")
    servicios.retirar(solicitud=una, motivo="Ya no lo pide", por=dpo)
    nueva = recibida("C1")
    datos, _, _ = restaurar()
    assert datos["solicitudes_perdidas"] == [nueva.referencia]
    assert datos["solicitudes_cerradas_perdidas"] == [una.referencia, otra.referencia]


def test_de_quien_habia_vuelto_se_borra_hasta_donde_llego_la_ultima_supresion(
    preferencia: Callable[..., None], copias: Copias, restaurar: Callable[..., Any]
) -> None:
    """What they have said since they came back was not erased: the entry says where that run stopped."""
    preferencia("C1")
    llego = timezone.now()
    preferencia("C1", "horario", "mañanas")
    copias.hacer()
    registro.anotar(
        tipo="supresion",
        referencia="SUP-2001-0001",
        resumen=resumen("clientes.C1"),
        datos={"momento": timezone.now().isoformat(), "hasta": llego.isoformat()},
    )
    assert restaurar()[0]["documentos_borrados"] == 1
    assert Documento.objects.get().key == "pref-horario"


@pytest.mark.parametrize("cerrada_en_la_copia", [False, True])
def test_la_que_se_ejecuto_y_reaparecio_no_se_queda_aprobada(
    cerrada_en_la_copia: bool, hasta: Callable[..., Any], preferencia: Callable[..., None], copias: Copias,
    restaurar: Callable[..., Any], sin_guardas: Callable[..., None], pasa_la_valla: Callable[[], None],
) -> None:  # fmt: skip
    preferencia("C1")
    solicitud = hasta(Estado.APROBADA, "C1")
    if not cerrada_en_la_copia:
        copias.hacer()
    servicios.ejecutar(solicitud=solicitud)
    if cerrada_en_la_copia:
        copias.hacer()
    sin_guardas(
        "INSERT INTO langgraph.store (prefix, key, value, created_at, updated_at)"
        " VALUES ('clientes.C1', 'pref-idioma', '{}', now() - interval '1 day', now() - interval '1 day')"
    )
    pasa_la_valla()
    assert ordenar("verificar_supresiones")[0]["reaparecidas"] == 1
    datos, _, codigo = restaurar()
    estado = Estado.COMPLETADA if cerrada_en_la_copia else Estado.REAPARECIDA
    assert Solicitud.objects.get().estado == estado
    assert [s["al_dia"] for s in datos["solicitudes_atrasadas"]] == [not cerrada_en_la_copia]
    assert codigo == (3 if cerrada_en_la_copia else 0)
    assert not Documento.objects.exists()
    if not cerrada_en_la_copia:
        assert ordenar("ejecutar_supresiones")[0]["completadas"] == 1
