"""No subject's id in the log: Django writes the path of requests that end badly, and ids are in paths."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator

from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.http import Http404, HttpRequest

#: Answers, not faults: where they were raised says nothing that the line itself does not.
_ESPERADAS = (PermissionDenied, SuspiciousOperation, Http404)
SIN_RUTA = "(ninguna ruta)"


class SinIdentificadores(logging.Filter):
    """What Django says of a request, with the route in the place of the path and no values in the traceback.

    It goes on a handler, not on a logger: those of ``django.security`` are many, and the filters of a logger
    do not see what its children say. The route is as in the URLconf (``/memoria/ficha/<espacio>/<sujeto>/``).
    Of an error there is its class and where it was raised: its message may quote a value (``KeyError: 'C9'``,
    PostgreSQL's ``DETAIL``).
    """

    def filter(self, record: logging.LogRecord) -> bool:
        peticion = getattr(record, "request", None)
        if isinstance(peticion, HttpRequest):
            ruta = _ruta(peticion)
            record.msg, record.args = _mensaje(record, peticion, ruta), ()
            if record.exc_info:
                record.exc_text = _traza(record.exc_info[1])
                record.exc_info = None
        return True


def _ruta(peticion: HttpRequest) -> str:
    hallada = peticion.resolver_match
    return f"/{hallada.route}" if hallada else SIN_RUTA


def _mensaje(record: logging.LogRecord, peticion: HttpRequest, ruta: str) -> str:
    if isinstance(record.args, tuple) and record.args:
        # Django gives the path as an argument, escaped or not: an argument that begins like a path is one.
        argumentos = tuple(ruta if isinstance(a, str) and a.startswith("/") else a for a in record.args)
        return str(record.msg) % argumentos
    return str(record.msg).replace(peticion.path, ruta)


def _traza(error: BaseException | None) -> str | None:
    if error is None or isinstance(error, _ESPERADAS):
        return None
    return "\n".join(_lineas(error, vistos=set()))


def _lineas(error: BaseException, *, vistos: set[int]) -> Iterator[str]:
    """As Python writes a traceback, cause first, but for the messages."""
    vistos.add(id(error))
    anterior = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if anterior is not None and id(anterior) not in vistos:
        yield from _lineas(anterior, vistos=vistos)
        yield "La excepción anterior llevó a esta:"
    yield from (linea.rstrip("\n") for linea in traceback.format_tb(error.__traceback__))
    yield f"{type(error).__module__}.{type(error).__qualname__}"
