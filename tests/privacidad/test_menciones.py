"""Mentions: found in other people's rows, decided one by one, erased with the rest, and forgotten."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from memoria.models import Documento
from privacidad import contenidos, servicios
from privacidad.destinos import Sujeto, destino
from privacidad.errores import DatoNoValido, MencionesSinDecidir, SinPermiso, TransicionNoPermitida
from privacidad.estados import Estado
from privacidad.models import Asiento, Mencion, Restriccion, Solicitud
from privacidad.olvido import resumen_de_fila

DATOS = {
    "email": "Ana.Canario@Ejemplo.es",
    "telefono": "(+34) 612-34-56-78",
    "nif": "12345678z",
    "nombre": "Ana Canario Gil",
}
SUJETO = "CANARIO-7319"


@pytest.fixture
def aviso(almacen_compras: Any) -> Callable[..., None]:
    """``aviso("a1", "texto")``: a notice about supplier P1."""

    def poner(clave: str, texto: str, proveedor: str = "P1", **otros: str) -> None:
        almacen_compras.put(
            ("proveedores", proveedor), clave, {"texto": texto, "fecha": "2026-11-29", **otros}
        )

    return poner


@pytest.fixture
def revisada(hasta: Callable[..., Any]) -> Callable[..., Any]:
    return lambda sujeto=SUJETO, **datos: hasta(
        Estado.REVISADA, sujeto, identificadores=datos.pop("identificadores", DATOS), **datos
    )


def claves(solicitud: Solicitud) -> set[tuple[str, str]]:
    return set(solicitud.menciones.values_list("clave", "identificador"))


def decidir(solicitud: Solicitud, clave: str, decision: str, por: Any, motivo: str = "Es de ella") -> None:
    mencion = solicitud.menciones.filter(clave=clave)[0]
    servicios.decidir_mencion(mencion=mencion, decision=decision, motivo=motivo, por=por)


def test_encuentra_cada_identificador_en_el_texto_de_los_demas(
    aviso: Callable[..., None],
    preferencia: Callable[..., None],
    revisada: Callable[..., Any],
    propietario: Any,
) -> None:
    aviso("correo", "Escribir a ANA.CANARIO@EJEMPLO.ES si falla")
    aviso("telefono", "Llamar al 612.345.678 (Ana)")
    aviso("nif", "Factura a nombre de 12.345.678-Z")
    aviso("nombre", "Lo lleva CANARIO GIL, Ána")
    aviso("asunto", "Nada", asunto="Reclamación de canario 7319")
    aviso("dos", "ana.canario@ejemplo.es, 0034612345678")
    aviso("ninguno", "EAN 8461234567805, pedido 6123456780, mariana.canario@ejemplo.es")
    preferencia("C2", "contacto", "al 612 345 678")
    preferencia(SUJETO, "contacto", "al 612 345 678")  # their own: it is not a mention
    # What no policy would let in is found too: nested, a number, a key, expired, nobody's namespace.
    for clave, valor in (
        ("anidado", '{"a": [{"b": "612\\n345\\n678"}]}'),
        ("numero", '{"a": 612345678}'),
        ("de-clave", '{"ana.canario@ejemplo.es": 1}'),
    ):
        propietario.execute(
            "INSERT INTO langgraph.store (prefix, key, value, expires_at)"
            " VALUES ('otro.sitio', %s, %s, now() - interval '1 day')",
            [clave, valor],
        )
    solicitud = revisada()
    assert claves(solicitud) == {
        ("correo", "email"),
        ("telefono", "telefono"),
        ("nif", "nif"),
        ("nombre", "nombre"),
        ("asunto", "sujeto"),
        ("dos", "email"),
        ("dos", "telefono"),
        ("pref-contacto", "telefono"),
        ("anidado", "telefono"),
        ("numero", "telefono"),
        ("de-clave", "email"),
    }
    assert not solicitud.menciones.filter(prefijo__contains=SUJETO).exists()


def test_tambien_en_la_direccion_de_la_fila(revisada: Callable[..., Any], propietario: Any) -> None:
    propietario.execute(
        "INSERT INTO langgraph.store (prefix, key, value) VALUES"
        " ('empleados.ana%2Ecanario@ejemplo%2Ees', 'k', '{}'), ('proveedores.P1', 'aviso-612345678', '{}')"
    )
    assert {i for _c, i in claves(revisada())} == {"email", "telefono"}


def test_un_identificador_corto_del_sujeto_no_se_busca(
    aviso: Callable[..., None], revisada: Callable[..., Any]
) -> None:
    aviso("a", "El cliente C1 dice que no")
    assert not revisada("C1", identificadores={}).menciones.exists()


def test_no_se_aprueba_con_una_mencion_sin_decidir(
    aviso: Callable[..., None], revisada: Callable[..., Any], dpo: Any, otro_dpo: Any
) -> None:
    aviso("a", "Llamar al 612345678")
    aviso("b", "Llamar al 612345678 o a ana.canario@ejemplo.es")
    solicitud = revisada()
    with pytest.raises(MencionesSinDecidir, match="2 datos"):
        servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    decidir(solicitud, "a", "borrar", dpo)
    with pytest.raises(MencionesSinDecidir, match="1 dato "):
        servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    decidir(solicitud, "b", "conservar", dpo)  # one row, two identifiers: one decision
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    assert solicitud.estado == Estado.APROBADA
    with pytest.raises(TransicionNoPermitida):
        decidir(solicitud, "b", "borrar", dpo)


def test_lo_decidido_se_borra_con_lo_suyo_y_lo_demas_se_queda(
    aviso: Callable[..., None],
    preferencia: Callable[..., None],
    revisada: Callable[..., Any],
    dpo: Any,
    otro_dpo: Any,
) -> None:
    aviso("a", "Llamar al 612345678")
    aviso("a", "Otro aviso con la misma clave", proveedor="P10")
    aviso("b", "Llamar al 612345678")
    preferencia(SUJETO)
    solicitud = revisada()
    decidir(solicitud, "a", "borrar", dpo)
    decidir(solicitud, "b", "conservar", dpo, "Lo pide el proveedor")
    solicitud.refresh_from_db()
    assert solicitud.vista_previa["menciones"] == {"documentos": 1, "vectores": 1}
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)

    evidencia = servicios.ejecutar(solicitud=solicitud)

    assert solicitud.estado == Estado.COMPLETADA
    datos = evidencia.destinos["menciones"]
    assert datos["antes"] == datos["borrados"] == {"documentos": 1, "vectores": 1}
    assert datos["despues"] == {"documentos": 0, "vectores": 0}
    assert "langgraph.borrar_filas" in "\n".join(datos["sql"])
    assert {(d.prefix, d.key) for d in Documento.objects.all()} == {
        ("proveedores.P10", "a"),
        ("proveedores.P1", "b"),
    }
    assert sorted(solicitud.menciones.values_list("decision", "motivo")) == [
        ("borrar", "Es de ella"),
        ("conservar", "Lo pide el proveedor"),
    ]


def test_la_decision_es_evidencia_sin_nombrar_a_nadie(
    aviso: Callable[..., None], revisada: Callable[..., Any], dpo: Any
) -> None:
    aviso("a", "Llamar al 612345678")
    solicitud = revisada()
    decidir(solicitud, "a", "borrar", dpo)
    asiento = Asiento.objects.get(tipo="mencion")
    assert asiento.referencia == solicitud.referencia
    assert asiento.datos == {
        "fila": resumen_de_fila("proveedores.P1", "a"),
        "identificadores": ["telefono"],
        "decision": "borrar",
        "contenido": contenidos.de_la_fila("proveedores.P1", "a"),
    }


@pytest.mark.parametrize("motivo", ["Es de 12345678-Z", "la llamé al 612 345 678", " "])
def test_el_motivo_se_conserva_y_no_la_nombra(
    motivo: str, aviso: Callable[..., None], revisada: Callable[..., Any], dpo: Any
) -> None:
    aviso("a", "Llamar al 612345678")
    solicitud = revisada()
    with pytest.raises(DatoNoValido):
        decidir(solicitud, "a", "borrar", dpo, motivo)
    assert solicitud.menciones.get().decision == "pendiente"
    assert not Asiento.objects.filter(tipo="mencion").exists()


def test_decidir_pide_permiso_y_una_decision(
    aviso: Callable[..., None], revisada: Callable[..., Any], dpo: Any, persona: Callable[..., Any]
) -> None:
    aviso("a", "Llamar al 612345678")
    solicitud = revisada()
    with pytest.raises(SinPermiso):
        decidir(solicitud, "a", "borrar", persona("operaciones"))
    with pytest.raises(DatoNoValido):
        decidir(solicitud, "a", "pendiente", dpo)


def test_volver_a_revisar_conserva_lo_decidido_mientras_la_fila_sea_la_misma(
    aviso: Callable[..., None], revisada: Callable[..., Any], dpo: Any
) -> None:
    for clave in ("a", "b", "c"):
        aviso(clave, "Llamar al 612345678")
    solicitud = revisada()
    for clave in ("a", "b", "c"):
        decidir(solicitud, clave, "borrar", dpo)
    aviso("b", "Llamar al 612345678, de verdad")
    aviso("c", "Ya no llamar a nadie")
    aviso("d", "Nuevo: 612345678")
    servicios.revisar(solicitud=solicitud, por=dpo)
    assert dict(solicitud.menciones.values_list("clave", "decision")) == {
        "a": "borrar",
        "b": "pendiente",
        "d": "pendiente",
    }


def test_una_fila_reescrita_que_ya_no_la_menciona_no_se_borra(
    aviso: Callable[..., None], revisada: Callable[..., Any], dpo: Any, otro_dpo: Any
) -> None:
    for clave in ("limpia", "sigue"):
        aviso(clave, "Llamar al 612345678")
    solicitud = revisada()
    for clave in ("limpia", "sigue"):
        decidir(solicitud, clave, "borrar", dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    aviso("limpia", "Llamar a la tienda")
    aviso("sigue", "Llamar siempre al +34 612345678")
    servicios.ejecutar(solicitud=solicitud)
    assert [d.key for d in Documento.objects.all()] == ["limpia"]


def test_un_duplicado_con_otro_dato_vuelve_a_buscar(
    aviso: Callable[..., None], revisada: Callable[..., Any], recibida: Callable[..., Any], otro_dpo: Any
) -> None:
    aviso("a", "Escribir a otra@ejemplo.es")
    solicitud = revisada()
    assert not solicitud.menciones.exists()
    recibida(SUJETO, identificadores={"email": "otra@ejemplo.es"})
    assert claves(solicitud) == {("a", "email")}
    with pytest.raises(MencionesSinDecidir):
        servicios.aprobar(solicitud=solicitud, por=otro_dpo)


def test_un_dato_que_llega_ya_aprobada_detiene_la_ejecucion(
    aviso: Callable[..., None],
    revisada: Callable[..., Any],
    recibida: Callable[..., Any],
    dpo: Any,
    otro_dpo: Any,
) -> None:
    aviso("a", "Escribir a otra@ejemplo.es")
    solicitud = revisada()
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    recibida(SUJETO, identificadores={"email": "otra@ejemplo.es"})
    with pytest.raises(TransicionNoPermitida):
        servicios.ejecutar(solicitud=solicitud)
    assert Solicitud.objects.get(pk=solicitud.pk).estado == Estado.REVISADA
    with pytest.raises(MencionesSinDecidir):
        servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    decidir(solicitud, "a", "borrar", dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    assert solicitud.estado == Estado.COMPLETADA
    assert not Documento.objects.exists()


def test_una_fila_restaurada_se_encuentra_por_su_resumen(
    aviso: Callable[..., None], revisada: Callable[..., Any], dpo: Any, otro_dpo: Any, propietario: Any
) -> None:
    aviso("a", "Llamar al 612345678")
    antes = propietario.execute("SELECT created_at FROM langgraph.store").fetchone()[0]
    solicitud = revisada()
    decidir(solicitud, "a", "borrar", dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    menciones = destino("menciones")

    def ahora() -> Sujeto:  # each operation captures anew
        return Sujeto.capturar("clientes", SUJETO)

    aviso("a", "Otro aviso, con la misma clave y sin nadie")
    assert menciones.contar(ahora())["documentos"] == 0  # what was said afterwards stays
    propietario.execute("UPDATE langgraph.store SET created_at = %s", [antes])
    sujeto = ahora()
    assert menciones.contar(sujeto)["documentos"] == 1
    assert menciones.suprimir(sujeto)["documentos"] == 1
    assert menciones.verificar(sujeto)["documentos"] == 0


def test_quien_se_borra_no_queda_en_las_menciones_de_otra_solicitud(
    preferencia: Callable[..., None],
    revisada: Callable[..., Any],
    hasta: Callable[..., Any],
    dpo: Any,
    apariciones: Callable[[str], list[str]],
) -> None:
    preferencia("OTRA-9999", "contacto", "al 612345678")
    preferencia("OTRA-9999", "horario", "el de 612345678")
    solicitud = revisada()
    decidir(solicitud, "pref-contacto", "conservar", dpo)
    evidencia = servicios.ejecutar(solicitud=hasta(Estado.APROBADA, "OTRA-9999"))
    assert evidencia.destinos["casa"]["borrados"]["menciones"] == 2
    assert apariciones("OTRA-9999") == []
    assert [m.decision for m in solicitud.menciones.all()] == ["conservar"]


@pytest.mark.parametrize("cierre", [servicios.denegar, servicios.retirar])
def test_lo_que_decidio_una_que_no_se_ejecuto_no_lo_hace_la_siguiente(
    cierre: Callable[..., None],
    aviso: Callable[..., None],
    revisada: Callable[..., Any],
    dpo: Any,
    otro_dpo: Any,
) -> None:
    aviso("a", "Llamar al 612345678")
    primera = revisada()
    decidir(primera, "a", "borrar", dpo)
    cierre(solicitud=primera, motivo="No procede", por=dpo)
    segunda = revisada()
    assert segunda.vista_previa["menciones"] == {"documentos": 0, "vectores": 0}
    decidir(segunda, "a", "conservar", dpo)
    servicios.aprobar(solicitud=segunda, por=otro_dpo)
    evidencia = servicios.ejecutar(solicitud=segunda)
    assert evidencia.destinos["menciones"]["borrados"]["documentos"] == 0
    assert [d.key for d in Documento.objects.all()] == ["a"]


def test_de_una_fila_restaurada_vale_lo_que_se_decide_ahora(
    aviso: Callable[..., None], revisada: Callable[..., Any], dpo: Any, otro_dpo: Any, propietario: Any
) -> None:
    aviso("a", "Llamar al 612345678")
    antes = propietario.execute("SELECT created_at FROM langgraph.store").fetchone()[0]
    primera = revisada()
    decidir(primera, "a", "borrar", dpo)
    servicios.aprobar(solicitud=primera, por=otro_dpo)
    servicios.ejecutar(solicitud=primera)
    aviso("a", "Llamar al 612345678")
    propietario.execute("UPDATE langgraph.store SET created_at = %s, updated_at = %s", [antes, antes])
    segunda = revisada()
    assert segunda.vista_previa["menciones"]["documentos"] == 0  # nobody has decided yet
    decidir(segunda, "a", "conservar", dpo)
    servicios.aprobar(solicitud=segunda, por=otro_dpo)
    servicios.ejecutar(solicitud=segunda)
    assert [d.key for d in Documento.objects.all()] == ["a"]


def test_de_la_que_reaparece_se_decide_otra_vez_sobre_la_misma_fila(
    aviso: Callable[..., None],
    revisada: Callable[..., Any],
    recibida: Callable[..., Any],
    dpo: Any,
    otro_dpo: Any,
) -> None:
    """Its digest is there already when the request closes again: of the two decisions the last one stays."""
    aviso("a", "Llamar al 612345678")
    solicitud = revisada()
    decidir(solicitud, "a", "conservar", dpo, "La primera vez")
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    servicios.reabrir(solicitud=solicitud, sujeto_id=SUJETO, hallado=["memoria"])
    recibida(SUJETO, identificadores={"telefono": "612345678"})
    decidir(solicitud, "a", "conservar", otro_dpo, "La segunda vez")
    servicios.ejecutar(solicitud=solicitud)
    assert solicitud.estado == Estado.COMPLETADA
    mencion = Mencion.objects.get()
    assert (mencion.prefijo, mencion.clave) == (resumen_de_fila("proveedores.P1", "a"), "")
    assert mencion.motivo == "La segunda vez"
    assert Asiento.objects.filter(tipo="mencion").count() == 2


def test_quien_se_borra_y_vuelve_no_impide_cerrar_la_de_otra_persona(
    preferencia: Callable[..., None],
    revisada: Callable[..., Any],
    hasta: Callable[..., Any],
    pasa_la_valla: Callable[[], None],
    dpo: Any,
) -> None:
    preferencia("OTRA-9999", "contacto", "al 612345678")
    solicitud = revisada()
    decidir(solicitud, "pref-contacto", "conservar", dpo)
    servicios.ejecutar(solicitud=hasta(Estado.APROBADA, "OTRA-9999"))
    pasa_la_valla()
    preferencia("OTRA-9999", "contacto", "al 612345678")
    servicios.revisar(solicitud=solicitud, por=dpo)
    decidir(solicitud, "pref-contacto", "conservar", dpo)
    servicios.retirar(solicitud=solicitud, motivo="Ya no lo pide", por=dpo)
    assert [m.clave for m in solicitud.menciones.all()] == [""]


def test_buscada_otra_vez_mientras_se_decide_se_decide_la_que_hay(
    aviso: Callable[..., None], revisada: Callable[..., Any], dpo: Any
) -> None:
    """A new review writes the undecided mentions down anew: the one on the screen is another row by then."""
    aviso("a", "Llamar al 612345678")
    solicitud = revisada()
    vista = solicitud.menciones.get()
    servicios.revisar(solicitud=solicitud, por=dpo)
    servicios.decidir_mencion(mencion=vista, decision="conservar", motivo="Es suyo", por=dpo)
    assert vista.decision == solicitud.menciones.get().decision == Mencion.Decision.CONSERVAR


def test_de_una_fila_que_ya_no_esta_no_se_decide_nada(
    aviso: Callable[..., None], revisada: Callable[..., Any], dpo: Any
) -> None:
    aviso("a", "Llamar al 612345678")
    solicitud = revisada()
    vista = solicitud.menciones.get()
    aviso("a", "Llamar a la tienda")
    servicios.revisar(solicitud=solicitud, por=dpo)
    with pytest.raises(DatoNoValido, match="ya no está"):
        servicios.decidir_mencion(mencion=vista, decision="borrar", motivo="Es suyo", por=dpo)
    assert not Asiento.objects.filter(tipo="mencion").exists()


def test_de_la_fila_de_quien_se_borro_no_se_decide_otra_vez(
    preferencia: Callable[..., None], revisada: Callable[..., Any], hasta: Callable[..., Any], dpo: Any
) -> None:
    preferencia("OTRA-9999", "contacto", "al 612345678")
    solicitud = revisada()
    decidir(solicitud, "pref-contacto", "conservar", dpo)
    servicios.ejecutar(solicitud=hasta(Estado.APROBADA, "OTRA-9999"))
    with pytest.raises(DatoNoValido, match="ya no está"):
        decidir(solicitud, "", "borrar", dpo)


def test_canario_de_la_sala(
    aviso: Callable[..., None],
    preferencia: Callable[..., None],
    conversacion: Callable[..., None],
    navegar: Callable[..., Any],
    apariciones: Callable[[str], list[str]],
    otro_dpo: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Given in the browser, found, decided, erased: no hit in any table, text or bytes, nor in the log."""
    caplog.set_level("DEBUG", logger="privacidad")
    preferencia(SUJETO, "contacto", "al 612345678")
    conversacion(SUJETO, "h-1", texto="Soy Ana Canario Gil, 12345678Z")
    aviso("ana-canario", "Pregunta Ana Canario Gil (12345678-z), 612 34 56 78, ana.canario@ejemplo.es")
    cliente = navegar("dpo", nombre="uno")
    respuesta = cliente.post(
        "/privacidad/solicitudes/nueva/",
        {
            "espacio": "clientes",
            "sujeto_id": SUJETO,
            "canal": "web",
            "recibida": "2026-11-01",
            **DATOS,
        },
    )
    solicitud = Solicitud.objects.get()
    assert respuesta.status_code == 302
    assert apariciones("@Ejemplo.es") == ["langgraph.store"]  # encrypted everywhere else
    assert apariciones("612-34-56-78") == []
    servicios.identificar(solicitud=solicitud, como="DNI en tienda", por=cliente.usuario)
    servicios.revisar(solicitud=solicitud, por=cliente.usuario)
    pagina = cliente.get(reverse("privacidad:menciones", args=[solicitud.referencia])).content.decode()
    for dato in ("612 34 56 78", "12345678-z", "ana.canario@", "Ana Canario"):
        assert dato not in pagina
    assert "6•• •• •• •8" in pagina
    mencion = solicitud.menciones.first()
    assert mencion
    url = reverse("privacidad:mencion", args=[solicitud.referencia, mencion.pk])
    campos = {f"{mencion.pk}-decision": "borrar", f"{mencion.pk}-motivo": "Es de la persona"}
    assert cliente.post(url, campos).status_code == 302
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)

    for canario in (SUJETO, "612345678", "612 34 56 78", "612-34-56-78", "12345678z", "12345678-z"):
        assert apariciones(canario) == [], "it is still somewhere"
    for canario in ("ana.canario", "ana-canario", "Ana Canario"):
        assert apariciones(canario) == [], "it is still somewhere"
        assert canario not in caplog.text
    solicitud.refresh_from_db()
    assert solicitud.reservado in (b"", memoryview(b""))
    assert solicitud.identificadores() == {}


