"""What is blocked after an erasure (LOPDGDD 32) is given as it was: what was said is read in both files."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from privacidad import conversaciones, copias, expediente_en_papel, plazos, servicios
from privacidad.estados import Estado
from privacidad.models import Expediente, Solicitud
from tests.privacidad.lector import leer
from tests.privacidad.test_acceso import Explosiva, bajado, contenido


@pytest.fixture
def sellar(hasta: Callable[..., Any], dpo: Any, otro_dpo: Any) -> Callable[..., Solicitud]:
    """Erase a person and keep the sealed copy."""

    def hacer(sujeto_id: str = "C1", **otros: Any) -> Solicitud:
        solicitud: Solicitud = hasta(Estado.REVISADA, sujeto_id, **otros)
        hasta_cuando = plazos.hoy() + timedelta(days=30)
        servicios.decidir_copia(solicitud=solicitud, hasta=hasta_cuando, motivo=None, por=dpo)
        servicios.aprobar(solicitud=solicitud, por=otro_dpo)
        servicios.ejecutar(solicitud=solicitud)
        return solicitud

    return hacer


def hablado(charla: Callable[..., None], hilo: str, *, cliente: str = "C1") -> None:
    """A conversation of three steps: in each, what was said until then."""
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

    llamada = {"name": "recordar_preferencia", "args": {"tipo": "idioma", "valor": "occitano"}, "id": "t1"}
    mensajes = [
        HumanMessage(f"Háblame en occitano ({hilo})", id="m1"),
        AIMessage("", tool_calls=[llamada]),
        ToolMessage("Guardada.", tool_call_id="t1"),
        AIMessage("De acuerdo."),
    ]
    for paso, cuantos in enumerate((1, 2, 4), 1):
        charla(cliente, hilo, mensajes[:cuantos], version=str(paso), nota={"pedido": f"P-{paso}"}, vez=paso)


def test_las_conversaciones_bloqueadas_se_leen_como_se_leian_las_vivas(
    producir: Callable[..., Expediente],
    preferencia: Callable[..., None],
    charla: Callable[..., None],
    sellar: Callable[..., Solicitud],
    dpo: Any,
) -> None:
    preferencia("C1", valor="occitano")
    for hilo in ("h1", "h2"):
        hablado(charla, hilo)
    vivas = contenido(producir(), dpo)["conversaciones"]
    assert [len(c["mensajes"]) for c in vivas] == [4, 4]
    solicitud = sellar()
    expediente = producir()
    todo = contenido(expediente, dpo)
    assert todo["conversaciones"] == []
    bloqueadas = sorted(todo["conversaciones_bloqueadas"], key=lambda c: str(c["hilo"]))
    for bloqueada, viva in zip(bloqueadas, vivas, strict=True):
        assert bloqueada.pop("solicitud") == solicitud.referencia
        assert bloqueada.pop("se_destruye") == (plazos.hoy() + timedelta(days=30)).isoformat()
        for momento in ("creado", "visto"):
            assert datetime.fromisoformat(bloqueada[momento]) == datetime.fromisoformat(viva.pop(momento))
            del bloqueada[momento]
        assert bloqueada == viva
    assert [d["tabla"] for d in todo["datos_bloqueados"]] == ["store"]
    # Each step is there too, in words and not in bytes.
    dichos = [p["fila"] for p in todo["pasos_bloqueados"] if p["tabla"] == "checkpoint_blobs"]
    assert len(dichos) == 12  # two values, three steps and two conversations
    assert {m["texto"] for f in dichos if f["channel"] == "messages" for m in f["contenido"]} == {
        "Háblame en occitano (h1)",
        "Háblame en occitano (h2)",
        "",
        "Guardada.",
        "De acuerdo.",
    }
    assert not [f for f in dichos if "blob" in f]


def test_en_papel_se_lee_lo_que_se_dijo_y_la_cabecera_una_vez(
    producir: Callable[..., Expediente],
    preferencia: Callable[..., None],
    charla: Callable[..., None],
    sellar: Callable[..., Solicitud],
    dpo: Any,
) -> None:
    preferencia("C1", valor="occitano")
    preferencia("C1", "horario", "de tarde")
    for hilo in ("h1", "h2"):
        hablado(charla, hilo)
    solicitud = sellar()
    papel = leer(bajado(producir(), "pdf", dpo))
    for frase in (
        "persona: Háblame en occitano (h1)",
        "persona: Háblame en occitano (h2)",
        "el agente anotó una preferencia (tipo: idioma; valor: occitano)",
        "agente: De acuerdo.",
        "Prefiere este horario: de tarde",
        "Conversaciones bloqueadas tras una supresión (2)",
        "está en el documento JSON",
    ):
        assert frase in papel
    # Once over the data and once over the conversations.
    assert papel.count(f"De la supresión {solicitud.referencia}; se destruye el") == 2
    assert '{"' not in papel.partition("Datos bloqueados")[2].partition("Conversaciones bloqueadas")[0]


def test_tampoco_de_lo_sellado_se_instancia_ninguna_clase(
    producir: Callable[..., Expediente],
    charla: Callable[..., None],
    sellar: Callable[..., Solicitud],
    propietario: Any,
    dpo: Any,
) -> None:
    import ormsgpack

    charla("C1", "h1", ["hola"])
    dentro = ormsgpack.packb((Explosiva.__module__, "Explosiva", {"content": "lo de dentro"}, "__init__"))
    propietario.execute(
        "UPDATE langgraph.checkpoint_blobs SET blob = %s WHERE channel = 'messages'",
        [ormsgpack.packb([ormsgpack.Ext(2, dentro)])],
    )
    sellar()
    antes = Explosiva.hechas
    todo = contenido(producir(), dpo)
    assert Explosiva.hechas == antes
    assert todo["conversaciones_bloqueadas"][0]["mensajes"][0]["texto"] == "lo de dentro"


def test_lo_que_quedo_a_medias_tambien_se_lee(
    producir: Callable[..., Expediente],
    conversacion: Callable[..., None],
    sellar: Callable[..., Solicitud],
    dpo: Any,
) -> None:
    conversacion("C1", "h1", texto="soy canario")
    sellar()
    pasos = contenido(producir(), dpo)["pasos_bloqueados"]
    (escritura,) = [p["fila"] for p in pasos if p["tabla"] == "checkpoint_writes"]
    assert (escritura["channel"], escritura["contenido"]) == ("messages", "soy canario")


def test_de_lo_sellado_no_se_guarda_en_memoria_lo_que_ya_se_ha_dado(
    charla: Callable[..., None], sellar: Callable[..., Solicitud]
) -> None:
    """A thread is given as soon as the last of it is read, wherever its rows are."""
    for n in range(4):
        hablado(charla, f"h{n}")
    copia = sellar().copia
    leidas = 0

    def lineas() -> Any:
        nonlocal leidas
        leidas = 0
        for linea in copias.leer(copia):
            leidas += 1
            yield linea

    cuando = [leidas for _conversacion in conversaciones.leer_selladas(lineas)]
    assert len(cuando) == 4
    assert len(set(cuando)) == 4  # not all of them at the end


def test_de_dos_copias_se_dice_de_cual_es_cada_dato(
    producir: Callable[..., Expediente],
    preferencia: Callable[..., None],
    sellar: Callable[..., Solicitud],
    pasa_la_valla: Callable[[], None],
    dpo: Any,
) -> None:
    solicitudes = []
    for valor in ("occitano", "aranés"):
        preferencia("C1", valor=valor)
        solicitudes.append(sellar())
        pasa_la_valla()
    expediente = producir()
    papel = leer(bajado(expediente, "pdf", dpo))
    primero, segundo = (papel.index(f"De la supresión {s.referencia};") for s in solicitudes)
    assert primero < papel.index("occitano", primero) < segundo < papel.index("aranés", segundo)
    assert len(json.dumps(contenido(expediente, dpo)["datos_bloqueados"])) > expediente_en_papel.EN_PDF
