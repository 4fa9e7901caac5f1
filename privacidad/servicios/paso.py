"""What every change shares: the permission, the row lock, the step written down, the texts that are kept."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, PermissionsMixin, User
from django.contrib.postgres.functions import TransactionNow
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memoria import politica
from memoria.deteccion import hallar
from memoria.identificadores import Clase
from privacidad import escritos, estados, registro
from privacidad.errores import CuatroOjos, DatoNoValido, SinPermiso, TransicionNoPermitida
from privacidad.estados import Estado
from privacidad.identificadores import como_se_escribe, hallados
from privacidad.models import APROBAR, Paso, Solicitud
from privacidad.olvido import olvidar_direcciones

logger = logging.getLogger(__name__)

LARGO_MAXIMO_TEXTO = 2000
#: Open again, or still, after a run: part of it has been erased.
DESPUES_DE_EJECUTAR = frozenset({Estado.PARCIAL, Estado.REAPARECIDA})
_CAMPOS_QUE_CAMBIAN = (
    *("estado", "sujeto_id", "reservado", "cerrada", "vista_previa"),
    *("vence", "ampliada", "copia_hasta", "motivo_sin_copia"),
)


def exigir(por: AbstractBaseUser | PermissionsMixin | None, permiso: str) -> None:
    """Raises :class:`SinPermiso` unless the person has ``privacidad.<permiso>``."""
    if not isinstance(por, PermissionsMixin) or not por.has_perm(f"privacidad.{permiso}"):
        raise SinPermiso


def bloquear(solicitud: Solicitud) -> Solicitud:
    """The active request of this one (a linked one stands for its principal), its row locked."""
    return Solicitud.objects.select_for_update().get(pk=solicitud.principal_id or solicitud.pk)


def pasar(
    solicitud: Solicitud,
    a: Estado,
    *,
    por: User | None,
    texto: str | None = None,
    nota: str = "",
    cambio: Callable[[Solicitud], None] | None = None,
) -> Solicitud:
    """Take the active request to state ``a`` under a row lock, after ``cambio`` has had its say.

    The step keeps ``texto``, what somebody wrote, checked; or ``nota``, a sentence of ours.
    """
    with transaction.atomic():
        actual = bloquear(solicitud)
        if not estados.permitida(actual.estado, a):
            raise TransicionNoPermitida(actual.referencia, actual.estado)
        if cambio:
            cambio(actual)
        anotado = nota if texto is None else texto_conservado(texto, actual)
        actual.estado = a
        if a in estados.CERRADAS:
            actual.sujeto_id, actual.reservado, actual.cerrada = "", b"", timezone.now()
            olvidar_direcciones(actual)
        elif actual.cerrada:
            actual.cerrada = None
        guardar(actual)
        # Of when its transaction began: what a review counted, and what a run erased, is no older.
        Paso.objects.create(solicitud=actual, estado=a, por=por, texto=anotado, momento=TransactionNow())
        registro.anotar(tipo=a.value, referencia=actual.referencia, resumen=actual.resumen)
        escritos.emitir_al_llegar(actual, a)
    copiar(actual, solicitud)
    anotar_al_confirmar("%s %s", actual.referencia, a.value)
    return actual


def anotar_al_confirmar(mensaje: str, *partes: object) -> None:
    """Log a line once the transaction commits: what is rolled back did not happen."""
    transaction.on_commit(lambda: logger.info(mensaje, *partes))


def guardar(solicitud: Solicitud) -> None:
    """Save what a step may change of a request."""
    solicitud.save(update_fields=_CAMPOS_QUE_CAMBIAN)


def regla(error: IntegrityError) -> str:
    """The constraint that refused a row. What the database says besides quotes the row."""
    diagnostico = getattr(error.__cause__, "diag", None)
    return getattr(diagnostico, "constraint_name", None) or ""


def copiar(de: Solicitud, a: Solicitud) -> None:
    """Bring the caller's object up to date, unless it is a linked request: that one keeps its own state."""
    if de.pk == a.pk:
        for campo in _CAMPOS_QUE_CAMBIAN:
            setattr(a, campo, getattr(de, campo))


def cambia_lo_aprobado(actual: Solicitud, *, por: User, que: str) -> None:
    """Before changing what an erasure will do (a hold, a sealed copy, a mention): four eyes see that too.

    Approved and not run, it goes back to be approved again, and the step says ``que`` was changed. Once it
    has been run there is no way back: then only who could approve it may change it.

    In the caller's transaction, its row locked. Raises :class:`CuatroOjos`.
    """
    if actual.estado == Estado.APROBADA:
        pasar(actual, Estado.REVISADA, por=por, nota=que)
    elif actual.estado in DESPUES_DE_EJECUTAR:
        exigir_otra_persona(actual, por)


def exigir_otra_persona(actual: Solicitud, por: User) -> None:
    """Raises :class:`CuatroOjos` when ``por`` received the request, or may not approve, and somebody can."""
    solo_mira = actual.la_recibio(por) or not por.has_perm(APROBAR)
    if solo_mira and actual.puede_aprobarla_otra(por):
        raise CuatroOjos


def texto_conservado(texto: str, solicitud: Solicitud) -> str:
    """A reason, kept for good: so it may not name the person of the request, by any of their identifiers.

    Raises :class:`DatoNoValido`.
    """
    limpio = texto_breve(texto, solicitud.sujeto_id, *solicitud.identificadores().values())
    if hallados(como_se_escribe(solicitud), [limpio]):
        raise DatoNoValido(_("El texto se conserva y repite un identificador de la persona: quítelo."))
    return limpio


def texto_breve(texto: Any, *literales: str) -> str:
    """A text that is kept, stripped: with no identifier of anybody in it, and with none of ``literales``.

    What has a form of its own is recognised (NIF and NIE, IBAN, telephone, e-mail); a name has none.

    Raises :class:`DatoNoValido`.
    """
    limpio = texto.strip() if isinstance(texto, str) else ""
    if not limpio or len(limpio) > LARGO_MAXIMO_TEXTO or politica.CONTROL.search(limpio):
        raise DatoNoValido(
            _("Escriba el motivo, o cómo se comprobó, en un texto de hasta %(maximo)s caracteres.")
            % {"maximo": LARGO_MAXIMO_TEXTO}
        )
    if any(re.search(rf"(?<!\w){re.escape(d)}(?!\w)", limpio, re.IGNORECASE) for d in literales if d):
        raise DatoNoValido(_("El texto se conserva y repite un identificador de la persona: quítelo."))
    if clases := dict.fromkeys(h.clase for h in hallar(limpio)):
        raise DatoNoValido(
            _("El texto se conserva y lleva datos personales (%(cuales)s): quítelos.")
            % {"cuales": ", ".join(str(_CLASES[clase]) for clase in clases)}
        )
    return limpio


_CLASES = {
    Clase.EMAIL: gettext_lazy("un correo electrónico"),
    Clase.TELEFONO: gettext_lazy("un teléfono"),
    Clase.NIF: gettext_lazy("un NIF o NIE"),
    Clase.IBAN: gettext_lazy("una cuenta bancaria"),
}
