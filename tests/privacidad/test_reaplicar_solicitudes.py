"""Replay: what becomes of the requests that the copy has (E6)."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader

from compras import servicios as compras
from compras.models import Proveedor, Retirada
from memoria.models import Documento, Hilo
from privacidad import plazos, registro, servicios
from privacidad.estados import Estado
from privacidad.models import Asiento, Evidencia, Exclusion, Paso, Solicitud
from tests.ordenes import ordenar
from tests.privacidad.restaurada import Copias, devolver


@pytest.mark.parametrize("estaba", [Estado.RECIBIDA, Estado.REVISADA, Estado.APROBADA])
def test_la_que_ya_se_completo_se_cierra_otra_vez_y_no_borra_lo_dicho_despues(
    estaba: Estado,
    copias: Copias,
    fichero: Path,
    preferencia: Callable[..., None],
    dicho: Callable[..., None],
    hasta: Callable[..., Any],
    hasta_completada: Callable[..., None],
) -> None:
    preferencia("C1")
    solicitud = hasta(estaba, "C1")
    copias.hacer()
    hasta_completada(solicitud)
    original = Evidencia.objects.get()
    ordenar("exportar_registro", fichero)
    copias.restaurar()
    dicho("C1", "contacto")
    datos, avisos, codigo = ordenar("reaplicar_supresiones", fichero)
    assert codigo == 0
    assert datos["solicitudes_atrasadas"] == [
        {"referencia": solicitud.referencia, "estaba": estaba, "estado": "completada", "al_dia": True}
    ]
    assert solicitud.referencia not in avisos
    restaurada = Solicitud.objects.get()
    assert (restaurada.estado, restaurada.sujeto_id, bytes(restaurada.reservado)) == ("completada", "", b"")
    evidencia = Evidencia.objects.get()
    assert (evidencia.resultado, evidencia.momento) == (original.resultado, original.momento)
    assert evidencia.rol == "según el registro"
    for destino, cuentas in original.destinos.items():
        assert {k: evidencia.destinos[destino][k] for k in ("antes", "borrados", "despues")} == {
            k: cuentas[k] for k in ("antes", "borrados", "despues")
        }
    assert "Paso rehecho" in Paso.objects.get(estado=Estado.COMPLETADA).texto
    assert ordenar("ejecutar_supresiones")[0]["completadas"] == 0
    assert list(Documento.objects.values_list("key", flat=True)) == ["pref-contacto"]
    assert registro.verificar().ok


@pytest.mark.parametrize("con_datos", [True, False])
def test_la_que_se_reviso_despues_de_la_copia_se_revisa_otra_vez(
    con_datos: bool,
    copias: Copias,
    fichero: Path,
    preferencia: Callable[..., None],
    hasta: Callable[..., Any],
    dpo: Any,
    otro_dpo: Any,
) -> None:
    """Its steps are in the register, and what was counted and found is not: nothing is approved by that."""
    if con_datos:
        preferencia("C1")
    solicitud = hasta(Estado.RECIBIDA, "C1")
    copias.hacer()
    servicios.identificar(solicitud=solicitud, como="DNI en tienda", por=dpo)
    servicios.revisar(solicitud=solicitud, por=dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    ordenar("exportar_registro", fichero)
    copias.restaurar()
    datos, _, codigo = ordenar("reaplicar_supresiones", fichero)
    assert [p["referencia"] for p in datos["por_revisar"]] == [solicitud.referencia]
    assert (datos["solicitudes_atrasadas"][0]["al_dia"], codigo) == (False, 3)
    restaurada = Solicitud.objects.get()
    assert restaurada.estado == Estado.IDENTIFICADA
    assert ordenar("ejecutar_supresiones")[0]["completadas"] == 0
    assert Documento.objects.count() == int(con_datos)
    assert ordenar("reaplicar_supresiones", fichero)[2] == 3
    servicios.revisar(solicitud=restaurada, por=dpo)
    assert ordenar("reaplicar_supresiones", fichero)[2] == 0
    servicios.aprobar(solicitud=restaurada, por=otro_dpo)
    servicios.ejecutar(solicitud=restaurada)
    assert (restaurada.estado, Documento.objects.exists()) == (Estado.COMPLETADA, False)


@pytest.mark.parametrize("estaba", [Estado.RECIBIDA, Estado.APROBADA])
def test_la_vigilancia_sigue_tras_restaurar(
    estaba: Estado,
    copias: Copias,
    fichero: Path,
    preferencia: Callable[..., None],
    hasta: Callable[..., Any],
    hasta_completada: Callable[..., None],
) -> None:
    """Of a run that was rebuilt nobody knows when it began: whom it erased is looked for all the same."""
    preferencia("C1")
    solicitud = hasta(estaba, "C1")
    copias.hacer()
    hasta_completada(solicitud)
    ordenar("exportar_registro", fichero)
    copias.restaurar()
    assert ordenar("reaplicar_supresiones", fichero)[2] == 0
    datos, _, codigo = ordenar("verificar_supresiones")
    assert (datos["verificadas"], datos["reaparecidas"], codigo) == (1, 0, 0)
    devolver(copias, "C1")
    datos, _, codigo = ordenar("verificar_supresiones")
    assert (datos["reaparecidas"], codigo) == (1, 0)
    assert Solicitud.objects.get().estado == Estado.REAPARECIDA


def test_un_paso_rehecho_no_dice_quien_lo_dio_ni_por_que(
    copias: Copias,
    fichero: Path,
    preferencia: Callable[..., None],
    hasta: Callable[..., Any],
    dpo: Any,
    otro_dpo: Any,
    navegar: Callable[..., Any],
) -> None:
    """The register names nobody and keeps no text: neither the page nor the certificate makes one up."""
    preferencia("C1")
    preferencia("C1", "horario", "mañanas")
    solicitud = hasta(Estado.REVISADA, "C1")
    servicios.excluir(
        solicitud=solicitud, destino="memoria", clave="pref-idioma", motivo="obligacion", por=dpo
    )
    copias.hacer()
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud, por=otro_dpo)
    ordenar("exportar_registro", fichero)
    copias.restaurar()
    assert ordenar("reaplicar_supresiones", fichero)[2] == 0

    rehecha = Solicitud.objects.get()
    assert (rehecha.estado, rehecha.excepcion_motivo) == (Estado.PARCIAL, "")
    pagina = " ".join(navegar("dpo", nombre="x").get(rehecha.get_absolute_url()).content.decode().split())
    assert "Aprobada por quien la recibió" not in pagina
    assert "No consta" in pagina
    assert "Tarea programada" not in pagina
    assert "Vectores sin documento, en toda la tabla</dt><dd>–</dd>" in pagina

    servicios.liberar(exclusion=rehecha.exclusiones.get(), por=otro_dpo)
    servicios.ejecutar(solicitud=rehecha)
    escrito = rehecha.escritos.get()
    datos = escrito.datos
    assert datos["excepcion"] == ""
    assert [e["vectores_huerfanos"] for e in datos["evidencias"]] == [None, 0]
    papel = " ".join(p.extract_text() for p in PdfReader(io.BytesIO(bytes(escrito.pdf))).pages)
    assert "Vectores sin documento no consta" in " ".join(papel.split())
    no_consta = "no consta quién, tras restaurar una copia de seguridad"
    assert [(p["que"], p["quien"]) for p in datos["pasos"]] == [
        ("recibida", "delegación de protección de datos"),
        ("aprobada", no_consta),
        ("en_curso", no_consta),
        ("en_curso", "tarea programada"),
    ]


def test_la_que_se_denego_o_retiro_tambien(
    copias: Copias, fichero: Path, hasta: Callable[..., Any], dpo: Any
) -> None:
    una, otra = hasta(Estado.REVISADA, "C1"), hasta(Estado.RECIBIDA, "C2")
    copias.hacer()
    servicios.denegar(solicitud=una, motivo="No es la persona", por=dpo)
    servicios.retirar(solicitud=otra, motivo="Ya no lo pide", por=dpo)
    ordenar("exportar_registro", fichero)
    copias.restaurar()
    datos, _, _ = ordenar("reaplicar_supresiones", fichero)
    assert [s["estado"] for s in datos["solicitudes_atrasadas"]] == ["denegada", "retirada"]
    assert not Solicitud.objects.abiertas().exists()
    assert not Solicitud.objects.exclude(sujeto_id="").exists()


def test_las_que_llegaron_despues_se_dicen_y_su_numero_no_se_repite(
    copias: Copias, fichero: Path, hasta: Callable[..., Any], recibida: Callable[..., Any]
) -> None:
    hasta(Estado.RECIBIDA, "C1")
    copias.hacer()
    perdida = recibida("C2")
    ordenar("exportar_registro", fichero)
    copias.restaurar()
    datos, avisos, codigo = ordenar("reaplicar_supresiones", fichero)
    assert codigo == 0
    assert datos["solicitudes_perdidas"] == [perdida.referencia]
    assert perdida.referencia in avisos
    assert recibida("C3").referencia > perdida.referencia


def test_lo_que_estaba_retenido_no_se_borra(
    copias: Copias,
    fichero: Path,
    preferencia: Callable[..., None],
    conversacion: Callable[..., None],
    hasta: Callable[..., Any],
    dpo: Any,
    otro_dpo: Any,
) -> None:
    """Held back after the copy was made: only the register, by its digest, knows which rows they are."""
    preferencia("C1")
    preferencia("C1", "horario", "mañanas")
    for hilo in ("h-C1-a", "h-C1-b"):
        conversacion("C1", hilo)
    solicitud = hasta(Estado.APROBADA, "C1")
    copias.hacer()
    for destino, clave in (("memoria", "pref-horario"), ("hilos", "h-C1-b")):
        servicios.excluir(solicitud=solicitud, destino=destino, clave=clave, motivo="reclamacion", por=dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)  # what had been approved has changed
    servicios.ejecutar(solicitud=solicitud)
    assert solicitud.estado == Estado.PARCIAL
    ordenar("exportar_registro", fichero)
    assert "h-C1-b" not in fichero.read_text()
    copias.restaurar()
    datos, _, codigo = ordenar("reaplicar_supresiones", fichero)
    assert codigo == 0
    assert (datos["documentos_borrados"], datos["hilos_borrados"]) == (1, 1)
    assert [s["estado"] for s in datos["solicitudes_atrasadas"]] == ["parcial"]
    assert list(Documento.objects.values_list("key", flat=True)) == ["pref-horario"]
    assert list(Hilo.objects.values_list("pk", flat=True)) == ["h-C1-b"]
    # The scheduled run must not take them either.
    assert Exclusion.objects.activas().count() == 2
    ordenar("ejecutar_supresiones")
    assert Documento.objects.count() == Hilo.objects.count() == 1


def test_lo_retenido_en_la_propia_copia_tampoco(
    copias: Copias,
    fichero: Path,
    preferencia: Callable[..., None],
    hasta: Callable[..., Any],
    dpo: Any,
    otro_dpo: Any,
) -> None:
    preferencia("C1")
    preferencia("C1", "horario", "mañanas")
    solicitud = hasta(Estado.REVISADA, "C1")
    servicios.excluir(
        solicitud=solicitud, destino="memoria", clave="pref-horario", motivo="reclamacion", por=dpo
    )
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    copias.hacer()
    ordenar("exportar_registro", fichero)
    copias.restaurar()
    datos, _, codigo = ordenar("reaplicar_supresiones", fichero)
    assert (datos["documentos_borrados"], datos["solicitudes_atrasadas"], codigo) == (0, [], 0)
    assert list(Documento.objects.values_list("key", flat=True)) == ["pref-horario"]


def test_una_mencion_borrada_no_vuelve(
    copias: Copias,
    fichero: Path,
    almacen_compras: Any,
    recibida: Callable[..., Any],
    dpo: Any,
    otro_dpo: Any,
) -> None:
    for clave, texto in (
        ("a1", "Llamar al 612 345 678 para la recogida"),
        ("a2", "Retraso en la ruta norte"),
    ):
        almacen_compras.put(
            ("proveedores", "P1"),
            clave,
            {"texto": texto, "fecha": "2026-11-01", "importancia": "normal"},
        )
    copias.hacer()
    solicitud = recibida("C1", identificadores={"telefono": "612345678"})
    servicios.identificar(solicitud=solicitud, como="DNI en tienda", por=dpo)
    servicios.revisar(solicitud=solicitud, por=dpo)
    servicios.decidir_mencion(
        mencion=solicitud.menciones.get(), decision="borrar", motivo="Es su teléfono", por=dpo
    )
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    assert Documento.objects.count() == 1
    ordenar("exportar_registro", fichero)
    copias.restaurar()
    assert Documento.objects.count() == 2
    datos, _, codigo = ordenar("reaplicar_supresiones", fichero)
    assert (datos["documentos_borrados"], codigo) == (1, 0)
    assert list(Documento.objects.values_list("key", flat=True)) == ["a2"]


@pytest.fixture
def aviso(persona: Callable[..., Any]) -> dict[str, Any]:
    """A notice of P1 that names somebody; who writes notices; and another supplier, P2."""
    lola = persona("compras", nombre="lola")
    uno, otro = (Proveedor.objects.create(codigo=c, nombre=f"Alfares {c}") for c in ("P1", "P2"))
    clave = compras.escribir(
        proveedor=uno, texto="Preguntar a la clienta 612345678 antes", asunto="", fecha=plazos.hoy(), por=lola
    )
    return {"uno": uno, "otro": otro, "clave": clave, "lola": lola}


def retirar(aviso: dict[str, Any]) -> None:
    compras.retirar(proveedor=aviso["uno"], clave=aviso["clave"], motivo="error", por=aviso["lola"])


def reponer(aviso: dict[str, Any]) -> None:
    compras.reponer(retirada=Retirada.objects.get().pk, por=aviso["lola"])


def fusionar(aviso: dict[str, Any]) -> None:
    compras.fusionar(origen=aviso["uno"], destino=aviso["otro"], por=aviso["lola"])


@pytest.mark.parametrize(
    ("antes", "despues"),
    [([retirar], [reponer]), ([], [fusionar]), ([], [retirar]), ([retirar], [fusionar, reponer])],
    ids=["repuesto", "fusionado", "retirado", "fusionado-y-repuesto"],
)
@pytest.mark.usefixtures("almacen_compras")
def test_una_mencion_borrada_que_la_copia_tiene_en_otro_sitio_tampoco_vuelve(
    antes: list[Callable[..., None]], despues: list[Callable[..., None]], aviso: dict[str, Any],
    copias: Copias, fichero: Path, recibida: Callable[..., Any], dpo: Any, otro_dpo: Any,
) -> None:  # fmt: skip
    for mover in antes:
        mover(aviso)
    copias.hacer()
    for mover in despues:
        mover(aviso)
    borrar_mencion(recibida, dpo, otro_dpo)
    assert (Documento.objects.count(), Retirada.objects.count()) == (0, 0)
    ordenar("exportar_registro", fichero)
    assert "612345678" not in fichero.read_text()
    copias.restaurar()
    assert (Documento.objects.count(), Retirada.objects.count()) == ((0, 1) if antes else (1, 0))
    datos, _, codigo = ordenar("reaplicar_supresiones", fichero)
    assert (datos["documentos_borrados"], datos["menciones_sin_hallar"], codigo) == (1, [], 0)
    assert (Documento.objects.count(), Retirada.objects.count()) == (0, 0)


def borrar_mencion(recibida: Callable[..., Any], dpo: Any, otro_dpo: Any) -> Any:
    solicitud = recibida("C1", identificadores={"telefono": "612345678"})
    servicios.identificar(solicitud=solicitud, como="DNI en tienda", por=dpo)
    servicios.revisar(solicitud=solicitud, por=dpo)
    servicios.decidir_mencion(
        mencion=solicitud.menciones.get(), decision="borrar", motivo="Es su teléfono", por=dpo
    )
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    return solicitud


@pytest.mark.usefixtures("almacen_compras")
def test_una_mencion_borrada_que_no_se_encuentra_se_dice(
    copias: Copias, fichero: Path, recibida: Callable[..., Any], dpo: Any, otro_dpo: Any,
    aviso: dict[str, Any],
) -> None:  # fmt: skip
    """Written again and moved since the copy was made: nothing says where it was."""
    copias.hacer()
    compras.corregir(
        proveedor=aviso["uno"], clave=aviso["clave"], texto="Preguntar a la clienta 612345678", asunto="",
        fecha=plazos.hoy(), version=Documento.objects.get().updated_at, por=aviso["lola"],
    )  # fmt: skip
    fusionar(aviso)
    solicitud = borrar_mencion(recibida, dpo, otro_dpo)
    ordenar("exportar_registro", fichero)
    copias.restaurar()
    datos, avisos, codigo = ordenar("reaplicar_supresiones", fichero)
    assert (datos["menciones_sin_hallar"], codigo) == ([solicitud.referencia], 3)
    assert f"{solicitud.referencia}: no está donde estaba" in avisos
    assert Asiento.objects.get(tipo="mencion_sin_hallar").referencia == solicitud.referencia
    # Whatever became of the first run, until somebody has looked for it.
    datos, avisos, codigo = ordenar("reaplicar_supresiones", fichero)
    assert (datos["menciones_sin_hallar"], codigo) == ([solicitud.referencia], 3)
    otra = recibida("C1", identificadores={"telefono": "612345678"})
    servicios.identificar(solicitud=otra, como="DNI en tienda", por=dpo)
    servicios.revisar(solicitud=otra, por=dpo)
    assert otra.menciones.count() == 1
    datos, _, codigo = ordenar("reaplicar_supresiones", fichero)
    assert (datos["menciones_sin_hallar"], codigo) == ([], 0)
