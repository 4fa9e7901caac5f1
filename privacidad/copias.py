"""The sealed copy of what is erased (*bloqueo*, LOPDGDD 32), made in the erasure's own transaction.

A copy is a stream of JSON lines, ``{"tabla": …, "fila": {…}}``, cut into pieces, each encrypted with a key of
its own (:mod:`privacidad.cifrado`). Neither making nor reading one holds more than a few rows in memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from privacidad import plazos, registro
from privacidad.cifrado import cifrar, descifrar
from privacidad.destinos import Sujeto
from privacidad.errores import ErrorDePrivacidad
from privacidad.models import Copia, Solicitud, TrozoCopia

#: Bytes of plain text in a piece.
LARGO_TROZO = 256 * 1024
#: Rows fetched at a time. A row of a conversation may be large, so few.
FILAS = 100
_FIN = "fin"


class CopiaIncompleta(ErrorDePrivacidad):
    """A piece of a sealed copy is missing."""

    def __init__(self) -> None:
        super().__init__(_("A la copia le falta una parte: lo que se ha leído no es todo."))


def sellar(solicitud: Solicitud, sujeto: Sujeto) -> None:
    """Seal what is about to be erased, if that was decided; else see that the reason for none is there.

    Inside the erasure's transaction, before anything is deleted. What is held back is not copied: it stays. A
    later run of the same request adds to its copy.
    """
    hasta = solicitud.copia_hasta
    if hasta is not None and hasta <= plazos.hoy():
        _sin_copia(solicitud, _("La fecha de destrucción decidida llegó antes que la supresión."))
    elif hasta is None:
        if not solicitud.motivo_sin_copia:
            _sin_copia(solicitud, settings.MOTIVO_SIN_COPIA)
    elif not _copiar(solicitud, sujeto) and not Copia.objects.filter(solicitud=solicitud).exists():
        _sin_copia(solicitud, _("No había datos que copiar."))


def leer(copia: Copia) -> Iterator[bytes]:
    """The lines of a copy, in the order they were sealed.

    Raises :class:`CopiaIncompleta` where a piece is missing, and
    :class:`privacidad.cifrado.CifradoIlegible` where one was changed.
    """
    return unir(_trozos(copia))


def unir(trozos: Iterable[bytes]) -> Iterator[bytes]:
    """The lines that were cut into these pieces. Raises :class:`CopiaIncompleta` if the end is missing."""
    partes: list[bytes] = []  # of a line that goes on in the next piece
    ultima = b""
    for trozo in trozos:
        *completas, resto = trozo.split(b"\n")
        for linea in completas:
            ultima = b"".join((*partes, linea))
            partes.clear()
            if not _es_fin(ultima):
                yield ultima
        partes.append(resto)
    if not _es_fin(ultima) or any(partes):
        raise CopiaIncompleta


def destruir(copia: Copia) -> bool:
    """Destroy a copy; whether it was still there. Its row, with no data, stays to say so."""
    with transaction.atomic():
        if not Copia.objects.filter(pk=copia.pk, destruida__isnull=True).update(destruida=timezone.now()):
            return False
        trozos, _detalle = TrozoCopia.objects.filter(copia=copia).delete()
        registro.anotar(
            tipo="copia_destruida",
            referencia=copia.solicitud.referencia,
            resumen=copia.solicitud.resumen,
            datos={"trozos": trozos},
        )
    return True


# -- sealing --------------------------------------------------------------------------------------


def _sin_copia(solicitud: Solicitud, motivo: str) -> None:
    solicitud.motivo_sin_copia, solicitud.copia_hasta = motivo, None
    Solicitud.objects.filter(pk=solicitud.pk).update(motivo_sin_copia=motivo, copia_hasta=None)


def _copiar(solicitud: Solicitud, sujeto: Sujeto) -> int:
    """Seal every row; returns how many there were."""
    escritor: _Escritor | None = None
    filas = 0
    for linea in _lineas(sujeto):
        escritor = escritor or _Escritor(_copia_de(solicitud))
        escritor.escribir(linea)
        filas += 1
    if escritor:
        escritor.escribir(json.dumps({"tabla": _FIN, "filas": filas}, separators=(",", ":")).encode())
        escritor.terminar()
        registro.anotar(
            tipo="copia_sellada",
            referencia=solicitud.referencia,
            resumen=solicitud.resumen,
            datos={"filas": filas, "destruir_el": escritor.copia.destruir_el.isoformat()},
        )
    return filas


def _copia_de(solicitud: Solicitud) -> Copia:
    assert solicitud.copia_hasta  # noqa: S101 - or sellar() would not have come here
    copia, _nueva = Copia.objects.get_or_create(
        solicitud=solicitud, defaults={"destruir_el": solicitud.copia_hasta}
    )
    return copia


def _trozos(copia: Copia) -> Iterator[bytes]:
    filas = copia.trozos.order_by("orden").values_list("orden", "cifrado")
    for esperado, (orden, cifrado) in enumerate(filas.iterator(chunk_size=8)):
        if orden != esperado:
            raise CopiaIncompleta
        yield descifrar(cifrado, uso=_uso(copia, orden))


class _Escritor:
    """Cuts the stream into pieces, after those the copy already has."""

    def __init__(self, copia: Copia) -> None:
        self.copia = copia
        self._orden = copia.trozos.count()
        self._pendiente = bytearray()

    def escribir(self, linea: bytes) -> None:
        self._pendiente += linea
        self._pendiente += b"\n"
        if len(self._pendiente) >= LARGO_TROZO:
            enteros = len(self._pendiente) // LARGO_TROZO * LARGO_TROZO
            with memoryview(self._pendiente) as vista:
                for desde in range(0, enteros, LARGO_TROZO):
                    self._sellar(bytes(vista[desde : desde + LARGO_TROZO]))
            del self._pendiente[:enteros]

    def terminar(self) -> None:
        if self._pendiente:
            self._sellar(bytes(self._pendiente))

    def _sellar(self, contenido: bytes) -> None:
        TrozoCopia.objects.create(
            copia=self.copia,
            orden=self._orden,
            cifrado=cifrar(contenido, uso=_uso(self.copia, self._orden)),
        )
        self._orden += 1


def _uso(copia: Copia, orden: int) -> str:
    return f"copia:{copia.pk}:{orden}"


def _es_fin(linea: bytes) -> bool:
    return linea.startswith(b'{"tabla":"fin"')


def _lineas(sujeto: Sujeto) -> Iterator[bytes]:
    excluidos = {"documentos": list(sujeto.excluidos.get("memoria", ()))}
    retenidos = set(sujeto.excluidos.get("hilos", ()))
    hilos = [h for h in sujeto.hilos if h not in retenidos]
    patron = sujeto.prefijo.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_") + ".%"
    parametros: dict[str, Any] = {"prefijo": sujeto.prefijo, "patron": patron, "hilos": hilos, **excluidos}
    for consulta in _FILAS:
        yield from _filas(consulta, parametros)


def _filas(consulta: str, parametros: dict[str, Any]) -> Iterator[bytes]:
    """The rows of one table as lines, through a cursor of the server."""
    with connection.chunked_cursor() as cursor:
        cursor.execute(consulta, parametros)
        while lote := cursor.fetchmany(FILAS):
            for (linea,) in lote:
                yield linea.encode()


# Every column a person's rows have; bytes as base64, since a checkpoint is not text.
_FILAS = (
    """
