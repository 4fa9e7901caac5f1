"""Handing out a document. Issuing it is part of the step it tells: see :mod:`privacidad.escritos`."""

from __future__ import annotations

import logging

from django.contrib.auth.models import User

from privacidad import registro
from privacidad.escritos.datos import canonico
from privacidad.models import Escrito
from privacidad.resumenes import resumen_de_usuario
from privacidad.servicios.paso import exigir

logger = logging.getLogger(__name__)


def descargar(*, escrito: Escrito, formato: str, por: User) -> bytes:
    """The bytes of a document as it was issued (``pdf``), or the evidence behind it (``json``).

    It is registered; who took it is registered as a keyed digest. Raises :class:`SinPermiso`.
    """
    exigir(por, "view_solicitud")
    contenido = bytes(escrito.pdf) if formato == "pdf" else canonico(escrito.datos)
    registro.anotar(
        tipo="escrito_descargado",
        referencia=escrito.solicitud.referencia,
        resumen=escrito.solicitud.resumen,
        datos={"numero": escrito.numero, "formato": formato, "por": resumen_de_usuario(por)},
    )
    logger.info("%s %s descargado", escrito.solicitud.referencia, escrito.numero)
    return contenido
