"""Withdrawing a notice, and putting it back.

A withdrawn notice leaves the agents' memory for a table of ours (:class:`compras.models.Retirada`), in one
statement: it is in one place or in the other, whatever happens in between. Django's connection does it,
not the store's pool: both are the role of the web, and only one connection can do both halves together.

An erasure empties that table too, without our knowing of it. Both changes hold, shared, what it asks for
alone (``memoria/sql/vallas.sql``): so it counts what we did, or we find it done; and putting back never
waits for it with a row in its hands. Should a notice come back late all the same, the fence refuses it. The
review of an erasure looks for a person in both places: nothing goes from one to the other meanwhile
(:mod:`memoria.mudanzas`), and then it is asked what the review claims.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.contrib.admin.models import ADDITION, DELETION
from django.contrib.auth.models import User
from django.db import DatabaseError, connection
from django.utils.translation import gettext as _
from psycopg.types.json import Jsonb

from compras.almacen import almacen
from compras.errores import (
    AvisoCambiado,
    AvisoNoExiste,
    AvisoNoValido,
    NoSePuedeReponer,
    PrivacidadBuscando,
    ProveedorInactivo,
    frase_de,
)
from compras.models import LARGO_EXPLICACION, LARGO_INCIDENCIA, Proveedor, Retirada
from compras.servicios.paso import (
    ESCRIBIR,
    anotar,
    del_aviso,
    espacio,
    exigir,
    existente,
    reclaman,
    traducir,
    turno,
)
from memoria import mudanzas, politica
from memoria.almacen import CAMPO_INCRUSTADO, en_texto
from memoria.deteccion import hallar
from memoria.politica import ESPACIOS, Escritor, PoliticaIncumplida
from memoria.vallas import (
    CODIGO_LIMITADO,
    CODIGO_RETENIDO,
    CODIGO_SUJETO,
    DatoLimitado,
    DatoRetenido,
    SujetoSuprimido,
)

#: How long a withdrawn notice can be put back; never past the day it would have expired.
DIAS_PARA_REPONER = 30

_REGLAS = ESPACIOS["proveedores"]
_MAXIMOS = {"explicacion": LARGO_EXPLICACION, "incidencia": LARGO_INCIDENCIA}


def retirar(
    *,
    proveedor: Proveedor,
    clave: str,
    motivo: str,
    explicacion: str = "",
    incidencia: str = "",
    version: datetime | None = None,
    por: User,
) -> bool:
    """Take a notice out of the memory, expired or not; returns whether it can be put back.

    Nothing is kept of one that had expired. Nor while an erasure claims what is about the supplier: it may be
    there for what the notice says of somebody else, and looks for it where its review found it.

    ``motivo`` is a :class:`Retirada.Motivo`; ``incidencia``, the reference of what it has become, goes with
    ``INCIDENCIA`` and with nothing else; ``OTRO`` asks for an ``explicacion``. ``version`` is the
    :attr:`Aviso.version` that the person saw, when they saw one.

    Raises ``SinPermiso``, ``AvisoNoExiste``, ``AvisoCambiado``, ``AvisoNoValido`` (whose ``campo`` is one of
    those three) and ``PrivacidadBuscando``.
    """
    exigir(por, ESCRIBIR)
    explicacion, incidencia = explicacion.strip(), incidencia.strip()
    _comprobar(motivo, explicacion, incidencia)
    with _traducir(), turno(proveedor, clave):
        prefijo = _sin_supresion_a_medias(proveedor)
        aviso = existente(proveedor, clave)
        if version is not None and aviso.version != version:
            raise AvisoCambiado
        anotar(por, proveedor, DELETION, {**del_aviso(clave), "motivo": motivo, "incidencia": incidencia})
        with connection.cursor() as cursor:
            # A row the policy hides would be "deleted" without a word.
            cursor.execute("SELECT langgraph.exigir_libre(%s, %s)", [prefijo, clave])
            cursor.execute(
                _RETIRAR,
                {
                    "prefijo": prefijo,
                    "clave": clave,
                    "proveedor": proveedor.pk,
                    "motivo": motivo,
                    "explicacion": explicacion,
                    "incidencia": incidencia,
                    "por": por.pk,
                    "dias": DIAS_PARA_REPONER,
                    "vida": _REGLAS.vida_minutos,
                    "conservar": conservable(proveedor),
                },
            )
            retirados, guardados = cursor.fetchone()
            if retirados != 1:
                raise AvisoNoExiste
    return bool(guardados)


def conservable(proveedor: Proveedor) -> bool:
    """Whether what is withdrawn of that supplier now may be kept, to be put back."""
    return not any(reclaman(proveedor.codigo))


def reponer(*, retirada: int, por: User) -> tuple[Proveedor, str]:
    """Put a withdrawn notice back, with the life it had left; returns its supplier and key.

    Who wrote it, when, its version and its expiry are those it had.

    Raises ``SinPermiso``, ``NoSePuedeReponer``, ``ProveedorInactivo``, ``AvisoNoValido`` (the card is
    restricted), ``PrivacidadBuscando`` and ``MemoriaNoDisponible``; then nothing has changed.
    """
    exigir(por, ESCRIBIR)
    hallada = _reponible(retirada)
    proveedor, clave = hallada.proveedor, hallada.clave
    _exigir_sano(hallada)
    vector = _vector(hallada)  # perhaps a call to another server: before anything is held
    with _traducir(), turno(proveedor, clave):
        prefijo = _sin_supresion_a_medias(proveedor)
        hallada = _reponible(retirada, bloquear=True)
        if motivo := next(reclaman(proveedor.codigo), None):
            raise NoSePuedeReponer(motivo)
        if hallada.proveedor != proveedor:
            raise NoSePuedeReponer(_("Este proveedor se ha unido a otro: ábralo de nuevo en la lista."))
        if not Proveedor.objects.activos().filter(pk=proveedor.pk).exists():
            raise ProveedorInactivo
        valores: dict[str, Any] = {
            "prefijo": prefijo,
            "clave": clave,
            "valor": Jsonb(hallada.documento),
            "escrito": hallada.escrito,
            "version": hallada.version,
            "caduca": hallada.caduca or hallada.reponible_hasta,
            "vida": hallada.vida_minutos or _REGLAS.vida_minutos,
            "campo": CAMPO_INCRUSTADO,
            "vector": vector,
        }
        with connection.cursor() as cursor:
            cursor.execute(_REPONER, valores)
            if cursor.rowcount != 1:
                raise NoSePuedeReponer(_("Ya hay otro aviso en su lugar: este no se puede reponer."))
            if vector:
                cursor.execute(_REPONER_VECTOR, valores)
        hallada.delete()
        anotar(por, proveedor, ADDITION, {**del_aviso(clave), "repuesto": True})
    return proveedor, clave


def _comprobar(motivo: str, explicacion: str, incidencia: str) -> None:
    if motivo not in Retirada.Motivo.values:
        raise AvisoNoValido(_("Elija un motivo de la lista."), campo="motivo")
    if motivo == Retirada.Motivo.INCIDENCIA and not incidencia:
        raise AvisoNoValido(_("Escriba la referencia de la incidencia."), campo="incidencia")
    if motivo != Retirada.Motivo.INCIDENCIA and incidencia:
        raise AvisoNoValido(
            _("La referencia solo va con «Ya es una incidencia»: elíjalo o borre la referencia."),
            campo="incidencia",
        )
    if motivo == Retirada.Motivo.OTRO and not explicacion:
        raise AvisoNoValido(_("Diga por qué lo retira."), campo="explicacion")
    for campo, texto in (("explicacion", explicacion), ("incidencia", incidencia)):
        maximo = _MAXIMOS[campo]
        if len(texto) > maximo:
            raise AvisoNoValido(
                _("Aquí caben %(maximo)s caracteres y hay %(hay)s: acórtelo.")
                % {"maximo": maximo, "hay": len(texto)},
                campo=campo,
            )
        if politica.CONTROL.search(texto):
            raise AvisoNoValido(
                _("Hay caracteres invisibles que no se pueden guardar: bórrelos."), campo=campo
            )
        if hallar(texto):
            # It is kept beside the notice, and is no place to look for anybody.
            raise AvisoNoValido(
                _("Aquí no van datos personales (teléfonos, correos, NIF, cuentas): bórrelos."), campo=campo
            )


def _reponible(pk: int, *, bloquear: bool = False) -> Retirada:
    consulta = Retirada.objects.reponibles().filter(pk=pk)
    hallada = consulta.select_for_update() if bloquear else consulta.select_related("proveedor")
    if retirada := hallada.first():
        return retirada
    raise NoSePuedeReponer(
        _("Este aviso ya no se puede reponer: alguien lo ha repuesto, o se ha pasado el plazo.")
    )


def _exigir_sano(retirada: Retirada) -> None:
    try:
        politica.comprobar_escritura(
            espacio(retirada.proveedor), retirada.clave, retirada.documento, None, Escritor.COMPRAS
        )
    except (PoliticaIncumplida, TypeError, AttributeError) as error:
        # Another shape than an object has no fields to ask for.
        raise NoSePuedeReponer(
            _("Este aviso estaba dañado y no se puede reponer: si sigue siendo cierto, escriba otro.")
        ) from error


def _vector(retirada: Retirada) -> str | None:
    with traducir():
        modelo = almacen().modelo
        return en_texto(modelo.embed_documents([retirada.documento["texto"]])[0]) if modelo else None


def _sin_supresion_a_medias(proveedor: Proveedor) -> str:
    """Wait for an erasure of this supplier that is running, and keep the next one waiting until we commit;
    and the same with a search of mentions, of anybody.

    Before any row is held: an erasure waits for rows. Returns the supplier's prefix in the store.
    """
    prefijo = politica.prefijo("proveedores", proveedor.codigo)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock_shared(hashtextextended(%s, 7206))", [prefijo])
    mudanzas.mover()
    return prefijo


@contextmanager
def _traducir() -> Iterator[None]:
    try:
        yield
    except mudanzas.EsperaAgotada as error:
        raise PrivacidadBuscando from error
    except DatabaseError as error:
        codigo = getattr(error.__cause__, "sqlstate", None)
        if codigo == CODIGO_LIMITADO:
            raise AvisoNoValido(frase_de(DatoLimitado())) from error
        if codigo == CODIGO_RETENIDO:
            raise AvisoNoValido(frase_de(DatoRetenido())) from error
        if codigo == CODIGO_SUJETO:
            raise NoSePuedeReponer(frase_de(SujetoSuprimido())) from error
        raise


# What cannot be put back any more is deleted and not kept.
_RETIRAR = """
WITH retirado AS (
    DELETE FROM langgraph.store WHERE prefix = %(prefijo)s AND key = %(clave)s
    RETURNING key, value, created_at, updated_at, expires_at, ttl_minutes,
              least(now() + make_interval(days => %(dias)s),
                    coalesce(expires_at, created_at + make_interval(mins => %(vida)s))) AS reponible_hasta
),
guardado AS (
    INSERT INTO public.compras_retirada
        (proveedor_id, clave, documento, escrito, version, caduca, vida_minutos,
         motivo, explicacion, incidencia, por_id, momento, reponible_hasta)
    SELECT %(proveedor)s, key, value, created_at, updated_at, expires_at, ttl_minutes,
           %(motivo)s, %(explicacion)s, %(incidencia)s, %(por)s, now(), reponible_hasta
    FROM retirado WHERE reponible_hasta > now() AND %(conservar)s
    RETURNING 1
)
SELECT (SELECT count(*) FROM retirado), (SELECT count(*) FROM guardado)
"""

_REPONER = """
INSERT INTO langgraph.store (prefix, key, value, created_at, updated_at, expires_at, ttl_minutes)
VALUES (%(prefijo)s, %(clave)s, %(valor)s, %(escrito)s, %(version)s, %(caduca)s, %(vida)s)
ON CONFLICT (prefix, key) DO NOTHING
"""

_REPONER_VECTOR = """
INSERT INTO langgraph.store_vectors (prefix, key, field_name, embedding, created_at, updated_at)
VALUES (%(prefijo)s, %(clave)s, %(campo)s, %(vector)s, %(escrito)s, %(version)s)
"""
