"""Our own house: what this application itself keeps about the subject."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import chain

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce, Now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy, npgettext_lazy

from privacidad.destinos.base import (
    Destino,
    Rastro,
    Recuento,
    Sujeto,
    por_tandas,
    rastros_de_prefijos,
    una_fila,
)
from privacidad.models import Exclusion, Expediente, Mencion, Restriccion
from privacidad.olvido import en_el_prefijo, olvidar_menciones_en
from privacidad.resumenes import resumen, resumen_de_lista


class Casa(Destino):
    """What is not the subject's data but names them, or shows that they were here.

    The admin's log of their threads; of an employee who signs in with exactly their id, the sessions and the
    log of sign-ins; the address of their card in restrictions and in what was decided about other people's
    requests; the files of their access requests. The account an employee signs in with is not touched: it is
    who did what in this application, and ends when they leave. The request itself empties when it closes.
    """

    nombre = "casa"
    etiqueta = _("Esta aplicación")
    etiquetas = {
        "anotaciones": ngettext_lazy("anotación de administración", "anotaciones de administración"),
        "accesos": ngettext_lazy("registro de acceso", "registros de acceso"),
        "sesiones": ngettext_lazy("sesión abierta", "sesiones abiertas"),
        "limitaciones": ngettext_lazy("limitación con su dirección", "limitaciones con su dirección"),
        "menciones": ngettext_lazy(
            "mención anotada en otra solicitud", "menciones anotadas en otras solicitudes"
        ),
        "expedientes": npgettext_lazy("recuento", "expediente de acceso", "expedientes de acceso"),
    }
    tablas = frozenset(
        {
            "public.axes_accessattempt",
            "public.axes_accessattemptexpiration",
            "public.axes_accessfailurelog",
            "public.axes_accesslog",
            "public.django_admin_log",
            "public.django_session",
        }
    )
    columnas = {
        "public.privacidad_restriccion": frozenset({"prefijo", "clave"}),
        "public.privacidad_mencion": frozenset({"prefijo", "clave"}),
        "public.privacidad_exclusion": frozenset({"clave"}),
        "public.privacidad_expediente": frozenset({"pdf", "json", "pedido"}),
        "public.privacidad_solicitud": frozenset({"sujeto_id", "reservado"}),
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
    #: What is back of who had been erased: the log of a thread that goes, goes with it whenever it is from.
    CONTAR_VUELTOS = CONTAR.replace("%(empleado)s", "%(empleado)s AND attempt_time <= %(momento)s")
    CONTAR_HASTA = CONTAR_VUELTOS.replace(
        "%(hilos)s::text[])", "%(hilos)s::text[]) AND l.action_time <= %(momento)s"
    )
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
    BORRAR_HASTA = BORRAR.replace(
        "username = %(empleado)s", "username = %(empleado)s AND attempt_time <= %(momento)s"
    )
    consultas = (CONTAR, BORRAR)
    consultas_con_corte = (CONTAR_VUELTOS, BORRAR_HASTA)
    RASTROS_DE_ACCESOS = """
SELECT username, min(attempt_time) AS desde
FROM (SELECT username, attempt_time FROM public.axes_accessattempt
      UNION ALL SELECT username, attempt_time FROM public.axes_accesslog
      UNION ALL SELECT username, attempt_time FROM public.axes_accessfailurelog) AS accesos
WHERE username > %s
GROUP BY username
ORDER BY username
LIMIT %s
"""
    RASTROS_DE_DIRECCIONES = """
SELECT prefijo, min(momento) AS desde
FROM (SELECT prefijo, creada AS momento FROM public.privacidad_restriccion
      UNION ALL SELECT prefijo, momento FROM public.privacidad_mencion) AS direcciones
