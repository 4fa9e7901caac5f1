"""What each document says, as plain JSON, read from the request and its evidence. No layout and no wording.

This is all a document may say: :mod:`privacidad.escritos.pdf` is handed this and nothing else. It holds the
evidence whole, statements included, so its digest, printed on the document, is the digest of what proves it.
It holds no id and no name of the person, and no key of a row: those may name somebody.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from django.conf import settings
from django.db.models import Max
from django.urls import reverse
from django.utils import timezone, translation

from memoria.explorador.palabras import nombre_de_espacio
from privacidad import copias, plazos, registro
from privacidad.destinos import DESTINOS
from privacidad.estados import Estado
from privacidad.fuentes import FUENTES
from privacidad.models import (
    AMPLIADA,
    Asiento,
    Copia,
    Escrito,
    Evidencia,
    Exclusion,
    Gestion,
    Mencion,
    Paso,
    Solicitud,
)
from privacidad.palabras import nombres_de_datos

Datos = dict[str, Any]

#: Documents are in Spanish, whatever language the officer reads the screens in.
IDIOMA = "es"


def reunir(
    solicitud: Solicitud,
    tipo: Escrito.Tipo,
    *,
    numero: str,
    emitido: datetime,
    evidencias: Sequence[Evidencia] = (),
) -> Datos:
    """Everything the document says. JSON only: dates are ISO 8601, moments in Madrid's time."""
    with translation.override(IDIOMA):
        datos = _comunes(solicitud, tipo, numero, emitido)
        if tipo == Escrito.Tipo.AMPLIACION:
            return {**datos, **_ampliacion(solicitud)}
        datos["ampliada"] = _ampliada(solicitud)
        if tipo == Escrito.Tipo.DENEGACION:
            return {**datos, **_denegacion(solicitud)}
        return {**datos, **_resultado(solicitud, evidencias)}


def canonico(datos: Datos) -> bytes:
    """The canonical JSON, as the register writes it, in UTF-8."""
    return registro.canonico(datos).encode()


def huella(datos: Datos) -> str:
    """SHA-256, in hexadecimal, of the canonical JSON: what is printed on the document."""
    return hashlib.sha256(canonico(datos)).hexdigest()


def pendientes_de_escrito(solicitud: Solicitud) -> list[Evidencia]:
    """The evidence that no document of this request covers yet, the oldest first."""
    ultima = solicitud.escritos.aggregate(ultima=Max("evidencia"))["ultima"] or 0
    return list(solicitud.evidencias.filter(pk__gt=ultima).order_by("pk"))


def _comunes(solicitud: Solicitud, tipo: Escrito.Tipo, numero: str, emitido: datetime) -> Datos:
    return {
        "tipo": tipo.value,
        "numero": numero,
        "emitido": _momento(emitido),
        "responsable": settings.RESPONSABLE,
        "referencia": solicitud.referencia,
        "categoria": nombre_de_espacio(solicitud.espacio),
        "resumen": solicitud.resumen,
        "recibida": solicitud.recibida.isoformat(),
        "canal": str(solicitud.get_canal_display()),
        "vence": solicitud.vence.isoformat(),
        "vinculadas": [
            {"referencia": v.referencia, "recibida": v.recibida.isoformat()}
            for v in solicitud.vinculadas.order_by("pk")
        ],
        "comprobar": settings.SITE_URL + reverse("privacidad:verificar"),
    }


def _ampliada(solicitud: Solicitud) -> Datos | None:
    """Until when the person was told that the deadline was extended, and whether that still holds."""
    escrito = solicitud.escritos.filter(tipo=Escrito.Tipo.AMPLIACION).first()
    if escrito is None:  # extended, and its document was lost with a restore
        hasta = solicitud.ampliada.isoformat() if solicitud.ampliada else None
        return {"numero": "", "hasta": hasta, "vale": True} if hasta else None
    vence = escrito.datos["vence"]
    return {"numero": escrito.numero, "hasta": vence, "vale": vence == solicitud.vence.isoformat()}


def _denegacion(solicitud: Solicitud) -> Datos:
    paso = solicitud.pasos.filter(estado=Estado.DENEGADA).latest("pk")
    return {"motivo": paso.texto, "pasos": [_paso("denegacion", paso)]}


def _ampliacion(solicitud: Solicitud) -> Datos:
    paso = solicitud.pasos.filter(estado=AMPLIADA).latest("pk")
    return {
        "motivo": paso.texto,
        "vencia": plazos.vencimiento(solicitud.primera_recepcion()).isoformat(),
        "pasos": [_paso("ampliacion", paso)],
    }