# -- pages --------------------------------------------------------------------------------------------


def test_quien_entra_en_la_pagina(
    navegar: Callable[..., Any], aviso: Callable[..., None], revisada: Callable[..., Any]
) -> None:
    aviso("a", "Llamar al 612345678")
    solicitud = revisada()
    otra = revisada("OTRO-1234")
    lista = reverse("privacidad:menciones", args=[solicitud.referencia])
    mencion = reverse("privacidad:mencion", args=[solicitud.referencia, solicitud.menciones.get().pk])
    ajena = reverse("privacidad:mencion", args=[otra.referencia, solicitud.menciones.get().pk])
    for grupo, codigo in (("compras", 403), ("operaciones", 403), ("consulta", 403)):
        cliente = navegar(grupo)
        assert cliente.get(lista).status_code == cliente.post(mencion).status_code == codigo
    assert Client().get(lista).status_code == Client().post(mencion).status_code == 302
    dpo = navegar("dpo")
    assert dpo.get(lista).status_code == 200
    assert dpo.post(mencion).status_code == 422
    assert dpo.get(mencion).status_code == 405
    assert dpo.post(ajena).status_code == 404
    assert dpo.get(reverse("privacidad:menciones", args=["SUP-2026-0999"])).status_code == 404
    pagina = dpo.get(solicitud.get_absolute_url()).content.decode()
    assert "1 está sin decidir" in pagina
    assert lista in pagina


