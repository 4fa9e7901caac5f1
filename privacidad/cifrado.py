"""Encryption of what may be kept of a person, with a key that is not in the database (``CLAVE_SELLO``)."""

from __future__ import annotations

import base64
import json
from functools import lru_cache
from typing import Any

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.utils.translation import gettext as _

from privacidad.errores import ErrorDePrivacidad


class CifradoIlegible(ErrorDePrivacidad):
    """What was encrypted cannot be read with the key this installation has, or was changed."""

    def __init__(self) -> None:
        super().__init__(
            _(
                "No se puede descifrar: CLAVE_SELLO no es la clave con la que se cifró, o lo cifrado se ha "
                "alterado."
            )
        )


def cifrar(contenido: bytes, *, uso: str) -> bytes:
    """Encrypt and authenticate ``contenido``. ``uso`` keeps one purpose's ciphertexts from another's."""
    return _llave(settings.CLAVE_SELLO, uso).encrypt(contenido)


def descifrar(cifrado: bytes | memoryview, *, uso: str) -> bytes:
    """The inverse of :func:`cifrar`. Raises :class:`CifradoIlegible`."""
    try:
        return _llave(settings.CLAVE_SELLO, uso).decrypt(bytes(cifrado))
    except InvalidToken:
        raise CifradoIlegible from None


def cifrar_json(datos: Any, *, uso: str) -> bytes:
    """As :func:`cifrar`, of a JSON value."""
    return cifrar(json.dumps(datos, ensure_ascii=False).encode(), uso=uso)


def descifrar_json(cifrado: bytes | memoryview, *, uso: str) -> Any:
    """The inverse of :func:`cifrar_json`."""
    return json.loads(descifrar(cifrado, uso=uso))


@lru_cache(maxsize=64)  # each piece of a sealed copy has a key of its own
def _llave(secreto: str, uso: str) -> Fernet:
    # One secret, one derived key per purpose (RFC 5869). The secret is long and random, so it needs no salt.
    derivada = HKDF(hashes.SHA256(), 32, salt=None, info=f"memoria:{uso}".encode()).derive(secreto.encode())
    return Fernet(base64.urlsafe_b64encode(derivada))