def _resultado(solicitud: Solicitud, evidencias: Sequence[Evidencia]) -> Datos:
    return {
        "pasos": [_paso(p.estado, p) for p in solicitud.pasos.select_related("por") if p.estado in _PASOS],
        "excepcion": solicitud.excepcion_motivo,
        "evidencias": [_evidencia(e) for e in evidencias],
        "diferencias": list(_diferencias(solicitud, evidencias)),
        "gestiones": [_gestion(g) for g in solicitud.gestiones.order_by("pk")],
        "exclusiones": [_exclusion(x) for x in solicitud.exclusiones.order_by("pk")],
        "menciones": _menciones(solicitud),
        "menciones_borradas": _filas_decididas(evidencias),
        "copia": _copia(solicitud),
        "permanece": _permanece(evidencias),
        "anteriores": [e.numero for e in solicitud.escritos.ligeros().exclude(evidencia=None).order_by("pk")],
    }


#: The steps a certificate tells: who received, who approved, who ran it, and what came after.
_PASOS = frozenset({Estado.RECIBIDA, Estado.APROBADA, Estado.EN_CURSO, Estado.REAPARECIDA})


def _paso(que: str, paso: Paso) -> Datos:
    return {"que": str(que), "quien": _quien(paso), "momento": _momento(paso.momento)}


def _quien(paso: Paso) -> str:
    """The role; the name only where the installation says so."""
    if paso.rehecho:
        return "no consta quién, tras restaurar una copia de seguridad"
    por = paso.por
    if por is None:
        return "tarea programada"
    grupos = set(por.groups.values_list("name", flat=True))
    papel = next((nombre for grupo, nombre in _PAPELES.items() if grupo in grupos), "persona autorizada")
    if settings.ESCRITOS_CON_NOMBRE:
        return f"{por.get_full_name() or por.get_username()} ({papel})"
    return papel


_PAPELES = {
    "dpo": "delegación de protección de datos",
    "operaciones": "operaciones",
}


def _evidencia(evidencia: Evidencia) -> Datos:
    return {
        "resultado": evidencia.resultado,
        "momento": _momento(evidencia.momento),
        "rol": evidencia.rol,
        "sesion": evidencia.sesion,
        "posicion_wal": evidencia.posicion_wal,
        "vectores_huerfanos": evidencia.huerfanos,
        "destinos": evidencia.destinos,
        "lineas": list(_lineas(evidencia.destinos)),
        **_hasta(evidencia),
    }


def _hasta(evidencia: Evidencia) -> Datos:
    """Of a run that erased what was back of somebody: until when, and until when where the fence kept them
    out."""
    if evidencia.hasta is None:
        return {}
    vallada = datetime.fromisoformat(evidencia.destinos["memoria"]["hasta"])
    return {"hasta": _momento(evidencia.hasta), "hasta_valla": _momento(vallada)}


def _lineas(destinos: dict[str, Any]) -> Iterable[Datos]:
    """The counts in the order of the registry, with their names as people read them today.

    What a run did not erase of what there was is what was held back: it does nothing else (see
    :func:`privacidad.supresion.suprimir`).
    """
    for nombre, clave in _en_orden(destinos):
        recuentos = destinos[nombre]
        yield {
            **_nombres(nombre, clave),
            "tabla": _TABLAS.get((nombre, clave), ""),
            "antes": recuentos["antes"][clave],
            "borrados": recuentos["borrados"][clave],
            "retenidos": recuentos["antes"][clave] - recuentos["borrados"][clave],
            "despues": recuentos["despues"][clave],
        }


def _diferencias(solicitud: Solicitud, evidencias: Sequence[Evidencia]) -> Iterable[Datos]:
    """Where what a run found is not what the one before it left: something else took it, or added to it.

    The restrictions that a run itself put, after its last count, on what is held back are told as its own,
    and where they are all the difference there is nothing to tell.
    """
    for una, otra in pairwise(evidencias):
        for nombre, clave in _en_orden(una.destinos):
            quedaban = una.destinos[nombre]["despues"][clave]
            # A new version may no longer have a destination, or may have come with another one.
            habia = otra.destinos.get(nombre, {}).get("antes", {}).get(clave)
            if habia is None:
                continue
            propias = _apartadas(solicitud, una, otra) if (nombre, clave) == _LIMITACIONES else 0
            if habia - propias != quedaban:
                yield {
                    **_nombres(nombre, clave),
                    "tras": _momento(una.momento),
                    "quedaban": quedaban,
                    "hasta": _momento(otra.momento),
                    "habia": habia,
                    **({"propias": propias} if propias else {}),
                }


#: Where the restrictions are counted that :func:`privacidad.retenidos.apartar` writes.
_LIMITACIONES = ("casa", "limitaciones")


def _apartadas(solicitud: Solicitud, una: Evidencia, otra: Evidencia) -> int:
    """How many restrictions the first of two runs wrote, by the register: only those name its request."""
    suyas = Asiento.objects.filter(tipo="limitacion", referencia=solicitud.referencia)
    return suyas.filter(momento__gt=una.momento, momento__lt=otra.momento).count()


def _en_orden(destinos: dict[str, Any]) -> Iterable[tuple[str, str]]:
    conocidos = {d.nombre: d for d in DESTINOS}
    for nombre in sorted(destinos, key=lambda n: [*conocidos, n].index(n)):
        etiquetas = conocidos[nombre].etiquetas if nombre in conocidos else {}
        for clave in sorted(destinos[nombre]["antes"], key=lambda c: [*etiquetas, c].index(c)):
            yield nombre, clave


