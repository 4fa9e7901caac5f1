"""Access and portability (arts. 15 and 20 GDPR): a person's file, made, downloaded and expired under log."""

from __future__ import annotations

import gzip
import io
import logging
import secrets
from collections.abc import Iterator
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext as _

from privacidad import expedientes, registro
from privacidad.avance import MAXIMO_EN_UNA_PAGINA
from privacidad.cifrado import cifrar, cifrar_json, descifrar, descifrar_json
from privacidad.errores import DatoNoValido
from privacidad.models import Asiento, Expediente
from privacidad.plazos import hoy
from privacidad.resumenes import resumen, resumen_de_usuario
from privacidad.servicios.limitacion import esperar_supresion
from privacidad.servicios.paso import exigir
from privacidad.servicios.solicitud import prefijo_de

logger = logging.getLogger(__name__)

FORMATOS = ("pdf", "json")
_TROZO = 64 * 1024


def pedir_expediente(*, espacio: str, sujeto_id: str, por: User) -> Expediente:
    """Gather everything the system holds on a person: now, as :func:`producir`, if it fits in the time a page
    has; if not it is ``pendiente``, and ``producir_expedientes`` makes it.

    Raises :class:`SinPermiso` and :class:`DatoNoValido`.
    """
    exigir(por, "atender_acceso")
    prefijo = prefijo_de(espacio, sujeto_id)
    if expedientes.filas(espacio, sujeto_id) <= MAXIMO_EN_UNA_PAGINA:
        return producir(espacio=espacio, sujeto_id=sujeto_id, por=por)
    expediente = _nuevo(espacio, sujeto_id, por)
    expediente.pedido = cifrar_json({"sujeto_id": sujeto_id}, uso="expediente:pedido")
    with transaction.atomic():
        esperar_supresion(expediente.resumen)
        registro.bloquear()  # two people who ask at once take turns
        if Expediente.objects.pendientes().filter(resumen=expediente.resumen).exists():
            raise DatoNoValido(_("Ya hay un expediente de esa persona pedido, y se está preparando."))
        expediente.save(force_insert=True)
        registro.anotar(
            tipo="acceso_pedido",
            referencia=expediente.referencia,
            resumen=resumen(prefijo),
            datos={"por": resumen_de_usuario(por)},
        )
    logger.info("%s pedido", expediente.referencia)
    return expediente


def producir(*, espacio: str, sujeto_id: str, por: User) -> Expediente:
    """Gather everything the system holds on a person, what is blocked included, into an encrypted file.

    It can be downloaded for ``ACCESO_DIAS`` days. Of a person of whom there is nothing it says so.

    Raises :class:`SinPermiso`, and :class:`DatoNoValido` also when meanwhile the person has been erased, or
    another file of theirs was made.
    """
    exigir(por, "atender_acceso")
    expediente = _nuevo(espacio, sujeto_id, por)
    _producir(expediente, sujeto_id)
    return expediente


def producir_pedido(*, expediente: Expediente) -> None:
    """Make a file that was asked for. Only the scheduled command does: who asked had the permission.

    Raises :class:`DatoNoValido` when it is no longer to be made.
    """
    if not expediente.pendiente:
        raise DatoNoValido(_("Ese expediente ya no está pedido."))
    # Before, and committed: one that ends with the process goes to the back of the queue too.
    expediente.intentado = timezone.now()
    Expediente.objects.filter(pk=expediente.pk).update(intentado=expediente.intentado)
    _producir(expediente, descifrar_json(expediente.pedido, uso="expediente:pedido")["sujeto_id"])


def _nuevo(espacio: str, sujeto_id: str, por: User) -> Expediente:
    return Expediente(
        resumen=resumen(prefijo_de(espacio, sujeto_id)),
        espacio=espacio,
        # By chance and not by number: who is told it learns nothing of how many there are.
        referencia=f"ACC-{hoy().year}-{secrets.token_hex(4).upper()}",
        por=por,
        caduca=timezone.now() + timedelta(days=settings.ACCESO_DIAS),
    )


