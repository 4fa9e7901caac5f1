from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.utils.formats import localize
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memoria.comandos import ComandoMemoria, Plazo, Resultado, positivo
from memoria.metricas import medir


class Command(ComandoMemoria):
    help = gettext_lazy("Mide las cinco cifras de la memoria.")  # type: ignore[assignment]  # read when shown

    def opciones(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--days", type=positivo, default=30, help=_("días que miran las cifras de un periodo")
        )

    def ejecutar(self, plazo: Plazo, **opciones: Any) -> Resultado:
        datos = medir(dias=opciones["days"])
        # The figures themselves are the record: their course over time is read from the runs.
        return Resultado(datos, _frase(datos), recuento=datos)


def _frase(datos: dict[str, Any]) -> str:
    documentos, escritas = datos["documentos_por_cliente"], datos["preferencias_por_conversacion"]
    lineas = [
        _(
            "Documentos por cliente: media %(media)s, máximo %(maximo)s; %(por_encima)s clientes por encima "
            "de %(esperados)s."
        )
        % _legibles(documentos),
        _(
            "Preferencias escritas por conversación: %(valor)s (%(preferencias)s en %(conversaciones)s; "
            "alarma desde %(umbral)s)."
        )
        % _legibles(escritas),
        _(
            "Conversaciones con una preferencia anterior a la vista: %(conversaciones_con_preferencia)s de "
            "%(conversaciones)s."
        )
        % _legibles(datos["preferencias_aplicadas"]),
        _("Caducados borrados: %(borrados)s en %(barridos)s barridos; %(pendientes)s esperan el siguiente.")
        % _legibles(datos["caducados_borrados"]),
    ]
    if supresiones := _legibles(datos.get("supresiones", {})):
        lineas.append(
            _("Supresiones: %(cifras)s.") % {"cifras": ", ".join(f"{k} {v}" for k, v in supresiones.items())}
        )
    if escritas["alarma"]:
        lineas.append(_("ALARMA: se escriben demasiadas preferencias por conversación."))
    if documentos["por_encima"]:
        lineas.append(_("ALARMA: hay clientes con más documentos que tipos tiene la lista cerrada."))
    return "\n".join(lineas)


def _legibles(cifra: dict[str, Any]) -> dict[str, str]:
    """The plain values of a figure as a person reads them; what is nested stays in the JSON."""
    return {k: "–" if v is None else str(localize(v)) for k, v in cifra.items() if not isinstance(v, dict)}
