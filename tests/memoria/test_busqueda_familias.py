"""Which words are of one family: a question's word finds those, and not others that begin alike."""

from __future__ import annotations

import pytest

from memoria.almacen import AlmacenMemoria
from memoria.busqueda import Hallazgo, hallar_avisos
from memoria.politica import espacio


def _hallado(almacen: AlmacenMemoria, consulta: str, texto: str) -> list[Hallazgo]:
    """By words alone, of a supplier with one notice."""
    almacen.put(espacio("proveedores", "P9"), "a", {"texto": texto, "fecha": "2026-11-01"})
    return [h for h in hallar_avisos(almacen, "P9", consulta, limite=3) if h.marcas]


@pytest.mark.parametrize(
    ("consulta", "texto"),
    [
        ("devolución", "No admiten devoluciones."),
        ("devolver", "Devuelven el género sin abrir."),
        ("entrega", "Van a entregar por la tarde."),
        ("entregar", "La entrega es los martes."),
        ("subida", "Suben las tarifas en enero."),
        ("caducidad", "El lote caduca en marzo."),
        ("retraso", "Retrasan el camión."),
        ("facturación", "La factura llega en papel."),
        ("factura", "Cambian la facturación."),
        ("carga", "Los cargadores no encajan."),
        ("pago", "Pagamos a sesenta días."),
        ("vender", "Venderán en otro portal."),
        ("recibir", "Recibirán menos género."),
        ("montar", "El montaje corre de su cuenta."),
        ("cantidades", "La cantidad mínima es de doce."),
        ("limitaciones", "Limitan las unidades."),
        ("sobrantes", "Sobra género de la campaña."),
        ("mensajería", "El mensajero viene los lunes."),
        ("obligatorio", "Obligan a pedir el lote entero."),
        ("mayorista", "Solo atienden al por mayor."),
        ("garantía", "No garantizan el color."),
        ("pintura", "Las pinturas llegan abolladas."),
        ("aduana", "El despacho tarda una semana."),
        ("importaciones", "La importación va despacio."),
        ("precio", "Suben los precios."),
        ("regalos", "Viene con un regalo."),
    ],
)
def test_words_of_one_family_find_each_other(
    almacen_compras: AlmacenMemoria, consulta: str, texto: str
) -> None:
    assert _hallado(almacen_compras, consulta, texto)


@pytest.mark.parametrize(
    ("consulta", "texto"),
    [
        ("platos", "La plataforma de Getafe abre a las seis."),
        ("plata", "La plataforma de Getafe abre a las seis."),
        ("plato hondo", "Tienen otro plazo de cobro."),
        ("cortes", "Traen cortinas nuevas."),
        ("corte de luz", "Traen cortinas nuevas."),
        ("carta", "El cartón llega húmedo."),
        ("carta", "El cartero no encuentra la nave."),
        ("plan de entregas", "La planta de Soria sigue igual."),
        ("plantas", "La plantilla es joven."),
        ("marca propia", "Marchan a otro local."),
        ("seguro", "Todo sigue igual, seguido y sin cambios."),
        ("seguridad", "Seguimos igual."),
        ("aduana", "IMPORTANTE: es una fusión."),
        ("importación", "IMPORTANTE: es una fusión."),
        ("aranceles", "Es importante que lo sepan."),
        ("importante", "Es de importación."),
        ("temporada", "Hubo un temporal de nieve."),
        ("barcos", "El comercial es de Barcelona."),
        ("portes", "Traducen del portugués."),
        ("precios", "El precinto viene roto."),
        ("primas", "Abren en primavera."),
        ("perdidas", "Piden perdón."),
        ("espejos", "El especialista se va."),
        ("cobre", "La cobertura es buena."),
        ("subida", "La subcontrata es nueva."),
        ("regalo", "El regaliz viene blando."),
        ("cortes", "Sube el coste."),
        ("lata", "Atienden en latín."),
    ],
)
def test_words_that_begin_alike_do_not(almacen_compras: AlmacenMemoria, consulta: str, texto: str) -> None:
    assert _hallado(almacen_compras, consulta, texto) == []
