"""What texts of the house say of a person, for their access file (art. 15 GDPR).

Their own withdrawn notices, when they are a supplier; and of what was found to name them in an open request,
the passages that do: notices of suppliers, documents, purchasing's log. Not what other people's cards say,
which is those people's; nor the identifiers of who else is named beside them (art. 15(4)). The name of
somebody else cannot be told from any other word.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from django.db import connection

from memoria.deteccion import hallar
from memoria.identificadores import enmascarar
from memoria.models import Documento
from privacidad import fuentes, identificadores, menciones
from privacidad.fuentes.retirados import DEL_PROVEEDOR
from privacidad.identificadores import Buscados
from privacidad.models import Solicitud

Elemento = dict[str, Any]
#: Rows read at a time.
LOTE = 100


def avisos_retirados(espacio: str, sujeto_id: str) -> Iterator[Elemento]:
    """The notices withdrawn of that supplier, and of the codes joined to it, while they are kept."""
    if espacio != "proveedores":
        return
    with connection.chunked_cursor() as cursor:
        cursor.execute(RETIRADOS, {"codigo": sujeto_id})
        nombres = [columna.name for columna in cursor.description]
        for fila in cursor:
            elemento = dict(zip(nombres, fila, strict=True))
            yield {**elemento, "contenido": json.loads(elemento["contenido"])}


def mencionada(de: str) -> Iterator[Elemento]:
    """The passages that name the subject of that digest, of each row that their open request found."""
    for solicitud in Solicitud.objects.abiertas().filter(resumen=de).order_by("pk"):
        buscados = identificadores.de_la_solicitud(solicitud)
        filas = menciones.por_fila(solicitud).iterator(chunk_size=LOTE)
        while lote := [(f["prefijo"], f["clave"]) for f in islice(filas, LOTE)]:
            for donde, textos in _dicho(lote):
                if suyos := [p for texto in textos for p in pasajes(buscados, texto)]:
                    yield {"solicitud": solicitud.referencia, "donde": donde, "pasajes": suyos}


def pasajes(buscados: Buscados, texto: str) -> list[str]:
    """The lines of a text that name the person, with the identifiers of anybody else masked in them."""
    suyos: list[str] = []
    hasta = 0
    for inicio, fin in sorted(t for _clase, i in buscados for t in i.tramos(texto)):
        if inicio < hasta:
            continue  # in the passage before it
        desde = texto.rfind("\n", 0, inicio) + 1
        salto = texto.find("\n", fin)
        hasta = len(texto) if salto < 0 else salto
        suyos.append(_sin_los_demas(buscados, texto[desde:hasta]))
    return suyos


def _sin_los_demas(buscados: Buscados, pasaje: str) -> str:
    suyos = [t for _clase, i in buscados for t in i.tramos(pasaje)]
    ajenos = [
        (h.inicio, h.fin) for h in hallar(pasaje) if not any(i < h.fin and h.inicio < f for i, f in suyos)
    ]
    return enmascarar(pasaje, ajenos)


def _dicho(direcciones: list[tuple[str, str]]) -> Iterable[tuple[str, list[str]]]:
    """Where each of those rows is, in words, and what it says."""
    dichos = fuentes.textos(direcciones)
    de_proveedores = [d for d in direcciones if d[0].startswith("proveedores.")]
    for d in Documento.objects.filter(pk__in=de_proveedores):
        direccion = (d.prefix, d.key)
        dichos[direccion] = d.key, identificadores.textos_de_fila(*direccion, d.value)
    for direccion in direcciones:
        if direccion in dichos:
            nombre, textos = dichos[direccion]
            partes = [*map(identificadores.descodificada, direccion[0].split(".")), nombre]
            yield " · ".join(partes), textos


RETIRADOS = f"""
SELECT r.clave, r.documento::text AS contenido, to_json(r.escrito)#>>'{{}}' AS escrito,
       to_json(r.version)#>>'{{}}' AS actualizado, to_json(r.caduca)#>>'{{}}' AS caduca,
       r.vida_minutos AS vida_en_minutos, to_json(r.momento)#>>'{{}}' AS retirado,
       replace(r.motivo, '_', ' ') AS motivo, r.explicacion, r.incidencia,
       to_json(r.reponible_hasta)#>>'{{}}' AS se_borra
FROM public.compras_retirada r JOIN public.compras_proveedor p ON p.id = r.proveedor_id
WHERE {DEL_PROVEEDOR}
ORDER BY r.id
"""
