"""Purchasing's log of what was done to notices, where an entry names a person who is not that supplier.

An entry says why an identifier was kept, in somebody's words, and the key of the notice, which is whatever
the file it came in said. Those of the supplier whose request it is go with what is theirs
(:mod:`privacidad.destinos.compras`). An entry never changes.
"""

from __future__ import annotations

import json
from contextlib import suppress

from privacidad import identificadores
from privacidad.fuentes.numeradas import FuenteNumerada, en_tabla
from privacidad.fuentes.retirados import DEL_PROVEEDOR


def _textos(objeto: str, dicho: str) -> list[str]:
    textos = [dicho]
    with suppress(ValueError):  # an entry may be a sentence
        textos = identificadores.textos_de(json.loads(dicho))
    return [objeto, *textos]


_DE = "FROM public.django_admin_log l JOIN public.django_content_type t ON t.id = l.content_type_id"
_COLUMNAS = "l.object_repr, l.change_message"
ANOTACIONES = FuenteNumerada(
    NOMBRE="anotaciones",
    RAIZ="anotaciones.compras",
    FILAS=("anotaciones",),
    de_columnas=_textos,
    # Django writes its JSON in ASCII: a letter with an accent is an escape, which the coarse pattern lets
    # through and SQL could not fold. So what passes is confirmed in Python alone.
    BUSCAR=f"""
SELECT l.id, {_COLUMNAS} {_DE}
WHERE t.app_label = 'compras'
  AND NOT (t.model = 'proveedor' AND EXISTS (
      SELECT FROM public.compras_proveedor p WHERE p.id::text = l.object_id AND {DEL_PROVEEDOR}))
  AND (%(tosco)s::text IS NULL OR concat_ws(E'\\n', {_COLUMNAS}) ~ %(tosco)s)
ORDER BY l.id
""",
    LEER=f"""
SELECT l.id, concat_ws(' · ', l.object_repr, to_char(l.action_time, 'YYYY-MM-DD')), {_COLUMNAS}
{_DE} WHERE l.id = ANY (%(numeros)s::bigint[])
""",
    **en_tabla("public.django_admin_log", "action_time", "anotaciones"),
)
