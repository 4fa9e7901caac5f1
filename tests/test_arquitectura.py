"""Who may know whom. The rules between rooms, held by reading the imports."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

RAIZ = Path(__file__).resolve().parent.parent
PAQUETES = ("memoria", "compras", "privacidad")
SIN_DJANGO = (
    "politica",
    "almacen",
    "hilos",
    "busqueda",
    "agentes",
    "embeddings",
    "entorno",
    "servidor",
    "conexion",
)


def importados(fichero: Path) -> set[str]:
    nombres: set[str] = set()
    for nodo in ast.walk(ast.parse(fichero.read_text(encoding="utf-8"))):
        if isinstance(nodo, ast.Import):
            nombres |= {a.name for a in nodo.names}
        elif isinstance(nodo, ast.ImportFrom):
            assert nodo.level == 0, f"{fichero.relative_to(RAIZ)} has a relative import"
            nombres |= {nodo.module or ""} | {f"{nodo.module}.{a.name}" for a in nodo.names}
    return nombres


def depende_de(fichero: Path, paquete: str) -> bool:
    return any(n == paquete or n.startswith(f"{paquete}.") for n in importados(fichero))


def ficheros(*sitios: str) -> list[Path]:
    encontrados = []
    for sitio in sitios:
        camino = RAIZ / sitio
        encontrados += [camino] if camino.suffix == ".py" else sorted(camino.rglob("*.py"))
    assert encontrados
    return encontrados


@pytest.mark.parametrize("otro", ["compras", "privacidad"])
def test_the_core_knows_neither_application(otro: str) -> None:
    culpables = [f.name for f in ficheros("memoria") if depende_de(f, otro)]
    assert culpables == []


@pytest.mark.parametrize(("uno", "otro"), [("compras", "privacidad"), ("privacidad", "compras")])
def test_the_applications_do_not_know_each_other(uno: str, otro: str) -> None:
    assert [f.name for f in ficheros(uno) if depende_de(f, otro)] == []


def test_the_agent_side_names_no_django() -> None:
    sitios = [f"memoria/{m}.py" if m != "agentes" else "memoria/agentes" for m in SIN_DJANGO]
    assert [f.name for f in ficheros(*sitios) if depende_de(f, "django") or depende_de(f, "environ")] == []


def test_the_agent_side_loads_no_django() -> None:
    """Not even through somebody else: an agent's process must not pay for, or need, a Django."""
    modulos = ", ".join(f"memoria.{m}" for m in SIN_DJANGO)
    codigo = f"import sys, {modulos}; assert 'django' not in sys.modules, 'django was imported'"
    fin = subprocess.run(
        [sys.executable, "-c", codigo], cwd=RAIZ, capture_output=True, text=True, check=False
    )
    assert fin.returncode == 0, fin.stderr


def test_politica_is_pure() -> None:
    permitidos = {"__future__", "re", "collections", "dataclasses", "datetime", "enum", "typing"}
    assert {n.split(".")[0] for n in importados(RAIZ / "memoria" / "politica.py")} <= permitidos


def test_the_environment_is_read_at_the_door_only() -> None:
    puertas = {"settings.py", "entorno.py", "servidor.py", "wsgi.py"}
    culpables = [
        str(f.relative_to(RAIZ))
        for f in ficheros(*PAQUETES)
        if "os.environ" in f.read_text() and f.name not in puertas
    ]
    # `demo` starts gunicorn with an environment of its own: it writes one, it reads none.
    assert set(culpables) <= {"memoria/management/commands/demo.py"}
