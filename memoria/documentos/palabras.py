"""How spaces and permissions are told to people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

#: The name of each owner space.
NOMBRES: Mapping[str, Any] = {
    "compras": _("Compras"),
    "sala": _("Tienda"),
    "cliente": _("Atención al cliente"),
}
#: Who reads them.
AGENTES: Mapping[str, Any] = {
    "compras": _("Los lee el agente que ayuda a compras con los pedidos."),
    "sala": _("Los lee el asistente de los empleados de tienda."),
    "cliente": _(
        "Los lee el agente que habla con los clientes: no escriba nada que un cliente no deba saber."
    ),
}
#: Codename and name of every permission, two per space.
PERMISOS: tuple[tuple[str, Any], ...] = (
    ("ver_compras", _("Puede ver los documentos de compras")),
    ("escribir_compras", _("Puede escribir, cambiar y borrar los documentos de compras")),
    ("ver_sala", _("Puede ver los documentos de tienda")),
    ("escribir_sala", _("Puede escribir, cambiar y borrar los documentos de tienda")),
    ("ver_cliente", _("Puede ver los documentos de atención al cliente")),
    ("escribir_cliente", _("Puede escribir, cambiar y borrar los documentos de atención al cliente")),
)
