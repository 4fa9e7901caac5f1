"""The access file of a person on paper: the first items of each kind, and where the rest is.

In Spanish, whatever the language of who asks: it is for the person.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.utils import timezone, translation

from memoria.explorador.palabras import nombre_de_espacio, nombre_de_tipo
from privacidad import mensajes
from privacidad.destinos import destino
from privacidad.escritos.papel import Papel
from privacidad.escritos.pdf import dia
from privacidad.estados import Estado
from privacidad.informacion import informar
from privacidad.plazos import MADRID
from privacidad.resumenes import resumen

#: How many items of each kind are shown, and how many messages of each conversation.
EN_PDF = 200
MENSAJES_EN_PDF = 40
LARGO_EN_PDF = 1_500
#: Sections of which the PDF only says that they are in the JSON.
SOLO_EN_JSON = ("pasos_bloqueados",)

Elemento = dict[str, Any]


def escribir(
    *,
    espacio: str,
    sujeto_id: str,
    referencia: str,
    momento: datetime,
    vistos: Mapping[str, list[Elemento]],
    cuantos: Mapping[str, int],
    no_incluye: Sequence[str],
) -> bytes:
    """The PDF. ``vistos`` are the first items of each section, in its order; ``cuantos``, how many it has."""
    with translation.override("es"):
        papel = Papel(
            titulo="Datos que constan de una persona",
            numero=referencia,
            responsable=settings.RESPONSABLE,
            momento=momento,
            identidad=resumen(referencia),
        )
        papel.ficha(
            [
                ("De quién", f"{nombre_de_espacio(espacio)}, identificador «{sujeto_id}»"),
                ("Producido", _fecha(momento.isoformat())),
            ]
        )
        papel.apartado("Sobre estos datos (artículo 15.1 del RGPD)")
        papel.ficha([(i.titulo, "\n".join(i.frases)) for i in informar(espacio)])
        for seccion, elementos in vistos.items():
            _seccion(papel, seccion, elementos, cuantos[seccion])
        papel.apartado("Lo que no está en este expediente")
        for frase in no_incluye:
            papel.parrafo(frase)
        return papel.bytes()


def _seccion(papel: Papel, seccion: str, elementos: list[Elemento], cuantos: int) -> None:
    if seccion in SOLO_EN_JSON:
        if cuantos:
            papel.parrafo(f"{_TITULOS[seccion]} ({cuantos}): {_EN_EL_JSON[seccion]}")
        return
    papel.apartado(f"{_TITULOS[seccion]} ({cuantos})")
    if not elementos:
        papel.parrafo("No hay.")
    copia = ""
    for elemento in elementos:
        # Of what comes from a sealed copy, whose it is and until when: once for all that is in it.
        if "se_destruye" in elemento and copia != (copia := _copia(elemento)):
            papel.parrafo(copia, negrita=True)
        _ESCRIBIR[seccion](papel, elemento)
    if cuantos > len(elementos):
        papel.parrafo(
            f"Aquí se muestran {len(elementos)} de {cuantos}: todos están en el documento JSON adjunto.",
            negrita=True,
        )


def _escribir_documento(papel: Papel, d: Elemento) -> None:
    contenido = d["contenido"] if isinstance(d["contenido"], dict) else {"texto": str(d["contenido"])}
    pares = [
        ("Dato", nombre_de_tipo(str(contenido.get("tipo") or d["clave"]))),
        *((_CAMPOS.get(k, k), _corto(v)) for k, v in contenido.items() if k != "tipo"),
        ("Escrito", _fecha(d["escrito"])),
        ("Actualizado", _fecha(d["actualizado"])),
        ("Caduca", _fecha(d["caduca"], sin="no caduca")),
    ]
    if d["limitado"]:
        pares.append(("Limitado", "sí: ningún agente lo lee"))
    papel.ficha(pares)


def _escribir_conversacion(papel: Papel, c: Elemento) -> None:
    papel.parrafo(
        f"Conversación {c['hilo']}, del {_fecha(c['creado'])} al {_fecha(c['visto'])}.", negrita=True
    )
    if not c["mensajes"]:
        papel.parrafo("No guarda ningún mensaje.")
    for mensaje in c["mensajes"][:MENSAJES_EN_PDF]:
        for linea in mensajes.lineas(mensaje):
            papel.parrafo(_corto(linea))
    if len(c["mensajes"]) > MENSAJES_EN_PDF:
        papel.parrafo(f"Tiene {len(c['mensajes'])} mensajes: todos están en el documento JSON.")
    # Such as the summary of what was said before.
    for nombre, valor in c["estado"].items():
        papel.parrafo(f"Se guarda además, «{nombre}»: {_corto(valor)}")


def _escribir_retirado(papel: Papel, r: Elemento) -> None:
    _escribir_documento(papel, {**r, "limitado": False})
    motivo = "; ".join(filter(None, (r["motivo"], r["explicacion"], r["incidencia"])))
    papel.ficha([("Retirado", _fecha(r["retirado"])), ("Motivo", _corto(motivo))])


def _escribir_mencion(papel: Papel, m: Elemento) -> None:
    papel.ficha(
        [
            ("Dónde", m["donde"]),
            ("Dice", _corto("\n".join(m["pasajes"]))),
            ("De la solicitud", m["solicitud"]),
        ]
    )


def _escribir_limitacion(papel: Papel, r: Elemento, *, en_vigor: str = "no: está en vigor") -> None:
    papel.ficha(
        [
            ("Sobre", r["clave"] or "toda la ficha"),
            ("Motivo", _corto(r["motivo"])),
            ("Desde", _fecha(r["desde"])),
            ("Levantada", _fecha(r["levantada"]) if r["levantada"] else en_vigor),
        ]
    )


def _escribir_solicitud(papel: Papel, s: Elemento) -> None:
    papel.ficha(
        [
            ("Referencia", s["referencia"]),
            ("Recibida", dia(s["recibida"])),
            ("Estado", str(Estado(s["estado"]).label)),
            ("Cerrada", _fecha(s["cerrada"]) if s["cerrada"] else "no"),
            *((k, _corto(v)) for k, v in s["identificadores"].items()),
        ]
    )


def _escribir_cuenta(papel: Papel, c: Elemento) -> None:
    papel.ficha(
        [
            ("Usuario", c["usuario"]),
            ("Nombre", c["nombre"] or "no consta"),
            ("Correo", c["correo"] or "no consta"),
            ("Alta", _fecha(c["alta"])),
            ("Última entrada", _fecha(c["ultima_entrada"], sin="ninguna")),
            ("Activa", "sí" if c["activa"] else "no"),
            ("Grupos", ", ".join(c["grupos"]) or "ninguno"),
        ]
    )


def _escribir_acceso(papel: Papel, a: Elemento) -> None:
    """One line: there may be many of them."""
    if "momento" not in a:
        papel.parrafo(f"{a['que'].capitalize()}, que caduca el {_fecha(a['caduca'])}.")
        return
    partes = [
        f"{_fecha(a['momento'])}: {a['que']}",
        f"{a['cuantos']} hasta entonces" if a["cuantos"] else "",
        "y se bloqueó la entrada" if a["bloqueado"] else "",
        f"desde {a['direccion'] or 'una dirección que no consta'}",
        f"con {a['programa']}" if a["programa"] not in _SIN_PROGRAMA else "",
        f"salida el {_fecha(a['salida'])}" if a["salida"] else "",
    ]
    papel.parrafo(f"{', '.join(filter(None, partes))}.")


def _copia(bloqueado: Elemento) -> str:
    return f"De la supresión {bloqueado['solicitud']}; se destruye el {dia(bloqueado['se_destruye'])}."


def _escribir_bloqueado(papel: Papel, b: Elemento) -> None:
    """A sealed row as what it was: the columns of its table, under the names of its kind."""
    fila = b["fila"]
    match b["tabla"]:
        case "store":
            _escribir_documento(
                papel,
                {
                    "clave": fila["key"],
                    "contenido": fila["value"],
                    "escrito": fila.get("created_at"),
                    "actualizado": fila.get("updated_at"),
                    "caduca": fila.get("expires_at"),
                    "limitado": fila.get("limitado"),
                },
            )
        case "privacidad_restriccion":
            _escribir_limitacion(papel, {**fila, "desde": fila["creada"]}, en_vigor="cuando se suprimió")
        case "compras_retirada":
            renombradas = {nombre: fila.get(columna) for nombre, columna in _RETIRADA.items()}
            _escribir_retirado(papel, {**fila, **renombradas})
        case tabla:
            papel.ficha(
                [
                    ("Dato", _TABLAS.get(tabla, str(tabla))),
                    *((nombre, _valor(fila[c])) for c, nombre in _COLUMNAS.items() if fila.get(c)),
                ]
            )


def _valor(valor: Any) -> str:
    """A column as it is read: of a moment, the day and the hour."""
    if isinstance(valor, str):
        try:
            return _fecha(valor) if "T" in valor else _corto(valor)
        except ValueError:
            return _corto(valor)
    return _corto(valor)


#: What axes keeps of a request that does not say what it comes from.
_SIN_PROGRAMA = ("", "<unknown>")
#: The columns of a withdrawn notice, by the names that the file gives them.
_RETIRADA = {
    "contenido": "documento",
    "actualizado": "version",
    "retirado": "momento",
}
#: What a sealed row is, by its table.
_TABLAS = {
    "django_admin_log": "Anotación de administración",
    "axes_accessattempt": "Intentos de entrar fallidos",
    "axes_accesslog": "Entrada",
    "axes_accessfailurelog": "Intento de entrar fallido",
    "compras_proveedor": "Nombre del proveedor",
}
#: The columns of those tables that say something of the person.
_COLUMNAS = {
    "codigo": "Código",
    "nombre": "Nombre",
    "object_repr": "Sobre",
    "change_message": "Dice",
    "ip_address": "Desde la dirección",
    "user_agent": "Con el programa",
    "failures_since_start": "Cuántos",
    "action_time": "Cuándo",
    "attempt_time": "Cuándo",
    "logout_time": "Salió",
}


def _escribir_recuento(papel: Papel, r: Elemento) -> None:
    d = destino(r["donde"])
    if r["cuantos"] is None:
        papel.parrafo(f"{d.etiqueta}: no se ha podido consultar.")
        return
    hay = ", ".join(f"{n} {d.etiquetas[que] % n}" for que, n in r["cuantos"].items() if n)
    papel.parrafo(f"{d.etiqueta}: {hay or 'nada'}.")


_TITULOS = {
    "documentos": "Lo que se recuerda",
    "conversaciones": "Conversaciones",
    "avisos_retirados": "Avisos retirados, que aún se guardan",
    "menciones": "Lo que dicen de ella los textos de la casa",
    "limitaciones": "Limitaciones del tratamiento",
    "solicitudes": "Solicitudes de supresión",
    "cuenta": "Cuenta con la que entra en esta aplicación",
    "accesos": "Accesos a esta aplicación",
    "datos_bloqueados": "Datos bloqueados tras una supresión",
    "conversaciones_bloqueadas": "Conversaciones bloqueadas tras una supresión",
    "pasos_bloqueados": "Pasos de esas conversaciones",
    "recuentos": "Cuánto hay en cada sitio",
}
_EN_EL_JSON = {
    "pasos_bloqueados": "lo que se dijo en cada uno está en el documento JSON.",
}
_CAMPOS = {
    "texto": "Texto",
    "valor": "Valor",
    "origen": "Lo dijo",
    "hilo": "En la conversación",
    "fecha": "Fecha",
    "importancia": "Importancia",
    "asunto": "Asunto",
    "valido_hasta": "Válido hasta",
    "autor": "Autor",
}
_ESCRIBIR: Mapping[str, Callable[[Papel, Any], None]] = {
    "documentos": _escribir_documento,
    "conversaciones": _escribir_conversacion,
    "avisos_retirados": _escribir_retirado,
    "menciones": _escribir_mencion,
    "limitaciones": _escribir_limitacion,
    "solicitudes": _escribir_solicitud,
    "cuenta": _escribir_cuenta,
    "accesos": _escribir_acceso,
    "datos_bloqueados": _escribir_bloqueado,
    "conversaciones_bloqueadas": _escribir_conversacion,
    "recuentos": _escribir_recuento,
}


def _corto(valor: Any) -> str:
    texto = valor if isinstance(valor, str) else json.dumps(valor, ensure_ascii=False)
    return texto if len(texto) <= LARGO_EN_PDF else f"{texto[:LARGO_EN_PDF]}… (sigue en el documento JSON)"


def _fecha(iso: str | None, *, sin: str = "no consta") -> str:
    if not iso:
        return sin
    return timezone.localtime(datetime.fromisoformat(iso), MADRID).strftime("%d/%m/%Y %H:%M")
