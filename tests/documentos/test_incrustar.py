"""The vectors of documents, when they come from an endpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memoria.documentos import indice
from tests.documentos.test_sincronizar import sincronizar
from tests.memoria.test_embeddings import servidor, vectores_de


def test_an_endpoint_that_goes_away_halfway_leaves_a_true_count(
    bd: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apartados = [f"# Apartado {n}\n\nLo que dice.\n" for n in range(indice.LOTE + 5)]
    (tmp_path / "largo.md").write_text("\n".join(apartados))
    lotes = 0

    def responder(cuerpo: dict[str, Any]) -> tuple[int, Any]:
        nonlocal lotes
        lotes += 1
        # 400: it is not tried again, as what is busy would be.
        return vectores_de(cuerpo, lambda _t: [1.0, *[0.0] * 511]) if lotes == 1 else (400, {})

    with servidor(responder) as (direccion, _peticiones):
        for nombre, valor in (("URL", direccion), ("MODEL", "m"), ("DIMS", "512")):
            monkeypatch.setenv(f"EMBEDDINGS_{nombre}", valor)
        datos, codigo = sincronizar(tmp_path)
    assert (codigo, datos["secciones_incrustadas"]) == (3, indice.LOTE)
