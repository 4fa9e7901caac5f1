"""What a reference of ours looks like in a URL: any other text is a 404, and never reaches the database."""

from __future__ import annotations


class ConversorReferencia:
    """``<referencia:nombre>``: ``SUP-2026-0001``, ``CER-2026-0001``, ``ACC-2026-1A2B3C4D``."""

    regex = "[A-Z]{3}-[0-9]{4}-[0-9A-Z]{4,12}"

    def to_python(self, valor: str) -> str:
        return valor

    def to_url(self, valor: str) -> str:
        return valor
