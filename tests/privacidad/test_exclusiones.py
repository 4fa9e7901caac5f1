"""E6: one row is held back, the rest goes; released, it finishes. Meanwhile nobody uses what is held."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from memoria.models import Documento, Hilo
from privacidad import servicios
from privacidad.errores import DatoNoValido, SinPermiso, TransicionNoPermitida
from privacidad.estados import Estado
from privacidad.models import Asiento, Exclusion, Restriccion, Solicitud
from privacidad.resumenes import resumen


def retener(
    solicitud: Solicitud, por: Any, clave: str = "pref-idioma", destino: str = "memoria"
) -> Exclusion:
    return servicios.excluir(solicitud=solicitud, destino=destino, clave=clave, motivo="reclamacion", por=por)


def test_uno_retenido_el_resto_se_va_y_soltado_termina(
    hasta: Callable[..., Any], preferencia: Callable[..., None], dpo: Any, otro_dpo: Any, almacen: Any
) -> None:
    for tipo in ("idioma", "horario", "contacto"):
        preferencia("C1", tipo)
    preferencia("C10", "idioma")
    solicitud = hasta(Estado.REVISADA)
    exclusion = retener(solicitud, dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)

    evidencia = servicios.ejecutar(solicitud=solicitud)

    assert solicitud.estado == Estado.PARCIAL
    assert evidencia.destinos["memoria"]["antes"]["documentos"] == 3
    assert evidencia.destinos["memoria"]["borrados"]["documentos"] == 2
    assert evidencia.destinos["memoria"]["despues"]["documentos"] == 1
    assert {d.prefix for d in Documento.objects.all()} == {"clientes.C1", "clientes.C10"}
    # It is there for who must answer for it, and for no agent.
    assert almacen.get(("clientes", "C1"), "pref-idioma") is None
    assert almacen.search(("clientes", "C1")) == []
    assert almacen.get(("clientes", "C10"), "pref-idioma") is not None
    assert Restriccion.objects.get().motivo.startswith(f"Retenido en la supresión {solicitud.referencia}")

    servicios.ejecutar(solicitud=solicitud)  # nothing to do yet, and it says so
    assert solicitud.estado == Estado.PARCIAL
    servicios.liberar(exclusion=exclusion, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)

    assert solicitud.estado == Estado.COMPLETADA
    assert [d.prefix for d in Documento.objects.all()] == ["clientes.C10"]
    restriccion = Restriccion.objects.get()
    assert restriccion.levantada
    assert (restriccion.prefijo, restriccion.clave) == (resumen("clientes.C1"), "")


def test_una_conversacion_retenida(
    hasta: Callable[..., Any], conversacion: Callable[..., None], dpo: Any, otro_dpo: Any
) -> None:
    for hilo in ("h1", "h2"):
        conversacion("C1", hilo)
    solicitud = hasta(Estado.REVISADA)
    exclusion = retener(solicitud, dpo, "h1", "hilos")
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    assert solicitud.estado == Estado.PARCIAL
    assert [h.thread_id for h in Hilo.objects.all()] == ["h1"]
    servicios.liberar(exclusion=exclusion, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    assert solicitud.estado == Estado.COMPLETADA
    assert not Hilo.objects.exists()


def test_una_conversacion_retenida_que_sigue_no_se_ejecuta_cada_vez(
    hasta: Callable[..., Any],
    conversacion: Callable[..., None],
    pasa_la_valla: Callable[[], None],
    dpo: Any,
    otro_dpo: Any,
) -> None:
    conversacion("C1", "h1")
    solicitud = hasta(Estado.REVISADA)
    exclusion = retener(solicitud, dpo, "h1", "hilos")
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    pasa_la_valla()
    conversacion("C1", "h1", "sigo")
    pasos = solicitud.pasos.count()
    servicios.ejecutar(solicitud=solicitud)
    assert (solicitud.pasos.count(), solicitud.evidencias.count()) == (pasos, 1)
    servicios.liberar(exclusion=exclusion, por=otro_dpo)
    evidencia = servicios.ejecutar(solicitud=solicitud)
    assert solicitud.estado == Estado.COMPLETADA
    assert evidencia.destinos["hilos"]["borrados"]["checkpoints"] == 2


@pytest.mark.parametrize(
    ("destino", "clave"),
    [
        ("memoria", "pref-horario"),
        ("memoria", ""),
        ("hilos", "h-C2"),
        ("hilos", "pref-idioma"),
        ("casa", "x"),
    ],
)
def test_solo_se_retiene_lo_que_hay_de_esa_persona(
    destino: str,
    clave: str,
    hasta: Callable[..., Any],
    preferencia: Callable[..., None],
    conversacion: Callable[..., None],
    dpo: Any,
) -> None:
    preferencia("C1")
    preferencia("C2", "horario")
    conversacion("C2", "h-C2")
    with pytest.raises(DatoNoValido):
        retener(hasta(Estado.REVISADA), dpo, clave, destino)
    assert not Exclusion.objects.exists()


def test_de_un_sitio_que_no_existe_no_se_retiene_nada_y_se_dice(
    hasta: Callable[..., Any], preferencia: Callable[..., None], dpo: Any, navegar: Callable[..., Any]
) -> None:
    preferencia("C1")
    solicitud = hasta(Estado.REVISADA)
    with pytest.raises(DatoNoValido, match="De ese sitio no se puede retener nada"):
        retener(solicitud, dpo, destino="no-existe")
    respuesta = navegar("dpo", nombre="x").post(
        reverse("privacidad:datos", args=[solicitud.referencia]),
        {"destino": "no-existe", "clave": "pref-idioma", "motivo": "reclamacion"},
    )
    assert respuesta.status_code == 422
    assert "De ese sitio no se puede retener nada" in respuesta.content.decode()
    assert "no se ha borrado nada" not in respuesta.content.decode()


def test_retener_pide_permiso_motivo_y_una_solicitud_abierta(
    hasta: Callable[..., Any], preferencia: Callable[..., None], dpo: Any, persona: Callable[..., Any]
) -> None:
    preferencia("C1")
    solicitud = hasta(Estado.REVISADA)
    with pytest.raises(SinPermiso):
        retener(solicitud, persona("operaciones"))
    with pytest.raises(DatoNoValido, match="motivo"):
        servicios.excluir(
            solicitud=solicitud, destino="memoria", clave="pref-idioma", motivo="porque sí", por=dpo
        )
    exclusion = retener(solicitud, dpo)
    with pytest.raises(DatoNoValido, match="ya está retenido"):
        retener(solicitud, dpo)
    with pytest.raises(SinPermiso):
        servicios.liberar(exclusion=exclusion, por=persona("consulta"))
    servicios.liberar(exclusion=exclusion, por=dpo)
    with pytest.raises(DatoNoValido, match="ya no"):
        servicios.liberar(exclusion=exclusion, por=dpo)
    servicios.denegar(solicitud=solicitud, motivo="No procede", por=dpo)
    with pytest.raises(TransicionNoPermitida):
        retener(solicitud, dpo)
    asientos = Asiento.objects.filter(tipo__startswith="exclusion")
    assert [(a.tipo, a.datos["destino"], a.datos["motivo"]) for a in asientos] == [
        ("exclusion", "memoria", "reclamacion"),
        ("exclusion_liberada", "memoria", "reclamacion"),
    ]


def test_cerrada_la_clave_de_lo_retenido_queda_en_resumen(
    hasta: Callable[..., Any],
    conversacion: Callable[..., None],
    dpo: Any,
    apariciones: Callable[[str], list[str]],
) -> None:
    conversacion("C1", "hilo-de-ana")
    solicitud = hasta(Estado.REVISADA)
    retener(solicitud, dpo, "hilo-de-ana", "hilos")
    servicios.retirar(solicitud=solicitud, motivo="Ya no lo pide", por=dpo)
    assert Exclusion.objects.get().clave == resumen("hilo-de-ana")
    assert "public.privacidad_exclusion" not in apariciones("hilo-de-ana")


def test_al_cerrar_otra_vez_el_resumen_sigue_siendo_el_de_la_clave(
    hasta: Callable[..., Any], preferencia: Callable[..., None], dpo: Any, otro_dpo: Any
) -> None:
    preferencia("C1")
    solicitud = hasta(Estado.REVISADA)
    exclusion = retener(solicitud, dpo)
    servicios.liberar(exclusion=exclusion, por=dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    assert Exclusion.objects.get().clave == resumen("pref-idioma")
    servicios.reabrir(solicitud=solicitud, sujeto_id="C1", hallado=["memoria"])
    servicios.ejecutar(solicitud=solicitud)
    assert solicitud.estado == Estado.COMPLETADA
    assert Exclusion.objects.get().clave == resumen("pref-idioma")


def test_cerrada_ya_no_hay_nada_que_soltar(
    hasta: Callable[..., Any], preferencia: Callable[..., None], dpo: Any
) -> None:
    preferencia("C1")
    solicitud = hasta(Estado.REVISADA)
    exclusion = retener(solicitud, dpo)
    servicios.retirar(solicitud=solicitud, motivo="Ya no lo pide", por=dpo)
    with pytest.raises(DatoNoValido, match="ya no está retenido"):
        servicios.liberar(exclusion=exclusion, por=dpo)
    assert not Asiento.objects.filter(tipo="exclusion_liberada").exists()


# -- pages --------------------------------------------------------------------------------------------


@pytest.fixture
def revisada(hasta: Callable[..., Any], preferencia: Callable[..., None]) -> Any:
    preferencia("C1", "idioma", "catalán")
    preferencia("C1", "horario", "por la mañana")
    return hasta(Estado.REVISADA)


def test_retener_y_soltar_en_el_navegador(revisada: Any, navegar: Callable[..., Any]) -> None:
    dpo = navegar("dpo", nombre="x")
    datos = reverse("privacidad:datos", args=[revisada.referencia])
    pagina = dpo.get(datos).content.decode()
    assert pagina.count("Retener este dato") == 2
    assert "Pr•••••• que se le ha••• en: ca•••••" in pagina
    assert "catalán" not in pagina
    envio = {"destino": "memoria", "clave": "pref-idioma", "motivo": "obligacion"}
    respuesta = dpo.post(datos, envio, follow=True)
    assert respuesta.redirect_chain == [(revisada.get_absolute_url(), 302)]
    pagina = respuesta.content.decode()
    assert "1 dato no se borra mientras siga retenido" in pagina
    assert "Obligación legal de conservarlo" in pagina
    assert dpo.post(datos, envio).status_code == 422
    assert dpo.get(datos).content.decode().count("Retener este dato") == 1
    soltar = reverse("privacidad:soltar", args=[revisada.referencia, Exclusion.objects.get().pk])
    assert "Dato soltado" in dpo.post(soltar, follow=True).content.decode()
    assert "ya no está retenido" in dpo.post(soltar, follow=True).content.decode()


def test_la_evidencia_no_dice_que_no_queda_nada_mientras_queda_lo_retenido(
    hasta: Callable[..., Any],
    preferencia: Callable[..., None],
    dpo: Any,
    otro_dpo: Any,
    navegar: Callable[..., Any],
) -> None:
    preferencia("C1", "idioma")
    preferencia("C1", "horario", "tardes")
    solicitud = hasta(Estado.REVISADA)
    exclusion = retener(solicitud, dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    cliente = navegar("dpo", nombre="x")
    pagina = cliente.get(solicitud.get_absolute_url()).content.decode()
    assert "queda solo lo que se retuvo" in pagina
    assert "no queda nada" not in pagina
    servicios.liberar(exclusion=exclusion, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    pagina = cliente.get(solicitud.get_absolute_url()).content.decode()
    assert pagina.count("queda solo lo que se retuvo") == pagina.count("no queda nada") == 1


def test_la_vista_previa_muestra_los_primeros_tapados(revisada: Any, navegar: Callable[..., Any]) -> None:
    pagina = navegar("dpo", nombre="x").get(revisada.get_absolute_url()).content.decode()
    assert "ca•••••" in pagina
    assert "catalán" not in pagina
    pagina = navegar("operaciones").get(revisada.get_absolute_url()).content.decode()
    assert "ca•••••" not in pagina


def test_quien_entra(revisada: Any, navegar: Callable[..., Any], dpo: Any) -> None:
    exclusion = retener(revisada, dpo)
    datos = reverse("privacidad:datos", args=[revisada.referencia])
    soltar = reverse("privacidad:soltar", args=[revisada.referencia, exclusion.pk])
    assert Client().get(datos).status_code == Client().post(soltar).status_code == 302
    for grupo in ("compras", "operaciones", "consulta"):
        cliente = navegar(grupo)
        assert cliente.get(datos).status_code == cliente.post(datos).status_code == 403
        assert cliente.post(soltar).status_code == 403
    cliente = navegar("dpo", nombre="x")
    assert cliente.get(datos).status_code == 200
    assert cliente.get(f"{datos}?ver=hilos").status_code == 200
    assert cliente.get(f"{datos}?ver=todo").status_code == 404
    assert cliente.get(soltar).status_code == 405
    assert cliente.post(reverse("privacidad:soltar", args=["SUP-2026-0999", exclusion.pk])).status_code == 404
    assert cliente.get(reverse("privacidad:datos", args=["SUP-2026-0999"])).status_code == 404


def test_las_consultas_no_crecen_con_las_filas(
    revisada: Any, navegar: Callable[..., Any], propietario: Any
) -> None:
    cliente = navegar("dpo", nombre="x")
    datos = reverse("privacidad:datos", args=[revisada.referencia])
    cliente.get(datos)
    with CaptureQueriesContext(connection) as pocas:
        cliente.get(datos)
    propietario.execute(
        "INSERT INTO langgraph.store (prefix, key, value)"
        " SELECT 'clientes.C1', 'k' || n, '{\"texto\": \"hola\"}' FROM generate_series(1, 60) n"
    )
    with CaptureQueriesContext(connection) as muchas:
        assert cliente.get(datos).content.decode().count("Retener este dato") == 20
    assert len(muchas) == len(pocas)
