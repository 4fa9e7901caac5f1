"""Personal identifiers in a text nobody said anything about: NIF and NIE, IBAN, telephone, e-mail.

:func:`hallar` is for pointing out to whoever is typing, never for deleting: it may be wrong, and the person
decides. :mod:`memoria.identificadores` looks for one identifier that is known; this one for any.

What retail texts are full of looks the same: order numbers of nine figures, lots of eight and a letter. So
check digits decide where there are any, and where there are none, how it is grouped and the word before it.
What a company is called (its CIF) is no personal datum (recital 14 GDPR) and is not pointed out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import phonenumbers
from stdnum import iban
from stdnum.es import ccc, dni, nie, nif

from memoria.identificadores import REGION, Clase, plegar

#: Characters before a number among which the word that says what it is may be.
_ALREDEDOR = 40


@dataclass(frozen=True)
class Hallazgo:
    """``texto[inicio:fin]`` is an identifier; ``valor``, without its spaces and signs, is personal data."""

    clase: Clase
    inicio: int
    fin: int
    valor: str = field(repr=False)


def hallar(texto: str) -> list[Hallazgo]:
    """Every personal identifier in ``texto``, in order; no two of them share a character."""
    hallados: list[Hallazgo] = []
    resto = _URL.sub(lambda m: "\x00" * len(m[0]), texto)
    for buscar in (_ibanes, _emails, _nifs, _telefonos):
        nuevos = list(buscar(resto))
        hallados += nuevos
        for h in nuevos:  # a part of an IBAN is no telephone
            resto = resto[: h.inicio] + "\x00" * (h.fin - h.inicio) + resto[h.fin :]
    return sorted(hallados, key=lambda h: h.inicio)


def _compacto(texto: str) -> str:
    return re.sub(r"[\W_]", "", texto).upper()


_URL = re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE)


# -- IBAN -------------------------------------------------------------------------------------------

_PRINCIPIO_IBAN = re.compile(r"(?<![^\W_])[A-Za-z]{2}[ \u00a0-]?\d{2}")
_SEPARADOR_IBAN = " \u00a0.-"
#: What Spanish accounts were written as before: four figures, four, two and ten.
_CCC = re.compile(r"(?<![\w])\d{4}([ .-]?)\d{4}\1\d{2}\1\d{10}(?![\w])")


def _ibanes(texto: str) -> Iterator[Hallazgo]:
    hasta = 0
    for m in _PRINCIPIO_IBAN.finditer(texto):
        if m.start() >= hasta and (fin := _fin_del_iban(texto, m.start())):
            hasta = fin
            yield Hallazgo(Clase.IBAN, m.start(), fin, _compacto(texto[m.start() : fin]))
    for m in _CCC.finditer(texto):
        if m.start() < hasta or not ccc.is_valid(_compacto(m[0])):
            continue
        if m[1] or _CUENTA.search(plegar(texto[max(0, m.start() - _ALREDEDOR) : m.start()])):
            yield Hallazgo(Clase.IBAN, m.start(), m.end(), _compacto(m[0]))


def _fin_del_iban(texto: str, inicio: int) -> int | None:
    compacto = ""
    for i in range(inicio, len(texto)):
        caracter = texto[i]
        if caracter in _SEPARADOR_IBAN and i and texto[i - 1] not in _SEPARADOR_IBAN:
            continue
        if not (caracter.isascii() and caracter.isalnum()) or len(compacto) == 34:
            return None
        compacto += caracter.upper()
        termina = i + 1 == len(texto) or not texto[i + 1].isalnum()
        # One with a wrong figure is still somebody's, and nothing else is written so.
        if termina and (re.fullmatch(r"ES\d{22}", compacto) or iban.is_valid(compacto, check_country=False)):
            return i + 1
    return None


_CUENTA = re.compile(r"\b(?:ccc|cuenta|banco|transferencia)\b")


# -- e-mail -----------------------------------------------------------------------------------------

_EMAIL = re.compile(
    r"(?<![\w.+%-])[\w+%-][\w.+%-]*(?:@| @ |\s?[(\[{]\s?(?:arroba|at|@)\s?[)\]}]\s?| arroba )"
    r"(?:[\w-]+\.)+[^\W\d_]{2,}(?![\w-])",
    re.IGNORECASE,
)


def _emails(texto: str) -> Iterator[Hallazgo]:
    for m in _EMAIL.finditer(texto):
        valor = re.sub(r"\s?[(\[{]?\s?(?:arroba|(?<=[(\[{])at|@)\s?[)\]}]?\s?", "@", m[0], count=1)
        yield Hallazgo(Clase.EMAIL, m.start(), m.end(), valor.lower())


# -- NIF and NIE --------------------------------------------------------------------------------------

_NIF = re.compile(
    r"(?<![^\W_])(?P<letra>[XYZKLM][ .\u00a0-]{0,2})?"
    r"(?P<numero>\d{1,2}[. \u00a0]\d{3}[. \u00a0]\d{3}|\d{7,8})"
    r"(?P<entre>[ .\u00a0/–-]{0,3})(?P<control>[A-Z])(?![^\W_]|[-/_][^\W_])",
    re.IGNORECASE,
)
#: After a number and a space these are words or units: "12345678 y", "12345678 g".
_PALABRAS_DE_UNA_LETRA = "aeyglmtkwvh"


def _nifs(texto: str) -> Iterator[Hallazgo]:
    for m in _NIF.finditer(texto):
        numero = re.sub(r"\D", "", m["numero"])
        letra = _compacto(m["letra"] or "")
        inicio = m.start()
        compacto = letra + (numero if letra else numero.rjust(8, "0")) + m["control"].upper()
        if not (dni.is_valid(compacto) or nie.is_valid(compacto) or nif.is_valid(compacto)):
            continue
        dicho = _que_es(texto, inicio, _DE_NIF)
        dudoso = (
            _pegado(texto, inicio)
            or (len(numero) == 7 and not letra and not m["numero"].count("."))
            or (m["entre"].isspace() and m["control"] in _PALABRAS_DE_UNA_LETRA)
            or (m["letra"] or "") in ("y ", "k ", "l ", "m ")
        )
        if dicho is True or (dicho is None and not dudoso):
            yield Hallazgo(Clase.NIF, inicio, m.end(), compacto)


# -- telephones -----------------------------------------------------------------------------------------

_ENTRE = r"(?:[ \u00a0./-]| ?[./-] ?)"
_INTERNACIONAL = re.compile(
    rf"(?<![\w+])(?:\(\s?)?(?:\+|00)\s?\d{{1,3}}\)?(?:{_ENTRE}?\(?\d\)?){{6,13}}(?!\w)"
)
_NACIONAL = re.compile(rf"(?<![\w+,])(?:34{_ENTRE}?)?[6-9](?:{_ENTRE}?\d){{8}}(?![\w]|[,.]\d)")
#: How people group the nine figures; compact is one group.
_GRUPOS = {(9,), (3, 3, 3), (3, 2, 2, 2), (2, 3, 2, 2), (2, 7), (3, 6), (2, 3, 4), (1,) * 9}
_UNIDADES = re.compile(
    r"\s?(?:€|\$|%|°|º\s?c\b|eur\b|euros?\b|centimos\b|k?gr?s?\b|gramos\b|kilos\b|ml\b|l\b|litros\b|[cmk]?m[²2³3]?\b|"
    r"ud(?:s|es)?\b|unidades\b|cajas\b|palets?\b|pales\b|piezas\b|pzas?\b|bultos\b|pasos\b|ciclos\b|horas\b)"
)


def _telefonos(texto: str) -> Iterator[Hallazgo]:
    for patron, donde_acaba in ((_INTERNACIONAL, _es_internacional), (_NACIONAL, _es_nacional)):
        for m in patron.finditer(texto):
            if fin := donde_acaba(texto, *m.span()):
                inicio = m.start()
                yield Hallazgo(Clase.TELEFONO, inicio, fin, re.sub(r"[^\d+]", "", texto[inicio:fin]))
                texto = texto[:inicio] + "\x00" * (fin - inicio) + texto[fin:]


def _es_internacional(texto: str, inicio: int, fin: int) -> int | None:
    """Where it ends; what follows a telephone may be another figure, so the last groups are tried without."""
    con_mas = "+" in texto[inicio : inicio + 2]
    if not con_mas and _que_es(texto, inicio, _DE_TELEFONO) is False:
        return None
    while fin > inicio + 7:
        limpio = re.sub(r"^(?:\+|00)", "+", re.sub(r"[^\d+]", "", texto[inicio:fin]))
        if _posible(limpio, valido=not con_mas):
            return fin
        anterior = re.search(rf"{_ENTRE}\(?\d+\)?$", texto[inicio:fin])
        if not anterior:
            return None
        fin = inicio + anterior.start()
    return None


def _es_nacional(texto: str, inicio: int, fin: int) -> int | None:
    escrito = texto[inicio:fin]
    grupos = tuple(len(g) for g in re.findall(r"\d+", escrito))
    if sum(grupos) == 11:
        grupos = grupos[1:] if grupos[0] == 2 else (grupos[0] - 2, *grupos[1:])
    dicho = _que_es(texto, inicio, _DE_TELEFONO)
    if dicho is False or _pegado(texto, inicio) or _sigue(texto, fin):
        return None
    if dicho is None and (grupos not in _GRUPOS or _UNIDADES.match(plegar(texto[fin : fin + 12]))):
        return None
    return fin if _posible(re.sub(r"\D", "", escrito)[-9:], valido=dicho is None) else None


def _posible(numero: str, *, valido: bool) -> bool:
    try:
        leido = phonenumbers.parse(numero, REGION)
    except phonenumbers.NumberParseException:
        return False
    return phonenumbers.is_valid_number(leido) if valido else phonenumbers.is_possible_number(leido)


# -- what a number is, by what is around it -----------------------------------------------------------------

_DE_TELEFONO = re.compile(
    r"\b(?:tel(?:e?f(?:ono)?s?)?|tfnos?|tlfn?o?s?|telefonos?|movil(?:es)?|whatsapp|wasap|llam\w+|fax|contact\w+|"
    r"numero personal|directo|centralita|fijo|extension|guardia|urgencias)\b"
)
_DE_NIF = re.compile(r"\b(?:d\.?n\.?i\.?|n\.?i\.?[fe]\.?|carne|cedula|documento)(?![a-z])")
_DE_OTRA_COSA = re.compile(
    r"\b(?:ref(?:erencias?|s)?|skus?|ean|gtin|gln|sscc|isbn|upc|lotes?|partidas?|cod(?:igos?|s)?|art(?:iculos?|s)?|"
    r"modelos?|mod|pedidos?|albaran(?:es)?|facturas?|fras?|serie|sn|expedientes?|exp|incidencias?|tickets?|guias?|"
    r"tracking|envios?|localizador|clientes?|cuentas?|polizas?|contenedor(?:es)?|bastidor|cheques?|pagares?|remesas?|"
    r"presupuestos?|ofertas?|precintos?|registro|eprel|proveedor|bobinas?|cupon|matricula|inventario|la)\b"
)
#: Between the word and its number: a few letters, and other numbers of the same kind ("refs. 1, 2B y 3",
#: "lotes del 1 al 3").
_ENTRE_PALABRA_Y_NUMERO = re.compile(
    r"[^\d;!?\n,:]{0,24}:?\s*(?:[^\s,;!?]*\d[^\s,;!?]*(?: \d+)*\s*(?:,|/|y\b|e\b|o\b|al?\b)\s*)*"
)


def _que_es(texto: str, inicio: int, suyas: re.Pattern[str]) -> bool | None:
    """Whether the nearest word before says it is one of those (``True``), something else, or nothing."""
    antes = plegar(texto[max(0, inicio - _ALREDEDOR) : inicio])
    if "." in antes and suyas is not _DE_NIF:
        # A full stop ends what a word says; the one of "tel." or "ref." does not.
        antes = re.split(r"(?<=[a-z]{6})\.\s", antes)[-1]
    propia = max((m.end() for m in suyas.finditer(antes)), default=-1)
    ajena = -1
    for m in _DE_OTRA_COSA.finditer(antes):
        if m[0] == "la" and antes[m.end() :].strip():
            continue  # "ofrecer la 612…": telephones are masculine
        if _ENTRE_PALABRA_Y_NUMERO.fullmatch(antes, m.end()):
            ajena = m.end()
    return None if propia == ajena else propia > ajena


def _pegado(texto: str, inicio: int) -> bool:
    """Whether it goes on from a word or a figure before it (``AB-612…``, ``1-612…``), other than its name."""
    antes = re.search(r"([^\W_]+)(?:[-/_.]| ?[-/] ?|(?<=\d) )$", texto[max(0, inicio - 20) : inicio])
    if antes is None:
        return False
    palabra = plegar(antes[1])
    return not (_DE_TELEFONO.fullmatch(palabra) or _DE_NIF.fullmatch(palabra))


def _sigue(texto: str, fin: int) -> bool:
    """Whether a code goes on after it: ``612345678-01``; another telephone after a slash is none."""
    despues = re.match(r"(?:[-_/]|[ .](?=\d))([^\W_]+)", texto[fin : fin + 12])
    return despues is not None and not re.match(r"/ ?[6-9]\d\d", texto[fin:])
