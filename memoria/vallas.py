"""What the database answers to a write it refuses, as errors with a name.

It may come late for an erasure (``sql/vallas.sql``) or go over what is restricted (``sql/limitaciones.sql``)
or held back (``sql/retenciones.sql``).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from memoria.politica import PoliticaIncumplida

#: SQLSTATEs of the triggers. Classes from I to Z are nobody's (PostgreSQL, appendix A).
CODIGO_SUJETO = "MV001"
CODIGO_HILO = "MV002"
#: Of ``sql/limitaciones.sql``.
CODIGO_LIMITADO = "MV003"
#: Of ``sql/retenciones.sql``.
CODIGO_RETENIDO = "MV004"


class SujetoSuprimido(PoliticaIncumplida):
    """The subject has just been erased: nothing of theirs is kept for some minutes (``VALLA_MINUTOS``).

    In a tool call the model gets the sentence and the run goes on.
    """

    def __init__(self) -> None:
        super().__init__(
            "Los datos de esta persona se acaban de suprimir y no se guarda nada de ella hasta pasados unos "
            "minutos: siga sin guardar y no lo reintente en esta conversación."
        )


class ConversacionSuprimida(PoliticaIncumplida):
    """The document was said in a thread that was erased since: nothing of that thread is kept, ever.

    In a tool call the model gets the sentence; the turn itself ends as :class:`memoria.hilos.HiloSuprimido`
    says.
    """

    def __init__(self) -> None:
        super().__init__(
            "Esta conversación se ha suprimido y no se guarda nada de ella: siga sin guardar y no lo "
            "reintente."
        )


class DatoLimitado(PoliticaIncumplida):
    """The document, or the whole card, is restricted (art. 18 GDPR): stored, and not written over."""

    def __init__(self) -> None:
        super().__init__(
            "Ese dato está limitado mientras privacidad revisa si es correcto: hasta entonces no se puede "
            "cambiar ni borrar."
        )


class DatoRetenido(PoliticaIncumplida):
    """The document, or the conversation, is held back from an erasure (art. 17(3) GDPR)."""

    def __init__(self) -> None:
        super().__init__(
            "Ese dato está retenido porque la ley obliga a conservarlo: mientras lo esté no se puede cambiar "
            "ni borrar."
        )


_NOMBRES: dict[str, type[SujetoSuprimido | ConversacionSuprimida | DatoLimitado | DatoRetenido]] = {
    CODIGO_SUJETO: SujetoSuprimido,
    CODIGO_HILO: ConversacionSuprimida,
    CODIGO_LIMITADO: DatoLimitado,
    CODIGO_RETENIDO: DatoRetenido,
}


@contextmanager
def traducir() -> Iterator[None]:
    """Give the refusals of the database their names; any other error goes on as it is."""
    try:
        yield
    except psycopg.DatabaseError as error:
        if nombre := _NOMBRES.get(error.diag.sqlstate or ""):
            raise nombre from None
        raise
