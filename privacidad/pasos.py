"""The steps a page offers: which service each one calls, with which form, and what its button says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from privacidad import avance, estados, revisiones, servicios, supresion
from privacidad.errores import RevisionPerdida
from privacidad.estados import Estado
from privacidad.forms import (
    AmpliarForm,
    DenegarForm,
    ExcepcionForm,
    IdentificarForm,
    RetirarForm,
    SinDatosForm,
)
from privacidad.models import Solicitud


@dataclass(frozen=True)
class Accion:
    """One step: ``a`` is the state it leads to (an extension: none), ``permiso`` what its service needs."""

    nombre: str
    a: Estado | None
    permiso: str
    titulo: str | Promise
    boton: str | Promise
    hecho: str | Promise
    servicio: Callable[..., Any]
    formulario: type[forms.Form] = SinDatosForm
    explicacion: str | Promise = ""
    aparta: bool = False
    peligro: bool = False

    def disponible(self, solicitud: Solicitud, usuario: User) -> bool:
        if self.a is None:
            return solicitud.ampliable and usuario.has_perm(f"privacidad.{self.permiso}")
        if self.a is Estado.EN_CURSO and avance.es_grande(solicitud):
            return False  # the scheduled command runs it; the page tells how it goes
        if self.a is Estado.EN_CURSO and supresion.solo_espera_lo_retenido(solicitud):
            return False  # there is nothing it would erase
        return estados.permitida(solicitud.estado, self.a) and usuario.has_perm(f"privacidad.{self.permiso}")

    @property
    def seccion(self) -> str:
        """Under which heading a step that is set apart is offered."""
        return _("El plazo") if self.a is None else _("Cerrar sin borrar")

    def impedimento(self, solicitud: Solicitud, usuario: User) -> str:
        """Why this person may not take this step though the request waits for it; empty when they may."""
        if self.a is Estado.APROBADA and revisiones.perdida(solicitud) is not None:
            return str(RevisionPerdida())
        impedida = self.a is Estado.APROBADA and solicitud.la_recibio(usuario)
        if impedida and solicitud.puede_aprobarla_otra(usuario):
            return _("Usted recibió esta solicitud: la tiene que aprobar otra persona.")
        return ""

    def formulario_para(self, solicitud: Solicitud, usuario: User) -> type[forms.Form]:
        """The form of this step for this person: who received a request no one else can approve says why."""
        if self.a is Estado.APROBADA and solicitud.la_recibio(usuario):
            return ExcepcionForm
        return self.formulario


#: In the order they are offered: a second review comes after the approval it may lead to.
ACCIONES: tuple[Accion, ...] = (
    Accion(
        "identificar",
        Estado.IDENTIFICADA,
        "tramitar_solicitud",
        gettext_lazy("Comprobar la identidad"),
        gettext_lazy("Anotar la comprobación"),
        gettext_lazy("Identidad anotada."),
        servicios.identificar,
        IdentificarForm,
    ),
    Accion(
        "aprobar",
        Estado.APROBADA,
        "aprobar_solicitud",
        gettext_lazy("Aprobar"),
        gettext_lazy("Aprobar la supresión"),
        gettext_lazy("Solicitud aprobada."),
        servicios.aprobar,
        explicacion=gettext_lazy(
            "La aprueba una persona distinta de la que la recibió, salvo que nadie más pueda."
        ),
    ),
    Accion(
        "revisar",
        Estado.REVISADA,
        "tramitar_solicitud",
        gettext_lazy("Revisar qué hay"),
        gettext_lazy("Contar lo que hay"),
        gettext_lazy("Revisión hecha: estos son los datos que se borrarían."),
        servicios.revisar,
        explicacion=gettext_lazy(
            "Cuenta lo que hay de esta persona en cada sitio y busca dónde más se la nombra: puede tardar "
            "unos segundos. No borra nada."
        ),
    ),
    Accion(
        "ejecutar",
        Estado.EN_CURSO,
        "ejecutar_solicitud",
        gettext_lazy("Borrar"),
        gettext_lazy("Borrar los datos de esta persona"),
        gettext_lazy("Supresión ejecutada: abajo queda la evidencia."),
        servicios.ejecutar_ahora,
        explicacion=gettext_lazy("Borra todo a la vez y deja la evidencia. No se puede deshacer."),
        peligro=True,
    ),
    Accion(
        "ampliar",
        None,
        "tramitar_solicitud",
        gettext_lazy("Ampliar el plazo"),
        gettext_lazy("Ampliar el plazo dos meses"),
        gettext_lazy("Plazo ampliado: abajo queda el escrito para la persona."),
        servicios.ampliar,
        AmpliarForm,
        explicacion=gettext_lazy("Solo una vez y dentro del primer mes, diciendo a la persona por qué."),
        aparta=True,
    ),
    Accion(
        "denegar",
        Estado.DENEGADA,
        "tramitar_solicitud",
        gettext_lazy("Denegar"),
        gettext_lazy("Denegar la solicitud"),
        gettext_lazy("Solicitud denegada."),
        servicios.denegar,
        DenegarForm,
        explicacion=gettext_lazy("Cierra la solicitud sin borrar nada. La denegación debe ir motivada."),
        aparta=True,
    ),
    Accion(
        "retirar",
        Estado.RETIRADA,
        "tramitar_solicitud",
        gettext_lazy("Retirar"),
        gettext_lazy("Retirar la solicitud"),
        gettext_lazy("Solicitud retirada."),
        servicios.retirar,
        RetirarForm,
        explicacion=gettext_lazy("La persona ya no lo pide: cierra la solicitud sin borrar nada."),
        aparta=True,
    ),
)


def accion(nombre: str) -> Accion | None:
    """The step of that name, or none."""
    return next((a for a in ACCIONES if a.nombre == nombre), None)
