"""What every management command of the project shares.

``--json`` prints one JSON object on stdout (everything else goes to stderr), an advisory lock keeps two runs of
the same command apart, SIGTERM lets the current batch finish, each run leaves an :class:`Ejecucion`, and the
exit code says how it ended.
"""

from __future__ import annotations

import argparse
import json
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum
from types import FrameType
from typing import Any, ClassVar

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.serializers.json import DjangoJSONEncoder
from django.db import DatabaseError, OperationalError, ProgrammingError, connections
from django.utils import timezone
from django.utils.translation import gettext as _

from memoria.almacen import DimensionDistinta
from memoria.conexion import BaseNoDisponible, BaseSinPreparar
from memoria.embeddings import EmbeddingsNoDisponibles
from memoria.models import Ejecucion
from memoria.preparacion import PreparacionImposible, esta_preparada


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
    recuento: dict[str, Any] | None = field(default=None)


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
    """Base of the commands. A subclass gives ``help``, ``opciones(parser)`` and ``ejecutar(plazo, **opciones)``."""

    requires_system_checks: ClassVar[list[str]] = []  # type: ignore[misc]  # they need no URLconf nor templates
    #: Database alias of the lock and of the record of the run.
    base_de_datos = "default"
    #: Whether the command may run before there is a table to record it in.
    antes_de_preparar = False
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

    def handle(self, *args: Any, **opciones: Any) -> None:
        plazo = Plazo(opciones.get("max_seconds"))
        with _senales(plazo), self._traducir_errores(), self._cerrojo():
            ejecucion = self._empezar(bool(opciones.get("dry_run")))
            try:
                resultado = self.ejecutar(plazo, **opciones)
            except BaseException as error:
                self._terminar(ejecucion, _codigo_de(error), {})
                raise
            self._terminar(ejecucion, resultado.salida, resultado.recuento or _numeros(resultado.datos))
        if opciones["json"]:
            self.stdout.write(json.dumps(resultado.datos, ensure_ascii=False, cls=DjangoJSONEncoder))
            self.stderr.write(resultado.frase, self.style.SUCCESS if not resultado.salida else None)
        else:
            self.stdout.write(resultado.frase)
        if resultado.salida:
            raise CommandError(_("Terminado con avisos."), returncode=resultado.salida)

    def avisar(self, frase: str) -> None:
        """A line of progress: on stderr, so it never mixes with the result."""
        self.stderr.write(frase, lambda texto: texto)

    # -- lock, record, errors -----------------------------------------------------------------------

    @property
    def _nombre(self) -> str:
        return type(self).__module__.rpartition(".")[2]

    @contextmanager
    def _cerrojo(self) -> Iterator[None]:
        clave = f"memoria:{self._nombre}"
        conexion = connections[self.base_de_datos]
        with conexion.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", [clave])
            if not cursor.fetchone()[0]:
                raise CommandError(
                    _("Otra ejecución de «%(orden)s» está en marcha: espere a que termine.")
                    % {"orden": self._nombre},
                    returncode=Salida.OCUPADO,
                )
        try:
            yield
        finally:
            if conexion.is_usable():
                with conexion.cursor() as cursor:
                    cursor.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", [clave])

    def _empezar(self, simulada: bool) -> Ejecucion:
        ejecucion = Ejecucion(
            comando=self._nombre, inicio=timezone.now(), simulada=simulada, version=settings.VERSION
        )
        if not self.antes_de_preparar:
            ejecucion.save(using=self.base_de_datos)
        return ejecucion

    def _terminar(self, ejecucion: Ejecucion, codigo: int, recuento: dict[str, Any]) -> None:
        ejecucion.fin, ejecucion.codigo, ejecucion.recuento = timezone.now(), codigo, recuento
        try:
            ejecucion.save(using=self.base_de_datos)
        except DatabaseError:
            # The run itself failed on the database; its own error says more than this one would.
            self.avisar(_("No se pudo guardar el registro de esta ejecución."))

    @contextmanager
    def _traducir_errores(self) -> Iterator[None]:
        try:
            yield
        except CommandError:
            raise
        except ERRORES_CONOCIDOS as error:
            raise CommandError(_frase(error), returncode=_codigo_de(error)) from error


ERRORES_CONOCIDOS = (
    BaseNoDisponible,
    BaseSinPreparar,
    PreparacionImposible,
    DimensionDistinta,
    EmbeddingsNoDisponibles,
    OperationalError,
    ProgrammingError,
)


def positivo(texto: str) -> int:
    """An argparse type: a whole number of 1 or more."""
    try:
        numero = int(texto)
    except ValueError:
        numero = 0
    if numero < 1:
        raise argparse.ArgumentTypeError(_("debe ser un número entero mayor que cero"))
    return numero


def _codigo_de(error: BaseException) -> int:
    if isinstance(error, CommandError):
        return error.returncode
    if isinstance(error, OperationalError) and _sin_preparar():
        return Salida.SIN_PREPARAR
    if isinstance(error, (BaseNoDisponible, OperationalError, EmbeddingsNoDisponibles)):
        return Salida.TEMPORAL
    if isinstance(error, (BaseSinPreparar, PreparacionImposible, DimensionDistinta)):
        return Salida.SIN_PREPARAR
    if isinstance(error, ProgrammingError) and _falta_tabla(error):
        return Salida.SIN_PREPARAR
    return Salida.FALLO


def _falta_tabla(error: ProgrammingError) -> bool:
    # undefined_table, invalid_schema_name, insufficient_privilege: what an unprepared database answers.
    return getattr(error.__cause__, "sqlstate", None) in ("42P01", "3F000", "42501")


def _sin_preparar() -> bool:
    """Whether the server answers its owner but has not been set up: then the web's role does not exist yet."""
    try:
        with connections["owner"].cursor() as cursor:
            return not esta_preparada(cursor)
    except DatabaseError:
        return False


def _frase(error: BaseException) -> str:
    if isinstance(error, OperationalError) and _sin_preparar():
        return str(BaseSinPreparar(_("faltan tablas o roles")))
    if isinstance(error, OperationalError):
        return _("PostgreSQL no responde o ha cortado la conexión: inténtelo de nuevo.")
    if isinstance(error, ProgrammingError) and _falta_tabla(error):
        return str(BaseSinPreparar(_("faltan tablas o permisos")))
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
