"""The register, to be read: the latest entries first, and how its last verification went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from memoria.comandos import Salida
from memoria.explorador.acceso import con_permiso
from privacidad import registro, verificacion
from privacidad.estados import Estado
from privacidad.models import Asiento, Evidencia
from privacidad.resumenes import resumen_de_usuario

POR_PAGINA = 50
#: What is not the state of a request; what is not here either is shown by its bare name.
TIPOS = {
    "acceso": gettext_lazy("Expediente de acceso producido"),
    "acceso_pedido": gettext_lazy("Expediente de acceso pedido"),
    "ampliada": gettext_lazy("Plazo ampliado"),
    "copia_abierta": gettext_lazy("Copia bloqueada abierta"),
    "copia_decidida": gettext_lazy("Copia bloqueada decidida"),
    "copia_destruida": gettext_lazy("Copia bloqueada destruida"),
    "copia_sellada": gettext_lazy("Copia bloqueada guardada"),
    "dato_borrado": gettext_lazy("Dato borrado en la ficha"),
    "escrito_descargado": gettext_lazy("Escrito descargado"),
    "escrito_emitido": gettext_lazy("Escrito emitido"),
    "exclusion": gettext_lazy("Dato retenido"),
    "exclusion_liberada": gettext_lazy("Dato soltado"),
    "expediente_descargado": gettext_lazy("Expediente de acceso descargado"),
    "expediente_destruido": gettext_lazy("Expediente de acceso destruido"),
    "gestion": gettext_lazy("Destino externo"),
    "hallazgo": gettext_lazy("Datos encontrados otra vez"),
    "copia_perdida": gettext_lazy("Copia bloqueada perdida al restaurar"),
    "limitacion": gettext_lazy("Dato limitado"),
    "limitacion_levantada": gettext_lazy("Limitación levantada"),
    "mencion": gettext_lazy("Mención decidida"),
    "mencion_sin_hallar": gettext_lazy("Mención borrada, sin hallar al restaurar"),
    "revision_perdida": gettext_lazy("Hay que revisarla otra vez, tras restaurar"),
    "reaplicada": gettext_lazy("Supresión reaplicada"),
    "restaurada": gettext_lazy("Asientos repuestos tras restaurar"),
    "recordatorio": gettext_lazy("Recordatorio enviado"),
    "rectificacion": gettext_lazy("Dato rectificado"),
    "supresion": gettext_lazy("Datos borrados"),
}


@require_safe
@con_permiso("privacidad.view_asiento")
def asientos(request: HttpRequest) -> HttpResponse:
    """A page of entries: the latest, those before ``?antes=`` or those after ``?despues=``."""
    pagina = _pagina(_numero(request, "antes"), _numero(request, "despues"))
    return render(
        request,
        "privacidad/registro.html",
        {
            "title": _("Registro"),
            "verificacion": como_fue(),
            "primera": "?" if pagina.anterior is not None or not pagina.asientos else None,
            "anterior": pagina.anterior is not None and f"?despues={pagina.anterior}",
            "siguiente": pagina.siguiente is not None and f"?antes={pagina.siguiente}",
            "filas": _filas(pagina.asientos),
        },
    )


def _filas(asientos: list[Asiento]) -> list[dict[str, Any]]:
    nombres = _quienes({a.datos["por"] for a in asientos if "por" in a.datos})
    return [
        {
            "asiento": a,
            "que": que_dice(a),
            "quien": nombres.get(a.datos["por"], _("Una cuenta que ya no existe"))
            if "por" in a.datos
            else "",
            "datos": _en_texto(a.datos),
        }
        for a in asientos
    ]


def _quienes(resumenes: set[str]) -> dict[str, str]:
    """The user names behind those digests, of whom still has an account: the register itself has no names."""
    if not resumenes:
        return {}
    usuarios = ((resumen_de_usuario(u), u.get_username()) for u in User.objects.only("username"))
    return {r: nombre for r, nombre in usuarios if r in resumenes}


class ComoFue(NamedTuple):
    """The last verification, in words: ``tono`` repeats with an icon and a colour what ``frase`` says.

    ``guardado``: the register is whole, and some evidence or document it tells of is missing or altered.
    """

    frase: str
    tono: str
    cuando: Any
    guardado: bool = False


def como_fue() -> ComoFue:
    """How the register stood when it was last verified. Nothing is verified here: it may take long."""
    ejecucion = registro.ultima_verificacion()
    if ejecucion is None:
        return ComoFue(_("Todavía no se ha verificado"), "aviso", None)
    if ejecucion.codigo != Salida.HECHO:
        rota, frase = ejecucion.recuento["primera_rota"], " ".join(verificacion.faltas(ejecucion.recuento))
        if rota is None and frase:
            titulo = verificacion.titulo(ejecucion.recuento)
            return ComoFue(f"{titulo}. {frase}", "mal", ejecucion.inicio, guardado=True)
        return ComoFue(_("Roto en el asiento %(numero)s") % {"numero": rota}, "mal", ejecucion.inicio)
    return ComoFue(
        _("Entero: asientos comprobados, %(n)s") % {"n": ejecucion.recuento["entradas"]},
        "bien",
        ejecucion.inicio,
    )


def que_dice(asiento: Asiento) -> str:
    """What an entry says, in words. A run that found nothing has erased nothing."""
    if asiento.tipo == "supresion" and asiento.datos.get("resultado") == Evidencia.Resultado.SIN_DATOS:
        return str(Evidencia.Resultado.SIN_DATOS.label)
    return nombre_del_tipo(asiento.tipo)


def nombre_del_tipo(tipo: str) -> str:
    """What a type of entry is called."""
    if tipo in Estado.values:
        return str(Estado(tipo).label)
    return str(TIPOS.get(tipo, tipo))


def _en_texto(datos: dict[str, Any]) -> list[tuple[str, str]]:
    return [(n, v if isinstance(v, str) else registro.canonico(v)) for n, v in sorted(datos.items())]


@dataclass(frozen=True)
class _Pagina:
    """``anterior`` and ``siguiente`` are the numbers that lead to later and to earlier entries."""

    asientos: list[Asiento]
    anterior: int | None
    siguiente: int | None


def _pagina(antes: int | None, despues: int | None) -> _Pagina:
    todos = Asiento.objects.order_by("-numero")
    if antes is None and despues is not None:
        filas = list(todos.reverse().filter(numero__gt=despues)[: POR_PAGINA + 1])
        hay_posteriores, hay_anteriores = len(filas) > POR_PAGINA, True
        filas = filas[:POR_PAGINA][::-1]
    else:
        filas = list((todos if antes is None else todos.filter(numero__lt=antes))[: POR_PAGINA + 1])
        hay_posteriores, hay_anteriores = antes is not None, len(filas) > POR_PAGINA
        filas = filas[:POR_PAGINA]
    return _Pagina(
        filas,
        filas[0].numero if filas and hay_posteriores else None,
        filas[-1].numero if filas and hay_anteriores else None,
    )


def _numero(request: HttpRequest, parametro: str) -> int | None:
    """Where a page starts; what is no number is no mark, and the list starts at the top."""
    texto = request.GET.get(parametro, "")
    return int(texto) if texto.isascii() and texto.isdigit() and len(texto) <= LARGO_DE_NUMERO else None


LARGO_DE_NUMERO = 18  # a bigint has room for it
