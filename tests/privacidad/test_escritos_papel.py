"""The documents on paper: the same bytes, A4, black and white, and any reason printed."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pypdf import PdfReader

from privacidad import mensual, plazos, servicios
from privacidad.escritos import pdf
from privacidad.escritos.papel import imprimible
from privacidad.models import Solicitud
from tests.privacidad.lector import leer


def test_the_same_data_gives_the_same_bytes(completada: Callable[..., Solicitud]) -> None:
    escrito = completada().escritos.get()
    assert pdf.componer(escrito.datos) == bytes(escrito.pdf)
    assert hashlib.sha256(escrito.pdf).hexdigest() == escrito.huella
    otro = {**escrito.datos, "resumen": "0" * 64}
    assert pdf.componer(otro) != bytes(escrito.pdf)


def test_a_document_is_a4_without_fonts_of_its_own_and_numbers_its_pages(
    recibida: Callable[..., Any], dpo: Any
) -> None:
    solicitud = recibida()
    motivo = "Motivo muy largo, con palabrasqueocupanmasdeunalineaentera" + "a" * 150 + " y fin.\n" * 150
    servicios.denegar(solicitud=solicitud, motivo=motivo, por=dpo)
    lector = PdfReader(io.BytesIO(solicitud.escritos.get().pdf))
    assert len(lector.pages) >= 2
    for n, pagina in enumerate(lector.pages, 1):
        assert [round(float(x)) for x in pagina.mediabox] == [0, 0, 595, 842]
        assert f"página {n} de {len(lector.pages)}" in pagina.extract_text()
        assert "FontFile" not in str(pagina["/Resources"])
    assert str(lector.root_object["/Lang"]) == "es"


def test_documents_print_in_black_and_white(
    completada: Callable[..., Solicitud], recibida: Callable[..., Any], dpo: Any
) -> None:
    """Nothing is painted but in black, no image, and only in the fonts every reader must have."""
    ampliada, denegada = recibida("C8"), recibida("C9")
    servicios.ampliar(solicitud=ampliada, motivo="Hay mucho que revisar", por=dpo)
    servicios.denegar(solicitud=denegada, motivo="Hay una factura abierta", por=dpo)
    documentos = [
        *(bytes(s.escritos.get().pdf) for s in (completada(), ampliada, denegada)),
        mensual.en_pdf(plazos.hoy()),
    ]
    for documento in documentos:
        lector = PdfReader(io.BytesIO(documento), strict=True)
        for pagina in lector.pages:
            assert sorted(round(float(x)) for x in pagina.mediabox[2:]) == [595, 842]
            assert pagina.extract_text().strip()
            recursos: Any = pagina["/Resources"]
            assert set(recursos) <= {"/ProcSet", "/Font"}
            assert {f.get_object()["/BaseFont"] for f in recursos["/Font"].values()} <= DE_CUALQUIER_LECTOR
            hoja: Any = pagina.get_contents()
            for operandos, orden in hoja.operations:
                if orden in COLORES:
                    assert all(float(x) == 0 for x in operandos), (operandos, orden)
                assert orden not in OTROS_COLORES, orden


#: Some of the fourteen standard fonts (ISO 32000-1, 9.6.2.2): embedded or not, a reader has them.
DE_CUALQUIER_LECTOR = {"/Helvetica", "/Helvetica-Bold", "/Courier"}
#: The operators that choose a colour of grey or RGB, where 0 is black (ISO 32000-1, table 74)...
COLORES = {b"g", b"G", b"rg", b"RG"}
#: ...and those that could choose any other, or paint a shading or an image.
OTROS_COLORES = {b"k", b"K", b"cs", b"CS", b"sc", b"SC", b"scn", b"SCN", b"sh", b"Do", b"BI"}


@given(
    st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters=[chr(c) for c in range(32) if c != 10]),
        min_size=1,
        max_size=300,
    )
)
def test_any_reason_can_be_printed(texto: str) -> None:
    datos = {
        "tipo": "denegacion",
        "numero": "DEN-2026-0001",
        "emitido": "2026-11-29T10:00:00+01:00",
        "responsable": texto[:40],
        "referencia": "SUP-2026-0001",
        "recibida": "2026-11-29",
        "canal": "Correo",
        "vence": "2026-12-29",
        "vinculadas": [],
        "comprobar": "/privacidad/verificar/",
        "resumen": "0" * 64,
        "motivo": texto,
        "pasos": [{"que": "denegacion", "quien": texto, "momento": "2026-11-29T10:00:00+01:00"}],
    }
    assert pdf.componer(datos).startswith(b"%PDF-")


def test_what_cannot_be_printed_is_seen() -> None:
    assert imprimible("Ñandú «aquí» – 5 €\tfin") == "Ñandú «aquí» – 5 €    fin"
    assert imprimible("n\u0303") == "ñ"
    assert imprimible("中\u00ad") == "[U+4E2D][U+00AD]"


def test_the_reason_is_printed_as_it_was_written(recibida: Callable[..., Any], dpo: Any) -> None:
    """``{nb}`` is, to the library, a mark for how many pages there are."""
    solicitud = recibida()
    servicios.denegar(solicitud=solicitud, motivo="La plantilla dice {nb} y **no** otra cosa", por=dpo)
    assert "La plantilla dice {nb} y **no** otra cosa" in leer(solicitud.escritos.get().pdf)
