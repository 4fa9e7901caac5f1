"""The four groups of people, and how a migration gives them permissions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib.auth.management import create_permissions

GRUPOS = ("compras", "dpo", "operaciones", "consulta")


def conceder(apps: Any, editor: Any, aplicacion: str, permisos: Mapping[str, Sequence[str]]) -> None:
    """In a migration: make the groups and give each its permissions (``{group: codenames}``).

    Django creates permissions after all migrations have run; they are created here first.
    """
    alias = editor.connection.alias
    configuracion = apps.get_app_config(aplicacion)
    configuracion.models_module = True  # a migration's app registry has none, and create_permissions asks
    create_permissions(configuracion, apps=apps, verbosity=0, using=alias)
    grupos = apps.get_model("auth", "Group").objects.using(alias)
    permiso = apps.get_model("auth", "Permission").objects.using(alias)
    for nombre in GRUPOS:
        grupo, _ = grupos.get_or_create(name=nombre)
        for codigo in permisos.get(nombre, ()):
            grupo.permissions.add(permiso.get(codename=codigo, content_type__app_label=aplicacion))
