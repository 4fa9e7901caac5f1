"""The register of what happened: append-only, each entry chained to the one before by SHA-256.

The chain is not keyed: who can write to the tables past every trigger can also compute it again from some
entry on, or cut its end. That cannot be seen from inside. It is seen against something kept outside: the file
of :mod:`privacidad.exportacion`, and, as far as it goes, the head that the last verification left in its run
and the evidence that says of each erasure that there must be an entry.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple, NoReturn

from django.db import connection, transaction
from django.utils import timezone

from memoria.models import Ejecucion
from privacidad.models import Asiento

#: What the first entry is chained to.
ORIGEN = "0" * 64
#: The command whose runs say how the register stood.
VERIFICAR = "verificar_registro"
#: In SQL, whether the entry ``a`` is one that a replay put back, by the entry it left: ``restaurada``, with
#: ``{"desde": number, "hasta": number}``. What such an entry tells of may have been lost with it. Only whole
#: numbers are compared: the table may have been tampered with, and that is told by the chain.
EN_LO_RESTAURADO = r"""EXISTS (
    SELECT FROM public.privacidad_asiento r
    WHERE r.tipo = 'restaurada' AND r.numero > a.numero
      AND a.numero >= CASE WHEN r.datos ->> 'desde' ~ '^[0-9]{1,18}$' THEN (r.datos ->> 'desde')::bigint END
      AND a.numero <= CASE WHEN r.datos ->> 'hasta' ~ '^[0-9]{1,18}$' THEN (r.datos ->> 'hasta')::bigint END
)"""
NO_ES_UNA_LINEA = "not a line of the register"
#: Rows per round trip: what a walk of the whole register holds in memory.
LOTE = 2000


def anotar(
    *, tipo: str, referencia: str = "", resumen: str = "", datos: Mapping[str, Any] | None = None
) -> None:
    """Add an entry, in the caller's transaction: what is rolled back was never registered.

    ``datos`` is JSON with no name and no id in clear, and with no fractional numbers: ``jsonb`` gives them
    back written otherwise, and the entry would look changed (``TypeError``). Writers take turns until they
    commit, so the chain has no forks and no gaps.
    """
    en_espera = _en_espera.get()
    if en_espera is not None:
        en_espera.append({"tipo": tipo, "referencia": referencia, "resumen": resumen, "datos": datos})
        return
    with transaction.atomic():
        bloquear()
        ultimo = Asiento.objects.order_by("-numero").first()
        entrada = Entrada(
            numero=ultimo.numero + 1 if ultimo else 1,
            momento=en_iso(timezone.now()),
            tipo=tipo,
            referencia=referencia,
            resumen=resumen,
            datos=json.loads(
                json.dumps(dict(datos or {})), parse_float=_sin_decimales, parse_constant=_sin_decimales
            ),
            anterior=ultimo.huella if ultimo else ORIGEN,
        )
        entrada.asiento(huella=entrada.calcular()).save(force_insert=True)


@contextmanager
def aplazado() -> Iterator[None]:
    """The entries added inside wait, and are written at its end, in their order: what takes long keeps no
    other writer waiting meanwhile. With an error none is written, and the transaction must roll back."""
    lista: list[dict[str, Any]] = []
    marca = _en_espera.set(lista)
    try:
        yield
    finally:
        _en_espera.reset(marca)
    for asiento in lista:
        anotar(**asiento)


_en_espera: ContextVar[list[dict[str, Any]] | None] = ContextVar("asientos_en_espera", default=None)


def bloquear() -> None:
    """Wait for our turn to write to the register; it is ours until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended('privacidad:registro', 0))")


def ultimo_numero() -> int:
    """The number of the last entry; 0 when there is none."""
    ultimo = Asiento.objects.order_by("-numero").values_list("numero", flat=True).first()
    return ultimo or 0


def esta_en_su_sitio(asiento: Asiento) -> bool:
    """Whether an entry has the hash of what it says and the next one is chained to it. That is no
    verification of the register; it is what a page may ask of the one entry it goes by."""
    entrada = Entrada(
        asiento.numero,
        en_iso(asiento.momento),
        asiento.tipo,
        asiento.referencia,
        asiento.resumen,
        asiento.datos,
        asiento.anterior,
    )
    siguiente = Asiento.objects.filter(numero=asiento.numero + 1).values_list("anterior", flat=True).first()
    return entrada.calcular() == asiento.huella and siguiente in (None, asiento.huella)


