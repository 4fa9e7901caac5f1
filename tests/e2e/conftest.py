"""A real browser on the real site: gunicorn in its own process, the system's Chromium, axe on every page.

Without Chromium these tests are skipped with the reason printed; with ``E2E=1``, as in CI, that is a failure.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.esperas import LIMITE, esperar

RAIZ = Path(__file__).resolve().parents[2]
CLAVE = "clave-de-prueba"
#: Milliseconds for whatever is waited for: a page that never comes, not one that is slow on a busy machine.
PACIENCIA = 60_000
expect.set_options(timeout=PACIENCIA)


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
def sitio(base: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of the site, served by gunicorn over the test database."""
    # To a file: a pipe that nobody reads fills, and gunicorn stops in the middle of a line of its log.
    registro = tmp_path_factory.mktemp("gunicorn") / "registro"
    with socket.socket() as puerto, registro.open("wb") as salida:
        puerto.bind(("127.0.0.1", 0))
        url = f"http://localhost:{puerto.getsockname()[1]}"
        orden = [sys.executable, "-m", "gunicorn", "memoria.wsgi", "--threads", "4", "--no-control-socket"]
        enchufe = puerto.fileno()  # passed on as it is: nobody else takes the port meanwhile
        gunicorn = subprocess.Popen(
            [*orden, "--bind", f"fd://{enchufe}"], cwd=RAIZ, stderr=salida, pass_fds=[enchufe]
        )
    try:
        esperar(lambda: _responde(f"{url}/livez", gunicorn, registro), "gunicorn does not answer")
        yield url
    finally:
        gunicorn.terminate()
        gunicorn.wait(LIMITE)


def _responde(url: str, proceso: subprocess.Popen[bytes], registro: Path) -> bool:
    if proceso.poll() is not None:
        pytest.fail(f"gunicorn ended: {registro.read_text()[-2000:]}")
    try:
        with urllib.request.urlopen(url, timeout=10):
            return True
    except OSError:
        return False


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
        contexto.set_default_timeout(PACIENCIA)
        contextos.append(contexto)
        visita = Visita(contexto.new_page(), sitio)
        visita.entrar(usuario.username)
        return visita

    yield nueva
    for contexto in contextos:
        contexto.close()
