"""Documents of the sample, an invented retailer's conventions: ``(space, path, title, importance, text)``."""

from __future__ import annotations

DOCUMENTOS = (
    (
        "compras",
        "portes.md",
        "Portes y pedidos mínimos",
        "alta",
        """Lo que vale para cualquier proveedor, salvo que un aviso suyo diga otra cosa.

## Portes

Los portes van a cargo del proveedor a partir de **600 €** netos por pedido. Por debajo se agrupan los
pedidos de la semana antes de aceptar un cargo.

## Pedidos mínimos

- Si el mínimo es una caja, se redondea siempre hacia arriba.
- Si es un palé completo, se pide entre dos tiendas y se anota cuál recibe.
""",
    ),
    (
        "compras",
        "temporada/navidad.md",
        "Campaña de Navidad",
        "normal",
        """## Fechas

Los pedidos de campaña se cierran el **15 de septiembre**. Lo que entra después del 1 de diciembre no se
coloca.

## Devoluciones

Solo se devuelve lo que el proveedor aceptó por escrito antes de la campaña.
""",
    ),
    (
        "sala",
        "cambios-y-devoluciones.md",
        "Cambios y devoluciones en tienda",
        "alta",
        """## Plazo

Treinta días con el tique, también en rebajas. Sin tique se hace un vale por el último precio.

## Lo que no se cambia

- Planta y producto fresco.
- Lo cortado o mezclado a medida.
""",
    ),
    (
        "cliente",
        "recogida.md",
        "Recogida de pedidos",
        "normal",
        """## Cuánto se guarda

Un pedido espera **siete días** en el mostrador y tres en la taquilla. Después vuelve al almacén y se
devuelve el importe.
""",
    ),
)
