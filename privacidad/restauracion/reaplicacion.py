"""Erasures, replayed on a restored database before it serves (AEPD PS/00585/2008: a restored backup revived
an address that had been erased, it was written to again, and that was fined).

From the file of :mod:`privacidad.exportacion`, in this order:

1. The entries the restored register has lost are put back verbatim: the chain goes on as if it had never been
   cut, and the numbers of requests that were given stay given.
2. The requests that were closed after the copy was made are closed again, so that the next scheduled run does
   not erase, in their name, what the person has said since; those that came in after it, of people the copy
   knows, are made again.
3. Whoever was erased and is here again goes again: what was there at the moment of the erasure and no more.
   What a sealed copy had of them is sealed again first.
4. What was done to single data is done again, or told where the register cannot say how.

What "was there" means. A document, by when it was last written: ``created_at`` outlives a rewrite, but a
value written after the erasure was said after it. A thread, by when it was created: it holds its own history,
and what was said before cannot be taken out of it. What is held back (art. 17(3) GDPR) stays held back.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from memoria import politica
from memoria.comandos import Plazo
from memoria.models import Documento, Hilo
from privacidad import exportacion, registro, retenidos, revisiones, vallas
from privacidad.destinos import DESTINOS, Rastro, Recuento, Sujeto, destino
from privacidad.exportacion import Cabecera, RegistroRoto
from privacidad.models import Asiento, Exclusion, Solicitud
from privacidad.restauracion import (
    copias_rehechas,
    datos_reaplicados,
    menciones_reaplicadas,
    puesta_al_dia,
    solicitudes_rehechas,
)
from privacidad.restauracion.copias_rehechas import Excluidos, Rehechas
from privacidad.restauracion.proveedores_unidos import Unidos
from privacidad.resumenes import resumen

logger = logging.getLogger(__name__)

T = TypeVar("T")


def reaplicar(fichero: Path, *, plazo: Plazo, lote: int, simular: bool) -> dict[str, Any]:
    """Replay the erasures of an exported register. Safe to repeat; it stops between two people.

    Returns ``reaplicadas`` (people), ``documentos_borrados``, ``hilos_borrados``, ``asientos_recuperados``,
    ``solicitudes_atrasadas``, ``solicitudes_perdidas`` and ``solicitudes_cerradas_perdidas`` (see
    :mod:`.puesta_al_dia`), ``solicitudes_rehechas`` (see :mod:`.solicitudes_rehechas`), ``por_revisar``,
    ``[{"referencia", "identificadores_de"}, …]`` (see :mod:`privacidad.revisiones`),
    ``datos_borrados``, ``limitaciones_rehechas`` and ``a_mano`` (see :mod:`.datos_reaplicados`),
    ``copias_rehechas``, ``copias_perdidas`` and ``sin_borrar`` (see :mod:`.copias_rehechas`),
    ``unidos_sin_borrar`` (the requests of a supplier that hold back a row nobody finds: what is here under
    the codes joined to it stays),
    ``menciones_sin_hallar`` (see :mod:`.menciones_reaplicadas`), ``completo`` and ``simulado``.

    Raises :class:`privacidad.exportacion.ExportacionImposible`, and :class:`RegistroRoto` when the file or
    the database's own register does not hold, or one does not go on from the other: then nothing was changed.
    Raises :class:`privacidad.cifrado.CifradoIlegible` when a sealed copy is of another ``CLAVE_SELLO``.
    """
    copia = exportacion.comprobar(fichero)
    _comprobar_la_base(fichero, copia)
    with transaction.atomic() if simular else nullcontext():
        with transaction.atomic():
            registro.bloquear()
            hay = registro.ultimo_numero()
            recuperados = _recuperar(fichero, hay, lote) if copia.entradas > hay else 0
            if recuperados:  # what those tell and is not here was lost, and nobody took it away
                registro.anotar(tipo="restaurada", datos={"desde": hay + 1, "hasta": copia.entradas})
            puesta_al_dia.adelantar_referencias()
            atrasadas = puesta_al_dia.cerrar(desde=hay)
            rehechas = solicitudes_rehechas.rehacer(lote)
            puesta_al_dia.soltar_lo_soltado(desde=hay)
            puesta_al_dia.decidir_copias(desde=hay)
            datos_reaplicados.adelantar_numeros()
            _retener_lo_abierto()
            menciones_reaplicadas.buscar_las_nuevas(lote, desde=hay)
            por_revisar = _por_revisar([*atrasadas, *rehechas])
        copias = copias_rehechas.Rehechas()
        borrado = _borrar_otra_vez(plazo, lote, copias, Unidos())
        datos = _datos_otra_vez(plazo, lote)
        if completo := bool(borrado["completo"] and datos["completo"]):
            _apartar_lo_retenido()
            copias.perder_las_que_faltan()
            sin_poner = puesta_al_dia.retenciones_sin_poner()
            datos["a_mano"] += [datos_reaplicados.pendiente(a)._asdict() for a in sin_poner]
        resultado = {
            **borrado,
            **datos,
            "completo": completo,
            "copias_rehechas": copias.rehechas,
            "copias_perdidas": copias.perdidas,
            "sin_borrar": copias.sin_borrar,
            "menciones_sin_hallar": menciones_reaplicadas.sin_hallar(),
            "asientos_recuperados": recuperados,
            "solicitudes_atrasadas": atrasadas,
            "solicitudes_rehechas": rehechas,
            "por_revisar": por_revisar,
            "solicitudes_perdidas": puesta_al_dia.perdidas(abiertas=True),
            "solicitudes_cerradas_perdidas": puesta_al_dia.perdidas(abiertas=False),
            "simulado": simular,
        }
        if simular:
            transaction.set_rollback(True)
    return resultado


def _por_revisar(tocadas: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What is to be reviewed again, from this run or from an earlier one. Of ``tocadas``, those are not
    ``al_dia``, whatever their state."""
    perdidas = revisiones.perdidas()
    for solicitud in tocadas:
        if solicitud["referencia"] in perdidas:
            # A request that was linked to it, made again later, may have sent it back.
            actual = Solicitud.objects.get(referencia=solicitud["referencia"])
            solicitud.update(estado=actual.estado, al_dia=False)
    return [{"referencia": r, "identificadores_de": de} for r, de in perdidas.items()]


