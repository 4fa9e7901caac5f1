"""What can go wrong with a document. Each message is a sentence that the person at the screen can act on."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.utils.translation import gettext as _


class ErrorDeDocumentos(Exception):
    """Base of them all."""


class SinPermiso(ErrorDeDocumentos, PermissionDenied):
    """The person may not do this; as a ``PermissionDenied`` a view answers 403."""

    def __init__(self) -> None:
        super().__init__(_("Su usuario no tiene permiso para esto: pídalo a quien administra la aplicación."))


class DocumentoNoValido(ErrorDeDocumentos):
    """A document cannot be kept as it is. ``campo`` is the field at fault, or ``None``."""

    def __init__(self, frase: str, *, campo: str | None = None) -> None:
        super().__init__(frase)
        self.campo = campo


class RutaOcupada(ErrorDeDocumentos):
    """There is a document with that path already, perhaps among the deleted ones."""

    def __init__(self, *, borrado: bool) -> None:
        super().__init__(
            _("Un documento borrado tiene esa misma ruta: recupérelo o elija otra.")
            if borrado
            else _("Ya hay un documento con esa ruta: ábralo para cambiarlo o elija otra.")
        )


class DocumentoNoExiste(ErrorDeDocumentos):
    """The document was deleted meanwhile."""

    def __init__(self) -> None:
        super().__init__(_("Este documento ya no existe: alguien lo borró. No se ha guardado ningún cambio."))


class DocumentoNoBorrado(ErrorDeDocumentos):
    """There is nothing to recover: the document is there."""

    def __init__(self) -> None:
        super().__init__(_("Este documento no está borrado: no hay nada que recuperar."))


class DocumentoCambiado(ErrorDeDocumentos):
    """Somebody changed the document after this person opened it. Nothing was overwritten."""

    def __init__(self) -> None:
        super().__init__(
            _(
                "Otra persona cambió este documento mientras usted lo editaba. No se ha guardado ningún "
                "cambio."
            )
        )


class VersionNoExiste(ErrorDeDocumentos):
    """That version is not in the history: it was erased, or never was."""

    def __init__(self) -> None:
        super().__init__(_("Esa versión ya no está en la historia del documento."))
