"""The pages: denied, allowed, out of scope; what they show and what they never show."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from privacidad import palabras, plazos
from privacidad.estados import Estado
from privacidad.models import Solicitud

LISTA, NUEVA = "/privacidad/", "/privacidad/solicitudes/nueva/"


def texto(respuesta: Any) -> str:
    return str(respuesta.content.decode())


@pytest.mark.parametrize("url", [LISTA, NUEVA, "/privacidad/solicitudes/SUP-2026-0001/"])
def test_quien_no_ha_entrado_va_a_la_entrada(url: str, bd: str) -> None:
    respuesta = Client().get(url)
    assert respuesta.status_code == 302
    assert respuesta["Location"].startswith("/admin/login/?next=")


@pytest.mark.parametrize("grupo", ["compras", "consulta", "operaciones", "dpo"])
def test_cada_grupo_ve_lo_suyo(grupo: str, navegar: Callable[..., Any], recibida: Callable[..., Any]) -> None:
    pagina = recibida("C-visible").get_absolute_url()
    cliente = navegar(grupo)
    esperado = {"operaciones": (200, 403, 200), "dpo": (200, 200, 200)}.get(grupo, (403, 403, 403))
    assert tuple(cliente.get(u).status_code for u in (LISTA, NUEVA, pagina)) == esperado
    if esperado[2] == 200:
        # Who only runs it does not need to know whose it is.
        assert ("C-visible" in texto(cliente.get(pagina))) is (grupo == "dpo")


@pytest.mark.parametrize(
    "url",
    [
        "/privacidad/solicitudes/SUP-2026-0099/",
        "/privacidad/solicitudes/C1/",
        "/privacidad/solicitudes/%00/",
        "/privacidad/solicitudes/SUP-2026-0001%00/",
        "/privacidad/solicitudes/%00/menciones/",
        "/privacidad/solicitudes/%00/datos/",
        "/privacidad/solicitudes/%00/copia/",
        "/privacidad/solicitudes/%00/avance/",
        "/privacidad/solicitudes/%00/certificado.pdf",
        "/privacidad/solicitudes/SUP-2026-0001/%00.pdf",
        "/privacidad/expedientes/%00/pdf/",
        "/privacidad/?estado=inventado",
        "/privacidad/?estado=%00",
    ],
)
def test_lo_que_no_existe_no_se_encuentra(url: str, navegar: Callable[..., Any]) -> None:
    assert navegar("dpo").get(url).status_code == 404


def test_los_pasos_se_dan_con_post_y_con_su_permiso(
    navegar: Callable[..., Any], recibida: Callable[..., Any]
) -> None:
    solicitud = recibida()
    paso = reverse("privacidad:paso", args=[solicitud.referencia, "denegar"])
    assert Client().post(paso).status_code == 302
    assert navegar("consulta").post(paso).status_code == 403
    assert navegar("operaciones").post(paso, {"denegar-motivo": "No"}).status_code == 403
    dpo = navegar("dpo")
    assert dpo.get(paso).status_code == 405
    assert dpo.post(reverse("privacidad:paso", args=["SUP-2026-0099", "denegar"])).status_code == 404
    assert dpo.post(reverse("privacidad:paso", args=[solicitud.referencia, "inventado"])).status_code == 404
    assert Solicitud.objects.get().estado == Estado.RECIBIDA


def test_sesion_terminada_un_paso_lo_dice_y_vuelve_a_la_solicitud(
    recibida: Callable[..., Any], persona: Callable[..., Any]
) -> None:
    """A step has no page of its own: after the login there must be something to see."""
    solicitud, cliente = recibida(), Client()
    paso = reverse("privacidad:paso", args=[solicitud.referencia, "identificar"])
    respuesta = cliente.post(paso, {"identificar-como": "DNI en tienda"}, follow=True)
    assert respuesta.redirect_chain == [(f"/admin/login/?next={solicitud.get_absolute_url()}", 302)]
    assert "no se ha guardado nada" in texto(respuesta)
    persona("dpo", nombre="vuelve")
    entrada = {"username": "vuelve", "password": "clave-de-prueba", "next": solicitud.get_absolute_url()}
    dentro = cliente.post("/admin/login/", entrada, follow=True)
    assert dentro.redirect_chain == [(solicitud.get_absolute_url(), 302)]
    assert dentro.status_code == 200
    assert Solicitud.objects.get().estado == Estado.RECIBIDA


def test_sesion_terminada_al_registrar_lo_dice(bd: str) -> None:
    respuesta = Client().post(NUEVA, {"sujeto_id": "C1"}, follow=True)
    assert respuesta.redirect_chain == [(f"/admin/login/?next={NUEVA}", 302)]
    assert "no se ha guardado nada" in texto(respuesta)
    assert not Solicitud.objects.exists()


def test_las_paginas_responden_a_head(navegar: Callable[..., Any], recibida: Callable[..., Any]) -> None:
    pagina, cliente = recibida().get_absolute_url(), navegar("dpo")
    assert [cliente.head(u).status_code for u in (LISTA, NUEVA, pagina)] == [200, 200, 200]


def test_el_identificador_se_guarda_tal_como_se_escribio(navegar: Callable[..., Any]) -> None:
    """«C10 » is another id than «C10»: erasing the one for the other would say that it is done."""
    datos = {"espacio": "clientes", "sujeto_id": "C10 ", "canal": "web", "recibida": plazos.hoy().isoformat()}
    assert navegar("dpo").post(NUEVA, datos).status_code == 302
    assert Solicitud.objects.get().sujeto_id == "C10 "


def test_un_identificador_en_blanco_no_se_registra(navegar: Callable[..., Any]) -> None:
    datos = {"espacio": "clientes", "sujeto_id": " \u00a0", "canal": "web", "recibida": f"{plazos.hoy()}"}
    respuesta = navegar("dpo").post(NUEVA, datos)
    assert respuesta.status_code == 422
    assert "Escriba el identificador de la persona: solo hay espacios." in texto(respuesta)
    assert not Solicitud.objects.exists()


def test_un_identificador_con_lo_que_no_se_ve_se_dice_junto_a_el(navegar: Callable[..., Any]) -> None:
    datos = {"espacio": "clientes", "sujeto_id": "C\u202e1", "canal": "web", "recibida": f"{plazos.hoy()}"}
    respuesta = navegar("dpo").post(NUEVA, datos)
    assert respuesta.status_code == 422
    assert "no se ven" in respuesta.context["formulario"].errors["sujeto_id"][0]
    assert not Solicitud.objects.exists()


def test_se_avisa_de_un_identificador_que_no_es_de_nadie(
    navegar: Callable[..., Any], preferencia: Callable[..., None], conversacion: Callable[..., None]
) -> None:
    preferencia("C-77")
    conversacion("C-78", "h1")
    dpo = navegar("dpo")
    for sujeto, avisa in (("C-77", False), ("C-78", False), ("C-7", True), ("c-77", True)):
        datos = {"espacio": "clientes", "sujeto_id": sujeto, "canal": "web", "recibida": f"{plazos.hoy()}"}
        pagina = texto(dpo.post(NUEVA, datos, follow=True))
        assert ("no hay datos con ese identificador" in pagina) is avisa


def test_de_un_codigo_que_se_unio_a_otro_se_dice_cual(navegar: Callable[..., Any], propietario: Any) -> None:
    propietario.execute("INSERT INTO compras_proveedor (codigo, nombre, activo) VALUES ('P2', 'P2', true)")
    propietario.execute(
        "INSERT INTO compras_proveedor (codigo, nombre, activo, fusionado_en_id)"
        " SELECT 'P1', 'P1', false, id FROM compras_proveedor"
    )
    datos = {"espacio": "proveedores", "sujeto_id": "P1", "canal": "web", "recibida": f"{plazos.hoy()}"}
    pagina = texto(navegar("dpo").post(NUEVA, datos, follow=True))
    assert "se unió a otro: lo que había está en P2" in pagina


def test_ampliar_el_plazo_no_es_cerrar(navegar: Callable[..., Any], hasta: Callable[..., Any]) -> None:
    pagina = texto(navegar("dpo", nombre="otra").get(hasta(Estado.IDENTIFICADA).get_absolute_url()))
    plazo, cerrar = pagina.index("<h2>El plazo</h2>"), pagina.index("<h2>Cerrar sin borrar</h2>")
    assert plazo < pagina.index("Ampliar el plazo dos meses") < cerrar < pagina.index("Denegar la solicitud")


def test_cambiar_lo_aprobado_avisa_de_que_se_aprueba_otra_vez(
    navegar: Callable[..., Any], hasta: Callable[..., Any], preferencia: Callable[..., None]
) -> None:
    preferencia("C1")
    solicitud = hasta(Estado.APROBADA)
    dpo = navegar("dpo", nombre="otra")
    datos = {"destino": "memoria", "clave": "pref-idioma", "motivo": "reclamacion"}
    for url, campos in (
        (reverse("privacidad:datos", args=[solicitud.referencia]), datos),
        (reverse("privacidad:copia", args=[solicitud.referencia]), {"motivo": "No hace falta"}),
    ):
        solicitud.refresh_from_db()
        estaba = solicitud.estado
        avisa = "tiene que aprobarse otra vez" in texto(dpo.post(url, campos, follow=True))
        assert avisa is (estaba == Estado.APROBADA)
        assert Solicitud.objects.get().estado == Estado.REVISADA


def test_una_vida_entera_en_el_navegador(
    navegar: Callable[..., Any], preferencia: Callable[..., None], conversacion: Callable[..., None]
) -> None:
    preferencia("C-77")
    conversacion("C-77", "h1")
    uno, dos, operaciones = (
        navegar("dpo", nombre="uno"),
        navegar("dpo", nombre="dos"),
        navegar("operaciones", nombre="ope"),
    )
    datos = {
        "espacio": "clientes",
        "sujeto_id": "C-77",
        "canal": "tienda",
        "recibida": plazos.hoy().isoformat(),
    }
    respuesta = uno.post(NUEVA, datos)
    solicitud = Solicitud.objects.get()
    assert respuesta.url == f"/privacidad/solicitudes/{solicitud.referencia}/"

    def paso(cliente: Any, nombre: str, **campos: str) -> str:
        url = reverse("privacidad:paso", args=[solicitud.referencia, nombre])
        respuesta = cliente.post(url, {f"{nombre}-{k}": v for k, v in campos.items()}, follow=True)
        assert respuesta.redirect_chain == [(solicitud.get_absolute_url(), 302)]
        return texto(respuesta)

    assert "Contar lo que hay" in paso(uno, "identificar", como="DNI en tienda")
    pagina = paso(uno, "revisar")
    assert "<q>C-77</q>" in pagina
    assert "Se borrarían 1 documento, 1 hilo, 1 punto de control" in pagina
    # Somebody else can: who received it is told so, and has no button that would refuse.
    assert "la tiene que aprobar otra persona" in pagina
    assert "Aprobar la supresión" not in pagina
    pagina = texto(dos.get(solicitud.get_absolute_url()))
    assert "Aprobar la supresión" in pagina
    assert "Por qué aprueba" not in pagina
    paso(dos, "aprobar")
    assert "Borrar los datos de esta persona" in texto(operaciones.get(solicitud.get_absolute_url()))
    pagina = paso(operaciones, "ejecutar")
    assert "no queda nada" in pagina
    assert "postgres" in pagina
    assert "DELETE FROM langgraph.store s" in pagina
    solicitud.refresh_from_db()
    assert solicitud.estado == Estado.COMPLETADA
    assert solicitud.evidencias.get().posicion_wal in pagina
    assert "C-77" not in texto(uno.get(solicitud.get_absolute_url()))


def test_sin_datos_localizados_no_se_muestra_como_borrado(
    navegar: Callable[..., Any], hasta: Callable[..., Any]
) -> None:
    cliente = navegar("dpo")
    solicitud = hasta(Estado.REVISADA)
    assert "No hay nada con este identificador." in texto(cliente.get(solicitud.get_absolute_url()))
    completada = hasta(Estado.COMPLETADA, "C2")
    pagina = texto(cliente.get(completada.get_absolute_url()))
    assert "Sin datos localizados." in pagina
    assert "no queda nada" not in pagina
    assert ">Borrado<" not in pagina
    for url in (completada.get_absolute_url(), f"{LISTA}?estado=completada"):
        assert "etiqueta--bien" not in texto(cliente.get(url))
        assert "Completada, sin datos localizados" in texto(cliente.get(url))


def test_la_excepcion_se_ve_en_la_pagina(
    navegar: Callable[..., Any], recibida: Callable[..., Any], dpo: Any
) -> None:
    from privacidad import servicios

    solicitud = recibida()
    servicios.identificar(solicitud=solicitud, como="DNI", por=dpo)
    servicios.revisar(solicitud=solicitud, por=dpo)
    cliente = Client()
    cliente.force_login(dpo, backend="django.contrib.auth.backends.ModelBackend")
    url = reverse("privacidad:paso", args=[solicitud.referencia, "aprobar"])
    sin_motivo = cliente.post(url)
    assert sin_motivo.status_code == 422
    assert Solicitud.objects.get().estado == Estado.REVISADA
    pagina = texto(cliente.post(url, {"aprobar-excepcion_motivo": "No hay nadie más"}, follow=True))
    assert "Aprobada por quien la recibió." in pagina
    assert "No hay nadie más" in pagina


def test_un_error_se_dice_junto_al_formulario_y_conserva_lo_escrito(
    navegar: Callable[..., Any], recibida: Callable[..., Any]
) -> None:
    solicitud = recibida("C-77")
    url = reverse("privacidad:paso", args=[solicitud.referencia, "identificar"])
    respuesta = navegar("dpo").post(url, {"identificar-como": "Es la persona C-77, en tienda"})
    assert respuesta.status_code == 422
    assert "repite un identificador" in texto(respuesta)
    assert "Es la persona C-77, en tienda</textarea>" in texto(respuesta)


def test_un_paso_que_llega_tarde_vuelve_a_la_pagina_con_la_frase(
    navegar: Callable[..., Any], hasta: Callable[..., Any]
) -> None:
    solicitud = hasta(Estado.COMPLETADA)
    url = reverse("privacidad:paso", args=[solicitud.referencia, "ejecutar"])
    respuesta = navegar("dpo").post(url, follow=True)
    assert "está en estado «Completada»" in texto(respuesta)
    assert solicitud.evidencias.count() == 1


def test_si_los_datos_cambian_se_dice_y_se_puede_repetir(
    navegar: Callable[..., Any],
    hasta: Callable[..., Any],
    sin_guardas: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from privacidad import destinos

    solicitud = hasta(Estado.APROBADA)
    borrar = destinos.DESTINOS[1].suprimir

    def escribir_a_mitad(sujeto: Any) -> Any:
        # By somebody no trigger stops: whoever the fence stops waits for this very run.
        sin_guardas("INSERT INTO langgraph.store (prefix, key, value) VALUES ('clientes.C1', 'x', '{}')")
        return borrar(sujeto)

    monkeypatch.setattr(destinos.DESTINOS[1], "suprimir", escribir_a_mitad)
    respuesta = navegar("dpo").post(reverse("privacidad:paso", args=[solicitud.referencia, "ejecutar"]))
    assert respuesta.status_code == 422
    assert "no se ha borrado nada" in texto(respuesta)
    assert "Borrar los datos de esta persona" in texto(respuesta)


@pytest.mark.parametrize(
    ("cambio", "frase"),
    [
        ({"sujeto_id": ""}, "obligatorio"),
        ({"sujeto_id": "C\x001"}, "caracteres nulos"),
        ({"sujeto_id": "C" * 1_048_576}, "2000"),
        ({"espacio": "pedidos"}, "no es una de las opciones"),
        ({"recibida": (plazos.hoy() + timedelta(days=2)).isoformat()}, "posterior a hoy"),
        ({"recibida": "ayer"}, "fecha"),
    ],
)
def test_el_formulario_dice_que_esta_mal(
    cambio: dict[str, str], frase: str, navegar: Callable[..., Any]
) -> None:
    datos = {"espacio": "clientes", "sujeto_id": "C1", "canal": "web", "recibida": plazos.hoy().isoformat()}
    respuesta = navegar("dpo").post(NUEVA, {**datos, **cambio})
    assert respuesta.status_code == 422
    assert frase in texto(respuesta)
    assert not Solicitud.objects.exists()


def test_una_segunda_solicitud_lleva_a_la_primera(
    navegar: Callable[..., Any], recibida: Callable[..., Any]
) -> None:
    primera = recibida("C1")
    datos = {"espacio": "clientes", "sujeto_id": "C1", "canal": "web", "recibida": plazos.hoy().isoformat()}
    respuesta = navegar("dpo").post(NUEVA, datos, follow=True)
    assert respuesta.redirect_chain == [(primera.get_absolute_url(), 302)]
    assert "queda vinculada" in texto(respuesta)


def test_el_identificador_se_muestra_como_texto(
    navegar: Callable[..., Any], recibida: Callable[..., Any]
) -> None:
    pagina = texto(navegar("dpo").get(recibida("<script>x</script>").get_absolute_url()))
    assert "&lt;script&gt;x&lt;/script&gt;" in pagina
    assert "<script>x" not in pagina


# -- the queue ----------------------------------------------------------------------------------------


def test_la_cola_pone_primero_lo_que_vence_antes(
    navegar: Callable[..., Any], recibida: Callable[..., Any], hasta: Callable[..., Any]
) -> None:
    lejos = recibida("C1")
    vencida = recibida("C-vencida", dia=date(2026, 1, 1))
    cerrada = hasta(Estado.COMPLETADA, "C3", dia=date(2025, 1, 1))
    respuesta = navegar("dpo").get(LISTA)
    assert [f["solicitud"] for f in respuesta.context["filas"]] == [vencida, lejos]
    assert "Venció hace" in texto(respuesta)
    todas = navegar("dpo", nombre="otra").get(f"{LISTA}?estado=todas")
    assert [f["solicitud"] for f in todas.context["filas"]] == [vencida, lejos, cerrada]
    completadas = navegar("dpo", nombre="otra más").get(f"{LISTA}?estado=completada")
    assert [f["solicitud"] for f in completadas.context["filas"]] == [cerrada]
    assert "C-vencida" not in texto(respuesta)


@pytest.mark.parametrize(
    ("dias", "frase", "tono"),
    [
        (-2, "Venció hace 2 días", "mal"),
        (-1, "Venció hace 1 día", "mal"),
        (0, "Vence hoy", "mal"),
        (1, "Queda 1 día", "aviso"),
        (7, "Quedan 7 días", "aviso"),
        (8, "Quedan 8 días", "neutra"),
    ],
)
def test_el_plazo_se_dice_con_palabras(dias: int, frase: str, tono: str) -> None:
    solicitud = Solicitud(estado=Estado.RECIBIDA, vence=plazos.hoy() + timedelta(days=dias))
    assert palabras.plazo(solicitud) == (frase, tono)


def test_parcial_nunca_parece_hecha() -> None:
    for borro in (True, False):
        assert palabras.estado(Solicitud(estado=Estado.PARCIAL), borro=borro) == ("Parcial", "aviso")
    assert palabras.estado(Solicitud(estado=Estado.COMPLETADA), borro=True) == ("Completada", "bien")


def test_las_consultas_de_la_cola_no_crecen_con_las_filas(
    navegar: Callable[..., Any], recibida: Callable[..., Any]
) -> None:
    cliente = navegar("dpo")

    def consultas() -> int:
        with CaptureQueriesContext(connection) as capturadas:
            assert cliente.get(LISTA).status_code == 200
        return len(capturadas)

    recibida("C0")
    pocas = consultas()
    for n in range(1, 60):
        recibida(f"C{n}")
    assert consultas() == pocas
    # Page by page, as the links lead, with the state that was chosen.
    primera = cliente.get(f"{LISTA}?estado=recibida").content.decode()
    assert 'rel="prev"' not in primera

    def enlace(pagina: str, cual: str) -> str:
        (direccion,) = re.findall(f'rel="{cual}" href="([^"]+)"', pagina)
        return html.unescape(direccion)

    siguiente = enlace(primera, "next")
    segunda = cliente.get(f"{LISTA}{siguiente}")
    assert len(segunda.context["filas"]) == 10
    assert 'rel="next"' not in segunda.content.decode()
    anterior = enlace(segunda.content.decode(), "prev")
    assert len(cliente.get(f"{LISTA}{anterior}").context["filas"]) == 50
    assert "estado=recibida" in anterior


# -- admin, panel and figures -------------------------------------------------------------------------


def test_el_admin_solo_deja_mirar_y_no_enseña_el_identificador(
    navegar: Callable[..., Any], hasta: Callable[..., Any]
) -> None:
    abierta = hasta(Estado.REVISADA, "CANARIO-7319")
    cerrada = hasta(Estado.COMPLETADA, "C2")
    cliente = navegar("dpo")
    for modelo, pk in (("solicitud", abierta.pk), ("evidencia", cerrada.evidencias.get().pk)):
        lista = cliente.get(f"/admin/privacidad/{modelo}/")
        ficha = cliente.get(f"/admin/privacidad/{modelo}/{pk}/change/")
        assert (lista.status_code, ficha.status_code) == (200, 200)
        assert "CANARIO-7319" not in texto(lista) + texto(ficha)
        assert 'name="_save"' not in texto(ficha)
        assert cliente.get(f"/admin/privacidad/{modelo}/add/").status_code == 403
        assert cliente.post(f"/admin/privacidad/{modelo}/{pk}/delete/", {"post": "yes"}).status_code == 403
        assert (
            cliente.post(f"/admin/privacidad/{modelo}/{pk}/change/", {"estado": "completada"}).status_code
            == 403
        )
    consulta = navegar("consulta")
    assert consulta.get("/admin/privacidad/solicitud/").status_code == 403


def test_el_panel_dice_lo_que_vence_y_lo_que_espera(
    navegar: Callable[..., Any], hasta: Callable[..., Any]
) -> None:
    hasta(Estado.APROBADA, "C1")
    hasta(Estado.RECIBIDA, "C2", dia=date(2026, 1, 1))
    pagina = texto(navegar("dpo").get("/"))
    for titulo in ("Supresiones que vencen", "Supresiones por ejecutar", "Solicitudes de supresión"):
        assert titulo in pagina
    assert "Supresiones" not in texto(navegar("compras").get("/"))


def test_las_figuras(hasta: Callable[..., Any], propietario: Any) -> None:
    from privacidad.figuras import supresiones

    assert supresiones() == {
        "recibidas": 0,
        "completadas": 0,
        "pendientes": 0,
        "vencidas": 0,
        "mismo_dia": 0,
        "horas_hasta_cero": {"mediana": None, "peor": None},
    }
    hasta(Estado.COMPLETADA, "C1")
    hasta(Estado.COMPLETADA, "C2", dia=plazos.hoy() - timedelta(days=2))
    hasta(Estado.RECIBIDA, "C3")
    hasta(Estado.APROBADA, "C4", dia=date(2026, 1, 1))
    figuras = supresiones()
    horas = figuras.pop("horas_hasta_cero")
    assert figuras == {"recibidas": 4, "completadas": 2, "pendientes": 2, "vencidas": 1, "mismo_dia": 1}
    # Registered late: its clock began at 00:00 of the day it was received, two days ago.
    assert 47 <= horas["peor"] <= 73
    assert horas["mediana"] == pytest.approx(horas["peor"] / 2, abs=0.1)
