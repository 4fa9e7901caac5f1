"""The life of an erasure request, from receipt to closing. Screens, admin and commands only call these.

Each function checks the permission and the state, changes, writes the step and the register down and logs
the reference, in one transaction. ``por`` is who does it; ``None``, only for :func:`ejecutar`, is the
scheduled command.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import IntegrityError, connection, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memoria import politica
from memoria.models import Documento, Hilo
from privacidad import escritos, estados, gestiones, menciones, plazos, registro, revisiones, supresion
from privacidad.destinos import Recuento
from privacidad.errores import DatoNoValido, FaltaMotivo, NoSePudoRegistrar, OtroEnvio, TransicionNoPermitida
from privacidad.estados import Estado
from privacidad.identificadores import sumar
from privacidad.models import AMPLIADA, UN_ENVIO, UNA_ABIERTA, Canal, Escrito, Evidencia, Paso, Solicitud
from privacidad.resumenes import resumen
from privacidad.servicios.paso import (
    bloquear,
    cambia_lo_aprobado,
    copiar,
    exigir,
    exigir_otra_persona,
    guardar,
    pasar,
    regla,
    texto_conservado,
)

logger = logging.getLogger(__name__)

#: Longer than any id the thread registry can index: nothing can be kept under it.
LARGO_MAXIMO_SUJETO = 2000
MAXIMO_IDENTIFICADORES = 20
SIN_IDENTIFICADOR = gettext_lazy("Escriba el identificador de la persona: solo hay espacios.")
CON_INVISIBLES = gettext_lazy(
    "El identificador de la persona tiene saltos de línea o caracteres que no se ven, y en la memoria no hay "
    "nadie con él: escríbalo sin ellos."
)
#: Line breaks, tabs, and what turns a text round or takes no room: in an id, a slip or a disguise.
_INVISIBLES = re.compile("[\t\n\r\x0b\x0c\x80-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
#: An exception to the four eyes is explained, not filled in.
LARGO_MINIMO_EXCEPCION, PALABRAS_MINIMAS_EXCEPCION = 15, 3


def recibir(
    *,
    espacio: str,
    sujeto_id: str,
    canal: str,
    recibida: date,
    por: User,
    identificadores: Mapping[str, str] | None = None,
    envio: UUID | None = None,
) -> Solicitud:
    """Write down a request that came in on ``recibida`` (a day of Madrid) and set its deadline.

    ``identificadores`` are other ways to name the person (``{"email": …}``), kept encrypted while the request
    is open. When the person already has an open request this one is linked to it: its identifiers join that
    one's, the earlier receipt sets the deadline, and a step taken on either is taken on that one.

    ``envio`` names the filled form: what it says is registered once, however often it is sent, and the
    request is the same.

    Raises :class:`SinPermiso`, :class:`DatoNoValido`, :class:`OtroEnvio` when that form said something else,
    :class:`AvisosMoviendose` and :class:`NoSePudoRegistrar`.
    """
    exigir(por, "recibir_solicitud")
    prefijo = prefijo_de(espacio, sujeto_id)
    comprobar_sujeto(espacio, sujeto_id)
    if canal not in Canal.values:
        raise DatoNoValido(_("El canal no es ninguno de los previstos: elija uno de la lista."))
    _comprobar_recibida(recibida)
    otros = _identificadores(identificadores)
    for intento in (1, 2):
        nueva = Solicitud(
            espacio=espacio,
            resumen=resumen(prefijo),
            canal=canal,
            recibida=recibida,
            vence=plazos.vencimiento(recibida),
            envio=envio,
        )
        if envio and (anterior := Solicitud.objects.filter(envio=envio).first()):
            return _la_misma(anterior, nueva, otros)
        try:
            with transaction.atomic():
                _registrar_o_vincular(nueva, sujeto_id, otros, por)
            break
        except IntegrityError as error:
            # The same person, or the same form, was registered at this very moment: now that one is there.
            cual = regla(error)
            if cual not in (UNA_ABIERTA, UN_ENVIO) or intento == 2:
                logger.error("solicitud rechazada por %s", cual)
                raise NoSePudoRegistrar(cual) from None
    logger.info("%s %s", nueva.referencia, nueva.estado)
    return nueva


def identificar(*, solicitud: Solicitud, como: str, por: User) -> None:
    """Write down how the identity of who asks was checked."""
    exigir(por, "tramitar_solicitud")
    pasar(solicitud, Estado.IDENTIFICADA, por=por, texto=como)


def revisar(*, solicitud: Solicitud, por: User) -> dict[str, Recuento]:
    """Count what there is in every destination: ``{"memoria": {"documentos": 3, …}, …}``. Erases nothing.

    Raises :class:`AvisosMoviendose` besides the errors of every step.
    """
    exigir(por, "tramitar_solicitud")
    activa = solicitud.principal or solicitud
    # Other systems are asked before the transaction, never inside it.
    fuera = gestiones.contar(activa) if estados.permitida(activa.estado, Estado.REVISADA) else {}

    def contar(actual: Solicitud) -> None:
        menciones.buscar(actual)
        actual.vista_previa = {**supresion.vista_previa(actual), **fuera}

    return dict(pasar(solicitud, Estado.REVISADA, por=por, cambio=contar).vista_previa)


def aprobar(*, solicitud: Solicitud, por: User, excepcion_motivo: str | None = None) -> None:
    """Approve what was reviewed. Who received a request does not approve it.

    When nobody else could (no other active person with the permission who did not receive it), the exception
    is explicit: ``excepcion_motivo`` says why, stays in the request and is printed on the certificate.

    Raises :class:`CuatroOjos`, :class:`FaltaMotivo`, :class:`MencionesSinDecidir` and
    :class:`RevisionPerdida` besides the errors of every step.
    """
    exigir(por, "aprobar_solicitud")

    def cuatro_ojos(actual: Solicitud) -> None:
        revisiones.exigir(actual)
        menciones.exigir_decididas(actual)
        exigir_otra_persona(actual, por)
        la_recibio = actual.la_recibio(por)
        if la_recibio and not _explica(excepcion_motivo):
            raise FaltaMotivo
        if excepcion_motivo is not None and not la_recibio:
            raise DatoNoValido(
                _("La excepción solo hace falta cuando aprueba quien recibió la solicitud: quítela.")
            )

    pasar(solicitud, Estado.APROBADA, por=por, texto=excepcion_motivo, cambio=cuatro_ojos)


def ejecutar(*, solicitud: Solicitud, por: User | None = None, simular: bool = False) -> Evidencia:
    """Erase the subject everywhere and close the request; returns the evidence of what PostgreSQL erased.

    Inside PostgreSQL it is all of it and its evidence, or nothing. What is held back, and what an external
    destination has not confirmed yet, leaves the request ``parcial``; another run does only what is left.
    With ``simular`` the same is done in PostgreSQL and rolled back, and no external destination is asked for
    anything: only the caller's object says how the request would stand. Otherwise it may not be called inside
    a transaction.

    Raises :class:`RecuentoDistinto`, :class:`EscriturasEnCurso`, :class:`DestinoDesconocido`,
    :class:`MencionesSinDecidir` and :class:`DatoNoValido` (a hold came meanwhile): nothing was erased, the
    request stays as it was. :class:`RevisionVacia` and :class:`FueraDeLaRevision`: nothing was erased, and it
    goes back to be reviewed. :class:`TransicionNoPermitida` and :class:`SinPermiso`.
    """
    if por is not None:
        exigir(por, "ejecutar_solicitud")
    return supresion.ejecutar(solicitud, por=por, simular=simular)


def denegar(*, solicitud: Solicitud, motivo: str, por: User) -> None:
    """Refuse a request, with its reason (art. 12(4) and 17(3) GDPR)."""
    exigir(por, "tramitar_solicitud")
    pasar(solicitud, Estado.DENEGADA, por=por, texto=motivo)


def retirar(*, solicitud: Solicitud, motivo: str, por: User) -> None:
    """Close a request that the person has taken back."""
    exigir(por, "tramitar_solicitud")
    pasar(solicitud, Estado.RETIRADA, por=por, texto=motivo)


def ampliar(*, solicitud: Solicitud, motivo: str, por: User) -> None:
    """Extend the deadline by two months, once, telling the person why inside the first one (art. 12(3) GDPR).

    Raises :class:`DatoNoValido` when it is too late or was done already, and :class:`TransicionNoPermitida`
    when the request is closed.
    """
    exigir(por, "tramitar_solicitud")
    with transaction.atomic():
        actual = bloquear(solicitud)
        if actual.estado in estados.CERRADAS:
            raise TransicionNoPermitida(actual.referencia, actual.estado)
        if actual.ampliada:
            raise DatoNoValido(_("El plazo ya se amplió una vez, y solo se puede una."))
        if plazos.hoy() > actual.vence:
            raise DatoNoValido(_("El primer mes ya ha pasado: el plazo ya no se puede ampliar."))
        anotado = texto_conservado(motivo, actual)
        actual.ampliada = actual.vence = plazos.ampliado(actual.primera_recepcion())
        guardar(actual)
        Paso.objects.create(solicitud=actual, estado=AMPLIADA, por=por, texto=anotado)
        registro.anotar(
            tipo="ampliada",
            referencia=actual.referencia,
            resumen=actual.resumen,
            datos={"vence": actual.vence.isoformat()},
        )
        escritos.emitir(actual, Escrito.Tipo.AMPLIACION)
    copiar(actual, solicitud)
    logger.info("%s ampliada", actual.referencia)


# -- receipt --------------------------------------------------------------------------------------


def _registrar_o_vincular(nueva: Solicitud, sujeto_id: str, otros: Mapping[str, str], por: User) -> None:
    abierta = Solicitud.objects.abiertas().select_for_update().filter(resumen=nueva.resumen).first()
    if abierta:
        _vincular(nueva, abierta, otros, por)
    else:
        nueva.sujeto_id = sujeto_id
        nueva.reservar(identificadores=dict(otros))
        _registrar(nueva, otros, por)


def _registrar(nueva: Solicitud, otros: Mapping[str, str], por: User) -> None:
    nueva.save(force_insert=True)
    Paso.objects.create(solicitud=nueva, estado=nueva.estado, por=por)
    registro.anotar(
        tipo=nueva.estado,
        referencia=nueva.referencia,
        resumen=nueva.resumen,
        datos={
            "canal": nueva.canal,
            "recibida": nueva.recibida.isoformat(),
            # How many, and not which: a restore that loses them has to say so.
            "identificadores": len(otros),
        },
    )


def _vincular(nueva: Solicitud, abierta: Solicitud, otros: Mapping[str, str], por: User) -> None:
    # Those are still to be reviewed.
    se_busca = bool(otros) and abierta.estado not in (Estado.RECIBIDA, Estado.IDENTIFICADA)
    if se_busca:
        menciones.parar_mudanzas()
    nueva.principal, nueva.estado, nueva.cerrada = abierta, Estado.VINCULADA, timezone.now()
    _registrar(nueva, otros, por)
    abierta.reservar(identificadores=sumar(abierta.identificadores(), otros))
    abierta.poner_plazo()
    guardar(abierta)
    if se_busca:
        _buscar_de_nuevo(abierta, por)


def _buscar_de_nuevo(abierta: Solicitud, por: User) -> None:
    """Look for mentions by what the person is now known by too; what was approved did not count with them."""
    menciones.buscar(abierta)
    if abierta.estado == Estado.APROBADA and menciones.por_fila(abierta).filter(pendientes__gt=0).exists():
        cambia_lo_aprobado(
            abierta, por=por, que=_("Hay datos de otras personas que la mencionan, sin decidir.")
        )


def _la_misma(anterior: Solicitud, nueva: Solicitud, otros: Mapping[str, str]) -> Solicitud:
    """The request that this form registered before, if it said the same."""
    iguales = ("resumen", "canal", "recibida")
    guardados = (anterior.principal or anterior).identificadores().values()
    if any(getattr(anterior, c) != getattr(nueva, c) for c in iguales) or set(otros.values()) - set(
        guardados
    ):
        raise OtroEnvio(anterior.referencia)
    return anterior


def _explica(motivo: str | None) -> bool:
    limpio = (motivo or "").strip()
    return len(limpio) >= LARGO_MINIMO_EXCEPCION and len(limpio.split()) >= PALABRAS_MINIMAS_EXCEPCION


def comprobar_sujeto(espacio: str, sujeto_id: str) -> None:
    """Raises :class:`DatoNoValido` for an id that is blank, or holds what cannot be seen and is nobody's.

    What the memory holds can be asked for whatever its id is: it is under that one that it is found.
    """
    if sujeto_id.isspace():
        raise DatoNoValido(str(SIN_IDENTIFICADOR))
    if _INVISIBLES.search(sujeto_id) and not conocido(espacio, sujeto_id):
        raise DatoNoValido(str(CON_INVISIBLES))


def conocido(espacio: str, sujeto_id: str) -> bool:
    """Whether the memory holds a document or a thread under exactly that id."""
    return (
        Documento.objects.del_sujeto(espacio, sujeto_id).exists()
        or Hilo.objects.del_sujeto(espacio, sujeto_id).exists()
    )


def codigo_vigente(espacio: str, sujeto_id: str) -> str:
    """The id under which purchasing keeps a supplier now, when two of its codes were made one."""
    if espacio != "proveedores":
        return sujeto_id
    with connection.cursor() as cursor:
        cursor.execute("SELECT langgraph.proveedor_vigente(%s)", [sujeto_id])
        vigente: str = cursor.fetchone()[0]
    return vigente


def prefijo_de(espacio: str, sujeto_id: str) -> str:
    """As :func:`memoria.politica.prefijo`, of what somebody typed. Raises :class:`DatoNoValido`."""
    if isinstance(sujeto_id, str):
        if len(sujeto_id) > LARGO_MAXIMO_SUJETO:
            raise DatoNoValido(
                _("El identificador de la persona tiene más de %(maximo)s caracteres: escriba solo eso.")
                % {"maximo": LARGO_MAXIMO_SUJETO}
            )
        if politica.CONTROL.search(sujeto_id):
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
    if recibida < plazos.PRIMER_DIA:
        raise DatoNoValido(_("La fecha de recepción es anterior al reglamento: compruebe el año."))


def _identificadores(valores: Mapping[str, str] | None) -> dict[str, str]:
    limpios = dict(valores or {})
    if len(limpios) > MAXIMO_IDENTIFICADORES or not all(map(_es_breve, (*limpios, *limpios.values()))):
        raise DatoNoValido(
            _("Los otros identificadores son hasta %(maximo)s textos breves con nombre.")
            % {"maximo": MAXIMO_IDENTIFICADORES}
        )
    return limpios


def _es_breve(valor: Any) -> bool:
    return (
        isinstance(valor, str)
        and 0 < len(valor) <= LARGO_MAXIMO_SUJETO
        and not politica.CONTROL.search(valor)
    )
