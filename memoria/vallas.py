"""What the database answers when a write comes late for an erasure (``sql/vallas.sql``), as errors with a name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from memoria.politica import PoliticaIncumplida

#: SQLSTATEs of the triggers. Classes from I to Z are nobody's (PostgreSQL, appendix A).
CODIGO_SUJETO = "MV001"
CODIGO_HILO = "MV002"


class SujetoSuprimido(PoliticaIncumplida):
    """The subject has just been erased: nothing of theirs is kept for some minutes (``VALLA_MINUTOS``).

    In a tool call the model gets the sentence and the run goes on.
    """

    def __init__(self) -> None:
        super().__init__(
            "Los datos de esta persona se acaban de suprimir y no se guarda nada de ella hasta pasados unos "
            "minutos: siga sin guardar y no lo reintente en esta conversación."
        )


@contextmanager
def traducir() -> Iterator[None]:
    """Turn the refusal of a fence into :class:`SujetoSuprimido`; any other error goes on as it is."""
    try:
        yield
    except psycopg.DatabaseError as error:
        if error.diag.sqlstate == CODIGO_SUJETO:
            raise SujetoSuprimido from None
        raise
