"""What a certificate says is what the evidence says: every figure in its place, every sentence both ways."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise, product
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import given
from hypothesis import settings as ajustes
from hypothesis import strategies as st

from memoria.comandos import Plazo
from privacidad import mensual, plazos, retencion, servicios
from privacidad.destinos import DESTINOS
from privacidad.escritos import datos as contenido
from privacidad.escritos import pdf
from privacidad.estados import Estado
from privacidad.models import Copia, Escrito, Evidencia, Exclusion, Gestion, Paso, Solicitud
from tests.privacidad.lector import leer

INTERNOS = [d for d in DESTINOS if not d.externo]
AHORA = datetime(2026, 3, 1, 9, tzinfo=UTC)
TABLAS = {("memoria", "documentos"): "store", ("memoria", "vectores"): "store_vectors"}


def papel(solicitud: Solicitud, evidencias: list[Evidencia]) -> tuple[dict[str, Any], str]:
    """The data of a certificate of these, and its text."""
    datos = contenido.reunir(
        solicitud,
        Escrito.Tipo.CERTIFICADO,
        numero="CER-2026-0099",
        emitido=timezone.now(),
        evidencias=evidencias,
    )
    return datos, leer(pdf.componer(datos))


def cifra(n: int) -> str:
    return f"{n:,}".replace(",", ".")


def cuando(momento: datetime) -> str:
    return f"{timezone.localtime(momento, plazos.MADRID):%d/%m/%Y %H:%M:%S}"


def mayuscula(texto: str) -> str:
    return texto[:1].upper() + texto[1:].lower()


# -- figures -------------------------------------------------------------------------------------------

n = st.integers(0, 3) | st.integers(0, 2_000_000)
recuento = st.fixed_dictionaries({"antes": n, "borrados": n, "despues": n})


def una_evidencia(destinos: dict[str, Any], cual: int) -> Evidencia:
    """The one of the run number ``cual``, not saved."""
    return Evidencia(
        resultado="borrado",
        destinos=destinos,
        vectores_huerfanos=0,
        rol="r",
        sesion="s",
        momento=AHORA + timedelta(days=cual),
        posicion_wal="0/1",
    )


@st.composite
def evidencias(draw: st.DrawFn) -> list[Evidencia]:
    """One or two runs with any counts at all, of every destination there is or of some, and of one there
    is no more. No run would write most of them: the paper must say them as they are."""
    runs = []
    for cual in range(draw(st.integers(1, 2))):
        destinos: dict[str, Any] = {}
        for nombre, claves in [*((d.nombre, list(d.etiquetas)) for d in INTERNOS), ("retirado", ["fichas"])]:
            if nombre != "memoria" and draw(st.integers(0, 3)) == 0:
                continue
            cuentas = {clave: draw(recuento) for clave in claves}
            destinos[nombre] = {
                que: {clave: cuentas[clave][que] for clave in claves}
                for que in ("antes", "borrados", "despues")
            }
        runs.append(una_evidencia(destinos, cual))
    return runs


def filas(evidencia: Evidencia) -> Iterator[tuple[str, str, str, list[int]]]:
    """``(table, destination, what, [before, erased, held, after])``, from the bare JSON."""
    for nombre in [*(d.nombre for d in INTERNOS), "retirado"]:
        de = evidencia.destinos.get(nombre)
        if de is None:
            continue
        d = next((d for d in INTERNOS if d.nombre == nombre), None)
        for clave in d.etiquetas if d else de["antes"]:
            antes, borrados, despues = (de[c][clave] for c in ("antes", "borrados", "despues"))
            yield (
                TABLAS.get((nombre, clave), ""),
                str(d.etiqueta) if d else nombre,
                d.etiquetas[clave] % 2 if d else clave,
                [antes, borrados, antes - borrados, despues],
            )


def reunidos(solicitud: Solicitud, runs: list[Evidencia]) -> dict[str, Any]:
    return contenido.reunir(
        solicitud, Escrito.Tipo.CERTIFICADO, numero="CER-2026-0099", emitido=AHORA, evidencias=runs
    )


def diferencias(runs: list[Evidencia]) -> Iterator[tuple[str, str, int, int, int]]:
    """``(destination, what, which run, left by it, found by the next)``, where the two differ."""
    for cual, (una, otra) in enumerate(pairwise(runs)):
        hay = {(d, q): c[0] for _t, d, q, c in filas(otra)}
        for _tabla, destino, que, cuentas in filas(una):
            if hay.get((destino, que), cuentas[3]) != cuentas[3]:
                yield destino, que, cual, cuentas[3], hay[destino, que]


@ajustes(max_examples=60)
@given(runs=evidencias())
def test_every_figure_is_the_evidences_and_what_no_run_erased_is_told(
    completada_una: Solicitud, runs: list[Evidencia]
) -> None:
    datos = reunidos(completada_una, runs)
    assert [
        [
            (
                f["tabla"],
                f["destino"],
                f["que"],
                [f[c] for c in ("antes", "borrados", "retenidos", "despues")],
            )
            for f in dicha["lineas"]
        ]
        for dicha in datos["evidencias"]
    ] == [list(filas(e)) for e in runs]
    assert [
        (d["destino"], d["que"], d["tras"], d["hasta"], d["quedaban"], d["habia"])
        for d in datos["diferencias"]
    ] == [
        (destino, que, _iso(runs[cual]), _iso(runs[cual + 1]), quedaban, habia)
        for destino, que, cual, quedaban, habia in diferencias(runs)
    ]


def _iso(evidencia: Evidencia) -> str:
    return timezone.localtime(evidencia.momento, plazos.MADRID).isoformat()


@pytest.mark.parametrize("semilla", [1, 2])
def test_every_figure_is_on_the_paper_and_in_its_place(completada_una: Solicitud, semilla: int) -> None:
    """Three runs of made-up counts, no two of them alike: none can stand in the place of another."""
    numeros = iter(range(1000 * semilla, 10_000))
    runs = []
    for cual in range(3):
        destinos = {
            nombre: {que: {c: next(numeros) for c in claves} for que in ("antes", "borrados", "despues")}
            for nombre, claves in (
                *((d.nombre, list(d.etiquetas)) for d in INTERNOS),
                ("retirado", ["fichas"]),
            )
            if nombre == "memoria" or (cual + semilla) % 3 or nombre == "casa"
        }
        runs.append(una_evidencia(destinos, cual))
    # A page may end inside a sentence.
    texto = re.sub(r" CER-2026-0099 página \d de \d", "", leer(pdf.componer(reunidos(completada_una, runs))))

    desde = texto.index("Qué se ha borrado, dónde y cuándo")
    for evidencia in runs:
        desde = texto.index(f"El {cuando(evidencia.momento)}, en la base de datos", desde)
        for _tabla, destino, que, cuentas in filas(evidencia):
            # In the order of the registry, each row's figures beside its name.
            fila = f"{destino} {mayuscula(que)} {' '.join(cifra(c) for c in cuentas)}"
            assert fila in texto[desde:], fila
            desde = texto.index(fila, desde) + len(fila)

    memoria = [e.destinos["memoria"] for e in runs]
    for clave, tabla in (("documentos", "store"), ("vectores", "store_vectors")):
        borrados = sum(m["borrados"][clave] for m in memoria)
        cuentas = [memoria[0]["antes"][clave], borrados, memoria[-1]["despues"][clave]]
        assert f"(tabla {tabla}) {' '.join(map(cifra, cuentas))}" in texto

    esperadas = [
        f"{destino}, {que}: en el recuento final del {cuando(runs[cual].momento)} quedaban {cifra(quedaban)} "
        f"y en el inicial del {cuando(runs[cual + 1].momento)} había {cifra(habia)}. Entre uno y otro "
        + (
            f"se quitaron {cifra(quedaban - habia)} por otra causa: no los borró esta supresión."
            if habia < quedaban
            else f"se añadieron {cifra(habia - quedaban)}."
        )
        for destino, que, cual, quedaban, habia in diferencias(runs)
    ]
    assert esperadas
    assert [f for f in esperadas if f not in texto] == []
    assert texto.count("Entre uno y otro") == len(esperadas)


@pytest.fixture
def completada_una(completada: Callable[..., Solicitud]) -> Solicitud:
    return completada()


def test_the_figures_of_a_real_run_come_from_its_row(completada_una: Solicitud, propietario: Any) -> None:
    """The evidence as the owner reads it in its table, against the bytes that were stored."""
    (destinos,) = propietario.execute("SELECT destinos FROM privacidad_evidencia").fetchone()
    texto = leer(completada_una.escritos.get().pdf)
    assert destinos["memoria"]["borrados"]["documentos"] == 2
    for _tabla, destino, que, cuentas in filas(Evidencia(destinos=destinos)):
        assert f"{destino} {mayuscula(que)} {' '.join(cifra(c) for c in cuentas)}" in texto


# -- sentences -----------------------------------------------------------------------------------------

COPIAS = list(product(("ninguna", "guardada", "destruida"), ("", "Se recogió ayer")))
RETENIDOS: list[list[tuple[str, bool]]] = [
    [],
    [("reclamacion", True)],
    [("obligacion", False), ("interes_publico", True)],
]
HASTA, DESTRUIDA = date(2031, 5, 4), datetime(2026, 4, 3, 10, 20, 30, tzinfo=UTC)


@contextmanager
def sin_dejar_rastro() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.mark.parametrize(("copia", "motivo"), COPIAS)
def test_each_sentence_is_said_when_it_is_so_and_only_then(
    completada_una: Solicitud,
    settings: Any,
    dpo: Any,
    sin_guardas: Callable[..., None],
    copia: str,
    motivo: str,
) -> None:
    (evidencia,) = Evidencia.objects.filter(solicitud=completada_una)
    sin_guardas("UPDATE privacidad_solicitud SET motivo_sin_copia = %s", [motivo])
    # Every pair of two cases is met over the six parameters.
    par = COPIAS.index((copia, motivo)) % 2
    for retenidos, con_excepcion in product(RETENIDOS, (False, True)):
        excepcion = "Solo hay una persona" if con_excepcion else ""
        dias = None if con_excepcion == bool(par) else 35
        settings.COPIAS_DIAS = dias
        with sin_dejar_rastro():
            if excepcion:
                Paso.objects.create(
                    solicitud=completada_una, estado=Estado.APROBADA, por=dpo, texto=excepcion
                )
            if copia != "ninguna":
                Copia.objects.create(
                    solicitud=completada_una,
                    destruir_el=HASTA,
                    destruida=DESTRUIDA if copia == "destruida" else None,
                )
            for razon, suelta in retenidos:
                Exclusion.objects.create(
                    solicitud=completada_una,
                    destino="memoria",
                    clave=razon,
                    motivo=razon,
                    por=dpo,
                    liberada=DESTRUIDA if suelta else None,
                )
            solicitud = Solicitud.objects.get(pk=completada_una.pk)
            texto = papel(solicitud, [evidencia])[1]
        ultimo = timezone.localdate(evidencia.momento, plazos.MADRID)
        esperado = {
            "Se guarda una copia bloqueada y cifrada": copia == "guardada",
            "Se destruye el 04/05/2031": copia == "guardada",
            f"se destruyó el {cuando(DESTRUIDA)}. Ya no se guarda.": copia == "destruida",
            "No se guarda copia bloqueada. Motivo: Se recogió ayer": bool(motivo) and copia == "ninguna",
            "No se guarda copia bloqueada de lo último que se ha borrado. Motivo: Se recogió ayer": (
                bool(motivo) and copia != "ninguna"
            ),
            "No consta el motivo": not motivo and copia == "ninguna",
            "No se guarda copia": bool(motivo) or copia == "ninguna",
            "No se retuvo ningún dato": not retenidos,
            "La solicitud la aprobó la misma persona que la recibió": bool(excepcion),
            "Motivo de la excepción: Solo hay una persona": bool(excepcion),
            f"hasta el {ultimo + timedelta(days=35):%d/%m/%Y}: se conservan 35 días": dias == 35,
            "no consta cuánto se conservan": dias is None,
        }
        for razon, etiqueta in Exclusion.Motivo.choices:
            suya = [s for r, s in retenidos if r == razon]
            esperado[f"se retuvo por «{etiqueta}»"] = bool(suya)
            esperado[f"se retuvo por «{etiqueta}», del {cuando(timezone.now())[:10]}"] = bool(suya)
        dicho = {frase: frase in texto for frase in esperado}
        assert dicho == esperado
        assert texto.count("y después se soltó") == sum(s for _r, s in retenidos)


@pytest.mark.parametrize("estado", [None, *Gestion.Estado])
def test_an_external_destination_is_told_as_it_stands(
    completada_una: Solicitud, estado: Gestion.Estado | None
) -> None:
    (evidencia,) = Evidencia.objects.filter(solicitud=completada_una)
    momento = datetime(2026, 4, 3, 10, 20, 30, tzinfo=UTC)
    if estado is not None:
        recuento = {"antes": {"trazas": 1234}}
        if estado is Gestion.Estado.HECHA:
            recuento["despues"] = {"trazas": 0}
        Gestion.objects.create(
            solicitud=completada_una, destino="retirado", estado=estado, recuento=recuento, momento=momento
        )
    texto = papel(completada_una, [evidencia])[1]
    despues = "0" if estado is Gestion.Estado.HECHA else "–"
    for otro in Gestion.Estado:
        assert (f"retirado {otro.label} ({cuando(momento)}) Trazas 1.234 {despues}" in texto) is (
            otro is estado
        )
    assert ("Fuera de esta aplicación:" in texto) is (estado is not None)


def test_nothing_erased_no_backup_holds_it(completada_una: Solicitud, settings: Any) -> None:
    settings.COPIAS_DIAS = 35
    (evidencia,) = Evidencia.objects.filter(solicitud=completada_una)
    for recuentos in evidencia.destinos.values():
        recuentos["borrados"] = dict.fromkeys(recuentos["borrados"], 0)
    assert papel(completada_una, [evidencia])[0]["permanece"] == {"dias": 35, "hasta": None}


# -- something else deleted it ---------------------------------------------------------------------------


@pytest.fixture
def retenida(
    hasta: Callable[..., Any], preferencia: Callable[..., None], dpo: Any, otro_dpo: Any
) -> Callable[..., tuple[Solicitud, Exclusion]]:
    """A request carried out but for the document that was held back; ``otros`` documents went."""

    def llevar(otros: int) -> tuple[Solicitud, Exclusion]:
        preferencia("C1")
        for tipo, valor in (("horario", "tardes"), ("contacto", "correo"))[:otros]:
            preferencia("C1", tipo, valor)
        solicitud = hasta(Estado.REVISADA)
        exclusion = servicios.excluir(
            solicitud=solicitud, destino="memoria", clave="pref-idioma", motivo="reclamacion", por=dpo
        )
        servicios.aprobar(solicitud=solicitud, por=otro_dpo)
        servicios.ejecutar(solicitud=solicitud)
        assert solicitud.estado == Estado.PARCIAL
        return solicitud, exclusion

    return llevar


def test_a_held_row_that_went_by_another_hand_is_not_certified(
    retenida: Callable[..., Any], sin_guardas: Callable[..., None], otro_dpo: Any
) -> None:
    solicitud, exclusion = retenida(otros=2)
    sin_guardas("DELETE FROM langgraph.store WHERE prefix = 'clientes.C1'")
    servicios.liberar(exclusion=exclusion, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    assert solicitud.estado == Estado.COMPLETADA
    # It was counted again: the last count is the zero of now, not the one that was held back.
    assert [e.destinos["memoria"]["despues"]["documentos"] for e in solicitud.evidencias.all()] == [1, 0]
    escrito = solicitud.escritos.get()
    texto = leer(escrito.pdf)
    assert escrito.tipo == Escrito.Tipo.CERTIFICADO
    assert "Documentos (tabla store) 3 2 0" in texto
    assert re.search(
        r"Memoria de los agentes, documentos: en el recuento final del [^,]+ quedaban 1 y en el inicial del "
        r"[^,]+ había 0\. Entre uno y otro se quitaron 1 por otra causa: no los borró esta supresión\.",
        texto,
    )


def test_when_all_of_it_went_by_another_hand_there_is_no_certificate(
    retenida: Callable[..., Any],
    sin_guardas: Callable[..., None],
    otro_dpo: Any,
    navegar: Callable[..., Any],
) -> None:
    solicitud, exclusion = retenida(otros=0)
    sin_guardas("DELETE FROM langgraph.store WHERE prefix = 'clientes.C1'")
    # The restriction that kept it out of use is ours, and would be erased.
    sin_guardas("DELETE FROM privacidad_restriccion")
    servicios.liberar(exclusion=exclusion, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    escrito = solicitud.escritos.get()
    texto = leer(escrito.pdf)
    assert escrito.tipo == Escrito.Tipo.SIN_DATOS
    assert "Se certifica" not in texto
    assert "no había nada antes" not in texto
    assert "se localizaron datos de la persona, que se retuvieron" in texto
    assert "Ninguna ejecución de la solicitud los borró" in texto
    assert "Documentos (tabla store) 1 0 0" in texto
    assert "se quitaron 1 por otra causa: no los borró esta supresión." in texto
    assert "se retuvo por «Reclamación o pleito en curso»" in texto
    # And no page shows it as a success.
    cliente = navegar("dpo", nombre="quien-mira")
    for pagina in ("/privacidad/?estado=todas", solicitud.get_absolute_url()):
        leida = cliente.get(pagina).content.decode()
        assert "Completada, sin datos localizados" in leida, pagina
        assert "etiqueta--bien" not in leida, pagina
    (fila,) = mensual.filas(plazos.hoy())
    assert fila.resultado == "Completada, sin datos localizados"


def test_a_released_row_that_is_erased_needs_no_explanation(
    retenida: Callable[..., Any], otro_dpo: Any
) -> None:
    solicitud, exclusion = retenida(otros=1)
    servicios.liberar(exclusion=exclusion, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    texto = leer(solicitud.escritos.get().pdf)
    assert "Documentos (tabla store) 2 2 0" in texto
    assert "por otra causa" not in texto


# -- a copy that was destroyed -----------------------------------------------------------------------------


def test_a_destroyed_copy_is_not_said_to_be_kept(
    hasta: Callable[..., Any],
    preferencia: Callable[..., None],
    dpo: Any,
    otro_dpo: Any,
    propietario: Any,
    sin_guardas: Callable[..., None],
) -> None:
    preferencia("C1")
    solicitud = hasta(Estado.REVISADA)
    manana = plazos.hoy() + timedelta(days=1)
    servicios.decidir_copia(solicitud=solicitud, hasta=manana, motivo=None, por=dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    primero = leer(solicitud.escritos.get().pdf)
    assert "Se guarda una copia bloqueada y cifrada" in primero
    assert "Filas que contiene: 1." in primero

    sin_guardas("UPDATE privacidad_copia SET destruir_el = %s", [plazos.hoy()])
    sin_guardas("UPDATE privacidad_solicitud SET copia_hasta = %s", [plazos.hoy()])
    assert retencion.barrer(plazo=Plazo(None), simular=False)["copias_destruidas"] == 1
    sin_guardas(
        "INSERT INTO langgraph.store (prefix, key, value) VALUES ('clientes.C1', 'pref-idioma', '{}')"
    )
    Solicitud.objects.filter(pk=solicitud.pk).update(estado=Estado.REAPARECIDA, sujeto_id="C1", cerrada=None)
    Paso.objects.create(solicitud=solicitud, estado=Estado.REAPARECIDA, por=None)
    solicitud.refresh_from_db()
    servicios.ejecutar(solicitud=solicitud)

    destruida = Copia.objects.get().destruida
    assert destruida
    segundo = leer(solicitud.escritos.latest("pk").pdf)
    assert "Se guarda una copia" not in segundo
    assert f"La copia bloqueada que se guardó se destruyó el {cuando(destruida)}. Ya no se guarda." in segundo
    motivo = "La fecha de destrucción decidida llegó antes que la supresión."
    assert f"No se guarda copia bloqueada de lo último que se ha borrado. Motivo: {motivo}" in segundo
