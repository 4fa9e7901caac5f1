from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from memoria.comandos import ComandoMemoria, Plazo, Resultado, Salida
from memoria.retencion import barrer, barrer_otras_salas


class Command(ComandoMemoria):
    help = gettext_lazy("Borra los documentos caducados, por lotes. Se puede repetir y se puede interrumpir.")  # type: ignore[assignment]  # read when shown
    cambia_datos = True

    def ejecutar(self, plazo: Plazo, **opciones: Any) -> Resultado:
        datos = barrer(lote=opciones["batch_size"], plazo=plazo, simular=opciones["dry_run"])
        otras = barrer_otras_salas(plazo=plazo, simular=opciones["dry_run"])
        # The other rooms stop at the same time and do not say whether they had ended: then it is run again.
        datos["completo"] = datos["completo"] and (datos["simulado"] or not plazo.agotado)
        return Resultado(
            {**datos, **otras},
            _frase(datos),
            Salida.HECHO if datos["completo"] else Salida.PARCIAL,
            recuento={**{k: datos[k] for k in ("borrados", "por_espacio", "lotes")}, **otras},
        )


def _frase(datos: dict[str, Any]) -> str:
    n = datos["borrados"]
    if datos["simulado"]:
        frase = ngettext(
            "Se borraría %(n)s documento caducado.", "Se borrarían %(n)s documentos caducados.", n
        )
    else:
        frase = ngettext("Borrado %(n)s documento caducado.", "Borrados %(n)s documentos caducados.", n)
    frase %= {"n": n}
    if not datos["completo"]:
        frase += " " + _("Puede quedar más: repita la orden para seguir.")
    return frase
