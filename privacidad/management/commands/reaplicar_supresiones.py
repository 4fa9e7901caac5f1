from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memoria.comandos import ComandoMemoria, Plazo, Resultado, Salida
from privacidad import exportacion
from privacidad.cifrado import CifradoIlegible
from privacidad.restauracion import reaplicacion


class Command(ComandoMemoria):
    help = gettext_lazy(  # type: ignore[assignment]  # read when shown
        "Tras restaurar una copia y antes de dar servicio: vuelve a borrar lo que ya se había borrado."
    )
    cambia_datos = True

    def opciones(self, parser: CommandParser) -> None:
        parser.add_argument(
            "fichero", type=Path, metavar="FILE", help=_("el registro, como lo dejó «exportar_registro»")
        )

    def ejecutar(self, plazo: Plazo, **opciones: Any) -> Resultado:
        try:
            datos = reaplicacion.reaplicar(
                opciones["fichero"], plazo=plazo, lote=opciones["batch_size"], simular=opciones["dry_run"]
            )
        except (exportacion.ExportacionImposible, CifradoIlegible) as error:
            raise CommandError(str(error), returncode=Salida.USO) from None
        except exportacion.RegistroRoto as error:
            raise CommandError(str(error), returncode=Salida.INTEGRIDAD) from None
        for frase in _avisos(datos):
            self.avisar(frase)
        frase = _(
            "Supresiones reaplicadas: %(reaplicadas)d. Documentos borrados: %(documentos_borrados)d; hilos "
            "borrados: %(hilos_borrados)d. Asientos recuperados: %(asientos_recuperados)d."
        )
        if not datos["completo"]:
            frase += " " + _("Quedan más: repita la orden antes de dar servicio.")
        pendientes = (
            *("a_mano", "copias_perdidas", "menciones_sin_hallar", "por_revisar", "sin_borrar"),
            "unidos_sin_borrar",
        )
        por_hacer = [que for nombre in pendientes for que in datos[nombre]]
        por_hacer += [s for s in datos["solicitudes_atrasadas"] if not s["al_dia"]]
        bien = datos["completo"] and not por_hacer
        return Resultado(datos, frase % datos, Salida.HECHO if bien else Salida.PARCIAL)


def _avisos(datos: dict[str, Any]) -> list[str]:
    por_revisar = {s["referencia"] for s in datos["por_revisar"]}
    avisos = [
        _(
            "%(referencia)s estaba «%(estaba)s» en la copia y ya no: revísela antes de la próxima ejecución "
            "de «ejecutar_supresiones»."
        )
        % s
        for s in datos["solicitudes_atrasadas"]
        if not s["al_dia"] and s["referencia"] not in por_revisar
    ]
    avisos += [_hay_que_revisar(s) for s in datos["por_revisar"]]
    avisos += [
        frase % {"referencias": ", ".join(datos[clave])}
        for clave, frase in _DE_VARIAS.items()
        if datos[clave]
    ]
    for copia in datos["copias_rehechas"]:
        if copia["filas"] < copia["eran"]:
            avisos.append(
                _(
                    "%(referencia)s: la copia bloqueada se ha vuelto a hacer con %(filas)d filas y tenía "
                    "%(eran)d."
                )
                % copia
            )
    avisos += [
        _("Asiento %(asiento)d (%(tipo)s, %(momento)s): hay que volver a hacerlo a mano.") % pendiente
        for pendiente in datos["a_mano"]
    ]
    return avisos


#: What is said of all the requests of a list at once, by the key it has in the JSON.
_DE_VARIAS = {
    "solicitudes_perdidas": gettext_lazy(
        "Solicitudes abiertas que la copia no tiene y hay que registrar otra vez: %(referencias)s."
    ),
    "solicitudes_cerradas_perdidas": gettext_lazy(
        "Solicitudes cerradas que la copia no tiene; quedan su registro y su escrito: %(referencias)s."
    ),
    "sin_borrar": gettext_lazy(
        "%(referencias)s: no se ha vuelto a borrar, porque su copia bloqueada se ha perdido y sin la "
        "solicitud, que no se ha podido rehacer, no se puede hacer otra."
    ),
    "unidos_sin_borrar": gettext_lazy(
        "%(referencias)s: hay retenido un dato que no se encuentra. No se ha vuelto a borrar lo que "
        "hay en los códigos que se unieron al de ese proveedor: puede estar entre eso."
    ),
    "copias_perdidas": gettext_lazy(
        "Copias bloqueadas que se han perdido y no se han podido volver a hacer: %(referencias)s."
    ),
    "menciones_sin_hallar": gettext_lazy(
        "%(referencias)s: no está donde estaba una fila de otra persona que se borró porque la "
        "mencionaba. Puede no estar en la copia, o haber vuelto en otro sitio: búsquela."
    ),
}


def _hay_que_revisar(solicitud: dict[str, Any]) -> str:
    if not solicitud["identificadores_de"]:
        frase = _(
            "%(referencia)s: lo que se revisó o se decidió después de la copia se ha perdido en parte. Hay "
            "que revisarla y aprobarla otra vez."
        )
        return frase % solicitud
    return _(
        "%(referencia)s: se han perdido los otros identificadores de la persona que llegaron con %(con)s. "
        "Regístrelos otra vez, y revise y apruebe la solicitud de nuevo."
    ) % {**solicitud, "con": ", ".join(solicitud["identificadores_de"])}
