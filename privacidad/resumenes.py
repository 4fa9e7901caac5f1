"""The keyed digest that stands for a person where their id must not be."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable

from django.conf import settings
from django.contrib.auth.models import User


def resumen(texto: str) -> str:
    """HMAC-SHA256 of ``texto`` with ``CLAVE_REGISTRO``, in 64 hexadecimal digits.

    Of a subject, the text is its canonical prefix (``politica.prefijo``): who has the key can tell whether a
    given person is the one of a request; who has only the database cannot, not even by trying every id.
    """
    return hmac.new(settings.CLAVE_REGISTRO.encode(), texto.encode(), hashlib.sha256).hexdigest()


def resumen_de_usuario(usuario: User) -> str:
    """The digest that says in the register which of the people with an account did something."""
    return resumen(f"usuario:{usuario.pk}")


def resumen_de_lista(textos: Iterable[str]) -> str:
    """The digest of a set of texts, whatever their order."""
    return resumen("\n".join(sorted(textos)))
