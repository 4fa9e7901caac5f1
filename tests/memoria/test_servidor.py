"""The embedded server: starts once whoever comes first, and keeps out of the way of a configured database."""

from __future__ import annotations

import json
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from memoria import servidor
from tests.memoria.procesos import arrancar, carpeta_del_servidor, terminar

_EMPEZAR = """
import json, sys
from pathlib import Path
import psycopg
from memoria import servidor
urls = servidor.arrancar(Path(sys.argv[1]))
with psycopg.connect(urls["DATABASE_URL_OWNER"], autocommit=True) as c:
    c.execute("SELECT pg_advisory_lock(1)")  # CREATE TABLE IF NOT EXISTS itself races
    if sys.argv[2] == "1":
        c.execute("CREATE TABLE IF NOT EXISTS visitas (n int)")
    c.execute("INSERT INTO visitas VALUES (1)")
    urls["visitas"] = c.execute("SELECT count(*) FROM visitas").fetchone()[0]
print(json.dumps(urls))
"""


def test_a_configured_database_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATOS", str(tmp_path / "datos"))
    for variable in ("DATABASE_URL", "PG_AGENTES"):
        with monkeypatch.context() as m:
            for otra in ("DATABASE_URL", "DATABASE_URL_OWNER", "PG_AGENTES"):
                m.delenv(otra, raising=False)
            m.setenv(variable, "postgresql://a@h/b")
            servidor.asegurar()
            assert os.environ[variable] == "postgresql://a@h/b"
    assert not (tmp_path / "datos").exists()


def test_the_folder_can_be_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATOS", str(tmp_path))
    assert servidor.carpeta() == tmp_path.resolve()
    monkeypatch.setenv("DATOS", "")
    assert servidor.carpeta() == servidor.CARPETA.resolve()


def test_joining_a_running_server_gives_the_same_three_urls(base: str) -> None:
    pg = Path(carpeta_del_servidor(base))
    urls = servidor.arrancar(pg.parent if pg.name == "pg" else pg)
    assert urls == {v: os.environ[v] for v in ("DATABASE_URL", "DATABASE_URL_OWNER", "PG_AGENTES")}
    for variable, rol in (("DATABASE_URL", "memoria_web"), ("PG_AGENTES", "memoria_agentes")):
        with psycopg.connect(urls[variable]) as conexion:
            assert conexion.info.user == rol


def test_two_first_starts_at_once_and_the_data_stay(tmp_path: Path) -> None:
    primeros = [arrancar("-c", _EMPEZAR, str(tmp_path), "1") for _ in range(2)]
    finales = [terminar(p) for p in primeros]
    assert [p.codigo for p in finales] == [0, 0], [p.errores[-2000:] for p in finales]
    urls = [{k: v for k, v in json.loads(p.salida).items() if k != "visitas"} for p in finales]
    assert urls[0] == urls[1]
    despues = terminar(arrancar("-c", _EMPEZAR, str(tmp_path), "0"))
    assert despues.codigo == 0, despues.errores[-2000:]
    assert json.loads(despues.salida)["visitas"] == 3


def test_a_folder_that_cannot_be_written_to_is_told() -> None:
    codigo = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from memoria import servidor\n"
        "if os.geteuid() == 0: os.setuid(65534)\n"  # root may write anywhere
        "try: servidor.arrancar(Path(sys.argv[1]))\n"
        "except servidor.CarpetaInservible: print('dicho')\n"
    )
    with tempfile.TemporaryDirectory() as cerrada:  # not tmp_path, which only its owner may enter
        Path(cerrada).chmod(0o555)
        p = terminar(arrancar("-c", codigo, cerrada))
    assert p.salida == "dicho\n", p.errores


def test_a_secret_is_made_once_whoever_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATOS", str(tmp_path))
    with ThreadPoolExecutor(8) as hilos:
        secretos = set(hilos.map(lambda _: servidor.secreto("clave"), range(32)))
    assert len(secretos) == 1
    assert len(secretos.pop()) >= 50
    assert [f.name for f in tmp_path.iterdir()] == ["clave"]
    assert (tmp_path / "clave").stat().st_mode & 0o777 == 0o600


def test_each_secret_is_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATOS", str(tmp_path))
    assert servidor.secreto("una") != servidor.secreto("otra")
    assert servidor.secreto("corta", prefijo="demo-", octetos=6).startswith("demo-")
