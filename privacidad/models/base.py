"""What is only added to."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

from django.db import models

from privacidad.errores import RegistroSoloAnexar


class SoloAnexar(models.Model):
    """Base of what is only added to. ``preparar`` takes UPDATE and DELETE from the web's role and a trigger
    refuses UPDATE, DELETE and TRUNCATE to everybody."""

    solo_anexar: ClassVar[bool] = True

    class Meta:
        abstract = True
        # Also what Model.save() goes through: Django's own plain manager would be a way round the guard.
        base_manager_name = "objects"
        default_permissions = ("view",)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RegistroSoloAnexar
