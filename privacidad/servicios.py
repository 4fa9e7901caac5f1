"""Every change to an erasure request. Screens, the admin and the command only call these.

Each function checks the permission and the state, changes, writes the step down and logs the reference, in
one transaction. ``por`` is who does it; ``None``, only for :func:`ejecutar`, is the scheduled command.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from copy import copy
from datetime import date, datetime
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, PermissionsMixin, User
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from memoria import politica
from privacidad import estados, plazos, supresion
from privacidad.destinos import Recuento
from privacidad.errores import (
    CuatroOjos,
    DatoNoValido,
    SinPermiso,
    SolicitudAbierta,
    TransicionNoPermitida,
)
from privacidad.estados import Estado
from privacidad.models import UNA_ABIERTA, Canal, Evidencia, Paso, Solicitud
from privacidad.resumenes import resumen

logger = logging.getLogger(__name__)

#: Longer than any id the thread registry can index: nothing can be kept under it.
LARGO_MAXIMO_SUJETO = 2000
LARGO_MAXIMO_TEXTO = 2000
MAXIMO_IDENTIFICADORES = 20
_CAMPOS_QUE_CAMBIAN = ("estado", "sujeto_id", "identificadores", "cerrada", "vista_previa")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|[\ud800-\udfff]")


def recibir(
    *,
    espacio: str,
    sujeto_id: str,
    canal: str,
    recibida: date,
    por: User,
    identificadores: Mapping[str, str] | None = None,
) -> Solicitud:
    """Write down a request that came in on ``recibida`` (a day of Madrid) and set its deadline.

    ``identificadores`` are other ways to name the person (``{"email": …}``), kept while the request is open.

    Raises :class:`SinPermiso`, :class:`DatoNoValido` and :class:`SolicitudAbierta`.
    """
    _exigir(por, "recibir_solicitud")
    prefijo = _prefijo(espacio, sujeto_id)
    if canal not in Canal.values:
        raise DatoNoValido(_("El canal no es ninguno de los previstos: elija uno de la lista."))
    _comprobar_recibida(recibida)
    solicitud = Solicitud(
        espacio=espacio,
        sujeto_id=sujeto_id,
        identificadores=_identificadores(identificadores),
        resumen=resumen(prefijo),
        canal=canal,
        recibida=recibida,
        vence=plazos.vencimiento(recibida),
    )
    try:
        with transaction.atomic():
            solicitud.save(force_insert=True)
            Paso.objects.create(solicitud=solicitud, estado=Estado.RECIBIDA, por=por)
    except IntegrityError as error:
        if UNA_ABIERTA not in str(error):
            raise
        abierta = Solicitud.objects.abiertas().filter(resumen=solicitud.resumen).first()
        raise SolicitudAbierta(abierta.referencia if abierta else None) from None
    logger.info("%s recibida", solicitud.referencia)
    return solicitud


def identificar(*, solicitud: Solicitud, como: str, por: User) -> None:
    """Write down how the identity of who asks was checked."""
    _exigir(por, "tramitar_solicitud")
    _pasar(solicitud, Estado.IDENTIFICADA, por=por, texto=como)


def revisar(*, solicitud: Solicitud, por: User) -> dict[str, Recuento]:
    """Count what there is in every destination: ``{"memoria": {"documentos": 3, …}, …}``. Erases nothing."""
    _exigir(por, "tramitar_solicitud")

    def contar(actual: Solicitud) -> None:
        actual.vista_previa = supresion.vista_previa(actual)

    _pasar(solicitud, Estado.REVISADA, por=por, cambio=contar)
    return dict(solicitud.vista_previa)


def aprobar(*, solicitud: Solicitud, por: User, excepcion_motivo: str | None = None) -> None:
    """Approve what was reviewed. Who received a request does not approve it.

    With a single data protection officer the exception is explicit: ``excepcion_motivo`` says why, and stays
    in the request.

    Raises :class:`CuatroOjos` besides the errors of every step.
    """
    _exigir(por, "aprobar_solicitud")

    def cuatro_ojos(actual: Solicitud) -> None:
        la_recibio = actual.pasos.filter(estado=Estado.RECIBIDA, por=por).exists()
        if la_recibio and excepcion_motivo is None:
            raise CuatroOjos
        if excepcion_motivo is not None and not la_recibio:
            raise DatoNoValido(
                _("La excepción solo hace falta cuando aprueba quien recibió la solicitud: quítela.")
            )

    _pasar(solicitud, Estado.APROBADA, por=por, texto=excepcion_motivo, cambio=cuatro_ojos)


def ejecutar(*, solicitud: Solicitud, por: User | None = None) -> Evidencia:
    """Erase the subject everywhere and close the request: all of it and its evidence, or nothing.

    Raises :class:`RecuentoDistinto`, :class:`DestinoDesconocido` (nothing was erased, the request stays as it
    was), :class:`TransicionNoPermitida` and :class:`SinPermiso`.
    """
    if por is not None:
        _exigir(por, "ejecutar_solicitud")
    actual = copy(solicitud)  # should it all be rolled back, the caller's object never left its state
    with transaction.atomic():
        _pasar(actual, Estado.EN_CURSO, por=por)
        evidencia = supresion.suprimir(actual)
        _pasar(actual, Estado.COMPLETADA, por=por)
    _copiar(actual, solicitud)
    return evidencia


def denegar(*, solicitud: Solicitud, motivo: str, por: User) -> None:
    """Refuse a request, with its reason (art. 12(4) and 17(3) GDPR)."""
    _exigir(por, "tramitar_solicitud")
    _pasar(solicitud, Estado.DENEGADA, por=por, texto=motivo)


def retirar(*, solicitud: Solicitud, motivo: str, por: User) -> None:
    """Close a request that the person has taken back."""
    _exigir(por, "tramitar_solicitud")
    _pasar(solicitud, Estado.RETIRADA, por=por, texto=motivo)


# -- one step -------------------------------------------------------------------------------------


def _pasar(
    solicitud: Solicitud,
    a: Estado,
    *,
    por: User | None,
    texto: str | None = None,
    cambio: Callable[[Solicitud], None] | None = None,
) -> None:
    """Take the request to state ``a`` under a row lock, after ``cambio`` has had its say."""
    with transaction.atomic():
        actual = Solicitud.objects.select_for_update().get(pk=solicitud.pk)
        if not estados.permitida(actual.estado, a):
            raise TransicionNoPermitida(actual.referencia, actual.estado)
        if cambio:
            cambio(actual)
        anotado = "" if texto is None else _texto(texto, actual)
        actual.estado = a
        if a in estados.CERRADAS:
            actual.sujeto_id, actual.identificadores, actual.cerrada = "", {}, timezone.now()
        actual.save(update_fields=_CAMPOS_QUE_CAMBIAN)
        Paso.objects.create(solicitud=actual, estado=a, por=por, texto=anotado)
    _copiar(actual, solicitud)
    logger.info("%s %s", actual.referencia, a.value)


def _copiar(de: Solicitud, a: Solicitud) -> None:
    for campo in _CAMPOS_QUE_CAMBIAN:
        setattr(a, campo, getattr(de, campo))


def _exigir(por: AbstractBaseUser | PermissionsMixin | None, permiso: str) -> None:
    if not isinstance(por, PermissionsMixin) or not por.has_perm(f"privacidad.{permiso}"):
        raise SinPermiso


# -- what is typed ----------------------------------------------------------------------------------


def _prefijo(espacio: str, sujeto_id: str) -> str:
    if isinstance(sujeto_id, str):
        if len(sujeto_id) > LARGO_MAXIMO_SUJETO:
            raise DatoNoValido(
                _("El identificador de la persona tiene más de %(maximo)s caracteres: escriba solo eso.")
                % {"maximo": LARGO_MAXIMO_SUJETO}
            )
        if _CONTROL.search(sujeto_id):
            raise DatoNoValido(_("El identificador de la persona tiene caracteres de control: quítelos."))
    try:
        return politica.prefijo(espacio, sujeto_id)
    except politica.PoliticaIncumplida as error:
        raise DatoNoValido(str(error)) from None


def _comprobar_recibida(recibida: date) -> None:
    if not isinstance(recibida, date) or isinstance(recibida, datetime):
        raise DatoNoValido(_("La fecha de recepción debe ser un día, sin hora."))
    if recibida > plazos.hoy():
        raise DatoNoValido(_("La fecha de recepción no puede ser posterior a hoy."))


def _identificadores(valores: Mapping[str, str] | None) -> dict[str, str]:
    limpios = dict(valores or {})
    if len(limpios) > MAXIMO_IDENTIFICADORES or not all(map(_es_breve, (*limpios, *limpios.values()))):
        raise DatoNoValido(
            _("Los otros identificadores son hasta %(maximo)s textos breves con nombre.")
            % {"maximo": MAXIMO_IDENTIFICADORES}
        )
    return limpios


def _es_breve(valor: Any) -> bool:
    return isinstance(valor, str) and 0 < len(valor) <= LARGO_MAXIMO_SUJETO and not _CONTROL.search(valor)


def _texto(texto: str, solicitud: Solicitud) -> str:
    """A reason, kept for good: so it may not name the person by the ids of the request."""
    limpio = texto.strip()
    if not limpio or len(limpio) > LARGO_MAXIMO_TEXTO or _CONTROL.search(limpio):
        raise DatoNoValido(
            _("Escriba el motivo, o cómo se comprobó, en un texto de hasta %(maximo)s caracteres.")
            % {"maximo": LARGO_MAXIMO_TEXTO}
        )
    for dato in (solicitud.sujeto_id, *solicitud.identificadores.values()):
        if re.search(rf"(?<!\w){re.escape(dato)}(?!\w)", limpio, re.IGNORECASE):
            raise DatoNoValido(_("El texto se conserva y repite un identificador de la persona: quítelo."))
    return limpio
