from __future__ import annotations

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
        # Each was asked for by a person, so they are few. In memory are these rows and one file at a time.
        for expediente in Expediente.objects.pendientes()[: opciones["batch_size"]]:
            if plazo.agotado:
                break
            cuentas["producidos" if simular or self._uno(expediente) else "fallidos"] += 1
        datos = {**cuentas, "pendientes": Expediente.objects.pendientes().count(), "simulado": simular}
        frase = _("Expedientes producidos: %(producidos)d; fallidos: %(fallidos)d.") % cuentas
        return Resultado(datos, frase, Salida.PARCIAL if cuentas["fallidos"] else Salida.HECHO)

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
