"""Texts of the house that name the person, where it was decided that they go: :mod:`privacidad.fuentes`."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy, npgettext_lazy

from privacidad.destinos.base import Destino, Recuento, Sujeto
from privacidad.fuentes import Fuente, documentos
from privacidad.fuentes.anotaciones import ANOTACIONES
from privacidad.fuentes.nombres import NOMBRES
from privacidad.fuentes.retirados import RETIRADOS
from privacidad.models import Solicitud
from privacidad.olvido import resumen_de_fila
from privacidad.resumenes import resumen, resumen_de_lista


class _DeFuente(Destino):
    """What was decided on at the review, row by row, in one source."""

    decidido_fila_a_fila = True
    fuente: ClassVar[Fuente]
    #: Of what it counts, what was decided on and does not grow by itself.
    que_no_crece: ClassVar[str]

    def contar(self, sujeto: Sujeto) -> Recuento:
        return self.fuente.contar(self._filas(sujeto))

    def contar_hasta(self, sujeto: Sujeto, momento: datetime) -> Recuento:
        return {self.que_no_crece: self.contar(sujeto)[self.que_no_crece]}

    def suprimir(self, sujeto: Sujeto) -> Recuento:
        return self.fuente.borrar(self._filas(sujeto))

    def suprimir_hasta(self, sujeto: Sujeto, momento: datetime) -> Recuento:
        # Nobody's rows: the replay finds them by what the register says was decided about each.
        return {}

    def parametros(self, sujeto: Sujeto) -> dict[str, str]:
        filas = sorted(resumen_de_fila(*f.direccion) for f in self._filas(sujeto))
        return {"sujeto": resumen(sujeto.prefijo), "filas": resumen_de_lista(filas)}

    def _filas(self, sujeto: Sujeto) -> list[Any]:
        # Finding those of a closed request reads the whole source. A row that has gone since is counted as
        # gone all the same.
        if self.nombre not in sujeto.hallado:
            suyo = resumen(sujeto.prefijo)
            abierta = Solicitud.objects.abiertas().filter(resumen=suyo).first()
            sujeto.hallado[self.nombre] = list(self.fuente.por_borrar(suyo, abierta))
        filas: list[Any] = sujeto.hallado[self.nombre]
        return filas


class Documentos(_DeFuente):
    """Documents of the house: pages, and versions of their history (:mod:`privacidad.fuentes.documentos`).

    A page goes with all its history, its sections and their vectors; a version goes alone.
    """

    nombre = documentos.NOMBRE
    etiqueta = _("Documentos que la mencionan")
    etiquetas = {
        "paginas": npgettext_lazy("recuento", "documento", "documentos"),
        "versiones": npgettext_lazy("recuento", "versión de su historia", "versiones de su historia"),
        "secciones": npgettext_lazy("recuento", "sección", "secciones"),
        "vectores": npgettext_lazy("recuento", "vector", "vectores"),
    }
    fuente: ClassVar[Fuente] = documentos
    que_no_crece = "paginas"  # their history grows with each change
    tablas = frozenset(f"public.documentos_{tabla}" for tabla in ("pagina", "version", "seccion", "vector"))
    funciones = ("public.documentos_borrar_versiones(bigint[], integer[])",)
    consultas = (
        documentos.CONTAR,
        documentos.CONTAR_VECTORES,
        documentos.BORRAR_VERSIONES,
        documentos.BORRAR_PAGINAS,
    )


class Retirados(_DeFuente):
    """Withdrawn notices of suppliers (:mod:`privacidad.fuentes.retirados`). Those of the person, when they
    are the supplier, are of :class:`privacidad.destinos.compras.Compras`."""

    nombre = RETIRADOS.NOMBRE
    etiqueta = _("Avisos retirados que la mencionan")
    etiquetas = {"avisos": npgettext_lazy("recuento", "aviso retirado", "avisos retirados")}
    fuente: ClassVar[Fuente] = RETIRADOS
    que_no_crece = "avisos"
    tablas = frozenset({"public.compras_retirada"})
    consultas = (RETIRADOS.CONTAR, RETIRADOS.BORRAR)


class Anotaciones(_DeFuente):
    """Entries of purchasing's log (:mod:`privacidad.fuentes.anotaciones`)."""

    nombre = ANOTACIONES.NOMBRE
    etiqueta = _("Anotaciones de compras que la mencionan")
    etiquetas = {"anotaciones": npgettext_lazy("recuento", "anotación", "anotaciones")}
    fuente: ClassVar[Fuente] = ANOTACIONES
    que_no_crece = "anotaciones"
    tablas = frozenset({"public.django_admin_log"})
    consultas = (ANOTACIONES.CONTAR, ANOTACIONES.BORRAR)


class Nombres(_DeFuente):
    """Names of suppliers (:mod:`privacidad.fuentes.nombres`): the code takes the place of each. That of the
    person, when they are the supplier, is of :class:`privacidad.destinos.compras.Compras`."""

    nombre = NOMBRES.NOMBRE
    etiqueta = _("Nombres de proveedores que la mencionan")
    etiquetas = {
        "nombres": ngettext_lazy("nombre en la lista de proveedores", "nombres en la lista de proveedores")
    }
    fuente: ClassVar[Fuente] = NOMBRES
    que_no_crece = "nombres"
    columnas = {"public.compras_proveedor": frozenset({"nombre"})}
    consultas = (NOMBRES.CONTAR, NOMBRES.BORRAR)