# -- the chain ------------------------------------------------------------------------------------


def _comprobar_la_base(fichero: Path, copia: Cabecera) -> None:
    verificacion = registro.verificar()
    if not verificacion.ok:
        raise RegistroRoto(
            _(
                "El registro de la base está roto en el asiento %(numero)s: restaure otra copia. No se ha "
                "cambiado nada."
            )
            % {"numero": verificacion.primera_rota}
        )
    distinta = exportacion.donde_se_separan(fichero, copia)
    if distinta is not None:
        raise _se_separan(distinta)


def _se_separan(numero: int) -> RegistroRoto:
    return RegistroRoto(
        _(
            "El registro de la base y el del fichero se separan en el asiento %(numero)s: no son el mismo, o "
            "en la base restaurada ya se ha trabajado. No se ha cambiado nada."
        )
        % {"numero": numero}
    )


def _recuperar(fichero: Path, hay: int, lote: int) -> int:
    """Put back, verbatim, the entries after number ``hay``, with the register locked."""
    recuperados = 0
    for asientos in _por_lotes(_perdidos(fichero, hay), lote):
        recuperados += len(Asiento.objects.bulk_create(asientos))
    return recuperados


def _perdidos(fichero: Path, hay: int) -> Iterator[Asiento]:
    for entrada in exportacion.leer(fichero):
        if entrada.numero > hay:
            yield entrada.asiento()
        elif entrada.numero == hay and not Asiento.objects.filter(numero=hay, huella=entrada.huella):
            raise _se_separan(hay)  # somebody wrote between the comparison and the lock


# -- the people -----------------------------------------------------------------------------------


def _borrar_otra_vez(plazo: Plazo, lote: int, copias: Rehechas, unidos: Unidos) -> dict[str, Any]:
    total: dict[str, Any] = {"reaplicadas": 0, "documentos_borrados": 0, "hilos_borrados": 0}
    total |= {"completo": True, "unidos_sin_borrar": []}
    for suyo, quien, momento in _borrados_que_estan(lote, unidos):
        if plazo.agotado:
            return {**total, "completo": False}
        if copias.impiden_borrar(suyo):
            continue
        familia = unidos.familia(suyo, quien)
        suyas = [q for q in familia if resumen(q.prefijo) == suyo]
        if suyas != familia and (sin_hallar := _retenidos_sin_hallar(suyo, suyas)):
            # One of the rows of the others may be what is held back, under another key.
            familia = suyas
            if quien not in suyas:
                total["unidos_sin_borrar"] = sorted({*total["unidos_sin_borrar"], *sin_hallar})
        recuento = _una(suyo, familia, momento, copias)
        if any(n for cuentas in recuento.values() for n in cuentas.values()):
            total["reaplicadas"] += 1
            total["documentos_borrados"] += recuento["memoria"]["documentos"]
            total["hilos_borrados"] += recuento["hilos"]["hilos"]
    for borrados in menciones_reaplicadas.borrar(lote):
        total["documentos_borrados"] += borrados
        if plazo.agotado:
            return {**total, "completo": False}
    return total