SELECT jsonb_build_object('tabla', 'store', 'fila', to_jsonb(s) - 'lexemas')::text
FROM langgraph.store s
WHERE (prefix = %(prefijo)s OR prefix LIKE %(patron)s) AND key <> ALL (%(documentos)s::text[])
""",
    """
SELECT jsonb_build_object('tabla', 'hilos', 'fila', to_jsonb(h))::text
FROM public.hilos h WHERE thread_id = ANY (%(hilos)s::text[])
""",
    """
SELECT jsonb_build_object('tabla', 'checkpoints', 'fila', to_jsonb(c))::text
FROM langgraph.checkpoints c WHERE thread_id = ANY (%(hilos)s::text[])
""",
    """
SELECT jsonb_build_object('tabla', 'checkpoint_blobs', 'fila', (to_jsonb(b) - 'blob')
           || jsonb_build_object('blob', translate(encode(blob, 'base64'), E'\\n', '')))::text
FROM langgraph.checkpoint_blobs b WHERE thread_id = ANY (%(hilos)s::text[])
""",
    """
SELECT jsonb_build_object('tabla', 'checkpoint_writes', 'fila', (to_jsonb(w) - 'blob')
           || jsonb_build_object('blob', translate(encode(blob, 'base64'), E'\\n', '')))::text
FROM langgraph.checkpoint_writes w WHERE thread_id = ANY (%(hilos)s::text[])
""",
)
