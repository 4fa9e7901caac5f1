"""A missing or malformed variable stops the program with a sentence that names it, and no password."""

from __future__ import annotations

import ast
import os
import re
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoria import entorno
from memoria.almacen import abrir_almacen
from memoria.entorno import VariableIncorrecta
from memoria.hilos import abrir_checkpointer
from tests.memoria.procesos import RAIZ, ejecutar, gestionar

SECRETO = "clave-muy-secreta"
#: Variable, a value it cannot have, something the sentence must say. Each would otherwise be found out much
# later.
MALAS = [
    ("DATABASE_URL", "foo", "postgresql://"),
    ("DATABASE_URL", f"mysql://yo:{SECRETO}@h/base", "postgresql://"),
    ("DATABASE_URL", f"postgresql://yo:{SECRETO}@h:puerto/base", "postgresql://"),
    ("DATABASE_URL", f"postgresql://yo:{SECRETO}@h", "postgresql://"),
    ("DATABASE_URL_OWNER", f"yo:{SECRETO}@h/base", "postgresql://"),
    ("EMBEDDINGS_DIMS", "abc", "«abc»"),
    ("EMBEDDINGS_UMBRAL", "alto", "«alto»"),
    ("DEBUG", "quizás", "«quizás»"),
    ("HTTPS", "a veces", "«a veces»"),
    ("LOG_LEVEL", "mucho", "INFO"),
    ("LANGFUSE_URL", "langfuse.example", "https://"),
    ("LANGFUSE_URL", f"https://yo:{SECRETO}@h:puerto", "https://"),
    ("EMAIL_URL", f"correo://yo:{SECRETO}@h", "smtp+tls://"),
    ("EMAIL_URL", f"smtp://yo:{SECRETO}@h:puerto", "smtp+tls://"),
    ("SECRET_KEY", "", "al menos 50"),
    ("CLAVE_REGISTRO", "", "al menos 50"),
]


@pytest.mark.parametrize(
    ("variable", "valor", "dice"), MALAS, ids=[f"{v}-{n}" for n, (v, _, _) in enumerate(MALAS)]
)
def test_the_program_stops_with_a_sentence(base: str, variable: str, valor: str, dice: str) -> None:
    p = gestionar("medir", "--json", entorno={variable: valor})
    assert p.codigo == 2
    assert p.salida == ""
    assert re.search(rf"\b{variable}\b", p.errores)
    assert dice in p.errores
    assert "Traceback" not in p.errores
    assert SECRETO not in p.errores


def test_an_endpoint_without_its_model(base: str) -> None:
    p = gestionar("preparar", "--json", entorno={"EMBEDDINGS_URL": "http://127.0.0.1:9/v1"})
    assert p.codigo == 2
    assert "EMBEDDINGS_MODEL" in p.json["error"]


@pytest.mark.parametrize("falta", ["LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY"])
def test_langfuse_without_its_keys(base: str, falta: str) -> None:
    claves = {"LANGFUSE_PUBLIC_KEY": "pk", "LANGFUSE_SECRET_KEY": "sk", falta: ""}
    p = gestionar("medir", entorno={"LANGFUSE_URL": "http://127.0.0.1:9", **claves})
    assert p.codigo == 2
    assert f"Falta la variable {falta}" in p.errores


def test_the_agents_url_without_the_webs(base: str) -> None:
    p = gestionar("medir", entorno={"DATABASE_URL": ""})
    assert p.codigo == 2
    assert "Falta la variable DATABASE_URL" in p.errores


@pytest.mark.parametrize("abrir", [abrir_almacen, abrir_checkpointer])
@pytest.mark.parametrize(
    ("valor", "dice"), [("", "Falta la variable PG_AGENTES"), (f"x:{SECRETO}", "PG_AGENTES no es")]
)
def test_opening_the_memory_without_its_url(
    base: str, monkeypatch: pytest.MonkeyPatch, abrir: object, valor: str, dice: str
) -> None:
    monkeypatch.setenv("PG_AGENTES", valor)
    assert callable(abrir)
    with pytest.raises(VariableIncorrecta, match=dice) as error, abrir():
        pass
    assert SECRETO not in str(error.value)


def test_a_malformed_url_of_the_agents_shows_no_password_when_the_roles_are_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PG_AGENTES", f"yo:{SECRETO}@h/base")
    with pytest.raises(VariableIncorrecta, match="PG_AGENTES no es") as error:
        entorno.usuario_y_clave("PG_AGENTES")
    assert SECRETO not in "".join(traceback.format_exception(error.value))
    monkeypatch.setenv("PG_AGENTES", "")
    assert entorno.usuario_y_clave("PG_AGENTES") == ("", "")


@pytest.mark.parametrize("secreto", ["$" + "x" * 50, "$$a$" + "x" * 50])
def test_a_secret_may_begin_with_anything(base: str, secreto: str) -> None:
    """django-environ takes a value that begins with "$" for the name of another variable."""
    codigo = (
        "import django, os; os.environ['DJANGO_SETTINGS_MODULE'] = 'memoria.settings'; django.setup();"
        "from django.conf import settings; assert settings.SECRET_KEY == os.environ['SECRET_KEY']"
    )
    p = ejecutar(codigo, entorno={"SECRET_KEY": secreto})
    assert p.codigo == 0, p.errores


def test_mail_with_no_server_is_printed(base: str) -> None:
    codigo = (
        "import django, os; os.environ.update(DJANGO_SETTINGS_MODULE='memoria.settings', EMAIL_URL='');"
        "django.setup(); from django.conf import settings; print(repr(settings.EMAIL_BACKEND))"
    )
    p = ejecutar(codigo)
    assert p.salida.strip() == "'django.core.mail.backends.console.EmailBackend'", p.errores


