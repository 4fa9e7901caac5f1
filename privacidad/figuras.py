"""The fifth figure: erasure requests and the time until nothing is left."""

from __future__ import annotations

from typing import Any

from django.db import connection

from privacidad import estados, plazos
from privacidad.estados import Estado


def supresiones() -> dict[str, Any]:
    """Totals over all requests, for ``medir``.

    ``pendientes`` are open, ``vencidas`` those of them past their deadline; ``mismo_dia`` were completed on
    the day they were received (of Madrid). ``horas_hasta_cero`` is ``{"mediana", "peor"}`` in hours, ``None``
    when nothing was completed: from the moment of registering when that was on the day of receipt, else from
    00:00 of that day, since a receipt has no hour.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            _TOTALES,
            {
                "abiertas": sorted(estados.ABIERTAS),
                "completada": Estado.COMPLETADA,
                "hoy": plazos.hoy(),
                "zona": plazos.MADRID.key,
            },
        )
        recibidas, completadas, pendientes, vencidas, mismo_dia, mediana, peor = cursor.fetchone()
    return {
        "recibidas": recibidas,
        "completadas": completadas,
        "pendientes": pendientes,
        "vencidas": vencidas,
        "mismo_dia": mismo_dia,
        "horas_hasta_cero": {"mediana": _horas(mediana), "peor": _horas(peor)},
    }


_TOTALES = """
WITH s AS (
    SELECT estado, vence, recibida, cerrada,
           extract(epoch FROM cerrada - CASE
               WHEN (registrada AT TIME ZONE %(zona)s)::date = recibida THEN registrada
               ELSE recibida::timestamp AT TIME ZONE %(zona)s
           END)::float8 AS segundos
    FROM public.privacidad_solicitud
)
SELECT count(*),
       count(*) FILTER (WHERE estado = %(completada)s),
       count(*) FILTER (WHERE estado = ANY (%(abiertas)s)),
       count(*) FILTER (WHERE estado = ANY (%(abiertas)s) AND vence < %(hoy)s),
       count(*) FILTER (WHERE estado = %(completada)s AND (cerrada AT TIME ZONE %(zona)s)::date = recibida),
       percentile_cont(0.5) WITHIN GROUP (ORDER BY segundos) FILTER (WHERE estado = %(completada)s),
       max(segundos) FILTER (WHERE estado = %(completada)s)
FROM s
"""


def _horas(segundos: float | None) -> float | None:
    return None if segundos is None else round(segundos / 3600, 1)
