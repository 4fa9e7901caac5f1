"""Misspelt words: which of the known ones may have been meant."""

from __future__ import annotations

from collections.abc import Iterable

#: Shorter words have too many neighbours: "caja", "faja", "baja".
LARGO_MINIMO = 5


def parecidas(
    palabra: str, voces: Iterable[str], *, comienzos: bool = False, minimo: int = LARGO_MINIMO
) -> set[str]:
    """Those of ``voces`` one slip away from ``palabra``: a letter wrong, missing, too many, or two swapped.

    With ``comienzos`` they are beginnings, and so is what they are compared with. The first letter is hardly
    ever the wrong one, and letting it be would make neighbours of words that rhyme. Nothing for words under
    ``minimo`` letters or with figures: a code with another digit is another code.
    """
    if len(palabra) < minimo or not palabra.isalpha():
        return set()
    return {
        voz
        for voz in voces
        if len(voz) >= minimo
        and voz[0] == palabra[0]
        and _a_un_paso(palabra[: len(voz)] if comienzos else palabra, voz)
    }


def _a_un_paso(a: str, b: str) -> bool:
    if a == b or abs(len(a) - len(b)) > 1:
        return False
    corta, larga = sorted((a, b), key=len)
    n = next((i for i, letra in enumerate(corta) if letra != larga[i]), len(corta))
    if len(corta) < len(larga):
        return corta[n:] == larga[n + 1 :]
    cambiada = a[n + 1 :] == b[n + 1 :]
    return cambiada or (a[n : n + 2] == b[n : n + 2][::-1] and a[n + 2 :] == b[n + 2 :])
