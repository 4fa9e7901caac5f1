"""The sealed copy of what is erased (*bloqueo*, LOPDGDD 32), made in the erasure's own transaction.

A copy is a stream of JSON lines, ``{"tabla": …, "fila": {…}}`` (:mod:`privacidad.sellables` says of what),
cut into pieces, each encrypted with a key of its own (:mod:`privacidad.cifrado`). Neither making nor reading
one holds more than a few rows in memory. Each run ends what it adds with a line that says how many rows it
was, and the register says it too: a copy without its end, or without all the pieces of a run, does not pass
for a whole one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from privacidad import plazos, registro, sellables
from privacidad.cifrado import cifrar, descifrar
from privacidad.destinos import Sujeto
from privacidad.errores import ErrorDePrivacidad
from privacidad.models import Asiento, Copia, Solicitud, TrozoCopia

#: Bytes of plain text in a piece.
LARGO_TROZO = 256 * 1024
_FIN = "fin"


class CopiaIncompleta(ErrorDePrivacidad):
    """Part of a sealed copy is missing."""

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


def leer(copia: Copia, *, de_otros: bool = False) -> Iterator[bytes]:
    """The lines of a copy, in the order they were sealed; with ``de_otros``, also those of other people's
    rows that named the person and went with theirs.

    Raises :class:`CopiaIncompleta`, at the latest after the last line, where something is missing, and
    :class:`privacidad.cifrado.CifradoIlegible` where something was changed.
    """
    filas = 0
    for linea in unir(_trozos(copia)):
        filas += 1
        if de_otros or not sellables.es_de_otros(linea):
            yield linea
    if filas != filas_selladas(copia):
        raise CopiaIncompleta


def filas_selladas(copia: Copia) -> int:
    """How many rows were sealed in it, all runs together, by the register."""
    sellados = list(
        Asiento.objects.filter(tipo="copia_sellada", referencia=copia.solicitud.referencia)
        .order_by("numero")
        .values_list("datos", flat=True)
    )
    # Of a copy that a restore took away the entries are still there. The oldest entries name no copy.
    suyos = [d for d in sellados if d.get("copia", _nombre(copia)) == _nombre(copia)]
    return sum(d["filas"] for d in suyos)


def unir(trozos: Iterable[bytes]) -> Iterator[bytes]:
    """The lines that were cut into these pieces. Raises :class:`CopiaIncompleta` if the end is missing, or if
    there are not as many lines as each run says at its end."""
    partes: list[bytes] = []  # of a line that goes on in the next piece
    filas, termina = 0, False
    for trozo in trozos:
        *completas, resto = trozo.split(b"\n")
        for completa in completas:
            linea = b"".join((*partes, completa))
            partes.clear()
            termina = _es_fin(linea)
            if not termina:
                filas += 1
                yield linea
            elif json.loads(linea)["filas"] != filas:
                raise CopiaIncompleta
            else:
                filas = 0
        partes.append(resto)
    if not termina or any(partes):
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
    for linea in sellables.lineas(sujeto):
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
            datos={
                "filas": filas,
                "destruir_el": escritor.copia.destruir_el.isoformat(),
                "copia": _nombre(escritor.copia),
            },
        )
    return filas


def _copia_de(solicitud: Solicitud) -> Copia:
    assert solicitud.copia_hasta  # noqa: S101 - or sellar() would not have come here
    copia, _nueva = Copia.objects.get_or_create(
        solicitud=solicitud, defaults={"destruir_el": solicitud.copia_hasta}
    )
    return copia


def _nombre(copia: Copia) -> str:
    """What tells one copy of a request from another: its number may be given again after a restore."""
    return registro.en_iso(copia.creada)


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
