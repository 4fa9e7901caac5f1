"""Suppliers whose codes were joined after the copy was made, and erased as one: here they are apart.

The entry of the erasure has the digests of the codes that had been joined by then (:mod:`privacidad.unidos`).
"""

from __future__ import annotations

from privacidad import unidos
from privacidad.destinos import Sujeto
from privacidad.models import Asiento
from privacidad.resumenes import resumen


class Unidos:
    """Who was erased together with whom, by digest."""

    def __init__(self) -> None:
        self._unidos: dict[str, set[str]] = {}
        self._de: dict[str, set[str]] = {}
        suyos = Asiento.objects.filter(tipo="supresion", datos__has_key="unidos")
        for principal, datos in suyos.values_list("resumen", "datos").iterator():
            for unido in datos["unidos"]:
                self._unidos.setdefault(principal, set()).add(unido)
                self._de.setdefault(unido, set()).add(principal)
        self._codigos = unidos.codigos() if self._unidos else {}

    def supresiones_de(self, suyo: str) -> set[str]:
        """Whose erasures reach that person, by digest: their own, and whom they were joined to."""
        return {suyo, *self._de.get(suyo, ())}

    def familia(self, principal: str, quien: Sujeto) -> list[Sujeto]:
        """All who go with the erasure of ``principal`` and are here, it first; ``quien`` is one."""
        de_quien = resumen(quien.prefijo)
        if principal == de_quien and principal not in self._unidos:
            return [quien]
        digestos = [principal, *sorted(self._unidos.get(principal, ()))]
        return [
            quien if d == de_quien else Sujeto(unidos.ESPACIO, self._codigos[d], ())
            for d in digestos
            if d == de_quien or d in self._codigos
        ]
