"""The coarse pattern of the search of mentions: it leaves out much, and never what the exact one finds."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from memoria.identificadores import Clase, entender, normalizar
from privacidad.tosco import patron_tosco

#: Ways a text goes from one character to the next, and what a character may have been typed as.
ENTRE = st.sampled_from(
    ["", "", "", " ", "-", ".", " ", "\n", "\t", "\\", '"', "–", " (", "\u00ad", "\u0007"]
)
DISFRACES = {
    "1": "1¹１",
    "2": "2²２",
    "5": "5５",
    "a": "aAáÁàäª\uff41",
    "e": "eEéÉëＥ",
    "i": "iIíİ",
    "n": "nNñÑ",
    "s": "sSſ",
    "fi": ["fi", "ﬁ"],
}
IDENTIFICADORES = st.one_of(
    st.from_regex(r"[67][0-9]{8}", fullmatch=True).map(lambda v: (Clase.TELEFONO, v)),
    st.integers(0, 99_999_999).map(lambda n: (Clase.NIF, f"{n:08}{'TRWAGMYFPDXBNJZSQVHLCKE'[n % 23]}")),
    st.from_regex(r"[a-zñ]{2,8}[.+-]?[a-z0-9]{0,3}@[a-z]{2,8}\.es", fullmatch=True).map(
        lambda v: (Clase.EMAIL, v)
    ),
    st.lists(st.text("abefinsñçáéŁдß", min_size=2, max_size=6), min_size=2, max_size=4).map(
        lambda p: (Clase.NOMBRE, " ".join(p))
    ),
    st.text("aA1ñ25e-_.%\\'\"$(| ", min_size=3, max_size=12).map(lambda v: (Clase.OTRO, v)),
    st.just((Clase.NOMBRE, "Γιώργος Παπάς")),  # nothing the coarse pattern could look for
)


@st.composite
def escritos(dibujar: Any, identificador: str) -> str:
    """The identifier as somebody may have typed it."""
    return "".join(
        dibujar(st.sampled_from(DISFRACES.get(letra.lower(), [letra, letra.upper()]))) + dibujar(ENTRE)
        for letra in identificador
    )


@settings(max_examples=300)
@given(datos=st.data(), elegidos=st.lists(IDENTIFICADORES, min_size=1, max_size=3))
def test_el_patron_tosco_no_pierde_nada(
    propietario: Any, datos: Any, elegidos: list[tuple[Clase, str]]
) -> None:
    """With it and without it the database finds the same rows."""
    buscados = [i for i in (entender(*e) for e in elegidos) if i]
    if not buscados:
        return
    valor = datos.draw(st.sampled_from(elegidos))[1]
    escrito = datos.draw(escritos(valor))
    texto = datos.draw(st.sampled_from(["{}", "\n{}\n", "ñ {} é", "12{}", '"{}"'])).format(escrito)
    patron = "|".join(f"(?:{i.patron})" for i in buscados)
    with propietario.transaction(force_rollback=True):
        for clave, contenido in (("k", {"texto": texto}), (texto, {}), ("n", {texto: 1})):
            propietario.execute(
                "INSERT INTO langgraph.store (prefix, key, value) VALUES ('clientes.otro', %s, %s)"
                " ON CONFLICT DO NOTHING",
                [clave, Jsonb(contenido)],
            )
        llana, rapida = (
            propietario.execute(
                "SELECT prefijo, clave FROM langgraph.buscar_menciones('clientes.C1', %s, %s)", [patron, t]
            ).fetchall()
            for t in (None, patron_tosco(buscados))
        )
    assert rapida == llana
    if any(i.tramos(texto) for i in buscados):
        assert ("clientes.otro", "k") in rapida


def test_el_patron_tosco_deja_fuera_casi_todo() -> None:
    buscados = [normalizar(Clase.TELEFONO, "612345678"), normalizar(Clase.NOMBRE, "Ana Canario Gil")]
    tosco = patron_tosco(buscados)
    assert tosco
    assert re.search(tosco, '{"texto": "al 6 1 2 3\\n4 5 6 7 8"}')
    assert re.search(tosco, '{"texto": "Gil, ÁNA CÁNARIO"}')
    assert not re.search(tosco, '{"texto": "Prefiere que se le atienda en catalán, a las 12:34 h"}')
    # What folds into a letter passes, whatever it says; what a text in Spanish is full of does not.
    assert re.search(tosco, "ﬁn")
    assert not re.search(tosco, "¿Llegó el 1.º? «Sí» – “no”… 5 €")


def test_sin_nada_que_mirar_primero_no_hay_patron_tosco() -> None:
    telefono = normalizar(Clase.TELEFONO, "612345678")
    assert patron_tosco([telefono])
    assert patron_tosco([telefono, normalizar(Clase.NOMBRE, "Γιώργος Παπάς")]) is None
    assert patron_tosco([]) is None
