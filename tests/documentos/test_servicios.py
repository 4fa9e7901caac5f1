"""The services: permission, state, and two people at the very same moment."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import Permission

from memoria.documentos import lectura, servicios
from memoria.documentos.diferencias import LINEAS_COMPARABLES, Linea, diferencias
from memoria.documentos.errores import (
    DocumentoCambiado,
    DocumentoNoBorrado,
    DocumentoNoExiste,
    DocumentoNoValido,
    ErrorDeDocumentos,
    SinPermiso,
    VersionNoExiste,
)
from tests.documentos.conftest import Escribir
from tests.esperas import a_la_vez

NUEVO: dict[str, Any] = {"titulo": "Portes", "texto": "Gratis.", "importancia": "normal"}


def test_nobody_writes_where_they_only_read(persona: Callable[..., Any], escribir: Escribir) -> None:
    pagina = escribir("portes.md")
    mira = persona("consulta")
    uno = {"espacio": "compras", "pagina_id": pagina.pk, "por": mira}
    intentos: list[Callable[[], Any]] = [
        lambda: servicios.crear(espacio="compras", ruta="otra.md", por=mira, **NUEVO),
        lambda: servicios.cambiar(version=1, **NUEVO, **uno),
        lambda: servicios.volver(numero=1, version=1, **uno),
        lambda: servicios.borrar(version=1, motivo="No", **uno),
        lambda: servicios.recuperar(**uno),
        lambda: servicios.crear(espacio="proveedores", ruta="otra.md", por=mira, **NUEVO),
    ]
    for intento in intentos:
        with pytest.raises(SinPermiso):
            intento()
    # Writing without seeing is nothing either.
    mira.user_permissions.add(Permission.objects.get(codename="escribir_sala"))
    mira.groups.clear()
    ciega = type(mira).objects.get(pk=mira.pk)
    with pytest.raises(SinPermiso):
        servicios.crear(espacio="sala", ruta="otra.md", por=ciega, **NUEVO)
    assert lectura.una("compras", pagina.pk).version == 1


def test_what_is_not_there_cannot_be_changed(persona: Callable[..., Any], escribir: Escribir) -> None:
    pagina, otra = escribir("portes.md"), escribir("tienda.md", espacio="sala")
    por = persona("compras")
    uno: dict[str, Any] = {"espacio": "compras", "por": por}
    for pk in (pagina.pk + 999, otra.pk):
        with pytest.raises(DocumentoNoExiste):
            servicios.cambiar(pagina_id=pk, version=1, **NUEVO, **uno)
    with pytest.raises(DocumentoNoExiste):
        servicios.recuperar(pagina_id=otra.pk, **uno)
    with pytest.raises(DocumentoNoBorrado, match="no está borrado"):
        servicios.recuperar(pagina_id=pagina.pk, **uno)
    with pytest.raises(VersionNoExiste):
        servicios.volver(pagina_id=pagina.pk, numero=7, version=1, **uno)
    with pytest.raises(DocumentoNoValido):
        servicios.borrar(pagina_id=pagina.pk, version=1, motivo=" ", **uno)


def test_of_two_at_the_same_moment_one_is_told(persona: Callable[..., Any], escribir: Escribir) -> None:
    pagina = escribir("portes.md", "Antes.")
    personas = [persona("compras", nombre=n) for n in ("una", "otra")]

    def cambiar(por: Any) -> str:
        try:
            servicios.cambiar(
                espacio="compras",
                pagina_id=pagina.pk,
                version=1,
                titulo="Portes",
                texto=f"De {por.username}.",
                importancia="normal",
                por=por,
            )
        except ErrorDeDocumentos as error:
            return type(error).__name__
        return "guardado"

    resultados = a_la_vez(*(partial(cambiar, p) for p in personas))
    assert sorted(resultados) == [DocumentoCambiado.__name__, "guardado"]
    assert [v.numero for v in lectura.historia("compras", pagina.pk)] == [2, 1]


def test_errors_and_the_log_repeat_nothing_of_the_text(
    persona: Callable[..., Any], escribir: Escribir, caplog: pytest.LogCaptureFixture
) -> None:
    escribir("ana-ruiz.md", "Secreto.", titulo="Ana Ruiz")
    with pytest.raises(ErrorDeDocumentos) as error:
        servicios.crear(espacio="compras", ruta="ana-ruiz.md", por=persona("compras"), **NUEVO)
    for dicho in (str(error.value), caplog.text):
        assert "ana" not in dicho.lower().replace("mañana", "")
        assert "Secreto" not in dicho


# -- differences ------------------------------------------------------------------------------------


def test_what_changed_with_something_around_it() -> None:
    antes = "\n".join(str(n) for n in range(30))
    lineas = diferencias(antes, antes.replace("\n15\n", "\nquince\n"))
    assert lineas[0] == Linea("…", "")
    assert [x for x in lineas if x.signo in "+-"] == [Linea("-", "15"), Linea("+", "quince")]
    assert [x.texto for x in lineas if x.signo == " "] == ["12", "13", "14", "16", "17", "18"]
    assert diferencias(antes, antes) == []


def test_very_long_ones_are_compared_at_once() -> None:
    largo = [f"línea {n}" for n in range(LINEAS_COMPARABLES)]
    otro = [*largo[:100], "otra", *largo[101:]]
    assert [x for x in diferencias("\n".join(largo), "\n".join(otro)) if x.signo != "…"] == [
        Linea("-", "línea 100"),
        Linea("+", "otra"),
    ]
    assert diferencias("\n".join(largo), "\n".join(largo)) == []
