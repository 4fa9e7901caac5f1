"""What people do with documents: write, change, delete, recover, and go back to an earlier version.

Each is one transaction that checks the permission and the state, changes the page, adds a version to its
history and makes its sections again. Vectors come after (:mod:`memoria.documentos.indice`).
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.translation import gettext as _

from memoria.documentos import indice
from memoria.documentos.acceso import en_espacio, exigir_escribir
from memoria.documentos.errores import (
    DocumentoCambiado,
    DocumentoNoBorrado,
    DocumentoNoExiste,
    DocumentoNoValido,
    RutaOcupada,
    VersionNoExiste,
)
from memoria.documentos.models import (
    LARGO_MAXIMO_MOTIVO,
    LARGO_MAXIMO_TEXTO,
    LARGO_MAXIMO_TITULO,
    Accion,
    Pagina,
    Version,
)
from memoria.documentos.rutas import RutaNoValida, comprobar_ruta
from memoria.politica import CONTROL, Importancia

logger = logging.getLogger(__name__)


def crear(
    *,
    espacio: str,
    ruta: str,
    titulo: str,
    texto: str,
    importancia: str = Importancia.NORMAL,
    motivo: str = "",
    admitidos: Mapping[str, Any] | None = None,
    por: User,
) -> Pagina:
    """Write a new document. ``admitidos``: see :class:`memoria.identificadores_form.ConIdentificadores`.

    Raises ``SinPermiso``, ``DocumentoNoValido`` and ``RutaOcupada``.
    """
    exigir_escribir(por, espacio)
    titulo, texto, motivo = componer(titulo=titulo, texto=texto, importancia=importancia, motivo=motivo)
    try:
        comprobar_ruta(ruta)
    except RutaNoValida as error:
        raise DocumentoNoValido(str(error), campo="ruta") from error
    pagina = Pagina(
        espacio=espacio, ruta=ruta, titulo=titulo, texto=texto, importancia=importancia, autor=por
    )
    with en_espacio(espacio):
        if rutas_con_otras_mayusculas(espacio, [ruta]):
            raise DocumentoNoValido(otras_mayusculas(), campo="ruta")
        try:
            with transaction.atomic():
                pagina.save()
        except IntegrityError as error:
            ocupante = Pagina.objects.filter(espacio=espacio, ruta=ruta).first()
            if ocupante is None:
                raise
            raise RutaOcupada(borrado=ocupante.borrada is not None) from error
        _anotar(pagina, Accion.CREADA, motivo, por, admitidos)
    indice.incrustar_sin_fallar(espacio, pagina.pk)
    return pagina


def cambiar(
    *,
    espacio: str,
    pagina_id: int,
    version: int,
    titulo: str,
    texto: str,
    importancia: str,
    motivo: str = "",
    admitidos: Mapping[str, Any] | None = None,
    por: User,
) -> Pagina:
    """Change a document. ``version`` is the number of the one that was being edited.

    Saving what it already says adds no version.

    Raises ``SinPermiso``, ``DocumentoNoValido``, ``DocumentoNoExiste`` and ``DocumentoCambiado`` (and then
    nothing was overwritten).
    """
    exigir_escribir(por, espacio)
    titulo, texto, motivo = componer(titulo=titulo, texto=texto, importancia=importancia, motivo=motivo)
    with en_espacio(espacio):
        pagina = _viva(espacio, pagina_id)
        if pagina.version != version:
            raise DocumentoCambiado
        if (pagina.titulo, pagina.texto, pagina.importancia) == (titulo, texto, importancia):
            return pagina
        pagina.titulo, pagina.texto, pagina.importancia = titulo, texto, importancia
        _avanzar(pagina, Accion.CAMBIADA, motivo, por, admitidos)
    indice.incrustar_sin_fallar(espacio, pagina_id)
    return pagina


def volver(*, espacio: str, pagina_id: int, numero: int, version: int, por: User) -> Pagina:
    """Put back what version ``numero`` said, as a new version: the history only grows.

    Raises ``SinPermiso``, ``DocumentoNoExiste``, ``DocumentoCambiado`` and ``VersionNoExiste``.
    """
    exigir_escribir(por, espacio)
    with en_espacio(espacio):
        pagina = _viva(espacio, pagina_id)
        if pagina.version != version:
            raise DocumentoCambiado
        antigua = Version.objects.filter(pagina=pagina, numero=numero).first()
        if antigua is None:
            raise VersionNoExiste
        pagina.titulo, pagina.texto, pagina.importancia = antigua.titulo, antigua.texto, antigua.importancia
        _avanzar(pagina, Accion.RESTAURADA, _("De la versión %(numero)s.") % {"numero": numero}, por)
    indice.incrustar_sin_fallar(espacio, pagina_id)
    return pagina


def borrar(*, espacio: str, pagina_id: int, version: int, motivo: str, por: User) -> None:
    """Take a document away from the agents and from the list. For thirty days it can be recovered.

    Raises ``SinPermiso``, ``DocumentoNoValido`` (no reason), ``DocumentoNoExiste`` and ``DocumentoCambiado``.
    """
    exigir_escribir(por, espacio)
    motivo = _motivo(motivo)
    if not motivo:
        raise DocumentoNoValido(_("Escriba por qué se borra: quedará en su historia."), campo="motivo")
    with en_espacio(espacio):
        pagina = _viva(espacio, pagina_id)
        if pagina.version != version:
            raise DocumentoCambiado
        pagina.borrada = timezone.now()
        _avanzar(pagina, Accion.BORRADA, motivo, por)


def recuperar(*, espacio: str, pagina_id: int, por: User) -> Pagina:
    """Bring a deleted document back as it was.

    Raises ``SinPermiso``, ``DocumentoNoExiste`` and ``DocumentoNoBorrado``.
    """
    exigir_escribir(por, espacio)
    with en_espacio(espacio):
        pagina = Pagina.objects.filter(espacio=espacio, pk=pagina_id).select_for_update().first()
        if pagina is None:
            raise DocumentoNoExiste
        if pagina.borrada is None:
            raise DocumentoNoBorrado
        pagina.borrada = None
        _avanzar(pagina, Accion.RECUPERADA, "", por)
    indice.incrustar_sin_fallar(espacio, pagina_id)
    return pagina


def rutas_con_otras_mayusculas(espacio: str, rutas: Iterable[str]) -> set[str]:
    """Those of ``rutas`` that another document has, deleted ones too, but for their capitals.

    As files they would be one and the same where capitals do not count (Windows, macOS): one would be lost.
    """
    por_letras: dict[str, set[str]] = defaultdict(set)
    for ruta in rutas:
        por_letras[ruta.lower()].add(ruta)
    ocupadas = (
        Pagina.objects.filter(espacio=espacio)
        .annotate(letras=Lower("ruta"))
        .filter(letras__in=list(por_letras))
        .values_list("ruta", flat=True)
    )
    return {r for otra in ocupadas for r in por_letras[otra.lower()] if r != otra}


def otras_mayusculas() -> str:
    return _(
        "Ya hay un documento con esa ruta escrita con otras mayúsculas, y en algunos ordenadores serían el "
        "mismo fichero: elija otra."
    )


def componer(*, titulo: str, texto: str, importancia: str, motivo: str = "") -> tuple[str, str, str]:
    """Title, text and reason as they are kept, checked: screens, services and the folder share the rules.

    Raises ``DocumentoNoValido``, whose sentence never repeats what was written.
    """
    titulo = " ".join(titulo.split())
    texto = texto.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    if not titulo:
        raise DocumentoNoValido(_("Escriba un título."), campo="titulo")
    for campo, valor, maximo in (
        ("titulo", titulo, LARGO_MAXIMO_TITULO),
        ("texto", texto, LARGO_MAXIMO_TEXTO),
    ):
        if len(valor) > maximo:
            raise DocumentoNoValido(
                _("Aquí caben %(maximo)s caracteres y hay %(hay)s: acórtelo.")
                % {"maximo": maximo, "hay": len(valor)},
                campo=campo,
            )
        if CONTROL.search(valor):
            raise DocumentoNoValido(
                _("Hay caracteres invisibles que no se pueden guardar: bórrelos o escríbalo de nuevo."),
                campo=campo,
            )
    if importancia not in tuple(Importancia):
        raise DocumentoNoValido(_("La importancia es normal o alta."), campo="importancia")
    return titulo, texto, _motivo(motivo)


def _motivo(motivo: str) -> str:
    limpio = " ".join(motivo.split())
    if len(limpio) > LARGO_MAXIMO_MOTIVO or CONTROL.search(limpio):
        raise DocumentoNoValido(
            _("El motivo es una frase de como mucho %(maximo)s caracteres, sin caracteres invisibles.")
            % {"maximo": LARGO_MAXIMO_MOTIVO},
            campo="motivo",
        )
    return limpio


def _viva(espacio: str, pagina_id: int) -> Pagina:
    """The page, locked until the end of the transaction. The second of two people waits here, and is told."""
    pagina = Pagina.objects.vivas().filter(espacio=espacio, pk=pagina_id).select_for_update().first()
    if pagina is None:
        raise DocumentoNoExiste
    return pagina


def _avanzar(
    pagina: Pagina,
    accion: Accion,
    motivo: str,
    por: User,
    admitidos: Mapping[str, Any] | None = None,
) -> None:
    pagina.version += 1
    pagina.autor, pagina.actualizada = por, timezone.now()
    pagina.save()
    _anotar(pagina, accion, motivo, por, admitidos)


def _anotar(
    pagina: Pagina,
    accion: Accion,
    motivo: str,
    por: User,
    admitidos: Mapping[str, Any] | None = None,
) -> None:
    version = version_de(pagina, accion, motivo, por)
    version.admitidos = dict(admitidos or {})
    version.save()
    indice.reindexar([pagina])
    logger.info("documento %s de %s: %s, versión %s", pagina.pk, pagina.espacio, accion, pagina.version)


def version_de(pagina: Pagina, accion: Accion, motivo: str, por: User | None) -> Version:
    """The line of the history for the page as it is now, unsaved."""
    return Version(
        espacio=pagina.espacio,
        pagina=pagina,
        numero=pagina.version,
        accion=accion,
        titulo=pagina.titulo,
        texto=pagina.texto,
        importancia=pagina.importancia,
        motivo=motivo,
        autor=por,
    )
