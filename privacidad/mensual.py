"""The register of a month, for the record of processing: every request received in it, and how it ended.

No id and no name: the reference stands for the person.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from datetime import date
from typing import Any, NamedTuple

from django.conf import settings
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from privacidad import palabras, plazos
from privacidad.escritos.papel import Papel
from privacidad.models import Solicitud
from privacidad.templatetags.solicitudes import esperas


class Fila(NamedTuple):
    """One request. Dates are ``dd/mm/aaaa``, empty for what has not happened.

    ``vence`` is the first deadline and ``ampliada`` the second one, where there is one; ``resultado`` is its
    state today and ``borrado`` what was erased, by destination.
    """

    referencia: str
    canal: str
    recibida: str
    vence: str
    ampliada: str
    cerrada: str
    resultado: str
    borrado: str


def cabecera() -> Fila:
    """The names of the columns."""
    return Fila(
        _("Referencia"),
        _("Canal"),
        _("Recibida"),
        _("Vence"),
        _("Ampliada hasta"),
        _("Cerrada"),
        _("Resultado"),
        _("Borrado"),
    )


def filas(mes: date) -> list[Fila]:
    """The requests received in the month of ``mes``, by receipt. Each is in one month and no other."""
    recibidas = Solicitud.objects.filter(
        recibida__gte=mes.replace(day=1), recibida__lt=_siguiente(mes)
    ).con_resultado()
    return [
        Fila(
            s.referencia,
            str(s.get_canal_display()),
            _dia(s.recibida),
            _dia(_primer_plazo(s)),
            _dia(s.ampliada) if s.ampliada else "",
            _dia(timezone.localdate(s.cerrada, timezone=plazos.MADRID)) if s.cerrada else "",
            _resultado(s),
            palabras.borrado(s.evidencias.all(), s.gestiones.all()),
        )
        for s in recibidas.defer("sujeto_id", "reservado")
        .select_related("principal")
        .prefetch_related("vinculadas")
        .order_by("recibida", "pk")
    ]


def _resultado(solicitud: Any) -> str:
    """Its state in words, what it waits for, and which other request it is linked to."""
    estado = palabras.estado(solicitud, borro=solicitud.borro()).texto
    if solicitud.principal:
        estado = f"{estado}: {solicitud.principal.referencia}"
    return ". ".join((estado, *(e.texto for e in esperas(solicitud))))


def _primer_plazo(solicitud: Solicitud) -> date:
    """When it was due before it was extended. Reads ``vinculadas`` whole."""
    if not solicitud.ampliada:
        return solicitud.vence
    return plazos.vencimiento(min(s.recibida for s in (solicitud, *solicitud.vinculadas.all())))


def en_csv(mes: date) -> bytes:
    """UTF-8 with its mark, separated by semicolons: what a spreadsheet in Spanish opens as columns."""
    salida = io.StringIO(newline="")
    escritor = csv.writer(salida, delimiter=";")
    escritor.writerows([inerte(celda) for celda in fila] for fila in (cabecera(), *filas(mes)))
    return salida.getvalue().encode("utf-8-sig")


def en_pdf(mes: date) -> bytes:
    """The same, printable."""
    ahora = timezone.now()
    hoy = _dia(plazos.hoy())
    titulo = _("Registro de solicitudes de supresión")
    papel = Papel(
        titulo=titulo,
        numero=_("Registro de %(mes)s") % {"mes": nombre(mes)},
        responsable=settings.RESPONSABLE,
        momento=ahora,
        identidad=f"{mes:%Y%m}{int(ahora.timestamp()):026d}",
        apaisado=True,
    )
    encontradas = filas(mes)
    papel.parrafo(
        _("Solicitudes recibidas en %(mes)s, con su estado a %(hoy)s: %(n)s.")
        % {"mes": nombre(mes), "hoy": hoy, "n": len(encontradas)}
    )
    if encontradas:
        papel.tabla(cabecera(), encontradas, (29, 27, 22, 22, 22, 22, 40, 73))
    return papel.bytes()


def nombre(mes: date) -> str:
    """ "enero de 2026", in the reader's language, with the capital that one writes it with."""
    return date_format(mes, "YEAR_MONTH_FORMAT")


def ultimos(cuantos: int) -> list[date]:
    """The first day of each of the last months, this one first."""
    hoy = plazos.hoy()
    numeros: Iterable[int] = (hoy.year * 12 + hoy.month - 1 - n for n in range(cuantos))
    return [date(n // 12, n % 12 + 1, 1) for n in numeros]


def inerte(celda: str) -> str:
    """A cell no spreadsheet takes for a formula (OWASP, "CSV injection"): an apostrophe goes before."""
    return f"'{celda}" if celda.startswith(_FORMULA) else celda


_FORMULA: tuple[str, ...] = ("=", "+", "-", "@", "\t", "\r", "\n")


def _siguiente(mes: date) -> date:
    return date(mes.year + mes.month // 12, mes.month % 12 + 1, 1)


def _dia(dia: date) -> str:
    return f"{dia:%d/%m/%Y}"
