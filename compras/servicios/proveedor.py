"""The list of suppliers: adding, changing, and joining two codes that turned out to be one supplier."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.contrib.admin.models import ADDITION, CHANGE
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from compras import lectura
from compras.errores import FusionImposible, PrivacidadBuscando, ProveedorNoValido, ProveedorOcupado
from compras.models import Proveedor
from compras.servicios.paso import ESCRIBIR, anotar, exigir, reclaman
from memoria import mudanzas, politica
from memoria.models import Documento
from memoria.vallas import CODIGO_LIMITADO, CODIGO_RETENIDO, CODIGO_SUJETO

ANADIR = "compras.add_proveedor"
CAMBIAR = "compras.change_proveedor"
#: What a merge waits for whoever is writing about either supplier, before it says so and changes nothing.
ESPERA = "5s"


@dataclass(frozen=True)
class Fusion:
    """What a merge did: notices moved, and how many of them got another key because theirs was taken."""

    movidos: int
    renombrados: int


def crear_proveedor(*, codigo: str, nombre: str, activo: bool = True, por: User) -> Proveedor:
    """Add a supplier. Raises ``SinPermiso`` and ``ProveedorNoValido``."""
    exigir(por, ANADIR)
    proveedor = Proveedor(codigo=codigo.strip(), nombre=nombre.strip(), activo=activo)
    _comprobar(proveedor)
    if Proveedor.objects.de_codigos([proveedor.codigo]):
        # Capitals make no other supplier: whoever types the code means the one that is there.
        raise ProveedorNoValido(_("Ya hay un proveedor con ese código."), campo="codigo")
    try:
        with transaction.atomic():
            proveedor.save()
            anotar(por, proveedor, ADDITION, {})
    except IntegrityError as error:
        raise ProveedorNoValido(_("Ya hay un proveedor con ese código."), campo="codigo") from error
    return proveedor


def cambiar_proveedor(*, proveedor: Proveedor, nombre: str, activo: bool, por: User) -> None:
    """Change the name of a supplier, or whether notices are written about it. Its code never changes.

    Raises ``SinPermiso`` and ``ProveedorNoValido``.
    """
    exigir(por, CAMBIAR)
    with transaction.atomic():
        actual = Proveedor.objects.select_for_update(no_key=True).get(pk=proveedor.pk)
        nuevos = {"nombre": nombre.strip(), "activo": activo}
        cambiados = [campo for campo, valor in nuevos.items() if getattr(actual, campo) != valor]
        if not cambiados:
            return
        if activo and actual.fusionado_en_id:
            raise ProveedorNoValido(
                _("Este código se unió a otro y no se puede activar: use el otro."), campo="activo"
            )
        for campo, valor in nuevos.items():
            setattr(actual, campo, valor)
        # Not its code, which stays: one that was let in under other rules is not a reason to keep its name.
        _comprobar(actual, menos=("codigo",))
        actual.save(update_fields=cambiados)
        anotar(por, actual, CHANGE, {"fields": cambiados})


def fusionar(*, origen: Proveedor, destino: Proveedor, por: User) -> Fusion:
    """Move the notices of ``origen``, withdrawn ones too, to ``destino``. Its code is left inactive.

    A notice keeps what it says, who wrote it and when, when it expires, its vector, and its key unless
    ``destino`` has one with that key: then both stay, the moved one as :func:`clave_tras_fusion` says. One
    transaction. Whoever writes a notice of either through this application holds, until it is written, a
    lock that a merge asks for alone: what they write is moved, or finds the supplier inactive and is told.

    Joining the same two again moves what somebody may have put under the old code since.

    Raises ``SinPermiso``, ``FusionImposible``, ``ProveedorOcupado`` and ``PrivacidadBuscando``; then nothing
    has changed.
    """
    exigir(por, CAMBIAR)
    exigir(por, ESCRIBIR)
    if origen.pk == destino.pk:
        raise FusionImposible(_("Elija dos proveedores distintos."))
    with _traducir(), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = '{ESPERA}'")
        filas = {
            p.pk: p
            for p in Proveedor.objects.select_for_update()
            .filter(pk__in=[origen.pk, destino.pk])
            .order_by("pk")
        }
        origen, destino = filas[origen.pk], filas[destino.pk]
        prefijos = [politica.prefijo(lectura.ESPACIO, p.codigo) for p in (origen, destino)]
        for prefijo in sorted(prefijos):
            # What an erasure of either asks for alone: it is over, or waits for us and is asked about below.
            cursor.execute("SELECT pg_advisory_xact_lock_shared(hashtextextended(%s, 7206))", [prefijo])
        # Nor is anybody looked for in both places meanwhile; what was found is asked about below.
        mudanzas.mover()
        if motivo := motivo_de_no_fusionar(origen, destino):
            raise motivo
        renombradas = _claves_nuevas(origen, *prefijos)
        movidos = _mover(*prefijos, renombradas=renombradas)
        # Under its own key each: putting one back looks whether it is free.
        origen.retiradas.update(proveedor=destino)
        Proveedor.objects.filter(fusionado_en=origen).update(fusionado_en=destino)
        Proveedor.objects.filter(pk=origen.pk).update(activo=False, fusionado_en=destino)
        # How many, and not the other's code: an erasure of one deletes its own log, not the other's.
        hecho = {"name": gettext_noop("avisos"), "object": str(movidos), "fields": ["fusionado_en"]}
        for proveedor in (origen, destino):
            anotar(por, proveedor, CHANGE, hecho)
    return Fusion(movidos=movidos, renombrados=len(renombradas))


def motivo_de_no_fusionar(origen: Proveedor, destino: Proveedor) -> FusionImposible | None:
    """Why these two cannot be joined now, as the error that says so; ``None`` when they can be."""
    if destino.fusionado_en_id or not destino.activo:
        return FusionImposible(_("El proveedor que se queda con los avisos está inactivo: elija otro."))
    if origen.fusionado_en_id not in (None, destino.pk):
        return FusionImposible(_("Ese código ya se unió a otro proveedor."))
    for proveedor in (origen, destino):
        if motivo := next(reclaman(proveedor.codigo), None):
            return FusionImposible(motivo)
    prefijos = [politica.prefijo(lectura.ESPACIO, p.codigo) for p in (origen, destino)]
    if Documento.objects.filter(prefix__in=prefijos, limitado=True).exists():
        # Moving one would be processing what may only be stored, and its restriction names its place.
        return _limitados()
    return None


def tras_la_fusion(proveedor: Proveedor, clave: str) -> tuple[str, str] | None:
    """``(code, key)`` where a notice of a merged supplier is now; ``None`` when it is nowhere."""
    destino = proveedor.fusionado_en
    if destino is None:
        return None
    posibles = (clave_tras_fusion(proveedor.codigo, clave), clave)
    claves = {a.clave for a in lectura.varios(destino.codigo, posibles)}
    return next(((destino.codigo, c) for c in posibles if c in claves), None)


def clave_tras_fusion(codigo: str, clave: str) -> str:
    """The key a moved notice gets where its own was taken: always the same one, so it can be found again."""
    nueva = f"{clave}~{codigo}"
    if len(nueva) <= politica.LARGO_MAXIMO_CLAVE:
        return nueva
    return f"fusion-{hashlib.sha256(nueva.encode()).hexdigest()}"


def _comprobar(proveedor: Proveedor, *, menos: tuple[str, ...] = ()) -> None:
    try:
        proveedor.full_clean(exclude=menos)
    except ValidationError as error:
        campo, frases = next(iter(error.message_dict.items()))
        raise ProveedorNoValido(frases[0], campo=campo if campo in ("codigo", "nombre") else None) from error


# -- moving ------------------------------------------------------------------------------------------


def _claves_nuevas(origen: Proveedor, de: str, a: str) -> dict[str, str]:
    """``{key: new key}`` of the notices of ``de`` whose key is taken in ``a``."""
    suyas = Documento.objects.filter(prefix=de)
    repetidas = list(
        suyas.filter(key__in=Documento.objects.filter(prefix=a).values("key")).values_list("key", flat=True)
    )
    nuevas: dict[str, str] = {}
    for clave in sorted(repetidas):
        nueva = clave_tras_fusion(origen.codigo, clave)
        while Documento.objects.filter(prefix__in=(de, a), key=nueva).exists() or nueva in nuevas.values():
            nueva = clave_tras_fusion(origen.codigo, nueva)
        nuevas[clave] = nueva
    return nuevas


def _mover(de: str, a: str, *, renombradas: dict[str, str]) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('langgraph.store_vectors') IS NOT NULL")
        con_vectores = cursor.fetchone()[0]
        cursor.execute(
            _MOVER_CON_VECTORES if con_vectores else _MOVER,
            {
                "de": de,
                "a": a,
                "viejas": list(renombradas),
                "nuevas": list(renombradas.values()),
            },
        )
        return int(cursor.rowcount)


# The row itself changes its place: everything else it holds stays as it is, its version included.
_MOVER = """
UPDATE langgraph.store AS s SET prefix = %(a)s, key = coalesce(
    (SELECT c.nueva FROM unnest(%(viejas)s::text[], %(nuevas)s::text[]) AS c (vieja, nueva)
     WHERE c.vieja = s.key),
    s.key)
