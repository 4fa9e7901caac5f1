"""Arts. 15 and 20: everything there is of a person, in a file made, downloaded and expired under log."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from privacidad import conversaciones, expediente_en_papel, expedientes, plazos, servicios
from privacidad.errores import DatoNoValido, SinPermiso
from privacidad.estados import Estado
from privacidad.models import Asiento, Expediente, Restriccion
from privacidad.resumenes import resumen_de_usuario
from tests.privacidad.lector import leer

PAGINA = "/privacidad/derechos/clientes/C1/"


def bajado(expediente: Expediente, formato: str, por: Any) -> bytes:
    return b"".join(servicios.descargar_expediente(expediente=expediente, formato=formato, por=por))


def contenido(expediente: Expediente, por: Any) -> Any:
    return json.loads(bajado(expediente, "json", por))


def test_esta_todo_lo_suyo_y_nada_de_otros(
    producir: Callable[..., Expediente],
    preferencia: Callable[..., None],
    charla: Callable[..., None],
    recibida: Callable[..., Any],
    dpo: Any,
) -> None:
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

    preferencia("C1", valor="occitano")
    preferencia("C1", "horario", "de tarde")
    preferencia("C10", valor="ajeno")
    charla(
        "C1",
        "h1",
        [
            HumanMessage("Háblame en occitano", id="m1"),
            AIMessage(
                "", tool_calls=[{"name": "recordar_preferencia", "args": {"tipo": "idioma"}, "id": "t1"}]
            ),
            ToolMessage("guardado", tool_call_id="t1"),
        ],
        nota={"pedido": "P-7"},
    )
    charla("C10", "h10", [HumanMessage("ajeno")])
    servicios.restringir(
        espacio="clientes", sujeto_id="C1", clave="pref-horario", motivo="No lo dijo", por=dpo
    )
    solicitud = recibida("C1", identificadores={"email": "ana@example.com"})
    todo = contenido(producir(), dpo)
    assert [todo[k] for k in ("esquema", "version", "espacio", "identificador")] == [
        "memoria/expediente",
        2,
        "clientes",
        "C1",
    ]
    assert {d["clave"]: (d["contenido"]["valor"], d["limitado"]) for d in todo["documentos"]} == {
        "pref-idioma": ("occitano", False),
        "pref-horario": ("de tarde", True),
    }
    assert all(d["caduca"] and d["vida_en_minutos"] for d in todo["documentos"])
    (charla_suya,) = todo["conversaciones"]
    assert [(m["quien"], m["texto"]) for m in charla_suya["mensajes"]] == [
        ("persona", "Háblame en occitano"),
        ("agente", ""),
        ("herramienta", "guardado"),
    ]
    assert charla_suya["mensajes"][1]["tool_calls"][0]["name"] == "recordar_preferencia"
    assert charla_suya["estado"] == {"nota": {"pedido": "P-7"}}
    assert [r["motivo"] for r in todo["limitaciones"]] == ["No lo dijo"]
    assert [s["referencia"] for s in todo["solicitudes"]] == [solicitud.referencia]
    assert todo["solicitudes"][0]["identificadores"]["email"] == "ana@example.com"
    assert next(r for r in todo["recuentos"] if r["donde"] == "memoria")["cuantos"]["documentos"] == 2
    assert "ajeno" not in json.dumps(todo)


def test_lo_bloqueado_tambien_y_abrirlo_se_registra(
    producir: Callable[..., Expediente],
    preferencia: Callable[..., None],
    hasta: Callable[..., Any],
    dpo: Any,
    otro_dpo: Any,
) -> None:
    preferencia("C1", valor="occitano")
    solicitud = hasta(Estado.REVISADA)
    manana = plazos.hoy() + timedelta(days=1)
    servicios.decidir_copia(solicitud=solicitud, hasta=manana, motivo=None, por=dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    expediente = producir()
    (bloqueado,) = contenido(expediente, dpo)["datos_bloqueados"]
    assert bloqueado["fila"]["value"]["valor"] == "occitano"
    assert (bloqueado["solicitud"], bloqueado["se_destruye"]) == (solicitud.referencia, manana.isoformat())
    assert Asiento.objects.get(tipo="copia_abierta").datos == {
        "expediente": expediente.referencia,
        "por": resumen_de_usuario(expediente.por),
    }
    papel = leer(bajado(expediente, "pdf", dpo))
    for dia in (manana, solicitud.recibida):
        assert f"{dia:%d/%m/%Y}" in papel
        assert dia.isoformat() not in papel


def test_de_quien_no_hay_nada_lo_dice(producir: Callable[..., Expediente], dpo: Any) -> None:
    todo = contenido(producir("C-nadie"), dpo)
    assert [todo[s] for s in expedientes.SECCIONES[:-1]] == [[]] * (len(expedientes.SECCIONES) - 1)
    assert "No hay." in leer(bajado(Expediente.objects.get(), "pdf", dpo))


def test_el_pdf_se_lee_y_remite_al_json_cuando_es_mucho(
    producir: Callable[..., Expediente], propietario: Any, dpo: Any, preferencia: Callable[..., None]
) -> None:
    propietario.execute(
        "INSERT INTO langgraph.store (prefix, key, value)"
        " SELECT 'clientes.C1', 'k' || n, jsonb_build_object('texto', 'dato ' || n, 'valor', '中 €')"
        " FROM generate_series(1, %s) n",
        [expediente_en_papel.EN_PDF + 50],
    )
    expediente = producir()
    pdf = bajado(expediente, "pdf", dpo)
    assert pdf.startswith(b"%PDF-")
    texto = leer(pdf)
    assert expediente.referencia in texto
    assert f"Aquí se muestran {expediente_en_papel.EN_PDF} de {expediente_en_papel.EN_PDF + 50}" in texto
    assert "[U+4E2D] €" in texto
    assert len(contenido(expediente, dpo)["documentos"]) == expediente_en_papel.EN_PDF + 50


# -- M15: a checkpoint is somebody else's bytes -------------------------------------------------------


class Explosiva:
    """Making one is what must never happen."""

    hechas = 0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        type(self).hechas += 1


@pytest.mark.parametrize("codigo", range(8))
def test_ninguna_clase_se_instancia(
    codigo: int, producir: Callable[..., Expediente], charla: Callable[..., None], propietario: Any, dpo: Any
) -> None:
    import ormsgpack

    charla("C1", "h1", ["hola"])
    dentro = ormsgpack.packb((__name__, "Explosiva", {"content": "lo de dentro"}, "__init__"))
    propietario.execute(
        "UPDATE langgraph.checkpoint_blobs SET blob = %s WHERE channel = 'messages'",
        [ormsgpack.packb([ormsgpack.Ext(codigo, dentro)])],
    )
    (charla_suya,) = contenido(producir(), dpo)["conversaciones"]
    assert Explosiva.hechas == 0
    assert charla_suya["mensajes"][0]["texto"] == "lo de dentro"


@pytest.mark.parametrize(
    ("tipo", "bytes_", "leido"),
    [
        ("msgpack", b"\xc1", {"ilegible": "msgpack"}),
        ("json", b'{"lc": 2, "type": "constructor", "id": ["os", "system"], "args": ["x"]}', None),
        ("json", b"{", {"ilegible": "json"}),
        ("pickle", b"\x80\x04.", {"base64": "gAQu"}),
        ("bytes", b"\x00\xff", {"base64": "AP8="}),
        ("null", b"", None),
        ("empty", None, None),
    ],
)
def test_lo_que_no_se_entiende_se_dice_y_no_se_ejecuta(tipo: str, bytes_: Any, leido: Any) -> None:
    esperado = json.loads(bytes_) if tipo == "json" and leido is None else leido
    assert conversaciones.plano(tipo, bytes_) == esperado


def test_muchas_conversaciones_sin_consultas_por_cada_una(
    charla: Callable[..., None], bd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    for n in range(12):
        charla("C1", f"h{n}", [f"hola {n}"])
    monkeypatch.setattr(conversaciones, "LOTE", 5)
    with CaptureQueriesContext(
        connection,
    ) as consultas:
        leidas = {h: m for h, m, _ in conversaciones.leer([f"h{n}" for n in range(12)])}
    assert leidas == {f"h{n}": [f"hola {n}"] for n in range(12)}
    assert len(consultas) == 3


# -- its life ---------------------------------------------------------------------------------------


def test_se_guarda_cifrado_y_sin_el_identificador(
    producir: Callable[..., Expediente], preferencia: Callable[..., None], propietario: Any, apariciones: Any
) -> None:
    preferencia("C-cifrado", valor="occitano")
    expediente = producir("C-cifrado")
    propietario.execute("DELETE FROM langgraph.store")
    assert apariciones("C-cifrado") == []
    assert apariciones("occitano") == []
    with pytest.raises(gzip.BadGzipFile):
        gzip.decompress(bytes(Expediente.objects.get(pk=expediente.pk).json))


def test_todo_queda_en_el_registro_con_quien_lo_hizo(
    producir: Callable[..., Expediente], preferencia: Callable[..., None], dpo: Any, otro_dpo: Any
) -> None:
    preferencia("C1")
    expediente = producir()
    for formato, quien in (("pdf", dpo), ("json", otro_dpo)):
        bajado(expediente, formato, quien)
    asientos = [(a.tipo, a.referencia, a.datos["por"]) for a in Asiento.objects.all()]
    assert asientos == [
        ("acceso", expediente.referencia, resumen_de_usuario(dpo)),
        ("expediente_descargado", expediente.referencia, resumen_de_usuario(dpo)),
        ("expediente_descargado", expediente.referencia, resumen_de_usuario(otro_dpo)),
    ]
    assert resumen_de_usuario(dpo) != resumen_de_usuario(otro_dpo)


def test_caducado_no_se_descarga(producir: Callable[..., Expediente], dpo: Any) -> None:
    expediente = producir()
    assert timedelta(days=6, hours=23) < expediente.caduca - timezone.now() <= timedelta(days=7)
    Expediente.objects.update(caduca=timezone.now())
    with pytest.raises(DatoNoValido, match="caducado"):
        bajado(expediente, "pdf", dpo)
    assert not Asiento.objects.filter(tipo="expediente_descargado").exists()


def test_la_supresion_vacia_los_expedientes(
    producir: Callable[..., Expediente], preferencia: Callable[..., None], hasta: Callable[..., Any], dpo: Any
) -> None:
    preferencia("C1")
    expediente = producir()
    hasta(Estado.COMPLETADA)
    with pytest.raises(DatoNoValido, match="caducado"):
        bajado(expediente, "json", dpo)
    assert bytes(Expediente.objects.get().json) == b""


def test_si_se_suprime_mientras_se_produce_no_queda_expediente(
    producir: Callable[..., Expediente],
    preferencia: Callable[..., None],
    hasta: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    preferencia("C1")
    componer = expedientes.componer

    def y_entonces_se_suprime(**datos: Any) -> Any:
        compuesto = componer(**datos)
        hasta(Estado.COMPLETADA)
        return compuesto

    monkeypatch.setattr(expedientes, "componer", y_entonces_se_suprime)
    with pytest.raises(DatoNoValido, match="se han suprimido"):
        producir()
    assert not Expediente.objects.exists()


def test_sin_permiso_no_se_produce_ni_se_descarga(
    producir: Callable[..., Expediente], persona: Callable[..., Any]
) -> None:
    otro = persona("operaciones")
    with pytest.raises(SinPermiso):
        servicios.producir(espacio="clientes", sujeto_id="C1", por=otro)
    with pytest.raises(SinPermiso):
        bajado(producir(), "pdf", otro)


# -- the pages --------------------------------------------------------------------------------------


def test_quien_entra_en_la_pagina_de_una_persona(navegar: Callable[..., Any], bd: str) -> None:
    assert Client().get(PAGINA).status_code == 302
    assert [navegar(g).get(PAGINA).status_code for g in ("compras", "consulta", "operaciones")] == [403] * 3
    dpo = navegar("dpo")
    assert dpo.get(PAGINA).status_code == 200
    assert dpo.get("/privacidad/derechos/pedidos/C1/").status_code == 404
    assert dpo.get(f"/privacidad/derechos/clientes/{'C' * 300}/").status_code == 404


@pytest.mark.parametrize("accion", ["limitar", "levantar", "rectificar", "borrar", "producir"])
def test_cada_accion_pide_entrar_y_su_permiso(
    accion: str, navegar: Callable[..., Any], preferencia: Callable[..., None]
) -> None:
    from django.contrib.auth.models import Permission

    preferencia("C1")
    url = f"{PAGINA}{accion}/"
    assert Client().post(url).status_code == 302
    assert navegar("operaciones").post(url).status_code == 403
    mirar = navegar(nombre="mirar")
    mirar.usuario.user_permissions.add(Permission.objects.get(codename="view_restriccion"))
    assert mirar.post(url).status_code == 403
    pagina = mirar.get(PAGINA).content.decode()
    assert 'method="post"' not in pagina.partition("<main")[2]
    assert navegar("dpo").post(f"{PAGINA}inventada/").status_code == 404
    assert not Expediente.objects.exists()


def test_una_tarde_de_la_delegada(navegar: Callable[..., Any], preferencia: Callable[..., None]) -> None:
    from memoria.models import Documento

    preferencia("C1", valor="catalán")
    dpo = navegar("dpo")

    def enviar(accion: str, **campos: Any) -> str:
        respuesta = dpo.post(f"{PAGINA}{accion}/", campos, follow=True)
        assert respuesta.redirect_chain == [(PAGINA, 302)], respuesta.content.decode()
        return str(respuesta.content.decode())

    pagina = dpo.get(PAGINA).content.decode()
    assert "Prefiere que se le hable en: catalán" in pagina
    visto = Documento.objects.get().updated_at.isoformat()
    assert visto in pagina
    assert "aranés" in enviar("rectificar", clave="pref-idioma", visto=visto, valor="aranés")
    assert "limitado" in enviar("limitar", clave="pref-idioma", motivo="Dice que no es suyo")
    pagina = enviar("limitar", clave="", motivo="Y todo lo demás")
    assert "Limitada toda la ficha." in pagina
    for limitacion in Restriccion.objects.all():
        pagina = enviar("levantar", restriccion=limitacion.pk, motivo="Ya se aclaró")
    assert "No hay ninguna limitación en vigor." in pagina
    pagina = enviar("producir")
    expediente = Expediente.objects.get()
    assert expediente.referencia in pagina
    visto = Documento.objects.get().updated_at.isoformat()
    assert "No se recuerda nada." in enviar("borrar", clave="pref-idioma", visto=visto, motivo="No era suyo")


def test_un_error_vuelve_a_la_pagina_con_lo_escrito(
    navegar: Callable[..., Any], preferencia: Callable[..., None]
) -> None:
    from memoria.models import Documento

    preferencia("C1", valor="catalán")
    dpo = navegar("dpo")
    visto = Documento.objects.get().updated_at.isoformat()
    preferencia("C1", valor="inglés")
    for datos, frase in (
        ({"visto": visto, "valor": "aranés"}, "ha cambiado mientras lo veía"),
        ({"visto": "ayer", "valor": "aranés"}, "Vuelva a cargar la página"),
    ):
        respuesta = dpo.post(f"{PAGINA}rectificar/", {"clave": "pref-idioma", **datos})
        assert respuesta.status_code == 422
        assert frase in respuesta.content.decode()
        assert 'value="aranés"' in respuesta.content.decode()
    sin_motivo = dpo.post(f"{PAGINA}limitar/", {"clave": "", "motivo": ""})
    assert sin_motivo.status_code == 422
    que_no_esta = dpo.post(f"{PAGINA}borrar/", {"clave": "pref-otra", "visto": visto, "motivo": "x"})
    assert "ya no está en la memoria" in que_no_esta.content.decode()


def test_una_limitacion_de_otra_persona_no_se_levanta_desde_aqui(
    navegar: Callable[..., Any], preferencia: Callable[..., None], dpo: Any
) -> None:
    preferencia("C2")
    ajena = servicios.restringir(espacio="clientes", sujeto_id="C2", motivo="Dice que no", por=dpo)
    respuesta = navegar("dpo").post(f"{PAGINA}levantar/", {"restriccion": ajena.pk, "motivo": "x"})
    assert respuesta.status_code == 404
    ajena.refresh_from_db()
    assert ajena.levantada is None


def test_descargar_en_el_navegador(
    navegar: Callable[..., Any], producir: Callable[..., Expediente], preferencia: Callable[..., None]
) -> None:
    preferencia("C1")
    expediente = producir()
    url = f"/privacidad/expedientes/{expediente.referencia}"
    assert Client().post(f"{url}/pdf/").status_code == 302
    assert navegar("operaciones").post(f"{url}/pdf/").status_code == 403
    dpo = navegar("dpo")
    assert dpo.get(f"{url}/pdf/").status_code == 405
    assert dpo.post(f"{url}/exe/").status_code == 404
    assert dpo.post("/privacidad/expedientes/ACC-2026-00000000/pdf/").status_code == 404
    assert not Asiento.objects.filter(tipo="expediente_descargado").exists()
    for formato, tipo in (("pdf", "application/pdf"), ("json", "application/json")):
        respuesta = dpo.post(f"{url}/{formato}/")
        assert (respuesta["Content-Type"], respuesta["Cache-Control"]) == (tipo, "no-store")
        assert b"".join(respuesta.streaming_content)
    Expediente.objects.update(caduca=timezone.now())
    assert dpo.post(f"{url}/pdf/").status_code == 302
    assert "Caducado" in dpo.get(PAGINA).content.decode()


def test_la_pagina_no_hace_mas_consultas_con_mas_datos(
    navegar: Callable[..., Any], preferencia: Callable[..., None]
) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    dpo = navegar("dpo")
    preferencia("C1")
    with CaptureQueriesContext(connection) as pocas:
        dpo.get(PAGINA)
    for tipo in ("recogida", "contacto", "horario"):
        preferencia("C1", tipo)
        servicios.restringir(
            espacio="clientes", sujeto_id="C1", clave=f"pref-{tipo}", motivo="Dice que no", por=dpo.usuario
        )
        servicios.producir(espacio="clientes", sujeto_id="C1", por=dpo.usuario)
    with CaptureQueriesContext(connection) as muchas:
        dpo.get(PAGINA)
    assert len(muchas) == len(pocas)


def test_de_una_limitacion_rehecha_no_se_dice_quien(navegar: Callable[..., Any]) -> None:
    """After a restore the register puts it back, and knows nobody's name."""
    Restriccion.objects.create(prefijo="clientes.C1", motivo="Rehecha", por=None)
    pagina = navegar("dpo").get("/privacidad/derechos/clientes/C1/").content.decode()
    assert "Limitada toda la ficha." in pagina
    assert ", por" not in pagina