def test_antes_de_la_revision_no_dice_que_no_se_ha_encontrado_nada(
    navegar: Callable[..., Any], recibida: Callable[..., Any], dpo: Any
) -> None:
    solicitud = recibida("C1")
    lista = reverse("privacidad:menciones", args=[solicitud.referencia])
    quien = navegar("dpo", nombre="quien-mira")
    assert "Todavía no se ha buscado" in quien.get(lista).content.decode()
    servicios.identificar(solicitud=solicitud, como="DNI en tienda", por=dpo)
    servicios.revisar(solicitud=solicitud, por=dpo)
    assert "No se ha encontrado a esta persona" in quien.get(lista).content.decode()


def test_la_lista_va_por_paginas_con_las_consultas_contadas(
    navegar: Callable[..., Any], aviso: Callable[..., None], revisada: Callable[..., Any], dpo: Any
) -> None:
    for n in range(12):
        aviso(f"aviso-{n:02}", f"Aviso {n}: 612345678")
    solicitud = revisada()
    url = reverse("privacidad:menciones", args=[solicitud.referencia])
    cliente = navegar("dpo", nombre="x")
    decidir(solicitud, "aviso-00", "borrar", dpo)
    with CaptureQueriesContext(
        connection,
    ) as con_diez:
        primera = cliente.get(url).content.decode()
    assert primera.count("Anotar la decisión") == 10
    assert "aviso-00" not in primera  # what is decided goes last
    with CaptureQueriesContext(connection) as con_dos:
        assert cliente.get(f"{url}?pagina=2").content.decode().count("Anotar la decisión") == 2
    assert len(con_diez) == len(con_dos)


