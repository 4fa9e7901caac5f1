"""Whether each evidence is still there and the one that was written: the register has the digest of each.

The table of the evidence is append-only, and a superuser goes past that. The entry of the same run is in the
chain, so what no longer agrees with it was changed afterwards. The documents that were issued are compared in
the same way by :mod:`privacidad.escritos.guardados`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from django.db import connection

from privacidad import cortes, registro
from privacidad.models import Asiento, Evidencia

#: The key of an entry's ``datos`` that holds the digest. Entries from before there was one have none.
HUELLA = "huella_evidencia"
#: Evidence read at a time: each one holds the text of every statement that ran.
LOTE = 50


def huella(evidencia: Evidencia) -> str:
    """SHA-256, in hexadecimal, of the canonical JSON of an evidence: every column but its number."""
    return _contenido(evidencia).huella()


def alteradas() -> list[str]:
    """The references of the requests with an evidence that is not the one in the register, each once.

    An entry with no digest is compared by what it does say: the result, the moment, the position and the
    counts. So is an evidence that was rebuilt from its entry, which has no more than that.
    """
    nombradas: dict[str, None] = {}
    for lote in _por_lotes():
        asientos = _asientos({referencia for referencia, _contenido in lote})
        for referencia, contenido in lote:
            suyos = asientos.get(referencia, ())
            if contenido is None or not any(contenido.coincide(datos) for datos in suyos):
                nombradas.setdefault(referencia)
    return list(nombradas)


def alterada(evidencia: Evidencia) -> bool:
    """Whether this evidence is not one that the register has of its request."""
    referencia = evidencia.solicitud.referencia
    contenido = _contenido(evidencia)
    return not any(contenido.coincide(datos) for datos in _asientos({referencia}).get(referencia, ()))


def perdidas() -> list[str]:
    """The references of the requests of which the register tells a run whose evidence is not here.

    Not those that were lost with a restore (see :data:`privacidad.registro.EN_LO_RESTAURADO`).
    """
    with connection.cursor() as cursor:
        cursor.execute(_PERDIDAS)
        return [referencia for (referencia,) in cursor.fetchall()]


def recuentos(datos: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The three counts of each destination by an entry: what was erased is what went in between. And until
    when it counted, where it did not count all."""
    return {
        nombre: {
            "antes": antes,
            "borrados": {que: n - datos["despues"][nombre].get(que, 0) for que, n in antes.items()},
            "despues": datos["despues"][nombre],
            **cortes.de_asiento(datos, nombre),
        }
        for nombre, antes in datos["antes"].items()
    }


class _Contenido(NamedTuple):
    resultado: str
    destinos: Any
    vectores_huerfanos: int
    rol: str
    sesion: str
    momento: str
    posicion_wal: str

    def huella(self) -> str:
        return hashlib.sha256(registro.canonico(list(self)).encode()).hexdigest()

    def coincide(self, datos: Any) -> bool:
        """Whether this is what an entry of the register tells. One that was altered may tell anything."""
        if not isinstance(datos, dict):
            return False
        if HUELLA in datos and self.rol != Evidencia.SEGUN_EL_REGISTRO:
            return bool(datos[HUELLA] == self.huella())
        dicho = (datos.get("resultado"), _en_iso(datos.get("momento")), datos.get("posicion_wal"))
        if dicho != (self.resultado, self.momento, self.posicion_wal):
            return False
        try:
            propios = {nombre: {c: r[c] for c in _CUENTAS if c in r} for nombre, r in self.destinos.items()}
            return bool(propios == recuentos(datos))
        except (AttributeError, KeyError, TypeError):  # it does not even have the shape of an evidence
            return False


_CUENTAS = ("antes", "borrados", "despues", cortes.HASTA)


def _contenido(evidencia: Evidencia) -> _Contenido:
    return _Contenido(
        evidencia.resultado,
        evidencia.destinos,
        evidencia.vectores_huerfanos,
        evidencia.rol,
        evidencia.sesion,
        registro.en_iso(evidencia.momento),
        evidencia.posicion_wal,
    )


def _asientos(referencias: Iterable[str]) -> dict[str, list[Any]]:
    por_referencia: dict[str, list[Any]] = {}
    suyos = Asiento.objects.filter(tipo="supresion", referencia__in=referencias).order_by("numero")
    for referencia, datos in suyos.values_list("referencia", "datos").iterator():
        por_referencia.setdefault(referencia, []).append(datos)
    return por_referencia


def _por_lotes() -> Iterator[list[tuple[str, _Contenido | None]]]:
    """Every evidence with the reference of its request; no content where it cannot be one of ours."""
    ultima = -1
    while True:
        with connection.cursor() as cursor:
            cursor.execute(_EVIDENCIAS, [ultima, LOTE])
            filas = cursor.fetchall()
        if not filas:
            return
        yield [(referencia, _leido(*campos)) for _numero, referencia, *campos in filas]
        ultima = filas[-1][0]


def _leido(
    resultado: str, destinos: str, huerfanos: int, rol: str, sesion: str, momento: str, posicion: str
) -> _Contenido | None:
    cuando = _en_iso(momento)
    if cuando is None:
        return None
    try:
        return _Contenido(resultado, json.loads(destinos), huerfanos, rol, sesion, cuando, posicion)
    except (ValueError, RecursionError):
        return None


def _en_iso(texto: Any) -> str | None:
    """A moment, as the digest writes it; ``None`` when it is none (``infinity``)."""
    try:
        return registro.en_iso_desde(texto)
    except (TypeError, ValueError):
        return None


# As text, and for the same reason as the entries of the register: what cannot be read must not stop the walk.
_EVIDENCIAS = """
SELECT e.id, s.referencia, e.resultado, e.destinos::text, e.vectores_huerfanos, e.rol, e.sesion,
       to_jsonb(e.momento) #>> '{}', e.posicion_wal
FROM public.privacidad_evidencia e JOIN public.privacidad_solicitud s ON s.id = e.solicitud_id
WHERE e.id > %s ORDER BY e.id LIMIT %s
"""
# Where the log was tells one run from another; entries from before it was written down say nothing.
_PERDIDAS = f"""
SELECT a.referencia
FROM public.privacidad_asiento a
WHERE a.tipo = 'supresion' AND a.datos ->> 'posicion_wal' IS NOT NULL
  AND NOT EXISTS (
    SELECT FROM public.privacidad_evidencia e JOIN public.privacidad_solicitud s ON s.id = e.solicitud_id
    WHERE s.referencia = a.referencia AND e.posicion_wal = a.datos ->> 'posicion_wal'
  )
  AND NOT {registro.EN_LO_RESTAURADO}
GROUP BY a.referencia ORDER BY min(a.numero)
"""
