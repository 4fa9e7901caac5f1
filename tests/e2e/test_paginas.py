"""Every page a group can reach, with something on it and with nothing: accessible, and its console empty."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

from memoria.almacen import AlmacenMemoria
from memoria.politica import documento_preferencia, espacio

PAGINAS = {
    "compras": [
        "/compras/avisos/",
        "/compras/avisos/nuevo/",
        "/compras/retirados/",
        "/compras/avisos/importar/",
        "/compras/proveedores/",
        "/compras/proveedores/nuevo/",
        "/admin/compras/proveedor/",
    ],
    "dpo": [
        "/memoria/",
        "/memoria/clientes/",
        "/memoria/ficha/clientes/C9/",
        "/memoria/ficha/proveedores/P1/",
        "/privacidad/",
        "/privacidad/solicitudes/nueva/",
        "/privacidad/cuadro/",
        "/privacidad/registro/",
        "/privacidad/derechos/clientes/C9/",
        "/privacidad/verificar/",
    ],
    "consulta": ["/memoria/", "/compras/avisos/"],
    "operaciones": ["/admin/", "/admin/memoria/ejecucion/"],
}
VENTANAS: dict[str, dict[str, Any]] = {
    "clara": {},
    "oscura": {"color_scheme": "dark"},
    "estrecha": {"viewport": {"width": 360, "height": 740}},
}


@pytest.fixture
def con_datos(almacen: AlmacenMemoria, almacen_compras: AlmacenMemoria, persona: Callable[..., Any]) -> None:
    from compras.models import Proveedor
    from privacidad import servicios

    Proveedor.objects.create(codigo="P1", nombre="Alfares del Turia")
    almacen_compras.put(
        espacio("proveedores", "P1"),
        "a1",
        {"texto": "Cierran en agosto", "fecha": "2026-11-01", "importancia": "alta"},
    )
    for sujeto in ("C9", "C10"):
        clave, documento = documento_preferencia("clientes", tipo="recogida", valor="Getafe", hilo="h1")
        almacen.put(espacio("clientes", sujeto), clave, documento)
    servicios.recibir(
        espacio="clientes",
        sujeto_id="C10",
        canal="correo",
        recibida=date(2026, 11, 2),
        por=persona("dpo", nombre="quien-recibe"),
    )


@pytest.mark.parametrize("ventana", VENTANAS)
@pytest.mark.parametrize("grupo", PAGINAS)
def test_every_page_with_data(con_datos: None, visitar: Callable[..., Any], grupo: str, ventana: str) -> None:
    visita = visitar(grupo, **VENTANAS[ventana])
    for ruta in PAGINAS[grupo]:
        pagina = visita.ir(ruta)
        ancho = pagina.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert ancho <= 0, f"{ruta} scrolls sideways"


@pytest.mark.parametrize("grupo", PAGINAS)
def test_every_page_with_nothing_to_show(visitar: Callable[..., Any], grupo: str) -> None:
    visita = visitar(grupo)
    for ruta in PAGINAS[grupo]:
        visita.ir(ruta)
