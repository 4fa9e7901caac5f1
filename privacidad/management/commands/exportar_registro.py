from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memoria.comandos import ComandoMemoria, Plazo, Resultado, Salida
from privacidad import exportacion


class Command(ComandoMemoria):
    help = gettext_lazy("Copia el registro entero a un fichero, fuera de la base de datos.")  # type: ignore[assignment]  # read when shown

    def opciones(self, parser: CommandParser) -> None:
        parser.add_argument("fichero", type=Path, metavar="FILE", help=_("dónde; si ya existe, lo continúa"))

    def ejecutar(self, plazo: Plazo, **opciones: Any) -> Resultado:
        try:
            entradas = exportacion.exportar(opciones["fichero"])
        except exportacion.ExportacionImposible as error:
            raise CommandError(str(error), returncode=Salida.USO) from None
        except exportacion.RegistroRoto as error:
            raise CommandError(str(error), returncode=Salida.INTEGRIDAD) from None
        return Resultado({"entradas": entradas}, _("Asientos exportados: %(n)s.") % {"n": entradas})
