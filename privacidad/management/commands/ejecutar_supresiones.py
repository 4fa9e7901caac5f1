from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db import DatabaseError, connection
from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memoria.comandos import ComandoMemoria, Plazo, Resultado, Salida
from privacidad import servicios, supresion
from privacidad.errores import ErrorDePrivacidad, TransicionNoPermitida
from privacidad.estados import Estado
from privacidad.models import Solicitud


class Command(ComandoMemoria):
    help = gettext_lazy(  # type: ignore[assignment]  # read when shown
        "Ejecuta las solicitudes de supresión aprobadas y reintenta lo que faltó."
    )
    cambia_datos = True

    def ejecutar(self, plazo: Plazo, **opciones: Any) -> Resultado:
        simular = bool(opciones["dry_run"])
        cuentas = {"completadas": 0, "parciales": 0, "retenidas": 0, "fallidas": 0}
        completo = True
        for solicitud in _por_lotes(opciones["batch_size"]):
            if plazo.agotado:
                completo = False
                break
            resultado = self._una(solicitud, simular)
            if resultado:
                cuentas[resultado] += 1
        datos = {**cuentas, "pendientes": Solicitud.objects.por_ejecutar().count(), "simulado": simular}
        frase = _(
            "Supresiones completadas: %(completadas)d; parciales: %(parciales)d; a la espera de soltar lo "
            "retenido: %(retenidas)d; fallidas: %(fallidas)d."
        )
        # Half done is only half done once it is done: a dry run just could not ask the external destinations.
        incompletas = cuentas["fallidas"] or (cuentas["parciales"] and not simular)
        bien = completo and not incompletas
        return Resultado(datos, frase % cuentas, Salida.HECHO if bien else Salida.PARCIAL)

    def _una(self, solicitud: Solicitud, simular: bool) -> str | None:
        """Run one request; the key it counts under, or none when somebody else got to it first."""
        try:
            servicios.ejecutar(solicitud=solicitud, por=None, simular=simular)
        except TransicionNoPermitida:
            return None
        except (ErrorDePrivacidad, DatabaseError) as error:
            if isinstance(error, DatabaseError) and not connection.is_usable():
                raise  # PostgreSQL is gone: nothing else can be run either
            # A database error may quote a row, and with it the person: only its kind is told.
            motivo = type(error).__name__ if isinstance(error, DatabaseError) else str(error)
            self.avisar(f"{solicitud.referencia}: {motivo}")
            return "fallidas"
        if solicitud.estado != Estado.PARCIAL:
            return "completadas"
        # What the law holds back is waited for, not missing: it is no failure of the run.
        return "retenidas" if supresion.solo_espera_lo_retenido(solicitud) else "parciales"


def _por_lotes(cuantas: int) -> Iterator[Solicitud]:
    """The requests to run, the most urgent first, ``cuantas`` per query; each one once."""
    despues = Q()
    while lote := list(Solicitud.objects.por_ejecutar().filter(despues)[:cuantas]):
        yield from lote
        ultima = lote[-1]
        despues = Q(vence__gt=ultima.vence) | Q(vence=ultima.vence, pk__gt=ultima.pk)
