"""E10: a destination claims every table and every column that can hold a text, or it says why not."""

from __future__ import annotations

from typing import Any

from privacidad.destinos.tablas import SIN_SUJETO, sin_reclamar


def test_todas_las_tablas_y_columnas_estan_reclamadas(propietario: Any) -> None:
    assert sin_reclamar(propietario.cursor()) == []


def test_una_tabla_nueva_no_pasa_inadvertida(propietario: Any) -> None:
    with propietario.transaction(force_rollback=True):
        propietario.execute("CREATE TABLE public.pruebas_nueva (id int, nota text)")
        propietario.execute("CREATE TABLE langgraph.otra (thread_id text)")
        frases = sin_reclamar(propietario.cursor())
    assert len(frases) == 2
    assert "public.pruebas_nueva" in frases[1]
    assert "langgraph.otra" in frases[0]
    assert "ningún destino" in frases[0]


def test_una_columna_nueva_tampoco(propietario: Any) -> None:
    with propietario.transaction(force_rollback=True):
        propietario.execute("ALTER TABLE public.privacidad_solicitud ADD COLUMN telefono text")
        propietario.execute("ALTER TABLE public.memoria_ejecucion ADD COLUMN detalle jsonb")
        # A table whose rows go whole takes its new columns with it, and a number names nobody.
        propietario.execute("ALTER TABLE langgraph.store ADD COLUMN nota text")
        propietario.execute("ALTER TABLE public.privacidad_solicitud ADD COLUMN cuantos int")
        frases = sin_reclamar(propietario.cursor())
    assert len(frases) == 2
    assert "public.memoria_ejecucion.detalle" in frases[0]
    assert "public.privacidad_solicitud.telefono" in frases[1]


def test_no_se_explica_lo_que_ya_no_existe(propietario: Any) -> None:
    existen = {f[0] for f in propietario.execute("SELECT schemaname || '.' || tablename FROM pg_tables")}
    assert set(SIN_SUJETO) <= existen
    assert all(razon.endswith(".") for razon, _columnas in SIN_SUJETO.values())
