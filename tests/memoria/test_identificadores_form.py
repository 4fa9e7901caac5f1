"""The form that points out identifiers: nothing is saved unseen, and the reason names nobody."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django import forms
from django.template.loader import render_to_string

from memoria.identificadores_form import ConIdentificadores, repite, sin_identificadores

CON_TELEFONO = "Llamar a Ramón al 612 34 56 78 por la tarde."


class Nota(ConIdentificadores, forms.Form):
    titulo = forms.CharField(required=False, label="Título")
    texto = forms.CharField(label="Texto")
    libre = forms.CharField(required=False)
    campos_senalados = ("titulo", "texto")


def enviar(**datos: str) -> Nota:
    formulario = Nota(datos)
    formulario.is_valid()
    return formulario


def vistos(formulario: Nota) -> str:
    hallada = re.search(r'name="identificadores_vistos"[^>]*value="([0-9a-f]+)"', dibujar(formulario))
    hallada = hallada or re.search(
        r'value="([0-9a-f]+)"[^>]*name="identificadores_vistos"', dibujar(formulario)
    )
    assert hallada
    return hallada[1]


def dibujar(formulario: Nota) -> str:
    return render_to_string("memoria/_identificadores.html", {"formulario": formulario})


def test_sin_identificadores_no_pide_nada() -> None:
    formulario = enviar(texto="Pedido 612345678 con 12 cajas", libre="612 34 56 78")
    assert formulario.is_valid()
    assert formulario.admitidos == {}
    assert dibujar(formulario).strip() == ""
    assert "motivo_identificadores" not in str(formulario.as_div())


def test_dice_cual_y_donde() -> None:
    formulario = enviar(titulo="Ana, ana@x.es", texto=CON_TELEFONO)
    assert not formulario.is_valid()
    assert [(s.clase, s.campo, s.identificador) for s in formulario.senalados] == [
        ("Correo electrónico", "Título", "ana@x.es"),
        ("Teléfono", "Texto", "612 34 56 78"),
    ]
    assert "<mark>612 34 56 78</mark>" in dibujar(formulario)
    assert "2 datos personales" in str(formulario.non_field_errors())
    assert "motivo_identificadores" not in str(formulario.as_div())  # its place is the box
    assert "612" not in repr(formulario.senalados)


def test_con_un_motivo_se_admite_y_el_motivo_no_lleva_el_dato() -> None:
    marca = vistos(enviar(texto=CON_TELEFONO))
    formulario = enviar(
        texto=CON_TELEFONO, identificadores_vistos=marca, motivo_identificadores="Es el del muelle"
    )
    assert formulario.is_valid()
    assert formulario.admitidos == {"identificadores": ["telefono"], "motivo": "Es el del muelle"}
    assert formulario.senalados == []


@pytest.mark.parametrize(
    "motivo",
    ["", "   ", "x" * 201, "Es el 612345678", "porque es 6.1.2.3.4.5.6.7.8", "escribir a otra@x.es"],
)
def test_un_motivo_vacio_largo_o_con_datos_no_vale(motivo: str) -> None:
    marca = vistos(enviar(texto=CON_TELEFONO))
    formulario = enviar(texto=CON_TELEFONO, identificadores_vistos=marca, motivo_identificadores=motivo)
    assert not formulario.is_valid()
    assert "motivo_identificadores" in formulario.errors
    assert formulario.admitidos == {}


@pytest.mark.parametrize("marca", ["", "x", "0" * 40])
def test_lo_que_no_se_ha_ensenado_no_se_admite(marca: str) -> None:
    formulario = enviar(texto=CON_TELEFONO, identificadores_vistos=marca, motivo_identificadores="Hace falta")
    assert not formulario.is_valid()


def test_otro_identificador_despues_se_ensena_otra_vez() -> None:
    marca = vistos(enviar(texto=CON_TELEFONO))
    formulario = enviar(
        texto=CON_TELEFONO + " O a ana@x.es",
        identificadores_vistos=marca,
        motivo_identificadores="Hace falta",
    )
    assert not formulario.is_valid()
    assert vistos(formulario) != marca
    # Written otherwise it is the same one, already seen.
    assert enviar(
        texto="Llamar al 612345678", identificadores_vistos=marca, motivo_identificadores="Hace falta"
    ).is_valid()


def test_borrarlo_del_texto_basta() -> None:
    marca = vistos(enviar(texto=CON_TELEFONO))
    formulario = enviar(texto="Llamar a Ramón", identificadores_vistos=marca, motivo_identificadores="")
    assert formulario.is_valid()
    assert formulario.admitidos == {}


def test_lo_escrito_se_ensena_sin_interpretarlo() -> None:
    pagina = dibujar(enviar(texto="<b>ana@x.es</b>"))
    assert "<b>" not in pagina
    assert "&lt;b&gt;" in pagina


@pytest.mark.parametrize("texto", ["INC-2026-0031", "Ya se arregló con el pedido 4500123987", ""])
def test_una_referencia_no_es_un_dato_personal(texto: str) -> None:
    sin_identificadores(texto)
    assert not repite(texto)


def test_un_dato_personal_en_una_referencia_se_niega() -> None:
    with pytest.raises(forms.ValidationError) as error:
        sin_identificadores("lo lleva ana@x.es")
    assert "ana" not in str(error.value)


def test_con_prefijo() -> None:
    datos: dict[str, Any] = {"n-texto": CON_TELEFONO}
    formulario = Nota(datos, prefix="n")
    assert not formulario.is_valid()
    assert 'name="n-motivo_identificadores"' in dibujar(formulario)