def test_cerrada_ya_no_se_sabe_donde_estaba(
    navegar: Callable[..., Any], aviso: Callable[..., None], revisada: Callable[..., Any], dpo: Any
) -> None:
    aviso("a-secreta", "Llamar al 612345678")
    solicitud = revisada()
    servicios.denegar(solicitud=solicitud, motivo="No procede", por=dpo)
    mencion = Mencion.objects.get()
    assert (mencion.prefijo, mencion.clave) == (resumen_de_fila("proveedores.P1", "a-secreta"), "")
    pagina = navegar("dpo", nombre="x").get(reverse("privacidad:menciones", args=[solicitud.referencia]))
    assert "a-secreta" not in pagina.content.decode()
    assert "Anotar la decisión" not in pagina.content.decode()


@pytest.mark.parametrize("rol", ["memoria_web", ""])
def test_lo_decidido_no_cambia_una_vez_aprobado(
    rol: str,
    aviso: Callable[..., None],
    revisada: Callable[..., Any],
    como: Callable[[str], psycopg.Connection],
    propietario: psycopg.Connection,
    dpo: Any,
    otro_dpo: Any,
) -> None:
    """Whoever writes: what runs is what was approved."""
    aviso("a1", "Llamar al 612345678")
    solicitud = revisada()
    decidir(solicitud, "a1", "borrar", dpo)
    decidir(solicitud, "a1", "conservar", dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    conexion = como(rol) if rol else propietario
    for cambio in ("decision = 'borrar'", "motivo = 'otro'", "momento = now()", "por_id = NULL"):
        with pytest.raises(psycopg.errors.RestrictViolation):
            conexion.execute(f"UPDATE privacidad_mencion SET {cambio}")
    servicios.ejecutar(solicitud=solicitud)
    assert Documento.objects.filter(key="a1").exists()


@pytest.mark.parametrize("rol", ["memoria_web", ""])
def test_una_limitacion_se_levanta_y_ni_se_borra_ni_cambia(
    rol: str,
    hasta: Callable[..., Any],
    preferencia: Callable[..., None],
    como: Callable[[str], psycopg.Connection],
    propietario: psycopg.Connection,
    dpo: Any,
) -> None:
    preferencia("C1")
    limitacion = servicios.restringir(espacio="clientes", sujeto_id="C1", motivo="No es cierto", por=dpo)
    conexion = como(rol) if rol else propietario

    def nadie_puede(*cambios: str) -> None:
        for sentencia in ("DELETE FROM privacidad_restriccion", *cambios):
            with pytest.raises(psycopg.errors.RestrictViolation):
                conexion.execute(sentencia)

    anotado = [
        f"UPDATE privacidad_restriccion SET {cambio}"
        for cambio in (
            "prefijo = 'clientes.C2'",
            "prefijo = repeat('a', 64)",
            "clave = 'pref-idioma'",
            "motivo = ''",
            "creada = now() - interval '1 day'",
            "por_id = NULL",
        )
    ]
    nadie_puede(*anotado)
    assert Documento.objects.filter(limitado=True).count() == 1
    servicios.levantar(restriccion=limitacion, motivo="Lo era", por=dpo)
    levantada = [
        f"UPDATE privacidad_restriccion SET {cambio}"
        for cambio in ("levantada = NULL", "levantada = now()", "motivo_levantada = 'Otro'")
    ]
    nadie_puede(*anotado, *levantada)
    hasta(Estado.COMPLETADA, "C1")  # which forgets its address and its texts
    assert Restriccion.objects.get().motivo == ""
    nadie_puede("UPDATE privacidad_restriccion SET motivo = 'Otro'")
