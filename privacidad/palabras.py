"""Words for the pages: how long is left, how much there is, what a state or a result looks like."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from privacidad.destinos import DESTINOS, Recuento
from privacidad.estados import Estado
from privacidad.models import Evidencia, Solicitud


class Etiqueta(NamedTuple):
    """A badge: the word says it, the tone repeats it with an icon and a colour."""

    texto: str
    tono: str


def plazo(solicitud: Solicitud) -> Etiqueta:
    """How long is left of a request."""
    if not solicitud.abierta:
        return Etiqueta(_("Cerrada"), "neutra")
    dias = solicitud.dias_restantes
    if dias < 0:
        return Etiqueta(ngettext("Venció hace %d día", "Venció hace %d días", -dias) % -dias, "mal")
    if dias == 0:
        return Etiqueta(_("Vence hoy"), "mal")
    texto = ngettext("Queda %d día", "Quedan %d días", dias) % dias
    return Etiqueta(texto, "aviso" if dias <= DIAS_DE_AVISO else "neutra")


#: From here on the badge warns. The house answers on the same day anyway.
DIAS_DE_AVISO = 7


def estado(solicitud: Solicitud, *, borro: bool) -> Etiqueta:
    """The state of a request. Half done, or done with nothing to erase, is never shown as a success."""
    if solicitud.estado == Estado.COMPLETADA and not borro:
        return Etiqueta(_("Completada, sin datos localizados"), "aviso")
    return Etiqueta(str(Estado(solicitud.estado).label), _TONOS.get(solicitud.estado, "neutra"))


_TONOS: dict[str, str] = {
    Estado.COMPLETADA: "bien",
    Estado.PARCIAL: "aviso",
    Estado.APROBADA: "aviso",
    Estado.REAPARECIDA: "mal",
}


class Linea(NamedTuple):
    """One count of one destination, before and, once erased, after."""

    destino: str
    que: str
    antes: int
    despues: int | None = None


def lineas_previas(vista_previa: Mapping[str, Recuento]) -> list[Linea]:
    """The preview, row by row."""
    return [Linea(_destino(nombre), _que(nombre, clave), n) for nombre, clave, n in _en_orden(vista_previa)]


def lineas(evidencia: Evidencia) -> list[Linea]:
    """The two counts of an evidence, row by row: before → after."""
    antes = {nombre: datos["antes"] for nombre, datos in evidencia.destinos.items()}
    return [
        Linea(_destino(nombre), _que(nombre, clave), n, evidencia.destinos[nombre]["despues"][clave])
        for nombre, clave, n in _en_orden(antes)
    ]


def resumen_de_datos(vista_previa: Mapping[str, Recuento]) -> str:
    """What there is, in one line: "3 documentos, 1 hilo". Empty when there is nothing."""
    return ", ".join(f"{n} {_que(nombre, clave, n)}" for nombre, clave, n in _en_orden(vista_previa) if n)


_DESTINOS = {d.nombre: d for d in DESTINOS}


def _en_orden(recuentos: Mapping[str, Recuento]) -> Iterable[tuple[str, str, int]]:
    """``(destination, key, count)`` in the order of the registry: JSON keeps another.

    A destination that is no longer registered goes last, by its bare name: old evidence is still shown.
    """
    for nombre in sorted(recuentos, key=lambda n: [*_DESTINOS, n].index(n)):
        etiquetas = _DESTINOS[nombre].etiquetas if nombre in _DESTINOS else {}
        for clave in sorted(recuentos[nombre], key=lambda c: [*etiquetas, c].index(c)):
            yield nombre, clave, recuentos[nombre][clave]


def _destino(nombre: str) -> str:
    return str(_DESTINOS[nombre].etiqueta) if nombre in _DESTINOS else nombre


def _que(nombre: str, clave: str, cuantos: int = 2) -> str:
    etiquetas = _DESTINOS[nombre].etiquetas if nombre in _DESTINOS else {}
    return etiquetas[clave] % cuantos if clave in etiquetas else clave
