"""What every management command of the project shares.

``--json`` prints one JSON object on stdout (everything else goes to stderr), an advisory lock keeps two runs
of the same command apart, SIGTERM lets the current batch finish, each run leaves an :class:`Ejecucion`, and
the exit code says how it ended.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from enum import IntEnum
from types import FrameType
from typing import Any, ClassVar

import psycopg
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.serializers.json import DjangoJSONEncoder
from django.db import DatabaseError, OperationalError, ProgrammingError, connections
from django.utils import timezone
from django.utils.translation import gettext as _

from memoria.almacen import DimensionDistinta
from memoria.conexion import BaseNoDisponible, BaseSinPreparar
from memoria.embeddings import ConfiguracionEmbeddings, DimensionesInesperadas, ErrorEmbeddings
from memoria.entorno import VariableIncorrecta
from memoria.models import Ejecucion
from memoria.permisos import PreparacionImposible
from memoria.preparacion import esta_preparada


class Salida(IntEnum):
    """Exit codes, the same for every command."""

    HECHO = 0
    FALLO = 1
    USO = 2
    PARCIAL = 3
    OCUPADO = 4
    SIN_PREPARAR = 5
    INTEGRIDAD = 6
    TEMPORAL = 75


@dataclass(frozen=True)
class Resultado:
    """What a command did: the object ``--json`` prints, the sentence a person reads, and the exit code."""

    datos: dict[str, Any]
    frase: str
    salida: Salida = Salida.HECHO
    #: Counts kept in the register of runs; without it the numbers of ``datos``.
    recuento: dict[str, Any] | None = None


class Plazo:
    """Says when to stop starting new batches: on SIGTERM, SIGINT or after ``--max-seconds``."""

    def __init__(self, segundos: float | None = None) -> None:
        self._fin = time.monotonic() + segundos if segundos else None
        self._pedido = False

    def parar(self, senal: int, marco: FrameType | None) -> None:
        self._pedido = True

    @property
    def agotado(self) -> bool:
        return self._pedido or (self._fin is not None and time.monotonic() >= self._fin)


class ComandoMemoria(BaseCommand):
    """Base of the commands: a subclass gives ``help``, ``opciones(parser)`` and ``ejecutar(plazo, …)``."""

    requires_system_checks: ClassVar[list[str]] = []  # type: ignore[misc]  # they need no URLconf nor templates
    #: Database alias of the lock and of the record of the run.
    base_de_datos = "default"
    #: Whether the command may run before there is a table to record it in.
    antes_de_preparar = False
    #: Whether two runs at once are kept apart. Only a command that reads and must always answer says no.
    exclusiva = True
    #: Whether the command changes data: then it takes --dry-run, --batch-size and --max-seconds.
    cambia_datos = False

    def opciones(self, parser: CommandParser) -> None:
        """Options of this command alone."""

    def ejecutar(self, plazo: Plazo, **opciones: Any) -> Resultado:
        raise NotImplementedError

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help=_("un objeto JSON por la salida estándar"))
        if self.cambia_datos:
            parser.add_argument("--dry-run", action="store_true", help=_("cuenta lo que haría, sin hacerlo"))
            parser.add_argument("--batch-size", type=positivo, default=5000, help=_("filas por lote"))
            parser.add_argument("--max-seconds", type=positivo, help=_("no empieza lotes pasado este tiempo"))
        self.opciones(parser)

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """Django's; but what is wrong in the command line is said as JSON too when JSON was asked for."""
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        negarse = parser.error

        def error(mensaje: str) -> Any:
            # The options are not parsed, and will not be: all there is to look at is the line itself.
            if parser.called_from_command_line and "--json" in sys.argv:
                self._json({"error": mensaje, "salida": Salida.USO})
            return negarse(mensaje)

        parser.error = error  # type: ignore[method-assign, assignment]  # Django names the class of its parsers itself
        return parser

    def handle(self, *args: Any, **opciones: Any) -> None:
        plazo = Plazo(opciones.get("max_seconds"))
        try:
            with _senales(plazo), _traducir_errores():
                resultado = self._registrada(plazo, opciones)
        except CommandError as error:
            if opciones["json"]:
                self._json({"error": str(error), "salida": error.returncode})
            raise
        if opciones["json"]:
            self._json(resultado.datos)
            self.stderr.write(resultado.frase, self.style.SUCCESS if not resultado.salida else None)
        else:
            self.stdout.write(resultado.frase)
        if resultado.salida:
            raise CommandError(_("Ha terminado, pero no todo ha salido bien."), returncode=resultado.salida)

    def avisar(self, frase: str) -> None:
        """A line of progress: on stderr, so it never mixes with the result."""
        self.stderr.write(frase, lambda texto: texto)

    def _json(self, datos: dict[str, Any]) -> None:
        self.stdout.write(json.dumps(datos, ensure_ascii=False, cls=DjangoJSONEncoder))

    # -- lock and record ----------------------------------------------------------------------------

    def _registrada(self, plazo: Plazo, opciones: dict[str, Any]) -> Resultado:
        """Run under the lock and leave the record of how it ended, also when the lock was taken."""
        ejecucion = self._empezar(bool(opciones.get("dry_run")))
        try:
            with self._cerrojo() if self.exclusiva else nullcontext():
                resultado = self.ejecutar(plazo, **opciones)
        except BaseException as error:
            self._terminar(ejecucion, _codigo_de(error), {})
            raise
        recuento = _numeros(resultado.datos) if resultado.recuento is None else resultado.recuento
        self._terminar(ejecucion, resultado.salida, recuento)
        return resultado

    @property
    def _nombre(self) -> str:
        return type(self).__module__.rpartition(".")[2]

    @contextmanager
    def _cerrojo(self) -> Iterator[None]:
        """The lock of this command, held by the transaction of a connection of its own.

        A session lock would be lost if Django reconnected halfway, and would stay for ever behind a pooler in
        transaction mode. The connection is idle meanwhile: it holds no snapshot, so it is in nobody's way.
        """
        conexion = connections[self.base_de_datos].copy()
        try:
            conexion.set_autocommit(False)
            with conexion.cursor() as cursor:
                cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
                cursor.execute(
                    "SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0))", [f"memoria:{self._nombre}"]
                )
                if not cursor.fetchone()[0]:
                    raise CommandError(
                        _("Otra ejecución de «%(orden)s» está en marcha: espere a que termine.")
                        % {"orden": self._nombre},
                        returncode=Salida.OCUPADO,
                    )
            yield
        finally:
            conexion.close()

    def _empezar(self, simulada: bool) -> Ejecucion:
        ejecucion = Ejecucion(
            comando=self._nombre, inicio=timezone.now(), simulada=simulada, version=settings.VERSION
        )
        if not self.antes_de_preparar:
            ejecucion.save(using=self.base_de_datos)
        return ejecucion

    def _terminar(self, ejecucion: Ejecucion, codigo: int, recuento: dict[str, Any]) -> None:
        ejecucion.fin, ejecucion.codigo = timezone.now(), codigo
        ejecucion.recuento = json.loads(json.dumps(recuento, cls=DjangoJSONEncoder))
        try:
            ejecucion.save(using=self.base_de_datos)
        except DatabaseError:
            # The run itself failed on the database, and its own error says more than this one would; or there
            # is no table to write to yet.
            self.avisar(_("No se pudo guardar el registro de esta ejecución."))


