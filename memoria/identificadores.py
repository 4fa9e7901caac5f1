"""Personal identifiers in free text: one normal form for each, and how to find it however it was written.

A number, an address or a name is typed in many ways ("(+34) 612-34-56-78", "12.345.678-z", "ANA@X.ES"). Here
each has one normal form, a pattern the database can look for, and the exact places where a text holds it.

Two steps on purpose. :meth:`Identificador.patron` is for the database: it may find too much, never too
little. :meth:`Identificador.tramos` then says which of it is the identifier, and where.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

import phonenumbers
from stdnum import iban
from stdnum.es import dni, nie, nif

#: Region of a telephone number written with no country code.
REGION = "ES"
#: What may stand between two characters of one identifier, at most: spaces, hyphens, periods, brackets.
_ENTRE = "[^0-9a-z]{0,3}"
_MARCAS = re.compile("[\u0300-\u036f]")
#: More words than this are not turned round: a name has fewer.
_PALABRAS_QUE_GIRAN = 6


class Clase(StrEnum):
    """What an identifier is. ``OTRO`` is any other text that names somebody, found as it is."""

    EMAIL = "email"
    TELEFONO = "telefono"
    NIF = "nif"
    IBAN = "iban"
    NOMBRE = "nombre"
    OTRO = "otro"


class IdentificadorNoValido(ValueError):
    """It is not what it says it is. The message never repeats it."""

    def __init__(self, clase: Clase) -> None:
        super().__init__(_MOTIVOS[clase])
        self.clase = clase


_MOTIVOS = {
    Clase.EMAIL: "No es una dirección de correo electrónico: escríbala entera, con su arroba y su dominio.",
    Clase.TELEFONO: "No es un número de teléfono: escríbalo entero, con el prefijo si no es español.",
    Clase.NIF: "No es un NIF ni un NIE: compruebe los números y que la letra les corresponde.",
    Clase.IBAN: "No es un IBAN: compruebe el país y los números.",
    Clase.NOMBRE: "No es un nombre: escriba el nombre y los apellidos.",
    Clase.OTRO: "No hay ninguna letra ni ningún número que buscar.",
}


@dataclass(frozen=True)
class Identificador:
    """One identifier in its normal form; make it with :func:`normalizar` or :func:`entender`.

    ``valor`` is personal data: it is not in the ``repr``.
    """

    clase: Clase
    valor: str = field(repr=False)

    @cached_property
    def patron(self) -> str:
        """A regular expression for :func:`plegar`-ed text, the same in Python and in PostgreSQL.

        It has no word boundaries: the database only uses it to leave out what cannot hold the identifier.
        """
        return _PATRONES[self.clase](self.valor)

    def tramos(self, texto: str) -> list[tuple[int, int]]:
        """Where ``texto`` holds the identifier: ``[(start, end), …]``, in order, as offsets of ``texto``."""
        plegado, posiciones = _plegar_con_posiciones(texto)
        return [(posiciones[m.start()], posiciones[m.end() - 1] + 1) for m in self._exacto.finditer(plegado)]

    @cached_property
    def _exacto(self) -> re.Pattern[str]:
        antes, despues = _LIMITES[self.clase]
        return re.compile(f"{antes}(?:{self.patron}){despues}")


def normalizar(clase: Clase, valor: str) -> Identificador:
    """The identifier in its normal form: ``normalizar(Clase.NIF, "12345678-z").valor == "12345678Z"``.

    Raises :class:`IdentificadorNoValido`.
    """
    return Identificador(clase, _NORMALES[clase](unicodedata.normalize("NFKC", valor).strip()))


def entender(clase: Clase, valor: str) -> Identificador | None:
    """As :func:`normalizar`; what is not valid is looked for as it is, and ``None`` when it holds nothing.

    A request is received with what the person gave, right or wrong: somebody else may have typed it so too.
    """
    for posible in (clase, Clase.OTRO):
        try:
            return normalizar(posible, valor)
        except IdentificadorNoValido:
            continue
    return None


def es_distintivo(identificador: str) -> bool:
    """Whether an internal id is worth looking for in other people's texts: ``C9`` would be everywhere."""
    letras = re.sub("[^0-9a-z]", "", plegar(identificador))
    if letras.isdigit():
        return len(letras) >= 7
    return "@" in identificador or (len(letras) >= 5 and any(c.isdigit() for c in letras))


def enmascarar(texto: str, tramos: Iterable[tuple[int, int]]) -> str:
    """``texto`` with those places hidden but for their first and last letter: ``6•••••••8``."""
    letras = list(texto)
    for inicio, fin in tramos:
        for i in range(inicio + 1, fin - 1 if fin - inicio > 3 else fin):
            if letras[i].isalnum():
                letras[i] = "•"
    return "".join(letras)


def velar(texto: str) -> str:
    """A text one can recognise and not read: of each word two letters, of each number its first figure.

    Words of up to three letters stay whole: they are what tells one sentence from another.
    """
    return re.sub(r"[^\W_]+", lambda m: _velada(m[0]), texto)


def _velada(palabra: str) -> str:
    if palabra.isalpha() and len(palabra) <= 3:
        return palabra
    visibles = 2 if palabra.isalpha() else 1
    return palabra[:visibles] + "•" * (len(palabra) - visibles)


def plegar(texto: str) -> str:
    """Lower case, no accents, compatibility forms made plain: how texts are compared here and in SQL."""
    return _MARCAS.sub("", unicodedata.normalize("NFKD", texto)).lower()


