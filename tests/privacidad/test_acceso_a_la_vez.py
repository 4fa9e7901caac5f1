"""The same access file asked for several times at once: it is made once, and who comes second is told."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from privacidad import expedientes, servicios
from privacidad.errores import DatoNoValido
from privacidad.models import Asiento, Expediente
from tests.esperas import LIMITE


def test_tres_a_la_vez_dejan_un_expediente(
    preferencia: Callable[..., None], dpo: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    preferencia("C1")
    todos, componer = threading.Barrier(3), expedientes.componer
    negadas: list[str] = []

    def a_la_vez(**datos: Any) -> Any:
        todos.wait(LIMITE)
        return componer(**datos)

    def pedir() -> None:
        try:
            servicios.pedir_expediente(espacio="clientes", sujeto_id="C1", por=dpo)
        except DatoNoValido as error:
            negadas.append(str(error))
        finally:
            connection.close()

    monkeypatch.setattr(expedientes, "componer", a_la_vez)
    hilos = [threading.Thread(target=pedir) for _ in range(3)]
    for hilo in hilos:
        hilo.start()
    for hilo in hilos:
        hilo.join(LIMITE)
    assert Expediente.objects.count() == Asiento.objects.filter(tipo="acceso").count() == 1
    assert len(negadas) == 2
    assert all("se ha producido otro" in frase for frase in negadas)


def test_otro_mas_tarde_y_el_de_otra_persona_se_producen(
    preferencia: Callable[..., None], producir: Callable[..., Expediente]
) -> None:
    preferencia("C1")
    for sujeto in ("C1", "C1", "C2"):
        producir(sujeto)
    assert Expediente.objects.count() == 3
