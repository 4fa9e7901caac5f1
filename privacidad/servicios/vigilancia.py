"""What the nightly watch changes: a request is reopened, or what was still to be verified is verified."""

from __future__ import annotations

from collections.abc import Collection

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from memoria import politica
from privacidad import gestiones, registro, supresion
from privacidad.errores import DatoNoValido, OtraSolicitudAbierta
from privacidad.estados import Estado
from privacidad.models import UNA_ABIERTA, Gestion, Solicitud
from privacidad.resumenes import resumen
from privacidad.servicios.paso import pasar, regla


def reabrir(*, solicitud: Solicitud, sujeto_id: str, hallado: Collection[str]) -> None:
    """Open a completed request again: its person, ``sujeto_id``, was found in the destinations ``hallado``.

    It keeps its deadline, and the next run erases what is back, everywhere, external destinations included,
    and leaves what the person said since (see :mod:`privacidad.cortes`). Nobody asks for it: it is the watch
    that does.

    Raises :class:`DatoNoValido` when that id is not the request's, :class:`TransicionNoPermitida`, and
    :class:`OtraSolicitudAbierta` when the person has another request open, which will do it.
    """
    if resumen(politica.prefijo(solicitud.espacio, sujeto_id)) != solicitud.resumen:
        raise DatoNoValido(_("Ese identificador no es el de la persona de la solicitud."))

    def devolver(actual: Solicitud) -> None:
        actual.sujeto_id = sujeto_id
        actual.gestiones.update(estado=Gestion.Estado.PENDIENTE, recuento={}, detalle="", pedida=None)

    try:
        with transaction.atomic():
            actual = pasar(solicitud, Estado.REAPARECIDA, por=None, cambio=devolver)
            registro.anotar(
                tipo="hallazgo",
                referencia=actual.referencia,
                resumen=actual.resumen,
                datos={"destinos": sorted(hallado)},
            )
    except IntegrityError as error:
        if regla(error) != UNA_ABIERTA:
            raise
        raise OtraSolicitudAbierta(solicitud.referencia) from None


def reabrir_fuera(*, solicitud: Solicitud, destino: str) -> bool:
    """Something of the person of a partial request was found again in the external destination ``destino``:
    the next run erases it there again. Whether that is so now: not when it was still to be done, nor when
    the request has been closed meanwhile."""
    return gestiones.rehacer(solicitud, destino, hallado=True)


def verificar(*, solicitud: Solicitud) -> None:
    """Read back what the external destinations of a partial request had not confirmed; close it if that was
    all.

    Nothing is erased here but what has been readable for a day after its deletion was asked for and, when it
    would close, what has come in since to a destination that had confirmed.
    """
    if solicitud.estado == Estado.PARCIAL:
        desde = timezone.now()
        gestiones.atender(solicitud, {Gestion.Estado.POR_VERIFICAR})
        supresion.completar(solicitud, por=None, desde=desde)
