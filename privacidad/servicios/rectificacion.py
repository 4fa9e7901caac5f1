"""Correcting one document of a person (art. 16 GDPR), or erasing it (art. 17, of one datum alone)."""

from __future__ import annotations

import logging
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memoria import politica
from memoria.models import Documento
from privacidad import registro, retenidos
from privacidad.errores import DatoNoValido
from privacidad.models import Restriccion
from privacidad.resumenes import resumen
from privacidad.servicios.paso import exigir, texto_breve
from privacidad.servicios.solicitud import prefijo_de

logger = logging.getLogger(__name__)


def rectificar(*, espacio: str, sujeto_id: str, clave: str, valor: str, visto: datetime, por: User) -> None:
    """Change what a preference says; its kind, its provenance and its lifetime stay. Also if it is withheld.

    ``visto`` is the ``updated_at`` of the document that was seen: if it has changed since, nothing is done.
    The register keeps that it was corrected, and neither value.

    Raises :class:`SinPermiso`, and :class:`DatoNoValido` when it cannot say that, has gone, has changed or is
    held back from an erasure.
    """
    exigir(por, "rectificar_dato")
    prefijo = prefijo_de(espacio, sujeto_id)
    documento = _preferencia(espacio, sujeto_id, clave)
    try:
        _clave, nuevo = politica.documento_preferencia(
            espacio, tipo=documento["tipo"], valor=valor, hilo=documento["hilo"]
        )
    except politica.PoliticaIncumplida as error:
        raise DatoNoValido(str(error)) from None
    with retenidos.traducir(_ACABA_DE_RETENERSE), transaction.atomic():
        retenidos.exigir_suelto(prefijo, clave)
        _llamar(
            "SELECT langgraph.rectificar(%s, %s, %s, %s, %s)",
            [prefijo, clave, visto, nuevo["texto"], nuevo["valor"]],
        )
        registro.anotar(
            tipo="rectificacion",
            resumen=resumen(prefijo),
            datos={"tipo": documento["tipo"], "escrito": registro.en_iso(visto)},
        )
    logger.info("preferencia rectificada en %s", espacio)


def borrar_dato(*, espacio: str, sujeto_id: str, clave: str, visto: datetime, motivo: str, por: User) -> None:
    """Erase one preference, and with it the restriction that was over it alone, which ends for that reason.

    Raises as :func:`rectificar` does.
    """
    exigir(por, "rectificar_dato")
    prefijo = prefijo_de(espacio, sujeto_id)
    razon = texto_breve(motivo, sujeto_id)
    documento = _preferencia(espacio, sujeto_id, clave)
    with retenidos.traducir(_ACABA_DE_RETENERSE), transaction.atomic():
        retenidos.exigir_suelto(prefijo, clave)
        _llamar("SELECT langgraph.borrar_preferencia(%s, %s, %s)", [prefijo, clave, visto])
        Restriccion.objects.filter(prefijo=prefijo, clave=clave, levantada__isnull=True).update(
            levantada=timezone.now(), motivo_levantada=razon
        )
        # When it had been written: a restored copy that brings it back is told from what was said since.
        registro.anotar(
            tipo="dato_borrado",
            resumen=resumen(prefijo),
            datos={"tipo": documento["tipo"], "escrito": registro.en_iso(visto)},
        )
    logger.info("preferencia borrada en %s", espacio)


_ACABA_DE_RETENERSE = gettext_lazy(
    "Ese dato se acaba de retener en una solicitud de supresión: no se ha cambiado."
)


def _preferencia(espacio: str, sujeto_id: str, clave: str) -> dict[str, str]:
    fila = Documento.objects.del_sujeto(espacio, sujeto_id).filter(key=clave).first()
    if fila is None:
        raise DatoNoValido(_("Ese dato ya no está en la memoria."))
    documento = fila.value
    if not isinstance(documento, dict) or documento.get("tipo") not in politica.ESPACIOS[espacio].tipos:
        raise DatoNoValido(_("Aquí solo se cambian o se borran preferencias de la lista cerrada."))
    return documento


def _llamar(consulta: str, parametros: list[Any]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(consulta, parametros)
        if not cursor.fetchone()[0]:
            raise DatoNoValido(_("Ese dato ha cambiado mientras lo veía: mírelo de nuevo antes de tocarlo."))
