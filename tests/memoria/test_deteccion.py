"""M20: identifiers are found in any writing, and the numbers of a shop are left alone."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stdnum import ean
from stdnum.es import dni
from stdnum.iso7064 import mod_97_10

from benchmarks.identificadores import CONJUNTOS, leer, medir
from memoria.deteccion import hallar
from memoria.identificadores import Clase

TELEFONOS = [
    "612345678",
    "612 345 678",
    "612 34 56 78",
    "612-345-678",
    "612.34.56.78",
    "612/345/678",
    "91 234 56 78",
    "91-2345678",
    "+34 612 345 678",
    "+34612345678",
    "(+34) 612 34 56 78",
    "0034 612 345 678",
    "34 612 345 678",
    "(0034)612345678",
    "+33 6 12 34 56 78",
    "+351 912 345 678",
    "612\u00a0345\u00a0678",
]


def encontrar(texto: str) -> list[tuple[Clase, str]]:
    return [(h.clase, texto[h.inicio : h.fin]) for h in hallar(texto)]


def test_recall_y_precision_sobre_textos_de_compras() -> None:
    medida = medir(*CONJUNTOS)
    assert medida.textos >= 300
    assert medida.recall >= 0.98
    assert medida.precision >= 0.95


def test_los_textos_no_se_repiten_y_un_tercio_se_aparto() -> None:
    textos = {conjunto: [t for t, _ in leer(conjunto)] for conjunto in CONJUNTOS}
    todos = [t for lista in textos.values() for t in lista]
    assert len(set(todos)) == len(todos)
    assert len(textos["reserva"]) * 3 >= len(todos) - 3


@pytest.mark.parametrize("numero", TELEFONOS)
@pytest.mark.parametrize("frase", ["Llamar al {} por la tarde.", "{}", "Ana ({}), muelle", "tel.:{};"])
def test_un_telefono_en_cualquier_forma(numero: str, frase: str) -> None:
    texto = frase.format(numero)
    hallados = encontrar(texto)
    assert len(hallados) == 1, texto
    assert hallados[0][0] == Clase.TELEFONO
    assert numero.strip("()") in hallados[0][1] or hallados[0][1] in numero


@given(st.integers(0, 99_999_999), st.sampled_from(["{}{}", "{}-{}", "{} {}", "{}.{}"]), st.booleans())
def test_un_dni_en_cualquier_forma(numero: int, forma: str, minuscula: bool) -> None:
    cifras = f"{numero:08}"
    letra = dni.calc_check_digit(cifras)
    texto = f"Conductor con DNI {forma.format(cifras, letra.lower() if minuscula else letra)}, muelle 4"
    assert [c for c, _ in encontrar(texto)] == [Clase.NIF]


@given(st.text(string.digits, min_size=20, max_size=20), st.sampled_from(["", " ", "-", "."]), st.booleans())
def test_un_iban_en_cualquier_forma(cuenta: str, entre: str, minuscula: bool) -> None:
    iban = "ES" + f"{98 - int(mod_97_10._to_base10(cuenta + 'ES00')) % 97:02d}" + cuenta
    escrito = entre.join(iban[i : i + 4] for i in range(0, 24, 4))
    escrito = escrito.lower() if minuscula else escrito
    assert encontrar(f"Pagar a {escrito} antes del 3") == [(Clase.IBAN, escrito)]


@given(st.text(string.digits, min_size=12, max_size=12), st.sampled_from(["EAN {}", "{}", "cód. {} (caja)"]))
def test_un_codigo_de_barras_no_es_de_nadie(codigo: str, frase: str) -> None:
    assert encontrar(frase.format(codigo + ean.calc_check_digit(codigo))) == []


@pytest.mark.parametrize(
    "texto",
    [
        "CIF B12345674, Cerámicas del Norte, S. L.",  # a company is nobody (recital 14 GDPR)
        "https://tienda.example/612345678?ref=12345678Z",
        "pedido 612345678",
        "Refs. 612345678, 612345679 y 612345680",
        "1.612.345,67 €",
        "612345678 uds",
        "AB-612345678-01",
        "x" * 4000,
        "6" * 4000,
        "1 " * 2000,
        "a@" * 2000,
        "ES91 " * 800,
    ],
)
def test_lo_que_no_es_de_nadie(texto: str) -> None:
    assert encontrar(texto) == []


@given(st.text(alphabet=string.ascii_letters + string.digits + " .-/@+()áñ€,;\n", max_size=300))
def test_los_hallazgos_estan_en_el_texto_y_no_se_pisan(texto: str) -> None:
    fin = 0
    for h in hallar(texto):
        assert fin <= h.inicio < h.fin <= len(texto)
        assert "\x00" not in h.valor
        assert h.valor not in repr(h) or len(h.valor) < 4
        fin = h.fin
