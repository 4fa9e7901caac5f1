from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memoria.comandos import ComandoMemoria, Plazo, Resultado, Salida
from memoria.documentos import indice
from memoria.documentos.carpeta import Carpeta, CarpetaNoValida
from memoria.documentos.espacios import ESPACIOS
from memoria.documentos.sincronizacion import Hecho, exportar, importar
from memoria.embeddings import EmbeddingsNoDisponibles

#: With their sections and their history, some megabytes; a batch is one transaction.
DOCUMENTOS_POR_LOTE = 200
#: More of them on screen would hide the result; `--json` gives them all.
RECHAZOS_CONTADOS = 50


class Command(ComandoMemoria):
    help = gettext_lazy(  # type: ignore[assignment]  # the stubs do not know that it may be lazy
        "Trae los documentos de una carpeta de Markdown a un espacio o, con --export, los lleva a la "
        "carpeta. No sigue enlaces ni sale de ella, y no borra nada en ninguno de los dos lados. Se puede "
        "repetir."
    )
    cambia_datos = True

    def opciones(self, parser: CommandParser) -> None:
        parser.add_argument("carpeta", metavar="DIR", help=_("la carpeta"))
        parser.add_argument("--espacio", required=True, choices=ESPACIOS, help=_("de quién son"))
        parser.add_argument("--export", action="store_true", help=_("de la aplicación a la carpeta"))
        parser.set_defaults(batch_size=DOCUMENTOS_POR_LOTE)

    def ejecutar(self, plazo: Plazo, **opciones: Any) -> Resultado:
        espacio: str = opciones["espacio"]
        simular: bool = opciones["dry_run"]
        sacar: bool = opciones["export"]
        if not opciones["carpeta"]:
            # To a path it would be the folder the order was given in: an unset variable is not that.
            raise CommandError(_("No ha dicho qué carpeta."), returncode=Salida.USO)
        with ExitStack() as pila:
            donde = Path(opciones["carpeta"])
            if sacar and simular and not donde.exists():
                donde = Path(pila.enter_context(tempfile.TemporaryDirectory()))  # as empty as it would be
            try:
                carpeta = pila.enter_context(Carpeta(donde, crear=sacar and not simular))
            except CarpetaNoValida as error:
                raise CommandError(str(error), returncode=Salida.USO) from error
            hecho = (exportar if sacar else importar)(
                carpeta,
                espacio,
                lote=opciones["batch_size"],
                simular=simular,
                parar=lambda: plazo.agotado,
                avisar=self.avisar,
            )
        incrustadas, con_vectores = (0, True) if simular or sacar else self._incrustar(espacio, plazo)
        for rechazo in hecho.rechazados[:RECHAZOS_CONTADOS]:
            self.avisar(_("%(ruta)s: %(motivo)s") % rechazo)
        completo = hecho.completo and not plazo.agotado
        return Resultado(
            {
                "espacio": espacio,
                "creados": hecho.creados,
                "actualizados": hecho.actualizados,
                "sin_cambios": hecho.sin_cambios,
                "rechazados": hecho.rechazados,
                "mas_recientes": hecho.mas_recientes,
                "solo_en_la_carpeta" if sacar else "solo_en_la_aplicacion": hecho.sobran,
                "secciones_incrustadas": incrustadas,
                "simulado": simular,
                "completo": completo,
            },
            _frase(hecho, sacar, simular, completo),
            Salida.HECHO if completo and con_vectores and not hecho.rechazados else Salida.PARCIAL,
        )

    def _incrustar(self, espacio: str, plazo: Plazo) -> tuple[int, bool]:
        """How many sections were given a vector, and whether the model answered for all of them."""
        hechas = 0

        def avance(n: int) -> None:
            nonlocal hechas
            hechas = n
            self.avisar(_("Secciones preparadas para buscar: %(n)s.") % {"n": n})

        try:
            indice.incrustar(espacio, parar=lambda: plazo.agotado, avance=avance)
        except EmbeddingsNoDisponibles as error:
            self.avisar(str(error))
            self.avisar(
                _("Los documentos están guardados y se encuentran por sus palabras: repita la orden.")
            )
            return hechas, False
        return hechas, True


def _frase(hecho: Hecho, sacar: bool, simular: bool, completo: bool) -> str:
    frases = [
        _(
            "Creados: %(creados)s. Actualizados: %(actualizados)s. Sin cambios: %(sin_cambios)s. "
            "Rechazados: %(rechazados)s."
        )
        % {
            "creados": hecho.creados,
            "actualizados": hecho.actualizados,
            "sin_cambios": hecho.sin_cambios,
            "rechazados": len(hecho.rechazados),
        }
    ]
    if hecho.mas_recientes:
        frases.append(
            _("Cambiaron en la aplicación y no en la carpeta, y se han dejado: %(n)s.")
            % {"n": hecho.mas_recientes}
        )
    if hecho.sobran:
        solo = (
            _("Solo están en la carpeta, y no se han tocado: %(n)s.")
            if sacar
            else _("Solo están en la aplicación, y no se han borrado: %(n)s.")
        )
        frases.append(solo % {"n": hecho.sobran})
    if not completo:
        frases.append(_("Quedan más: repita la orden."))
    if simular:
        frases.append(_("Era un simulacro: no se ha escrito nada."))
    return " ".join(frases)
