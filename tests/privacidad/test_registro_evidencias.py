"""The register tells of each evidence what it was: one that was changed past every guard is named."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from memoria.models import Ejecucion
from privacidad import evidencias, exportacion, registro
from privacidad.estados import Estado
from privacidad.models import Asiento, Evidencia, Solicitud
from privacidad.restauracion import puesta_al_dia


@pytest.fixture
def dos(hasta: Callable[..., Any], preferencia: Callable[..., None]) -> list[Solicitud]:
    """Two requests carried out: the first erased two documents."""
    preferencia("C1")
    preferencia("C1", "horario", "tardes")
    preferencia("C2")
    return [hasta(Estado.COMPLETADA, "C1"), hasta(Estado.COMPLETADA, "C2")]


def verificar(*opciones: str) -> tuple[dict[str, Any], str, int]:
    salida, avisos, codigo = io.StringIO(), io.StringIO(), 0
    try:
        call_command("verificar_registro", "--json", *opciones, stdout=salida, stderr=avisos)
    except CommandError as error:
        codigo = error.returncode
    return json.loads(salida.getvalue()), avisos.getvalue(), codigo


def test_each_run_registers_the_digest_of_its_evidence(dos: list[Solicitud]) -> None:
    asientos = Asiento.objects.filter(tipo="supresion").order_by("numero")
    assert [a.datos["huella_evidencia"] for a in asientos] == [
        evidencias.huella(e) for e in Evidencia.objects.order_by("pk")
    ]
    assert len({a.datos["huella_evidencia"] for a in asientos}) == 2


@pytest.mark.parametrize(
    "cambio",
    [
        "destinos = jsonb_set(destinos, '{memoria,antes,documentos}', '77')",
        "destinos = jsonb_set(destinos, '{memoria,borrados,documentos}', '77')",
        "destinos = jsonb_set(destinos, '{memoria,sql,0}', '\"SELECT 1\"')",
        "destinos = jsonb_set(destinos, '{memoria,parametros}', '{}')",
        "destinos = destinos - 'memoria'",
        "destinos = '[]'",
        "resultado = 'sin_datos'",
        "vectores_huerfanos = vectores_huerfanos + 1",
        "rol = 'otro'",
        "sesion = 'otra'",
        "momento = momento + interval '1 microsecond'",
        "momento = 'infinity'",
        "posicion_wal = '0/0'",
        "solicitud_id = (SELECT max(id) FROM privacidad_solicitud)",
    ],
)
def test_a_changed_evidence_is_named(
    dos: list[Solicitud], sin_guardas: Callable[..., None], cambio: str
) -> None:
    nombrada = dos[1] if "solicitud_id" in cambio else dos[0]
    sin_guardas(
        f"UPDATE privacidad_evidencia SET {cambio} WHERE id = (SELECT min(id) FROM privacidad_evidencia)"
    )
    datos, avisos, codigo = verificar()
    assert codigo == 6
    assert datos["ok"] is False
    assert datos["evidencias_alteradas"] == [nombrada.referencia]
    if "solicitud_id" not in cambio:  # that one is also an evidence more than the entries of its request
        assert datos["primera_rota"] is None
        assert nombrada.referencia in avisos
    assert "C1" not in avisos


def test_entries_from_before_the_digest_are_compared_by_their_counts(
    dos: list[Solicitud], sin_guardas: Callable[..., None]
) -> None:
    _sin_huella(sin_guardas)
    assert verificar()[2] == 0
    sin_guardas(
        "UPDATE privacidad_evidencia SET destinos = jsonb_set(destinos, '{memoria,antes,documentos}', '77')"
        " WHERE solicitud_id = %s",
        [dos[0].pk],
    )
    datos, _, codigo = verificar()
    assert (codigo, datos["evidencias_alteradas"]) == (6, [dos[0].referencia])


@pytest.mark.parametrize("datos", ["[]", "5", "null", '"texto"', '{"antes": 1, "despues": 2}'])
def test_an_entry_that_tells_nothing_readable_is_named_all_the_same(
    dos: list[Solicitud], sin_guardas: Callable[..., None], datos: str
) -> None:
    asiento = Asiento.objects.get(tipo="supresion", referencia=dos[0].referencia)
    sin_guardas("UPDATE privacidad_asiento SET datos = %s::jsonb WHERE numero = %s", [datos, asiento.numero])
    dicho, _, codigo = verificar()
    assert (codigo, dicho["primera_rota"]) == (6, asiento.numero)
    assert dicho["evidencias_alteradas"] == [dos[0].referencia]


def test_an_evidence_rebuilt_from_the_register_is_compared_by_its_counts(
    dos: list[Solicitud], sin_guardas: Callable[..., None]
) -> None:
    """After a restore: the register was put back whole, and the evidence that was lost is made from it."""
    sin_guardas("DELETE FROM privacidad_evidencia WHERE solicitud_id = %s", [dos[0].pk])
    puesta_al_dia._rehacer_evidencia(
        dos[0], Asiento.objects.get(tipo="supresion", referencia=dos[0].referencia)
    )
    assert verificar()[2] == 0
    sin_guardas(
        "UPDATE privacidad_evidencia"
        " SET destinos = jsonb_set(destinos, '{memoria,borrados,documentos}', '77')"
        " WHERE solicitud_id = %s",
        [dos[0].pk],
    )
    assert verificar()[0]["evidencias_alteradas"] == [dos[0].referencia]


def test_the_panel_the_dashboard_and_the_register_tell_it(
    dos: list[Solicitud], sin_guardas: Callable[..., None], navegar: Callable[..., Any]
) -> None:
    sin_guardas("UPDATE privacidad_evidencia SET rol = 'otro' WHERE solicitud_id = %s", [dos[0].pk])
    verificar()
    assert Ejecucion.objects.latest("pk").codigo == 6
    dpo = navegar("dpo", nombre="quien-mira")
    for pagina in ("/", "/privacidad/cuadro/", "/privacidad/registro/"):
        texto = dpo.get(pagina).content.decode()
        assert "videncia cambiada" in texto, pagina
        assert dos[0].referencia in texto, pagina
        assert "None" not in texto, pagina
        assert "está roto" not in texto, pagina


@pytest.mark.parametrize(
    ("sentencia", "que", "dicho"),
    [
        ("DELETE FROM privacidad_evidencia WHERE solicitud_id = %s", "evidencias_perdidas", "{ref}"),
        ("DELETE FROM privacidad_escrito WHERE solicitud_id = %s", "escritos_perdidos", "{ref} ({num})"),
        *(
            (
                f"UPDATE privacidad_escrito SET {cambio} WHERE solicitud_id = %s",
                "escritos_alterados",
                "{ref} ({num})",
            )
            for cambio in (
                "pdf = pdf || 'x'",
                "datos = jsonb_set(datos, '{responsable}', '\"Otro\"')",
                "datos = 'null'",
                "huella = repeat('0', 64)",
                "pdf = pdf || 'x', huella = encode(sha256(pdf || 'x'), 'hex')",
                "huella_datos = repeat('0', 64)",
                "tipo = 'denegacion', evidencia_id = NULL",
            )
        ),
    ],
)
def test_what_is_missing_or_altered_is_named_and_shown(
    dos: list[Solicitud],
    sin_guardas: Callable[..., None],
    navegar: Callable[..., Any],
    sentencia: str,
    que: str,
    dicho: str,
) -> None:
    assert verificar()[2] == 0
    numero = dos[0].escritos.get().numero
    sin_guardas(sentencia, [dos[0].pk])
    datos, avisos, codigo = verificar()
    hallado = dicho.format(ref=dos[0].referencia, num=numero)
    assert (datos[que], datos["primera_rota"], datos["ok"], codigo) == ([hallado], None, False, 6)
    assert hallado in avisos
    assert dos[1].referencia not in avisos
    dpo = navegar("dpo", nombre="quien-mira")
    for pagina in ("/", "/privacidad/cuadro/", "/privacidad/registro/"):
        texto = dpo.get(pagina).content.decode()
        assert hallado in texto, pagina
        assert "está roto" not in texto, pagina


def test_a_document_under_another_request_is_altered(
    dos: list[Solicitud], sin_guardas: Callable[..., None]
) -> None:
    numero = dos[0].escritos.get().numero
    sin_guardas("UPDATE privacidad_escrito SET solicitud_id = %s WHERE numero = %s", [dos[1].pk, numero])
    datos, _, codigo = verificar()
    assert (datos["escritos_alterados"], codigo) == ([f"{dos[1].referencia} ({numero})"], 6)


def test_what_a_restore_lost_is_no_fault_and_what_went_afterwards_is(
    dos: list[Solicitud], sin_guardas: Callable[..., None]
) -> None:
    """The entry of the replay says which entries it put back: what they tell may not be here."""
    for tabla in ("escrito", "evidencia"):
        sin_guardas(f"DELETE FROM privacidad_{tabla}")
    uno, otro = Asiento.objects.filter(tipo="supresion").order_by("numero")
    # The first request was carried out before the copy was made.
    hasta = Asiento.objects.filter(referencia=dos[0].referencia).order_by("numero")
    desde = max(a.numero for a in hasta) + 1
    registro.anotar(tipo="restaurada", datos={"desde": desde, "hasta": otro.numero + 50})
    datos, _, codigo = verificar()
    assert datos["evidencias_perdidas"] == [dos[0].referencia]
    assert len(datos["escritos_perdidos"]) == 1
    assert datos["escritos_perdidos"][0].startswith(dos[0].referencia)
    assert codigo == 6
    registro.anotar(tipo="restaurada", datos={"desde": uno.numero, "hasta": otro.numero + 50})
    assert verificar()[2] == 0


def _sin_huella(sin_guardas: Callable[..., None]) -> None:
    """The register as it was before the digest: every entry computed again."""
    anterior = registro.ORIGEN
    for entrada in list(registro.entradas()):
        entrada.datos.pop(evidencias.HUELLA, None)
        nueva = registro.Entrada(
            entrada.numero,
            entrada.momento,
            entrada.tipo,
            entrada.referencia,
            entrada.resumen,
            entrada.datos,
            anterior,
        )
        anterior = nueva.calcular()
        sin_guardas(
            "UPDATE privacidad_asiento SET datos = %s, anterior = %s, huella = %s WHERE numero = %s",
            [json.dumps(entrada.datos), nueva.anterior, anterior, entrada.numero],
        )


def test_what_is_added_and_exported_during_the_verification_is_no_cut_end(
    dos: list[Solicitud], tmp_path: Path
) -> None:
    """The walk of the chain takes time, and the job that exports need not wait for it."""
    fichero = tmp_path / "registro.jsonl"

    def mientras(ejecutar: Any, sql: str, *resto: Any) -> Any:
        if "privacidad_evidencia e" in sql and not fichero.exists():  # what the walk ends with
            fichero.touch()
            registro.anotar(tipo="otra")
            fichero.unlink()
            exportacion.exportar(fichero)
        return ejecutar(sql, *resto)

    with connection.execute_wrapper(mientras):
        datos, _, codigo = verificar("--contra", str(fichero))
    assert (datos["primera_rota"], codigo) == (None, 0)
    assert exportacion.comprobar(fichero).entradas == datos["entradas"] + 1
