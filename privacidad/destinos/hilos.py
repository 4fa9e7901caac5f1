"""The conversations: the subject's threads in the registry and everything LangGraph keeps of them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.utils.translation import gettext_lazy as _
from django.utils.translation import npgettext_lazy

from memoria.models import Hilo
from privacidad.destinos.base import Destino, Rastro, Recuento, Sujeto, por_tandas, una_fila
from privacidad.resumenes import resumen, resumen_de_lista


class Hilos(Destino):
    """Checkpoints, blobs and writes by the captured thread ids, then the registry's rows.

    Foreign keys from LangGraph's tables to the registry refuse to leave any of it behind. The registry is
    counted by subject, so a thread born after the capture shows in the second count.
    """

    nombre = "hilos"
    etiqueta = _("Conversaciones")
    etiquetas = {
        "hilos": npgettext_lazy("recuento", "hilo", "hilos"),
        "checkpoints": npgettext_lazy("recuento", "punto de control", "puntos de control"),
        "blobs": npgettext_lazy("recuento", "valor de punto de control", "valores de puntos de control"),
        "escrituras": npgettext_lazy("recuento", "escritura pendiente", "escrituras pendientes"),
    }
    admite_exclusiones = True
    vallado = True
    tablas = frozenset(
        {
            "public.hilos",
            "langgraph.checkpoints",
            "langgraph.checkpoint_blobs",
            "langgraph.checkpoint_writes",
        }
    )
    funciones = ("langgraph.contar_hilos(text[])", "langgraph.borrar_hilos(text[])")
    CONTAR = """
SELECT (SELECT count(*) FROM public.hilos WHERE espacio = %s AND sujeto_id = %s AND creado <= %s) AS hilos,
       checkpoints, blobs, escrituras
FROM langgraph.contar_hilos(%s::text[])
"""
    CONTAR_CONTENIDO = "SELECT checkpoints, blobs, escrituras FROM langgraph.contar_hilos(%s::text[])"
    # The foreign keys are looked at when the statement ends, whichever of the two was first.
    BORRAR = """
WITH contenido AS MATERIALIZED (
    SELECT checkpoints, blobs, escrituras FROM langgraph.borrar_hilos(%(hilos)s::text[])
),
registro AS (DELETE FROM public.hilos WHERE thread_id = ANY (%(hilos)s::text[]) RETURNING 1)
SELECT (SELECT count(*) FROM registro) AS hilos, checkpoints, blobs, escrituras FROM contenido
"""
    RASTROS = """
SELECT espacio, sujeto_id, min(creado) AS desde
FROM public.hilos
WHERE (espacio, sujeto_id) > (%s, %s)
GROUP BY espacio, sujeto_id
ORDER BY espacio, sujeto_id
LIMIT %s
"""
    consultas = (CONTAR, BORRAR)

    def contar(self, sujeto: Sujeto) -> Recuento:
        hasta = self.hasta(sujeto) or "infinity"
        return una_fila(self.CONTAR, [sujeto.espacio, sujeto.sujeto_id, hasta, list(sujeto.hilos)])

    def contar_hasta(self, sujeto: Sujeto, momento: datetime) -> Recuento:
        # What a conversation holds grows while it goes on.
        antiguos = Hilo.objects.del_sujeto(sujeto.espacio, sujeto.sujeto_id).filter(creado__lte=momento)
        return {"hilos": antiguos.count()}

    def suprimir(self, sujeto: Sujeto) -> Recuento:
        retenidos = set(sujeto.excluidos.get(self.nombre, ()))
        hilos = [h for h in sujeto.hilos if h not in retenidos]
        return una_fila(self.BORRAR, {"hilos": hilos})

    def suprimir_hasta(self, sujeto: Sujeto, momento: datetime) -> Recuento:
        # A thread holds its own history: what was said before the moment cannot be taken out of it.
        return self.suprimir(sujeto)

    def retenidos(self, sujeto: Sujeto) -> Recuento:
        retenidos = [h for h in sujeto.hilos if h in sujeto.excluidos.get(self.nombre, ())]
        if not retenidos:
            return {}
        return {"hilos": len(retenidos), **una_fila(self.CONTAR_CONTENIDO, [retenidos])}

    def sujetos(self, cuantos: int, hasta: datetime) -> Iterator[Rastro]:
        return (Rastro(*fila) for fila in por_tandas(self.RASTROS, cuantos, ["", ""]))

    def parametros(self, sujeto: Sujeto) -> dict[str, str]:
        return {"sujeto": resumen(sujeto.prefijo), "hilos": resumen_de_lista(sujeto.hilos)}
