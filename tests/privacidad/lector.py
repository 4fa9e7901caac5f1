"""What a PDF says, as a reader shows it."""

from __future__ import annotations

import io
import re

from pypdf import PdfReader


def leer(documento: bytes | memoryview) -> str:
    """The text of all its pages, its lines joined."""
    paginas = [pagina.extract_text() for pagina in PdfReader(io.BytesIO(documento)).pages]
    return re.sub(r"\s+", " ", " ".join(paginas))
