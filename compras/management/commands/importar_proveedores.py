from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from compras.hoja import FicheroNoValido
from compras.importacion_proveedores import importar_proveedores
from memoria.comandos import ComandoMemoria, Plazo, Resultado, Salida

PROVEEDORES_POR_LOTE = 1000
#: More of them on screen would hide the result; `--json` gives them all.
CONTADOS = 50


class Command(ComandoMemoria):
    help = gettext_lazy(  # type: ignore[assignment]  # the stubs do not know that it may be lazy
        "Importa la lista de proveedores de un CSV (columnas codigo, nombre y, si la hay, activo: sí o no). "
        "Añade los que faltan, pone al día los demás y no quita ninguno."
    )
    cambia_datos = True

    def opciones(self, parser: CommandParser) -> None:
        parser.add_argument("fichero", type=Path, metavar="FILE", help=_("el CSV"))
        parser.set_defaults(batch_size=PROVEEDORES_POR_LOTE)

    def ejecutar(self, plazo: Plazo, **opciones: Any) -> Resultado:
        simulado: bool = opciones["dry_run"]
        try:
            hecho = importar_proveedores(
                Path(opciones["fichero"]),
                simulado=simulado,
                por_lote=opciones["batch_size"],
                parar=lambda: plazo.agotado,
            )
        except FicheroNoValido as error:
            raise CommandError(str(error), returncode=Salida.USO) from error
        for rechazo in hecho.rechazados[:CONTADOS]:
            self.avisar(_("Línea %(linea)s: %(motivo)s") % rechazo)
        frase = _(
            "Proveedores nuevos: %(creados)s. Puestos al día: %(actualizados)s. Ya estaban igual: "
            "%(sin_cambios)s. Líneas rechazadas: %(rechazados)s."
        ) % {
            "creados": hecho.creados,
            "actualizados": hecho.actualizados,
            "sin_cambios": hecho.sin_cambios,
            "rechazados": len(hecho.rechazados),
        }
        if hecho.siguiente_linea:
            frase += " " + _("Quedan líneas sin leer desde la %(linea)s: repita la orden.") % {
                "linea": hecho.siguiente_linea
            }
        if simulado:
            frase += " " + _("Era un simulacro: no se ha escrito nada.")
        return Resultado(
            {
                "creados": hecho.creados,
                "actualizados": hecho.actualizados,
                "sin_cambios": hecho.sin_cambios,
                "rechazados": hecho.rechazados,
                "siguiente_linea": hecho.siguiente_linea,
                "simulado": simulado,
            },
            frase,
            Salida.PARCIAL if hecho.rechazados or hecho.siguiente_linea else Salida.HECHO,
        )
