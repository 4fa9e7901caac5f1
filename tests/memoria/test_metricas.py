"""The five figures, each against rows whose answer is known by counting on one's fingers."""

from __future__ import annotations

import io
import json
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from memoria import metricas
from memoria.models import Ejecucion, Hilo
from memoria.politica import espacio, prefijo

DESDE = timedelta(days=30)


def documento(
    conexion: psycopg.Connection,
    sujeto: str,
    clave: str,
    *,
    raiz: str = "clientes",
    hilo: str = "h0",
    hace: float = 0,
    caduca: float | None = 60,
) -> None:
    """A document written ``hace`` days ago that expires in ``caduca`` days."""
    conexion.execute(
        """
        INSERT INTO langgraph.store (prefix, key, value, created_at, updated_at, expires_at, ttl_minutes)
        VALUES (%(prefijo)s, %(clave)s, jsonb_build_object('hilo', %(hilo)s::text),
                now() - %(hace)s, now() - %(hace)s, now() + %(caduca)s, 525600)
        """,
        {
            "prefijo": prefijo(raiz, sujeto),
            "clave": clave,
            "hilo": hilo,
            "hace": timedelta(days=hace),
            "caduca": None if caduca is None else timedelta(days=caduca),
        },
    )


def hilo(nombre: str, sujeto: str, *, raiz: str = "clientes", hace: float = 0) -> None:
    """A thread last written ``hace`` days ago."""
    momento = timezone.now() - timedelta(days=hace)
    Hilo.objects.create(thread_id=nombre, espacio=raiz, sujeto_id=sujeto, creado=momento, visto=momento)


def desde() -> Any:
    return timezone.now() - DESDE


class TestDocumentosPorCliente:
    def test_mean_maximum_and_those_above_the_closed_list(self, propietario: psycopg.Connection) -> None:
        for sujeto, cuantos in (("C1", 1), ("C10", 4), ("C3", 5)):
            for n in range(cuantos):
                documento(propietario, sujeto, f"k{n}")
        assert metricas.documentos_por_cliente() == {
            "media": 3.333,
            "maximo": 5,
            "por_encima": 1,
            "esperados": 4,
            "clientes": 3,
        }

    def test_only_what_lives_and_only_customers(self, propietario: psycopg.Connection) -> None:
        documento(propietario, "C1", "vivo")
        documento(propietario, "C1", "eterno", caduca=None)
        documento(propietario, "C1", "caducado", caduca=-1)
        documento(propietario, "C1", "k", raiz="empleados")
        propietario.execute(
            "INSERT INTO langgraph.store (prefix, key, value) VALUES ('clientesX.C1', 'k', '{}')"
        )
        cifra = metricas.documentos_por_cliente()
        assert (cifra["media"], cifra["maximo"], cifra["clientes"]) == (2, 2, 1)

    def test_an_empty_store(self, bd: str) -> None:
        cifra = metricas.documentos_por_cliente()
        assert (cifra["media"], cifra["maximo"], cifra["por_encima"], cifra["clientes"]) == (0, 0, 0, 0)


class TestPreferenciasPorConversacion:
    @pytest.mark.parametrize(("conversaciones", "alarma"), [(9, True), (10, True), (11, False)])
    def test_the_alarm_is_at_one_in_ten(
        self, propietario: psycopg.Connection, conversaciones: int, alarma: bool
    ) -> None:
        documento(propietario, "C1", "k")
        for n in range(conversaciones):
            hilo(f"h{n}", f"C{n}")
        cifra = metricas.preferencias_por_conversacion(desde())
        assert (cifra["preferencias"], cifra["conversaciones"]) == (1, conversaciones)
        assert cifra["alarma"] is alarma
        assert cifra["umbral"] == 0.1
        assert cifra["valor"] == pytest.approx(1 / conversaciones, abs=1e-4)

    def test_only_the_period_and_only_customers(self, propietario: psycopg.Connection) -> None:
        documento(propietario, "C1", "dentro", hace=29)
        documento(propietario, "C1", "fuera", hace=31)
        documento(propietario, "E1", "k", raiz="empleados")
        documento(propietario, "P1", "k", raiz="proveedores")
        hilo("dentro", "C1", hace=29)
        hilo("fuera", "C1", hace=31)
        hilo("otro", "E1", raiz="empleados")
        cifra = metricas.preferencias_por_conversacion(desde())
        assert (cifra["preferencias"], cifra["conversaciones"]) == (1, 1)

    def test_a_renewal_is_not_a_writing(self, almacen: Any, propietario: psycopg.Connection) -> None:
        documento(propietario, "C1", "pref-idioma", hace=100, caduca=5)
        hilo("h1", "C1")
        assert len(almacen.search(espacio("clientes", "C1"))) == 1  # renews
        assert metricas.preferencias_por_conversacion(desde())["preferencias"] == 0

    def test_without_conversations_there_is_no_figure_and_no_alarm(
        self, propietario: psycopg.Connection
    ) -> None:
        documento(propietario, "C1", "k")
        cifra = metricas.preferencias_por_conversacion(desde())
        assert (cifra["valor"], cifra["alarma"]) == (None, False)


