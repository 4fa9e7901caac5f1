"""The steps a page offers: which service each one calls, with which form, and what its button says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from privacidad import avance, estados, servicios
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
        return estados.permitida(solicitud.estado, self.a) and usuario.has_perm(f"privacidad.{self.permiso}")

    def formulario_para(self, solicitud: Solicitud, usuario: User) -> type[forms.Form]:
        """The form of this step for this person: who received a request must say why they approve it too."""
        if self.a is Estado.APROBADA and solicitud.la_recibio(usuario):
            return ExcepcionForm
        return self.formulario


#: In the order they are offered: a second review comes after the approval it may lead to.
ACCIONES: tuple[Accion, ...] = (
    Accion(
        "identificar",
        Estado.IDENTIFICADA,
        "tramitar_solicitud",
        _("Comprobar la identidad"),
        _("Anotar la comprobación"),
        _("Identidad anotada."),
        servicios.identificar,
        IdentificarForm,
    ),
    Accion(
        "aprobar",
        Estado.APROBADA,
        "aprobar_solicitud",
        _("Aprobar"),
        _("Aprobar la supresión"),
        _("Solicitud aprobada."),
        servicios.aprobar,
        explicacion=_("La aprueba una persona distinta de la que la recibió."),
    ),
    Accion(
        "revisar",
        Estado.REVISADA,
        "tramitar_solicitud",
        _("Revisar qué hay"),
        _("Contar lo que hay"),
        _("Revisión hecha: estos son los datos que se borrarían."),
        servicios.revisar,
        explicacion=_("Cuenta lo que hay de esta persona en cada sitio. No borra nada."),
    ),
    Accion(
        "ejecutar",
        Estado.EN_CURSO,
        "ejecutar_solicitud",
        _("Borrar"),
        _("Borrar los datos de esta persona"),
        _("Supresión ejecutada: abajo queda la evidencia."),
        servicios.ejecutar_ahora,
        explicacion=_("Borra todo a la vez y deja la evidencia. No se puede deshacer."),
        peligro=True,
    ),
    Accion(
        "ampliar",
        None,
        "tramitar_solicitud",
        _("Ampliar el plazo"),
        _("Ampliar el plazo dos meses"),
        _("Plazo ampliado: abajo queda el escrito para la persona."),
        servicios.ampliar,
        AmpliarForm,
        explicacion=_("Solo una vez y dentro del primer mes, diciendo a la persona por qué."),
        aparta=True,
    ),
    Accion(
        "denegar",
        Estado.DENEGADA,
        "tramitar_solicitud",
        _("Denegar"),
        _("Denegar la solicitud"),
        _("Solicitud denegada."),
        servicios.denegar,
        DenegarForm,
        explicacion=_("Cierra la solicitud sin borrar nada. La denegación debe ir motivada."),
        aparta=True,
    ),
    Accion(
        "retirar",
        Estado.RETIRADA,
        "tramitar_solicitud",
        _("Retirar"),
        _("Retirar la solicitud"),
        _("Solicitud retirada."),
        servicios.retirar,
        RetirarForm,
        explicacion=_("La persona ya no lo pide: cierra la solicitud sin borrar nada."),
        aparta=True,
    ),
)


def accion(nombre: str) -> Accion | None:
    """The step of that name, or none."""
    return next((a for a in ACCIONES if a.nombre == nombre), None)
