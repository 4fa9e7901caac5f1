"""The five figures: whether the memory is small, seldom written, used, swept and erasable.

Each is one aggregate over the tables, whatever their size. What every figure counts, and what it cannot see,
is in ``docs/operaciones/metricas.md``.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.apps import apps
from django.db import connection
from django.db.models import Count, IntegerField, QuerySet, Sum
from django.db.models.fields.json import KT
from django.db.models.functions import Cast
from django.utils import timezone
from django.utils.module_loading import import_string

from memoria.models import Documento, Ejecucion
from memoria.politica import ESPACIOS

#: Above this many preferences written per customer conversation the agents write down what they should not.
UMBRAL_PREFERENCIAS_POR_CONVERSACION = 0.1


def medir(*, dias: int) -> dict[str, Any]:
    """The five figures; those of a period look ``dias`` days back.

    Rooms that know of more (an ``AppConfig`` with ``figuras = "dotted.path"`` of a function without
    arguments) add theirs under the name of that function: ``supresiones`` comes from there.
    """
    desde = timezone.now() - timedelta(days=dias)
    return {
        "dias": dias,
        "documentos_por_cliente": documentos_por_cliente(),
        "preferencias_por_conversacion": preferencias_por_conversacion(desde),
        "preferencias_aplicadas": preferencias_aplicadas(desde),
        "caducados_borrados": caducados_borrados(desde),
        **_figuras_de_otras_salas(),
    }


def documentos_por_cliente() -> dict[str, Any]:
    """Live documents per customer who has any.

    ``{"media", "maximo", "por_encima", "esperados", "clientes"}``: ``por_encima`` are the customers with more
    than ``esperados``, the length of the closed list. ``media`` and ``maximo`` are 0 when there are none.
    """
    esperados = ESPACIOS["clientes"].documentos_esperados
    media, maximo, por_encima, clientes = _fila(_DOCUMENTOS_POR_CLIENTE, {"esperados": esperados})
    return {
        "media": round(float(media), 3),
        "maximo": maximo,
        "por_encima": por_encima,
        "esperados": esperados,
        "clientes": clientes,
    }


_DOCUMENTOS_POR_CLIENTE = """
SELECT coalesce(avg(n), 0), coalesce(max(n), 0), count(*) FILTER (WHERE n > %(esperados)s), count(*)
FROM (
    SELECT count(*) AS n
    FROM langgraph.store
    WHERE prefix LIKE 'clientes.%%' AND (expires_at IS NULL OR expires_at > now())
    GROUP BY prefix
) AS por_cliente
"""


def preferencias_por_conversacion(desde: datetime) -> dict[str, Any]:
    """Preferences of customers written since ``desde`` and still kept, per conversation active since then.

    ``{"valor", "preferencias", "conversaciones", "umbral", "alarma"}``; ``valor`` is ``None`` without
    conversations. A preference said twice in the period counts once: only the last value is kept.
    """
    preferencias, conversaciones = _fila(_PREFERENCIAS_POR_CONVERSACION, {"desde": desde})
    valor = preferencias / conversaciones if conversaciones else None
    return {
        "valor": None if valor is None else round(valor, 4),
        "preferencias": preferencias,
        "conversaciones": conversaciones,
        "umbral": UMBRAL_PREFERENCIAS_POR_CONVERSACION,
        "alarma": valor is not None and valor >= UMBRAL_PREFERENCIAS_POR_CONVERSACION,
    }


_PREFERENCIAS_POR_CONVERSACION = """
SELECT
    (SELECT count(*) FROM langgraph.store WHERE prefix LIKE 'clientes.%%' AND updated_at >= %(desde)s),
    (SELECT count(*) FROM public.hilos WHERE espacio = 'clientes' AND visto >= %(desde)s)
"""


def preferencias_aplicadas(desde: datetime) -> dict[str, Any]:
    """Customer conversations, active since ``desde``, that had a preference from an earlier one in the
    prompt.

    ``{"conversaciones_con_preferencia", "conversaciones", "proporcion"}``. Whether the preference changed
    what the agent proposed is written down nowhere; that it was put before the model, in a conversation other
    than the one it was said in, is what the tables can prove.
    """
    con_preferencia, conversaciones = _fila(_PREFERENCIAS_APLICADAS, {"desde": desde})
    return {
        "conversaciones_con_preferencia": con_preferencia,
        "conversaciones": conversaciones,
        "proporcion": round(con_preferencia / conversaciones, 4) if conversaciones else None,
    }


# The label of a subject in `prefix`, from its id: politica.espacio() in SQL. Almost no id needs the long way.
ETIQUETA = r"""
CASE WHEN h.sujeto_id ~ '[%%.\u0001-\u001f\u007f]' THEN (
    SELECT string_agg(
        CASE WHEN c ~ '[%%.\u0001-\u001f\u007f]'
             THEN '%%' || upper(lpad(to_hex(ascii(c)), 2, '0')) ELSE c END,
        '' ORDER BY n
    )
    FROM regexp_split_to_table(h.sujeto_id, '') WITH ORDINALITY AS letras (c, n)
) ELSE h.sujeto_id END
"""

_PREFERENCIAS_APLICADAS = f"""
SELECT count(*) FILTER (WHERE EXISTS (
           SELECT FROM langgraph.store s
           WHERE s.prefix = 'clientes.' || {ETIQUETA}
             AND s.value ->> 'hilo' <> h.thread_id
             AND s.updated_at <= h.visto
             AND (s.expires_at IS NULL OR s.expires_at > h.visto)
       )),
       count(*)
FROM public.hilos h
WHERE h.espacio = 'clientes' AND h.visto >= %(desde)s
"""


def caducados_borrados(desde: datetime) -> dict[str, Any]:
    """What the sweeps deleted, by their own record of runs.

    ``{"ultimo_barrido", "borrados_ultimo", "borrados", "barridos", "pendientes"}``: of the last sweep
    (``None`` if there was none), the sum and number of those since ``desde``, and the expired documents
    waiting for the next.
    """
    barridos = barridos_hechos()
    ultimo = barridos.order_by("-inicio").first()
    periodo = barridos.filter(inicio__gte=desde).aggregate(
        borrados=Sum(Cast(KT("recuento__borrados"), IntegerField())), barridos=Count("*")
    )
    return {
        "ultimo_barrido": ultimo and ultimo.inicio.isoformat(),
        "borrados_ultimo": ultimo and ultimo.recuento.get("borrados"),
        "borrados": periodo["borrados"] or 0,
        "barridos": periodo["barridos"],
        "pendientes": Documento.objects.caducados().count(),
    }


def barridos_hechos() -> QuerySet[Ejecucion]:
    """The runs of ``barrer`` that deleted, or found nothing to delete: neither simulated nor failed."""
    return Ejecucion.objects.filter(comando="barrer", simulada=False, codigo__in=(0, 3))


def _figuras_de_otras_salas() -> dict[str, Any]:
    rutas = [ruta for sala in apps.get_app_configs() if (ruta := getattr(sala, "figuras", None))]
    return {ruta.rpartition(".")[2]: import_string(ruta)() for ruta in rutas}


def _fila(sql: str, parametros: dict[str, Any]) -> tuple[Any, ...]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parametros)
        fila: tuple[Any, ...] = cursor.fetchone()
        return fila
