"""What a message of a conversation says to who reads it on paper."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memoria.agentes import ContextoCliente, ContextoEmpleado, herramientas
from privacidad.mensajes import lineas
from privacidad.models import Expediente
from tests.privacidad.lector import leer
from tests.privacidad.test_acceso import bajado

LLAMADA = {"name": "recordar_preferencia", "args": {"tipo": "idioma", "valor": "occitano"}, "id": "t1"}
ANOTO = "el agente anotó una preferencia (tipo: idioma; valor: occitano)"


@pytest.mark.parametrize(
    ("mensaje", "dicho"),
    [
        ({"quien": "persona", "texto": "Hola"}, ["persona: Hola"]),
        ({"quien": "agente", "texto": "", "tool_calls": [LLAMADA]}, [ANOTO]),
        (
            {"quien": "agente", "texto": "Un momento.", "tool_calls": [LLAMADA]},
            ["agente: Un momento.", ANOTO],
        ),
        (
            {
                "quien": "agente",
                "texto": [{"type": "text", "text": "Miro."}, {"type": "tool_use", "name": "x", "input": {}}],
                "tool_calls": [{"name": "x", "args": {}}, {"name": "preferencias"}],
            },
            [
                "agente: Miro.",
                "el agente usó la herramienta «x»",
                "el agente consultó lo que se recuerda de la persona",
            ],
        ),
        ({"quien": "herramienta", "texto": "Guardada."}, ["respuesta que recibió el agente: Guardada."]),
        (
            {"quien": "agente", "texto": "", "invalid_tool_calls": [{"name": "x", "args": "{mal"}]},
            ["el agente no llegó a hacerlo: usó la herramienta «x» ({mal)"],
        ),
        ({"quien": "agente", "texto": ""}, []),
        ({"quien": "agente", "texto": [], "tool_calls": []}, []),
        ({"quien": "", "texto": {"foto": 1}}, ['sin autor: {"foto": 1}']),
        ({"quien": "agente", "texto": "", "tool_calls": ["raro"]}, ["el agente usó una herramienta"]),
        ("suelto", ["suelto"]),
        (7, ["7"]),
    ],
)
def test_lo_que_dice_un_mensaje(mensaje: Any, dicho: list[str]) -> None:
    assert list(lineas(mensaje)) == dicho


def test_cada_herramienta_de_los_agentes_se_dice_en_palabras() -> None:
    nombres = {
        herramientas.recordar_preferencia(ContextoCliente).name,
        herramientas.preferencias(ContextoEmpleado).name,
        herramientas.avisos_proveedor().name,
        herramientas.consultar_documentos(ContextoCliente).name,
    }
    dichos = [linea for n in nombres for linea in lineas({"texto": "", "tool_calls": [{"name": n}]})]
    assert len(dichos) == len(nombres)
    assert not [d for d in dichos if "usó la herramienta" in d]


def test_en_papel_no_hay_lineas_vacias_ni_llamadas_sin_decir(
    producir: Callable[..., Expediente], charla: Callable[..., None], dpo: Any
) -> None:
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

    charla(
        "C1",
        "h1",
        [
            HumanMessage("Háblame en occitano"),
            AIMessage("", tool_calls=[LLAMADA]),
            ToolMessage("Guardada.", tool_call_id="t1"),
            AIMessage(""),
            AIMessage("De acuerdo."),
        ],
        resumen="Habla occitano",
    )
    papel = leer(bajado(producir(), "pdf", dpo))
    for frase in (ANOTO, "respuesta que recibió el agente: Guardada.", "agente: De acuerdo."):
        assert frase in papel
    assert "agente: agente" not in papel
    assert "agente: el agente" not in papel
    # What else is kept with it, such as the summary of what was said before.
    assert "Se guarda además, «resumen»: Habla occitano" in papel
