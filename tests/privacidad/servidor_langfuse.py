"""A small HTTP server that speaks the part of Langfuse's public API that deleting traces needs.

After its API reference (resource *Trace*) and the answers its issues report: pages of at most 100, Basic
authentication, deletions that answer at once and are done later (:meth:`ServidorLangfuse.procesar`), also
for ids that do not exist.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

PUBLICA, SECRETA = "pk-lf-prueba", "sk-lf-prueba"
RUTA = "/api/public/traces"


@dataclass
class ServidorLangfuse:
    """``modo`` says how it behaves from now on; an empty one, as it should.

    ``asincrono`` deletes when :meth:`procesar` is called and ``perdida`` never; ``500``, ``html``,
    ``incompleta`` (fewer traces than it says), ``sin_filtro`` (takes no notice of ``userId``), ``limite``
    (429, and then it answers), ``limite_diario`` (429 on deleting), ``lento`` (holds every answer until
    :attr:`suelta`), ``borra_lento`` (only those of deletions), ``gotea`` (sends each answer a byte every
    twentieth of a second), ``gotea_cabeceras`` (the same from its first header) and ``redirige``.
    """

    modo: str = ""
    trazas: list[dict[str, Any]] = field(default_factory=list)
    #: ``(method, query or body)`` of each request that was authenticated.
    peticiones: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    por_borrar: set[str] = field(default_factory=set)
    #: Which deletions are never answered nor made: of ids for which it is true. :attr:`retenida` says one
    #: came.
    retener: Callable[[list[str]], bool] = lambda ids: False
    retenida: threading.Event = field(default_factory=threading.Event)
    suelta: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> ServidorLangfuse:
        manejador = type("Manejador", (_Manejador,), {"servidor": self})
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), manejador)
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, args=[0.01], daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.suelta.set()
        self._http.shutdown()
        self._http.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def poner(self, usuario: str | None, cuantas: int = 1, momento: datetime | None = None) -> None:
        """Traces of a user, as an agent's callback sends them."""
        for _ in range(cuantas):
            self.trazas.append(
                {
                    "id": f"traza-{len(self.trazas) + 1:05}",
                    "userId": usuario,
                    "timestamp": (momento or datetime.now(UTC)).isoformat().replace("+00:00", "Z"),
                    "name": "agente",
                    "sessionId": None,
                    "input": {"messages": ["lo que se dijo"]},
                }
            )

    def de(self, usuario: str) -> int:
        return sum(t["userId"] == usuario for t in self.trazas)

    def procesar(self) -> None:
        """The deletions that were queued are done."""
        self.trazas = [t for t in self.trazas if t["id"] not in self.por_borrar]
        self.por_borrar.clear()

    def pedidas(self, metodo: str) -> list[dict[str, Any]]:
        return [datos for m, datos in self.peticiones if m == metodo]


class _Manejador(BaseHTTPRequestHandler):
    servidor: ServidorLangfuse
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        consulta = {k: v[0] for k, v in parse_qs(urlsplit(self.path).query, keep_blank_values=True).items()}
        if not self._admitida("GET", consulta):
            return
        pagina, limite = int(consulta.get("page", 1)), int(consulta.get("limit", 50))
        if not 1 <= limite <= 100:
            return self._responder(400, {"message": "Invalid request data"})
        trazas = self.servidor.trazas
        if consulta.get("userId") and self.servidor.modo != "sin_filtro":
            trazas = [t for t in trazas if t["userId"] == consulta["userId"]]
        # Without a date this server answers as one that is set to give the last days only.
        desde = consulta.get("fromTimestamp", "9999")
        hasta = consulta.get("toTimestamp", "9999")
        trazas = sorted((t for t in trazas if desde <= t["timestamp"] < hasta), key=lambda t: t["timestamp"])
        vistas = trazas[(pagina - 1) * limite : pagina * limite]
        if self.servidor.modo == "incompleta":
            vistas = vistas[:-1]
        if consulta.get("fields") == "core":
            vistas = [{k: v for k, v in t.items() if k != "input"} for t in vistas]
        meta = {"page": pagina, "limit": limite, "totalItems": len(trazas)}
        self._responder(200, {"data": vistas, "meta": {**meta, "totalPages": -(-len(trazas) // limite)}})

    def do_DELETE(self) -> None:
        cuerpo = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        if not self._admitida("DELETE", cuerpo):
            return
        ids = cuerpo.get("traceIds")
        if not ids:
            return self._responder(400, {"message": "Invalid request data"})
        if self.servidor.retener(ids):
            self.servidor.retenida.set()
            self.servidor.suelta.wait()
            self.close_connection = True
            return
        if self.servidor.modo != "perdida":
            self.servidor.por_borrar.update(ids)
            if self.servidor.modo != "asincrono":
                self.servidor.procesar()
        self._responder(200, {"message": "Traces deleted successfully"})

    def _admitida(self, metodo: str, datos: dict[str, Any]) -> bool:
        """Whether the request goes on; if not, it has been answered."""
        clave = "Basic " + base64.b64encode(f"{PUBLICA}:{SECRETA}".encode()).decode()
        if self.headers.get("Authorization") != clave:
            self._responder(401, {"error": "UnauthorizedError", "message": "Invalid credentials"})
            return False
        if urlsplit(self.path).path != RUTA:
            self._responder(404, {"message": "Not found"})
            return False
        self.servidor.peticiones.append((metodo, datos))
        modo = self.servidor.modo
        if modo == "lento" or (modo == "borra_lento" and metodo == "DELETE"):
            self.servidor.suelta.wait()
        if modo == "500":
            self._responder(500, {"message": f"Internal error about {self.path}"})
        elif modo == "html":
            self._responder(200, "<html><title>Entrar</title></html>", "text/html")
        elif modo == "redirige":
            self._responder(302, {}, Location="https://entrar.example/")
        elif modo == "limite":
            self.servidor.modo = ""
            self._responder(429, {"message": "rate limit exceeded"}, **{"Retry-After": "1"})
        elif modo == "limite_diario" and metodo == "DELETE":
            self._responder(429, {"message": "rate limit exceeded"}, **{"Retry-After": "43200"})
        else:
            return True
        return False

    def _responder(self, codigo: int, cuerpo: Any, tipo: str = "application/json", **cabeceras: str) -> None:
        octetos = (cuerpo if isinstance(cuerpo, str) else json.dumps(cuerpo)).encode()
        if self.servidor.modo == "gotea":
            octetos = b" " * 10_000 + octetos  # eight minutes of it: nobody waits for its end by chance
        try:
            self.send_response(codigo)
            self.send_header("Content-Type", tipo)
            self.send_header("Content-Length", str(len(octetos)))
            for nombre, valor in cabeceras.items():
                self.send_header(nombre, valor)
            if self.servidor.modo == "gotea_cabeceras":
                self._gotear(b"HTTP/1.1 200 OK\r\nX-Larga: " + b"x" * 10_000)
            self.end_headers()
            if self.servidor.modo == "gotea":
                self._gotear(octetos)
            else:
                self.wfile.write(octetos)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client did not wait

    def _gotear(self, octetos: bytes) -> None:
        for octeto in octetos:
            self.wfile.write(bytes([octeto]))
            if self.servidor.suelta.wait(0.05):
                raise BrokenPipeError

    def log_message(self, format: str, *args: Any) -> None:
        """Silent: the tests read :attr:`ServidorLangfuse.peticiones`."""
