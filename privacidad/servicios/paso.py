"""What every change shares: the permission, the row lock, the step written down, the texts that are kept."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, PermissionsMixin, User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from memoria import politica
from privacidad import escritos, estados, registro
from privacidad.errores import DatoNoValido, SinPermiso, TransicionNoPermitida
from privacidad.estados import Estado
from privacidad.identificadores import de_la_solicitud, hallados
from privacidad.models import Paso, Solicitud
from privacidad.olvido import olvidar_direcciones

logger = logging.getLogger(__name__)

LARGO_MAXIMO_TEXTO = 2000
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
    cambio: Callable[[Solicitud], None] | None = None,
) -> Solicitud:
    """Take the active request to state ``a`` under a row lock, after ``cambio`` has had its say."""
    with transaction.atomic():
        actual = bloquear(solicitud)
        if not estados.permitida(actual.estado, a):
            raise TransicionNoPermitida(actual.referencia, actual.estado)
        if cambio:
            cambio(actual)
        anotado = "" if texto is None else texto_conservado(texto, actual)
        actual.estado = a
        if a in estados.CERRADAS:
            actual.sujeto_id, actual.reservado, actual.cerrada = "", b"", timezone.now()
            olvidar_direcciones(actual)
        elif actual.cerrada:
            actual.cerrada = None
        guardar(actual)
        Paso.objects.create(solicitud=actual, estado=a, por=por, texto=anotado)
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


def copiar(de: Solicitud, a: Solicitud) -> None:
    """Bring the caller's object up to date, unless it is a linked request: that one keeps its own state."""
    if de.pk == a.pk:
        for campo in _CAMPOS_QUE_CAMBIAN:
            setattr(a, campo, getattr(de, campo))


def texto_conservado(texto: str, solicitud: Solicitud) -> str:
    """A reason, kept for good: so it may not name the person by the ids of the request.

    Raises :class:`DatoNoValido`.
    """
    limpio = texto_breve(texto)
    literales = (solicitud.sujeto_id, *solicitud.identificadores().values())
    if any(re.search(rf"(?<!\w){re.escape(d)}(?!\w)", limpio, re.IGNORECASE) for d in literales) or hallados(
        de_la_solicitud(solicitud), [limpio]
    ):
        raise DatoNoValido(_("El texto se conserva y repite un identificador de la persona: quítelo."))
    return limpio


def texto_breve(texto: Any) -> str:
    """A text of a person, stripped. Raises :class:`DatoNoValido`."""
    limpio = texto.strip() if isinstance(texto, str) else ""
    if not limpio or len(limpio) > LARGO_MAXIMO_TEXTO or politica.CONTROL.search(limpio):
        raise DatoNoValido(
            _("Escriba el motivo, o cómo se comprobó, en un texto de hasta %(maximo)s caracteres.")
            % {"maximo": LARGO_MAXIMO_TEXTO}
        )
    return limpio
