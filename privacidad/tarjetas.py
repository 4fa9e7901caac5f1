"""What the panel says of privacy to who may see the requests."""

from __future__ import annotations

from collections.abc import Iterable

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memoria.comandos import Salida
from memoria.explorador.panel import Tarjeta
from privacidad import plazos, registro, verificacion
from privacidad.estados import Estado
from privacidad.models import Solicitud
from privacidad.querysets import SolicitudQuerySet


def tarjetas(request: HttpRequest) -> Iterable[Tarjeta]:
    """The register when it is broken; requests due, come back, half done and approved; how many are open."""
    if request.user.has_perm("privacidad.view_asiento"):
        yield from _registro_roto()
    if not request.user.has_perm("privacidad.view_solicitud"):
        return
    lista = reverse("privacidad:solicitudes")
    vencen = Solicitud.objects.vencen_hasta(plazos.hoy()).count()
    if vencen:
        yield Tarjeta(
            titulo=_("Supresiones que vencen"),
            cifra=vencen,
            frase=ngettext(
                "solicitud vence hoy o ya ha vencido.", "solicitudes vencen hoy o ya han vencido.", vencen
            ),
            url=lista,
            tono="mal",
        )
    yield from _a_medias(lista)
    esperan = Solicitud.objects.filter(estado=Estado.APROBADA).count()
    if esperan:
        yield Tarjeta(
            titulo=_("Supresiones por ejecutar"),
            cifra=esperan,
            frase=ngettext(
                "solicitud aprobada espera a que se borren los datos.",
                "solicitudes aprobadas esperan a que se borren los datos.",
                esperan,
            ),
            url=f"{lista}?estado={Estado.APROBADA}",
            tono="aviso",
        )
    abiertas = Solicitud.objects.abiertas().count()
    yield Tarjeta(
        titulo=_("Solicitudes de supresión"),
        cifra=abiertas,
        frase=ngettext("solicitud abierta.", "solicitudes abiertas.", abiertas)
        if abiertas
        else _("No hay ninguna abierta."),
        url=lista,
        tono="neutra",
    )


def _registro_roto() -> Iterable[Tarjeta]:
    ultima = registro.ultima_verificacion()
    if ultima and ultima.codigo != Salida.HECHO and ultima.recuento["primera_rota"] is None:
        yield Tarjeta(
            titulo=verificacion.titulo(ultima.recuento),
            frase=" ".join(verificacion.faltas(ultima.recuento)),
            url=reverse("privacidad:registro"),
            tono="mal",
        )
    elif ultima and ultima.codigo != Salida.HECHO:
        yield Tarjeta(
            titulo=_("El registro está roto"),
            frase=_(
                "El asiento %(numero)s falta o no es el que se escribió: compárelo con la copia de fuera."
            )
            % {"numero": ultima.recuento["primera_rota"]},
            url=reverse("privacidad:registro"),
            tono="mal",
        )


def _a_medias(lista: str) -> Iterable[Tarjeta]:
    """What came back and what is half done: neither is done."""
    reaparecidas = Solicitud.objects.reaparecidas().count()
    if reaparecidas:
        yield Tarjeta(
            titulo=_("Supresiones reaparecidas"),
            cifra=reaparecidas,
            frase=ngettext(
                "persona ya borrada ha vuelto a aparecer.",
                "personas ya borradas han vuelto a aparecer.",
                reaparecidas,
            ),
            url=f"{lista}?estado={Estado.REAPARECIDA}",
            tono="mal",
        )
    parciales = Solicitud.objects.parciales()
    cuantas = parciales.count()
    if cuantas:
        yield Tarjeta(
            titulo=_("Supresiones a medias"),
            cifra=cuantas,
            frase=" ".join(
                (
                    ngettext(
                        "solicitud sin terminar de borrar.",
                        "solicitudes sin terminar de borrar.",
                        cuantas,
                    ),
                    *_a_que_esperan(parciales),
                )
            ),
            url=f"{lista}?estado={Estado.PARCIAL}",
            tono="aviso",
        )


def _a_que_esperan(parciales: SolicitudQuerySet) -> Iterable[str]:
    resultados = parciales.con_resultado()
    retenidas = resultados.filter(retenidos__gt=0).count()
    if retenidas:
        yield (
            ngettext(
                "%d espera a que se suelten sus datos retenidos.",
                "%d esperan a que se suelten sus datos retenidos.",
                retenidas,
            )
            % retenidas
        )
    sin_confirmar = resultados.filter(sin_confirmar__gt=0).count()
    if sin_confirmar:
        yield (
            ngettext(
                "%d espera a que otro sistema confirme el borrado.",
                "%d esperan a que otro sistema confirme el borrado.",
                sin_confirmar,
            )
            % sin_confirmar
        )