def _nombres(nombre: str, clave: str) -> Datos:
    d = next((d for d in DESTINOS if d.nombre == nombre), None)
    que = d.etiquetas[clave] % 2 if d and clave in d.etiquetas else clave
    return {"destino": str(d.etiqueta) if d else nombre, "que": que}


#: The two counts an authority asks for by the name of their table.
_TABLAS = {("memoria", "documentos"): "store", ("memoria", "vectores"): "store_vectors"}


def _gestion(gestion: Gestion) -> Datos:
    d = next((d for d in DESTINOS if d.nombre == gestion.destino), None)
    etiquetas = d.etiquetas if d else {}
    antes, despues = gestion.recuento.get("antes", {}), gestion.recuento.get("despues", {})
    return {
        "destino": str(d.etiqueta) if d else gestion.destino,
        "estado": str(gestion.get_estado_display()),
        "momento": _momento(gestion.momento),
        "lineas": [
            {
                "que": etiquetas[clave] % 2 if clave in etiquetas else clave,
                "antes": antes.get(clave),
                "despues": despues.get(clave),
            }
            for clave in sorted({*antes, *despues}, key=lambda c: [*etiquetas, c].index(c))
        ],
    }


def _exclusion(exclusion: Exclusion) -> Datos:
    d = next((d for d in DESTINOS if d.nombre == exclusion.destino), None)
    return {
        "destino": str(d.etiqueta) if d else exclusion.destino,
        "motivo": str(exclusion.get_motivo_display()),
        "desde": _momento(exclusion.creada),
        "hasta": _momento(exclusion.liberada) if exclusion.liberada else None,
    }


def _menciones(solicitud: Solicitud) -> list[Datos]:
    """How many rows of others named the person, by which identifiers, and what was decided; not where."""
    por_fila: dict[tuple[str, str], list[Mencion]] = {}
    for m in solicitud.menciones.exclude(decision=Mencion.Decision.PENDIENTE).order_by("pk"):
        por_fila.setdefault((m.prefijo, m.clave), []).append(m)
    iguales = Counter(
        (filas[0].decision, ", ".join(nombres_de_datos(m.identificador for m in filas)), filas[0].motivo)
        for filas in por_fila.values()
    )
    return [
        {"decision": decision, "identificadores": cuales, "motivo": motivo, "cuantas": cuantas}
        for (decision, cuales, motivo), cuantas in iguales.items()
    ]


def _filas_decididas(evidencias: Iterable[Evidencia]) -> list[Datos]:
    """How many rows of others those runs erased, by their counts: where, of what kind and how many."""
    total: Counter[tuple[str, str]] = Counter()
    for evidencia in evidencias:
        for nombre, recuentos in evidencia.destinos.items():
            for clave in _FILAS.get(nombre, ()):
                total[nombre, clave] += recuentos["borrados"].get(clave, 0)
    return [
        {**_nombres(nombre, clave), "cuantas": total[nombre, clave]}
        for nombre, claves in _FILAS.items()
        for clave in claves
        if total[nombre, clave]
    ]


#: Of each destination that is decided row by row, which of its counts are rows; the rest goes with those.
_FILAS: dict[str, tuple[str, ...]] = {"menciones": ("documentos",), **{f.NOMBRE: f.FILAS for f in FUENTES}}


def _copia(solicitud: Solicitud) -> Datos:
    """The sealed copy as it is now, and why what this run erased has none, or is not in it."""
    copia = Copia.objects.filter(solicitud=solicitud).first()
    return {
        "hasta": copia.destruir_el.isoformat() if copia and not copia.destruida else None,
        "filas": copias.filas_selladas(copia) if copia else 0,
        "de_otros": _filas_decididas(_selladas(solicitud, copia)) if copia else [],
        "destruida": _momento(copia.destruida) if copia and copia.destruida else None,
        "motivo": solicitud.motivo_sin_copia,
    }


def _selladas(solicitud: Solicitud, copia: Copia) -> Iterable[Evidencia]:
    """The runs that are in that copy: those since it was made, until the day it is to be destroyed."""
    for evidencia in solicitud.evidencias.filter(momento__gte=copia.creada):
        if timezone.localdate(evidencia.momento, timezone=plazos.MADRID) < copia.destruir_el:
            yield evidencia


def _permanece(evidencias: Sequence[Evidencia]) -> Datos:
    """Until when backups and archived WAL may still hold what was erased; no date where nobody said it."""
    borrados = [e.momento for e in evidencias if e.borro]
    dias = settings.COPIAS_DIAS
    if not borrados or dias is None:
        return {"dias": dias, "hasta": None}
    ultimo = timezone.localdate(max(borrados), timezone=plazos.MADRID)
    return {"dias": dias, "hasta": (ultimo + timedelta(days=dias)).isoformat()}


def _momento(momento: datetime) -> str:
    return timezone.localtime(momento, timezone=plazos.MADRID).isoformat(timespec="seconds")
