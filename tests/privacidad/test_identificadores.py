"""E8: an identifier is found however it was written, and nothing that only looks like it is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoria.identificadores import (
    Clase,
    IdentificadorNoValido,
    enmascarar,
    entender,
    es_distintivo,
    normalizar,
    plegar,
    velar,
)
from privacidad.identificadores import sumar, textos_de

FORMAS = {
    Clase.EMAIL: ["Ana@X.es", "ana@x.es", "ANA@X.ES", " ana@x.es ", "ａｎａ@x.es"],
    Clase.TELEFONO: [
        "+34 612 345 678",
        "612-34-56-78",
        "0034612345678",
        "(+34)612345678",
        "(0034) 612.345.678",
        "34612345678",
        "612\u00a0345\u00a0678",
    ],
    Clase.NIF: ["12345678z", "12345678-Z", "12.345.678-z", "12 345 678 Z"],
    Clase.NOMBRE: ["Núria  Peña Gil", "Núria Peña Gil"],
}


@pytest.mark.parametrize("clase", FORMAS)
def test_todas_las_formas_dan_la_misma(clase: Clase) -> None:
    normales = {normalizar(clase, f).valor for f in FORMAS[clase]}
    assert len(normales) == 1


@pytest.mark.parametrize("clase", FORMAS)
def test_cada_forma_encuentra_a_todas_las_demas(clase: Clase) -> None:
    for una in FORMAS[clase]:
        for otra in FORMAS[clase]:
            texto = f"Aviso: ({otra.strip()}), el lunes."
            tramos = normalizar(clase, una).tramos(texto)
            assert len(tramos) == 1, clase
            assert otra.strip()[-1] == texto[tramos[0][1] - 1]


@pytest.mark.parametrize(
    ("clase", "valor", "texto"),
    [
        (Clase.EMAIL, "ana@x.es", "mariana@x.es ana@x.es.org ana@x.esp ana.ana@x.es"),
        (Clase.TELEFONO, "612345678", "EAN 8461234567805, pedido 6123456789, ref612345678, 712345678"),
        (Clase.NIF, "12345678Z", "12345678A 112345678Z 12345678ZZ X12345678Z"),
        (Clase.NOMBRE, "Ana Gil", "Ana Gilabert; Ana y Gil; Mariana Gil; Virgil Ana"),
        (Clase.OTRO, "CAN-7319", "CAN-73190 XCAN-7319 CAN-731"),
    ],
)
def test_lo_que_se_le_parece_no_lo_es(clase: Clase, valor: str, texto: str) -> None:
    assert normalizar(clase, valor).tramos(texto) == []


@pytest.mark.parametrize(
    ("clase", "valor", "texto"),
    [
        (Clase.NIF, "01234567L", "el 1234567-l"),
        (Clase.NIF, "1234567L", "el 01234567L"),
        (Clase.NIF, "x-1234567-l", "NIE X01234567L"),
        (Clase.NOMBRE, "Nuria Peña", "doña NÚRIA PENA"),
        (Clase.NOMBRE, "Ana Ruiz Gil", "RUIZ GIL, Ana"),
        (Clase.TELEFONO, "+44 20 7946 0958", "llame al (0)20 7946-0958"),
        (Clase.TELEFONO, "612345678", "+34 (0) 612 345 678"),
        (Clase.OTRO, "CAN-7319", "el cliente can 7319"),
    ],
)
def test_otras_formas_de_escribirlo(clase: Clase, valor: str, texto: str) -> None:
    assert len(normalizar(clase, valor).tramos(texto)) == 1


@pytest.mark.parametrize(
    ("clase", "valor"),
    [
        (Clase.EMAIL, "ana"),
        (Clase.EMAIL, "ana@x"),
        (Clase.TELEFONO, "1234"),
        (Clase.TELEFONO, "hola"),
        (Clase.NIF, "12345678A"),
        (Clase.NOMBRE, "A."),
        (Clase.OTRO, "--"),
    ],
)
def test_lo_que_no_vale_se_rechaza_sin_repetirlo(clase: Clase, valor: str) -> None:
    with pytest.raises(IdentificadorNoValido) as error:
        normalizar(clase, valor)
    assert valor not in str(error.value).split()


def test_un_valor_mal_escrito_se_busca_como_es() -> None:
    mal = entender(Clase.NIF, "12345678A")
    assert mal is not None
    assert mal.clase is Clase.OTRO
    assert mal.tramos("dni 12345678-a")
    assert entender(Clase.EMAIL, " - ") is None
    assert "12345678" not in repr(mal)


def test_la_mascara_tapa_lo_encontrado_y_nada_mas() -> None:
    texto = "Llame al 612 345 678 o a ana@x.es"
    telefono, email = normalizar(Clase.TELEFONO, "612345678"), normalizar(Clase.EMAIL, "ana@x.es")
    assert enmascarar(texto, [*telefono.tramos(texto), *email.tramos(texto)]) == (
        "Llame al 6•• ••• ••8 o a a••@•.•s"
    )
    assert velar("Prefiere que se le llame al 612345678") == "Pr•••••• que se le ll••• al 6••••••••"


@pytest.mark.parametrize(
    ("sujeto", "distintivo"),
    [
        ("C9", False),
        ("C-77", False),
        ("12345", False),
        ("1234567", True),
        ("CANARIO-7319", True),
        ("a@x.es", True),
    ],
)
def test_solo_se_busca_un_identificador_distintivo(sujeto: str, distintivo: bool) -> None:
    assert es_distintivo(sujeto) is distintivo


def test_dos_correos_son_dos_identificadores() -> None:
    assert sumar({"email": "a@x.es"}, {"email": "b@x.es", "nif": "12345678Z"}) == {
        "email": "a@x.es",
        "email-2": "b@x.es",
        "nif": "12345678Z",
    }
    assert sumar({"email": "a@x.es"}, {"email": "a@x.es"}) == {"email": "a@x.es"}


def test_todos_los_textos_de_un_json() -> None:
    assert textos_de({"a": ["b", {"c": 612345678}], "d": None, "e": True}) == [
        "a",
        "b",
        "c",
        "612345678",
        "d",
        "e",
    ]


VALORES = st.one_of(
    st.from_regex(r"[67][0-9]{8}", fullmatch=True).map(lambda v: (Clase.TELEFONO, v)),
    st.from_regex(r"[a-zñ]{2,8}@[a-z]{2,8}\.es", fullmatch=True).map(lambda v: (Clase.EMAIL, v)),
    st.lists(st.text("abcñçáéŁдß", min_size=2, max_size=6), min_size=2, max_size=3).map(
        lambda p: (Clase.NOMBRE, " ".join(p))
    ),
    st.text("aA1ñ-_.%\\'\"$(|", min_size=3, max_size=12).map(lambda v: (Clase.OTRO, v)),
)


@settings(max_examples=150)
@given(
    elegido=VALORES,
    mayusculas=st.booleans(),
    alrededor=st.sampled_from(["{}", "({})", "\n{}\n", '"{}"', "\\{}", "ñ {} é"]),
)
def test_la_base_encuentra_cuanto_encuentra_python(
    propietario: Any, elegido: tuple[Clase, str], mayusculas: bool, alrededor: str
) -> None:
    """The database's pattern never leaves out what the exact search finds, whatever the text holds."""
    from psycopg.types.json import Jsonb

    buscado = entender(*elegido)
    if buscado is None:
        return
    texto = alrededor.format(elegido[1].upper() if mayusculas else elegido[1])
    with propietario.transaction(force_rollback=True):
        propietario.execute(
            "INSERT INTO langgraph.store (prefix, key, value) VALUES ('clientes.otro', 'k', %s)",
            [Jsonb({"texto": texto})],
        )
        filas = propietario.execute(
            "SELECT clave FROM langgraph.buscar_menciones('clientes.C1', %s)", [buscado.patron]
        ).fetchall()
    assert bool(filas) >= bool(buscado.tramos(texto))
    assert plegar(texto) == plegar(plegar(texto))
