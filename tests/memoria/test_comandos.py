"""What every command shares: one JSON object, a record of each run, one at a time, exit codes that mean."""

from __future__ import annotations

import argparse
import io
import json
import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import DataError, connection

from memoria.almacen import DimensionDistinta
from memoria.comandos import ComandoMemoria, Plazo, Resultado, Salida, positivo
from memoria.conexion import BaseNoDisponible, BaseSinPreparar
from memoria.embeddings import (
    ConfiguracionEmbeddings,
    DimensionesInesperadas,
    EmbeddingsNoDisponibles,
    RespuestaInesperada,
)
from memoria.entorno import VariableIncorrecta
from memoria.models import Ejecucion
from memoria.permisos import PreparacionImposible
from tests.esperas import esperar
from tests.memoria.procesos import RAIZ, arrancar, carpeta_del_servidor, gestionar, terminar, variables


class Orden(ComandoMemoria):
    """A command that does whatever the test says."""

    cambia_datos = True

    def __init__(self, tarea: Any = None) -> None:
        super().__init__(stdout=io.StringIO(), stderr=io.StringIO())
        self.tarea = tarea or (lambda plazo: Resultado({"hechas": 3, "detalle": "x"}, "Hecho."))

    def ejecutar(self, plazo: Plazo, **opciones: Any) -> Resultado:
        resultado: Resultado = self.tarea(plazo)
        return resultado

    @property
    def textos(self) -> tuple[str, str]:
        return self.stdout._out.getvalue(), self.stderr._out.getvalue()  # type: ignore[attr-defined]  # Django's wrapper


def lanzar(error: BaseException) -> Any:
    def tarea(plazo: Plazo) -> Resultado:
        raise error

    return tarea


@pytest.mark.usefixtures("bd")
class TestSalidas:
    def test_json_is_one_object_on_stdout_and_the_sentence_goes_to_stderr(self) -> None:
        orden = Orden()
        call_command(orden, json=True)
        salida, errores = orden.textos
        assert json.loads(salida) == {"hechas": 3, "detalle": "x"}
        assert "Hecho." in errores

    def test_without_json_the_sentence_goes_to_stdout(self) -> None:
        orden = Orden()
        call_command(orden)
        assert orden.textos == ("Hecho.\n", "")

    def test_a_failed_run_prints_one_json_object_too(self) -> None:
        orden = Orden(lanzar(PreparacionImposible("Falta algo.")))
        with pytest.raises(CommandError):
            call_command(orden, json=True)
        assert json.loads(orden.textos[0]) == {"error": "Falta algo.", "salida": 5}

    def test_progress_never_reaches_stdout(self) -> None:
        orden = Orden()

        def tarea(plazo: Plazo) -> Resultado:
            orden.avisar("uno de dos")
            return Resultado({}, "Hecho.")

        orden.tarea = tarea
        call_command(orden, json=True)
        assert "uno de dos" in orden.textos[1]
        assert json.loads(orden.textos[0]) == {}

    def test_a_partial_result_is_printed_and_ends_with_its_code(self) -> None:
        orden = Orden(lambda plazo: Resultado({"hechas": 1}, "A medias.", Salida.PARCIAL))
        with pytest.raises(CommandError) as error:
            call_command(orden, json=True)
        assert error.value.returncode == 3
        assert json.loads(orden.textos[0]) == {"hechas": 1}

    @pytest.mark.parametrize(
        ("error", "codigo"),
        [
            (VariableIncorrecta("x"), 2),
            (ConfiguracionEmbeddings("x"), 2),
            (BaseSinPreparar("x"), 5),
            (PreparacionImposible("x"), 5),
            (DimensionDistinta(8, 512), 5),
            (BaseNoDisponible(), 75),
            (EmbeddingsNoDisponibles("x"), 75),
            (RespuestaInesperada("x"), 75),
            (DimensionesInesperadas(esperadas=8, recibidas=512), 2),
            (psycopg.OperationalError("x"), 75),
            (CommandError("x", returncode=6), 6),
        ],
        ids=lambda v: type(v).__name__ if isinstance(v, BaseException) else str(v),
    )
    def test_each_known_failure_has_its_code(self, error: BaseException, codigo: int) -> None:
        with pytest.raises(CommandError) as visto:
            call_command(Orden(lanzar(error)))
        assert visto.value.returncode == codigo
        assert Ejecucion.objects.get().codigo == codigo

    def test_a_bug_is_not_dressed_up(self) -> None:
        with pytest.raises(ZeroDivisionError):
            call_command(Orden(lanzar(ZeroDivisionError())))
        assert Ejecucion.objects.get().codigo == 1

    def test_wrong_sql_is_a_bug_and_not_an_unprepared_database(self) -> None:
        def tarea(plazo: Plazo) -> Resultado:
            with connection.cursor() as cursor:
                cursor.execute("SELEC 1")
            raise AssertionError

        with pytest.raises(Exception, match="SELEC"):
            call_command(Orden(tarea))
        assert Ejecucion.objects.get().codigo == 1


