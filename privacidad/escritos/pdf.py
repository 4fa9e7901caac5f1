"""The documents as they are read: fixed Spanish sentences around what :mod:`privacidad.escritos.datos` gives.

They are in Spanish whatever the language of the screens, so their wording is not in the catalogues. Nothing
is read here but the data handed in: the same data gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any

from django.utils import translation

from privacidad.escritos.datos import IDIOMA, Datos, huella
from privacidad.escritos.papel import Papel
from privacidad.models import Escrito

TITULOS: Mapping[str, str] = {
    Escrito.Tipo.CERTIFICADO: "Certificado de supresión de datos personales",
    Escrito.Tipo.SIN_DATOS: "Comunicación de que no hay datos localizados",
    Escrito.Tipo.DENEGACION: "Denegación de la supresión",
    Escrito.Tipo.AMPLIACION: "Ampliación del plazo de respuesta",
}


def componer(datos: Datos) -> bytes:
    """The PDF of a document. Never raises for what a text holds: see :mod:`privacidad.escritos.papel`."""
    with translation.override(IDIOMA):
        papel = Papel(
            titulo=TITULOS[datos["tipo"]],
            numero=datos["numero"],
            responsable=datos["responsable"],
            momento=datetime.fromisoformat(datos["emitido"]),
            identidad=huella(datos),
        )
        _encabezar(papel, datos)
        _CUERPOS[datos["tipo"]](papel, datos)
        _comprobar(papel, datos)
        return papel.bytes()


def _encabezar(papel: Papel, datos: Datos) -> None:
    pares = [
        ("Número", datos["numero"]),
        ("Fecha", f"{momento(datos['emitido'])} (hora de Madrid, como todas las de este documento)"),
        ("Solicitud", f"{datos['referencia']}, recibida el {dia(datos['recibida'])} ({datos['canal']})"),
        *(
            ("Solicitud vinculada", f"{v['referencia']}, recibida el {dia(v['recibida'])}")
            for v in datos["vinculadas"]
        ),
        ("Plazo de respuesta", f"hasta el {dia(datos['vence'])}"),
    ]
    if ampliada := datos.get("ampliada"):
        escrito = f" ({ampliada['numero']})" if ampliada["numero"] else ""
        vale = "" if ampliada["vale"] else ". Dejó de valer al vincularse una solicitud recibida antes"
        pares.append(("Plazo ampliado", f"se comunicó hasta el {dia(ampliada['hasta'])}{escrito}{vale}"))
    papel.ficha(pares)


# -- certificate and "no data" ------------------------------------------------------------------------


def _certificado(papel: Papel, datos: Datos) -> None:
    papel.parrafo(
        "Se certifica que se han borrado los datos de la persona que hizo la solicitud "
        f"{datos['referencia']} (categoría: {datos['categoria']}), con el alcance y en los lugares que se "
        "detallan. Por protección de la propia persona, este documento no repite su nombre ni su "
        "identificador."
    )
    _ficha_nueva(papel, datos)
    _dos_recuentos(papel, datos)
    _recuentos(papel, datos, "Qué se ha borrado, dónde y cuándo")
    _intervinieron(papel, datos)
    _conservado(papel, datos)
    _permanece(papel, datos)


def _sin_datos(papel: Papel, datos: Datos) -> None:
    localizados = any(linea["antes"] for e in datos["evidencias"] for linea in e["lineas"])
    if localizados:
        # Held back, and then gone before anybody erased it.
        papel.parrafo(
            f"En la solicitud {datos['referencia']} (categoría: {datos['categoria']}) se localizaron datos "
            "de la persona, que se retuvieron. Ninguna ejecución de la solicitud los borró: lo que ya no "
            "está lo quitó otra causa, como se detalla."
        )
        papel.parrafo("Esto no es un certificado de supresión.", negrita=True)
    elif any(e.get("hasta") for e in datos["evidencias"]):
        papel.parrafo(
            f"De lo que se halló de nuevo de la persona de la solicitud {datos['referencia']} (categoría: "
            f"{datos['categoria']}) ya no había nada cuando se fue a borrar."
        )
        papel.parrafo("Esto no es un certificado de supresión.", negrita=True)
    else:
        papel.parrafo(
            f"Con el identificador que se dio en la solicitud {datos['referencia']} (categoría: "
            f"{datos['categoria']}) no se ha localizado ningún dato: no había nada antes y no hay nada "
            "después."
        )
        papel.parrafo(
            "Esto no es un certificado de supresión. Un identificador mal escrito daría el mismo resultado: "
            "si cree que hay datos suyos, vuelva a dirigirse a nosotros con otro identificador.",
            negrita=True,
        )
    _ficha_nueva(papel, datos)
    _dos_recuentos(papel, datos)
    _recuentos(papel, datos, "Dónde se ha buscado y cuándo")
    _intervinieron(papel, datos)
    if localizados or datos["menciones"]:
        _conservado(papel, datos)
    _reclamar(papel)


def _ficha_nueva(papel: Papel, datos: Datos) -> None:
    """Of somebody who had been erased and was there again, only what came back is erased."""
    de_lo_vuelto = [e for e in datos["evidencias"] if e.get("hasta")]
    if not de_lo_vuelto:
        return
    ultima = de_lo_vuelto[-1]
    papel.parrafo(
        f"Los datos de esta persona ya se habían borrado el {momento(ultima['hasta'])} y después se halló de "
        "nuevo algo de entonces. Este documento trata de lo que había vuelto: los recuentos son de lo "
        "anterior a ese momento y, en la memoria de los agentes y en las conversaciones, al "
        f"{momento(ultima['hasta_valla'])}. Lo que la persona ha dicho más tarde es de una ficha nueva: no "
        "se ha contado ni se ha borrado."
    )


def _dos_recuentos(papel: Papel, datos: Datos) -> None:
    """The two counts that must be zero: before the first run and after the last, and what the runs erased."""
    # By table: between two runs of a request a new version may have brought another destination.
    por_tabla: dict[str, list[Datos]] = {}
    for evidencia in datos["evidencias"]:
        for linea in evidencia["lineas"]:
            if linea["tabla"]:
                por_tabla.setdefault(linea["tabla"], []).append(linea)
    filas = [
        (
            f"{lineas[0]['que'].capitalize()} (tabla {tabla})",
            numero(lineas[0]["antes"]),
            numero(sum(linea["borrados"] for linea in lineas)),
            numero(lineas[-1]["despues"]),
        )
        for tabla, lineas in por_tabla.items()
    ]
    papel.apartado("Los dos recuentos")
    papel.tabla(("Memoria de los agentes", "Antes", "Borrado", "Después"), filas, (95, 25, 25, 25), numeros=3)


def _recuentos(papel: Papel, datos: Datos, titulo: str) -> None:
    papel.apartado(titulo)
    for evidencia in datos["evidencias"]:
        papel.parrafo(f"El {momento(evidencia['momento'])}, en la base de datos de esta aplicación:")
        papel.tabla(
            ("Dónde", "Qué", "Antes", "Borrado", "Retenido", "Después"),
            [
                (
                    f["destino"],
                    f["que"].capitalize(),
                    *(numero(f[c]) for c in ("antes", "borrados", "retenidos", "despues")),
                )
                for f in evidencia["lineas"]
            ],
            (46, 48, 18, 19, 20, 19),
            numeros=4,
        )
    for diferencia in datos["diferencias"]:
        papel.parrafo(_explicar(diferencia))
    if not datos["gestiones"]:
        return
    papel.parrafo("Fuera de esta aplicación:")
    papel.tabla(
        ("Dónde", "Cómo está", "Qué", "Antes", "Después"),
        [
            (
                gestion["destino"],
                f"{gestion['estado']} ({momento(gestion['momento'])})",
                linea["que"].capitalize(),
                numero(linea["antes"]),
                numero(linea["despues"]),
            )
            for gestion in datos["gestiones"]
            for linea in gestion["lineas"] or [{"que": "", "antes": None, "despues": None}]
        ],
        (35, 60, 35, 20, 20),
        numeros=2,
    )


def _explicar(diferencia: Datos) -> str:
    """What changed between two runs, and that none of them did it."""
    propias = diferencia.get("propias", 0)
    cuantos = diferencia["habia"] - diferencia["quedaban"] - propias
    hecho = (
        f"Entre uno y otro se quitaron {numero(-cuantos)} por otra causa: no los borró esta supresión."
        if cuantos < 0
        else f"Entre uno y otro se añadieron {numero(cuantos)}."
    )
    if propias:
        hecho = (
            f"Después del primero, esta misma supresión añadió {numero(propias)} para apartar lo retenido. "
            f"{hecho}"
        )
    return (
        f"{diferencia['destino']}, {diferencia['que']}: en el recuento final del "
        f"{momento(diferencia['tras'])} quedaban {numero(diferencia['quedaban'])} y en el inicial del "
        f"{momento(diferencia['hasta'])} había {numero(diferencia['habia'])}. {hecho}"
    )


def _intervinieron(papel: Papel, datos: Datos) -> None:
    papel.apartado("Quién ha intervenido")
    papel.ficha([(_PASOS[p["que"]], f"{p['quien']}, el {momento(p['momento'])}") for p in datos["pasos"]])
    if datos["excepcion"]:
        papel.parrafo(
            "La solicitud la aprobó la misma persona que la recibió. Motivo de la excepción: "
            f"{datos['excepcion']}"
        )


_PASOS = {
    "recibida": "La recibió",
    "aprobada": "La aprobó",
    "en_curso": "Ejecutó el borrado",
    "reaparecida": "Halló datos de nuevo",
    "denegacion": "La denegó",
    "ampliacion": "Amplió el plazo",
}


def _conservado(papel: Papel, datos: Datos) -> None:
    papel.apartado("Qué se ha conservado y por qué")
    for exclusion in datos["exclusiones"]:
        hasta = f" al {momento(exclusion['hasta'])}, y después se soltó" if exclusion["hasta"] else ""
        papel.parrafo(
            f"Un dato de «{exclusion['destino']}» se retuvo por «{exclusion['motivo']}», "
            f"del {momento(exclusion['desde'])}{hasta}."
        )
    if not datos["exclusiones"]:
        papel.parrafo("No se retuvo ningún dato de la persona.")
    _menciones(papel, datos)
    _copia(papel, datos["copia"])


def _menciones(papel: Papel, datos: Datos) -> None:
    """What was decided about other people's rows, and what the counts say was erased of them."""
    for mencion in datos["menciones"]:
        hecho = "borrar" if mencion["decision"] == "borrar" else "conservar"
        motivo = f" Motivo: {mencion['motivo']}" if mencion["motivo"] else ""
        papel.parrafo(
            f"Textos de otras fichas que mencionaban a la persona ({mencion['identificadores']}), que se "
            f"decidió {hecho}: {numero(mencion['cuantas'])}.{motivo}"
        )
    borradas = datos["menciones_borradas"]
    decididas = sum(m["cuantas"] for m in datos["menciones"] if m["decision"] == "borrar")
    if borradas:
        papel.parrafo(
            f"De los textos que se decidió borrar se borraron, según los recuentos: {_filas(borradas)}."
        )
    elif decididas:
        papel.parrafo("De los textos que se decidió borrar no se borró ninguno, según los recuentos.")
    # The history of a document goes with it, so of those counts it cannot be told how many were decided on.
    if decididas and (len(borradas) > 1 or sum(f["cuantas"] for f in borradas) < decididas):
        antes = (
            ", o lo borró antes una ejecución que cuenta un documento anterior" if datos["anteriores"] else ""
        )
        papel.parrafo(
            "Lo que se decidió borrar y no está en esos recuentos no se halló al ejecutar la supresión: ya "
            f"no estaba en su sitio, ya no mencionaba a la persona o estaba retenido{antes}."
        )


