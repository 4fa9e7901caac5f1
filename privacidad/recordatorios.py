"""Reminders by e-mail to the data protection officers: what is about to be due, is due, is late, or has
come back.

References and dates only: nothing of the person, who is in the page that the message leads to. Each request
is reminded of once a day for each reason, and once for good of what is about to be due or has come back;
what was sent is in the register (``recordatorio``), so that a second run sends nothing.
"""

from __future__ import annotations

import logging
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date
from smtplib import SMTPException
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core import mail
from django.db import transaction
from django.db.models import Max, TextChoices
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from privacidad import plazos, registro
from privacidad.errores import ErrorDePrivacidad
from privacidad.estados import Estado
from privacidad.models import Asiento, Solicitud

logger = logging.getLogger(__name__)

#: How many days before the deadline the first reminder goes.
DIAS_ANTES = 3


class RecordatorioNoEnviado(ErrorDePrivacidad):
    """The mail server could not be reached, or refused a message. ``enviados``: what had gone by then."""

    def __init__(self, frase: str, enviados: int = 0) -> None:
        super().__init__(frase)
        self.enviados = enviados


class NadieAQuienAvisar(RecordatorioNoEnviado):
    """Nobody of the group has an address: nothing failed, and nothing is sent until somebody has."""


class Motivo(TextChoices):
    PROXIMA = "proxima", gettext_lazy("vence pronto")
    VENCE = "vence", gettext_lazy("vence hoy")
    VENCIDA = "vencida", gettext_lazy("ha vencido")
    REAPARECIDA = "reaparecida", gettext_lazy("se ha vuelto a abrir")


def pendientes() -> dict[Motivo, list[Solicitud]]:
    """The requests to remind of today, by reason, the most urgent first; one that was sent is not in it."""
    return {motivo: [s for s, _vez in suyas] for motivo, suyas in _por_enviar().items()}


def enviar() -> int:
    """Send today's reminders, one message for each reason; returns of how many requests and reasons.

    A message is written down after it is sent: killed in between, it is sent again rather than never.

    Raises :class:`NadieAQuienAvisar` and :class:`RecordatorioNoEnviado`; what had been sent by then is
    written down.
    """
    por_motivo = _por_enviar()
    if not por_motivo:
        return 0
    destinatarios = _destinatarios()
    if not destinatarios:
        raise NadieAQuienAvisar(
            _("Nadie del grupo dpo tiene dirección de correo: póngala en su usuario para avisarle.")
        )
    enviados = 0
    try:
        # The console backend writes to the error output: the standard one is for the result of the command.
        with mail.get_connection(stream=sys.stderr) as conexion:
            for motivo in Motivo:
                suyas = por_motivo.get(motivo, [])
                if suyas:
                    _mensaje(motivo, [s for s, _vez in suyas], destinatarios, conexion).send()
                    _escribir(motivo, suyas)
                    enviados += len(suyas)
    except (OSError, SMTPException) as error:
        # The server's answer may repeat addresses: its kind is enough.
        raise RecordatorioNoEnviado(
            _("No se ha podido enviar el correo (%(error)s): compruebe EMAIL_URL.")
            % {"error": type(error).__name__},
            enviados,
        ) from None
    return enviados


#: By reason, each request and which time of it this is: its day, its deadline.
_PorEnviar = dict[Motivo, list[tuple[Solicitud, str]]]


def _por_enviar() -> _PorEnviar:
    hoy = plazos.hoy()
    abiertas = list(Solicitud.objects.abiertas().order_by("vence", "pk"))
    enviados = _enviados([s.referencia for s in abiertas])
    por_motivo: _PorEnviar = defaultdict(list)
    reapariciones = _reapariciones([s.referencia for s in abiertas if s.estado == Estado.REAPARECIDA])
    for solicitud in abiertas:
        for motivo, vez in _motivos(solicitud, hoy, reapariciones).items():
            if (solicitud.referencia, motivo.value, vez) not in enviados:
                por_motivo[motivo].append((solicitud, vez))
    return por_motivo


def _motivos(solicitud: Solicitud, hoy: date, reapariciones: Mapping[str, str]) -> dict[Motivo, str]:
    """Why a request is reminded of today and, of each reason, which time of it this is."""
    dias = (solicitud.vence - hoy).days
    motivos = {}
    if solicitud.estado == Estado.REAPARECIDA:
        motivos[Motivo.REAPARECIDA] = reapariciones[solicitud.referencia]
    if dias < 0:
        motivos[Motivo.VENCIDA] = hoy.isoformat()
    elif dias == 0:
        motivos[Motivo.VENCE] = hoy.isoformat()
    elif dias <= DIAS_ANTES:
        motivos[Motivo.PROXIMA] = solicitud.vence.isoformat()
    return motivos


def _reapariciones(referencias: Sequence[str]) -> dict[str, str]:
    """The entry of the register of the last time each was opened again."""
    ultimas = (
        Asiento.objects.filter(tipo=Estado.REAPARECIDA.value, referencia__in=referencias)
        .values("referencia")
        .annotate(ultima=Max("numero"))
        .order_by("referencia")
    )
    return {u["referencia"]: str(u["ultima"]) for u in ultimas}


def _enviados(referencias: Sequence[str]) -> set[tuple[str, str, str]]:
    asientos = Asiento.objects.filter(tipo="recordatorio", referencia__in=referencias)
    return {(r, d["motivo"], d["vez"]) for r, d in asientos.values_list("referencia", "datos")}


def _destinatarios() -> list[str]:
    personas = User.objects.filter(is_active=True, groups__name="dpo").exclude(email="")
    return sorted(set(personas.values_list("email", flat=True)))


def _mensaje(
    motivo: Motivo, solicitudes: Sequence[Solicitud], destinatarios: list[str], conexion: Any
) -> mail.EmailMessage:
    return mail.EmailMessage(
        subject=_asunto(motivo, len(solicitudes)),
        body=render_to_string(
            "privacidad/recordatorio.txt",
            {"motivo": motivo.value, "solicitudes": solicitudes, "sitio": settings.SITE_URL},
        ),
        to=destinatarios,
        connection=conexion,
    )


def _asunto(motivo: Motivo, n: int) -> str:
    match motivo:
        case Motivo.PROXIMA:
            frase = ngettext("%d solicitud vence pronto", "%d solicitudes vencen pronto", n)
        case Motivo.VENCE:
            frase = ngettext("%d solicitud vence hoy", "%d solicitudes vencen hoy", n)
        case Motivo.VENCIDA:
            frase = ngettext("%d solicitud ha vencido", "%d solicitudes han vencido", n)
        case Motivo.REAPARECIDA:
            frase = ngettext("%d solicitud se ha vuelto a abrir", "%d solicitudes se han vuelto a abrir", n)
    return _("Memoria · privacidad: %s") % (frase % n)


def _escribir(motivo: Motivo, suyas: Sequence[tuple[Solicitud, str]]) -> None:
    with transaction.atomic():
        for solicitud, vez in suyas:
            registro.anotar(
                tipo="recordatorio",
                referencia=solicitud.referencia,
                datos={
                    "motivo": motivo.value,
                    "vez": vez,
                    "vence": solicitud.vence.isoformat(),
                },
            )
    logger.info("recordatorio «%s» de %d solicitudes", motivo.value, len(suyas))
