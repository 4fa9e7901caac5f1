"""The register in a file outside the database: to compare it with, and to replay after a restore.

One line of JSON per entry, exactly as :meth:`privacidad.registro.Entrada.linea` writes it, after a header
that says how many there are and how the last one ends, sealed with ``CLAVE_REGISTRO``: a file that was cut,
changed or made without the key does not pass.
"""

from __future__ import annotations

import hmac
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from django.utils.translation import gettext as _

from privacidad.errores import ErrorDePrivacidad
from privacidad.models import Asiento
from privacidad.registro import ORIGEN, Cadena, Entrada, canonico, entradas, primera_distinta
from privacidad.resumenes import resumen

FORMATO = 1


class ExportacionImposible(ErrorDePrivacidad):
    """The file cannot be read or written, is not an export of a register, or was made with another key."""


class RegistroRoto(ErrorDePrivacidad):
    """A chain does not hold, in the database or in a file, or two of them part."""


def exportar(fichero: Path) -> int:
    """Write the whole register to ``fichero``; returns how many entries.

    All of it or nothing: the file that was there stays until the new one is on the disk, and only a register
    that goes on from it replaces it.

    Raises :class:`ExportacionImposible`, and :class:`RegistroRoto` when the chain in the database does not
    hold or does not go on from the one in the file.
    """
    ultimo = Asiento.objects.order_by("-numero").first()
    cabecera = Cabecera.nueva(ultimo.numero if ultimo else 0, ultimo.huella if ultimo else ORIGEN)
    try:
        _comprobar_que_crece(fichero, cabecera)
        _escribir(fichero, cabecera)
    except OSError as error:
        raise _sin_fichero(fichero, error) from error
    return cabecera.entradas


@dataclass(frozen=True)
class Cabecera:
    """The first line: ``entradas`` and ``cabeza`` (the last hash) close the file, ``clave`` says whose it is.

    ``clave`` is a digest that tells one ``CLAVE_REGISTRO`` from another and gives none away: with another
    key, the digests of the subjects in the file are of nobody.
    """

    entradas: int
    cabeza: str
    clave: str
    sello: str
    formato: int = FORMATO

    @classmethod
    def nueva(cls, entradas: int, cabeza: str) -> Cabecera:
        return cls(entradas, cabeza, _clave(), resumen(f"registro {FORMATO} {entradas} {cabeza}"))

    def linea(self) -> str:
        return canonico(asdict(self))


def leer_cabecera(fichero: Path) -> Cabecera:
    """The header of an export. Raises :class:`ExportacionImposible` and :class:`RegistroRoto`."""
    try:
        with fichero.open(encoding="utf-8", newline="\n") as lineas:
            return _cabecera(fichero, lineas.readline(LARGO_DE_CABECERA))
    except OSError as error:
        raise _sin_fichero(fichero, error) from error
    except UnicodeDecodeError:
        raise _no_es_nuestro(fichero) from None


#: Longer than any header: what is not an export is not read whole to find out.
LARGO_DE_CABECERA = 1000


def leer(fichero: Path) -> Iterator[Entrada]:
    """The entries of an export, one at a time, each checked against the one before.

    Only who reads to the end knows that the file is whole.

    Raises :class:`ExportacionImposible` and :class:`RegistroRoto`.
    """
    cabecera = leer_cabecera(fichero)
    cadena = Cadena()
    try:
        with fichero.open(encoding="utf-8", newline="\n") as lineas:
            next(lineas)
            for linea in lineas:
                try:
                    entrada = Entrada.de_linea(linea.removesuffix("\n"))
                except ValueError:
                    raise _roto_en_el_fichero(fichero, cadena.numero + 1) from None
                rota = cadena.seguir(entrada)
                if rota is not None or not linea.endswith("\n"):
                    raise _roto_en_el_fichero(fichero, cadena.numero if rota is None else rota)
                yield entrada
    except OSError as error:
        raise _sin_fichero(fichero, error) from error
    except UnicodeDecodeError:
        raise _roto_en_el_fichero(fichero, cadena.numero + 1) from None
    if (cadena.numero, cadena.huella) != (cabecera.entradas, cabecera.cabeza):
        raise _roto_en_el_fichero(fichero, min(cadena.numero, cabecera.entradas) + 1)


def comprobar(fichero: Path) -> Cabecera:
    """Read an export to its end. Raises :class:`ExportacionImposible` and :class:`RegistroRoto`."""
    for _entrada in leer(fichero):
        pass
    return leer_cabecera(fichero)


def donde_se_separan(fichero: Path, copia: Cabecera) -> int | None:
    """The first entry that is not the same in a verified file and in the register, as far as both go."""
    # Each entry holds the hash of all before it: where both have the file's last one, all are the same.
    if _esta(copia):
        return None
    return primera_distinta(leer(fichero))


