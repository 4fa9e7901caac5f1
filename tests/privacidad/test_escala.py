"""Large erasures: constant memory, told on the page while they go, never inside a request.

``ESCALA=1`` runs the full size, 250,000 documents and 5,000 threads; without it, a tenth.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse

from memoria.models import Documento, Hilo
from privacidad import avance, plazos, registro, servicios
from privacidad.avance import Etapa
from privacidad.estados import Estado
from privacidad.models import Asiento
from tests.privacidad.vallas_comun import Retenida

RAIZ = Path(__file__).resolve().parents[2]
DOCUMENTOS, HILOS = (250_000, 5_000) if os.environ.get("ESCALA") else (25_000, 500)

# Not a test's shortcut around the product: this is the product's command, and then what the process used.
ORDEN = """
import io, json, resource, sys
import django
django.setup()
from django.core.management import call_command
salida = io.StringIO()
call_command("ejecutar_supresiones", "--json", stdout=salida)
try:  # on Linux ru_maxrss begins at what the process that started this one had
    pico = int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0])
except FileNotFoundError:
    pico = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
sys.stdout.write(json.dumps({**json.loads(salida.getvalue()), "pico_kb": pico}))
"""


def test_la_memoria_no_crece_con_lo_que_se_borra(
    cargar: Callable[..., None], hasta: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    cargar("OTRO", 100, 5)
    picos = {}
    for sujeto, parte in (("C1", 10), ("C2", 1)):
        cargar(sujeto, DOCUMENTOS // parte, HILOS // parte)
        solicitud = hasta(Estado.APROBADA, sujeto)
        antes = time.monotonic()
        hecho = ejecutar_supresiones()
        segundos = time.monotonic() - antes
        assert hecho["completadas"] == 1
        picos[DOCUMENTOS // parte] = hecho["pico_kb"]
        evidencia = solicitud.evidencias.get()
        assert evidencia.destinos["memoria"]["borrados"]["documentos"] == DOCUMENTOS // parte
        assert evidencia.destinos["hilos"]["borrados"] == {
            "hilos": HILOS // parte,
            "checkpoints": 4 * HILOS // parte,
            "blobs": 4 * HILOS // parte,
            "escrituras": 8 * HILOS // parte,
        }
        with capsys.disabled():
            sys.stdout.write(
                f"\n  {DOCUMENTOS // parte} documentos, {HILOS // parte} hilos: "
                f"{segundos:.1f} s, pico de {hecho['pico_kb'] / 1024:.0f} MB"
            )
    assert Documento.objects.count() == 100
    assert Hilo.objects.count() == 5
    menor, mayor = picos[DOCUMENTOS // 10], picos[DOCUMENTOS]
    # Ten times as much to erase. What grows is the list of thread ids, some hundred bytes each.
    assert mayor < menor * 1.25


# -- the page ---------------------------------------------------------------------------------------------


@pytest.fixture
def grande(cargar: Callable[..., None], hasta: Callable[..., Any]) -> Any:
    """An approved request that is too large for a page."""
    cargar("C1", avance.MAXIMO_EN_UNA_PAGINA, 1)
    return hasta(Estado.APROBADA)


def test_la_pagina_no_ejecuta_lo_grande_y_dice_cuando_se_hara(
    grande: Any, navegar: Callable[..., Any]
) -> None:
    cliente = navegar("dpo")
    pagina = cliente.get(grande.get_absolute_url()).content.decode()
    assert "Se ejecutará en la próxima pasada" in pagina
    assert reverse("privacidad:avance", args=[grande.referencia]) in pagina
    assert "Borrar los datos de esta persona" not in pagina
    mandar = reverse("privacidad:paso", args=[grande.referencia, "ejecutar"])
    respuesta = cliente.post(mandar, follow=True)  # an old page still has the button
    assert "demasiadas para borrarlas desde la página" in respuesta.content.decode()
    grande.refresh_from_db()
    assert grande.estado == Estado.APROBADA
    assert Documento.objects.count() == avance.MAXIMO_EN_UNA_PAGINA
    assert ejecutar_supresiones()["completadas"] == 1


def test_lo_que_crece_despues_de_la_revision_tampoco_lo_ejecuta_la_pagina(
    cargar: Callable[..., None],
    preferencia: Callable[..., None],
    hasta: Callable[..., Any],
    navegar: Callable[..., Any],
) -> None:
    preferencia("C1")
    solicitud = hasta(Estado.APROBADA)
    cargar("C1", avance.MAXIMO_EN_UNA_PAGINA, 1)
    cliente = navegar("dpo")
    cliente.post(reverse("privacidad:paso", args=[solicitud.referencia, "ejecutar"]))
    assert Documento.objects.count() > avance.MAXIMO_EN_UNA_PAGINA
    assert "próxima pasada" in cliente.get(solicitud.get_absolute_url()).content.decode()
    assert ejecutar_supresiones()["completadas"] == 1


def test_lo_que_cabe_lo_ejecuta_la_pagina(
    cargar: Callable[..., None], hasta: Callable[..., Any], navegar: Callable[..., Any]
) -> None:
    cargar("C1", 300, 2)
    solicitud = hasta(Estado.APROBADA)
    cliente = navegar("dpo")
    pagina = cliente.get(solicitud.get_absolute_url()).content.decode()
    assert "hx-get" not in pagina
    cliente.post(reverse("privacidad:paso", args=[solicitud.referencia, "ejecutar"]))
    solicitud.refresh_from_db()
    assert solicitud.estado == Estado.COMPLETADA


def test_mientras_se_borra_la_pagina_dice_por_donde_va(
    grande: Any, navegar: Callable[..., Any], propietario: Any
) -> None:
    cliente = navegar("dpo")
    url = reverse("privacidad:avance", args=[grande.referencia])
    assert "próxima pasada" in cliente.get(url).content.decode()
    with Retenida(grande, propietario) as supresion:  # all is deleted, and it waits to keep the evidence
        parte = cliente.get(url).content.decode()
        assert str(Etapa.ANOTA.label) in parte
        assert 'value="5"' in parte
        assert "C1" not in parte
        supresion.soltar()
    supresion.resultado()
    respuesta = cliente.get(url)
    assert respuesta.headers["HX-Refresh"] == "true"
    assert avance.leer(grande) is None


def test_la_referencia_de_otra_solicitud_no_se_confunde(
    grande: Any, propietario: Any, hasta: Callable[..., Any]
) -> None:
    otra = hasta(Estado.APROBADA, "C2")
    with Retenida(grande, propietario) as supresion:
        assert avance.leer(otra) is None
        en_marcha = avance.leer(grande)
        supresion.soltar()
    assert en_marcha
    assert en_marcha.etapa is Etapa.ANOTA


def test_mientras_se_borra_los_demas_siguen_anotando(
    cargar: Callable[..., None],
    hasta: Callable[..., Any],
    recibida: Callable[..., Any],
    propietario: Any,
    dpo: Any,
    otro_dpo: Any,
) -> None:
    """Also with a sealed copy, which is the first thing a run does, and has an entry of its own."""
    cargar("C1", 20, 1)
    solicitud = hasta(Estado.REVISADA)
    servicios.decidir_copia(
        solicitud=solicitud, hasta=plazos.hoy() + timedelta(days=30), motivo=None, por=dpo
    )
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    with Retenida(solicitud, propietario) as supresion:
        otra = recibida("C2")
        servicios.identificar(solicitud=otra, como="DNI en tienda", por=dpo)
        assert supresion.en_marcha()
        supresion.soltar()
    supresion.resultado()
    tipos = list(Asiento.objects.order_by("numero").values_list("referencia", "tipo"))
    assert tipos[-7:] == [
        (otra.referencia, "recibida"),
        (otra.referencia, "identificada"),
        (solicitud.referencia, "en_curso"),
        (solicitud.referencia, "copia_sellada"),
        (solicitud.referencia, "supresion"),
        (solicitud.referencia, "completada"),
        (solicitud.referencia, "escrito_emitido"),
    ]
    assert registro.verificar().ok


def test_lo_que_falla_no_deja_asientos_a_medias(bd: str) -> None:
    antes = Asiento.objects.count()

    def fallar() -> None:
        with registro.aplazado():
            registro.anotar(tipo="a")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fallar()
    assert Asiento.objects.count() == antes
    registro.anotar(tipo="b")
    assert Asiento.objects.get(numero=antes + 1).tipo == "b"


def test_quien_ve_el_avance(grande: Any, navegar: Callable[..., Any], client_anonimo: Any) -> None:
    url = reverse("privacidad:avance", args=[grande.referencia])
    assert client_anonimo.get(url).status_code == 302
    assert navegar("compras").get(url).status_code == 403
    cliente = navegar("dpo")
    assert cliente.get(url).status_code == 200
    assert cliente.get(reverse("privacidad:avance", args=["SUP-2020-0001"])).status_code == 404
    assert cliente.post(url).status_code == 405


# -- helpers ----------------------------------------------------------------------------------------------


def ejecutar_supresiones() -> Any:
    hecho = subprocess.run(
        [sys.executable, "-c", ORDEN],
        cwd=RAIZ,
        env={**os.environ, "PYTHONPATH": str(RAIZ), "LOG_LEVEL": "ERROR"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert hecho.returncode == 0, hecho.stderr
    return json.loads(hecho.stdout)


@pytest.fixture
def client_anonimo() -> Any:
    from django.test import Client

    return Client()


@pytest.fixture
def cargar(propietario: Any) -> Callable[..., None]:
    """``cargar("C1", 1000, 20)``: so many documents, and threads of four checkpoints, of a customer."""

    def poner(sujeto: str, documentos: int, hilos: int) -> None:
        datos = {"sujeto": sujeto, "documentos": documentos, "hilos": hilos}
        for sentencia in CARGA:
            propietario.execute(sentencia, datos)

    return poner


#: As the owner, set by set: a quarter of a million calls of the store would take minutes.
CARGA = (
    """
    INSERT INTO langgraph.store (prefix, key, value, expires_at, ttl_minutes)
    SELECT 'clientes.' || %(sujeto)s, 'k' || n, jsonb_build_object('texto', 'documento ' || n),
           now() + interval '300 days', 525600
    FROM generate_series(1, %(documentos)s::int) n
    """,
    """
    INSERT INTO hilos (thread_id, espacio, sujeto_id)
    SELECT 'h-' || %(sujeto)s || '-' || n, 'clientes', %(sujeto)s FROM generate_series(1, %(hilos)s::int) n
    """,
    """
    INSERT INTO langgraph.checkpoints (thread_id, checkpoint_ns, checkpoint_id, checkpoint, metadata)
    SELECT 'h-' || %(sujeto)s || '-' || n, '', 'p' || p, '{}', '{}'
    FROM generate_series(1, %(hilos)s::int) n, generate_series(1, 4) p
    """,
    """
    INSERT INTO langgraph.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
    SELECT 'h-' || %(sujeto)s || '-' || n, '', 'messages', p::text, 'msgpack',
           convert_to(repeat('x', 500), 'UTF8')
    FROM generate_series(1, %(hilos)s::int) n, generate_series(1, 4) p
    """,
    """
    INSERT INTO langgraph.checkpoint_writes
        (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob)
    SELECT 'h-' || %(sujeto)s || '-' || n, '', 'p' || p, 't', i, 'messages', 'msgpack', ''
    FROM generate_series(1, %(hilos)s::int) n, generate_series(1, 4) p, generate_series(1, 2) i
    """,
)
