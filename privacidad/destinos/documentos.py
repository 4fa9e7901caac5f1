"""Documents of the house that name the person, where it was decided that they go."""

from __future__ import annotations

from datetime import datetime

from django.utils.translation import gettext_lazy as _
from django.utils.translation import npgettext_lazy

from privacidad import documentos
from privacidad.destinos.base import Destino, Recuento, Sujeto
from privacidad.models import Solicitud
from privacidad.olvido import resumen_de_fila
from privacidad.resumenes import resumen, resumen_de_lista


class Documentos(Destino):
    """The pages, and the versions of their history, decided on at the review: :mod:`privacidad.documentos`.

    A page goes with all its history, its sections and their vectors; a version goes alone.
    """

    nombre = "documentos"
    etiqueta = _("Documentos que la mencionan")
    etiquetas = {
        "paginas": npgettext_lazy("recuento", "documento", "documentos"),
        "versiones": npgettext_lazy("recuento", "versión de su historia", "versiones de su historia"),
        "secciones": npgettext_lazy("recuento", "sección", "secciones"),
        "vectores": npgettext_lazy("recuento", "vector", "vectores"),
    }
    tablas = frozenset(f"public.documentos_{tabla}" for tabla in ("pagina", "version", "seccion", "vector"))
    funciones = ("public.documentos_borrar_versiones(bigint[], integer[])",)
    consultas = (
        documentos.CONTAR,
        documentos.CONTAR_VECTORES,
        documentos.BORRAR_VERSIONES,
        documentos.BORRAR_PAGINAS,
    )

    def contar(self, sujeto: Sujeto) -> Recuento:
        return documentos.contar(self._filas(sujeto))

    def contar_hasta(self, sujeto: Sujeto, momento: datetime) -> Recuento:
        # Which pages go was decided one by one; their history grows with each change.
        return {"paginas": self.contar(sujeto)["paginas"]}

    def suprimir(self, sujeto: Sujeto) -> Recuento:
        return documentos.borrar(self._filas(sujeto))

    def suprimir_hasta(self, sujeto: Sujeto, momento: datetime) -> Recuento:
        # Nobody's rows: the replay finds them by what the register says was decided about each.
        return {}

    def parametros(self, sujeto: Sujeto) -> dict[str, str]:
        filas = sorted(resumen_de_fila(*f.direccion) for f in self._filas(sujeto))
        return {"sujeto": resumen(sujeto.prefijo), "filas": resumen_de_lista(filas)}

    def _filas(self, sujeto: Sujeto) -> list[documentos.Fila]:
        suyo = resumen(sujeto.prefijo)
        return documentos.por_borrar(suyo, Solicitud.objects.abiertas().filter(resumen=suyo).first())