def _esta(copia: Cabecera) -> bool:
    return copia.entradas == 0 or Asiento.objects.filter(numero=copia.entradas, huella=copia.cabeza).exists()


# -- writing --------------------------------------------------------------------------------------


def _comprobar_que_crece(fichero: Path, nueva: Cabecera) -> None:
    if not fichero.exists():
        return
    if not fichero.is_file():
        raise ExportacionImposible(
            _("«%(fichero)s» no es un fichero corriente: indique otro.") % {"fichero": fichero}
        )
    anterior = leer_cabecera(fichero)
    if anterior.entradas > nueva.entradas:
        raise RegistroRoto(
            _(
                "El fichero tiene %(fichero)s asientos y la base solo %(base)s: no se ha tocado. Si la base "
                "se acaba de restaurar, ejecute antes «reaplicar_supresiones» con ese fichero."
            )
            % {"fichero": anterior.entradas, "base": nueva.entradas}
        )
    if not _esta(anterior):
        raise RegistroRoto(
            _(
                "El registro de la base no continúa el del fichero: el asiento %(numero)s es otro. No se ha "
                "tocado el fichero."
            )
            % {"numero": anterior.entradas}
        )


def _escribir(fichero: Path, cabecera: Cabecera) -> None:
    """To a file beside it that takes its place once it is on the disk."""
    descriptor, provisional = tempfile.mkstemp(dir=fichero.parent, prefix=f".{fichero.name}.")
    try:
        with open(descriptor, "w", encoding="utf-8", newline="\n") as nuevo:
            nuevo.write(f"{cabecera.linea()}\n")
            for entrada in _en_cadena(cabecera):
                nuevo.write(f"{entrada.linea()}\n")
            nuevo.flush()
            os.fsync(nuevo.fileno())
        os.replace(provisional, fichero)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(provisional)
        raise
    # The new name is on the disk only when its folder is.
    carpeta = os.open(fichero.parent, os.O_RDONLY)
    try:
        os.fsync(carpeta)
    finally:
        os.close(carpeta)


def _en_cadena(cabecera: Cabecera) -> Iterator[Entrada]:
    cadena = Cadena()
    for entrada in entradas(hasta=cabecera.entradas):
        rota = cadena.seguir(entrada)
        if rota is not None:
            raise RegistroRoto(
                _(
                    "El registro está roto en el asiento %(numero)s: no se exporta y el fichero que hubiera "
                    "se queda como estaba. Ejecute «verificar_registro»."
                )
                % {"numero": rota}
            )
        yield entrada


# -- reading --------------------------------------------------------------------------------------


def _cabecera(fichero: Path, linea: str) -> Cabecera:
    try:
        cabecera = Cabecera(**json.loads(linea))
        suya = cabecera.linea() + "\n" == linea and cabecera.formato == FORMATO
        suya = suya and type(cabecera.entradas) is int
    except (TypeError, ValueError, RecursionError):
        raise _no_es_nuestro(fichero) from None
    if not suya:
        raise _no_es_nuestro(fichero)
    if cabecera.clave != _clave():
        raise ExportacionImposible(
            _(
                "«%(fichero)s» se exportó con otra CLAVE_REGISTRO: sin la de entonces no se puede saber de "
                "quién habla. Configure aquella y repita la orden."
            )
            % {"fichero": fichero}
        )
    if not hmac.compare_digest(str(cabecera.sello), Cabecera.nueva(cabecera.entradas, cabecera.cabeza).sello):
        raise RegistroRoto(
            _("La cabecera de «%(fichero)s» no es la que se escribió: use otra copia.") % {"fichero": fichero}
        )
    return cabecera


def _clave() -> str:
    return resumen("registro clave")[:16]


def _no_es_nuestro(fichero: Path) -> ExportacionImposible:
    return ExportacionImposible(
        _("«%(fichero)s» no es una exportación del registro que esta versión conozca: indique otro fichero.")
        % {"fichero": fichero}
    )


def _roto_en_el_fichero(fichero: Path, numero: int) -> RegistroRoto:
    return RegistroRoto(
        _("«%(fichero)s» no está entero o está cambiado: falla en el asiento %(numero)s. Use otra copia.")
        % {"fichero": fichero, "numero": numero}
    )


def _sin_fichero(fichero: Path, error: OSError) -> ExportacionImposible:
    return ExportacionImposible(
        _("No se puede leer o escribir «%(fichero)s» (%(motivo)s): compruebe la ruta, el permiso y el sitio.")
        % {"fichero": fichero, "motivo": error.strerror or type(error).__name__}
    )
