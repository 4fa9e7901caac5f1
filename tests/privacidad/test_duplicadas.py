"""E7: two requests of one person are one active, with the earlier deadline; each leads to the other."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from functools import partial
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from memoria.models import Documento
from privacidad import plazos, servicios, supresion
from privacidad.errores import (
    CuatroOjos,
    MencionesSinDecidir,
    NoSePudoRegistrar,
    OtroEnvio,
    TransicionNoPermitida,
)
from privacidad.estados import Estado
from privacidad.models import Evidencia, Solicitud
from privacidad.vistas.cuadro import motivo_de_la_fecha
from tests.esperas import a_la_vez

NUEVA = "/privacidad/solicitudes/nueva/"


def test_la_segunda_identificada_sigue_la_primera(
    recibida: Callable[..., Any], preferencia: Callable[..., None], dpo: Any, otro_dpo: Any
) -> None:
    preferencia("C1")
    hoy = plazos.hoy()
    primera = recibida("C1", dia=hoy, identificadores={"email": "a@x.es"})
    segunda = recibida("C1", dia=hoy - timedelta(days=5), identificadores={"email": "b@x.es"})
    assert (segunda.estado, segunda.principal) == (Estado.VINCULADA, primera)
    primera.refresh_from_db()
    assert primera.vence == plazos.vencimiento(hoy - timedelta(days=5))
    assert primera.identificadores() == {"email": "a@x.es", "email-2": "b@x.es"}

    servicios.identificar(solicitud=segunda, como="DNI en tienda", por=dpo)
    servicios.revisar(solicitud=segunda, por=dpo)
    servicios.aprobar(solicitud=segunda, por=otro_dpo)
    servicios.ejecutar(solicitud=segunda)

    primera.refresh_from_db()
    segunda.refresh_from_db()
    assert (primera.estado, segunda.estado) == (Estado.COMPLETADA, Estado.VINCULADA)
    assert segunda.sujeto_id == primera.sujeto_id == ""
    assert Evidencia.objects.get().solicitud == primera


def test_la_que_llega_despues_no_alarga_el_plazo(recibida: Callable[..., Any]) -> None:
    hoy = plazos.hoy()
    primera = recibida("C1", dia=hoy - timedelta(days=5))
    recibida("C1", dia=hoy)
    primera.refresh_from_db()
    assert primera.vence == plazos.vencimiento(hoy - timedelta(days=5))


# -- the deadline is the one of the earliest receipt ---------------------------------------------------


def hace(dias: int) -> date:
    return plazos.hoy() - timedelta(days=dias)


@pytest.mark.parametrize("dias", [31, 32, 61, 200])
def test_la_segunda_pudo_llegar_meses_antes(recibida: Callable[..., Any], dias: int) -> None:
    """A letter that was lying in a shop: it is due, or overdue, since before the active one came in."""
    primera = recibida("C1")
    recibida("C1", dia=hace(dias))
    primera.refresh_from_db()
    assert primera.vence == plazos.vencimiento(hace(dias)) < primera.recibida + timedelta(days=1)
    assert motivo_de_la_fecha(primera).startswith(f"Un mes desde la recepción del {hace(dias):%d/%m/%Y}")


@pytest.mark.parametrize("estado", [Estado.REVISADA, Estado.APROBADA, Estado.PARCIAL, Estado.REAPARECIDA])
def test_en_cualquier_estado_abierto_se_admite_la_anterior(
    estado: Estado, abierta_en: Callable[..., Any], recibida: Callable[..., Any]
) -> None:
    solicitud = abierta_en(estado)
    recibida("C1", dia=hace(61), identificadores={"email": "a@x.es"})
    solicitud.refresh_from_db()
    assert (solicitud.estado, solicitud.vence) == (estado, plazos.vencimiento(hace(61)))


def test_la_ampliacion_cuenta_desde_la_primera_que_llego(recibida: Callable[..., Any], dpo: Any) -> None:
    solicitud = recibida("C1", dia=hace(5))
    servicios.ampliar(solicitud=solicitud, motivo="Hay que mirar mucho", por=dpo)
    anterior = recibida("C1", dia=hace(20))
    solicitud.refresh_from_db()
    assert solicitud.vence == solicitud.ampliada == plazos.ampliado(hace(20))
    motivo = motivo_de_la_fecha(solicitud)
    assert motivo.startswith(f"Ampliada: tres meses desde la recepción del {hace(20):%d/%m/%Y}")
    assert anterior.referencia in motivo


def test_la_ampliacion_no_vale_para_la_que_llego_mas_de_un_mes_antes(
    recibida: Callable[..., Any], dpo: Any
) -> None:
    """Whoever sent that one was not told inside its first month (art. 12(3) GDPR): it is overdue."""
    solicitud = recibida("C1", dia=hace(5))
    servicios.ampliar(solicitud=solicitud, motivo="Hay que mirar mucho", por=dpo)
    recibida("C1", dia=hace(55))
    solicitud.refresh_from_db()
    assert (solicitud.vence, solicitud.ampliada) == (plazos.vencimiento(hace(55)), None)
    assert motivo_de_la_fecha(solicitud).startswith(f"Un mes desde la recepción del {hace(55):%d/%m/%Y}")
    assert solicitud.dias_restantes < 0
    assert not solicitud.ampliable


def test_la_base_no_admite_un_plazo_mayor_que_el_de_la_ley(
    propietario: Any, recibida: Callable[..., Any]
) -> None:
    recibida("C1")
    for cambio in (
        "vence = recibida + 32",
        "vence = recibida + 93, ampliada = recibida + 93",
        "vence = recibida + 40, ampliada = recibida + 41",
    ):
        with pytest.raises(psycopg.errors.CheckViolation, match="solicitud_vence"):
            propietario.execute(f"UPDATE privacidad_solicitud SET {cambio}")


def test_lo_que_la_base_no_admite_se_dice_sin_repetir_la_fila(
    recibida: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(plazos, "vencimiento", lambda dia: dia + timedelta(days=400))
    with pytest.raises(NoSePudoRegistrar, match="solicitud_vence") as error:
        recibida("CANARIO-7319", identificadores={"email": "ana@x.es"})
    assert error.value.__cause__ is None
    assert error.value.__suppress_context__
    assert "CANARIO-7319" not in caplog.text + str(error.value)
    assert not Solicitud.objects.exists()


# -- what they are now known by too ---------------------------------------------------------------------


@pytest.fixture
def abierta_en(
    hasta: Callable[..., Any], preferencia: Callable[..., None], dpo: Any, otro_dpo: Any
) -> Callable[..., Any]:
    """``abierta_en(Estado.PARCIAL)``: a request of C1, who has two documents, in that open state."""

    def llevar(estado: Estado) -> Any:
        preferencia("C1", "idioma")
        preferencia("C1", "horario")
        if estado == Estado.REAPARECIDA:
            solicitud = hasta(Estado.COMPLETADA)
            servicios.reabrir(solicitud=solicitud, sujeto_id="C1", hallado=["memoria"])
            return solicitud
        if estado != Estado.PARCIAL:
            return hasta(estado)
        solicitud = hasta(Estado.REVISADA)
        servicios.excluir(
            solicitud=solicitud, destino="memoria", clave="pref-idioma", motivo="reclamacion", por=dpo
        )
        servicios.aprobar(solicitud=solicitud, por=otro_dpo)
        servicios.ejecutar(solicitud=solicitud)
        assert solicitud.estado == Estado.PARCIAL
        return solicitud

    return llevar


@pytest.fixture
def aviso(almacen_compras: Any) -> None:
    """A notice about a supplier that names somebody by their telephone."""
    almacen_compras.put(
        ("proveedores", "P1"), "a1", {"texto": "Llamar al 612 345 678", "fecha": "2026-11-29"}
    )


TELEFONO = {"telefono": "612345678"}


@pytest.mark.parametrize("estado", [Estado.PARCIAL, Estado.REAPARECIDA])
@pytest.mark.parametrize("decision", ["borrar", "conservar"])
@pytest.mark.usefixtures("aviso")
def test_lo_que_se_sabe_despues_de_ejecutar_tambien_se_busca(
    estado: Estado,
    decision: str,
    abierta_en: Callable[..., Any],
    recibida: Callable[..., Any],
    dpo: Any,
    otro_dpo: Any,
) -> None:
    solicitud = abierta_en(estado)
    recibida("C1", identificadores=TELEFONO)
    solicitud.refresh_from_db()
    mencion = solicitud.menciones.get()
    for exclusion in solicitud.exclusiones.activas():
        servicios.liberar(exclusion=exclusion, por=otro_dpo)
    with pytest.raises(MencionesSinDecidir):
        servicios.ejecutar(solicitud=solicitud)
    supresion.completar(solicitud, por=None)
    assert solicitud.estado == estado, "what is still to be decided is not done"

    decidir = {"mencion": mencion, "decision": decision, "motivo": "Es el suyo"}
    with pytest.raises(CuatroOjos):
        servicios.decidir_mencion(
            **decidir, por=dpo
        )  # who received it does not decide alone what was approved
    servicios.decidir_mencion(**decidir, por=otro_dpo)
    with pytest.raises(TransicionNoPermitida):
        servicios.decidir_mencion(**decidir, por=otro_dpo)
    if decision == "borrar":
        supresion.completar(solicitud, por=None)
        assert solicitud.estado == estado, "decided is not erased yet"
    servicios.ejecutar(solicitud=solicitud)
    assert solicitud.estado == Estado.COMPLETADA
    assert [d.key for d in Documento.objects.all()] == ([] if decision == "borrar" else ["a1"])


@pytest.mark.usefixtures("aviso")
def test_la_pagina_dice_que_es_lo_que_espera_a_lo_que_esta_sin_decidir(
    abierta_en: Callable[..., Any], recibida: Callable[..., Any], navegar: Callable[..., Any], dpo: Any
) -> None:
    quien = navegar("dpo", nombre="quien-mira")
    solicitud = abierta_en(Estado.PARCIAL)
    recibida("C1", identificadores=TELEFONO)
    pagina = quien.get(solicitud.get_absolute_url()).content.decode()
    assert "1 está sin decidir: hasta que se decida, no se borra nada más." in pagina
    assert "no se puede aprobar" not in pagina

    denegada = recibida("C2", identificadores=TELEFONO)
    servicios.identificar(solicitud=denegada, como="DNI en tienda", por=dpo)
    servicios.revisar(solicitud=denegada, por=dpo)
    pagina = quien.get(denegada.get_absolute_url()).content.decode()
    assert "1 está sin decidir: hasta que se decida, la solicitud no se puede aprobar." in pagina
    servicios.denegar(solicitud=denegada, motivo="No es la persona titular", por=dpo)
    assert "sin decidir" not in quien.get(denegada.get_absolute_url()).content.decode()


@pytest.mark.usefixtures("aviso")
def test_lo_que_se_sabe_despues_de_aprobar_se_aprueba_otra_vez(
    hasta: Callable[..., Any], recibida: Callable[..., Any], otro_dpo: Any
) -> None:
    solicitud = hasta(Estado.APROBADA)
    recibida("C1", identificadores={"email": "nadie@x.es"})
    solicitud.refresh_from_db()
    assert solicitud.estado == Estado.APROBADA, "nothing of anybody else was found"
    recibida("C1", identificadores=TELEFONO)
    solicitud.refresh_from_db()
    assert solicitud.estado == Estado.REVISADA
    ultimo = solicitud.pasos.last()
    assert "sin decidir" in ultimo.texto
    servicios.decidir_mencion(
        mencion=solicitud.menciones.get(), decision="borrar", motivo="Es el suyo", por=otro_dpo
    )
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    assert not Documento.objects.exists()


# -- the same form, sent twice --------------------------------------------------------------------------


def test_el_mismo_envio_se_registra_una_vez(recibida: Callable[..., Any]) -> None:
    for envio in (uuid4(), uuid4()):  # the first one, and one that is linked to it
        una, otra = (recibida("C1", envio=envio, identificadores={"email": "a@x.es"}) for _ in range(2))
        assert una == otra
    assert Solicitud.objects.count() == 2


def test_el_mismo_envio_a_la_vez_se_registra_una_vez(recibida: Callable[..., Any]) -> None:
    envio = uuid4()
    salida = a_la_vez(*[lambda: recibida("C1", envio=envio).pk] * 6)
    assert salida == [Solicitud.objects.get().pk] * 6


@pytest.mark.parametrize(
    "cambio",
    [
        {"sujeto_id": "C2"},
        {"dia": plazos.hoy() - timedelta(days=1)},
        {"identificadores": {"email": "b@x.es"}},
    ],
    ids=["persona", "dia", "identificador"],
)
def test_otra_cosa_en_el_mismo_envio_no_se_da_por_registrada(
    cambio: dict[str, Any], recibida: Callable[..., Any]
) -> None:
    """Going back in the browser brings the same form: another person must not be taken for the first."""
    envio = uuid4()
    primera = recibida("C1", envio=envio)
    with pytest.raises(OtroEnvio, match=primera.referencia):
        recibida(**{"sujeto_id": "C1", "envio": envio, **cambio})


def test_el_formulario_enviado_dos_veces(navegar: Callable[..., Any]) -> None:
    dpo = navegar("dpo")
    formulario = dpo.get(NUEVA).context["formulario"]
    datos = {
        "espacio": "clientes",
        "sujeto_id": "C1",
        "canal": "web",
        "recibida": plazos.hoy().isoformat(),
        "envio": str(formulario["envio"].value()),
    }
    assert [dpo.post(NUEVA, datos).url for _ in range(4)] == [Solicitud.objects.get().get_absolute_url()] * 4
    # The same form, now about somebody else: it is not lost, and the next press registers it.
    respuesta = dpo.post(NUEVA, {**datos, "sujeto_id": "C2"})
    assert respuesta.status_code == 422
    assert "ya se envió" in respuesta.content.decode()
    otro = str(respuesta.context["formulario"]["envio"].value())
    assert otro != datos["envio"]
    assert dpo.post(NUEVA, {**datos, "sujeto_id": "C2", "envio": otro}).status_code == 302
    assert Solicitud.objects.count() == 2


def test_la_de_otra_persona_no_se_vincula(recibida: Callable[..., Any]) -> None:
    for sujeto, espacio in (("C1", "clientes"), ("c1", "clientes"), ("C10", "clientes"), ("C1", "empleados")):
        assert recibida(sujeto, espacio=espacio).estado == Estado.RECIBIDA


def test_cada_pagina_lleva_a_la_otra(recibida: Callable[..., Any], navegar: Callable[..., Any]) -> None:
    primera, segunda = recibida("C1"), recibida("C1")
    dpo = navegar("dpo", nombre="x")
    pagina = dpo.get(primera.get_absolute_url()).content.decode()
    assert f'href="{segunda.get_absolute_url()}"' in pagina
    assert "Otras solicitudes de la misma persona" in pagina
    pagina = dpo.get(segunda.get_absolute_url()).content.decode()
    assert f'href="{primera.get_absolute_url()}"' in pagina
    assert "Vinculada a otra." in pagina


@pytest.mark.parametrize("cuantas", [2, 6])
def test_recibidas_a_la_vez_queda_una_activa(cuantas: int, dpo: Any) -> None:
    def recibir(n: int) -> None:
        servicios.recibir(
            espacio="clientes",
            sujeto_id="C1",
            canal="web",
            recibida=plazos.hoy() - timedelta(days=n),
            por=dpo,
            identificadores={"email": f"a{n}@x.es"},
        )

    a_la_vez(*(partial(recibir, n) for n in range(cuantas)))
    activa = Solicitud.objects.abiertas().get()
    assert activa.vinculadas.count() == cuantas - 1
    assert activa.vence == plazos.vencimiento(plazos.hoy() - timedelta(days=cuantas - 1))
    assert set(activa.identificadores().values()) == {f"a{n}@x.es" for n in range(cuantas)}


# -- intake -------------------------------------------------------------------------------------------


def test_el_formulario_guarda_los_otros_datos_cifrados(
    navegar: Callable[..., Any], apariciones: Callable[[str], list[str]]
) -> None:
    dpo = navegar("dpo")
    envio = {
        "espacio": "clientes",
        "sujeto_id": "C1",
        "canal": "web",
        "recibida": plazos.hoy().isoformat(),
        "email": "Ana@X.es",
        "telefono": "(+34) 612-345-678",
        "nif": "12345678z",
    }
    assert dpo.post(NUEVA, envio).status_code == 302
    solicitud = Solicitud.objects.get()
    assert solicitud.identificadores() == {
        "email": "Ana@X.es",
        "telefono": "(+34) 612-345-678",
        "nif": "12345678z",
    }
    assert apariciones("Ana@X.es") == apariciones("12345678z") == apariciones("612-345-678") == []
    servicios.retirar(solicitud=solicitud, motivo="Ya no lo pide", por=dpo.usuario)
    solicitud.refresh_from_db()
    assert bytes(solicitud.reservado) == b""
    assert solicitud.identificadores() == {}


@pytest.mark.parametrize(
    ("campo", "valor", "frase"),
    [
        ("email", "ana", "Escriba la dirección entera"),
        ("telefono", "12", "Escriba el número entero"),
        ("nif", "12345678A", "la letra les corresponde"),
        ("nombre", "A", "Escriba el nombre y los apellidos"),
    ],
)
def test_un_dato_mal_escrito_se_dice_junto_a_su_campo(
    campo: str, valor: str, frase: str, navegar: Callable[..., Any]
) -> None:
    respuesta = navegar("dpo").post(
        NUEVA,
        {
            "espacio": "clientes",
            "sujeto_id": "C1",
            "canal": "web",
            "recibida": plazos.hoy().isoformat(),
            campo: valor,
        },
    )
    assert respuesta.status_code == 422
    assert frase in respuesta.content.decode()
    assert not Solicitud.objects.exists()
