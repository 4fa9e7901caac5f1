"""What people wrote, on its way to a model: only what a person sees, and nothing that leaves its quotation.

Whatever is recalled into a prompt or into the answer of a tool comes through here: preferences, notices and
documents. Whoever wrote them chose every letter, and some a person does not see and a model does:
bidirectional marks that show a text in another order, Unicode tags and variation selectors that spell words,
zero widths. None says anything in Spanish, so they go, and a word that one parted (a soft hyphen from a PDF)
is whole again. Of emoji, what holds one together stays.

Pure Python: the agents import it.
"""

from __future__ import annotations

import re


def sin_invisibles(texto: str) -> str:
    """``texto`` without what nobody sees. Control characters stay: the policy refuses those."""
    return _INVISIBLES.sub("", texto)


def lineas(texto: str) -> list[str]:
    """The lines of ``texto`` as they are seen, whatever it breaks them with; none has another inside."""
    return [sin_invisibles(_DE_CONTROL.sub("", linea.replace("\t", " "))) for linea in _SALTOS.split(texto)]


def en_una_linea(texto: str) -> str:
    """``texto`` as it is seen, in one line."""
    return " ".join(" ".join(lineas(texto)).split())


#: Everything that breaks a line somewhere: what ``str.splitlines`` knows.
_SALTOS = re.compile("\r\n|[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]")
_DE_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
# The format characters (Cf) and what Unicode says to show as nothing (Default_Ignorable_Code_Point).
_NADIE_LOS_VE = (
    "\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
# An emoji may be several joined ("👩‍🔧"), or a sign in its colours ("⚠️").
_EMOJI = "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_INVISIBLES = re.compile(
    f"[{_NADIE_LOS_VE}]|(?<![{_EMOJI}])\ufe0f|(?<![{_EMOJI}\ufe0f])\u200d|\u200d(?![{_EMOJI}])"
)
