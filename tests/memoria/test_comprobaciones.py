"""``doctor``: each thing broken on purpose turns exactly its own line red, and says what to do."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connections
from django.utils import timezone
from psycopg.types.json import Jsonb

from memoria.almacen import embeddings_configurados
from memoria.comprobaciones import comprobar, danados
from memoria.models import Ejecucion
from memoria.politica import documento_preferencia
from tests.memoria.procesos import gestionar

DIMS = embeddings_configurados().dims

IDIOMA = Jsonb(documento_preferencia("clientes", tipo="idioma", valor="francés", hilo="h1")[1])
SECCION = Jsonb(documento_preferencia("empleados", tipo="seccion", valor="textil", hilo="h1")[1])
AVISO = Jsonb({"texto": "Cierran en agosto", "fecha": "2026-03-01"})


@pytest.fixture(autouse=True)
def dicho_lo_que_se_pide(settings: Any) -> None:
    """What the checklist warns about when nobody has said it."""
    settings.SITE_URL, settings.COPIAS_DIAS = "https://memoria.example", 35


def rojas() -> set[str]:
    return {c.id for c in comprobar() if not c.ok}


#: id of the line that turns red, how it is broken, how it is mended
AVERIAS = [
    (
        "esquema-cerrado",
        "GRANT SELECT ON langgraph.store TO PUBLIC",
        "REVOKE SELECT ON langgraph.store FROM PUBLIC",
    ),
    (
        "esquema-cerrado",
        "GRANT USAGE ON SCHEMA langgraph TO PUBLIC",
        "REVOKE USAGE ON SCHEMA langgraph FROM PUBLIC",
    ),
    (
        "seguridad-por-filas",
        "ALTER TABLE langgraph.checkpoints DISABLE ROW LEVEL SECURITY",
        "ALTER TABLE langgraph.checkpoints ENABLE ROW LEVEL SECURITY",
    ),
    (
        "politicas-de-fila",
        "ALTER POLICY memoria_web_lee ON langgraph.store RENAME TO otra",
        "ALTER POLICY otra ON langgraph.store RENAME TO memoria_web_lee",
    ),
    (
        "politicas-de-fila",
        "CREATE POLICY de_mas ON langgraph.store TO memoria_web USING (true)",
        "DROP POLICY de_mas ON langgraph.store",
    ),
    (
        "documentos-cerrados",
        "ALTER TABLE public.documentos_version NO FORCE ROW LEVEL SECURITY",
        "ALTER TABLE public.documentos_version FORCE ROW LEVEL SECURITY",
    ),
    (
        "migraciones",
        "UPDATE public.django_migrations SET app = 'x' WHERE app = 'memoria' AND name = '0001_initial'",
        "UPDATE public.django_migrations SET app = 'memoria' WHERE app = 'x'",
    ),
    (
        "esquema-langgraph",
        "INSERT INTO langgraph.checkpoint_migrations VALUES (99)",
        "DELETE FROM langgraph.checkpoint_migrations WHERE v = 99",
    ),
    (
        "extension-vector",
        "UPDATE pg_extension SET extversion = '0.4.4' WHERE extname = 'vector'",
        "UPDATE pg_extension SET extversion = '0.8.5' WHERE extname = 'vector'",
    ),
    (
        "dimensiones-vector",
        "ALTER TABLE langgraph.store_vectors ALTER COLUMN embedding TYPE vector(8)",
        f"ALTER TABLE langgraph.store_vectors ALTER COLUMN embedding TYPE vector({DIMS})",
    ),
    (
        "indice-aproximado",
        "CREATE INDEX de_mas ON langgraph.store_vectors USING hnsw (embedding vector_cosine_ops)",
        "DROP INDEX langgraph.de_mas",
    ),
    (
        "vectores-huerfanos",
        "SET session_replication_role = replica;"
        " INSERT INTO langgraph.store_vectors (prefix, key, field_name)"
        " VALUES ('clientes.C9', 'k', 'texto'); RESET session_replication_role",
        "DELETE FROM langgraph.store_vectors",
    ),
    (
        "hilos-con-dueno",
        "SET session_replication_role = replica; INSERT INTO langgraph.checkpoints (thread_id, checkpoint_id,"
        " checkpoint) VALUES ('h', 'c', '{}'); RESET session_replication_role",
        "DELETE FROM langgraph.checkpoints",
    ),
]


@pytest.fixture(params=AVERIAS, ids=[f"{a[0]}: {a[1]}"[:70] for a in AVERIAS])
def averia(request: pytest.FixtureRequest, propietario: psycopg.Connection) -> Iterator[str]:
    identificador, romper, arreglar = request.param
    propietario.execute(romper)
    yield identificador
    propietario.execute(arreglar)


def test_each_breakage_turns_its_own_line_red(averia: str) -> None:
    lista = comprobar()
    assert [c.id for c in lista if not c.ok] == [averia]
    assert all(bool(c.remedio) is not c.ok for c in lista)
    assert all(c.detalle for c in lista)


def test_all_is_well_after_preparar(bd: str) -> None:
    assert rojas() == set()


def test_ids_are_unique(bd: str) -> None:
    ids = [c.id for c in comprobar()]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    ("prefijo", "clave", "caduca", "cuenta"),
    [
        ("otros.C9", "k", "1 day", "espacio desconocido: 1"),
        ("clientes", "pref-idioma", "1 day", "espacio desconocido: 1"),
        ("clientes.C9.mas", "pref-idioma", "1 day", "espacio desconocido: 1"),
        ("clientes.C9", "pref-idioma", None, "sin caducidad: 1"),
        ("clientes.C9", "pref-seccion", "1 day", "lista cerrada: 1"),
        ("empleados.E1", "notas", "1 day", "lista cerrada: 1"),
    ],
)
def test_a_document_that_bypassed_the_policy_is_counted_and_not_shown(
    propietario: psycopg.Connection, prefijo: str, clave: str, caduca: str | None, cuenta: str
) -> None:
    propietario.execute(
        "INSERT INTO langgraph.store (prefix, key, value, expires_at) "
        " VALUES (%s, %s, %s, now() + %s::interval)",
        [prefijo, clave, IDIOMA, caduca],
    )
    malas = [c for c in comprobar() if not c.ok]
    assert [c.id for c in malas] == ["documentos-en-politica"]
    assert cuenta in malas[0].detalle
    assert "C9" not in malas[0].detalle


@pytest.mark.parametrize(
    ("prefijo", "clave", "valor"),
    [
        ("clientes.C9", "pref-idioma", IDIOMA),
        ("empleados.E1", "pref-seccion", SECCION),
        ("proveedores.P1", "cualquiera", AVISO),
    ],
)
def test_a_document_within_the_policy_is_not_counted(
    propietario: psycopg.Connection, prefijo: str, clave: str, valor: Jsonb
) -> None:
    propietario.execute(
        "INSERT INTO langgraph.store (prefix, key, value, expires_at) VALUES (%s, %s, %s, now() + '1 day')",
        [prefijo, clave, valor],
    )
    assert rojas() == set()


@pytest.mark.parametrize(
    ("prefijo", "clave", "valor"),
    [
        ("proveedores.P201", "raro", {"texto": "CANARIO"}),
        ("proveedores.P201", "raro", {"fecha": "2026-03-01"}),
        ("proveedores.P201", "raro", {"texto": "CANARIO", "fecha": "2026-02-31"}),
        ("proveedores.P201", "raro", {"texto": "CANARIO", "fecha": "2026-03-01", "nota": "x"}),
        ("proveedores.P201", "raro", [{"texto": "CANARIO"}]),
        ("proveedores.P201", "raro", None),
        ("proveedores.P%32%30", "raro", {"texto": "CANARIO", "fecha": "2026-03-01"}),
        ("clientes.P201", "pref-idioma", {"texto": "CANARIO"}),
        ("empleados.P201", "pref-seccion", {}),
    ],
)
def test_a_damaged_document_is_counted_and_not_shown(
    propietario: psycopg.Connection, prefijo: str, clave: str, valor: Any
) -> None:
    poner = (
        "INSERT INTO langgraph.store (prefix, key, value, expires_at) VALUES (%s, %s, %s, now() + '1 day')"
    )
    propietario.execute(poner, ["proveedores.P1", "sano", AVISO])
    propietario.execute(poner, [prefijo, clave, Jsonb(valor)])
    malas = [c for c in comprobar() if not c.ok]
    assert [c.id for c in malas] == ["documentos-danados"]
    assert "1, de 2 mirados" in malas[0].detalle
    for dato in ("P201", "raro", "CANARIO"):
        assert dato not in malas[0].detalle + malas[0].remedio


def test_damaged_documents_are_looked_for_on_every_page_up_to_the_cap(
    propietario: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    propietario.execute(
        """
        INSERT INTO langgraph.store (prefix, key, value, expires_at)
        SELECT 'proveedores.P' || n % 3, 'k' || n, '{}', now() + '1 day' FROM generate_series(1, 4500) AS n
        """
    )
    [mala] = [c for c in comprobar() if not c.ok]
    assert "4500, de 4500 mirados" in mala.detalle
    monkeypatch.setattr(danados, "DOCUMENTOS_QUE_SE_MIRAN", 3_000)
    [mala] = [c for c in comprobar() if not c.ok]
    assert "3000, de 3000 mirados" in mala.detalle


class TestBarrido:
    @pytest.fixture(autouse=True)
    def _caducado(self, propietario: psycopg.Connection) -> None:
        self.conexion = propietario

    def caducado_hace(self, cuanto: str) -> None:
        self.conexion.execute(
            "INSERT INTO langgraph.store (prefix, key, value, expires_at)"
            " VALUES ('clientes.C9', 'pref-idioma', '{}', now() - %s::interval)",
            [cuanto],
        )

    def barrido_hace(self, **cuanto: float) -> None:
        Ejecucion.objects.create(
            comando="barrer", inicio=timezone.now() - timedelta(**cuanto), codigo=0, version="x"
        )

    def test_nothing_expired_nothing_to_sweep(self) -> None:
        assert rojas() == set()

    def test_expired_an_hour_ago_waits_its_turn(self) -> None:
        self.caducado_hace("1 hour")
        assert rojas() == set()

    def test_expired_yesterday_and_never_swept(self) -> None:
        self.caducado_hace("30 hours")
        assert rojas() == {"ultimo-barrido"}

    def test_expired_long_ago_though_something_sweeps(self) -> None:
        self.caducado_hace("3 days")
        self.barrido_hace(hours=1)
        assert rojas() == {"caducados-sin-barrer"}

    def test_the_sweep_stopped_running(self) -> None:
        self.caducado_hace("3 days")
        self.barrido_hace(days=5)
        assert rojas() == {"caducados-sin-barrer", "ultimo-barrido"}

    def test_what_no_sweep_deletes_is_not_waiting_for_one(self) -> None:
        self.caducado_hace("3 days")
        self.conexion.execute("UPDATE langgraph.store SET limitado = true")
        assert rojas() == set()

    def test_the_remedy_works(self) -> None:
        self.caducado_hace("3 days")
        call_command("barrer", stdout=io.StringIO())
        assert rojas() == set()


class TestConfiguracion:
    def test_debug(self, bd: str, settings: Any) -> None:
        settings.DEBUG = True
        assert rojas() == {"depuracion"}

    @pytest.mark.parametrize("variable", ["SECRET_KEY", "CLAVE_REGISTRO", "CLAVE_SELLO"])
    def test_a_short_secret(self, bd: str, settings: Any, variable: str) -> None:
        setattr(settings, variable, "corta-y-secreta")
        malas = [c for c in comprobar() if not c.ok]
        assert [c.id for c in malas] == ["secretos"]
        assert variable in malas[0].detalle
        assert "corta-y-secreta" not in malas[0].detalle + malas[0].remedio

    def test_an_embedding_endpoint_that_does_not_answer(
        self, bd: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("EMBEDDINGS_URL", "http://127.0.0.1:9/v1")
        monkeypatch.setenv("EMBEDDINGS_MODEL", "m")
        monkeypatch.setenv("EMBEDDINGS_DIMS", str(DIMS))
        assert rojas() == {"embeddings"}

    @pytest.fixture
    def web_como_duena(self, bd: str) -> Iterator[None]:
        """Django's connection enters as the owner."""
        antes = connections["default"]
        connections["default"] = connections["owner"].copy()
        yield
        connections["default"].close()
        connections["default"] = antes

    @pytest.mark.usefixtures("web_como_duena")
    def test_the_web_entering_as_the_owner(self) -> None:
        malas = [c for c in comprobar() if not c.ok]
        assert [c.id for c in malas] == ["rol-web"]
        assert "memoria_web" in malas[0].remedio

    @pytest.mark.usefixtures("web_como_duena")
    def test_one_single_connection_is_a_choice(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("DATABASE_URL_OWNER", "")
        assert rojas() == set()

    @pytest.mark.parametrize(
        ("identificador", "variable", "nada"),
        [("direccion-publica", "SITE_URL", ""), ("dias-de-las-copias", "COPIAS_DIAS", None)],
    )
    def test_what_the_documents_need_and_nobody_has_said_is_a_warning(
        self, bd: str, settings: Any, identificador: str, variable: str, nada: Any
    ) -> None:
        setattr(settings, variable, nada)
        (aviso,) = [c for c in comprobar() if c.remedio]
        assert (aviso.id, aviso.ok) == (identificador, True)
        assert variable in aviso.remedio
        salida = io.StringIO()
        call_command("doctor", stdout=salida, stderr=io.StringIO())
        lineas = salida.getvalue().splitlines()
        assert lineas[-1] == "Todo está bien, con 1 aviso."
        suya = next(i for i, linea in enumerate(lineas) if linea.startswith("! "))
        assert identificador in lineas[suya]
        assert variable in lineas[suya + 1]


class TestOrden:
    def correr(self, **opciones: Any) -> str:
        salida = io.StringIO()
        call_command("doctor", stdout=salida, stderr=io.StringIO(), **opciones)
        return salida.getvalue()

    def test_json(self, bd: str) -> None:
        datos = json.loads(self.correr(json=True))
        assert datos["ok"] is True
        assert all(c.keys() == {"id", "ok", "detalle", "remedio"} for c in datos["comprobaciones"])
        assert Ejecucion.objects.get(comando="doctor").recuento["mal"] == []

    def test_a_person_reads_a_line_for_each_and_the_remedy_under_the_red_ones(
        self, bd: str, settings: Any
    ) -> None:
        settings.DEBUG = True
        salida = io.StringIO()
        with pytest.raises(CommandError) as error:
            call_command("doctor", stdout=salida, stderr=io.StringIO())
        assert error.value.returncode == 3
        lineas = salida.getvalue().splitlines()
        roja = next(i for i, linea in enumerate(lineas) if linea.startswith("✗"))
        assert lineas[roja + 1].startswith("    → ")
        assert "Hay 1 punto mal." in lineas[-1]

    def test_postgresql_away(self) -> None:
        url = "postgresql://alguien:clave-secreta@127.0.0.1:1/base"
        p = gestionar("doctor", "--json", entorno={"DATABASE_URL": url, "DATABASE_URL_OWNER": url})
        assert p.codigo == 75
        assert [(c["id"], c["ok"]) for c in p.json["comprobaciones"]] == [("servidor", False)]
        assert "Traceback" not in p.errores
        assert "clave-secreta" not in p.salida + p.errores

    def test_a_web_that_may_not_enter_the_schema(
        self, bd: str, propietario: psycopg.Connection, capsys: pytest.CaptureFixture[str]
    ) -> None:
        propietario.execute("REVOKE USAGE ON SCHEMA langgraph FROM memoria_web")
        try:
            salida = io.StringIO()
            with pytest.raises(CommandError) as error:
                call_command("doctor", json=True, stdout=salida, stderr=io.StringIO())
            assert error.value.returncode == 5
            lista = {c["id"]: c for c in json.loads(salida.getvalue())["comprobaciones"]}
            assert not lista["preparada"]["ok"]
            assert lista["conexion-web"]["ok"]
        finally:
            propietario.execute("GRANT USAGE ON SCHEMA langgraph TO memoria_web")

    def test_it_runs_beside_whatever_else_is_running(self, bd: str, como: Any) -> None:
        como("memoria_web").execute("SELECT pg_advisory_lock(hashtextextended('memoria:doctor', 0))")
        assert json.loads(self.correr(json=True))["ok"]
