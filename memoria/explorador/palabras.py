"""Words for what the pages show: names of namespaces, dates, and how long a document has left."""

from __future__ import annotations

from datetime import datetime

from django.utils import formats, timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy

_ESPACIOS = {
    "clientes": gettext_lazy("clientes"),
    "proveedores": gettext_lazy("proveedores"),
    "empleados": gettext_lazy("empleados"),
}

_TIPOS = {
    "recogida": gettext_lazy("recogida"),
    "contacto": gettext_lazy("contacto"),
    "idioma": gettext_lazy("idioma"),
    "horario": gettext_lazy("horario"),
    "seccion": gettext_lazy("sección"),
}


_ORIGENES = {
    "cliente": pgettext_lazy("origen", "el cliente"),
    "empleado": pgettext_lazy("origen", "el empleado"),
    "compras": pgettext_lazy("origen", "compras"),
}


def nombre_de_espacio(nombre: str) -> str:
    """The name of a namespace as people read it; its own when it is not in the policy."""
    return str(_ESPACIOS.get(nombre, nombre))


def nombre_de_tipo(tipo: str) -> str:
    """The kind of a preference as people read it; any other text as it is."""
    return str(_TIPOS.get(tipo, tipo))


def nombre_de_origen(origen: str) -> str:
    """Who said what a document holds, as people read it; any other text as it is."""
    return str(_ORIGENES.get(origen, origen))


def cuando(momento: datetime) -> str:
    """A moment in the site's time zone, with its time."""
    return formats.date_format(timezone.localtime(momento), "DATETIME_FORMAT")


def caduca_en(caduca: datetime | None, ahora: datetime) -> str:
    """How long is left until ``caduca``: "dentro de 12 días". For what is still in force at ``ahora``."""
    if caduca is None:
        return _("no caduca")
    segundos = (caduca - ahora).total_seconds()
    if segundos < 3600:
        return _("dentro de menos de una hora")
    # To the nearest: what was just given 365 days has 365 left, not 364.
    horas, dias = round(segundos / 3600), round(segundos / 86_400)
    if horas < 48:
        return ngettext("dentro de %d hora", "dentro de %d horas", horas) % horas
    return ngettext("dentro de %d día", "dentro de %d días", dias) % dias