def se_restauro(numero: int) -> bool:
    """Whether a replay put that entry back: what it tells of may have been lost with it."""
    with connection.cursor() as cursor:
        cursor.execute(_SE_RESTAURO, [numero])
        return bool(cursor.fetchone()[0])


_SE_RESTAURO = f"""
SELECT EXISTS (SELECT FROM public.privacidad_asiento a WHERE a.numero = %s AND {EN_LO_RESTAURADO})
"""


class Verificacion(NamedTuple):
    """How the register stands: how many entries it has and the number of the first that is not as it was.

    ``cabeza`` is the hash of the last entry when all of them are right: whoever keeps it elsewhere can tell
    later whether the end was cut, or everything written again.
    """

    entradas: int
    primera_rota: int | None
    cabeza: str

    @property
    def ok(self) -> bool:
        return self.primera_rota is None


def verificar() -> Verificacion:
    """Walk the whole chain, in constant memory.

    A changed byte, a removed, inserted or moved entry is the first broken one. Of a missing end, or of a
    chain computed again, only what contradicts the last verification or an evidence is seen; it is the
    number of the first entry that is missing or other.
    """
    ancla = _ultima_cabeza()
    cadena, rota, total = Cadena(), None, 0
    for entrada in entradas():
        total += 1
        if rota is None:
            rota = cadena.seguir(entrada)
            if rota is None and ancla and cadena.numero == ancla.entradas and cadena.huella != ancla.cabeza:
                rota = cadena.numero
    if rota is None and ((ancla and total < ancla.entradas) or _evidencia_sin_asiento()):
        rota = total + 1
    return Verificacion(total, rota, cadena.huella)


def primera_distinta(copia: Iterable[Entrada]) -> int | None:
    """The first entry that is not the same here as in a verified copy, as far as both go."""
    return next((a.numero for a, b in zip(copia, entradas(), strict=False) if a.huella != b.huella), None)


def ultima_verificacion() -> Ejecucion | None:
    """The last run of ``verificar_registro`` that got to an answer; ``codigo`` is 0 when all was right."""
    return (
        Ejecucion.objects.filter(comando=VERIFICAR, recuento__has_keys=["ok", "entradas"])
        .order_by("-inicio")
        .first()
    )


@dataclass(frozen=True, slots=True)
class Entrada:
    """An entry as it is hashed and exported. ``momento`` is ISO 8601 in UTC to the microsecond.

    ``momento`` is ``None`` when what the table holds is no moment (``infinity``), and then no hash is its.
    """

    numero: int
    momento: str | None
    tipo: str
    referencia: str
    resumen: str
    datos: Any
    anterior: str
    huella: str = ""

    def calcular(self) -> str:
        """SHA-256, in hexadecimal, of the canonical JSON of an entry: sorted keys, no spaces."""
        if self.momento is None:
            return ""
        campos = [
            *(self.numero, self.momento, self.tipo, self.referencia, self.resumen, self.datos),
            self.anterior,
        ]
        return hashlib.sha256(canonico(campos).encode()).hexdigest()

    def linea(self) -> str:
        """The entry as one line of JSON."""
        # Not dataclasses.asdict: it copies all that is inside, and takes most of the time of an export.
        return canonico({campo: getattr(self, campo) for campo in self.__slots__})

    @classmethod
    def de_linea(cls, linea: str) -> Entrada:
        """The inverse of :meth:`linea`. Raises ``ValueError`` unless it is exactly what that writes."""
        try:
            valores = json.loads(linea)
            entrada = cls(**valores)
            igual = entrada.linea() == linea
        except (TypeError, RecursionError) as error:
            raise ValueError(NO_ES_UNA_LINEA) from error
        textos = (entrada.momento, entrada.tipo, entrada.referencia, entrada.resumen, entrada.anterior)
        if not igual or type(entrada.numero) is not int or not all(isinstance(t, str) for t in textos):
            raise ValueError(NO_ES_UNA_LINEA)
        if entrada.momento != en_iso_desde(str(entrada.momento)):
            raise ValueError(NO_ES_UNA_LINEA)
        return entrada

    def asiento(self, *, huella: str | None = None) -> Asiento:
        """A row, not saved."""
        return Asiento(
            numero=self.numero,
            momento=datetime.fromisoformat(str(self.momento)),
            tipo=self.tipo,
            referencia=self.referencia,
            resumen=self.resumen,
            datos=self.datos,
            anterior=self.anterior,
            huella=self.huella if huella is None else huella,
        )