WHERE prefijo > %s
GROUP BY prefijo
ORDER BY prefijo
LIMIT %s
"""

    def contar(self, sujeto: Sujeto) -> Recuento:
        hasta = self.hasta(sujeto)
        consulta = self.CONTAR if hasta is None else self.CONTAR_VUELTOS
        return {
            **una_fila(consulta, {**self._valores(sujeto), "momento": hasta}),
            "sesiones": sum(1 for _ in _sesiones(sujeto)),
            **_con_fecha(sujeto, hasta),
        }

    def contar_hasta(self, sujeto: Sujeto, momento: datetime) -> Recuento:
        # A session has no date of its own.
        return {
            **una_fila(self.CONTAR_HASTA, {**self._valores(sujeto), "momento": momento}),
            **_con_fecha(sujeto, momento),
        }

    def suprimir(self, sujeto: Sujeto) -> Recuento:
        return self._borrar(sujeto, self.hasta(sujeto))

    def suprimir_hasta(self, sujeto: Sujeto, momento: datetime) -> Recuento:
        return self._borrar(sujeto, momento)

    def _borrar(self, sujeto: Sujeto, hasta: datetime | None) -> Recuento:
        limitaciones = Restriccion.objects.filter(_limitaciones(sujeto))
        expedientes = _expedientes(sujeto)
        if hasta is not None:
            limitaciones = limitaciones.filter(Q(creada__lte=hasta) | Q(clave__in=retenidas_antes(sujeto)))
            expedientes = expedientes.filter(creado__lte=hasta)
        return {
            **una_fila(
                self.BORRAR if hasta is None else self.BORRAR_HASTA,
                {**self._valores(sujeto), "momento": hasta},
            ),
            "sesiones": Session.objects.filter(pk__in=list(_sesiones(sujeto))).delete()[0],
            "limitaciones": limitaciones.update(
                prefijo=resumen(sujeto.prefijo),
                clave="",
                levantada=Coalesce("levantada", Now()),
                # Free texts about the person.
                motivo="",
                motivo_levantada="",
            ),
            "menciones": olvidar_menciones_en(sujeto.prefijo, hasta=hasta),
            "expedientes": expedientes.update(pdf=b"", json=b"", pedido=b"", destruido=Now()),
        }

    def sujetos(self, cuantos: int, hasta: datetime) -> Iterator[Rastro]:
        return chain(
            (
                Rastro("empleados", nombre, desde)
                for nombre, desde in por_tandas(self.RASTROS_DE_ACCESOS, cuantos, [""])
            ),
            rastros_de_prefijos(por_tandas(self.RASTROS_DE_DIRECCIONES, cuantos, [""])),
        )

    def parametros(self, sujeto: Sujeto) -> dict[str, str]:
        return {"sujeto": resumen(sujeto.prefijo), "hilos": resumen_de_lista(sujeto.hilos)}

    def _valores(self, sujeto: Sujeto) -> dict[str, object]:
        # NULL equals nothing: of a customer or a supplier no sign-in is looked for.
        return {"hilos": list(sujeto.hilos), "empleado": _empleado(sujeto)}


def _con_fecha(sujeto: Sujeto, hasta: datetime | None) -> Recuento:
    """The counts of what Django's models keep, of what was there at that moment; of all of it if none."""
    limitaciones = Restriccion.objects.filter(_limitaciones(sujeto))
    menciones = Mencion.objects.filter(en_el_prefijo("prefijo", sujeto.prefijo))
    expedientes = _expedientes(sujeto)
    if hasta is not None:
        limitaciones = limitaciones.filter(Q(creada__lte=hasta) | Q(clave__in=retenidas_antes(sujeto)))
        menciones = menciones.filter(momento__lte=hasta)
        expedientes = expedientes.filter(creado__lte=hasta)
    return {
        "limitaciones": limitaciones.count(),
        "menciones": menciones.count(),
        "expedientes": expedientes.count(),
    }


def _empleado(sujeto: Sujeto) -> str | None:
    return sujeto.sujeto_id if sujeto.espacio == "empleados" else None


def _sesiones(sujeto: Sujeto) -> Iterable[str]:
    """Keys of the sessions of the employee; a session says only inside, encoded, whose it is."""
    usuario = User.objects.filter(username=_empleado(sujeto)).first() if _empleado(sujeto) else None
    if usuario is None:
        return
    for sesion in Session.objects.order_by("pk").iterator():
        if sesion.get_decoded().get(SESSION_KEY) == str(usuario.pk):
            yield sesion.session_key


def _limitaciones(sujeto: Sujeto) -> Q:
    """Restrictions over the card; those that keep what is held back out of use stay with it."""
    suyas = en_el_prefijo("prefijo", sujeto.prefijo)
    retenidas = sujeto.excluidos.get("memoria", ())
    return suyas & ~Q(clave__in=["", *retenidas]) if retenidas else suyas


def retenidas_antes(sujeto: Sujeto) -> list[str]:
    """Of who had been erased and is there again, the keys of what was held back meanwhile: a restriction
    that keeps one out of use is of the day it was left, and ends with it."""
    if sujeto.corte is None:
        return []
    suyas = Exclusion.objects.filter(
        destino="memoria", solicitud__resumen=resumen(sujeto.prefijo), solicitud__cerrada__isnull=True
    )
    return list(suyas.values_list("clave", flat=True))


def _expedientes(sujeto: Sujeto) -> QuerySet[Expediente]:
    return Expediente.objects.filter(resumen=resumen(sujeto.prefijo), destruido__isnull=True)