def _filas(filas: list[Datos]) -> str:
    return "; ".join(f"{f['destino']}, {f['que']}: {numero(f['cuantas'])}" for f in filas)


def _copia(papel: Papel, copia: Datos) -> None:
    if copia["hasta"]:
        de_otros = (
            f", incluidos los textos de otras fichas que la mencionaban ({_filas(copia['de_otros'])})"
            if copia["de_otros"]
            else ""
        )
        papel.parrafo(
            "Se guarda una copia bloqueada y cifrada, a disposición solo de jueces, fiscales y "
            f"administraciones competentes. Se destruye el {dia(copia['hasta'])} (artículo 32 de la Ley "
            f"Orgánica 3/2018). Filas que contiene: {numero(copia['filas'])}. Son los datos, las "
            f"conversaciones y las anotaciones que se borraron en esta aplicación{de_otros}. No "
            "contiene los vectores, que se calculan de esos textos, las sesiones, los expedientes de acceso, "
            "las direcciones anotadas en otras solicitudes ni lo que se borró fuera de esta aplicación."
        )
    if copia["destruida"]:
        papel.parrafo(
            f"La copia bloqueada que se guardó se destruyó el {momento(copia['destruida'])}. Ya no se guarda."
        )
    if copia["motivo"]:
        alcance = " de lo último que se ha borrado" if copia["hasta"] or copia["destruida"] else ""
        papel.parrafo(f"No se guarda copia bloqueada{alcance}. Motivo: {copia['motivo']}")
    elif not copia["hasta"] and not copia["destruida"]:
        papel.parrafo("No se guarda copia bloqueada. No consta el motivo.")


