"""Other people's rows that name the person, where it was decided that the row goes."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from django.db import connection
from django.utils.translation import gettext_lazy as _
from django.utils.translation import npgettext_lazy

from memoria.models import Documento
from privacidad import fuentes, identificadores
from privacidad.destinos.base import Destino, Recuento, Sujeto, una_fila
from privacidad.estados import Estado
from privacidad.models import Mencion, Solicitud
from privacidad.olvido import resumen_de_fila
from privacidad.resumenes import resumen, resumen_de_lista

Direccion = tuple[str, str]


class Menciones(Destino):
    """The documents decided on at the review (see :mod:`privacidad.menciones`), by their addresses.

    One that was written again since, and no longer names the person, is not touched. Once the request is
    closed only digests of the addresses are left: the rows that were there before the decision and are there
    again (a restored copy) are still found by them.
    """

    nombre = "menciones"
    decidido_fila_a_fila = True
    etiqueta = _("Datos de otras personas que la mencionan")
    etiquetas = {
        "documentos": npgettext_lazy("recuento", "documento", "documentos"),
        "vectores": npgettext_lazy("recuento", "vector", "vectores"),
    }
    funciones = ("langgraph.contar_filas(text[], text[])", "langgraph.borrar_filas(text[], text[])")
    CONTAR = "SELECT documentos, vectores FROM langgraph.contar_filas(%s::text[], %s::text[])"
    BORRAR = "SELECT documentos, vectores FROM langgraph.borrar_filas(%s::text[], %s::text[])"
    consultas = (CONTAR, BORRAR)

    def contar(self, sujeto: Sujeto) -> Recuento:
        return self._con(self.CONTAR, self._decididas(sujeto))

    def contar_hasta(self, sujeto: Sujeto, momento: datetime) -> Recuento:
        # Which rows go was decided one by one: there are no more of them since.
        return {"documentos": self.contar(sujeto)["documentos"]}

    def retenidos(self, sujeto: Sujeto) -> Recuento:
        """Rows that were decided on and are held back since, in the request of whoever they are about."""
        retenidas = _retenidas(self._decididas(sujeto))
        return self._con(self.CONTAR, retenidas) if retenidas else {}

    def suprimir(self, sujeto: Sujeto) -> Recuento:
        return self._con(self.BORRAR, self.direcciones(sujeto))

    def suprimir_hasta(self, sujeto: Sujeto, momento: datetime) -> Recuento:
        # Other people's rows: the replay finds them by what the register says was decided about each.
        return {}

    def parametros(self, sujeto: Sujeto) -> dict[str, str]:
        filas = [resumen_de_fila(p, c) for p, c in self.direcciones(sujeto)]
        return {"sujeto": resumen(sujeto.prefijo), "filas": resumen_de_lista(filas)}

    def _con(self, consulta: str, direcciones: Collection[Direccion]) -> Recuento:
        return una_fila(consulta, [[p for p, _ in direcciones], [c for _, c in direcciones]])

    def direcciones(self, sujeto: Sujeto) -> list[Direccion]:
        """The rows that go: those that were decided on, but what is held back."""
        decididas = self._decididas(sujeto)
        retenidas = _retenidas(decididas)
        return [d for d in decididas if d not in retenidas]

    def _decididas(self, sujeto: Sujeto) -> list[Direccion]:
        """Every one was decided by a person, so they are few: a list of them is no burden."""
        suyo = resumen(sujeto.prefijo)
        decididas = Mencion.objects.por_borrar(suyo).order_by("pk").values_list("prefijo", "clave", "momento")
        olvidadas = {p: m for p, c, m in decididas if not c}
        direcciones = dict.fromkeys((p, c) for p, c, _m in decididas if c)
        for limpia in _ya_no_mencionan(sujeto):
            direcciones.pop(limpia, None)
        # Looking for them reads the whole store. A row that has gone since is counted as gone all the same.
        if self.nombre not in sujeto.hallado:
            # Of who had been erased and is there again, as the watch tells them: as they were.
            desde = "updated_at" if sujeto.corte else "created_at"
            sujeto.hallado[self.nombre] = _vueltas(suyo, olvidadas, desde)
        return [*direcciones, *sujeto.hallado[self.nombre]]


def _vueltas(suyo: str, olvidadas: dict[str, datetime], desde: str) -> list[Direccion]:
    """Of the rows an earlier request erased, those that are there again and are not decided about now."""
    if not olvidadas:
        return []
    ahora = set(Mencion.objects.con_direccion(suyo).values_list("prefijo", "clave"))
    return [d for d in _reencontradas(olvidadas, desde) if d not in ahora]


def _retenidas(direcciones: Collection[Direccion]) -> set[Direccion]:
    if not direcciones:
        return set()
    retenidas = Documento.objects.filter(pk__in=direcciones, retenido=True)
    return set(retenidas.values_list("prefix", "key"))


def _ya_no_mencionan(sujeto: Sujeto) -> Iterable[Direccion]:
    solicitud = Solicitud.objects.abiertas().filter(resumen=resumen(sujeto.prefijo)).first()
    if solicitud is None:
        return
    buscados = identificadores.de_la_solicitud(solicitud)
    with connection.cursor() as cursor:
        cursor.execute(_REESCRITAS, [solicitud.pk])
        cambiadas = cursor.fetchall()
    for documento in Documento.objects.filter(pk__in=cambiadas):
        direccion = (documento.prefix, documento.key)
        textos = identificadores.textos_de_fila(*direccion, documento.value)
        if not identificadores.hallados(buscados, textos):
            yield direccion


def reaparecidas() -> set[int]:
    """The numbers of the completed requests of which a row that was erased as a mention is there again: at
    its place, and as it was when it was decided that it goes."""
    decididas = Mencion.objects.filter(
        clave="", decision=Mencion.Decision.BORRAR, solicitud__estado=Estado.COMPLETADA
    )
    olvidadas: dict[str, datetime] = {}
    de_quien: dict[str, set[int]] = {}
    for fila, momento, solicitud in decididas.values_list("prefijo", "momento", "solicitud"):
        olvidadas[fila] = max(momento, olvidadas.get(fila, momento))
        de_quien.setdefault(fila, set()).add(solicitud)
    halladas = [resumen_de_fila(*direccion) for direccion in _reencontradas(olvidadas, "updated_at")]
    for fuente in fuentes.FUENTES:
        halladas += [resumen_de_fila(*fila.direccion) for fila in fuente.reencontradas(olvidadas)]
    return {solicitud for fila in halladas for solicitud in de_quien[fila]}


def _reencontradas(olvidadas: dict[str, datetime], desde: str = "created_at") -> Iterable[Direccion]:
    """The rows whose digest is one of these and that are older than what was decided about them: there since
    before it, or, by ``updated_at``, unchanged since."""
    if not olvidadas:
        return
    antiguos = Documento.objects.filter(**{f"{desde}__lte": max(olvidadas.values())})
    for prefijo, clave, escrito in antiguos.values_list("prefix", "key", desde).iterator():
        momento = olvidadas.get(resumen_de_fila(prefijo, clave))
        if momento and escrito <= momento:
            yield prefijo, clave


_REESCRITAS = """
SELECT DISTINCT s.prefix, s.key
FROM public.privacidad_mencion m JOIN langgraph.store s ON s.prefix = m.prefijo AND s.key = m.clave
WHERE m.solicitud_id = %s AND m.decision = 'borrar' AND s.updated_at > m.momento
"""