@pytest.mark.usefixtures("bd")
class TestRegistro:
    def test_a_run_leaves_its_name_times_counts_and_code(self) -> None:
        call_command(Orden())
        e = Ejecucion.objects.get()
        assert (e.comando, e.codigo, e.simulada) == ("test_comandos", 0, False)
        assert e.fin is not None
        assert e.inicio <= e.fin
        assert e.recuento == {"hechas": 3}  # counts only: a text could say anything
        assert e.version

    def test_a_dry_run_says_so(self) -> None:
        call_command(Orden(), dry_run=True)
        assert Ejecucion.objects.get().simulada

    def test_the_record_is_there_while_the_run_lasts(self) -> None:
        def tarea(plazo: Plazo) -> Resultado:
            assert Ejecucion.objects.get().fin is None
            return Resultado({}, "")

        call_command(Orden(tarea))
        assert Ejecucion.objects.get().fin is not None


@pytest.mark.usefixtures("bd")
class TestCerrojo:
    def test_a_second_run_is_told_to_wait_and_recorded(self) -> None:
        def tarea(plazo: Plazo) -> Resultado:
            with pytest.raises(CommandError, match="espere a que termine") as error:
                call_command(Orden())
            assert error.value.returncode == 4
            return Resultado({}, "")

        call_command(Orden(tarea))
        assert list(Ejecucion.objects.order_by("id").values_list("codigo", flat=True)) == [0, 4]

    def test_the_lock_outlives_a_reconnection_halfway(self) -> None:
        def tarea(plazo: Plazo) -> Resultado:
            connection.close()
            with pytest.raises(CommandError) as error:
                call_command(Orden())
            assert error.value.returncode == 4
            return Resultado({}, "")

        call_command(Orden(tarea))

    @pytest.mark.parametrize("error", [ZeroDivisionError(), KeyboardInterrupt()], ids=["bug", "interrupted"])
    def test_the_lock_is_released_however_the_run_ends(self, error: BaseException) -> None:
        with pytest.raises(type(error)):
            call_command(Orden(lanzar(error)))
        call_command(Orden())

    def test_a_command_that_is_not_exclusive_runs_beside_itself(self) -> None:
        class Libre(Orden):
            exclusiva = False

        def tarea(plazo: Plazo) -> Resultado:
            call_command(Libre())
            return Resultado({}, "")

        call_command(Libre(tarea))
        assert Ejecucion.objects.filter(codigo=0).count() == 2


@pytest.mark.usefixtures("bd")
class TestPlazo:
    @pytest.mark.parametrize("senal", [signal.SIGTERM, signal.SIGINT])
    def test_a_signal_asks_for_the_end_and_the_handler_is_put_back(self, senal: signal.Signals) -> None:
        antes = signal.getsignal(senal)

        def tarea(plazo: Plazo) -> Resultado:
            assert not plazo.agotado
            os.kill(os.getpid(), senal)
            assert plazo.agotado
            return Resultado({}, "")

        call_command(Orden(tarea))
        assert signal.getsignal(senal) is antes

    def test_the_seconds_run_out(self) -> None:
        plazo = Plazo(0.01)
        time.sleep(0.02)
        assert plazo.agotado
        assert not Plazo(60).agotado
        assert not Plazo(None).agotado

    @pytest.mark.parametrize("texto", ["0", "-1", "1.5", "muchos", ""])
    def test_a_size_that_is_not_a_whole_positive_number_is_refused(self, texto: str) -> None:
        with pytest.raises(argparse.ArgumentTypeError, match="entero entre 1 y"):
            positivo(texto)

    def test_a_size_is_a_number(self) -> None:
        assert positivo("7") == 7