def _permanece(papel: Papel, datos: Datos) -> None:
    permanece = datos["permanece"]
    papel.apartado("Qué queda físicamente y hasta cuándo")
    if permanece["hasta"]:
        papel.parrafo(
            "Las copias de seguridad y el registro de cambios (WAL) archivado de la base de datos pueden "
            f"contener lo borrado hasta el {dia(permanece['hasta'])}: se conservan {permanece['dias']} días."
        )
    else:
        papel.parrafo(
            "Las copias de seguridad y el registro de cambios (WAL) archivado de la base de datos pueden "
            "contener lo borrado. En esta instalación no consta cuánto se conservan."
        )
    papel.parrafo(
        "Las filas borradas ya no salen en ninguna lectura de la aplicación ni de los agentes. En el disco "
        "de la base de datos quedan restos de ellas, que quien administra el servidor podría leer, hasta que "
        "el mantenimiento de PostgreSQL (VACUUM) libera ese espacio y se reutiliza. No tiene una fecha fija."
    )


# -- refusal and extension ------------------------------------------------------------------------------


def _denegacion(papel: Papel, datos: Datos) -> None:
    papel.parrafo(
        f"Se deniega la solicitud de supresión {datos['referencia']}. No se ha borrado ningún dato."
    )
    papel.apartado("Motivo")
    papel.parrafo(datos["motivo"])
    _actuo(papel, datos)
    _reclamar(papel)


