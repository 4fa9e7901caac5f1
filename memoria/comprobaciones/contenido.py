"""What is in the tables. What a document says is only compared with the policy, never shown."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone
from django.utils.translation import gettext as _

from memoria.comprobaciones.base import Contexto, Hallazgo
from memoria.comprobaciones.danados import contar_danados
from memoria.metricas import barridos_hechos
from memoria.politica import ESPACIOS, clave_preferencia

#: A sweep is daily: what expired longer ago than this, no sweep has looked at.
BARRIDO_TARDIO = timedelta(days=2)


def documentos_fuera_de_politica(c: Contexto) -> Hallazgo:
    cerradas = [f"{e.nombre}/{clave_preferencia(t)}" for e in ESPACIOS.values() for t in e.tipos]
    desconocidos, sin_caducidad, clave_ajena = c.fila(
        """
        SELECT count(*) FILTER (WHERE raiz <> ALL (%(raices)s) OR prefix !~ '^[^.]+[.][^.]+$'),
               count(*) FILTER (WHERE expires_at IS NULL),
               count(*) FILTER (WHERE raiz = ANY (%(cerrados)s) AND raiz || '/' || key <> ALL (%(claves)s))
        FROM (SELECT split_part(prefix, '.', 1) AS raiz, prefix, key, expires_at FROM langgraph.store) AS s
        """,
        {
            "raices": list(ESPACIOS),
            "cerrados": [e.nombre for e in ESPACIOS.values() if e.tipos],
            "claves": cerradas,
        },
    )
    return Hallazgo(
        not (desconocidos or sin_caducidad or clave_ajena),
        _(
            "Documentos en un espacio desconocido: %(desconocidos)s; sin caducidad: %(sin_caducidad)s; con "
            "una clave fuera de la lista cerrada: %(clave_ajena)s."
        )
        % {"desconocidos": desconocidos, "sin_caducidad": sin_caducidad, "clave_ajena": clave_ajena},
        _("Alguien escribe sin pasar por memoria.almacen: encuéntrelo, y borre o corrija esos documentos."),
    )


def documentos_danados(c: Contexto) -> Hallazgo:
    danados, vistos = contar_danados(c.conexion)
    return Hallazgo(
        danados == 0,
        _("Documentos vigentes sin la forma que pide la política: %(danados)s, de %(vistos)s mirados.")
        % {"danados": danados, "vistos": vistos},
        _(
            "Alguien escribe sin pasar por memoria.almacen, o algo los estropeó. Los avisos salen como "
            "«Dañado» en la lista de compras, donde se retiran; las preferencias, bórrelas: la persona las "
            "volverá a decir."
        ),
    )


def hilos_sin_dueno(c: Contexto) -> Hallazgo:
    n = c.valor(
        """
        SELECT count(DISTINCT p.thread_id) FROM langgraph.checkpoints p
        WHERE NOT EXISTS (SELECT FROM public.hilos h WHERE h.thread_id = p.thread_id)
        """
    )
    return Hallazgo(
        n == 0,
        _("Hilos con puntos de control y sin dueño: %(n)s.") % {"n": n},
        _("Alguien escribe sin pasar por memoria.hilos: borre esos hilos y ejecute «manage.py preparar»."),
    )


def caducados_sin_barrer(c: Contexto) -> Hallazgo:
    # What is restricted or held back is not swept (arts. 18 and 17(3) GDPR).
    n = c.valor(
        "SELECT count(*) FROM langgraph.store"
        " WHERE expires_at < now() - %s AND NOT limitado AND NOT retenido",
        [BARRIDO_TARDIO],
    )
    return Hallazgo(
        n == 0,
        _("Documentos caducados hace más de %(dias)s días: %(n)s.") % {"dias": BARRIDO_TARDIO.days, "n": n},
        _("Ejecute «manage.py barrer» y programe que se ejecute cada día."),
    )


def ultimo_barrido(c: Contexto) -> Hallazgo:
    hay = c.valor(
        "SELECT EXISTS (SELECT FROM langgraph.store"
        " WHERE expires_at < now() - interval '1 day' AND NOT limitado AND NOT retenido)"
    )
    ultimo = (
        barridos_hechos().using(c.conexion.alias).order_by("-inicio").values_list("inicio", flat=True).first()
    )
    reciente = ultimo is not None and ultimo > timezone.now() - BARRIDO_TARDIO
    return Hallazgo(
        reciente or not hay,
        _("Último barrido: %(fecha)s.")
        % {"fecha": f"{timezone.localtime(ultimo):%Y-%m-%d %H:%M}" if ultimo else _("ninguno")},
        _("Hay documentos caducados y nadie los barre: programe «manage.py barrer» cada día."),
    )