class TestProcesos:
    """The same from outside: ``manage.py`` as operations runs it, once per exit code."""

    def test_0_done(self, bd: str) -> None:
        p = gestionar("barrer", "--json")
        assert (p.codigo, p.json["borrados"]) == (0, 0)
        assert Ejecucion.objects.get().codigo == 0

    def test_1_bug(self, funcion_rota: None) -> None:
        p = gestionar("barrer", "--json")
        assert p.codigo == 1
        assert "Traceback" in p.errores
        assert DataError.__name__ in p.errores
        assert Ejecucion.objects.get().codigo == 1

    def test_2_usage(self) -> None:
        p = gestionar("barrer", "--batch-size", "0")
        assert (p.codigo, p.salida) == (2, "")
        assert "entero entre 1 y" in p.errores

    @pytest.mark.parametrize(
        "linea",
        [("barrer", "--json", "--batch-size", "0"), ("barrer", "--nada", "--json"), ("demo", "--json", "x")],
    )
    def test_2_usage_as_json_too(self, linea: tuple[str, ...]) -> None:
        p = gestionar(*linea)
        assert p.codigo == 2
        assert p.json["salida"] == 2
        assert p.json["error"] in p.errores
        assert "usage:" in p.errores

    @pytest.mark.parametrize("puerto", ["70000", "0", "-1", "http"])
    def test_2_a_port_that_cannot_be(self, puerto: str) -> None:
        p = gestionar("demo", "--json", f"--port={puerto}")
        assert p.codigo == 2
        assert "no es un puerto válido" in p.json["error"]
        assert "no está libre" not in p.errores

    def test_3_partial_sigterm_lets_the_batch_finish(
        self, bd: str, borrado_lento: psycopg.Connection
    ) -> None:
        proceso = arrancar(str(RAIZ / "manage.py"), "barrer", "--json", "--batch-size", "2")
        esperar(lambda: _documentos(borrado_lento) < 400, "the sweep never begins")
        proceso.send_signal(signal.SIGTERM)
        p = terminar(proceso)
        assert p.codigo == 3, p.errores
        quedan = _documentos(borrado_lento)
        assert 0 < quedan < 400
        assert p.json["borrados"] == 400 - quedan
        assert p.json["borrados"] % 2 == 0
        assert not p.json["completo"]
        assert Ejecucion.objects.get().codigo == 3

    def test_4_another_run_holds_the_lock(self, bd: str, como: Any) -> None:
        como("memoria_web").execute("SELECT pg_advisory_lock(hashtextextended('memoria:barrer', 0))")
        p = gestionar("barrer", "--json")
        assert (p.codigo, p.json["salida"]) == (4, 4)
        assert Ejecucion.objects.get().codigo == 4

    def test_5_not_set_up(self, base: str, bd: str, propietario: psycopg.Connection) -> None:
        propietario.execute("CREATE DATABASE sin_preparar")
        try:
            entorno = variables(carpeta_del_servidor(base), "sin_preparar", "postgres")
            p = gestionar("medir", "--json", entorno=entorno)
        finally:
            propietario.execute("DROP DATABASE sin_preparar WITH (FORCE)")
        assert (p.codigo, p.json["salida"]) == (5, 5)
        assert "preparar" in p.json["error"]
        assert "Traceback" not in p.errores

    def test_75_postgresql_is_away(self) -> None:
        url = "postgresql://alguien:clave-secreta@127.0.0.1:1/base"
        p = gestionar("barrer", "--json", entorno={"DATABASE_URL": url, "DATABASE_URL_OWNER": ""})
        assert (p.codigo, p.json["salida"]) == (75, 75)
        assert "inténtelo de nuevo" in p.json["error"]
        assert "Traceback" not in p.errores
        assert "clave-secreta" not in p.salida + p.errores


def _documentos(conexion: psycopg.Connection) -> int:
    fila = conexion.execute("SELECT count(*) FROM langgraph.store").fetchone()
    assert fila
    return int(fila[0])


@pytest.fixture
def funcion_rota(propietario: psycopg.Connection) -> Iterator[None]:
    """The sweep's function with a bug in it."""
    fila = propietario.execute(
        "SELECT pg_get_functiondef('langgraph.barrer_lote(integer, boolean)'::regprocedure)"
    ).fetchone()
    assert fila
    propietario.execute(
        """
        CREATE OR REPLACE FUNCTION langgraph.barrer_lote(cuantos integer, simular boolean DEFAULT false)
        RETURNS TABLE (espacio text, borrados bigint) LANGUAGE sql AS $$ SELECT 'x', (1 / 0)::bigint $$
        """
    )
    yield
    propietario.execute(fila[0])


@pytest.fixture
def borrado_lento(propietario: psycopg.Connection) -> Iterator[psycopg.Connection]:
    """Four hundred expired documents, each of which takes a moment to delete."""
    propietario.execute(
        """
        INSERT INTO langgraph.store (prefix, key, value, expires_at, ttl_minutes)
        SELECT 'clientes.C' || n, 'pref-idioma', '{}', now() - interval '1 hour', 1
            FROM generate_series(1, 400) n;
        CREATE FUNCTION public.lento() RETURNS trigger LANGUAGE plpgsql
            AS $$ BEGIN PERFORM pg_catalog.pg_sleep(0.1); RETURN OLD; END $$;
        CREATE TRIGGER lento BEFORE DELETE ON langgraph.store FOR EACH ROW EXECUTE FUNCTION public.lento();
        """
    )
    yield propietario
    propietario.execute("DROP TRIGGER lento ON langgraph.store; DROP FUNCTION public.lento()")