def _plegar_con_posiciones(texto: str) -> tuple[str, list[int]]:
    if texto.isascii():
        return texto.lower(), list(range(len(texto)))
    plegado: list[str] = []
    posiciones: list[int] = []
    for i, caracter in enumerate(texto):
        for letra in plegar(caracter):
            plegado.append(letra)
            posiciones.append(i)
    return "".join(plegado), posiciones


# -- normal forms -----------------------------------------------------------------------------------


def _email(valor: str) -> str:
    if not re.fullmatch(r"[^\s@<>]+@[^\s@<>]+\.[^\s@<>.]{2,}", valor):
        raise IdentificadorNoValido(Clase.EMAIL)
    return valor.lower()


def _telefono(valor: str) -> str:
    # "(+34)612…" and "0034 612…" as the library reads them: a plus first, no brackets around it.
    limpio = re.sub(r"^(?:\+|00)", "+", re.sub(r"[^\d+]", "", valor))
    try:
        numero = phonenumbers.parse(limpio, REGION)
    except phonenumbers.NumberParseException:
        raise IdentificadorNoValido(Clase.TELEFONO) from None
    if not phonenumbers.is_possible_number(numero):
        raise IdentificadorNoValido(Clase.TELEFONO)
    return phonenumbers.format_number(numero, phonenumbers.PhoneNumberFormat.E164)


def _nif(valor: str) -> str:
    compacto = re.sub(r"[\W_]", "", valor).upper()
    if m := re.fullmatch(r"0*(\d{1,8}[A-Z])", compacto):
        compacto = m[1].rjust(9, "0")
    if not (dni.is_valid(compacto) or nie.is_valid(compacto) or nif.is_valid(compacto)):
        raise IdentificadorNoValido(Clase.NIF)
    return compacto


def _iban(valor: str) -> str:
    compacto = re.sub(r"[\W_]", "", valor).upper()
    if not iban.is_valid(compacto, check_country=False):
        raise IdentificadorNoValido(Clase.IBAN)
    return compacto


def _nombre(valor: str) -> str:
    palabras = re.findall(r"[^\W_]+", valor)
    if sum(map(len, palabras)) < 3:
        raise IdentificadorNoValido(Clase.NOMBRE)
    return " ".join(palabras)


def _otro(valor: str) -> str:
    if not re.search(r"[^\W_]", valor):
        raise IdentificadorNoValido(Clase.OTRO)
    return valor


_NORMALES = {
    Clase.EMAIL: _email,
    Clase.TELEFONO: _telefono,
    Clase.NIF: _nif,
    Clase.IBAN: _iban,
    Clase.NOMBRE: _nombre,
    Clase.OTRO: _otro,
}


# -- patterns ---------------------------------------------------------------------------------------


def _separable(caracteres: str) -> str:
    return _ENTRE.join(map(_letra, caracteres))


def _letra(caracter: str) -> str:
    # PostgreSQL folds the case of ASCII only under some collations: the others are asked for in both.
    mayuscula = caracter.upper()
    if caracter.isascii() or mayuscula == caracter or len(mayuscula) > 1:
        return re.escape(caracter)
    return f"[{caracter}{mayuscula}]"


def _literal(texto: str) -> str:
    return "".join(map(_letra, texto))


def _patron_email(valor: str) -> str:
    return _literal(plegar(valor))


def _patron_telefono(valor: str) -> str:
    numero = phonenumbers.parse(valor)
    pais, nacional = str(numero.country_code), phonenumbers.national_significant_number(numero)
    # With the country's code, its "00" or "+", a trunk "0" in brackets, or none of it.
    codigo = rf"(?:(?:\+|0{_ENTRE}0)?{_ENTRE}{_separable(pais)}{_ENTRE}(?:0{_ENTRE})?|0{_ENTRE})?"
    return codigo + _separable(nacional)


def _patron_nif(valor: str) -> str:
    valor = plegar(valor)
    letra, numero = ("", valor) if valor[0].isdigit() else (valor[0], valor[1:])
    # Leading zeros are written or not: 01234567L, 1234567L.
    principio = f"{letra}{_ENTRE}" if letra else ""
    return f"{principio}(?:0{_ENTRE})*{_separable(numero.lstrip('0') or '0')}"


def _patron_iban(valor: str) -> str:
    return _separable(plegar(valor))


def _patron_nombre(valor: str) -> str:
    palabras = [_literal(plegar(p)) for p in valor.split()]
    # "Ana Ruiz Gil" and "Ruiz Gil, Ana": the same words, begun at any of them.
    giros = range(len(palabras) if len(palabras) <= _PALABRAS_QUE_GIRAN else 1)
    entre = "[^0-9a-z]{1,3}"
    return "|".join(entre.join([*palabras[n:], *palabras[:n]]) for n in giros)


def _patron_otro(valor: str) -> str:
    # Letters and figures may be written apart, whether or not they were given so.
    return _ENTRE.join(_literal(t) for t in re.findall(r"\d+|[^\W\d_]+", plegar(valor)))


_PATRONES = {
    Clase.EMAIL: _patron_email,
    Clase.TELEFONO: _patron_telefono,
    Clase.NIF: _patron_nif,
    Clase.IBAN: _patron_iban,
    Clase.NOMBRE: _patron_nombre,
    Clase.OTRO: _patron_otro,
}

_PALABRA = (r"(?<![^\W_])", r"(?![^\W_])")
_LIMITES = {
    # What may belong to a longer address is not this one: mariana@x.es, ana@x.es.org.
    Clase.EMAIL: (r"(?<![\w.%+-])", r"(?![\w-]|\.\w)"),
    Clase.TELEFONO: _PALABRA,
    Clase.NIF: _PALABRA,
    Clase.IBAN: _PALABRA,
    Clase.NOMBRE: _PALABRA,
    Clase.OTRO: _PALABRA,
}
