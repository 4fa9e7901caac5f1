"""Who and what the sample is about. Invented people, suppliers and notices of a home and food retailer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

CLIENTES = 40
AVISOS = 150

#: ``(kind, what the customer says, value)``, dealt out in turn.
DICHOS = (
    ("recogida", "Los pedidos los recojo siempre en la tienda de Getafe", "tienda de Getafe"),
    ("contacto", "Mejor escribidme por WhatsApp, en el trabajo no puedo hablar", "WhatsApp"),
    ("idioma", "Si puede ser, me apaño mejor en catalán", "catalán"),
    ("horario", "Solo puedo recibir por las tardes, a partir de las seis", "tardes, desde las 18:00"),
    ("recogida", "Para recoger me viene bien la taquilla de Atocha", "taquilla de Atocha"),
    ("contacto", "Prefiero que me aviséis por correo", "correo electrónico"),
    ("horario", "Los sábados por la mañana me viene perfecto", "sábados por la mañana"),
    ("idioma", "English please, my Spanish is not great", "inglés"),
)
SECCIONES = ("cerámica", "ferretería", "conservas", "textil", "jardín", "iluminación")


@dataclass(frozen=True)
class ProveedorDeMuestra:
    codigo: str
    nombre: str
    producto: str
    plaza: str


PROVEEDORES = (
    ProveedorDeMuestra("P201", "Alfares del Turia", "vajilla de gres", "Manises"),
    ProveedorDeMuestra("P202", "Herrajes Otxandio", "bisagras y cerraduras", "Éibar"),
    ProveedorDeMuestra("P203", "Conservas Punta Xoán", "mejillón y bonito", "Ribeira"),
    ProveedorDeMuestra("P204", "Tejidos Guadalcanal", "toallas y sábanas", "Alcoy"),
    ProveedorDeMuestra("P205", "Viveros La Rambla", "planta de temporada", "El Ejido"),
    ProveedorDeMuestra("P206", "Luminarias Bages", "lámparas de techo", "Manresa"),
    ProveedorDeMuestra("P207", "Aceites Sierra Mora", "aceite virgen extra", "Baena"),
    ProveedorDeMuestra("P208", "Muebles Arlanza", "estanterías de pino", "Lerma"),
    ProveedorDeMuestra("P209", "Droguería Almijara", "limpieza del hogar", "Málaga"),
    ProveedorDeMuestra("P210", "Cuchillería Serrano", "cuchillos y tijeras", "Albacete"),
    ProveedorDeMuestra("P211", "Juguetes Vall d'Ibi", "juguete de madera", "Ibi"),
    ProveedorDeMuestra("P212", "Quesos de la Canal", "queso curado", "Campo de Criptana"),
)

#: ``(text, importance, subject)``; the braces are filled with the supplier's product and town.
_PLANTILLAS = (
    (
        "Cierran por vacaciones las tres primeras semanas de agosto: lo de {producto} hay que pedirlo antes "
        "del 10 de julio.",
        "alta",
        "Cierre de verano",
    ),
    (
        "La comercial nueva dice que la tarifa de {producto} sube un 4 % desde el mes que viene. "
        "Lo ya confirmado se respeta.",
        "normal",
        "Tarifa",
    ),
    (
        "El último camión desde {plaza} llegó con dos palés rotos. Fotos enviadas, aceptan abono.",
        "normal",
        "",
    ),
    (
        "El pedido mínimo pasa a 900 € netos; por debajo cobran 35 € de portes.",
        "alta",
        "Pedido mínimo",
    ),
    (
        "Dejan de fabricar una de las series de {producto} en cuanto acaben existencias. "
        "No meterla en el folleto.",
        "normal",
        "Fin de serie",
    ),
    (
        "Huelga de transporte en la zona de {plaza} la semana que viene, puede alargarse.",
        "alta",
        "Transporte",
    ),
    ("Cambian la caja de {producto}: ahora viene de 6 y no de 12. Revisar el múltiplo.", "normal", ""),
    (
        "Piden cobrar a 45 días en vez de a 60. Finanzas todavía no ha contestado.",
        "normal",
        "Condiciones de pago",
    ),
    (
        "Para Navidad proponen un estuche regalo de {producto}. Decidir cantidades este mes.",
        "normal",
        "Navidad",
    ),
    ("El almacén de {plaza} no descarga los viernes por la tarde.", "normal", ""),
    (
        "Segunda queja de tiendas por {producto}: reaprovisionamiento parado hasta que contesten.",
        "alta",
        "Calidad",
    ),
    ("Firmado el rappel: 2 % por encima de 180.000 € en el año.", "normal", "Rappel"),
    ("Recibido el certificado actualizado, vale tres años. Está en la carpeta de calidad.", "normal", ""),
)


def avisos(hoy: date) -> Iterator[tuple[ProveedorDeMuestra, dict[str, str]]]:
    """The sample notices, as the fields of the form; the newest was written ``hoy``."""
    for n in range(AVISOS):
        proveedor = PROVEEDORES[n % len(PROVEEDORES)]
        texto, importancia, asunto = _PLANTILLAS[(5 * n + n // len(PROVEEDORES)) % len(_PLANTILLAS)]
        yield (
            proveedor,
            {
                "texto": texto.format(producto=proveedor.producto, plaza=proveedor.plaza),
                "fecha": (hoy - timedelta(days=AVISOS - 1 - n)).isoformat(),
                "importancia": importancia,
                "asunto": asunto,
            },
        )
