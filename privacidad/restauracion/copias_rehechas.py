"""After a restore, the sealed copies that were made since: their rows are here again for a moment, so they
are sealed again before they go (LOPDGDD 32). What cannot be is told, and stays told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memoria.models import Documento, Hilo
from privacidad import copias, registro
from privacidad.destinos import Sujeto
from privacidad.models import Asiento, Copia, Solicitud
from privacidad.restauracion import puesta_al_dia
from privacidad.restauracion.puesta_al_dia import CopiaSellada

Excluidos = Mapping[str, tuple[str, ...]]
#: Somebody and, by destination, what is held back of them.
Parte = tuple[Sujeto, Excluidos]


class Rehechas:
    """The copies that the register knows and this database does not have, and what became of each.

    ``rehechas`` is ``[{"referencia", "filas", "eran"}, …]``: fewer rows than there were are told so.
    ``perdidas``, the references of those that could not be made again. ``sin_borrar``, of those whose data
    are here and whose request is not: nothing is erased of their people, since it could not be sealed first.
    """

    def __init__(self) -> None:
        self.rehechas: list[dict[str, Any]] = []
        self.perdidas: list[str] = []
        self.sin_borrar: list[str] = []
        self._faltan: dict[str, list[CopiaSellada]] = {}
        for sellada in puesta_al_dia.copias_selladas():
            if not _esta(sellada):
                self._faltan.setdefault(sellada.resumen, []).append(sellada)

    def impiden_borrar(self, suyo: str) -> bool:
        """Whether what is here of that person must stay until the request of a sealed copy is here too."""
        suyas = {s.referencia for s in self._faltan.get(suyo, [])}
        aqui = Solicitud.objects.filter(referencia__in=suyas).values_list("referencia", flat=True)
        sin_solicitud = suyas - set(aqui)
        self.sin_borrar = sorted({*self.sin_borrar, *sin_solicitud})
        return bool(sin_solicitud)

    def sellar(self, suyo: str, partes: Sequence[Parte]) -> None:
        """Seal again what is about to be erased again of one person, in its transaction. ``partes`` is who
        they are here, more than one when it was joined since, each with what is held back of it."""
        for sellada in self._faltan.get(suyo, []).copy():
            if filas := _sellar(sellada, partes):
                self._faltan[suyo].remove(sellada)
                self.rehechas.append(
                    {"referencia": sellada.referencia, "filas": filas, "eran": sellada.filas}
                )

    def perder_las_que_faltan(self) -> None:
        """Say of those that are left that they are lost; in the register too, once."""
        faltan = sorted(
            s for suyas in self._faltan.values() for s in suyas if s.referencia not in self.sin_borrar
        )
        self.perdidas = [s.referencia for s in faltan]
        dichas = set(Asiento.objects.filter(tipo="copia_perdida").values_list("referencia", "datos__copia"))
        for s in faltan:
            if (s.referencia, s.creada) not in dichas:
                registro.anotar(
                    tipo="copia_perdida",
                    referencia=s.referencia,
                    resumen=s.resumen,
                    datos={"filas": s.filas, "destruir_el": s.destruir_el.isoformat(), "copia": s.creada},
                )


def _esta(sellada: CopiaSellada) -> bool:
    copia = Copia.objects.filter(solicitud__referencia=sellada.referencia).first()
    # The oldest entries do not say which copy they speak of.
    if copia is None or sellada.creada not in ("", registro.en_iso(copia.creada)):
        return False
    return sellada.veces == 1 or _entera(copia)


def _entera(copia: Copia) -> bool:
    """What a later run added may be newer than what was restored."""
    try:
        for _linea in copias.leer(copia):
            pass
    except copias.CopiaIncompleta:
        return False
    return True


def _sellar(sellada: CopiaSellada, partes: Sequence[Parte]) -> int:
    """How many rows were sealed: none where there is nothing to seal, or no request to seal it for."""
    solicitud = Solicitud.objects.filter(referencia=sellada.referencia).first()
    if solicitud is None or Copia.objects.filter(solicitud=solicitud).exists():
        return 0
    for quien, excluidos in partes:
        if sujeto := _por_sellar(sellada, quien, excluidos):
            solicitud.copia_hasta = sellada.destruir_el
            copias.sellar(solicitud, sujeto)
    copia = Copia.objects.filter(solicitud=solicitud).first()
    return copias.filas_selladas(copia) if copia else 0


def _por_sellar(sellada: CopiaSellada, quien: Sujeto, excluidos: Excluidos) -> Sujeto | None:
    """What was there of somebody at the erasure; ``None`` when nothing of it is here."""
    # What was said after the erasure is not of the copy.
    suyos = Documento.objects.del_sujeto(quien.espacio, quien.sujeto_id)
    posteriores = suyos.filter(updated_at__gt=sellada.momento).values_list("key", flat=True)
    fuera = (*excluidos.get("memoria", ()), *posteriores)
    sujeto = Sujeto.capturar(
        quien.espacio,
        quien.sujeto_id,
        excluidos={**excluidos, "memoria": fuera},
        hasta=sellada.momento,
    )
    conversaciones = set(sujeto.hilos) - set(excluidos.get("hilos", ()))
    hay = suyos.exclude(key__in=fuera).exists() or Hilo.objects.filter(pk__in=conversaciones).exists()
    return sujeto if hay else None
