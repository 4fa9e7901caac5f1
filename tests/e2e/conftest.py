"""A real browser on the real site: gunicorn in its own process, the system's Chromium, axe on every page.

Without Chromium these tests are skipped with the reason printed; with ``E2E=1``, as in CI, that is a failure.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

RAIZ = Path(__file__).resolve().parents[2]
CLAVE = "clave-de-prueba"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    aqui = Path(__file__).parent
    for prueba in items:
        if aqui in prueba.path.parents:
            prueba.add_marker("e2e")


@pytest.fixture(scope="module")
def navegador() -> Iterator[Browser]:
    ejecutable = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if ejecutable is None:
        motivo = "no hay Chromium: instale el paquete chromium del sistema"
        pytest.fail(motivo) if os.environ.get("E2E") == "1" else pytest.skip(motivo)
    # Playwright's sync API keeps a loop running in this thread, which Django takes for async code.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=ejecutable,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-quic"],
        )
        yield chromium
        chromium.close()
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture(scope="module")
def sitio(base: str) -> Iterator[str]:
    """URL of the site, served by gunicorn over the test database."""
    with socket.socket() as libre:
        libre.bind(("127.0.0.1", 0))
        puerto = libre.getsockname()[1]
    url = f"http://localhost:{puerto}"
    orden = [
        sys.executable,
        "-m",
        "gunicorn",
        "memoria.wsgi",
        "--bind",
        f"127.0.0.1:{puerto}",
        "--threads",
        "4",
        "--no-control-socket",
    ]
    with subprocess.Popen(orden, cwd=RAIZ, stderr=subprocess.PIPE) as gunicorn:
        try:
            _esperar(f"{url}/livez", gunicorn)
            yield url
        finally:
            gunicorn.terminate()
            gunicorn.communicate(timeout=20)


def _esperar(url: str, proceso: subprocess.Popen[bytes]) -> None:
    limite = time.monotonic() + 30
    while time.monotonic() < limite:
        if proceso.poll() is not None:
            assert proceso.stderr
            pytest.fail(f"gunicorn ended: {proceso.stderr.read().decode()[-2000:]}")
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except OSError:
            time.sleep(0.1)
    pytest.fail("gunicorn did not answer in 30 s")


class Visita:
    """A person at a browser: goes to pages, and on each axe must find nothing and the console stay empty."""

    def __init__(self, pagina: Page, sitio: str) -> None:
        self.pagina, self.sitio = pagina, sitio
        self.quejas: list[str] = []
        pagina.on("console", lambda m: self.quejas.append(m.text) if m.type in ("error", "warning") else None)
        pagina.on("pageerror", lambda e: self.quejas.append(str(e)))

    def ir(self, ruta: str) -> Page:
        self.pagina.goto(self.sitio + ruta)
        self.revisar()
        return self.pagina

    def pulsar(self, boton: str) -> Page:
        self.pagina.get_by_role("button", name=boton).click()
        self.pagina.wait_for_load_state()
        self.revisar()
        return self.pagina

    def revisar(self) -> None:
        """Accessibility and the console of the page as it is now."""
        resultado = Axe().run(self.pagina)
        assert resultado.violations_count == 0, f"{self.pagina.url}: {resultado.generate_report()}"
        assert self.quejas == [], self.pagina.url

    def entrar(self, usuario: str) -> None:
        self.ir("/")
        self.pagina.locator("#id_username").fill(usuario)
        self.pagina.locator("#id_password").fill(CLAVE)
        self.pagina.locator("#login-form [type=submit]").click()
        self.pagina.wait_for_url(self.sitio + "/")
        self.revisar()


@pytest.fixture
def visitar(navegador: Browser, sitio: str, persona: Callable[..., Any]) -> Iterator[Callable[..., Visita]]:
    """``visitar("compras")``: a person of that group, logged in, in a browser of their own."""
    contextos: list[BrowserContext] = []

    def nueva(grupo: str, *, nombre: str | None = None, **opciones: Any) -> Visita:
        usuario = persona(grupo, nombre=nombre)
        contexto = navegador.new_context(locale="es-ES", **opciones)
        contexto.set_default_timeout(10_000)
        contextos.append(contexto)
        visita = Visita(contexto.new_page(), sitio)
        visita.entrar(usuario.username)
        return visita

    yield nueva
    for contexto in contextos:
        contexto.close()
