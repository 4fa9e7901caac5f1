from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from compras.hoja import FicheroNoValido
from compras.importacion import AVISOS_POR_LOTE, Importacion, importar
from memoria.comandos import ComandoMemoria, Plazo, Resultado, Salida

#: More of them on screen would hide the result; `--json` gives them all.
CONTADOS = 50
LINEAS_ENTRE_PARTES = 5000


class Command(ComandoMemoria):
    help = gettext_lazy(  # type: ignore[assignment]  # the stubs do not know that it may be lazy
        "Importa avisos de proveedores de un CSV (columnas proveedor_id, fecha, texto y, si las hay, "
        "aviso_id, importancia, asunto y valido_hasta). Se puede repetir: lo que ya está no se duplica ni "
        "cambia."
    )
    cambia_datos = True

    def opciones(self, parser: CommandParser) -> None:
        parser.add_argument("fichero", type=Path, metavar="FILE", help=_("el CSV"))
        parser.add_argument(
            "--all-or-nothing",
            action="store_true",
            help=_("si hay una línea mala no escribe ninguna; sin ella escribe las buenas"),
        )
        parser.set_defaults(batch_size=AVISOS_POR_LOTE)

    def ejecutar(self, plazo: Plazo, **opciones: Any) -> Resultado:
        simulado: bool = opciones["dry_run"]
        try:
            hecho = importar(
                Path(opciones["fichero"]),
                simulado=simulado,
                todo_o_nada=opciones["all_or_nothing"],
                por_lote=opciones["batch_size"],
                parar=lambda: plazo.agotado,
                progreso=self._progreso(),
            )
        except FicheroNoValido as error:
            raise CommandError(str(error), returncode=Salida.USO) from error
        for dicho in (*hecho.rechazados[:CONTADOS], *hecho.avisados[:CONTADOS]):
            self.avisar(_("Línea %(linea)s: %(motivo)s") % dicho)
        return Resultado(
            {
                "creados": hecho.creados,
                "sin_cambios": hecho.sin_cambios,
                "proveedores_creados": len(hecho.proveedores_creados),
                "rechazados": hecho.rechazados,
                "avisados": hecho.avisados,
                "siguiente_linea": hecho.siguiente_linea,
                "anulada": hecho.anulada,
                "simulado": simulado,
            },
            _frase(hecho, simulado),
            Salida.PARCIAL if hecho.rechazados or hecho.siguiente_linea else Salida.HECHO,
        )

    def _progreso(self) -> Any:
        siguiente = LINEAS_ENTRE_PARTES

        def contar(linea: int) -> None:
            nonlocal siguiente
            if linea >= siguiente:
                self.avisar(_("Leída la línea %(linea)s.") % {"linea": linea})
                siguiente = linea + LINEAS_ENTRE_PARTES

        return contar


def _frase(hecho: Importacion, simulado: bool) -> str:
    frases = [
        _(
            "Avisos nuevos: %(creados)s. Ya estaban: %(sin_cambios)s. Líneas rechazadas: %(rechazados)s. "
            "Proveedores añadidos: %(proveedores)s."
        )
        % {
            "creados": hecho.creados,
            "sin_cambios": hecho.sin_cambios,
            "rechazados": len(hecho.rechazados),
            "proveedores": len(hecho.proveedores_creados),
        }
    ]
    if hecho.anulada:
        frases.append(_("No se ha escrito nada: era todo o nada."))
    elif hecho.siguiente_linea:
        frases.append(
            _("Quedan líneas sin leer desde la %(linea)s: repita la orden.")
            % {"linea": hecho.siguiente_linea}
        )
    if simulado:
        frases.append(_("Era un simulacro: no se ha escrito nada."))
    return " ".join(frases)
