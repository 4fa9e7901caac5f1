"""The store: the subject's documents and their vectors."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _
from django.utils.translation import npgettext_lazy

from privacidad.destinos.base import Destino, Recuento, Sujeto, una_fila
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
    funciones = ("langgraph.contar_sujeto(text, text[])", "langgraph.borrar_sujeto(text, text[])")
    CONTAR = "SELECT documentos, vectores FROM langgraph.contar_sujeto(%s)"
    RETENIDOS = "SELECT documentos, vectores FROM langgraph.contar_sujeto(%s, %s::text[])"
    BORRAR = "SELECT documentos, vectores FROM langgraph.borrar_sujeto(%s, %s::text[])"
    consultas = (CONTAR, BORRAR)

    def contar(self, sujeto: Sujeto) -> Recuento:
        return una_fila(self.CONTAR, [sujeto.prefijo])

    def suprimir(self, sujeto: Sujeto) -> Recuento:
        return una_fila(self.BORRAR, [sujeto.prefijo, self._excluidos(sujeto)])

    def retenidos(self, sujeto: Sujeto) -> Recuento:
        excluidos = self._excluidos(sujeto)
        return una_fila(self.RETENIDOS, [sujeto.prefijo, excluidos]) if excluidos else {}

    def _excluidos(self, sujeto: Sujeto) -> list[str]:
        return list(sujeto.excluidos.get(self.nombre, ()))

    def parametros(self, sujeto: Sujeto) -> dict[str, str]:
        return {"prefijo": resumen(sujeto.prefijo)}
