from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from compras.almacen import almacen
from compras.importacion import FicheroNoValido, importar
from memoria.comandos import ComandoMemoria, Plazo, Resultado, Salida

#: With their vectors, some megabytes; a batch is one transaction, and one call of a remote model.
AVISOS_POR_LOTE = 200
#: More of them on screen would hide the result; `--json` gives them all.
RECHAZOS_CONTADOS = 50


class Command(ComandoMemoria):
    help = gettext_lazy(  # type: ignore[assignment]  # the stubs do not know that it may be lazy
        "Importa avisos de proveedores de un CSV (columnas proveedor_id, fecha, texto y, si las hay, "
        "aviso_id, importancia, asunto y valido_hasta). Se puede repetir: lo que ya está no se duplica ni "
        "cambia."
    )
    cambia_datos = True

    def opciones(self, parser: CommandParser) -> None:
        parser.add_argument("fichero", type=Path, metavar="FILE", help=_("el CSV"))
        parser.set_defaults(batch_size=AVISOS_POR_LOTE)

    def ejecutar(self, plazo: Plazo, **opciones: Any) -> Resultado:
        simulado: bool = opciones["dry_run"]
        try:
            hecho = importar(
                Path(opciones["fichero"]),
                almacen=almacen(),
                simulado=simulado,
                por_lote=opciones["batch_size"],
                parar=lambda: plazo.agotado,
            )
        except FicheroNoValido as error:
            raise CommandError(str(error), returncode=Salida.USO) from error
        for rechazo in hecho.rechazados[:RECHAZOS_CONTADOS]:
            self.avisar(_("Línea %(linea)s: %(motivo)s") % rechazo)
        frase = _(
            "Avisos nuevos: %(creados)s. Ya estaban: %(sin_cambios)s. Líneas rechazadas: %(rechazados)s. "
            "Proveedores añadidos: %(proveedores)s."
        ) % {
            "creados": hecho.creados,
            "sin_cambios": hecho.sin_cambios,
            "rechazados": len(hecho.rechazados),
            "proveedores": hecho.proveedores_creados,
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
                "sin_cambios": hecho.sin_cambios,
                "proveedores_creados": hecho.proveedores_creados,
                "rechazados": hecho.rechazados,
                "siguiente_linea": hecho.siguiente_linea,
                "simulado": simulado,
            },
            frase,
            Salida.PARCIAL if hecho.rechazados or hecho.siguiente_linea else Salida.HECHO,
        )