@contextmanager
def _traducir_errores() -> Iterator[None]:
    try:
        yield
    except CommandError:
        raise
    except ERRORES_CONOCIDOS as error:
        codigo = _codigo_de(error)
        if codigo == Salida.FALLO:
            raise  # a bug: the traceback is what is wanted
        raise CommandError(_frase(error, codigo), returncode=codigo) from error


ERRORES_CONOCIDOS = (
    VariableIncorrecta,
    ErrorEmbeddings,
    BaseNoDisponible,
    BaseSinPreparar,
    PreparacionImposible,
    DimensionDistinta,
    OperationalError,
    ProgrammingError,
    psycopg.OperationalError,  # from the connections that are not Django's
)


#: More rows, seconds or days than any run needs, and few enough for every integer and date they end up in.
MAXIMO = 1_000_000


def positivo(texto: str) -> int:
    """An argparse type: a whole number from 1 to :data:`MAXIMO`."""
    try:
        numero = int(texto)
    except ValueError:
        numero = 0
    if not 1 <= numero <= MAXIMO:
        raise argparse.ArgumentTypeError(
            _("debe ser un número entero entre 1 y %(maximo)s") % {"maximo": MAXIMO}
        )
    return numero


def _codigo_de(error: BaseException) -> int:
    match error:
        case CommandError():
            return error.returncode
        case VariableIncorrecta() | ConfiguracionEmbeddings() | DimensionesInesperadas():
            return Salida.USO
        case BaseSinPreparar() | PreparacionImposible() | DimensionDistinta():
            return Salida.SIN_PREPARAR
        case OperationalError() | psycopg.OperationalError() if _sin_preparar():
            return Salida.SIN_PREPARAR
        case BaseNoDisponible() | ErrorEmbeddings() | OperationalError() | psycopg.OperationalError():
            return Salida.TEMPORAL
        case ProgrammingError() if _falta_tabla(error):
            return Salida.SIN_PREPARAR
    return Salida.FALLO


def _falta_tabla(error: ProgrammingError) -> bool:
    # undefined_table, invalid_schema_name, undefined_function, insufficient_privilege: what a database that
    # was not prepared, or was prepared by an older version, answers.
    return getattr(error.__cause__, "sqlstate", None) in ("42P01", "3F000", "42883", "42501")


def _sin_preparar() -> bool:
    """Whether the server answers its owner but was not set up: then the web's role does not exist yet."""
    try:
        with connections["owner"].cursor() as cursor:
            return not esta_preparada(cursor)
    except DatabaseError:
        return False


def _frase(error: BaseException, codigo: int) -> str:
    if isinstance(error, (OperationalError, ProgrammingError, psycopg.OperationalError)):
        if codigo == Salida.SIN_PREPARAR:
            return str(BaseSinPreparar(_("faltan tablas, roles o permisos")))
        return _("PostgreSQL no responde, está ocupado o ha cortado la conexión: inténtelo de nuevo.")
    return str(error)


def _numeros(datos: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in datos.items() if isinstance(v, (bool, int, float))}


@contextmanager
def _senales(plazo: Plazo) -> Iterator[None]:
    try:
        antes = {s: signal.signal(s, plazo.parar) for s in (signal.SIGTERM, signal.SIGINT)}
    except ValueError:  # not the main thread: whoever runs us there handles signals itself
        antes = {}
    try:
        yield
    finally:
        for senal, manejador in antes.items():
            signal.signal(senal, manejador)
