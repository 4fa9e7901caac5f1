"""What can go wrong with a request. Every message is a sentence for the person in front of the screen.

None of them names the subject: they end up in logs.
"""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from privacidad.estados import Estado


class ErrorDePrivacidad(Exception):
    """Base of the errors of this application."""


class SinPermiso(ErrorDePrivacidad):
    """The person may not do this step."""

    def __init__(self) -> None:
        super().__init__(_("No tiene permiso para dar este paso: pídalo a quien administra los usuarios."))


class TransicionNoPermitida(ErrorDePrivacidad):
    """The request is not in a state that admits this step."""

    def __init__(self, referencia: str, estado: str) -> None:
        super().__init__(
            _("La solicitud %(referencia)s está en estado «%(estado)s», que no admite ese paso.")
            % {"referencia": referencia, "estado": Estado(estado).label}
        )


class CuatroOjos(ErrorDePrivacidad):
    """Who received a request may not approve it, nor change alone what was approved."""

    def __init__(self) -> None:
        super().__init__(
            _(
                "Quien recibió la solicitud no puede aprobarla, ni cambiar después lo aprobado: que lo haga "
                "otra persona que pueda aprobarla."
            )
        )


class FaltaMotivo(ErrorDePrivacidad):
    """Nobody else can approve the request: who received it may, saying why."""

    def __init__(self) -> None:
        super().__init__(
            _(
                "Nadie más puede aprobar esta solicitud. Para aprobarla habiéndola recibido, explique por "
                "qué en una frase: queda en la solicitud y en el certificado."
            )
        )


class RevisionPerdida(ErrorDePrivacidad):
    """What was reviewed was lost, in part, when a backup was restored."""

    def __init__(self) -> None:
        super().__init__(
            _(
                "Se ha restaurado una copia de seguridad y lo que se revisó se ha perdido en parte: antes de "
                "aprobar la solicitud, revísela otra vez."
            )
        )


class MencionesSinDecidir(ErrorDePrivacidad):
    """Rows of other people name the person and nobody has decided what becomes of them."""

    def __init__(self, cuantas: int) -> None:
        super().__init__(
            ngettext(
                "%d dato de otras personas menciona a esta y está sin decidir: decida antes si se borra o se "
                "conserva.",
                "%d datos de otras personas mencionan a esta y están sin decidir: decida antes si se borran "
                "o se conservan.",
                cuantas,
            )
            % cuantas
        )


class OtraSolicitudAbierta(ErrorDePrivacidad):
    """The person has another request open: that one goes on, and this one stays closed."""

    def __init__(self, referencia: str) -> None:
        super().__init__(
            _(
                "La persona de la solicitud %(referencia)s tiene otra abierta: siga con esa, que borra "
                "lo mismo."
            )
            % {"referencia": referencia}
        )


class DatoNoValido(ErrorDePrivacidad):
    """Something typed cannot be used; the sentence says what and why."""


class OtroEnvio(ErrorDePrivacidad):
    """The form was sent before and it said something else."""

    def __init__(self, referencia: str) -> None:
        super().__init__(
            _(
                "Este formulario ya se envió y de él se registró la solicitud %(referencia)s, que dice otra "
                "cosa. Para registrar también esta, pulse de nuevo «Registrar la solicitud»."
            )
            % {"referencia": referencia}
        )


class NoSePudoRegistrar(ErrorDePrivacidad):
    """The database refuses the row. What it says of it quotes the person, so only the rule is told."""

    def __init__(self, restriccion: str) -> None:
        super().__init__(
            _(
                "La base de datos no admite esta solicitud (regla «%(restriccion)s»), y no se ha registrado: "
                "avise a quien mantiene la aplicación."
            )
            % {"restriccion": restriccion}
        )


class DestinoDesconocido(ErrorDePrivacidad):
    """A destination that was previewed is not registered: the run stops rather than leave it out."""

    def __init__(self, nombre: str) -> None:
        super().__init__(
            _(
                "El destino «%(nombre)s» estaba en la revisión y esta versión no lo conoce: no se ha borrado "
                "nada. Instale la versión que lo conoce."
            )
            % {"nombre": nombre}
        )


class RevisionVacia(ErrorDePrivacidad):
    """The review found nothing, that is what was approved, and now there is something. Nothing was erased."""

    def __init__(self) -> None:
        super().__init__(
            _(
                "La revisión no encontró nada de esta persona y ahora hay datos: no se ha borrado nada. "
                "Repita la revisión y vuelva a aprobarla."
            )
        )


class FueraDeLaRevision(ErrorDePrivacidad):
    """There is more from before the review than the review counted. Nothing was erased."""

    def __init__(self, destino: str, que: str, contados: int, hay: int) -> None:
        super().__init__(
            _(
                "En «%(destino)s» la revisión contó %(contados)s %(que)s y ahora hay %(hay)s de antes de "
                "ella: no se ha borrado nada. Repita la revisión y vuelva a aprobarla."
            )
            % {"destino": destino, "que": que, "contados": contados, "hay": hay}
        )


class DestinoNoDisponible(ErrorDePrivacidad):
    """An external destination cannot be asked now, or refuses. The message never quotes what it answered."""


class SinTiempo(DestinoNoDisponible):
    """A page has waited for the external destinations as long as it may: it is not their fault, nor done."""

    def __init__(self) -> None:
        super().__init__(
            _("No ha dado tiempo a que responda: se vuelve a intentar en la próxima pasada de la tarea.")
        )


class RecuentoDistinto(ErrorDePrivacidad):
    """What was deleted is not what had been counted, or something is left. Nothing has been deleted."""

    def __init__(self, destino: str, que: str, antes: int, borrados: int, despues: int) -> None:
        super().__init__(
            _(
                "En «%(destino)s» se contaron %(antes)s %(que)s, se borraban %(borrados)s y "
                "quedaban %(despues)s: los datos cambiaban mientras tanto y no se ha borrado nada. Vuelva a "
                "intentarlo."
            )
            % {"destino": destino, "que": que, "antes": antes, "borrados": borrados, "despues": despues}
        )


class EscriturasEnCurso(ErrorDePrivacidad):
    """Data of the person, or a large load, are being written and it does not end. Nothing was erased."""

    def __init__(self) -> None:
        super().__init__(
            _(
                "Se están escribiendo datos en la memoria y no terminan: no se ha borrado nada. Vuelva a "
                "intentarlo dentro de un momento."
            )
        )


class AvisosMoviendose(ErrorDePrivacidad):
    """Purchasing is moving notices and it does not end: a search would not find them. Nothing was changed."""

    def __init__(self) -> None:
        super().__init__(
            _(
                "Compras está moviendo avisos en este momento y la búsqueda podría no encontrarlos: no se ha "
                "cambiado nada. Vuelva a intentarlo dentro de un momento."
            )
        )


class SupresionGrande(ErrorDePrivacidad):
    """Too much to erase while somebody waits for a page: the scheduled command does it."""

    def __init__(self, filas: int) -> None:
        super().__init__(
            _(
                "Son %(filas)d filas, demasiadas para borrarlas desde la página: se ejecutará en la próxima "
                "pasada de la tarea programada."
            )
            % {"filas": filas}
        )


class RegistroSoloAnexar(TypeError):
    """Steps and evidence are added, never changed or deleted."""

    def __init__(self) -> None:
        super().__init__(_("Los pasos y las evidencias solo se añaden: no se cambian ni se borran."))