def test_an_agent_needs_no_django_to_be_told(base: str) -> None:
    codigo = "from memoria.almacen import abrir_almacen\nwith abrir_almacen(): pass"
    p = ejecutar(codigo, entorno={"PG_AGENTES": "", "DJANGO_SETTINGS_MODULE": ""})
    assert p.codigo == 1
    assert p.errores.splitlines()[-1].endswith(
        "VariableIncorrecta: Falta la variable PG_AGENTES: una URL postgresql:// (vea .env.example)."
    )


class TestLecturas:
    def test_empty_is_the_same_as_missing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for variable in (
            "EMBEDDINGS_URL",
            "EMBEDDINGS_MODEL",
            "EMBEDDINGS_DIMS",
            "EMBEDDINGS_UMBRAL",
            "LLM_URL",
        ):
            monkeypatch.setenv(variable, "")
        assert entorno.embeddings() == entorno.EntornoEmbeddings(None, None, None, None, None)
        assert entorno.modelo().url is None

    def test_numbers_are_numbers(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("EMBEDDINGS_DIMS", "1024")
        monkeypatch.setenv("EMBEDDINGS_UMBRAL", "0.35")
        assert (entorno.embeddings().dims, entorno.embeddings().umbral) == (1024, 0.35)

    def test_the_owner_is_the_web_when_there_is_no_other(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("DATABASE_URL", "postgresql://a@h/b")
        monkeypatch.setenv("DATABASE_URL_OWNER", "")
        assert entorno.conninfo_propietario() == entorno.conninfo_web() == "postgresql://a@h/b"

    @pytest.mark.parametrize(
        "url",
        [
            "postgresql://a:b@h:5432/b",
            "postgres://a@/b?host=%2Ftmp",
            "host=h dbname=b",
            "postgresql://a@h1:1,h2:2/b",
        ],
    )
    def test_whatever_libpq_takes(self, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
        monkeypatch.setenv("DATABASE_URL", url)
        assert entorno.conninfo_web() == url


class TestEnvExample:
    """``.env.example`` and the source say the same list."""

    def test_it_lists_every_variable_that_is_read_and_no_other(self) -> None:
        assert set(_ejemplo()) == set(_leidas())

    def test_each_is_listed_once_and_explained(self) -> None:
        lineas = (RAIZ / ".env.example").read_text(encoding="utf-8").splitlines()
        assert len(_ejemplo()) == len(set(_ejemplo()))
        bloque_comentado = False
        for linea in lineas:
            if not linea.strip():
                bloque_comentado = False
            elif linea.startswith("#"):
                bloque_comentado = True
            else:
                assert bloque_comentado, f"{linea.partition('=')[0]} has no comment"

    def test_the_example_is_one_the_program_takes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for linea in (RAIZ / ".env.example").read_text(encoding="utf-8").splitlines():
            if linea and not linea.startswith("#"):
                monkeypatch.setenv(*linea.split("=", 1))
        assert "CHANGE-ME" in entorno.conninfo_web()
        assert entorno.embeddings().dims == 1024
        entorno.conninfo_propietario()


def _ejemplo() -> list[str]:
    texto = (RAIZ / ".env.example").read_text(encoding="utf-8")
    return re.findall(r"^([A-Z][A-Z0-9_]*)=", texto, flags=re.M)


#: Set by Python, Django or the system, not by whoever installs this.
_AJENAS = {"DJANGO_SETTINGS_MODULE"}
#: Functions whose first argument is the name of a variable.
_LECTORES = {
    *("_logico", "_secreto", "_dias", "_nivel", "_numero", "_conninfo", "_direccion", "_minutos"),
    *("_clave_de", "_correo", "_lista", "_texto", "getenv"),
}


def _leidas() -> Iterator[str]:
    """Names of variables in every read of the environment under the project's packages."""
    for carpeta in ("memoria", "compras", "privacidad", "deploy"):
        for fichero in sorted((RAIZ / carpeta).rglob("*.py")):
            yield from _leidas_en(fichero)


def _leidas_en(fichero: Path) -> Iterator[str]:
    for nodo in ast.walk(ast.parse(fichero.read_text(encoding="utf-8"))):
        if isinstance(nodo, ast.Call) and nodo.args and _es_lector(nodo.func):
            candidatos = ast.walk(nodo.args[0])
        elif isinstance(nodo, ast.Subscript) and ast.unparse(nodo.value) == "os.environ":
            candidatos = ast.walk(nodo.slice)
        else:
            continue
        for c in candidatos:
            if (
                isinstance(c, ast.Constant)
                and isinstance(c.value, str)
                and re.fullmatch(r"[A-Z][A-Z0-9_]+", c.value)
                and c.value not in _AJENAS
            ):
                yield c.value


def _es_lector(funcion: ast.expr) -> bool:
    if isinstance(funcion, ast.Attribute):
        de = ast.unparse(funcion.value)
        return (
            de == "env"
            or (de == "os.environ" and funcion.attr in ("get", "pop"))
            or funcion.attr in _LECTORES
        )
    return isinstance(funcion, ast.Name) and (funcion.id in _LECTORES or funcion.id == "env")


def test_the_reader_of_reads_reads() -> None:
    assert {"DATABASE_URL", "DATABASE_URL_OWNER", "DATOS", "LOG_LEVEL", "HTTPS", "EMBEDDINGS_DIMS"} <= set(
        _leidas()
    )
    assert "DATABASE_URL" in os.environ
