"""What every page owes: a strict policy, nothing inline, closed doors, and probes that tell the truth."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from memoria.politica import documento_preferencia, espacio
from tests.memoria.explorador_comun import Enlaces, crear_hilo

RAIZ = Path(__file__).resolve().parents[2]
LOGIN = "/admin/login/"


def directivas(respuesta: Any) -> dict[str, list[str]]:
    return {d.split()[0]: d.split()[1:] for d in respuesta["Content-Security-Policy"].split(";") if d.strip()}


def comprobar_csp(respuesta: Any) -> None:
    politica = directivas(respuesta)
    assert politica["default-src"] == ["'none'"]
    assert politica["script-src"] == politica["style-src"] == ["'self'"]
    assert politica["base-uri"] == politica["frame-ancestors"] == ["'none'"]
    assert politica["form-action"] == ["'self'"]
    assert "unsafe-" not in respuesta["Content-Security-Policy"]


def en_linea(html: str) -> list[str]:
    """What the policy would block: inline scripts and styles, handlers, ``javascript:`` addresses."""
    hallado = []
    for etiqueta, atributos in Enlaces(html).etiquetas:
        if (etiqueta == "script" and not atributos.get("src")) or etiqueta == "style":
            hallado.append(f"<{etiqueta}>")
        hallado += [f"{etiqueta} {a}" for a in atributos if a == "style" or a.startswith("on")]
        hallado += [
            f"{etiqueta} {a}"
            for a, v in atributos.items()
            if str(v).strip().lower().startswith("javascript:")
        ]
    return hallado


def comprobar_pagina(respuesta: Any) -> str:
    comprobar_csp(respuesta)
    html = str(respuesta.content.decode())
    assert en_linea(html) == []
    assert respuesta["X-Content-Type-Options"] == "nosniff"
    assert respuesta["Referrer-Policy"] == "same-origin"
    return html


def urls_sin_argumentos() -> list[str]:
    """Every address of the site that needs nothing filled in, whichever room it belongs to."""

    def recorrer(patrones: list[Any], prefijo: str) -> Iterator[str]:
        for patron in patrones:
            ruta = prefijo + str(patron.pattern)
            if isinstance(patron, URLResolver):
                yield from recorrer(patron.url_patterns, ruta)
            elif isinstance(patron, URLPattern) and not re.search(r"[<(^*]", ruta):
                yield "/" + ruta

    return sorted(set(recorrer(get_resolver().url_patterns, "")))


@pytest.fixture
def jefe(bd: str) -> Client:
    cliente = Client()
    cliente.force_login(
        User.objects.create_superuser("jefe", password="clave-de-prueba"),
        backend="django.contrib.auth.backends.ModelBackend",
    )
    return cliente


# -- every page -----------------------------------------------------------------------------------------


def test_every_page_obeys_the_policy(jefe: Client) -> None:
    urls = urls_sin_argumentos()
    assert {"/", "/memoria/", "/admin/", "/admin/memoria/hilo/", "/livez"} <= set(urls)
    vistas = 0
    for url in urls:
        respuesta = jefe.get(url)
        assert respuesta.status_code < 500, url
        comprobar_csp(respuesta)
        if respuesta["Content-Type"].startswith("text/html"):
            comprobar_pagina(respuesta)
            assert respuesta["X-Frame-Options"] == "DENY"
            vistas += respuesta.status_code == 200
    assert vistas >= 10


def test_pages_with_something_in_them_obey_it_too(
    jefe: Client, almacen: Any, almacen_compras: Any, hilos: Any
) -> None:
    clave, documento = documento_preferencia(
        "clientes", tipo="idioma", valor="<script>alert(1)</script>", hilo="<img src=x onerror=alert(1)>"
    )
    almacen.put(espacio("clientes", "<script>alert(1)</script>"), clave, documento)
    almacen_compras.put(
        espacio("proveedores", "P1"), "a1", {"texto": "<b onclick='x()'>", "fecha": "2026-11-29"}
    )
    crear_hilo(hilos, "<style>", "<script>alert(1)</script>")
    for url in (
        "/",
        "/memoria/clientes/",
        "/memoria/clientes/?id=%3Cscript%3Ealert(2)%3C/script%3E",
        reverse("explorador:ficha", args=["clientes", "<script>alert(1)</script>"]),
        "/memoria/ficha/proveedores/P1/",
        "/admin/memoria/hilo/",
        "/admin/auth/user/add/",
    ):
        respuesta = jefe.get(url)
        assert respuesta.status_code == 200, url
        comprobar_pagina(respuesta)


def test_pages_of_errors_obey_it_and_say_what_to_do(navegar: Callable[..., Client]) -> None:
    sin_permiso, estricto = navegar(), Client(enforce_csrf_checks=True)
    for respuesta, estado, frase in (
        (sin_permiso.get("/memoria/"), 403, "pídalo a quien administra las cuentas"),
        (sin_permiso.get("/no/existe/"), 404, "Compruebe que está bien escrita"),
        (sin_permiso.get("/", headers={"host": "malo.example"}), 400, "No se ha cambiado nada"),
        (estricto.post(LOGIN, {"username": "u", "password": "p"}), 403, "vuelva atrás con el botón"),
    ):
        assert respuesta.status_code == estado
        assert frase in comprobar_pagina(respuesta)


def test_htmx_is_set_up_to_obey_it() -> None:
    from django.template.loader import render_to_string

    etiquetas = Enlaces(render_to_string("memoria/htmx.html"))
    configuracion = json.loads(str(etiquetas.de("meta")[0]["content"]))
    assert configuracion["includeIndicatorStyles"] is False
    assert configuracion["allowEval"] is False
    assert configuracion["selfRequestsOnly"] is True
    [guion] = etiquetas.de("script")
    ruta = str(guion["src"]).removeprefix("/static/")
    from django.contrib.staticfiles import finders

    assert finders.find(ruta), f"{ruta} is not shipped"


def test_what_a_person_was_shown_is_kept_by_no_cache(
    jefe: Client, navegar: Callable[..., Client], almacen: Any
) -> None:
    for url in (
        "/",
        "/memoria/",
        "/memoria/ficha/clientes/C9/",
        "/compras/avisos/",
        "/privacidad/",
        "/admin/",
    ):
        respuesta = jefe.get(url)
        assert respuesta.status_code == 200
        assert "no-store" in respuesta["Cache-Control"], url
    for url, estado in (("/memoria/ficha/clientes/C9/", 403), ("/no/existe/", 404)):
        respuesta = navegar("compras", nombre=f"compras{estado}").get(url)
        assert respuesta.status_code == estado
        assert "no-store" in respuesta["Cache-Control"]


def test_static_files_are_kept_by_caches_as_always(jefe: Client) -> None:
    respuesta = jefe.get("/static/memoria/estilo.css")
    respuesta.close()
    assert respuesta.status_code == 200
    assert "max-age" in respuesta["Cache-Control"]
    assert "no-store" not in respuesta["Cache-Control"]


# -- the door -------------------------------------------------------------------------------------------


def _entrar(cliente: Client, nombre: str, clave: str = "mala") -> Any:
    return cliente.post(LOGIN, {"username": nombre, "password": clave, "next": "/"})


def _sin_lo_que_cambia(html: str, *nombres: str) -> str:
    html = re.sub(r"\b\w{64}\b", "", html)  # CSRF tokens
    return re.sub("|".join(nombres), "NOMBRE", html)


def test_five_failures_close_the_door_for_a_while(persona: Callable[..., User]) -> None:
    persona("dpo")
    cliente = Client()
    for _ in range(4):
        assert _entrar(cliente, "dpo").status_code == 200
    quinta = _entrar(cliente, "dpo")
    assert quinta.status_code == 429
    assert "Espere quince minutos" in comprobar_pagina(quinta)
    assert _entrar(cliente, "dpo", "clave-de-prueba").status_code == 429
    assert cliente.get("/").status_code == 302


def test_one_persons_failures_do_not_lock_the_others(persona: Callable[..., User]) -> None:
    persona("dpo")
    cliente = Client()
    for _ in range(6):
        _entrar(cliente, "otro")
    assert _entrar(cliente, "dpo", "clave-de-prueba")["Location"] == "/"


def test_the_door_does_not_say_who_exists(persona: Callable[..., User]) -> None:
    persona("dpo")
    for intento in range(6):
        existe, no_existe = _entrar(Client(), "dpo"), _entrar(Client(), "nadie-asi")
        assert existe.status_code == no_existe.status_code, intento
        paginas = [_sin_lo_que_cambia(r.content.decode(), "dpo", "nadie-asi") for r in (existe, no_existe)]
        assert paginas[0] == paginas[1]


def test_the_log_names_nobody_who_failed(
    persona: Callable[..., User], caplog: pytest.LogCaptureFixture
) -> None:
    persona("dpo", nombre="maria.perez")
    for _ in range(6):
        _entrar(Client(), "maria.perez")
    assert "maria.perez" not in caplog.text


@pytest.mark.parametrize(
    "destino",
    ["https://malo.example/", "//malo.example", "/\\malo.example", "https:malo.example", "javascript:x"],
)
def test_the_door_leads_to_no_other_site(persona: Callable[..., User], destino: str) -> None:
    persona("dpo")
    entrada = Client().post(LOGIN, {"username": "dpo", "password": "clave-de-prueba", "next": destino})
    assert entrada["Location"] == "/"
    idioma = Client().post(reverse("set_language"), {"language": "en-gb", "next": destino})
    assert idioma["Location"] == "/"


def test_changing_the_language_changes_the_page(client: Client, bd: str) -> None:
    assert '<html lang="es"' in client.get(LOGIN).content.decode()
    vuelta = client.post(reverse("set_language"), {"language": "en-gb", "next": LOGIN})
    assert vuelta["Location"] == LOGIN
    assert '<html lang="en-gb"' in client.get(LOGIN).content.decode()


# -- in a process of its own: with HTTPS, without database ----------------------------------------------


def _en_otro_proceso(codigo: str, **entorno: str) -> Any:
    """What ``codigo`` prints as JSON in a process with the settings of production."""
    base = {k: v for k, v in os.environ.items() if k != "HTTPS"}
    fin = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning", "-c", f"{_ARRANQUE}\n{codigo}"],
        cwd=RAIZ,
        env={**base, **entorno},
        capture_output=True,
        text=True,
        check=False,
    )
    assert fin.returncode == 0, fin.stderr
    return json.loads(fin.stdout)


_ARRANQUE = """
import json, django
django.setup()
from django.test import Client
cliente = Client(raise_request_exception=False, headers={"host": "localhost"})
"""


def test_cookies_travel_only_over_https(persona: Callable[..., User]) -> None:
    persona("dpo")
    visto = _en_otro_proceso(
        f"""
