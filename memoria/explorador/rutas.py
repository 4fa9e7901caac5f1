"""A subject's id in a URL: any id, safely, in one segment.

An id may hold slashes, dots, spaces, line breaks or anything else, and browsers and proxies tidy paths ("..",
"//", and "%2F" more than anything). So what goes in the URL is the label of the store, where the period and
the control characters are already percent-encoded, with the slash encoded the same way. Plain ids look plain.
"""

from __future__ import annotations

import re

from memoria import politica

_RAIZ = "clientes"  # any root would do: the label of an id is the same in all
_CODIFICADO = re.compile(r"%(0[0-9A-F]|1[0-9A-F]|25|2E|2F|7F)")


def a_url(sujeto_id: str) -> str:
    """The text of an id for a path segment or a query string (before the URL's own quoting)."""
    return politica.espacio(_RAIZ, sujeto_id)[1].replace("/", "%2F")


def de_url(texto: str) -> str:
    """The inverse of :func:`a_url`; an id typed as it is ("C9.1") is taken as it is.

    Raises ``ValueError`` when no subject can be called that: empty, or longer than a label may be.
    """
    sujeto_id = _CODIFICADO.sub(lambda m: chr(int(m[1], 16)), texto)
    if len(politica.espacio(_RAIZ, sujeto_id)[1]) > politica.LARGO_MAXIMO_ETIQUETA:
        raise ValueError
    return sujeto_id


class ConversorSujeto:
    """``<sujeto:sujeto_id>`` in a route. What :func:`de_url` refuses is a 404, and so is a raw NUL."""

    regex = r"[^\x00]+"
    to_python = staticmethod(de_url)
    to_url = staticmethod(a_url)


class ConversorEspacio:
    """``<espacio:nombre>``: a root namespace of the policy; any other is a 404."""

    regex = "|".join(politica.ESPACIOS)

    def to_python(self, valor: str) -> str:
        return valor

    def to_url(self, valor: str) -> str:
        return valor
