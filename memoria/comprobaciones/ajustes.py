"""Settings."""

from __future__ import annotations

from django.conf import settings
from django.utils.translation import gettext as _

from memoria.comprobaciones.base import Contexto, Hallazgo

LARGO_MINIMO_SECRETO = 50


def depuracion(c: Contexto) -> Hallazgo:
    return Hallazgo(
        not settings.DEBUG,
        _("DEBUG está encendido.") if settings.DEBUG else _("DEBUG está apagado."),
        _("Quite la variable DEBUG o póngala en off: enseña datos en las páginas de error."),
    )


def secretos(c: Contexto) -> Hallazgo:
    secretos = ("SECRET_KEY", "CLAVE_REGISTRO", "CLAVE_SELLO")
    cortos = [v for v in secretos if len(getattr(settings, v)) < LARGO_MINIMO_SECRETO]
    return Hallazgo(
        not cortos,
        _("Secretos con menos de %(largo)s caracteres: %(cortos)s.")
        % {"largo": LARGO_MINIMO_SECRETO, "cortos": ", ".join(cortos) or "0"},
        _(
            "Genere uno más largo. CLAVE_REGISTRO y CLAVE_SELLO no se cambian una vez en uso: lo ya "
            "registrado dejaría de reconocerse, y lo sellado de poder abrirse."
        ),
    )


# What follows only warns: an installation works without it, and its documents say that it is not known.


def direccion_publica(c: Contexto) -> Hallazgo:
    return Hallazgo(
        True,
        _("Dirección pública en los documentos y los avisos: %(direccion)s.")
        % {"direccion": settings.SITE_URL or _("ninguna")},
        _(
            "Ponga en SITE_URL la dirección con la que se entra desde fuera: sin ella, los certificados no "
            "dicen en qué servidor se comprueban, y los recordatorios no llevan enlace."
        ),
        aviso=not settings.SITE_URL,
    )


def dias_de_las_copias(c: Contexto) -> Hallazgo:
    dias = settings.COPIAS_DIAS
    return Hallazgo(
        True,
        _("Días que se conservan las copias de seguridad: %(dias)s.")
        % {"dias": _("no consta") if dias is None else dias},
        _(
            "Ponga en COPIAS_DIAS los días que se conservan las copias de seguridad y el WAL archivado: sin "
            "ello, los certificados no dicen hasta qué día puede quedar en ellas lo borrado."
        ),
        aviso=dias is None,
    )
