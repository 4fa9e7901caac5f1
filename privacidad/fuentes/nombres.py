"""Names of suppliers in purchasing's list that name a person who is not that supplier.

"Marta Ruiz, 612 345 678" may be what somebody wrote as the name of a company. A row of the list is never
deleted, for what purchasing bought is kept by its code: the code takes the place of the name, as it does of
an erased supplier (:mod:`privacidad.destinos.compras`), and here the supplier stays as active as it was.
The name of the supplier whose request it is goes with what is theirs, and is no mention.

A name may be written again, and its row does not say when: purchasing's log does.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db import connection

from privacidad import identificadores
from privacidad.fuentes.numeradas import Fila, FuenteNumerada
from privacidad.fuentes.retirados import DEL_PROVEEDOR
from privacidad.models import Solicitud
from privacidad.tosco import nombra


@dataclass(eq=False)
class FuenteDeNombres(FuenteNumerada):
    def olvidar_reescritas(self, solicitud: Solicitud) -> None:
        """Forget what was decided about a supplier that was given another name since."""
        with connection.cursor() as cursor:
            cursor.execute(_OLVIDAR, {"solicitud": solicitud.pk, "raiz": self.RAIZ})

    def por_borrar(self, resumen: str, solicitud: Solicitud | None) -> list[Fila]:
        """As of any other, but not one that has another name since, which no longer names the person."""
        filas = super().por_borrar(resumen, solicitud)
        if solicitud is None or not filas:
            return filas
        buscados = identificadores.de_la_solicitud(solicitud)
        dichos = self.textos(f.direccion for f in filas)
        return [f for f in filas if identificadores.hallados(buscados, dichos.get(f.direccion, ("", []))[1])]


_ESTOS = "p.id = ANY (%(numeros)s::bigint[]) AND p.nombre <> p.codigo"
_DE = "FROM public.compras_proveedor p"
# Adding a supplier says no field; a change says which.
_NOMBRADO = """
FROM public.django_admin_log l JOIN public.django_content_type t ON t.id = l.content_type_id
WHERE t.app_label = 'compras' AND t.model = 'proveedor'
  AND (l.change_message ILIKE '%%"fields": [%%"nombre"%%' OR l.change_message LIKE '%%"added": {}%%')
"""
NOMBRES = FuenteDeNombres(
    NOMBRE="nombres",
    RAIZ="nombres.proveedores",
    FILAS=("nombres",),
    de_columnas=lambda nombre: [nombre],
    BUSCAR=f"""
SELECT p.id, p.nombre {_DE}
WHERE {DEL_PROVEEDOR} IS NOT TRUE AND p.nombre <> p.codigo AND {nombra("p.nombre")}
ORDER BY p.id
""",
    LEER=f"SELECT p.id, p.codigo, p.nombre {_DE} WHERE {_ESTOS}",
    # Since when it has the name it has; one whose log is no longer there, since always.
    ANTERIORES=f"""
SELECT p.id, coalesce(e.desde, 'epoch') {_DE}
CROSS JOIN LATERAL (SELECT max(l.action_time) AS desde {_NOMBRADO} AND l.object_id = p.id::text) e
WHERE p.nombre <> p.codigo AND coalesce(e.desde, 'epoch') <= %(hasta)s
ORDER BY p.id
""",
    CONTAR=f"SELECT count(*) {_DE} WHERE {_ESTOS}",
    BORRAR=f"""
WITH borrados AS (UPDATE public.compras_proveedor p SET nombre = p.codigo WHERE {_ESTOS} RETURNING 1)
SELECT count(*) FROM borrados
""",
    SELLAR=f"SELECT jsonb_build_object('tabla', 'nombres', 'fila', to_jsonb(p))::text {_DE} WHERE {_ESTOS}",
)
_OLVIDAR = f"""
DELETE FROM public.privacidad_mencion m
WHERE m.solicitud_id = %(solicitud)s AND m.prefijo = %(raiz)s
  AND EXISTS (SELECT {_NOMBRADO} AND l.object_id = m.clave AND l.action_time > m.momento)
"""