class TestPreferenciasAplicadas:
    def contar(self) -> tuple[int, int]:
        cifra = metricas.preferencias_aplicadas(desde())
        return cifra["conversaciones_con_preferencia"], cifra["conversaciones"]

    def test_a_preference_from_an_earlier_conversation_counts_where_it_was_in_the_prompt(
        self, propietario: psycopg.Connection
    ) -> None:
        documento(propietario, "C9", "pref-idioma", hilo="primera", hace=5)
        hilo("primera", "C9", hace=4)  # where it was said: it told the agent nothing new
        hilo("segunda", "C9", hace=1)
        hilo("anterior", "C9", hace=6)  # ended before it was said
        hilo("ajena", "C90", hace=1)
        hilo("vieja", "C9", hace=40)
        assert self.contar() == (1, 4)
        assert metricas.preferencias_aplicadas(desde())["proporcion"] == 0.25

    def test_one_conversation_counts_once_however_many_preferences(
        self, propietario: psycopg.Connection
    ) -> None:
        documento(propietario, "C9", "a", hilo="x", hace=2)
        documento(propietario, "C9", "b", hilo="y", hace=2)
        hilo("h", "C9")
        assert self.contar() == (1, 1)

    def test_one_that_had_expired_by_then_was_not_in_the_prompt(
        self, propietario: psycopg.Connection
    ) -> None:
        documento(propietario, "C9", "a", hilo="x", hace=20, caduca=-3)
        hilo("antes", "C9", hace=4)
        hilo("despues", "C9", hace=2)
        assert self.contar() == (1, 2)

    @pytest.mark.parametrize("sujeto", ["a.b", "100%", "ñandú", "a\tb", "%2E", "C9"])
    def test_any_id_finds_its_own_documents(self, propietario: psycopg.Connection, sujeto: str) -> None:
        documento(propietario, sujeto, "a", hilo="x", hace=2)
        hilo("h", sujeto)
        assert self.contar() == (1, 1)

    def test_no_conversations(self, bd: str) -> None:
        assert metricas.preferencias_aplicadas(desde())["proporcion"] is None


@settings(max_examples=60)
@given(ids=st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)))
def test_the_label_made_by_sql_is_the_one_of_the_policy(bd: str, ids: list[str]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {metricas.ETIQUETA} FROM unnest(%s::text[]) WITH ORDINALITY AS h (sujeto_id, n)"
            " ORDER BY n",
            [ids],
        )
        assert [f[0] for f in cursor.fetchall()] == [espacio("clientes", i)[1] for i in ids]


class TestCaducadosBorrados:
    def test_the_last_sweep_the_sum_of_the_period_and_what_waits(
        self, propietario: psycopg.Connection
    ) -> None:
        ahora = timezone.now()
        for hace, borrados, mas in (
            (1, 5, {}),
            (2, 3, {"codigo": 3}),  # out of time: what it deleted, it deleted
            (0.5, 99, {"simulada": True}),
            (0.4, 0, {"codigo": 1}),
            (0.3, 0, {"codigo": None}),
            (40, 7, {}),
        ):
            Ejecucion.objects.create(
                **{
                    "comando": "barrer",
                    "inicio": ahora - timedelta(days=hace),
                    "codigo": 0,
                    "recuento": {"borrados": borrados},
                    "version": "x",
                    **mas,
                }
            )
        Ejecucion.objects.create(comando="podar", codigo=0, recuento={"borrados": 50}, version="x")
        documento(propietario, "C1", "k", caduca=-1)
        cifra = metricas.caducados_borrados(desde())
        assert cifra == {
            "ultimo_barrido": (ahora - timedelta(days=1)).isoformat(),
            "borrados_ultimo": 5,
            "borrados": 8,
            "barridos": 2,
            "pendientes": 1,
        }

    def test_never_swept(self, bd: str) -> None:
        assert metricas.caducados_borrados(desde()) == {
            "ultimo_barrido": None,
            "borrados_ultimo": None,
            "borrados": 0,
            "barridos": 0,
            "pendientes": 0,
        }

    def test_it_reads_what_the_sweep_itself_recorded(self, propietario: psycopg.Connection) -> None:
        documento(propietario, "C1", "k", caduca=-1)
        call_command("barrer", stdout=io.StringIO())
        cifra = metricas.caducados_borrados(desde())
        assert (cifra["borrados_ultimo"], cifra["borrados"], cifra["pendientes"]) == (1, 1, 0)


CIFRAS = {
    "documentos_por_cliente",
    "preferencias_por_conversacion",
    "preferencias_aplicadas",
    "caducados_borrados",
    "supresiones",
}


def test_the_command_prints_the_five_figures_and_keeps_them_with_the_run(
    propietario: psycopg.Connection,
) -> None:
    documento(propietario, "C1", "k")
    hilo("h", "C1")
    salida = io.StringIO()
    call_command("medir", json=True, days=7, stdout=salida, stderr=io.StringIO())
    datos = json.loads(salida.getvalue())
    assert datos.keys() >= CIFRAS
    assert datos["dias"] == 7
    assert isinstance(datos["supresiones"], dict)
    assert Ejecucion.objects.get(comando="medir").recuento == datos


def test_the_sentence_raises_the_alarms(propietario: psycopg.Connection) -> None:
    for n in range(5):
        documento(propietario, "C1", f"k{n}")
    hilo("h", "C1")
    salida = io.StringIO()
    call_command("medir", stdout=salida)
    assert salida.getvalue().count("ALARMA") == 2


def test_the_number_of_queries_does_not_grow_with_the_customers(propietario: psycopg.Connection) -> None:
    with CaptureQueriesContext(connection) as vacio:
        metricas.medir(dias=30)
    for n in range(30):
        documento(propietario, f"C{n}", "k")
        hilo(f"h{n}", f"C{n}")
    with CaptureQueriesContext(connection) as lleno:
        metricas.medir(dias=30)
    assert len(lleno) == len(vacio)