WHERE s.prefix = %(de)s
"""
# In the same statement: the foreign key of the vectors is looked at when it ends, and both are there by then.
_MOVER_CON_VECTORES = f"""
WITH vectores AS (
    UPDATE langgraph.store_vectors AS v SET prefix = %(a)s, key = coalesce(
        (SELECT c.nueva FROM unnest(%(viejas)s::text[], %(nuevas)s::text[]) AS c (vieja, nueva)
         WHERE c.vieja = v.key),
        v.key)
    WHERE v.prefix = %(de)s
)
{_MOVER}
"""


def _limitados() -> FusionImposible:
    return FusionImposible(
        _(
            "Hay avisos de estos proveedores que privacidad está revisando y no se pueden mover: inténtelo "
            "cuando termine."
        )
    )


#: lock_not_available, deadlock_detected
_OCUPADO = ("55P03", "40P01")


@contextmanager
def _traducir() -> Iterator[None]:
    try:
        yield
    except mudanzas.EsperaAgotada as error:
        raise PrivacidadBuscando from error
    except DatabaseError as error:
        codigo = getattr(error.__cause__, "sqlstate", None)
        if codigo in (CODIGO_LIMITADO, CODIGO_RETENIDO):
            raise _limitados() from error
        if codigo == CODIGO_SUJETO:
            raise FusionImposible(
                _("Los datos de uno de estos proveedores se acaban de suprimir: inténtelo dentro de un rato.")
            ) from error
        if codigo in _OCUPADO:
            raise ProveedorOcupado from error
        raise


def sujetar(codigos: Iterable[str]) -> dict[str, Proveedor]:
    """``{code: supplier}`` of those, and of those they were merged into: none of them is merged before this
    transaction ends. In a transaction."""
    todos = set(codigos)
    while True:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT FROM compras_proveedor WHERE codigo = ANY(%s) ORDER BY id FOR KEY SHARE",
                [sorted(todos)],
            )
        # Read after the wait, so that what a merge did meanwhile is seen.
        proveedores = Proveedor.objects.select_related("fusionado_en").filter(codigo__in=todos)
        hallados = {p.codigo: p for p in proveedores}
        destinos = {p.fusionado_en.codigo for p in hallados.values() if p.fusionado_en}
        if destinos <= todos:
            return hallados
        todos |= destinos
