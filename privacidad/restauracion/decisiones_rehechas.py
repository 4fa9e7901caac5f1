"""What was decided since the copy about rows of other people, put back in the request it was decided in.

The register says of which row by the digest of its address. Where the copy's own review had found the row,
its decision is the last one registered. One that was found afterwards is here by nobody's review: if its
request was run, what was decided is written down by the digest, which is how a run request keeps it; if not,
the request is to be reviewed again.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.utils.translation import gettext as _

from privacidad.models import Asiento, Mencion, Solicitud
from privacidad.olvido import resumen_de_fila


class Decisiones:
    """The mentions of one request, and what the register says was decided about them since the copy.

    ``puestas`` is whether something was put back; ``sin_fila``, whether something was decided about a row
    that the copy's review had not found.
    """

    def __init__(self, solicitud: Solicitud, asientos: Iterable[Asiento]) -> None:
        self._solicitud = solicitud
        self._por_fila: dict[str, list[int]] = {}
        self.puestas = self.sin_fila = False
        if any(a.tipo == "mencion" for a in asientos):
            for m in solicitud.menciones.all():
                fila = resumen_de_fila(m.prefijo, m.clave) if m.clave else m.prefijo
                self._por_fila.setdefault(fila, []).append(m.pk)

    def poner(self, asiento: Asiento, *, ejecutada: bool) -> None:
        """Put back what one entry says was decided."""
        decidido = {
            "decision": asiento.datos["decision"],
            "motivo": _("El motivo se perdió al restaurar una copia de seguridad."),
            "por": None,
            "momento": asiento.momento,
        }
        fila = asiento.datos["fila"]
        if suyas := self._por_fila.get(fila):
            Mencion.objects.filter(pk__in=suyas).update(**decidido)
            self.puestas = True
        elif ejecutada:
            for clase in asiento.datos["identificadores"]:
                nueva = Mencion(solicitud=self._solicitud, prefijo=fila, identificador=clase, **decidido)
                nueva.save(force_insert=True)
                self._por_fila.setdefault(fila, []).append(nueva.pk)
        else:
            self.sin_fila = True
