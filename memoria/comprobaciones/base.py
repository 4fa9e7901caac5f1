"""What every check of ``doctor`` is given and gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils.translation import gettext as _


class Hallazgo(NamedTuple):
    """What a check found. ``remedio`` says what to do if it is not ``ok``, or if ``aviso``: then also
    when it is."""

    ok: bool
    detalle: str
    remedio: str
    aviso: bool = False


@dataclass(frozen=True)
class Contexto:
    conexion: BaseDatabaseWrapper

    def fila(self, consulta: str, parametros: Any = None) -> tuple[Any, ...]:
        with self.conexion.cursor() as cursor:
            cursor.execute(consulta, parametros)
            fila: tuple[Any, ...] = cursor.fetchone()
            return fila

    def valor(self, consulta: str, parametros: Any = None) -> Any:
        return self.fila(consulta, parametros)[0]

    def lista(self, consulta: str, parametros: Any = None) -> list[Any]:
        with self.conexion.cursor() as cursor:
            cursor.execute(consulta, parametros)
            return [f[0] for f in cursor.fetchall()]


def PREPARAR() -> str:  # noqa: N802 - a constant, but for the language it is read in
    return _("Ejecute «manage.py preparar» con el usuario propietario.")