def _ampliacion(papel: Papel, datos: Datos) -> None:
    papel.parrafo(
        f"El plazo para responder a la solicitud {datos['referencia']} vencía el {dia(datos['vencia'])} y se "
        f"amplía hasta el {dia(datos['vence'])} (artículo 12.3 del Reglamento general de protección de "
        "datos)."
    )
    papel.apartado("Motivo")
    papel.parrafo(datos["motivo"])
    _actuo(papel, datos)
    _reclamar(papel)


def _actuo(papel: Papel, datos: Datos) -> None:
    papel.ficha([(_PASOS[p["que"]], f"{p['quien']}, el {momento(p['momento'])}") for p in datos["pasos"]])


def _reclamar(papel: Papel) -> None:
    papel.apartado("Si no está de acuerdo")
    papel.parrafo(
        "Puede presentar una reclamación ante la Agencia Española de Protección de Datos (www.aepd.es) y "
        "acudir a los tribunales."
    )


# -- how to check it ------------------------------------------------------------------------------------


def _comprobar(papel: Papel, datos: Datos) -> None:
    papel.apartado("Cómo comprobar este documento")
    papel.parrafo(
        f"En {datos['comprobar']}, con el número {datos['numero']} y esta huella (SHA-256) de su evidencia:"
    )
    papel.fijo(huella(datos))
    papel.parrafo(
        "La evidencia es un fichero JSON con todo lo que dice este documento"
        + (", las órdenes SQL que contaron y borraron y sus recuentos" if "evidencias" in datos else "")
        + ". Puede pedirlo: la huella SHA-256 de ese fichero debe ser la de arriba."
    )
    papel.parrafo("Resumen con clave (HMAC) que representa a la persona en el registro:")
    papel.fijo(datos["resumen"])
    pares = []
    for evidencia in datos.get("evidencias", ()):
        pares += [
            ("Rol que contó y borró", f"{evidencia['rol']} (sesión: {evidencia['sesion']})"),
            ("Posición del WAL", evidencia["posicion_wal"]),
            ("Vectores sin documento", _en_toda_la_tabla(evidencia["vectores_huerfanos"])),
        ]
    if datos.get("anteriores"):
        pares.append(("Documentos anteriores", ", ".join(datos["anteriores"])))
    if pares:
        papel.ficha(pares)


def _en_toda_la_tabla(vectores: int | None) -> str:
    return "no consta" if vectores is None else f"{numero(vectores)} en toda la tabla"


_CUERPOS: Mapping[str, Callable[[Papel, Datos], None]] = {
    Escrito.Tipo.CERTIFICADO: _certificado,
    Escrito.Tipo.SIN_DATOS: _sin_datos,
    Escrito.Tipo.DENEGACION: _denegacion,
    Escrito.Tipo.AMPLIACION: _ampliacion,
}


# -- values as they are read ------------------------------------------------------------------------------


def dia(iso: str) -> str:
    """``"2026-01-30"`` → ``"30/01/2026"``."""
    return date.fromisoformat(iso).strftime("%d/%m/%Y")


def momento(iso: str) -> str:
    """``"2026-01-30T10:20:30+01:00"`` → ``"30/01/2026 10:20:30"``, in the time it is given in (Madrid's)."""
    return datetime.fromisoformat(iso).strftime("%d/%m/%Y %H:%M:%S")


def numero(valor: Any) -> str:
    """``250000`` → ``"250.000"``; what is not known is a dash, never a zero."""
    return "–" if valor is None else f"{valor:,}".replace(",", ".")
