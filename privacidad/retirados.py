"""Withdrawn notices of suppliers that name a person who is not that supplier.

A notice leaves the store when it is withdrawn and waits, whole, in a table of purchasing until it can no
longer be put back: by SQL and by the name of that table, as in :mod:`privacidad.destinos.compras`. Those of
the supplier whose request it is go with what is theirs, and are no mentions.

In a mention the address of one is ``("retirados.proveedores", "12")``: a number, which names nobody and stays
the same if its supplier is joined to another. Nothing in it changes: it is put back, deleted, or there.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from django.db import connection

from privacidad import identificadores
from privacidad.identificadores import Buscados
from privacidad.models import Mencion, Solicitud
from privacidad.tosco import nombra, patrones

NOMBRE = "retirados"
RAIZ = f"{NOMBRE}.proveedores"
FILAS: tuple[str, ...] = ("avisos",)
Direccion = tuple[str, str]


class Fila(NamedTuple):
    numero: int

    @property
    def direccion(self) -> Direccion:
        return RAIZ, str(self.numero)


def fila_de(direccion: Direccion) -> Fila | None:
    """What an address is of; ``None`` when it is of no withdrawn notice."""
    if direccion[0] != RAIZ or not (direccion[1].isascii() and direccion[1].isdigit()):
        return None
    return Fila(int(direccion[1]))


def mencionan(solicitud: Solicitud, buscados: Buscados) -> Iterator[tuple[Direccion, str]]:
    """``(address, kind of identifier)`` of every one that names the person, past its time too."""
    if not buscados:
        return
    codigo = solicitud.sujeto_id if solicitud.espacio == "proveedores" else None
    with connection.chunked_cursor() as cursor:
        cursor.execute(BUSCAR, {**patrones(buscados), "codigo": codigo})
        for numero, *columnas in cursor:
            for clase in identificadores.hallados(buscados, _textos(*columnas)):
                yield Fila(numero).direccion, clase


def olvidar_reescritas(solicitud: Solicitud) -> None:
    """Nothing: none of them is ever written again."""


def textos(direcciones: Iterable[Direccion]) -> dict[Direccion, tuple[str, list[str]]]:
    """Of each address that is of a withdrawn notice: its supplier's code with its key, and what it says."""
    numeros = [f.numero for d in direcciones if (f := fila_de(d))]
    if not numeros:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(LEER, {"numeros": numeros})
        return {
            Fila(numero).direccion: (f"{codigo} · {columnas[0]}", _textos(*columnas))
            for numero, codigo, *columnas in cursor.fetchall()
        }


def menciones_en_los_de(codigo: str) -> list[int]:
    """The mentions of open requests in the withdrawn notices of that supplier, whatever was decided."""
    with connection.cursor() as cursor:
        cursor.execute(MENCIONES_EN, {"raiz": RAIZ, "codigo": codigo})
        return [numero for (numero,) in cursor.fetchall()]


def por_borrar(resumen: str, solicitud: Solicitud | None) -> list[Fila]:
    """What was decided to erase for the subject of that digest, and may be there: by its number while the
    request is open, by the digest of its address afterwards."""
    decididas = Mencion.objects.filter(solicitud__resumen=resumen, decision=Mencion.Decision.BORRAR)
    direcciones = dict.fromkeys(decididas.filter(prefijo=RAIZ).values_list("prefijo", "clave"))
    filas = [f for d in direcciones if (f := fila_de(d))]
    return [*filas, *reencontradas(dict(decididas.filter(clave="").values_list("prefijo", "momento")))]


def reencontradas(olvidadas: dict[str, datetime]) -> Iterator[Fila]:
    """Those whose digest is one of these and that were withdrawn before it was decided about them: after a
    restore a number may be given again."""
    from privacidad.olvido import resumen_de_fila

    if not olvidadas:
        return
    with connection.cursor() as cursor:
        cursor.execute(ANTERIORES, {"hasta": max(olvidadas.values())})
        candidatas = cursor.fetchall()
    for numero, momento in candidatas:
        decidido = olvidadas.get(resumen_de_fila(*Fila(numero).direccion))
        if decidido and momento <= decidido:
            yield Fila(numero)


def contar(filas: Collection[Fila]) -> dict[str, int]:
    """How many of those there are."""
    return {"avisos": _una(CONTAR, filas)}


def borrar(filas: Collection[Fila]) -> dict[str, int]:
    """Delete those, and say how many there were."""
    return {"avisos": _una(BORRAR, filas)}


def selladas(fila: Fila) -> list[str]:
    """The notice, as a line of a sealed copy."""
    with connection.cursor() as cursor:
        cursor.execute(SELLAR, {"numero": fila.numero})
        return [linea for (linea,) in cursor.fetchall()]


def _una(consulta: str, filas: Collection[Fila]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(consulta, {"numeros": [f.numero for f in filas]})
        return int(cursor.fetchone()[0])


def _textos(clave: str, documento: str, explicacion: str, incidencia: str) -> list[str]:
    return [clave, *identificadores.textos_de(json.loads(documento)), explicacion, incidencia]


#: The supplier ``%(codigo)s``, and the codes that were joined to it: they were the same one's.
DEL_PROVEEDOR = (
    "(p.codigo = %(codigo)s OR p.fusionado_en_id ="
    " (SELECT d.id FROM public.compras_proveedor d WHERE d.codigo = %(codigo)s))"
)
_COLUMNAS = "r.clave, r.documento::text, r.explicacion, r.incidencia"
_TEXTO = "concat_ws(E'\\n', r.clave, {documento}, r.explicacion, r.incidencia)"
# A value as JSON text has escapes where the text had a line break: each counts as a space (funciones.sql).
_SIN_ESCAPES = r"""regexp_replace(r.documento::text, '\\(\\|["/bfnrt]|u[0-9a-f]{4})', ' ', 'g')"""
BUSCAR = f"""
SELECT r.id, {_COLUMNAS}
FROM public.compras_retirada r JOIN public.compras_proveedor p ON p.id = r.proveedor_id
WHERE {DEL_PROVEEDOR} IS NOT TRUE
  AND {nombra(_TEXTO.format(documento="r.documento::text"), _TEXTO.format(documento=_SIN_ESCAPES))}
ORDER BY r.id
"""
LEER = f"""
SELECT r.id, p.codigo, {_COLUMNAS}
FROM public.compras_retirada r JOIN public.compras_proveedor p ON p.id = r.proveedor_id
WHERE r.id = ANY (%(numeros)s::bigint[])
"""
# Of a closed request no address is left.
MENCIONES_EN = """
SELECT m.id FROM public.privacidad_mencion m
JOIN public.compras_retirada r ON r.id::text = m.clave
JOIN public.compras_proveedor p ON p.id = r.proveedor_id
WHERE m.prefijo = %(raiz)s AND p.codigo = %(codigo)s
"""
ANTERIORES = "SELECT id, momento FROM public.compras_retirada WHERE momento <= %(hasta)s ORDER BY id"
CONTAR = "SELECT count(*) FROM public.compras_retirada WHERE id = ANY (%(numeros)s::bigint[])"
BORRAR = """
WITH borrados AS (
    DELETE FROM public.compras_retirada WHERE id = ANY (%(numeros)s::bigint[]) RETURNING 1
)
SELECT count(*) FROM borrados
"""
SELLAR = """
SELECT jsonb_build_object('tabla', 'retirados', 'fila', to_jsonb(t))::text
FROM public.compras_retirada t WHERE id = %(numero)s
"""
