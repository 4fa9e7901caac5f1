"""What must be told with the data (art. 15(1) GDPR), by what is configured and by the policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memoria import politica
from memoria.explorador.palabras import nombre_de_tipo
from privacidad import servicios
from privacidad.informacion import destinatarios
from privacidad.models import Expediente
from tests.privacidad.lector import leer
from tests.privacidad.test_acceso import bajado, contenido


def informacion(expediente: Expediente, por: Any) -> dict[str, str]:
    """By letter of the article, as the JSON gives it, once it is seen that the PDF says the same."""
    pdf = leer(bajado(expediente, "pdf", por))
    letras = {}
    for parte in contenido(expediente, por)["informacion"]:
        letras[parte["letra"]] = " ".join(parte["frases"])
        # A page break may fall inside a paragraph, so sentence by sentence is too much to ask of the longest.
        assert " ".join(parte["frases"][0].split())[:60] in pdf
    assert sorted(letras) == list("abcdefgh")
    return letras


def test_dice_a_que_servidores_va_y_para_que(
    producir: Callable[..., Expediente], dpo: Any, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.privacidad.servidor_langfuse import PUBLICA, SECRETA, ServidorLangfuse

    monkeypatch.setenv("LLM_URL", "https://usuario:clave@modelos.example:4000/v1")
    monkeypatch.setenv("EMBEDDINGS_URL", "http://vectores.example/v1")
    with ServidorLangfuse() as servidor:
        settings.LANGFUSE_URL = servidor.url
        settings.LANGFUSE_PUBLIC_KEY, settings.LANGFUSE_SECRET_KEY = PUBLICA, SECRETA
        quien = informacion(producir(), dpo)["c"]
    for servidor_y_uso in (
        "127.0.0.1: las trazas",
        "modelos.example: lo que se dice en las conversaciones",
        "vectores.example: lo que un agente busca",
    ):
        assert servidor_y_uso in quien
    assert quien.count("no los comunica a nadie más.") == 1
    assert "ni en qué país" in quien
    assert "clave" not in quien


def test_sin_modelo_configurado_no_dice_que_no_haya_ninguno(
    producir: Callable[..., Expediente], dpo: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    quien = informacion(producir(), dpo)["c"]
    assert "El modelo de lenguaje de los agentes no está configurado" in quien
    assert "ni en qué país" not in quien
    monkeypatch.setenv("LLM_URL", "https://modelos.example/v1")
    quien = informacion(producir(), dpo)["c"]
    assert "no está configurado" not in quien
    assert quien.endswith(
        "no los comunica a nadie más. La aplicación no sabe qué empresa lleva esos servidores ni en "
        "qué país están: lo dice el responsable del tratamiento."
    )


@pytest.mark.parametrize("espacio", politica.ESPACIOS)
def test_lo_que_dice_es_lo_que_dice_la_politica(
    espacio: str, dpo: Any, bd: str, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    from dataclasses import replace

    cambiada = replace(
        politica.ESPACIOS[espacio], finalidad="Para probar.", vida_minutos=17 * politica.MINUTOS_POR_DIA
    )
    monkeypatch.setitem(politica.ESPACIOS, espacio, cambiada)
    settings.ACCESO_DIAS, settings.COPIAS_DIAS = 3, 29
    dicho = informacion(servicios.producir(espacio=espacio, sujeto_id="X1", por=dpo), dpo)
    # Only employees sign in to this application.
    assert dicho["a"].partition(" Si entra ")[0] == "Para probar."
    assert ("Si entra" in dicho["a"]) == (espacio == "empleados")
    assert "17 días desde" in dicho["d"]
    assert ("se usa" in dicho["d"]) == cambiada.renueva_al_leer
    assert "3 días desde que se produce" in dicho["d"]
    assert "otros 29 días" in dicho["d"]
    assert all(nombre_de_tipo(t) in dicho["b"] for t in cambiada.tipos)
    assert ("personal de compras" in dicho["g"]) == (cambiada.escritor is politica.Escritor.COMPRAS)
    assert ("la propia persona" in dicho["g"]) == (espacio == "clientes")


def test_de_un_proveedor_no_hay_trazas_y_sus_avisos_se_incrustan(
    bd: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.LANGFUSE_URL = "https://langfuse.example"
    monkeypatch.setenv("EMBEDDINGS_URL", "http://vectores.example/v1")
    (unico,) = destinatarios("proveedores")
    assert unico.servidor == "vectores.example"
    assert "texto de los avisos" in unico.que
    assert [d.servidor for d in destinatarios("clientes")] == ["langfuse.example", "vectores.example"]


def test_dice_lo_que_no_trae(producir: Callable[..., Expediente], dpo: Any) -> None:
    expediente = producir()
    assert "textos de otras personas" in " ".join(contenido(expediente, dpo)["no_incluye"])
    assert "Lo que no está en este expediente" in leer(bajado(expediente, "pdf", dpo))
