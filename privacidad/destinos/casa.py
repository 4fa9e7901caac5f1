"""Our own house: what this application itself keeps about the subject."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from privacidad.destinos.base import Destino, Recuento, Sujeto, una_fila
from privacidad.resumenes import resumen, resumen_de_lista


class Casa(Destino):
    """The admin's log of the subject's threads and, of an employee, the log of their sign-ins.

    The admin shows threads read-only, so its log normally has none; a sign-in is the employee's only where
    the name typed is exactly their id. Sessions hold a user's number and no subject. The request itself is
    not counted here: closing it empties its id.
    """

    nombre = "casa"
    etiqueta = _("Esta aplicación")
    etiquetas = {
        "anotaciones": ngettext_lazy("anotación de administración", "anotaciones de administración"),
        "accesos": ngettext_lazy("registro de acceso", "registros de acceso"),
    }
    CONTAR = """
SELECT (SELECT count(*)
        FROM public.django_admin_log l JOIN public.django_content_type t ON t.id = l.content_type_id
        WHERE t.app_label = 'memoria' AND t.model = 'hilo' AND l.object_id = ANY (%(hilos)s::text[])
       ) AS anotaciones,
       (SELECT count(*) FROM public.axes_accessattempt WHERE username = %(empleado)s)
       + (SELECT count(*) FROM public.axes_accesslog WHERE username = %(empleado)s)
       + (SELECT count(*) FROM public.axes_accessfailurelog WHERE username = %(empleado)s) AS accesos
"""
    BORRAR = """
WITH anotaciones AS (
    DELETE FROM public.django_admin_log l USING public.django_content_type t
    WHERE t.id = l.content_type_id AND t.app_label = 'memoria' AND t.model = 'hilo'
      AND l.object_id = ANY (%(hilos)s::text[])
    RETURNING 1
),
caducidades AS (
    DELETE FROM public.axes_accessattemptexpiration c USING public.axes_accessattempt i
    WHERE i.id = c.access_attempt_id AND i.username = %(empleado)s
),
intentos AS (DELETE FROM public.axes_accessattempt WHERE username = %(empleado)s RETURNING 1),
entradas AS (DELETE FROM public.axes_accesslog WHERE username = %(empleado)s RETURNING 1),
fallos AS (DELETE FROM public.axes_accessfailurelog WHERE username = %(empleado)s RETURNING 1)
SELECT (SELECT count(*) FROM anotaciones) AS anotaciones,
       (SELECT count(*) FROM intentos) + (SELECT count(*) FROM entradas)
       + (SELECT count(*) FROM fallos) AS accesos
"""
    consultas = (CONTAR, BORRAR)

    def contar(self, sujeto: Sujeto) -> Recuento:
        return una_fila(self.CONTAR, self._valores(sujeto))

    def suprimir(self, sujeto: Sujeto) -> Recuento:
        return una_fila(self.BORRAR, self._valores(sujeto))

    def parametros(self, sujeto: Sujeto) -> dict[str, str]:
        return {"sujeto": resumen(sujeto.prefijo), "hilos": resumen_de_lista(sujeto.hilos)}

    def _valores(self, sujeto: Sujeto) -> dict[str, object]:
        # NULL equals nothing: of a customer or a supplier no sign-in is looked for.
        empleado = sujeto.sujeto_id if sujeto.espacio == "empleados" else None
        return {"hilos": list(sujeto.hilos), "empleado": empleado}
