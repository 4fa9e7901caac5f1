"""Langfuse: the traces of what the agents did for the person, found by the user id they were sent with.

Its public HTTP API (https://api.reference.langfuse.com, resource *Trace*): ``GET /api/public/traces`` and
``DELETE /api/public/traces``, Basic authentication with the keys of a project. What the destination holds
it to:

- Deleting is asynchronous and answers "deleted successfully" at once, also for a trace that does not exist
  (langfuse#8139): only reading again says whether it is done. It usually takes minutes, at times a day.
- A server may be set to answer with the last few days only when no date is given: every read gives one.
- More than 50 ids in one DELETE is advised against, and the hosted service counts those requests by the day.

Deleting a trace takes its observations and scores. It does not reach prompts, datasets, comments or
exports: each of those is a destination of its own (docs/privacidad/destinos.md).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, TypeVar

import httpx
from django.conf import settings
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, npgettext_lazy

from memoria import politica
from privacidad.destinos import prisa
from privacidad.destinos.base import Destino, Rastro, Recuento, Sujeto
from privacidad.errores import DestinoNoDisponible, SinTiempo
from privacidad.resumenes import resumen

RUTA = "/api/public/traces"
#: The most the API gives in one page.
POR_PAGINA = 100
#: How many ids in one DELETE; see https://langfuse.com/faq/all/api-limits.
POR_BORRADO = 50
#: Seconds for a whole request, from looking its server up to the last byte of the answer, however it comes;
#: from a page, less (:mod:`privacidad.destinos.prisa`).
ESPERA = 20.0
#: A pause that is asked for (429) is made when it is short; a longer one is for the next run.
PAUSA_MAXIMA = 20
PAUSAS = 5
_DESDE_SIEMPRE = "1970-01-01T00:00:00Z"


T = TypeVar("T")


class Langfuse(Destino):
    """The traces whose ``userId`` is exactly the subject's id.

    Only of those who talk to an agent: nobody sends a trace as a supplier. Langfuse has no namespace, so an
    installation whose customers' and employees' ids could coincide must keep them in two projects.
    """

    nombre = "langfuse"
    etiqueta = gettext_lazy("Trazas de Langfuse")
    etiquetas = {"trazas": npgettext_lazy("recuento", "traza", "trazas")}
    externo = True
    consultas = (f"GET {RUTA}?userId=…", f"DELETE {RUTA}")

    @property
    def activo(self) -> bool:
        return bool(settings.LANGFUSE_URL)

    def contar(self, sujeto: Sujeto) -> Recuento:
        if not _habla_con_agentes(sujeto.espacio):
            return {"trazas": 0}
        with _abrir() as cliente:
            if hasta := self.hasta(sujeto):
                return {"trazas": len(_ids(cliente, sujeto.sujeto_id, hasta))}
            return {"trazas": _pagina(cliente, 1, por_pagina=1, de=sujeto.sujeto_id).total}

    def suprimir(self, sujeto: Sujeto) -> Recuento:
        """Ask for every trace to be deleted: all of them listed first, since deleting would move the
        pages."""
        if not _habla_con_agentes(sujeto.espacio):
            return {"trazas": 0}
        with _abrir() as cliente:
            ids = _ids(cliente, sujeto.sujeto_id, self.hasta(sujeto))
            for lote in _lotes(ids):
                _pedir(cliente, "DELETE", json={"traceIds": lote})
        return {"trazas": len(ids)}

    def sujetos(self, cuantos: int, hasta: datetime) -> Iterator[Rastro]:
        """Whoever a trace names, page by page, the oldest trace first. A user id says no namespace: it may be
        that of any of those who talk to an agent."""
        with _abrir() as cliente:
            for traza in _todas(cliente, hasta=hasta):
                for espacio in politica.ESPACIOS if traza.usuario else ():
                    if _habla_con_agentes(espacio):
                        yield Rastro(espacio, traza.usuario, traza.momento)

    def parametros(self, sujeto: Sujeto) -> dict[str, str]:
        return {"sujeto": resumen(sujeto.prefijo)}


class _Traza(NamedTuple):
    id: str
    usuario: str
    momento: datetime


class _Pagina(NamedTuple):
    trazas: list[_Traza]
    #: Over all pages.
    total: int


def _habla_con_agentes(espacio: str) -> bool:
    return politica.ESPACIOS[espacio].escritor is politica.Escritor.AGENTE


def _ids(cliente: _Cliente, de: str, hasta: datetime | None) -> list[str]:
    """Of every trace of that user or, of those, of the ones that are of that moment or before."""
    # It tells moments by the millisecond and leaves out the one it is given: the next one is asked for.
    antes_de = hasta and hasta + timedelta(milliseconds=1)
    trazas = _todas(cliente, de=de, hasta=antes_de)
    return list(dict.fromkeys(t.id for t in trazas if hasta is None or t.momento <= hasta))


def _todas(cliente: _Cliente, *, de: str = "", hasta: datetime | None = None) -> Iterator[_Traza]:
    """Every trace (of that user, from before that moment), page by page. Raises
    :class:`DestinoNoDisponible` unless all of them came.

    The oldest first, so that one that is written meanwhile goes to the end and moves no page.
    """
    numero = vistas = 0
    while True:
        numero += 1
        pagina = _pagina(cliente, numero, por_pagina=POR_PAGINA, de=de, hasta=hasta)
        yield from pagina.trazas
        vistas += len(pagina.trazas)
        if vistas >= pagina.total:
            return
        if len(pagina.trazas) < POR_PAGINA:
            raise DestinoNoDisponible(
                _("Langfuse dice que hay %(total)s trazas y ha enseñado %(vistas)s: vuelva a intentarlo.")
                % {"total": pagina.total, "vistas": vistas}
            )


def _pagina(
    cliente: _Cliente, numero: int, *, por_pagina: int, de: str, hasta: datetime | None = None
) -> _Pagina:
    consulta = {
        "page": str(numero),
        "limit": str(por_pagina),
        "orderBy": "timestamp.asc",
        "fromTimestamp": _DESDE_SIEMPRE,
        "fields": "core",  # neither what was said nor the scores: they are not needed here
        **({"userId": de} if de else {}),
        **({"toTimestamp": _iso(hasta)} if hasta else {}),
    }
    datos = _pedir(cliente, "GET", params=consulta)
    try:
        pagina = _Pagina([_traza(t) for t in datos["data"]], int(datos["meta"]["totalItems"]))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise _no_se_entiende() from None
    if pagina.total < len(pagina.trazas):
        raise _no_se_entiende()
    if de and any(t.usuario != de for t in pagina.trazas):
        # Deleting what was not asked about would erase somebody else.
        raise DestinoNoDisponible(
            _("Langfuse ha enseñado trazas de otros usuarios: no se ha borrado nada. Revise su versión.")
        )
    return pagina


def _traza(datos: dict[str, Any]) -> _Traza:
    momento = parse_datetime(datos["timestamp"])
    if not isinstance(datos["id"], str) or not datos["id"] or momento is None:
        raise ValueError
    return _Traza(
        datos["id"], datos["userId"] or "", momento if momento.tzinfo else momento.replace(tzinfo=UTC)
    )


def _iso(momento: datetime) -> str:
    return momento.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _lotes(ids: list[str]) -> Iterator[list[str]]:
    yield from (ids[i : i + POR_BORRADO] for i in range(0, len(ids), POR_BORRADO))


# -- HTTP -----------------------------------------------------------------------------------------
#
# Nothing the other side answers, and no URL (the user id is in it), reaches a message or a log: httpx
# writes the URL of each request at INFO, which settings.py turns off, and quotes it in its own errors,
# which are not kept.


class _Cliente:
    """Connections to Langfuse, kept from one request to the next.

    httpx's own timeouts are of each read: a server that sends a byte now and then never meets one. Only a
    task can be stopped wherever it is, so the requests are made in a loop that runs for each of them alone.
    """

    def __init__(self, bucle: asyncio.Runner) -> None:
        self._bucle = bucle
        self._http = httpx.AsyncClient(
            base_url=settings.LANGFUSE_URL,
            auth=(settings.LANGFUSE_PUBLIC_KEY, settings.LANGFUSE_SECRET_KEY),
            headers={"Accept": "application/json"},
            timeout=None,  # noqa: S113 - the limit is of the whole request
        )

    def pedir(self, metodo: str, segundos: float, **peticion: Any) -> httpx.Response:
        """Raises :class:`TimeoutError`, and what httpx raises."""
        return self._bucle.run(_antes_de(segundos, self._http.request(metodo, RUTA, **peticion)))

    def cerrar(self) -> None:
        self._bucle.run(self._http.aclose())


async def _antes_de(segundos: float, tarea: Coroutine[Any, Any, T]) -> T:
    async with asyncio.timeout(segundos):
        return await tarea


@contextmanager
def _abrir() -> Iterator[_Cliente]:
    if not settings.LANGFUSE_URL:
        raise DestinoNoDisponible(_("Langfuse no está configurado: falta LANGFUSE_URL."))
    # A loop of its own, and never the thread's: who calls may have one.
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as bucle:
        cliente = _Cliente(bucle)
        try:
            yield cliente
        finally:
            cliente.cerrar()


def _pedir(cliente: _Cliente, metodo: str, **peticion: Any) -> Any:
    """One request; its JSON. Raises :class:`DestinoNoDisponible` with what to do about it."""
    for intento in range(PAUSAS + 1):
        queda = prisa.queda()
        try:
            with prisa.midiendo():
                respuesta = cliente.pedir(metodo, ESPERA if queda is None else queda, **peticion)
        except TimeoutError:
            if queda is not None:
                raise SinTiempo from None
            raise DestinoNoDisponible(_("Langfuse no ha respondido a tiempo: vuelva a intentarlo.")) from None
        except (httpx.HTTPError, httpx.InvalidURL):
            raise DestinoNoDisponible(
                _("No se puede conectar con Langfuse: compruebe LANGFUSE_URL y la red.")
            ) from None
        if respuesta.status_code != httpx.codes.TOO_MANY_REQUESTS:
            break
        pausa = _pausa(respuesta)
        if (queda := prisa.queda()) is not None and pausa > queda:
            raise SinTiempo
        if pausa > PAUSA_MAXIMA or intento == PAUSAS:
            raise DestinoNoDisponible(
                _("Langfuse pide esperar %(segundos)s segundos: vuelva a intentarlo después.")
                % {"segundos": pausa}
            )
        with prisa.midiendo():
            time.sleep(pausa)
    return _json(respuesta)


def _pausa(respuesta: httpx.Response) -> int:
    """``Retry-After`` in seconds, which is how Langfuse gives it; anything else counts as a minute."""
    valor = respuesta.headers.get("retry-after", "")
    return max(1, int(valor)) if valor.isdecimal() else 60


def _json(respuesta: httpx.Response) -> Any:
    estado = respuesta.status_code
    if estado in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
        raise DestinoNoDisponible(
            _("Langfuse no acepta las claves: revise LANGFUSE_PUBLIC_KEY y LANGFUSE_SECRET_KEY.")
        )
    if not respuesta.is_success:
        raise DestinoNoDisponible(
            _("Langfuse ha respondido con el código %(codigo)s: vuelva a intentarlo.") % {"codigo": estado}
        )
    try:
        return respuesta.json()
    except ValueError:
        raise _no_se_entiende() from None


def _no_se_entiende() -> DestinoNoDisponible:
    return DestinoNoDisponible(
        _("LANGFUSE_URL ha respondido algo que no es de la API de Langfuse: compruebe la dirección.")
    )
