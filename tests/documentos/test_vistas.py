"""The pages: who comes in, what they do, and nothing lost on the way."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from memoria.documentos import lectura
from tests.documentos.conftest import Escribir
from tests.memoria.test_embeddings import servidor
from tests.memoria.test_seguridad import comprobar_pagina

Navegar = Callable[..., Client]
DATOS = {"titulo": "Portes", "texto": "# Portes\n\nDesde 300 euros.", "importancia": "normal"}


def url(nombre: str, *args: Any, espacio: str = "compras") -> str:
    return reverse(f"documentos:{nombre}", args=[espacio, *args])


def leer(pk: int, espacio: str = "compras") -> Any:
    return lectura.una(espacio, pk)


VISTAS = [
    ("GET", "lista", 0, "ver"),
    ("POST", "lista", 0, "ver"),
    ("GET", "nuevo", 0, "escribir"),
    ("POST", "vista_previa", 0, "escribir"),
    ("GET", "documento", 1, "ver"),
    ("GET", "editar", 1, "escribir"),
    ("GET", "borrar", 1, "escribir"),
    ("GET", "historia", 1, "ver"),
    ("GET", "version", 2, "ver"),
    ("POST", "volver", 2, "escribir"),
    ("POST", "recuperar", 1, "escribir"),
]


class TestQuienEntra:
    @pytest.mark.parametrize(("metodo", "nombre", "numeros", "que"), VISTAS)
    def test_each_view_denied_allowed_and_out_of_scope(
        self, navegar: Navegar, escribir: Escribir, metodo: str, nombre: str, numeros: int, que: str
    ) -> None:
        from django.contrib.auth.models import Permission

        pagina = escribir("portes.md")
        args = [pagina.pk, 1][:numeros]
        anonima, nadie, mira, escribe = Client(), navegar(), navegar("consulta"), navegar("compras")

        def pedir(cliente: Client, direccion: str) -> Any:
            datos = {"consulta": "portes"}
            return cliente.post(direccion, datos) if metodo == "POST" else cliente.get(direccion)

        respuesta = pedir(anonima, url(nombre, *args))
        assert respuesta.status_code == 302
        assert respuesta["Location"].startswith("/admin/login/")
        # A view with a page of its own is where one comes back to: what was typed is kept there.
        vuelta = url("lista") if nombre in ("vista_previa", "volver", "recuperar") else url(nombre, *args)
        assert respuesta["Location"].endswith(f"?next={vuelta}")
        assert pedir(nadie, url(nombre, *args)).status_code == 403
        assert pedir(mira, url(nombre, *args)).status_code == (200 if que == "ver" else 403)
        assert pedir(escribe, url(nombre, *args)).status_code in (200, 302)
        # Somebody who sees another space only: here there is nothing, as in a space that does not exist.
        ajena = navegar(nombre="ajena")
        ajena.usuario.user_permissions.set(  # type: ignore[attr-defined]
            Permission.objects.filter(codename__in=["ver_sala", "escribir_sala"])
        )
        assert pedir(ajena, url(nombre, *args)).status_code == 404
        if numeros:
            assert pedir(escribe, url(nombre, *[pagina.pk + 999, 1][:numeros])).status_code == 404
            # The number of a document of another space is no document of this one.
            assert pedir(ajena, url(nombre, *args, espacio="sala")).status_code == 404

    @pytest.mark.parametrize(
        ("grupo", "ve", "escribe"),
        [
            ("compras", 3, ["compras"]),
            ("operaciones", 3, ["sala", "cliente"]),
            ("dpo", 3, []),
            ("consulta", 3, []),
        ],
    )
    def test_what_each_group_may(self, navegar: Navegar, grupo: str, ve: int, escribe: list[str]) -> None:
        from memoria.documentos.acceso import espacios_visibles, puede_escribir

        usuario: Any = navegar(grupo).usuario  # type: ignore[attr-defined]
        visibles = espacios_visibles(usuario)
        assert len(visibles) == ve
        assert [e for e in visibles if puede_escribir(usuario, e)] == escribe

    def test_the_menu_leads_there_and_only_that_is_open(self, navegar: Navegar) -> None:
        menu = navegar("consulta").get(url("lista")).context["menu"]
        assert [str(m["etiqueta"]) for m in menu if m["activa"]] == ["Documentos"]
        assert navegar("consulta", nombre="c2").get("/memoria/documentos/").status_code == 302
        assert navegar(nombre="n2").get("/memoria/documentos/").status_code == 403
        assert "Documentos" not in [str(m["etiqueta"]) for m in navegar(nombre="n3").get("/").context["menu"]]


class TestEscribir:
    def test_a_document_is_written_and_read(self, navegar: Navegar) -> None:
        compras = navegar("compras")
        respuesta = compras.post(url("nuevo"), {"ruta": "acuerdos/portes.md", **DATOS}, follow=True)
        html = comprobar_pagina(respuesta)
        assert "El documento está guardado" in html
        assert "<p>Desde 300 euros.</p>" in html
        assert html.count("<h1>") == 1
        assert "<h2>Portes</h2>" not in html, "the first heading only repeats the title"
        pagina = respuesta.context["pagina"]
        assert (pagina.ruta, pagina.version, pagina.autor_id) == (
            "acuerdos/portes.md",
            1,
            compras.usuario.pk,  # type: ignore[attr-defined]
        )

    @pytest.mark.parametrize(
        ("mal", "frase"),
        [
            ({"ruta": "../portes.md"}, "empieza por un punto"),
            ({"ruta": "/portes.md"}, "no empieza ni termina"),
            ({"ruta": "portes.txt"}, "termina en «.md»"),
            ({"ruta": "portes\n.md"}, "caracteres"),
            ({"titulo": " "}, "Escriba un título"),
            ({"texto": "a\x07b"}, "caracteres invisibles"),
            ({"importancia": "urgente"}, "no es una de las opciones"),
        ],
    )
    def test_what_cannot_be_kept_is_said_and_what_was_typed_stays(
        self, navegar: Navegar, mal: dict[str, str], frase: str
    ) -> None:
        datos = {"ruta": "portes.md", **DATOS, **mal}
        respuesta = navegar("compras").post(url("nuevo"), datos)
        assert respuesta.status_code == 422
        html = comprobar_pagina(respuesta)
        assert frase in html
        assert "Desde 300 euros." in html or "a\x07b" in html
        assert lectura.lista("compras", despues=None, borradas=False).paginas == []

    def test_a_path_is_of_one_document(self, navegar: Navegar, escribir: Escribir) -> None:
        escribir("portes.md", "Lo de antes.")
        respuesta = navegar("compras").post(url("nuevo"), {"ruta": "portes.md", **DATOS})
        assert respuesta.status_code == 422
        assert "Ya hay un documento con esa ruta" in respuesta.content.decode()

    def test_nor_of_two_that_only_differ_in_capitals(self, navegar: Navegar, escribir: Escribir) -> None:
        escribir("notas/Avión.md")
        respuesta = navegar("compras").post(url("nuevo"), {"ruta": "notas/avión.md", **DATOS})
        assert respuesta.status_code == 422
        assert "otras mayúsculas" in respuesta.content.decode()

    def test_the_preview_shows_and_keeps_nothing(self, navegar: Navegar) -> None:
        respuesta = navegar("compras").post(url("vista_previa"), {"texto": "**hola** <script>x</script>"})
        html = respuesta.content.decode()
        assert "<strong>hola</strong>" in html
        assert "<script>" not in html
        assert "<html" not in html
        assert lectura.lista("compras", despues=None, borradas=False).paginas == []

    def test_a_search_is_answered_in_the_page(self, navegar: Navegar, escribir: Escribir) -> None:
        escribir("portes.md", "# Portes\n\nLos portes son gratis desde 300 euros.")
        escribir("horario.md", "# Horario\n\nDe nueve a dos.", espacio="sala")
        respuesta = navegar("consulta").post(url("lista"), {"consulta": "¿cuánto cuestan los portes?"})
        html = comprobar_pagina(respuesta)
        assert "<mark>portes</mark>" in html
        assert "portes.md" in html
        nada = navegar("consulta", nombre="otra").post(url("lista"), {"consulta": "horario"})
        assert "horario.md" not in nada.content.decode()
        vacia = navegar("consulta", nombre="otra2").post(url("lista"), {"consulta": " "})
        assert vacia.status_code == 422

    @pytest.mark.parametrize("contesta", [True, False])
    def test_an_endpoint_that_is_away_or_answers_something_else_is_told(
        self, contesta: bool, navegar: Navegar, escribir: Escribir, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        escribir("portes.md", "Los portes son gratis desde 300 euros.")
        consulta, aviso = navegar("consulta"), "La búsqueda por significado no está disponible"
        for buscado in ("portes", "vacaciones"):
            assert aviso not in consulta.post(url("lista"), {"consulta": buscado}).content.decode()
        with servidor(lambda _cuerpo: (200, "<h1>Portal</h1>")) as (otro, _peticiones):
            donde = otro if contesta else "http://127.0.0.1:9/v1"
            for nombre, valor in (("URL", donde), ("MODEL", "m"), ("DIMS", "512")):
                monkeypatch.setenv(f"EMBEDDINGS_{nombre}", valor)
            hallada, vacia = (
                consulta.post(url("lista"), {"consulta": buscado}).content.decode()
                for buscado in ("portes", "vacaciones")
            )
        assert "<mark>portes</mark>" in hallada
        assert aviso in hallada
        assert aviso in vacia


class TestCambiar:
    def test_a_change_is_a_version_more(self, navegar: Navegar, escribir: Escribir) -> None:
        pagina = escribir("portes.md", "Antes.")
        compras = navegar("compras")
        datos = {**DATOS, "texto": "Después.", "version": 1, "motivo": "Lo pide transporte"}
        respuesta = compras.post(url("editar", pagina.pk), datos, follow=True)
        assert "sigue en la historia" in respuesta.content.decode()
        assert (leer(pagina.pk).texto, leer(pagina.pk).version) == ("Después.", 2)
        html = comprobar_pagina(compras.get(url("version", pagina.pk, 2)))
        assert "<del>Antes.</del>" in html
        assert "<ins>Después.</ins>" in html
        assert "Lo pide transporte" in html
        assert "quien-escribe" in compras.get(url("historia", pagina.pk)).content.decode()

    def test_the_same_again_adds_nothing(self, navegar: Navegar, escribir: Escribir) -> None:
        pagina = escribir("portes.md", "Igual.", titulo="Portes")
        datos = {"titulo": "Portes", "texto": "Igual.\r\n", "importancia": "normal", "version": 1}
        navegar("compras").post(url("editar", pagina.pk), datos)
        assert leer(pagina.pk).version == 1

    def test_of_two_people_the_second_sees_both_and_loses_nothing(
        self, navegar: Navegar, escribir: Escribir
    ) -> None:
        pagina = escribir("portes.md", "Primera línea.\nSegunda línea.")
        una, otra = navegar("compras", nombre="una"), navegar("compras", nombre="otra")
        datos = {"titulo": "Portes", "importancia": "normal", "version": 1}
        una.post(url("editar", pagina.pk), {**datos, "texto": "Primera línea de una."})
        respuesta = otra.post(url("editar", pagina.pk), {**datos, "texto": "Primera línea de otra."})
        assert respuesta.status_code == 422
        html = comprobar_pagina(respuesta)
        assert "Otra persona cambió este documento" in html
        assert "Lo cambió una el" in html
        assert "<del>Primera línea de una.</del>" in html
        assert "<ins>Primera línea de otra.</ins>" in html
        assert leer(pagina.pk).texto == "Primera línea de una."
        # What the page proposes now is what the second typed, over what they have been shown.
        formulario = respuesta.context["formulario"]
        assert formulario["texto"].value() == "Primera línea de otra."
        assert formulario["version"].value() == 2
        otra.post(url("editar", pagina.pk), formulario.data)
        assert leer(pagina.pk).texto == "Primera línea de otra."
        assert [v.numero for v in lectura.historia("compras", pagina.pk)] == [3, 2, 1]

    def test_one_that_was_deleted_meanwhile_keeps_what_was_typed(
        self, navegar: Navegar, escribir: Escribir
    ) -> None:
        pagina = escribir("portes.md")
        compras = navegar("compras")
        compras.post(url("borrar", pagina.pk), {"motivo": "Ya no vale", "version": 1})
        respuesta = compras.post(url("editar", pagina.pk), {**DATOS, "version": 1})
        assert respuesta.status_code == 422
        assert "Desde 300 euros." in respuesta.content.decode()
        assert "alguien lo borró" in respuesta.content.decode()

    def test_going_back_is_a_version_more(self, navegar: Navegar, escribir: Escribir) -> None:
        pagina = escribir("portes.md", "Uno.", titulo="Portes")
        compras = navegar("compras")
        compras.post(url("editar", pagina.pk), {**DATOS, "texto": "Dos.", "version": 1})
        vieja = compras.post(url("volver", pagina.pk, 1), {"version": 1}, follow=True)
        assert "Otra persona cambió" in vieja.content.decode()
        compras.post(url("volver", pagina.pk, 1), {"version": 2})
        assert (leer(pagina.pk).texto, leer(pagina.pk).version) == ("Uno.", 3)
        assert lectura.version("compras", pagina.pk, 2).texto == "Dos."  # type: ignore[union-attr]
        for version in ("", "x", "²", "-1", "9" * 5000):
            compras.post(url("volver", pagina.pk, 2), {"version": version})
        assert leer(pagina.pk).version == 3


class TestDatosPersonales:
    TEXTO = "# Contacto\n\nLlamar a Ramón al 612 34 56 78."

    @staticmethod
    def vistos(respuesta: Any) -> str:
        return str(respuesta.context["formulario"]["identificadores_vistos"].field.widget.attrs["value"])

    def test_they_are_pointed_out_and_saved_with_a_reason(self, navegar: Navegar) -> None:
        compras = navegar("compras")
        datos = {"ruta": "contacto.md", **DATOS, "texto": self.TEXTO}
        respuesta = compras.post(url("nuevo"), datos)
        html = comprobar_pagina(respuesta)
        assert respuesta.status_code == 422
        assert "<mark>612 34 56 78</mark>" in html
        assert "Guardar igualmente" in html
        assert lectura.lista("compras", despues=None, borradas=False).paginas == []
        confirmado = {
            **datos,
            "identificadores_vistos": self.vistos(respuesta),
            "motivo_identificadores": "Es el del muelle",
        }
        pagina = compras.post(url("nuevo"), confirmado, follow=True).context["pagina"]
        html = comprobar_pagina(compras.get(url("version", pagina.pk, 1)))
        assert "Teléfono" in html
        assert "Es el del muelle" in html

    def test_in_a_change_too_and_wherever_they_are(self, navegar: Navegar, escribir: Escribir) -> None:
        pagina = escribir("portes.md")
        for campo in ("titulo", "texto", "motivo"):
            datos = {**DATOS, "version": 1, campo: "Lo pide ana@ejemplo.es"}
            respuesta = navegar("compras", nombre=campo).post(url("editar", pagina.pk), datos)
            assert respuesta.status_code == 422, campo
            assert "ana@ejemplo.es" in respuesta.content.decode()
        assert leer(pagina.pk).version == 1

    def test_a_change_seen_too_late_keeps_the_reason(self, navegar: Navegar, escribir: Escribir) -> None:
        pagina = escribir("portes.md")
        compras = navegar("compras")
        datos = {**DATOS, "texto": self.TEXTO, "version": 1}
        confirmado = {
            **datos,
            "identificadores_vistos": self.vistos(compras.post(url("editar", pagina.pk), datos)),
            "motivo_identificadores": "Es el del muelle",
        }
        compras.post(url("editar", pagina.pk), {**DATOS, "version": 1})
        tarde = compras.post(url("editar", pagina.pk), confirmado)
        assert "Otra persona cambió este documento" in tarde.content.decode()
        campos = re.findall(r'name="(\w+)" value="([^"]*)"', tarde.content.decode())
        assert ("motivo_identificadores", "Es el del muelle") in campos
        assert compras.post(url("editar", pagina.pk), {**confirmado, **dict(campos)}).status_code == 302
        assert leer(pagina.pk).texto == self.TEXTO


class TestBorrar:
    def test_deleting_asks_why_and_can_be_undone(self, navegar: Navegar, escribir: Escribir) -> None:
        pagina = escribir("portes.md", "Portes gratis.")
        compras = navegar("compras")
        sin_motivo = compras.post(url("borrar", pagina.pk), {"motivo": " ", "version": 1})
        con_datos = compras.post(url("borrar", pagina.pk), {"motivo": "Lo pide el 612345678", "version": 1})
        assert sin_motivo.status_code == con_datos.status_code == 422
        assert leer(pagina.pk).borrada is None
        respuesta = compras.post(
            url("borrar", pagina.pk), {"motivo": "Ya no vale", "version": 1}, follow=True
        )
        assert "portes.md" not in respuesta.content.decode()
        assert not lectura.buscar("compras", "portes")[0]
        assert "portes.md" in compras.get(url("lista") + "?borrados").content.decode()
        assert "Ya no vale" in compras.get(url("historia", pagina.pk)).content.decode()
        otra = compras.post(url("nuevo"), {"ruta": "portes.md", **DATOS})
        assert "Un documento borrado tiene esa misma ruta" in otra.content.decode()
        compras.post(url("recuperar", pagina.pk))
        assert leer(pagina.pk).borrada is None
        assert lectura.buscar("compras", "portes")[0]

    def test_a_change_seen_too_late_deletes_nothing(self, navegar: Navegar, escribir: Escribir) -> None:
        pagina = escribir("portes.md")
        compras = navegar("compras")
        compras.post(url("editar", pagina.pk), {**DATOS, "version": 1})
        compras.post(url("borrar", pagina.pk), {"motivo": "Ya no vale", "version": 1})
        assert leer(pagina.pk).borrada is None


class TestLista:
    def test_pages_follow_each_other_with_no_path_in_the_url(
        self, navegar: Navegar, escribir: Escribir, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(lectura, "POR_PAGINA", 2)
        for n in range(5):
            escribir(f"d{n}.md")
        consulta, vistas, direccion = navegar("consulta"), [], url("lista")
        while True:
            respuesta = consulta.get(direccion)
            vistas += [p.ruta for p, _autor in respuesta.context["filas"]]
            if not respuesta.context["siguiente"]:
                break
            direccion = url("lista") + respuesta.context["siguiente"]
        assert vistas == [f"d{n}.md" for n in range(5)]

    @pytest.mark.parametrize("marca", ["x", "", "-1", "9" * 40, "²", "1;DROP"])
    def test_a_mark_that_is_none_is_the_top(self, navegar: Navegar, marca: str) -> None:
        assert navegar("consulta").get(url("lista"), {"despues": marca}).status_code == 200

    def test_a_mark_of_one_that_is_gone_is_the_top(self, navegar: Navegar, escribir: Escribir) -> None:
        pagina = escribir("portes.md")
        respuesta = navegar("consulta").get(url("lista"), {"despues": pagina.pk + 999})
        assert [p.ruta for p, _autor in respuesta.context["filas"]] == ["portes.md"]

    def test_queries_do_not_grow_with_the_rows(self, navegar: Navegar, escribir: Escribir) -> None:
        consulta = navegar("consulta")
        consulta.get(url("lista"))

        def cuantas(direccion: str) -> int:
            with CaptureQueriesContext(
                connection,
            ) as consultas:
                assert consulta.get(direccion).status_code == 200
            return len(consultas)

        primera = escribir("a.md", "[b](b.md) [c](c.md)")
        antes = [cuantas(url("lista")), cuantas(url("documento", primera.pk))]
        for n in range(12):
            escribir(f"b{n}.md")
        assert cuantas(url("lista")) == antes[0]
        otra = escribir("z.md", " ".join(f"[b](b{n}.md)" for n in range(12)))
        assert cuantas(url("documento", otra.pk)) == antes[1]

    def test_the_panel_says_what_changed(self, navegar: Navegar, escribir: Escribir) -> None:
        escribir("portes.md")
        html = navegar("consulta").get("/").content.decode()
        assert "Documentos: Compras" in html
        assert "Documentos: Compras" not in navegar(nombre="n").get("/").content.decode()
