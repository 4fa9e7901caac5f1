"""What purchasing keeps of a supplier besides the notices in the store.

By SQL and by the names of its tables: the two applications do not know each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy, npgettext_lazy

from privacidad.destinos.base import Destino, Rastro, Recuento, Sujeto, por_tandas, una_fila
from privacidad.fuentes.retirados import DEL_PROVEEDOR as _SUYOS
from privacidad.resumenes import resumen


class Compras(Destino):
    """Withdrawn notices, the log of what was done to notices and to the supplier, and the supplier's name.

    A supplier is somebody only when they are self-employed. Their row stays, for what purchasing bought is
    kept by its code; but it stops saying who they are: the code takes the place of the name, and nothing new
    is written about it. The log goes whole: it says why an identifier was kept, in somebody's words.
    """

    nombre = "compras"
    etiqueta = _("Compras")
    etiquetas = {
        "retirados": npgettext_lazy("recuento", "aviso retirado", "avisos retirados"),
        "anotaciones": npgettext_lazy("compras", "anotación del proveedor", "anotaciones del proveedor"),
        "nombres": ngettext_lazy("nombre en la lista de proveedores", "nombres en la lista de proveedores"),
    }
    tablas = frozenset({"public.compras_retirada", "public.django_admin_log"})
    columnas = {"public.compras_proveedor": frozenset({"nombre"})}
    CONTAR = f"""
SELECT (SELECT count(*) FROM public.compras_retirada r
        JOIN public.compras_proveedor p ON p.id = r.proveedor_id
        WHERE {_SUYOS}) AS retirados,
       (SELECT count(*) FROM public.django_admin_log l
        JOIN public.django_content_type t ON t.id = l.content_type_id
        JOIN public.compras_proveedor p ON p.id::text = l.object_id
        WHERE t.app_label = 'compras' AND t.model = 'proveedor' AND {_SUYOS}) AS anotaciones,
       (SELECT count(*) FROM public.compras_proveedor p
        WHERE {_SUYOS} AND (p.nombre <> p.codigo OR p.activo)) AS nombres
"""
    CONTAR_HASTA = f"""
SELECT (SELECT count(*) FROM public.compras_retirada r
        JOIN public.compras_proveedor p ON p.id = r.proveedor_id
        WHERE {_SUYOS} AND r.momento <= %(momento)s) AS retirados,
       (SELECT count(*) FROM public.django_admin_log l
        JOIN public.django_content_type t ON t.id = l.content_type_id
        JOIN public.compras_proveedor p ON p.id::text = l.object_id
        WHERE t.app_label = 'compras' AND t.model = 'proveedor' AND {_SUYOS}
          AND l.action_time <= %(momento)s) AS anotaciones
"""
    BORRAR = f"""
WITH retirados AS (
    DELETE FROM public.compras_retirada r USING public.compras_proveedor p
    WHERE p.id = r.proveedor_id AND {_SUYOS} AND r.momento <= %(momento)s
    RETURNING 1
),
anotaciones AS (
    DELETE FROM public.django_admin_log l USING public.django_content_type t, public.compras_proveedor p
    WHERE t.id = l.content_type_id AND t.app_label = 'compras' AND t.model = 'proveedor'
      AND p.id::text = l.object_id AND {_SUYOS} AND l.action_time <= %(momento)s
    RETURNING 1
),
nombres AS (
    UPDATE public.compras_proveedor p SET nombre = p.codigo, activo = false
    WHERE {_SUYOS} AND (p.nombre <> p.codigo OR p.activo)
      -- On a restored copy: whoever was written down again since, was written down anew.
      AND NOT EXISTS (
          SELECT FROM public.django_admin_log l JOIN public.django_content_type t ON t.id = l.content_type_id
          WHERE t.app_label = 'compras' AND t.model = 'proveedor' AND l.object_id = p.id::text
            AND l.action_time > %(momento)s)
    RETURNING 1
)
SELECT (SELECT count(*) FROM retirados) AS retirados,
       (SELECT count(*) FROM anotaciones) AS anotaciones,
       (SELECT count(*) FROM nombres) AS nombres
"""
    # Of who had been erased and is there again: what BORRAR takes, with the same moment.
    CONTAR_VUELTOS = (
        CONTAR_HASTA.rstrip()
        + f""",
       (SELECT count(*) FROM public.compras_proveedor p
        WHERE {_SUYOS} AND (p.nombre <> p.codigo OR p.activo)
          AND NOT EXISTS (
              SELECT FROM public.django_admin_log l
              JOIN public.django_content_type t ON t.id = l.content_type_id
              WHERE t.app_label = 'compras' AND t.model = 'proveedor' AND l.object_id = p.id::text
                AND l.action_time > %(momento)s)) AS nombres
"""
    )
    consultas = (CONTAR, BORRAR)
    consultas_con_corte = (CONTAR_VUELTOS, BORRAR)
    RASTROS = """
SELECT codigo, min(momento) AS desde
FROM (SELECT p.codigo, r.momento FROM public.compras_retirada r
      JOIN public.compras_proveedor p ON p.id = r.proveedor_id
      UNION ALL
      SELECT p.codigo, l.action_time FROM public.django_admin_log l
      JOIN public.django_content_type t ON t.id = l.content_type_id
      JOIN public.compras_proveedor p ON p.id::text = l.object_id
      WHERE t.app_label = 'compras' AND t.model = 'proveedor') AS suyas
WHERE codigo > %s
GROUP BY codigo
ORDER BY codigo
LIMIT %s
"""

    def contar(self, sujeto: Sujeto) -> Recuento:
        if hasta := self.hasta(sujeto):
            return una_fila(self.CONTAR_VUELTOS, {"codigo": _codigo(sujeto), "momento": hasta})
        return una_fila(self.CONTAR, {"codigo": _codigo(sujeto)})

    def contar_hasta(self, sujeto: Sujeto, momento: datetime) -> Recuento:
        return una_fila(self.CONTAR_HASTA, {"codigo": _codigo(sujeto), "momento": momento})

    def suprimir(self, sujeto: Sujeto) -> Recuento:
        return una_fila(self.BORRAR, {"codigo": _codigo(sujeto), "momento": self.hasta(sujeto) or "infinity"})

    def suprimir_hasta(self, sujeto: Sujeto, momento: datetime) -> Recuento:
        return una_fila(self.BORRAR, {"codigo": _codigo(sujeto), "momento": momento})

    def sujetos(self, cuantos: int, hasta: datetime) -> Iterator[Rastro]:
        for codigo, desde in por_tandas(self.RASTROS, cuantos, [""]):
            yield Rastro("proveedores", codigo, desde)

    def parametros(self, sujeto: Sujeto) -> dict[str, str]:
        return {"codigo": resumen(sujeto.prefijo)}


def _codigo(sujeto: Sujeto) -> str | None:
    # NULL equals nothing: a customer may have the id of a supplier.
    return sujeto.sujeto_id if sujeto.espacio == "proveedores" else None
