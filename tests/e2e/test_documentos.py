"""Documents in a browser: accessible with everything on them, the preview, a draft, two people at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memoria.documentos import servicios
from memoria.documentos.models import Pagina
from tests.e2e.conftest import CLAVE

TEXTO = """# Portes

Los portes son **gratis** desde 300 euros. Vea [los plazos](plazos.md) o <https://ejemplo.es>.

## Zonas

| Zona | Días |
|---|---|
| Península | 2 |

- uno
- dos

> Lo acordado en marzo.

```
una línea de código muy larga que no debe ensanchar la página aunque no quepa en la ventana del teléfono
```

![El muelle](https://malo.example/p.png) <script>document.title = "malo"</script>
"""
VENTANAS: dict[str, dict[str, Any]] = {
    "clara": {},
    "oscura": {"color_scheme": "dark"},
    "estrecha": {"viewport": {"width": 360, "height": 740}},
}


@pytest.fixture
def portes(persona: Callable[..., Any]) -> Pagina:
    autora = persona("compras", nombre="quien-escribe")
    uno: dict[str, Any] = {"espacio": "compras", "importancia": "alta", "por": autora}
    pagina = servicios.crear(ruta="acuerdos/portes.md", titulo="Portes", texto=TEXTO, **uno)
    servicios.crear(ruta="acuerdos/plazos.md", titulo="Plazos", texto="Dos días.", **uno)
    borrada = servicios.crear(ruta="vieja.md", titulo="Vieja", texto="No vale.", **uno)
    servicios.borrar(espacio="compras", pagina_id=borrada.pk, version=1, motivo="No vale", por=autora)
    return servicios.cambiar(
        pagina_id=pagina.pk, version=1, titulo="Portes", texto=TEXTO.replace("300", "350"), **uno
    )


@pytest.mark.parametrize("ventana", VENTANAS)
def test_every_page(portes: Pagina, visitar: Callable[..., Any], ventana: str) -> None:
    visita = visitar("compras", **VENTANAS[ventana])
    base = "/memoria/documentos/compras/"
    for ruta in (
        base,
        f"{base}?borrados",
        "/memoria/documentos/cliente/",
        f"{base}nuevo/",
        f"{base}{portes.pk}/",
        f"{base}{portes.pk}/editar/",
        f"{base}{portes.pk}/borrar/",
        f"{base}{portes.pk}/historia/",
        f"{base}{portes.pk}/historia/2/",
    ):
        pagina = visita.ir(ruta)
        ancho = pagina.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert ancho <= 0, f"{ruta} scrolls sideways"
        assert pagina.title() != "malo"


def test_the_preview_and_the_draft(portes: Pagina, visitar: Callable[..., Any]) -> None:
    visita = visitar("compras")
    ruta = f"/memoria/documentos/compras/{portes.pk}/editar/"
    pagina = visita.ir(ruta)
    pagina.fill("#id_texto", "## Nuevo\n\n**gratis** para todos")
    pagina.click("text=Ver cómo queda")
    pagina.wait_for_selector("#vista-previa .documento")
    assert pagina.inner_text("#vista-previa h2") == "Nuevo"
    # The session ends in the middle of it: after coming back, what was being typed is there.
    pagina.context.clear_cookies(name="sessionid")
    pagina.click("text=Guardar el cambio")
    pagina.fill("#id_username", "compras")
    pagina.fill("#id_password", CLAVE)
    pagina.click("#login-form [type=submit]")
    pagina.wait_for_url(f"**{ruta}")
    assert "para todos" in pagina.input_value("#id_texto")
    assert pagina.is_visible("text=Se ha recuperado lo que estaba escribiendo")
    visita.pulsar("Guardar el cambio")
    assert pagina.inner_text(".documento h2") == "Nuevo"
    pagina.goto(pagina.url + "editar/")
    assert not pagina.is_visible("text=Se ha recuperado lo que estaba escribiendo")
