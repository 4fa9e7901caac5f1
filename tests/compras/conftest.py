from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.utils import timezone

from tests.compras.importar_comun import CABECERA


@pytest.fixture(scope="session", autouse=True)
def _cerrar_almacen(base: str) -> Iterator[None]:
    """The store of purchasing is opened by whoever needs it first; it is closed before the server stops."""
    yield
    from compras.almacen import cerrar

    cerrar()


@pytest.fixture
def proveedor(bd: str) -> Any:
    from compras.models import Proveedor

    return Proveedor.objects.create(codigo="P1", nombre="Cerámicas del Norte")


@pytest.fixture
def otro_proveedor(bd: str) -> Any:
    from compras.models import Proveedor

    return Proveedor.objects.create(codigo="P10", nombre="Textiles del Sur")


@pytest.fixture
def compradora(persona: Callable[..., Any]) -> Any:
    usuaria = persona("compras", nombre="lola")
    usuaria.first_name, usuaria.last_name = "Lola", "Prieto"
    usuaria.save()
    return usuaria


@pytest.fixture
def escribir(proveedor: Any, compradora: Any) -> Callable[..., str]:
    """``escribir("Cierran en agosto")``: a notice of P1, written by Lola today; its key."""
    from compras import servicios

    def hacerlo(texto: str = "Cierran en agosto", **campos: Any) -> str:
        return servicios.escribir(
            **{
                "proveedor": proveedor,
                "texto": texto,
                "fecha": timezone.localdate(),
                "por": compradora,
                **campos,
            }
        )

    return hacerlo


@pytest.fixture
def retirar(proveedor: Any, compradora: Any) -> Callable[..., Any]:
    """``retirar(clave)``: withdrawn by Lola; what is kept of it."""

    from compras import servicios
    from compras.models import Retirada

    def hacerlo(clave: str, **campos: Any) -> Retirada:
        servicios.retirar(
            **{"proveedor": proveedor, "clave": clave, "motivo": "error", "por": compradora, **campos}
        )
        return Retirada.objects.latest("pk")

    return hacerlo


@pytest.fixture
def fila(propietario: psycopg.Connection) -> Callable[..., dict[str, Any] | None]:
    """``fila("P1", clave)``: the row of the store as its owner sees it, or None."""

    def leer(proveedor_id: str, clave: str) -> dict[str, Any] | None:
        cursor = propietario.execute(
            "SELECT value, created_at, updated_at, expires_at, ttl_minutes FROM langgraph.store"
            " WHERE prefix = %s AND key = %s",
            [f"proveedores.{proveedor_id}", clave],
        )
        hallada = cursor.fetchone()
        return (
            dict(zip([c.name for c in cursor.description or ()], hallada, strict=True)) if hallada else None
        )

    return leer


@pytest.fixture
def mover(propietario: psycopg.Connection) -> Callable[..., None]:
    """``mover(clave, "-1 hour")``: the notice expires that long from now."""

    def hacerlo(clave: str, dentro_de: str, *, columna: str = "expires_at") -> None:
        propietario.execute(
            f"UPDATE langgraph.store SET {columna} = now() + %s::interval WHERE key = %s", [dentro_de, clave]
        )

    return hacerlo


@pytest.fixture
def cuantos(propietario: psycopg.Connection) -> Callable[[], int]:
    """How many documents the store holds."""

    def contar() -> int:
        fila = propietario.execute("SELECT count(*) FROM langgraph.store").fetchone()
        assert fila
        return int(fila[0])

    return contar


@pytest.fixture
def fichero(tmp_path: Path) -> Callable[..., Path]:
    """``fichero([UNO, …])``: a CSV of these lines under the usual header."""

    def escribir(
        filas: list[list[str]],
        *,
        cabecera: list[str] = CABECERA,
        codificacion: str = "utf-8",
        separador: str = ",",
        fin: str = "\r\n",
    ) -> Path:
        texto = io.StringIO()
        escritor = csv.writer(texto, delimiter=separador, lineterminator=fin)
        escritor.writerows([cabecera, *filas])
        ruta = tmp_path / "avisos.csv"
        ruta.write_bytes(texto.getvalue().encode(codificacion))
        return ruta

    return escribir
