"""What a page says of a document or of an evidence is what was sealed, and not a column beside it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from django.utils.formats import date_format

from privacidad import registro, servicios
from privacidad.escritos.datos import huella
from privacidad.estados import Estado
from privacidad.models import Asiento, Escrito, Solicitud
from tests.ordenes import ordenar

VERIFICAR = "/privacidad/verificar/"
OTRO_DIA = "emitido = emitido - interval '400 days'"


@pytest.fixture
def escrito(completada: Callable[..., Solicitud]) -> Escrito:
    """A certificate, as it was issued."""
    escrito: Escrito = completada().escritos.get()
    assert ordenar("verificar_registro")[2] == 0
    return escrito


def comprobar(escrito: Escrito) -> str:
    """The public page, asked for that document."""
    respuesta = Client().post(VERIFICAR, {"numero": escrito.numero, "huella": escrito.huella_datos})
    return respuesta.content.decode()


def la_tabla(navegar: Callable[..., Any], escrito: Escrito) -> str:
    """The documents, in the page of the request."""
    pagina = navegar("dpo", nombre="quien-mira").get(escrito.solicitud.get_absolute_url()).content.decode()
    return str(pagina[pagina.index("Documentos emitidos") :].partition("</section>")[0])


def dia(momento: str) -> str:
    return date_format(timezone.localtime(datetime.fromisoformat(momento)), "DATE_FORMAT")


@pytest.mark.parametrize("cambio", [OTRO_DIA, "emitido = 'infinity'", "tipo = 'sin_datos'"])
def test_la_pagina_publica_dice_lo_que_se_sello(
    escrito: Escrito, sin_guardas: Callable[..., None], cambio: str
) -> None:
    sin_guardas(f"UPDATE privacidad_escrito SET {cambio}")
    pagina = comprobar(escrito)
    assert "Auténtico" in pagina
    assert "Certificado de supresión" in pagina
    assert dia(escrito.datos["emitido"]) in pagina


@pytest.mark.parametrize("cambio", [OTRO_DIA, "emitido = 'infinity'", "tipo = 'sin_datos'"])
def test_la_pagina_de_la_solicitud_tambien(
    escrito: Escrito, sin_guardas: Callable[..., None], navegar: Callable[..., Any], cambio: str
) -> None:
    sin_guardas(f"UPDATE privacidad_escrito SET {cambio}")
    tabla = la_tabla(navegar, escrito)
    assert "Certificado de supresión" in tabla
    assert dia(escrito.datos["emitido"]) in tabla
    assert "Comunicación de que no hay datos" not in tabla


@pytest.mark.parametrize(
    "cambio",
    [
        OTRO_DIA,
        "emitido = emitido + interval '1 second'",
        "emitido = 'infinity'",
        "tipo = 'sin_datos'",
        "evidencia_id = NULL",
    ],
)
def test_la_columna_que_contradice_lo_sellado_se_dice(
    escrito: Escrito, sin_guardas: Callable[..., None], cambio: str
) -> None:
    sin_guardas(f"UPDATE privacidad_escrito SET {cambio}")
    datos, avisos, codigo = ordenar("verificar_registro")
    hallado = f"{escrito.solicitud.referencia} ({escrito.numero})"
    assert (datos["escritos_alterados"], datos["ok"], codigo) == ([hallado], False, 6)
    assert hallado in avisos


def test_la_evidencia_de_otra_solicitud_se_dice(
    escrito: Escrito, completada: Callable[..., Solicitud], sin_guardas: Callable[..., None]
) -> None:
    otro = completada("C2").escritos.get()
    sin_guardas("UPDATE privacidad_escrito SET evidencia_id = NULL WHERE numero = %s", [otro.numero])
    sin_guardas(
        "UPDATE privacidad_escrito SET evidencia_id = %s WHERE numero = %s",
        [otro.evidencia_id, escrito.numero],
    )
    assert len(ordenar("verificar_registro")[0]["escritos_alterados"]) == 2


def test_cada_clase_de_documento_dice_lo_mismo_que_sus_columnas(
    recibida: Callable[..., Any], hasta: Callable[..., Any], dpo: Any, escrito: Escrito
) -> None:
    servicios.ampliar(solicitud=hasta(Estado.REVISADA, "C2"), motivo="Son muchas", por=dpo)
    servicios.denegar(solicitud=recibida("C3"), motivo="No procede", por=dpo)
    hasta(Estado.COMPLETADA, "C4")
    assert set(Escrito.objects.values_list("tipo", flat=True)) == set(Escrito.Tipo.values)
    assert ordenar("verificar_registro")[0]["escritos_alterados"] == []


def test_de_un_documento_alterado_la_pagina_de_la_solicitud_no_dice_nada_suyo(
    escrito: Escrito, sin_guardas: Callable[..., None], navegar: Callable[..., Any]
) -> None:
    sin_guardas(
        "UPDATE privacidad_escrito SET datos = jsonb_set(datos, '{emitido}', %s::jsonb)",
        [json.dumps("2020-02-03T10:00:00+01:00")],
    )
    tabla = la_tabla(navegar, escrito)
    assert escrito.numero in tabla
    assert "No es el que se emitió" in tabla
    assert "2020" not in tabla
    assert escrito.get_absolute_url() not in tabla


def test_lo_que_dice_un_asiento_cambiado_no_se_da_por_bueno(
    escrito: Escrito, sin_guardas: Callable[..., None]
) -> None:
    asiento = Asiento.objects.get(tipo="escrito_emitido")
    sin_guardas("DELETE FROM privacidad_escrito")
    assert "Consta en el registro" in comprobar(escrito)
    sin_guardas(
        "UPDATE privacidad_asiento SET momento = momento - interval '400 days' WHERE numero = %s",
        [asiento.numero],
    )
    pagina = comprobar(escrito)
    assert "No coincide" in pagina
    assert "Consta en el registro" not in pagina


@pytest.mark.parametrize("con_su_huella", [False, True])
def test_un_documento_y_su_asiento_cambiados_a_la_vez_no_son_autenticos(
    escrito: Escrito, sin_guardas: Callable[..., None], con_su_huella: bool
) -> None:
    """Whoever writes past every guard in the two tables, and even in the hash of that entry."""
    registro.anotar(tipo="otra")
    falso = {**escrito.datos, "responsable": "Otro"}
    escrito.huella_datos = huella(falso)
    sin_guardas(
        "UPDATE privacidad_escrito SET datos = %s::jsonb, huella_datos = %s",
        [json.dumps(falso), escrito.huella_datos],
    )
    asiento = Asiento.objects.get(tipo="escrito_emitido")
    asiento.datos = {**asiento.datos, "huella_datos": escrito.huella_datos}
    suya = registro.Entrada(
        asiento.numero,
        registro.en_iso(asiento.momento),
        asiento.tipo,
        asiento.referencia,
        asiento.resumen,
        asiento.datos,
        asiento.anterior,
    ).calcular()
    sin_guardas(
        "UPDATE privacidad_asiento SET datos = %s::jsonb, huella = %s WHERE numero = %s",
        [json.dumps(asiento.datos), suya if con_su_huella else asiento.huella, asiento.numero],
    )
    assert "Auténtico" not in comprobar(escrito)


@pytest.mark.parametrize(
    "cambio",
    [
        "momento = momento - interval '400 days'",
        "destinos = jsonb_set(destinos, '{memoria,antes,documentos}', '77')",
        "rol = 'otro'",
    ],
)
def test_la_evidencia_cambiada_se_dice_donde_se_ensena(
    escrito: Escrito, sin_guardas: Callable[..., None], navegar: Callable[..., Any], cambio: str
) -> None:
    dpo = navegar("dpo", nombre="quien-mira")
    url = escrito.solicitud.get_absolute_url()
    assert "no es la que se escribió" not in dpo.get(url).content.decode()
    sin_guardas(f"UPDATE privacidad_evidencia SET {cambio}")
    assert "no es la que se escribió" in dpo.get(url).content.decode()