cliente.get("{LOGIN}", secure=True)
r = cliente.post("{LOGIN}", {{"username": "dpo", "password": "clave-de-prueba"}}, secure=True)
cliente.post("/i18n/setlang/", {{"language": "en-gb"}}, secure=True)
print(json.dumps({{
    "dentro": r.status_code,
    "hsts": cliente.get("{LOGIN}", secure=True).headers.get("Strict-Transport-Security"),
    "cookies": {{
        n: [bool(c["secure"]), bool(c["httponly"]), c["samesite"]] for n, c in cliente.cookies.items()
    }},
}}))
"""
    )
    assert visto["dentro"] == 302
    assert visto["hsts"].startswith("max-age=31536000")
    assert visto["cookies"]["sessionid"] == [True, True, "Lax"]
    assert visto["cookies"]["csrftoken"] == [True, True, "Lax"]
    assert visto["cookies"]["django_language"][0] is True


def test_without_database_the_process_lives_and_is_not_ready() -> None:
    visto = _en_otro_proceso(
        """
cliente.cookies["sessionid"] = "x" * 32
def ver(url):
    r = cliente.get(url)
    return [r.status_code, r.content.decode(), r.headers.get("Content-Security-Policy", "")]
print(json.dumps({u: ver(u) for u in ("/livez", "/readyz", "/")}))
""",
        DATABASE_URL="postgresql://memoria_web@127.0.0.1:1/memoria?connect_timeout=2",
    )
    assert visto["/livez"][:2] == [200, '{"ok": true}']
    assert visto["/readyz"][:2] == [503, '{"ok": false}']
    estado, html, politica = visto["/"]
    assert estado == 500
    assert "El fallo es nuestro" in html
    assert en_linea(html) == []
    assert "default-src 'none'" in politica


def test_probes_with_the_database(bd: str, client: Client) -> None:
    for url in ("/livez", "/readyz"):
        respuesta = client.get(url)
        assert (respuesta.status_code, respuesta.json()) == (200, {"ok": True})
        assert "no-store" in respuesta["Cache-Control"]
        assert client.post(url).status_code == 405


def test_not_ready_until_it_has_been_set_up(propietario: Any, client: Client) -> None:
    propietario.execute("ALTER TABLE public.hilos RENAME TO hilos_de_momento")
    try:
        assert client.get("/readyz").status_code == 503
    finally:
        propietario.execute("ALTER TABLE public.hilos_de_momento RENAME TO hilos")
    assert client.get("/readyz").status_code == 200
