from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db import DatabaseError, connection
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memoria.comandos import ComandoMemoria, Plazo, Resultado, Salida
from privacidad import servicios
from privacidad.errores import ErrorDePrivacidad
from privacidad.models import Expediente


class Command(ComandoMemoria):
    help = gettext_lazy(  # type: ignore[assignment]  # read when shown
        "Produce los expedientes de acceso que eran demasiado grandes para hacerlos desde una página."
    )
    cambia_datos = True

    def ejecutar(self, plazo: Plazo, **opciones: Any) -> Resultado:
        simular = bool(opciones["dry_run"])
        cuentas = {"producidos": 0, "fallidos": 0}
        completo = True
        for expediente in _por_lotes(opciones["batch_size"]):
            if plazo.agotado:
                completo = False
                break
            cuentas["producidos" if simular or self._uno(expediente) else "fallidos"] += 1
        datos = {**cuentas, "pendientes": Expediente.objects.pendientes().count(), "simulado": simular}
        frase = _("Expedientes producidos: %(producidos)d; fallidos: %(fallidos)d.") % cuentas
        bien = completo and not cuentas["fallidos"]
        return Resultado(datos, frase, Salida.HECHO if bien else Salida.PARCIAL)

    def _uno(self, expediente: Expediente) -> bool:
        try:
            servicios.producir_pedido(expediente=expediente)
        except (ErrorDePrivacidad, DatabaseError) as error:
            if isinstance(error, DatabaseError) and not connection.is_usable():
                raise  # PostgreSQL is gone: nothing else can be produced either
            # A database error may quote a row, and with it the person: only its kind is told.
            motivo = type(error).__name__ if isinstance(error, DatabaseError) else str(error)
            self.avisar(f"{expediente.referencia}: {motivo}")
            return False
        return True


def _por_lotes(cuantos: int) -> Iterator[Expediente]:
    """Those asked for, in the order of their turn, ``cuantos`` per query; each one once."""
    # Each was asked for by a person, so their numbers fit in memory. A turn that is taken changes the order.
    turno = list(Expediente.objects.pendientes().values_list("pk", flat=True))
    for desde in range(0, len(turno), cuantos):
        yield from Expediente.objects.pendientes().filter(pk__in=turno[desde : desde + cuantos])
