"""The bin, and what the sweep does with it."""

from __future__ import annotations

import io
import json
from datetime import timedelta
from typing import Any

from django.core.management import call_command
from django.utils import timezone

from memoria.documentos import papelera, servicios
from memoria.documentos.acceso import en_espacio
from memoria.documentos.models import Pagina
from memoria.documentos.papelera import DIAS_EN_LA_PAPELERA
from tests.documentos.conftest import Escribir


def barrer(*opciones: str) -> dict[str, Any]:
    salida = io.StringIO()
    call_command("barrer", "--json", *opciones, stdout=salida, stderr=io.StringIO())
    datos: dict[str, Any] = json.loads(salida.getvalue())
    return datos


def borrar(pagina: Pagina, dias: float) -> None:
    assert pagina.autor is not None
    servicios.borrar(
        espacio=pagina.espacio,
        pagina_id=pagina.pk,
        version=pagina.version,
        motivo="Ya no vale",
        por=pagina.autor,
    )
    with en_espacio(pagina.espacio):
        Pagina.objects.filter(pk=pagina.pk).update(borrada=timezone.now() - timedelta(days=dias))


def quedan(propietario: Any) -> list[tuple[str, int]]:
    filas: list[tuple[str, int]] = propietario.execute(
        "SELECT p.ruta, (SELECT count(*) FROM documentos_version v WHERE v.pagina_id = p.id)"
        " FROM documentos_pagina p ORDER BY 1"
    ).fetchall()
    return filas


def test_what_was_deleted_long_ago_goes_with_its_history(escribir: Escribir, propietario: Any) -> None:
    escribir("viva.md")
    borrar(escribir("reciente.md"), DIAS_EN_LA_PAPELERA - 1)
    borrar(escribir("vieja.md"), DIAS_EN_LA_PAPELERA + 1)
    borrar(escribir("vieja.md", espacio="sala"), DIAS_EN_LA_PAPELERA + 1)
    assert barrer("--dry-run")["documentos_vaciados"] == 2
    assert len(quedan(propietario)) == 4
    assert barrer()["documentos_vaciados"] == 2
    assert quedan(propietario) == [("reciente.md", 2), ("viva.md", 1)]
    assert propietario.execute("SELECT count(*) FROM documentos_version").fetchone() == (3,)
    assert barrer()["documentos_vaciados"] == 0


def test_in_batches(escribir: Escribir, propietario: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(papelera, "LOTE", 2)
    for n in range(5):
        borrar(escribir(f"d{n}.md"), DIAS_EN_LA_PAPELERA + 1)
    assert barrer()["documentos_vaciados"] == 5
    assert quedan(propietario) == []


def test_one_recovered_meanwhile_stays(escribir: Escribir, propietario: Any) -> None:
    pagina = escribir("vuelve.md")
    borrar(pagina, DIAS_EN_LA_PAPELERA + 1)
    assert pagina.autor is not None
    servicios.recuperar(espacio="compras", pagina_id=pagina.pk, por=pagina.autor)
    assert barrer()["documentos_vaciados"] == 0
    assert quedan(propietario) == [("vuelve.md", 3)]
