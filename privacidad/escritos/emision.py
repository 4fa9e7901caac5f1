"""Issuing a document: its number, its data, its bytes, once. Called by the services, in their transaction.

Numbers are given under the register's own lock: who issues also registers, and with one lock no two wait for
each other.
"""

from __future__ import annotations

import hashlib
import logging

from django.db import connection, transaction
from django.utils import timezone

from privacidad import plazos, registro
from privacidad.escritos import datos as contenido
from privacidad.escritos.pdf import componer
from privacidad.estados import Estado
from privacidad.models import Escrito, Evidencia, Solicitud

logger = logging.getLogger(__name__)

#: How the number of each kind begins.
SERIES = {
    Escrito.Tipo.CERTIFICADO: "CER",
    Escrito.Tipo.SIN_DATOS: "SDL",
    Escrito.Tipo.DENEGACION: "DEN",
    Escrito.Tipo.AMPLIACION: "AMP",
}


def emitir_al_llegar(solicitud: Solicitud, estado: Estado) -> None:
    """Issue what a person gets when their request reaches that state; in that step's transaction."""
    if estado is Estado.COMPLETADA:
        _emitir_resultado(solicitud)
    elif estado is Estado.DENEGADA:
        emitir(solicitud, Escrito.Tipo.DENEGACION)


def emitir(solicitud: Solicitud, tipo: Escrito.Tipo) -> Escrito:
    """Issue the refusal or the extension of a request; issued already, that one.

    The step it tells must have been written. What closes an erasure is :func:`emitir_al_llegar`.
    """
    with transaction.atomic():
        registro.bloquear()
        emitido = solicitud.escritos.filter(tipo=tipo, evidencia=None).first()
        return emitido or _emitir(solicitud, tipo, [])


def _emitir_resultado(solicitud: Solicitud) -> Escrito:
    """The certificate or, 0 → 0, the communication that there was nothing.

    It covers the evidence that no earlier document of the request covers.
    """
    with transaction.atomic():
        registro.bloquear()
        evidencias = contenido.pendientes_de_escrito(solicitud)
        tipo = Escrito.Tipo.CERTIFICADO if solicitud.borro(evidencias) else Escrito.Tipo.SIN_DATOS
        return _emitir(solicitud, tipo, evidencias)


def _emitir(solicitud: Solicitud, tipo: Escrito.Tipo, evidencias: list[Evidencia]) -> Escrito:
    ahora = timezone.now()
    numero = _siguiente_numero(tipo, timezone.localdate(ahora, timezone=plazos.MADRID).year)
    datos = contenido.reunir(solicitud, tipo, numero=numero, emitido=ahora, evidencias=evidencias)
    pdf = componer(datos)
    escrito = Escrito.objects.create(
        numero=numero,
        solicitud=solicitud,
        tipo=tipo,
        evidencia=evidencias[-1] if evidencias else None,
        emitido=ahora,
        datos=datos,
        huella_datos=contenido.huella(datos),
        pdf=pdf,
        huella=hashlib.sha256(pdf).hexdigest(),
    )
    registro.anotar(
        tipo="escrito_emitido",
        referencia=solicitud.referencia,
        resumen=solicitud.resumen,
        datos={
            "numero": numero,
            "tipo": tipo.value,
            "huella": escrito.huella,
            "huella_datos": escrito.huella_datos,
        },
    )
    logger.info("%s %s emitido", solicitud.referencia, numero)
    return escrito


def _siguiente_numero(tipo: Escrito.Tipo, anio: int) -> str:
    """``CER-2026-0001``: by kind and year, with no gaps: what is rolled back takes its number with it."""
    serie = f"{SERIES[tipo]}-{anio}-"
    with connection.cursor() as cursor:
        cursor.execute(_ULTIMO, [len(serie) + 1, serie])
        ultimo = cursor.fetchone()[0]
    return f"{serie}{ultimo + 1:04d}"


# Also what the register says was given: a restored copy has lost documents, and people hold them.
_ULTIMO = """
SELECT coalesce(max(substr(numero, %s)::int), 0) FROM (
    SELECT numero FROM public.privacidad_escrito
    UNION ALL
    SELECT datos ->> 'numero' FROM public.privacidad_asiento WHERE tipo = 'escrito_emitido'
) dados (numero)
WHERE starts_with(numero, %s)
"""
