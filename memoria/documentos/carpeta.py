"""A folder of Markdown, read and written with no way out of it.

Nothing is checked first and opened later: each component of a path is opened from the folder before it, by
its descriptor and without following links, and what was opened is what is looked at. A link that appears
halfway changes nothing. POSIX only, as the rest of the house.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from django.utils.translation import gettext as _

from memoria.documentos.rutas import LARGO_MAXIMO_RUTA, RutaNoValida, comprobar_ruta, legible

#: In bytes. A page of the longest text there may be, whatever its letters, and what goes before it.
LARGO_MAXIMO_FICHERO = 900_000
#: Folders inside folders: a path is no longer than this anyway.
HONDURA_MAXIMA = 20

_CARPETA = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Not blocking: to open a pipe nobody writes to would wait for ever.
_FICHERO = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class CarpetaNoValida(ValueError):
    """It is no folder, or it cannot be read. The message says which."""


class FicheroRechazado(ValueError):
    """One name is left out of it all, with the reason."""


@dataclass(frozen=True)
class Hallado:
    """One file of the folder: what it says or, when it is left out, why. ``nombre`` can be shown."""

    nombre: str
    octetos: bytes = b""
    motivo: str = ""


class Carpeta:
    """The folder, open. ``with Carpeta(path) as carpeta:``. The path itself may go through links."""

    def __init__(self, donde: Path, *, crear: bool = False) -> None:
        try:
            if crear:
                donde.mkdir(parents=True, exist_ok=True)
            self._raiz = os.open(donde, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except (OSError, ValueError) as error:
            razon = _razon(error) if isinstance(error, OSError) else _no_es_corriente()
            raise CarpetaNoValida(_("No se puede abrir la carpeta. %(razon)s") % {"razon": razon}) from None

    def __enter__(self) -> Carpeta:
        return self

    def __exit__(
        self, tipo: type[BaseException] | None, error: BaseException | None, traza: TracebackType | None
    ) -> None:
        os.close(self._raiz)

    def recorrer(self) -> Iterator[Hallado]:
        """Every Markdown file below the folder, one at a time, and everything that is refused.

        What is plainly something else (a file with another extension, a hidden folder) is passed over without
        a word; a link, or a name that cannot even be told, never is.
        """
        yield from self._recorrer(self._raiz, "", 0)

    def existe(self, ruta: str) -> bool:
        """Whether something is at that path, whatever it is."""
        try:
            with self._carpeta_de(ruta, crear=False) as (carpeta, nombre):
                if carpeta is None:
                    return False
                os.stat(nombre, dir_fd=carpeta, follow_symlinks=False)
        except FileNotFoundError:
            return False
        except (OSError, FicheroRechazado):
            return True  # something is, and it cannot be looked at
        return True

    def leer(self, ruta: str) -> bytes | None:
        """The file at that path of a document; ``None`` when there is none. Raises
        :class:`FicheroRechazado`."""
        with self._carpeta_de(ruta, crear=False) as (carpeta, nombre):
            return None if carpeta is None else _leer(carpeta, nombre)

    def escribir(self, ruta: str, octetos: bytes) -> None:
        """Put that file in its place, whole or not at all. Raises :class:`FicheroRechazado`."""
        with self._carpeta_de(ruta, crear=True) as (carpeta, nombre):
            assert carpeta is not None  # noqa: S101 - it was made
            _escribir(carpeta, nombre, octetos)

    # -- reading ------------------------------------------------------------------------------------

    def _recorrer(self, carpeta: int, donde: str, hondura: int) -> Iterator[Hallado]:
        try:
            entradas = os.scandir(carpeta)
        except OSError as error:
            yield Hallado(legible(donde), motivo=_razon(error))
            return
        with entradas:
            for entrada in entradas:
                yield from self._uno(carpeta, f"{donde}{entrada.name}", entrada, hondura)

    def _uno(self, carpeta: int, completo: str, entrada: os.DirEntry[str], hondura: int) -> Iterator[Hallado]:
        nombre = legible(completo)
        es_md = entrada.name.lower().endswith(".md")
        if entrada.name.startswith(".") and not es_md and legible(entrada.name) == entrada.name:
            return
        try:
            # What the listing says is a hint of what to try; what is opened decides.
            if entrada.is_symlink():
                yield Hallado(nombre, motivo=_enlace())
            elif entrada.is_dir(follow_symlinks=False):
                yield from self._bajar(carpeta, completo, entrada.name, hondura)
            elif es_md or legible(entrada.name) != entrada.name:
                comprobar_ruta(completo)
                if not entrada.is_file(follow_symlinks=False):
                    raise FicheroRechazado(_no_es_corriente())  # not opened: that of a device may do things
                octetos = _leer(carpeta, entrada.name)
                if octetos is not None:  # None: it went away meanwhile
                    yield Hallado(completo, octetos)
        except (RutaNoValida, FicheroRechazado) as error:
            yield Hallado(nombre, motivo=str(error))
        except OSError as error:
            yield Hallado(nombre, motivo=_razon(error))

    def _bajar(self, carpeta: int, completo: str, nombre: str, hondura: int) -> Iterator[Hallado]:
        if hondura >= HONDURA_MAXIMA or len(os.fsencode(completo)) > LARGO_MAXIMO_RUTA:
            raise FicheroRechazado(_("Hay demasiadas carpetas unas dentro de otras."))
        # A folder whose name no document could have in its path: said once, and not for each of its files.
        comprobar_ruta(f"{completo}/x.md")
        dentro = os.open(nombre, _CARPETA, dir_fd=carpeta)
        try:
            yield from self._recorrer(dentro, f"{completo}/", hondura + 1)
        finally:
            os.close(dentro)

    # -- one path -----------------------------------------------------------------------------------

    @contextmanager
    def _carpeta_de(self, ruta: str, *, crear: bool) -> Iterator[tuple[int | None, str]]:
        """The descriptor of the folder of a path, and its last name; ``None`` where there is no folder."""
        *carpetas, nombre = comprobar_ruta(ruta).split("/")
        abierta = self._abrir(carpetas, crear)
        try:
            yield abierta, nombre
        finally:
            if abierta is not None:
                os.close(abierta)

    def _abrir(self, carpetas: list[str], crear: bool) -> int | None:
        abierta = os.dup(self._raiz)
        try:
            for segmento in carpetas:
                if crear:
                    with suppress(FileExistsError):
                        os.mkdir(segmento, dir_fd=abierta)
                siguiente = os.open(segmento, _CARPETA, dir_fd=abierta)
                os.close(abierta)
                abierta = siguiente
        except OSError as error:
            os.close(abierta)
            if isinstance(error, FileNotFoundError) and not crear:
                return None
            raise FicheroRechazado(_razon(error)) from None
        return abierta


def _leer(carpeta: int, nombre: str) -> bytes | None:
    try:
        abierto = os.open(nombre, _FICHERO, dir_fd=carpeta)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FicheroRechazado(_razon(error)) from None
    try:
        que = os.fstat(abierto)
        if not stat.S_ISREG(que.st_mode):
            raise FicheroRechazado(_no_es_corriente())
        if que.st_nlink > 1:
            # Its other name may be anywhere, and somebody else's.
            raise FicheroRechazado(_("Es un enlace duro: tiene otro nombre en otro sitio. Ponga una copia."))
        octetos = b""
        while trozo := os.read(abierto, LARGO_MAXIMO_FICHERO + 1 - len(octetos)):
            octetos += trozo
    except OSError as error:
        raise FicheroRechazado(_razon(error)) from None
    finally:
        os.close(abierto)
    if len(octetos) > LARGO_MAXIMO_FICHERO:
        raise FicheroRechazado(
            _("Pasa de %(maximo)s octetos: pártalo en varios documentos.") % {"maximo": LARGO_MAXIMO_FICHERO}
        )
    return octetos


def _escribir(carpeta: int, nombre: str, octetos: bytes) -> None:
    """To a new file beside it, which then takes its name: nobody ever sees half of it."""
    _exigir_corriente(carpeta, nombre)
    temporal = f".{secrets.token_hex(8)}.tmp"
    try:
        abierto = os.open(
            temporal,
            os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC,
            0o644,
            dir_fd=carpeta,
        )
        try:
            with open(abierto, "wb") as fichero:
                fichero.write(octetos)
                fichero.flush()
                os.fsync(abierto)
            os.replace(temporal, nombre, src_dir_fd=carpeta, dst_dir_fd=carpeta)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporal, dir_fd=carpeta)
            raise
    except OSError as error:
        raise FicheroRechazado(_razon(error)) from None


def _exigir_corriente(carpeta: int, nombre: str) -> None:
    """What is in the way is told. Should a link appear after this, the new file replaces it: renaming never
    follows it."""
    try:
        modo = os.stat(nombre, dir_fd=carpeta, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISLNK(modo):
        raise FicheroRechazado(_enlace())
    if not stat.S_ISREG(modo):
        raise FicheroRechazado(_no_es_corriente())


def _enlace() -> str:
    return _("Es un enlace simbólico: no se sigue. Ponga el fichero mismo.")


def _no_es_corriente() -> str:
    return _("No es un fichero corriente.")


def _razon(error: OSError) -> str:
    match error.errno:
        case errno.ELOOP:
            return _enlace()
        case errno.ENOTDIR:
            return _("No es una carpeta, o es un enlace simbólico, que no se sigue.")
        case errno.ENOENT:
            return _("No existe.")
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return _("No hay permiso.")
        case errno.ENOSPC | errno.EDQUOT:
            return _("No queda sitio en el disco.")
        case errno.ENXIO | errno.ENODEV | errno.EISDIR:
            return _no_es_corriente()
    return _("El sistema dice: %(razon)s.") % {"razon": os.strerror(error.errno or 0)}