def _producir(expediente: Expediente, sujeto_id: str) -> None:
    momento = timezone.now()
    # Who asked, also of one that the scheduled command makes.
    quien = resumen_de_usuario(expediente.por)
    antes = Asiento.objects.aggregate(n=Max("numero"))["n"] or 0
    # Outside the transaction: it may take long, and asks the destinations that are not in PostgreSQL.
    compuesto = expedientes.componer(
        espacio=expediente.espacio, sujeto_id=sujeto_id, referencia=expediente.referencia, momento=momento
    )
    expediente.creado = momento
    expediente.caduca = momento + timedelta(days=settings.ACCESO_DIAS)
    expediente.pdf = cifrar(compuesto.pdf, uso=_uso("pdf"))
    expediente.json = cifrar(compuesto.json_gz, uso=_uso("json"))
    expediente.pedido = b""
    with transaction.atomic():
        esperar_supresion(expediente.resumen)
        if Asiento.objects.filter(numero__gt=antes, tipo="supresion", resumen=expediente.resumen).exists():
            raise DatoNoValido(
                _("Mientras se producía, los datos de esa persona se han suprimido: repítalo.")
            )
        if expediente.pk is None:
            registro.bloquear()  # those who produce it at once take turns, and the first one is enough
            if Asiento.objects.filter(numero__gt=antes, tipo="acceso", resumen=expediente.resumen).exists():
                raise DatoNoValido(
                    _("Mientras se producía, se ha producido otro expediente de esa persona: use ese.")
                )
            expediente.save(force_insert=True)
        elif not Expediente.objects.pendientes().select_for_update().filter(pk=expediente.pk).exists():
            raise DatoNoValido(_("Ese expediente ya no está pedido."))
        else:
            expediente.save(force_update=True)
        for copia in compuesto.copias:
            registro.anotar(
                tipo="copia_abierta",
                referencia=copia.solicitud.referencia,
                resumen=copia.solicitud.resumen,
                datos={"expediente": expediente.referencia, "por": quien},
            )
        registro.anotar(
            tipo="acceso",
            referencia=expediente.referencia,
            resumen=expediente.resumen,
            datos={"cuantos": compuesto.cuantos, "caduca": expediente.caduca.isoformat(), "por": quien},
        )
    logger.info("%s producido", expediente.referencia)


def descargar_expediente(*, expediente: Expediente, formato: str, por: User) -> Iterator[bytes]:
    """The file as ``pdf`` or ``json``, in pieces. The download, and whose, is registered before the
    first one.

    Raises :class:`SinPermiso`, and :class:`DatoNoValido` when it has expired.
    """
    exigir(por, "atender_acceso")
    if formato not in FORMATOS:
        raise DatoNoValido(_("Ese formato no existe: elija PDF o JSON."))
    with transaction.atomic():
        # Locked, so the sweep does not empty it halfway.
        actual = Expediente.objects.select_for_update().get(pk=expediente.pk)
        if actual.destruido or actual.caduca <= timezone.now():
            raise DatoNoValido(_("Ese expediente ha caducado: produzca otro."))
        if actual.pendiente:
            raise DatoNoValido(_("Ese expediente todavía se está preparando."))
        contenido = descifrar(getattr(actual, formato), uso=_uso(formato))
        registro.anotar(
            tipo="expediente_descargado",
            referencia=actual.referencia,
            resumen=actual.resumen,
            datos={"formato": formato, "por": resumen_de_usuario(por)},
        )
    logger.info("%s descargado en %s", actual.referencia, formato)
    return _trozos(contenido, comprimido=formato == "json")


def _uso(formato: str) -> str:
    return f"expediente:{formato}"


def _trozos(contenido: bytes, *, comprimido: bool) -> Iterator[bytes]:
    fuente: io.BufferedIOBase = io.BytesIO(contenido)
    if comprimido:
        fuente = gzip.GzipFile(fileobj=fuente)
    with fuente:
        while trozo := fuente.read(_TROZO):
            yield trozo
