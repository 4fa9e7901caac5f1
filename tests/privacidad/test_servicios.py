"""The steps before the run: who may, when, and what cannot be typed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission

from memoria.models import Documento
from privacidad import plazos, servicios
from privacidad.errores import (
    CuatroOjos,
    DatoNoValido,
    FaltaMotivo,
    SinPermiso,
    TransicionNoPermitida,
)
from privacidad.estados import Estado
from privacidad.models import Copia, Solicitud
from tests.esperas import a_la_vez


def test_recibir_da_referencia_y_plazo(recibida: Callable[..., Any], dpo: Any) -> None:
    anio = plazos.hoy().year
    una, otra = recibida("C1"), recibida("C2", dia=date(2025, 1, 30))
    assert [una.referencia, otra.referencia] == [f"SUP-{anio}-0001", f"SUP-{anio}-0002"]
    assert str(una) == una.referencia
    assert otra.vence == date(2025, 2, 28)
    assert [(p.estado, p.por) for p in una.pasos.all()] == [(Estado.RECIBIDA, dpo)]


def test_un_rechazo_no_deja_hueco_en_las_referencias(recibida: Callable[..., Any]) -> None:
    recibida("C1")
    with pytest.raises(DatoNoValido):
        recibida("")
    assert recibida("C2").referencia.endswith("-0002")


def test_despues_de_9999_la_referencia_crece(propietario: Any, recibida: Callable[..., Any]) -> None:
    recibida("C1")
    propietario.execute("UPDATE privacidad_contador SET ultimo = 9999")
    assert recibida("C2").referencia.endswith("-10000")


def test_dos_recepciones_a_la_vez_dejan_una_abierta(dpo: Any, bd: str) -> None:
    def recibir() -> Solicitud:
        return servicios.recibir(
            espacio="clientes", sujeto_id="C1", canal="web", recibida=plazos.hoy(), por=dpo
        )

    salida = a_la_vez(recibir, recibir)
    assert sorted(s.estado for s in salida) == [Estado.RECIBIDA, Estado.VINCULADA]
    assert Solicitud.objects.abiertas().count() == 1


@pytest.mark.parametrize("cierre", ["denegar", "retirar"])
def test_cerrada_una_se_puede_abrir_otra(cierre: str, recibida: Callable[..., Any], dpo: Any) -> None:
    primera = recibida("C1")
    getattr(servicios, cierre)(solicitud=primera, motivo="Es de otra persona", por=dpo)
    assert primera.cerrada is not None
    segunda = recibida("C1")
    assert segunda.resumen == primera.resumen
    assert segunda.pk != primera.pk


def test_ids_que_se_parecen_son_personas_distintas(recibida: Callable[..., Any]) -> None:
    ids = ["C1", "c1", "C10", "C_1", "C%1", "C.1", "C%2E1", " C1"]
    assert len({recibida(i).resumen for i in ids}) == len(ids)


@pytest.mark.parametrize(
    ("cambio", "frase"),
    [
        ({"espacio": "pedidos"}, "no está en la política"),
        ({"espacio": ["clientes"]}, "no está en la política"),
        ({"sujeto_id": ""}, "vacío"),
        ({"sujeto_id": None}, "vacío"),
        ({"sujeto_id": "  "}, "solo hay espacios"),
        ({"sujeto_id": "\u00a0\u2003"}, "solo hay espacios"),
        ({"sujeto_id": "\n"}, "solo hay espacios"),
        ({"sujeto_id": "C1\nC2"}, "no se ven"),
        ({"sujeto_id": "C\t1"}, "no se ven"),
        ({"sujeto_id": "C\u202e1"}, "no se ven"),
        ({"sujeto_id": "C1\u2069"}, "no se ven"),
        ({"sujeto_id": "C1\u200b"}, "no se ven"),
        ({"sujeto_id": "C\x851"}, "no se ven"),
        ({"sujeto_id": "C\x001"}, "caracteres de control"),
        ({"sujeto_id": "C\ud8001"}, "caracteres de control"),
        ({"sujeto_id": "C" * 1_048_576}, "más de"),
        ({"canal": "paloma"}, "canal"),
        ({"recibida": plazos.hoy() + timedelta(days=2)}, "posterior a hoy"),
        ({"recibida": datetime(2026, 1, 1, tzinfo=plazos.MADRID)}, "sin hora"),
        ({"recibida": "2026-01-01"}, "sin hora"),
        ({"identificadores": {"email": "a\x00b"}}, "identificadores"),
        ({"identificadores": {"email": ["a@x.es"]}}, "identificadores"),
        ({"identificadores": {"email": "a" * 1_048_576}}, "identificadores"),
    ],
    ids=lambda v: "" if isinstance(v, str) else "-".join(v),
)
def test_recibir_rechaza_lo_que_no_vale_con_una_frase(cambio: dict[str, Any], frase: str, dpo: Any) -> None:
    datos = {"espacio": "clientes", "sujeto_id": "C1", "canal": "web", "recibida": plazos.hoy(), "por": dpo}
    with pytest.raises(DatoNoValido, match=frase) as error:
        servicios.recibir(**{**datos, **cambio})
    assert len(str(error.value)) < 300  # it never repeats what was typed
    assert not Solicitud.objects.exists()


def test_lo_que_hay_en_la_memoria_se_puede_borrar_se_llame_como_se_llame(
    recibida: Callable[..., Any], preferencia: Callable[..., None], dpo: Any
) -> None:
    """An agent wrote it with a line break: refusing that id would leave the person there for good."""
    preferencia("C1\nC2")
    assert recibida("C1\nC2").estado == Estado.RECIBIDA
    with pytest.raises(DatoNoValido, match="no se ven"):
        recibida("C1\nC3")


def test_los_otros_identificadores_se_guardan_mientras_esta_abierta(recibida: Callable[..., Any]) -> None:
    datos = {"email": "ana@x.es", "telefono": "600123123"}
    assert Solicitud.objects.get(pk=recibida(identificadores=datos).pk).identificadores() == datos


def test_revisar_cuenta_sin_borrar_y_se_puede_repetir(
    hasta: Callable[..., Any], preferencia: Callable[..., None], dpo: Any
) -> None:
    solicitud = hasta(Estado.IDENTIFICADA)
    assert servicios.revisar(solicitud=solicitud, por=dpo)["memoria"]["documentos"] == 0
    preferencia("C1")
    for _ in range(2):
        assert servicios.revisar(solicitud=solicitud, por=dpo)["memoria"]["documentos"] == 1
    assert Solicitud.objects.get().vista_previa["memoria"]["documentos"] == 1


# -- four eyes --------------------------------------------------------------------------------------

SOLO = "No hay otra persona delegada"


def test_quien_recibe_no_aprueba(hasta: Callable[..., Any], dpo: Any, otro_dpo: Any) -> None:
    solicitud = hasta(Estado.REVISADA)
    for motivo in (None, SOLO):  # a reason is no way round: there is somebody else
        with pytest.raises(CuatroOjos):
            servicios.aprobar(solicitud=solicitud, por=dpo, excepcion_motivo=motivo)
    assert Solicitud.objects.get().estado == Estado.REVISADA
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    assert solicitud.excepcion_motivo == ""


def dar_de_baja(persona: Any) -> None:
    persona.is_active = False
    persona.save()


def test_sin_otra_persona_que_pueda_la_excepcion_es_explicita_y_queda_en_la_solicitud(
    hasta: Callable[..., Any], dpo: Any, otro_dpo: Any, persona: Callable[..., Any]
) -> None:
    solicitud = hasta(Estado.REVISADA)
    dar_de_baja(otro_dpo)
    persona("operaciones", nombre="ope")  # cannot approve: does not count
    for vacio in (None, "", "  ", "\n", "x", "nadie más", "x" * 40, "a b c"):
        with pytest.raises((FaltaMotivo, DatoNoValido)):
            servicios.aprobar(solicitud=solicitud, por=dpo, excepcion_motivo=vacio)
    servicios.aprobar(solicitud=solicitud, por=dpo, excepcion_motivo=SOLO)
    servicios.ejecutar(solicitud=solicitud)
    assert Solicitud.objects.get().excepcion_motivo == SOLO


def test_cuenta_quien_puede_y_no_como_se_llama_su_grupo(
    recibida: Callable[..., Any], dpo: Any, persona: Callable[..., Any]
) -> None:
    solicitud = recibida()
    assert not solicitud.puede_aprobarla_otra(dpo)
    suelta = persona(nombre="suelta")
    suelta.user_permissions.add(Permission.objects.get(codename="aprobar_solicitud"))
    assert solicitud.puede_aprobarla_otra(dpo)
    dar_de_baja(suelta)
    assert not solicitud.puede_aprobarla_otra(dpo)
    jefa = persona(nombre="jefa")
    jefa.is_superuser = True
    jefa.save()
    assert not solicitud.puede_aprobarla_otra(dpo)  # may do everything, and was given nothing
    jefa.user_permissions.add(Permission.objects.get(codename="aprobar_solicitud"))
    assert solicitud.puede_aprobarla_otra(dpo)
    # Who received a linked one has seen as much as who received it: no four eyes.
    servicios.recibir(espacio="clientes", sujeto_id="C1", canal="web", recibida=plazos.hoy(), por=jefa)
    assert not solicitud.puede_aprobarla_otra(dpo)


def test_con_una_sola_persona_delegada_y_quien_administra_la_excepcion_es_posible(
    recibida: Callable[..., Any], dpo: Any, persona: Callable[..., Any]
) -> None:
    tecnica = persona(nombre="quien-administra")
    tecnica.is_superuser = tecnica.is_staff = True
    tecnica.save()
    solicitud = recibida()
    servicios.identificar(solicitud=solicitud, como="DNI en tienda", por=dpo)
    servicios.revisar(solicitud=solicitud, por=dpo)
    with pytest.raises(FaltaMotivo):
        servicios.aprobar(solicitud=solicitud, por=dpo)
    servicios.aprobar(solicitud=solicitud, por=dpo, excepcion_motivo=SOLO)
    assert Solicitud.objects.get().excepcion_motivo == SOLO


def test_la_excepcion_no_se_anota_cuando_no_la_hay(hasta: Callable[..., Any], otro_dpo: Any) -> None:
    with pytest.raises(DatoNoValido, match="solo hace falta"):
        servicios.aprobar(solicitud=hasta(Estado.REVISADA), por=otro_dpo, excepcion_motivo=SOLO)


@pytest.mark.parametrize("quien", ["dpo", "otro_dpo"])
@pytest.mark.parametrize("cambio", ["guardar copia", "no guardarla", "retener", "soltar"])
def test_cambiar_lo_aprobado_pide_otra_aprobacion(
    quien: str,
    cambio: str,
    hasta: Callable[..., Any],
    preferencia: Callable[..., None],
    dpo: Any,
    otro_dpo: Any,
) -> None:
    preferencia("C1", "idioma")
    preferencia("C1", "horario")
    solicitud = hasta(Estado.REVISADA)
    retener = {"solicitud": solicitud, "destino": "memoria", "motivo": "reclamacion"}
    exclusion = servicios.excluir(**retener, clave="pref-idioma", por=dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    por = {"dpo": dpo, "otro_dpo": otro_dpo}[quien]
    match cambio:
        case "guardar copia":
            hasta_cuando = plazos.hoy() + timedelta(days=30)
            servicios.decidir_copia(solicitud=solicitud, hasta=hasta_cuando, motivo=None, por=por)
        case "no guardarla":
            servicios.decidir_copia(solicitud=solicitud, hasta=None, motivo="No hace falta", por=por)
        case "retener":
            servicios.excluir(**retener, clave="pref-horario", por=por)
        case "soltar":
            servicios.liberar(exclusion=exclusion, por=por)
    actual = Solicitud.objects.get()
    assert actual.estado == Estado.REVISADA
    paso = actual.pasos.last()
    assert paso is not None
    assert (paso.estado, paso.por, bool(paso.texto)) == (Estado.REVISADA, por, True)
    with pytest.raises(TransicionNoPermitida):
        servicios.ejecutar(solicitud=actual)
    with pytest.raises(CuatroOjos):
        servicios.aprobar(solicitud=actual, por=dpo)
    servicios.aprobar(solicitud=actual, por=otro_dpo)
    servicios.ejecutar(solicitud=actual)
    assert actual.estado == (Estado.COMPLETADA if cambio == "soltar" else Estado.PARCIAL)


def test_lo_que_no_llega_a_cambiar_deja_la_aprobacion(
    hasta: Callable[..., Any], preferencia: Callable[..., None], dpo: Any
) -> None:
    preferencia("C1")
    solicitud = hasta(Estado.APROBADA)
    for motivo, clave in (("inventado", "pref-idioma"), ("reclamacion", "pref-no-esta")):
        with pytest.raises(DatoNoValido):
            servicios.excluir(solicitud=solicitud, destino="memoria", clave=clave, motivo=motivo, por=dpo)
    with pytest.raises(DatoNoValido):
        servicios.decidir_copia(solicitud=solicitud, hasta=None, motivo="Es de C1", por=dpo)
    assert Solicitud.objects.get().estado == Estado.APROBADA


def test_despues_de_ejecutar_lo_retenido_lo_cambia_quien_podria_aprobarlo(
    hasta: Callable[..., Any], preferencia: Callable[..., None], dpo: Any, otro_dpo: Any
) -> None:
    """What is let go is erased by the next run, and nobody approves it again."""
    preferencia("C1")
    solicitud = hasta(Estado.REVISADA)
    exclusion = servicios.excluir(
        solicitud=solicitud, destino="memoria", clave="pref-idioma", motivo="reclamacion", por=dpo
    )
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    with pytest.raises(CuatroOjos):
        servicios.liberar(exclusion=exclusion, por=dpo)
    with pytest.raises(CuatroOjos):
        servicios.decidir_copia(solicitud=solicitud, hasta=None, motivo="No hace falta", por=dpo)
    assert solicitud.exclusiones.activas().count() == 1
    dar_de_baja(otro_dpo)
    servicios.liberar(exclusion=exclusion, por=dpo)  # alone, as the exception of the approval would be
    servicios.ejecutar(solicitud=solicitud)
    assert solicitud.estado == Estado.COMPLETADA


# -- what is kept for good names nobody ---------------------------------------------------------------


@pytest.mark.parametrize(
    "texto", ["", "   ", "x" * 2001, "a\x00b", "Es C1.", "es c1", "su correo es Ana@X.es"]
)
def test_un_motivo_no_puede_estar_vacio_ni_nombrar_a_la_persona(
    texto: str, recibida: Callable[..., Any], dpo: Any
) -> None:
    solicitud = recibida("C1", identificadores={"email": "ana@x.es"})
    for servicio, nombre in (
        (servicios.identificar, "como"),
        (servicios.denegar, "motivo"),
        (servicios.retirar, "motivo"),
    ):
        with pytest.raises(DatoNoValido):
            servicio(solicitud=solicitud, por=dpo, **{nombre: texto})
    assert Solicitud.objects.get().estado == Estado.RECIBIDA
    servicios.identificar(solicitud=solicitud, como="Pedido C10 mostrado en tienda", por=dpo)


@pytest.mark.parametrize(
    ("texto", "que"),
    [
        ("Enseñó el DNI 12345678Z", "NIF"),
        ("Su NIE es X1234567L", "NIF"),
        ("Llamada al 612 345 678", "teléfono"),
        ("Escribió desde otra.cuenta@correo.example", "correo electrónico"),
        ("Devuelto a ES91 2100 0418 4502 0005 1332", "cuenta bancaria"),
    ],
)
def test_lo_que_se_conserva_no_lleva_datos_de_nadie(
    texto: str, que: str, hasta: Callable[..., Any], preferencia: Callable[..., None], dpo: Any, otro_dpo: Any
) -> None:
    """Whether or not they were given at intake: it is kept for good, and a register only grows."""
    preferencia("C1")
    preferencia("C9")
    sellada, abierta, retirable = (
        hasta(Estado.REVISADA, "C9"),
        hasta(Estado.RECIBIDA, "C2"),
        hasta(Estado.RECIBIDA, "C3"),
    )
    manana = plazos.hoy() + timedelta(days=1)
    servicios.decidir_copia(solicitud=sellada, hasta=manana, motivo=None, por=dpo)
    servicios.aprobar(solicitud=sellada, por=otro_dpo)
    servicios.ejecutar(solicitud=sellada)
    limitacion = servicios.restringir(
        espacio="clientes", sujeto_id="C1", clave="pref-idioma", motivo="Lo discute", por=dpo
    )
    visto = Documento.objects.get().updated_at
    suya = {"espacio": "clientes", "sujeto_id": "C1"}
    copia = {"solicitud": abierta, "hasta": None}
    intentos: list[Callable[..., Any]] = [
        lambda: servicios.identificar(solicitud=abierta, como=texto, por=dpo),
        lambda: servicios.denegar(solicitud=abierta, motivo=texto, por=dpo),
        lambda: servicios.retirar(solicitud=retirable, motivo=texto, por=dpo),
        lambda: servicios.ampliar(solicitud=abierta, motivo=texto, por=dpo),
        lambda: servicios.decidir_copia(**copia, motivo=texto, por=dpo),
        lambda: servicios.restringir(**suya, motivo=texto, por=dpo),
        lambda: servicios.levantar(restriccion=limitacion, motivo=texto, por=dpo),
        lambda: servicios.borrar_dato(**suya, clave="pref-idioma", visto=visto, motivo=texto, por=dpo),
        lambda: servicios.abrir_copia(copia=Copia.objects.get(), motivo=texto, por=dpo),
    ]
    for intento in intentos:
        with pytest.raises(DatoNoValido, match=que) as error:
            intento()
        assert texto.split()[-1] not in str(error.value)


def test_una_limitacion_no_repite_el_identificador_de_la_persona(
    preferencia: Callable[..., None], dpo: Any
) -> None:
    preferencia("C-1.2")
    suya = {"espacio": "clientes", "sujeto_id": "C-1.2", "por": dpo}
    with pytest.raises(DatoNoValido, match="repite un identificador"):
        servicios.restringir(**suya, motivo="Lo pide C-1.2 en tienda")
    limitacion = servicios.restringir(**suya, motivo="Lo pide en tienda")
    with pytest.raises(DatoNoValido, match="repite un identificador"):
        servicios.levantar(restriccion=limitacion, motivo="c-1.2 ya está de acuerdo", por=dpo)
    servicios.levantar(restriccion=limitacion, motivo="Ya está de acuerdo", por=dpo)


@pytest.mark.parametrize(
    "texto", ["Es Ana Ruiz Gil", "la sra. ruiz gil, en tienda", "GIL, Ána Ruiz", "Ana  Ruiz"]
)
def test_el_nombre_que_se_dio_al_recibirla_no_se_repite(
    texto: str, recibida: Callable[..., Any], dpo: Any
) -> None:
    solicitud = recibida("C1", identificadores={"nombre": "Ana Ruiz Gil"})
    with pytest.raises(DatoNoValido, match="repite un identificador"):
        servicios.identificar(solicitud=solicitud, como=texto, por=dpo)
    servicios.identificar(solicitud=solicitud, como="Ana estaba de turno y vio su documento", por=dpo)


# -- permissions --------------------------------------------------------------------------------------

PASOS: dict[str, tuple[str, dict[str, Any]]] = {
    "identificar": (Estado.RECIBIDA, {"como": "DNI"}),
    "revisar": (Estado.IDENTIFICADA, {}),
    "aprobar": (Estado.REVISADA, {}),
    "ejecutar": (Estado.APROBADA, {}),
    "denegar": (Estado.RECIBIDA, {"motivo": "No procede"}),
    "retirar": (Estado.RECIBIDA, {"motivo": "Ya no lo pide"}),
}


@pytest.mark.parametrize("grupo", ["compras", "operaciones", "consulta", "", "dpo"])
@pytest.mark.parametrize("paso", PASOS)
def test_cada_paso_pide_su_permiso(
    grupo: str, paso: str, hasta: Callable[..., Any], persona: Callable[..., Any]
) -> None:
    estado, datos = PASOS[paso]
    solicitud = hasta(estado)
    usuario = persona(*([grupo] if grupo else []), nombre="probador")
    if grupo == "dpo" or (grupo == "operaciones" and paso == "ejecutar"):
        getattr(servicios, paso)(solicitud=solicitud, por=usuario, **datos)
        assert solicitud.estado != estado
        return
    with pytest.raises(SinPermiso):
        getattr(servicios, paso)(solicitud=solicitud, por=usuario, **datos)
    assert Solicitud.objects.get().estado == estado


@pytest.mark.parametrize("grupo", ["compras", "operaciones", "consulta"])
def test_recibir_pide_su_permiso(grupo: str, persona: Callable[..., Any]) -> None:
    with pytest.raises(SinPermiso):
        servicios.recibir(
            espacio="clientes", sujeto_id="C1", canal="web", recibida=plazos.hoy(), por=persona(grupo)
        )


@pytest.mark.parametrize("paso", [p for p in PASOS if p != "ejecutar"])
def test_solo_ejecutar_puede_hacerlo_la_orden_programada(paso: str, hasta: Callable[..., Any]) -> None:
    estado, datos = PASOS[paso]
    with pytest.raises(SinPermiso):
        getattr(servicios, paso)(solicitud=hasta(estado), por=None, **datos)


def test_quien_ya_no_trabaja_aqui_no_puede(hasta: Callable[..., Any], otro_dpo: Any) -> None:
    otro_dpo.is_active = False
    otro_dpo.save()
    with pytest.raises(SinPermiso):
        servicios.aprobar(solicitud=hasta(Estado.REVISADA), por=otro_dpo)
