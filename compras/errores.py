"""What can go wrong in purchasing. Each message is a sentence that the person at the screen can act on."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.utils.translation import gettext as _

from memoria.politica import PoliticaIncumplida
from memoria.vallas import ConversacionSuprimida, DatoLimitado, DatoRetenido, SujetoSuprimido


class ErrorDeCompras(Exception):
    """Base of them all."""


class SinPermiso(ErrorDeCompras, PermissionDenied):
    """The person may not do this; as a ``PermissionDenied`` a view answers 403."""

    def __init__(self) -> None:
        super().__init__(_("Su usuario no tiene permiso para esto: pídalo a quien administra la aplicación."))


class AvisoNoValido(ErrorDeCompras):
    """A notice cannot be kept as it is. ``campo`` is the field at fault, or ``None``."""

    def __init__(self, frase: str, *, campo: str | None = None) -> None:
        super().__init__(frase)
        self.campo = campo


class ProveedorInactivo(ErrorDeCompras):
    """Nothing new is written about a supplier that is not active."""

    def __init__(self) -> None:
        super().__init__(
            _("Este proveedor está inactivo y no admite avisos nuevos: actívelo antes o elija otro.")
        )


class ClaveRepetida(ErrorDeCompras):
    """There is a notice with that key already."""

    def __init__(self) -> None:
        super().__init__(_("Este aviso ya estaba guardado."))


class AvisoNoExiste(ErrorDeCompras):
    """The notice was withdrawn, or expired and was deleted."""

    def __init__(self) -> None:
        super().__init__(
            _("Este aviso ya no existe: alguien lo retiró o caducó. No se ha guardado ningún cambio.")
        )


class AvisoCaducado(ErrorDeCompras):
    """An expired notice is not corrected: agents no longer read it."""

    def __init__(self) -> None:
        super().__init__(
            _("Este aviso ha caducado y no se puede corregir: si sigue siendo cierto, escriba otro.")
        )


class AvisoDanado(ErrorDeCompras):
    """A notice that something else than this application left broken is not corrected, only withdrawn."""

    def __init__(self) -> None:
        super().__init__(
            _(
                "Este aviso está dañado y no se puede corregir: retírelo y, si sigue siendo cierto, escriba "
                "otro. No se ha guardado ningún cambio."
            )
        )


class NoSePuedeReponer(ErrorDeCompras):
    """A withdrawn notice cannot be put back, or not now. Nothing has changed."""


class AvisoCambiado(ErrorDeCompras):
    """Somebody changed the notice after this person opened it. Nothing was overwritten."""

    def __init__(self) -> None:
        super().__init__(
            _("Otra persona cambió este aviso después de abrirlo usted. No se ha guardado ningún cambio.")
        )


def frase_de(error: PoliticaIncumplida) -> str:
    """What the memory refused, in the words of purchasing: its own speak to whoever writes agents."""
    match error:
        case SujetoSuprimido() | ConversacionSuprimida():
            return _(
                "Los datos de este proveedor se acaban de borrar por una solicitud de privacidad: espere "
                "unos minutos antes de escribir algo suyo."
            )
        case DatoLimitado():
            return _(
                "Privacidad está revisando este aviso: hasta que termine no se puede cambiar ni retirar."
            )
        case DatoRetenido():
            return _("La ley obliga a conservar este aviso: por ahora no se puede cambiar ni retirar.")
        case _:
            return str(error)


class MemoriaNoDisponible(ErrorDeCompras):
    """The memory, or the model that reads the meaning of texts, does not answer."""

    def __init__(self) -> None:
        super().__init__(
            _(
                "La memoria de avisos no responde en este momento. Espere unos minutos y, antes de "
                "repetirlo, compruebe en la lista si se había guardado."
            )
        )


class ProveedorNoValido(ErrorDeCompras):
    """A supplier cannot be kept as it is. ``campo`` is the field at fault, or ``None``."""

    def __init__(self, frase: str, *, campo: str | None = None) -> None:
        super().__init__(frase)
        self.campo = campo


class FusionImposible(ErrorDeCompras):
    """Two suppliers cannot be made one, or not now. Nothing has changed."""


class ProveedorOcupado(ErrorDeCompras):
    """Somebody is writing about the supplier at this moment. Nothing has changed."""

    def __init__(self) -> None:
        super().__init__(
            _("Se está escribiendo de uno de estos proveedores ahora mismo: inténtelo dentro de un momento.")
        )


class PrivacidadBuscando(ErrorDeCompras):
    """Privacy is looking for somebody in all notices: none is moved until it ends. Nothing has changed."""

    def __init__(self) -> None:
        super().__init__(
            _(
                "Privacidad está buscando en los avisos y, mientras, no se puede retirar ni reponer ninguno, "
                "ni unir proveedores. No se ha cambiado nada: inténtelo dentro de un momento."
            )
        )


class ImportacionEnMarcha(ErrorDeCompras):
    """One import at a time, from the page or by command."""

    def __init__(self) -> None:
        super().__init__(
            _("Se está importando otro fichero en este momento. Espere a que termine y confírmelo de nuevo.")
        )
