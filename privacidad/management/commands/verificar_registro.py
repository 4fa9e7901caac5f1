from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memoria.comandos import ComandoMemoria, Plazo, Resultado, Salida
from privacidad import evidencias, exportacion, registro
from privacidad.escritos import guardados
from privacidad.verificacion import faltas


class Command(ComandoMemoria):
    help = gettext_lazy("Comprueba, asiento por asiento, que nadie ha tocado el registro ni las evidencias.")  # type: ignore[assignment]  # read when shown

    def opciones(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--contra",
            type=Path,
            metavar="FILE",
            help=_(
                "además, que continúa el que se exportó a este fichero: así se ve también un final cortado"
            ),
        )

    def ejecutar(self, plazo: Plazo, **opciones: Any) -> Resultado:
        verificacion = registro.verificar()
        rota = verificacion.primera_rota
        if opciones["contra"] and rota is None:
            rota = self._contra(opciones["contra"])
        guardado = {
            "evidencias_alteradas": (alteradas := evidencias.alteradas()),
            # One that was changed may not be found as itself, and it is not missing.
            "evidencias_perdidas": [r for r in evidencias.perdidas() if r not in alteradas],
            "escritos_alterados": guardados.alterados(),
            "escritos_perdidos": guardados.perdidos(),
        }
        datos = {
            "entradas": verificacion.entradas,
            "ok": rota is None and not any(guardado.values()),
            "primera_rota": rota,
            **guardado,
        }
        if rota is not None:
            frase = _("El registro está roto: el asiento %(numero)s falta o no es el que se escribió.") % {
                "numero": rota
            }
            return Resultado(datos, frase, Salida.INTEGRIDAD, recuento=datos)
        if any(guardado.values()):
            return Resultado(datos, " ".join(faltas(datos)), Salida.INTEGRIDAD, recuento=datos)
        return Resultado(
            datos,
            _("El registro está entero. Asientos comprobados: %(n)s.") % {"n": verificacion.entradas},
            # The next verification looks for this head: cutting the end or writing it all again changes it.
            recuento={**datos, "cabeza": verificacion.cabeza},
        )

    def _contra(self, fichero: Path) -> int | None:
        try:
            copia = exportacion.comprobar(fichero)
            distinta = exportacion.donde_se_separan(fichero, copia)
        except exportacion.ExportacionImposible as error:
            raise CommandError(str(error), returncode=Salida.USO) from None
        except exportacion.RegistroRoto as error:
            raise CommandError(str(error), returncode=Salida.INTEGRIDAD) from None
        # Counted now: while the chain was walked, entries may have been added, and exported.
        hay = registro.ultimo_numero()
        return hay + 1 if distinta is None and copia.entradas > hay else distinta