@dataclass
class Cadena:
    """Where a walk of the chain is: the number and the hash of the last entry that was right."""

    numero: int = 0
    huella: str = ORIGEN

    def seguir(self, entrada: Entrada) -> int | None:
        """Go one entry further; when it is not the one that follows, the number of what is wrong."""
        esperado = self.numero + 1
        if entrada.numero != esperado:
            return min(entrada.numero, esperado)
        try:
            propia = entrada.calcular()
        except ValueError:  # a text that is not Unicode: only a file can have it
            return esperado
        if entrada.anterior != self.huella or entrada.huella != propia:
            return esperado
        self.numero, self.huella = esperado, entrada.huella
        return None


def entradas(*, hasta: int | None = None) -> Iterator[Entrada]:
    """Every entry in order, up to number ``hasta``; ``LOTE`` of them in memory at a time."""
    # By number and not from a cursor of the server: what only grows needs no snapshot, so no transaction is
    # kept open while whoever reads this works.
    ultima = -(2**63)
    while filas := _pagina(ultima, hasta):
        for numero, momento, tipo, referencia, resumen, datos, anterior, huella in filas:
            try:
                cuando, que = en_iso_desde(momento), json.loads(datos)
            except (ValueError, RecursionError):
                cuando, que = None, None
            yield Entrada(numero, cuando, tipo, referencia, resumen, que, anterior, huella)
        ultima = filas[-1][0]


def _pagina(despues: int, hasta: int | None) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(_ENTRADAS, [despues, hasta, hasta, LOTE])
        filas: list[Any] = cursor.fetchall()
    return filas


# As text: a value that Python has no name for (`infinity`, a year before Christ) must be found broken, not
# stop the walk. to_jsonb writes a moment in ISO 8601 whatever DateStyle says.
_ENTRADAS = """
SELECT numero, to_jsonb(momento) #>> '{}', tipo, referencia, resumen, datos::text, anterior, huella
FROM public.privacidad_asiento
WHERE numero > %s AND (%s::bigint IS NULL OR numero <= %s)
ORDER BY numero
LIMIT %s
"""


def canonico(valor: Any) -> str:
    """The one way to write a JSON value: what is equal is equal byte by byte, and only what is equal."""
    return json.dumps(valor, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def en_iso(momento: datetime) -> str:
    """A moment as it is hashed: ISO 8601, in UTC, to the microsecond."""
    return momento.astimezone(UTC).isoformat(timespec="microseconds")


def en_iso_desde(texto: str) -> str:
    """The same, from any ISO 8601 text. Raises ``ValueError`` when it is no moment with its zone."""
    momento = datetime.fromisoformat(texto)
    if momento.tzinfo is None:
        raise ValueError
    return en_iso(momento)


def _sin_decimales(numero: str) -> NoReturn:
    raise TypeError(f"the register takes whole numbers only, not {numero}: jsonb would write it otherwise")


def _ultima_cabeza() -> Verificacion | None:
    buena = (
        Ejecucion.objects.filter(comando=VERIFICAR, codigo=0, recuento__has_keys=["entradas", "cabeza"])
        .order_by("-inicio")
        .first()
    )
    return Verificacion(buena.recuento["entradas"], None, buena.recuento["cabeza"]) if buena else None


def _evidencia_sin_asiento() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(_EVIDENCIA_SIN_ASIENTO)
        return bool(cursor.fetchone()[0])


# An evidence and its entry are written in one transaction, and neither is ever deleted.
_EVIDENCIA_SIN_ASIENTO = """
SELECT EXISTS (
    SELECT FROM (
        SELECT s.referencia, count(*) AS evidencias
        FROM public.privacidad_evidencia e JOIN public.privacidad_solicitud s ON s.id = e.solicitud_id
        GROUP BY 1
    ) de_evidencia
    LEFT JOIN (
        SELECT referencia, count(*) AS asientos FROM public.privacidad_asiento
        WHERE tipo = 'supresion' GROUP BY 1
    ) de_registro USING (referencia)
    WHERE coalesce(asientos, 0) < evidencias
)
"""
