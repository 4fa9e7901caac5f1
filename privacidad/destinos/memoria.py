"""The store: the subject's documents and their vectors."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.utils.translation import gettext_lazy as _
from django.utils.translation import npgettext_lazy

from privacidad.destinos.base import (
    Destino,
    Rastro,
    Recuento,
    Sujeto,
    por_tandas,
    rastros_de_prefijos,
    una_fila,
)
from privacidad.resumenes import resumen


class Memoria(Destino):
    """``store`` and ``store_vectors``: exactly ``clientes.C1`` and what begins with ``clientes.C1.``.

    The functions run as the owner: no row policy and no expiry date hides a row from them.
    """

    nombre = "memoria"
    etiqueta = _("Memoria de los agentes")
    etiquetas = {
        "documentos": npgettext_lazy("recuento", "documento", "documentos"),
        "vectores": npgettext_lazy("recuento", "vector", "vectores"),
    }
    admite_exclusiones = True
    vallado = True
    tablas = frozenset({"langgraph.store", "langgraph.store_vectors"})
    funciones = ("langgraph.contar_sujeto(text, text[])", "langgraph.borrar_sujeto(text, text[])")
    funciones_con_corte = (
        "langgraph.contar_vueltos(text, timestamptz, text[])",
        "langgraph.borrar_vueltos(text, timestamptz, text[])",
        "langgraph.vueltos(text, timestamptz)",
        "langgraph.desde_cuando()",
    )
    CONTAR = "SELECT documentos, vectores FROM langgraph.contar_sujeto(%s)"
    RETENIDOS = "SELECT documentos, vectores FROM langgraph.contar_sujeto(%s, %s::text[])"
    BORRAR = "SELECT documentos, vectores FROM langgraph.borrar_sujeto(%s, %s::text[])"
    BORRAR_HASTA = "SELECT documentos, vectores FROM langgraph.borrar_sujeto_hasta(%s, %s, %s::text[])"
    CONTAR_VUELTOS = "SELECT documentos, vectores FROM langgraph.contar_vueltos(%s, %s)"
    RETENIDOS_VUELTOS = "SELECT documentos, vectores FROM langgraph.contar_vueltos(%s, %s, %s::text[])"
    BORRAR_VUELTOS = "SELECT documentos, vectores FROM langgraph.borrar_vueltos(%s, %s, %s::text[])"
    consultas = (CONTAR, BORRAR)
    consultas_con_corte = (CONTAR_VUELTOS, BORRAR_VUELTOS)
    CONTAR_HASTA = "SELECT documentos FROM langgraph.contar_sujeto_hasta(%s, %s)"
    RASTROS = "SELECT prefijo, desde FROM langgraph.rastros(%s, %s)"

    def contar(self, sujeto: Sujeto) -> Recuento:
        if hasta := self.hasta(sujeto):
            return una_fila(self.CONTAR_VUELTOS, [sujeto.prefijo, hasta])
        return una_fila(self.CONTAR, [sujeto.prefijo])

    def contar_hasta(self, sujeto: Sujeto, momento: datetime) -> Recuento:
        # By when each was first written: one that is written again is the same one.
        return una_fila(self.CONTAR_HASTA, [sujeto.prefijo, momento])

    def suprimir(self, sujeto: Sujeto) -> Recuento:
        if hasta := self.hasta(sujeto):
            return una_fila(self.BORRAR_VUELTOS, [sujeto.prefijo, hasta, self._excluidos(sujeto)])
        return una_fila(self.BORRAR, [sujeto.prefijo, self._excluidos(sujeto)])

    def suprimir_hasta(self, sujeto: Sujeto, momento: datetime) -> Recuento:
        return una_fila(self.BORRAR_HASTA, [sujeto.prefijo, momento, self._excluidos(sujeto)])

    def retenidos(self, sujeto: Sujeto) -> Recuento:
        excluidos = self._excluidos(sujeto)
        if not excluidos:
            return {}
        if hasta := self.hasta(sujeto):
            return una_fila(self.RETENIDOS_VUELTOS, [sujeto.prefijo, hasta, excluidos])
        return una_fila(self.RETENIDOS, [sujeto.prefijo, excluidos])

    def _excluidos(self, sujeto: Sujeto) -> list[str]:
        return list(sujeto.excluidos.get(self.nombre, ()))

    def sujetos(self, cuantos: int, hasta: datetime) -> Iterator[Rastro]:
        return rastros_de_prefijos(por_tandas(self.RASTROS, cuantos, [""]))

    def parametros(self, sujeto: Sujeto) -> dict[str, str]:
        return {"prefijo": resumen(sujeto.prefijo)}
