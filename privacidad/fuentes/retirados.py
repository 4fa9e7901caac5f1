"""Withdrawn notices of suppliers that name a person who is not that supplier.

A notice leaves the store when it is withdrawn and waits, whole, in a table of purchasing until it can no
longer be put back: by SQL and by the name of that table, as in :mod:`privacidad.destinos.compras`. Those of
the supplier whose request it is go with what is theirs, and are no mentions.

Nothing in one changes: it is put back, deleted, or there, with the same number if its supplier is joined to
another. While it is decided about it is not put back (:mod:`privacidad.reclamos`).
"""

from __future__ import annotations

import json

from django.db import connection

from privacidad import identificadores
from privacidad.fuentes.numeradas import FuenteNumerada, en_tabla
from privacidad.tosco import nombra

_RAIZ = "retirados.proveedores"
#: The supplier ``%(codigo)s``, and the codes that were joined to it: they were the same one's.
DEL_PROVEEDOR = (
    "(p.codigo = %(codigo)s OR p.fusionado_en_id ="
    " (SELECT d.id FROM public.compras_proveedor d WHERE d.codigo = %(codigo)s))"
)


def menciones_en_los_de(codigo: str) -> list[int]:
    """The mentions of open requests in the withdrawn notices of that supplier, whatever was decided."""
    with connection.cursor() as cursor:
        cursor.execute(_MENCIONES, {"raiz": _RAIZ, "codigo": codigo})
        return [numero for (numero,) in cursor.fetchall()]


def _textos(clave: str, documento: str, explicacion: str, incidencia: str) -> list[str]:
    return [clave, *identificadores.textos_de(json.loads(documento)), explicacion, incidencia]


_COLUMNAS = "r.clave, r.documento::text, r.explicacion, r.incidencia"
_TEXTO = f"concat_ws(E'\\n', {_COLUMNAS})"
# A value as JSON text has escapes where the text had a line break: each counts as a space (funciones.sql).
_POR_PLEGAR = _TEXTO.replace(
    "r.documento::text", r"""regexp_replace(r.documento::text, '\\(\\|["/bfnrt]|u[0-9a-f]{4})', ' ', 'g')"""
)
_DE = "FROM public.compras_retirada r JOIN public.compras_proveedor p ON p.id = r.proveedor_id"
RETIRADOS = FuenteNumerada(
    NOMBRE="retirados",
    RAIZ=_RAIZ,
    FILAS=("avisos",),
    de_columnas=_textos,
    BUSCAR=f"""
SELECT r.id, {_COLUMNAS} {_DE}
WHERE {DEL_PROVEEDOR} IS NOT TRUE AND {nombra(_TEXTO, _POR_PLEGAR)}
ORDER BY r.id
""",
    LEER=f"""
SELECT r.id, concat_ws(' · ', p.codigo, r.clave), {_COLUMNAS} {_DE} WHERE r.id = ANY (%(numeros)s::bigint[])
""",
    **en_tabla("public.compras_retirada", "momento", "retirados"),
)
# Of a closed request no address is left.
_MENCIONES = """
SELECT m.id FROM public.privacidad_mencion m
JOIN public.compras_retirada r ON r.id::text = m.clave
JOIN public.compras_proveedor p ON p.id = r.proveedor_id
WHERE m.prefijo = %(raiz)s AND p.codigo = %(codigo)s
"""
