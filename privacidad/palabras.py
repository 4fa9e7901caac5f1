"""Words for the pages: how long is left, how much there is, what a state or a result looks like."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from privacidad.destinos import DESTINOS, Recuento
from privacidad.estados import Estado
from privacidad.models import Evidencia, Gestion, Solicitud


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
    """The state of a request. Half done, or done with nothing to erase, is never shown as a success.

    ``borro`` is whether something was erased, here or outside (``Solicitud.borro``).
    """
    if solicitud.estado == Estado.COMPLETADA and not borro:
        return Etiqueta(_("Completada, sin datos localizados"), "aviso")
    return Etiqueta(str(Estado(solicitud.estado).label), _TONOS.get(solicitud.estado, "neutra"))


_TONOS: dict[str, str] = {
    Estado.COMPLETADA: "bien",
    Estado.PARCIAL: "aviso",
    Estado.APROBADA: "aviso",
    Estado.REAPARECIDA: "mal",
}


def espera(solicitud: Solicitud, *, retenidos: int, sin_confirmar: int) -> list[Etiqueta]:
    """What an open request waits for besides somebody's next step: rows that are held back, from the day they
    are, and external destinations that have not confirmed."""
    if not solicitud.abierta:
        return []
    esperas = []
    if retenidos:
        esperas.append(ngettext("%d dato retenido", "%d datos retenidos", retenidos) % retenidos)
    if sin_confirmar:
        texto = ngettext(
            "Falta que lo confirme %d sistema externo",
            "Falta que lo confirmen %d sistemas externos",
            sin_confirmar,
        )
        esperas.append(texto % sin_confirmar)
    return [Etiqueta(texto, "aviso") for texto in esperas]


#: What names a person, as people call it: of a mention, which of it was found.
NOMBRES_DE_DATO = {
    "email": gettext_lazy("el correo electrónico"),
    "telefono": gettext_lazy("el teléfono"),
    "nif": gettext_lazy("el NIF o NIE"),
    "nombre": gettext_lazy("el nombre"),
    "sujeto": gettext_lazy("el identificador de la persona"),
}


def nombres_de_datos(claves: Iterable[str]) -> list[str]:
    """Those, in the order of :data:`NOMBRES_DE_DATO`; all the rest together, once, as "another"."""
    claves = set(claves)
    nombres = [str(nombre) for clave, nombre in NOMBRES_DE_DATO.items() if clave in claves]
    return [*nombres, _("otro de sus datos")] if claves - NOMBRES_DE_DATO.keys() else nombres


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


class Externo(NamedTuple):
    """How an external destination stands for a request. What is not known of a count is ``None``."""

    destino: str
    estado: Etiqueta
    gestion: Gestion
    lineas: list[tuple[str, int | None, int | None]]


def externos(gestiones: Iterable[Gestion]) -> list[Externo]:
    """Each external destination of a request with its counts, before and after."""
    return [
        Externo(
            _destino(g.destino),
            Etiqueta(str(g.get_estado_display()), _TONOS_EXTERNOS.get(g.estado, "aviso")),
            g,
            [
                (_que(g.destino, clave), g.recuento["antes"][clave], g.recuento.get("despues", {}).get(clave))
                for clave in g.recuento.get("antes", {})
            ],
        )
        for g in gestiones
    ]


_TONOS_EXTERNOS: dict[str, str] = {
    Gestion.Estado.HECHA: "bien",
    Gestion.Estado.SIN_DATOS: "neutra",
    Gestion.Estado.FALLIDA: "mal",
}


def borrado(evidencias: Iterable[Evidencia], gestiones: Iterable[Gestion]) -> str:
    """What was erased in all, by destination: "Memoria de los agentes: 2 documentos; Langfuse: 3 trazas".

    Of an external destination, what it had and was read back as gone: what is not confirmed is not erased.
    """
    total: dict[str, Recuento] = {}
    for evidencia in evidencias:
        for nombre, datos in evidencia.destinos.items():
            _sumar(total, nombre, datos["borrados"])
    for gestion in gestiones:
        if gestion.estado == Gestion.Estado.HECHA:
            # What there was says more than a deletion that was asked for twice.
            antes, borrados = gestion.recuento.get("antes", {}), gestion.recuento.get("borrados", {})
            cuales = {**antes, **borrados}
            _sumar(total, gestion.destino, {c: max(antes.get(c, 0), borrados.get(c, 0)) for c in cuales})
    partes: dict[str, list[str]] = {}
    for nombre, clave, n in _en_orden(total):
        if n:
            partes.setdefault(_destino(nombre), []).append(f"{n} {_que(nombre, clave, n)}")
    return "; ".join(f"{destino}: {', '.join(cuentas)}" for destino, cuentas in partes.items())


def _sumar(total: dict[str, Recuento], nombre: str, recuento: Mapping[str, int]) -> None:
    suyo = total.setdefault(nombre, {})
    for clave, n in recuento.items():
        suyo[clave] = suyo.get(clave, 0) + n


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
