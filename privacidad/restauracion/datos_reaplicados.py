"""After a restore, what was done to single data since the copy was made: erased, restricted, corrected.

The register says of each which person it was, by digest, and what of theirs; never what it said. So an
erasure is done again, and so is a restriction or its end; a correction cannot be, because the right value is
nowhere: it is told, to be corrected again by hand. Whatever is done here can be done twice.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from django.db import connection, transaction
from django.db.models.functions import Greatest
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from memoria import politica
from memoria.models import Documento
from privacidad import registro
from privacidad.destinos import Sujeto
from privacidad.models import Asiento, Restriccion
from privacidad.resumenes import resumen

TIPOS = ("dato_borrado", "limitacion", "limitacion_levantada", "rectificacion")


class Pendiente(NamedTuple):
    """What must be done by hand: which entry of the register says so, and when it was done."""

    asiento: int
    tipo: str
    momento: str


def hay() -> bool:
    """Whether the register has anything of this: otherwise nobody is looked for."""
    return Asiento.objects.filter(tipo__in=TIPOS).exists()


def de_quien_son(resumenes: list[str]) -> set[str]:
    """Which of these people have something to be done again."""
    suyos = Asiento.objects.filter(tipo__in=TIPOS, resumen__in=resumenes)
    return set(suyos.values_list("resumen", flat=True).distinct())


def rehacer(quien: Sujeto) -> tuple[int, int, list[Pendiente]]:
    """Do it again for one person, in one transaction. Returns how many data were erased, how many
    restrictions were made or ended, and what is left to do by hand."""
    suyo = resumen(quien.prefijo)
    with transaction.atomic():
        asientos = list(Asiento.objects.filter(tipo__in=TIPOS, resumen=suyo).order_by("numero"))
        # An erasure of the whole person ends what was there before it.
        ultima = Asiento.objects.filter(tipo="supresion", resumen=suyo).order_by("numero").last()
        asientos = [a for a in asientos if ultima is None or a.numero > ultima.numero]
        borrados = sum(_borrar(quien, a) for a in asientos if a.tipo == "dato_borrado")
        if borrados:
            registro.anotar(
                tipo="reaplicada", resumen=suyo, datos={"borrados": {"memoria": {"documentos": borrados}}}
            )
        limitaciones, a_mano = _limitar(quien, asientos)
        a_mano += [pendiente(a) for a in asientos if a.tipo == "rectificacion" and _sin_rectificar(quien, a)]
    return borrados, limitaciones, a_mano


# -- art. 17, of one datum ------------------------------------------------------------------------


def _borrar(quien: Sujeto, asiento: Asiento) -> bool:
    """Only the document that was erased: what was said afterwards stays, and so does what is held back."""
    clave = politica.clave_preferencia(asiento.datos["tipo"])
    documento = (
        Documento.objects.del_sujeto(quien.espacio, quien.sujeto_id)
        .annotate(ultima=Greatest("created_at", "updated_at"))
        .filter(key=clave, ultima__lte=_visto(asiento), retenido=False)
        .first()
    )
    if documento is None:
        return False
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT langgraph.borrar_preferencia(%s, %s, %s)", [quien.prefijo, clave, documento.updated_at]
        )
        borrado = bool(cursor.fetchone()[0])
    Restriccion.objects.filter(prefijo=quien.prefijo, clave=clave, levantada__isnull=True).update(
        levantada=asiento.momento, motivo_levantada=_rehecha()
    )
    return borrado


def _visto(asiento: Asiento) -> datetime:
    """When what was erased had been written; entries from before that was noted say only when it went."""
    return parse_datetime(asiento.datos.get("escrito", "")) or asiento.momento


# -- art. 18 --------------------------------------------------------------------------------------


def _limitar(quien: Sujeto, asientos: list[Asiento]) -> tuple[int, list[Pendiente]]:
    hechas = 0
    a_mano: list[Pendiente] = []
    vigentes: dict[int, Asiento] = {}
    for a in asientos:
        if a.tipo == "limitacion":
            vigentes[a.datos["limitacion"]] = a
        elif a.tipo == "limitacion_levantada":
            vigentes.pop(a.datos["limitacion"], None)
            en_vigor = Restriccion.objects.filter(
                pk=a.datos["limitacion"], prefijo=quien.prefijo, levantada__isnull=True, creada__lte=a.momento
            )
            hechas += en_vigor.update(levantada=a.momento, motivo_levantada=_rehecha())
    for a in vigentes.values():
        suyas = Restriccion.objects.filter(prefijo=quien.prefijo)
        if suyas.filter(pk=a.datos["limitacion"]).exists():
            continue
        clave = _clave(quien, a)
        if clave is not None:
            if not suyas.filter(clave=clave, levantada__isnull=True).exists():
                _crear(quien, a, clave)
                hechas += 1
        elif "clave" not in a.datos and not suyas.filter(creada__gt=a.momento).exists():
            # An old entry does not say what it was over: told until somebody does it again. Of one that does,
            # what it was over is not here.
            a_mano.append(pendiente(a))
    return hechas, a_mano


def _clave(quien: Sujeto, asiento: Asiento) -> str | None:
    """What a restriction was over: an empty text is the whole card; ``None``, nobody knows, or it is not
    here."""
    if asiento.datos["alcance"] == "ficha":
        return ""
    suyas = Documento.objects.del_sujeto(quien.espacio, quien.sujeto_id).values_list("key", flat=True)
    return next((c for c in suyas.iterator() if resumen(c) == asiento.datos.get("clave")), None)


def _crear(quien: Sujeto, asiento: Asiento, clave: str) -> None:
    """With the number it had: the register goes on speaking of it by that one."""
    numero = asiento.datos["limitacion"]
    if Restriccion.objects.filter(pk=numero).exists():  # given to another one in the copy
        numero = None
    restriccion = Restriccion(pk=numero, prefijo=quien.prefijo, clave=clave, motivo=_rehecha(), por=None)
    restriccion.save(force_insert=True)
    if restriccion.pk != asiento.datos["limitacion"]:
        for tipo, pk in (
            ("limitacion_levantada", asiento.datos["limitacion"]),
            ("limitacion", restriccion.pk),
        ):
            registro.anotar(tipo=tipo, resumen=asiento.resumen, datos={**asiento.datos, "limitacion": pk})


def adelantar_numeros() -> None:
    """Take the numbers of restrictions past those the register has given: none is given twice."""
    with connection.cursor() as cursor:
        cursor.execute(_ADELANTAR)


_ADELANTAR = """
SELECT nextval('public.privacidad_restriccion_id_seq')
FROM generate_series(
    (SELECT last_value + is_called::int FROM public.privacidad_restriccion_id_seq),
    (SELECT max((datos ->> 'limitacion')::bigint) FROM public.privacidad_asiento WHERE tipo = 'limitacion')
)
"""


# -- art. 16 --------------------------------------------------------------------------------------


def _sin_rectificar(quien: Sujeto, asiento: Asiento) -> bool:
    """Whether what it corrected is here as it was before it."""
    clave = politica.clave_preferencia(asiento.datos["tipo"])
    # An entry that does not say when the old one was written is a little later than the new one.
    escrito = parse_datetime(asiento.datos.get("escrito", "")) or asiento.momento - timedelta(seconds=5)
    suyos = Documento.objects.del_sujeto(quien.espacio, quien.sujeto_id)
    return suyos.filter(key=clave, updated_at__lte=escrito).exists()


def pendiente(asiento: Asiento) -> Pendiente:
    """What an entry of the register says, to be done by hand."""
    return Pendiente(asiento.numero, asiento.tipo, asiento.momento.isoformat())


def _rehecha() -> str:
    return _("Rehecho con el registro, después de restaurar una copia.")
