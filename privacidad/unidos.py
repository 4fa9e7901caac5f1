"""The codes of purchasing that were joined to a supplier: what had been kept under them is that supplier's.

By SQL and by the name of the table: the two applications do not know each other.
"""

from __future__ import annotations

from django.db import connection

from memoria import politica
from privacidad.models import Solicitud
from privacidad.resumenes import resumen

ESPACIO = "proveedores"


def en_asiento(solicitud: Solicitud) -> dict[str, list[str]]:
    """What the entry of an erasure says besides, of a supplier: the keyed digests of the codes joined to it.

    A copy from before they were joined has their notices, and their name, under codes that nothing else ties
    to it.
    """
    if solicitud.espacio != ESPACIO:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_UNIDOS, [solicitud.sujeto_id])
        digestos = sorted(_de(codigo) for (codigo,) in cursor.fetchall())
    return {"unidos": digestos} if digestos else {}


def codigos() -> dict[str, str]:
    """The code of each supplier, by its keyed digest."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT codigo FROM public.compras_proveedor")
        return {_de(codigo): codigo for (codigo,) in cursor.fetchall()}


def _de(codigo: str) -> str:
    return resumen(politica.prefijo(ESPACIO, codigo))


_UNIDOS = """
SELECT o.codigo FROM public.compras_proveedor o
JOIN public.compras_proveedor d ON d.id = o.fusionado_en_id
WHERE d.codigo = %s
"""