def _borrados_que_estan(lote: int, unidos: Unidos) -> Iterator[tuple[str, Sujeto, datetime]]:
    """Whoever was erased and is known to some destination: the digest of who was erased (somebody else, when
    their codes had been joined by then), who they are here and when that was, the last time."""
    for d in DESTINOS:
        if d.externo:
            continue  # what is outside was not restored
        for rastros in _por_lotes(d.sujetos(lote, timezone.now()), lote):
            por_resumen: dict[str, Rastro] = {}
            for suyo, rastro in _con_resumen(rastros):  # a subject may have namespaces below theirs
                antes = por_resumen.setdefault(suyo, rastro)
                por_resumen[suyo] = min(antes, rastro, key=lambda r: r.desde)
            de_quien = {suyo: unidos.supresiones_de(suyo) for suyo in por_resumen}
            momentos = dict(_supresiones(sorted({s for suyas in de_quien.values() for s in suyas})))
            for suyo, rastro in por_resumen.items():
                quien = Sujeto(rastro.espacio, rastro.sujeto_id, ())
                for de in sorted(de_quien[suyo] & momentos.keys()):
                    if rastro.desde <= momentos[de]:
                        yield de, quien, momentos[de]


def _con_resumen(rastros: Iterable[Rastro]) -> Iterator[tuple[str, Rastro]]:
    for rastro in rastros:
        try:
            yield resumen(politica.prefijo(rastro.espacio, rastro.sujeto_id)), rastro
        except politica.PoliticaIncumplida:
            continue  # of no namespace of the policy: nobody can have been erased under it


def _supresiones(resumenes: list[str]) -> list[tuple[str, datetime]]:
    with connection.cursor() as cursor:
        cursor.execute(_SUPRESIONES, [resumenes])
        filas: list[tuple[str, datetime]] = cursor.fetchall()
    return filas


# An erasure that found nothing counts too: what an older copy brings back of that person was theirs to have
# erased just the same. One of somebody who had come anew says until when it reached: the rest was not erased.
_SUPRESIONES = """
SELECT resumen, max(coalesce(datos ->> 'hasta', datos ->> 'momento')::timestamptz)
FROM public.privacidad_asiento
WHERE tipo = 'supresion' AND resumen = ANY (%s::text[])
GROUP BY resumen
"""


def _una(suyo: str, familia: Sequence[Sujeto], momento: datetime, copias: Rehechas) -> dict[str, Recuento]:
    """Erase one person again, in one transaction with its entry. Returns the counts by destination."""
    with transaction.atomic():
        partes = [(quien, _retenidos(quien)) for quien in familia]
        sujetos = [_de_entonces(quien, retenido, momento) for quien, retenido in partes]
        copias.sellar(suyo, partes)
        recuento = {
            d.nombre: _sumar([d.suprimir_hasta(sujeto, momento) for sujeto in sujetos])
            for d in DESTINOS
            if not d.externo
        }
        if not any(n for cuentas in recuento.values() for n in cuentas.values()):
            transaction.set_rollback(True)  # nothing came back: no fence is raised either
            return recuento
        registro.anotar(
            tipo="reaplicada",
            resumen=suyo,
            datos={"momento": momento.isoformat(), "borrados": recuento},
        )
    logger.info(
        "supresión reaplicada: documentos %s, hilos %s",
        recuento["memoria"]["documentos"],
        recuento["hilos"]["hilos"],
    )
    return recuento


def _de_entonces(quien: Sujeto, retenido: Excluidos, momento: datetime) -> Sujeto:
    """Somebody, fenced again, with the threads they had at that moment."""
    quedan = Hilo.objects.del_sujeto(quien.espacio, quien.sujeto_id).filter(creado__gt=momento)
    vallas.levantar(
        quien.espacio,
        quien.sujeto_id,
        hilos_retenidos=[*retenido.get("hilos", ()), *quedan.values_list("pk", flat=True)],
    )
    return Sujeto.capturar(quien.espacio, quien.sujeto_id, excluidos=retenido, bloquear=True, hasta=momento)


def _sumar(recuentos: Iterable[Recuento]) -> Recuento:
    suma: Counter[str] = Counter()
    for recuento in recuentos:
        suma.update(recuento)
    return dict(suma)


def _retenidos_sin_hallar(suyo: str, suyas: Sequence[Sujeto]) -> set[str]:
    """The requests that hold back something of that person not found under the code it was held in."""
    puestos = {
        (nombre, resumen(clave))
        for quien in suyas
        for nombre, claves in _retenidos(quien).items()
        for clave in claves
    }
    vigentes = puesta_al_dia.retenciones_vigentes(suyo)
    return {r.referencia for r in vigentes if (r.destino, r.clave) not in puestos}


def _retenidos(quien: Sujeto) -> dict[str, tuple[str, ...]]:
    """What is held back of one person, by destination: rows named here and, by digest, in the register."""
    suyo = resumen(quien.prefijo)
    suyos: dict[str, set[str]] = {}
    aqui = Exclusion.objects.activas().filter(solicitud__resumen=suyo, solicitud__cerrada__isnull=True)
    for nombre, clave in aqui.values_list("destino", "clave"):
        suyos.setdefault(nombre, set()).add(clave)
    for referencia, nombre, motivo, clave, _asiento in puesta_al_dia.retenciones_vigentes(suyo):
        for presente in _claves(quien, nombre):
            if resumen(presente) == clave and presente not in suyos.get(nombre, ()):
                suyos.setdefault(nombre, set()).add(presente)
                puesta_al_dia.retener_de_nuevo(referencia, nombre, presente, motivo)
    return {nombre: tuple(sorted(claves)) for nombre, claves in suyos.items()}


def _claves(quien: Sujeto, nombre: str) -> Iterator[str]:
    if nombre == "memoria":
        suyos = Documento.objects.del_sujeto(quien.espacio, quien.sujeto_id)
        yield from suyos.values_list("key", flat=True).iterator()
    elif nombre == "hilos":
        hilos = Hilo.objects.del_sujeto(quien.espacio, quien.sujeto_id)
        yield from hilos.values_list("pk", flat=True).iterator()


def _retener_lo_abierto() -> None:
    """Hold back again what was held after the copy was made, in requests that are still to be run too."""
    for solicitud in Solicitud.objects.abiertas().iterator():
        if puesta_al_dia.retenciones_vigentes(solicitud.resumen):
            _retenidos(Sujeto(solicitud.espacio, solicitud.sujeto_id, ()))


def _apartar_lo_retenido() -> None:
    """What a run left is out of use again: the restriction that kept it so may be newer than the copy."""
    for solicitud in Solicitud.objects.parciales().iterator():
        with transaction.atomic():
            retenidos.apartar(solicitud)


# -- single data ----------------------------------------------------------------------------------


def _datos_otra_vez(plazo: Plazo, lote: int) -> dict[str, Any]:
    """What was done to single data of whoever is here: see :mod:`.datos_reaplicados`."""
    total: dict[str, Any] = {"datos_borrados": 0, "limitaciones_rehechas": 0, "completo": True}
    a_mano: list[datos_reaplicados.Pendiente] = []
    if datos_reaplicados.hay():
        for quien in _con_datos(lote):
            if plazo.agotado:
                total["completo"] = False
                break
            borrados, limitaciones, suyos = datos_reaplicados.rehacer(quien)
            total["datos_borrados"] += borrados
            total["limitaciones_rehechas"] += limitaciones
            a_mano += suyos
    return {**total, "a_mano": [p._asdict() for p in sorted(a_mano)]}


def _con_datos(lote: int) -> Iterator[Sujeto]:
    vistos: set[str] = set()
    for rastros in _por_lotes(destino("memoria").sujetos(lote, timezone.now()), lote):
        por_resumen = dict(_con_resumen(rastros))
        for suyo in sorted(datos_reaplicados.de_quien_son(list(por_resumen)) - vistos):
            vistos.add(suyo)  # a subject may have namespaces below theirs
            yield Sujeto(por_resumen[suyo].espacio, por_resumen[suyo].sujeto_id, ())


def _por_lotes(cosas: Iterable[T], cuantas: int) -> Iterator[list[T]]:
    iterador = iter(cosas)
    while lote := list(islice(iterador, cuantas)):
        yield lote
