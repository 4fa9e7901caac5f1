"""What is back of somebody who had been erased goes, and no more: what they said since is of a new card."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest
from django.conf import settings as ajustes
from django.test import Client
from django.utils import timezone
from hypothesis import given
from hypothesis import settings as de_hypothesis
from hypothesis import strategies as st

from compras.models import Proveedor, Retirada
from memoria.models import Documento, Hilo
from privacidad import copias, cortes, evidencias, plazos, servicios
from privacidad.destinos import Sujeto, destino
from privacidad.estados import Estado
from privacidad.models import Asiento, Expediente, Gestion, Restriccion, Solicitud
from tests import ordenes
from tests.privacidad.lector import leer
from tests.privacidad.servidor_langfuse import ServidorLangfuse

DIAS = timedelta(days=3)
VALLA = timedelta(minutes=ajustes.VALLA_MINUTOS)


def vigilar() -> int:
    """How many the watch finds."""
    datos, _avisos, codigo = ordenes.ordenar("verificar_supresiones")
    assert codigo == 0
    return int(datos["reaparecidas"])


def ejecutar() -> None:
    datos, avisos, codigo = ordenes.ordenar("ejecutar_supresiones")
    assert (datos["fallidas"], datos["parciales"], codigo) == (0, 0, 0), avisos


def claves(sujeto_id: str = "C1") -> set[str]:
    return set(Documento.objects.del_sujeto("clientes", sujeto_id).values_list("key", flat=True))


def conversaciones(sujeto_id: str = "C1") -> set[str]:
    return set(Hilo.objects.del_sujeto("clientes", sujeto_id).values_list("pk", flat=True))


@pytest.fixture
def hace_tres_dias(
    sin_guardas: Callable[..., None], pasa_la_valla: Callable[[], None]
) -> Callable[[Solicitud], datetime]:
    """The erasure of that request was three days ago; its moment."""

    def mover(solicitud: Solicitud) -> datetime:
        for tabla in ("privacidad_evidencia", "privacidad_paso"):
            sin_guardas(
                f"UPDATE {tabla} SET momento = momento - interval '3 days' WHERE solicitud_id = %s",
                [solicitud.pk],
            )
        pasa_la_valla()
        return solicitud.evidencias.latest("pk").momento

    return mover


@pytest.fixture
def suprimida(
    hasta: Callable[..., Any],
    preferencia: Callable[..., None],
    conversacion: Callable[..., None],
    hace_tres_dias: Callable[..., datetime],
) -> Solicitud:
    """The request of C1, erased three days ago with a thread."""
    preferencia("C1")
    conversacion("C1", "h-viejo")
    solicitud: Solicitud = hasta(Estado.COMPLETADA, "C1")
    hace_tres_dias(solicitud)
    return solicitud


@pytest.fixture
def reponer(sin_guardas: Callable[..., None]) -> Callable[..., None]:
    """``reponer("C1", "pref-idioma", momento)``: an old document that is there again, past the fence."""

    def poner(sujeto_id: str, clave: str, momento: datetime, *, hilo: str = "h-otro", bajo: str = "") -> None:
        sin_guardas(
            "INSERT INTO langgraph.store (prefix, key, value, created_at, updated_at)"
            " VALUES (%s, %s, jsonb_build_object('texto', 'x', 'hilo', %s::text), %s, %s)",
            [f"clientes.{sujeto_id}{bajo}", clave, hilo, momento, momento],
        )

    return poner


@pytest.fixture
def reponer_hilo(sin_guardas: Callable[..., None]) -> Callable[..., None]:
    """An old thread that is there again, with a checkpoint, as a replica puts it there."""

    def poner(sujeto_id: str, thread_id: str, momento: datetime) -> None:
        sin_guardas(
            "INSERT INTO hilos (thread_id, espacio, sujeto_id, creado) VALUES (%s, 'clientes', %s, %s)",
            [thread_id, sujeto_id, momento],
        )
        sin_guardas(
            "INSERT INTO langgraph.checkpoints (thread_id, checkpoint_id, checkpoint) VALUES (%s, '1', '{}')",
            [thread_id],
        )

    return poner


@pytest.fixture
def vuelve(preferencia: Callable[..., None], conversacion: Callable[..., None]) -> Callable[..., None]:
    """``vuelve("C1")``: the person comes back, and an agent stores a preference and a conversation."""

    def volver(sujeto_id: str = "C1") -> None:
        preferencia(sujeto_id, "horario", "tardes")
        conversacion(sujeto_id, f"nuevo-{sujeto_id}")

    return volver


def _todo(propietario: psycopg.Connection, sujeto_id: str = "C1") -> list[str]:
    """Every row of the new card of somebody, all columns."""
    filas: list[str] = []
    for tabla, donde, cual in (
        ("langgraph.store", "starts_with(prefix, %s) AND key = 'pref-horario'", f"clientes.{sujeto_id}"),
        *(
            (t, "thread_id = %s", f"nuevo-{sujeto_id}")
            for t in (
                "hilos",
                "langgraph.checkpoints",
                "langgraph.checkpoint_blobs",
                "langgraph.checkpoint_writes",
            )
        ),
    ):
        suyas = propietario.execute(f"SELECT to_jsonb(t)::text FROM {tabla} t WHERE {donde}", [cual])
        filas += [fila for (fila,) in suyas]
    return sorted(filas)


def test_se_borra_la_fila_que_ha_vuelto_y_la_ficha_nueva_se_queda(
    suprimida: Solicitud,
    reponer: Callable[..., None],
    vuelve: Callable[..., None],
    conversacion: Callable[..., None],
    preferencia: Callable[..., None],
    propietario: psycopg.Connection,
) -> None:
    vuelve()
    suya = _todo(propietario)
    assert len(suya) == 5
    assert vigilar() == 0
    reponer("C1", "pref-idioma", timezone.now() - timedelta(days=9))
    assert vigilar() == 1
    suprimida.refresh_from_db()
    assert suprimida.estado == Estado.REAPARECIDA

    ejecutar()
    suprimida.refresh_from_db()
    assert (suprimida.estado, suprimida.sujeto_id) == (Estado.COMPLETADA, "")
    assert claves() == {"pref-horario"}
    assert _todo(propietario) == suya, "byte for byte"
    # Nothing keeps the new card from going on: not its thread, nor the person.
    conversacion("C1", "nuevo-C1", "y además")
    preferencia("C1", "contacto", "teléfono")
    conversacion("C1", "nuevo-C1-2")
    assert vigilar() == 0
    suprimida.refresh_from_db()
    assert suprimida.estado == Estado.COMPLETADA


def test_la_evidencia_cuenta_lo_que_ha_vuelto_y_dice_hasta_cuando(
    suprimida: Solicitud,
    reponer: Callable[..., None],
    vuelve: Callable[..., None],
    navegar: Callable[..., Client],
) -> None:
    cliente = navegar("dpo")
    entera = suprimida.evidencias.get()
    vuelve()
    reponer("C1", "pref-idioma", timezone.now() - timedelta(days=9))
    vigilar()
    pagina = cliente.get(suprimida.get_absolute_url()).content.decode()
    assert "solo eso se borra" in pagina
    ejecutar()
    evidencia = suprimida.evidencias.latest("pk")
    assert (entera.hasta, evidencia.hasta) == (None, entera.momento)
    memoria = evidencia.destinos["memoria"]
    assert (memoria["antes"], memoria["borrados"]) == ({"documentos": 1, "vectores": 0},) * 2
    assert not any(n for d in evidencia.destinos.values() for n in d["despues"].values())
    assert evidencia.destinos["hilos"]["antes"]["hilos"] == 0
    assert any("vueltos" in orden for orden in memoria["sql"])
    assert (
        Asiento.objects.filter(tipo="supresion").latest("numero").datos["hasta"] == entera.momento.isoformat()
    )
    # What was read back after the run, by the watch, is the same.
    assert evidencias.alteradas() == [suprimida.referencia], "the first, which was moved three days back"

    escrito = suprimida.escritos.latest("pk")
    dice = leer(escrito.pdf)
    assert "ficha nueva: no se ha contado ni se ha borrado" in dice
    assert "ficha nueva" not in leer(suprimida.escritos.earliest("pk").pdf)
    pagina = cliente.get(suprimida.get_absolute_url()).content.decode()
    assert "es de una ficha nueva y se ha dejado" in pagina
    assert "solo eso se borra" not in pagina


def test_una_conversacion_vieja_se_va_entera_y_con_lo_dicho_en_ella(
    suprimida: Solicitud,
    reponer: Callable[..., None],
    reponer_hilo: Callable[..., None],
    vuelve: Callable[..., None],
    propietario: psycopg.Connection,
    conversacion: Callable[..., None],
) -> None:
    vuelve()
    suya = _todo(propietario)
    ahora = timezone.now()
    reponer_hilo("C1", "h-repuesto", ahora - timedelta(days=9))
    conversacion("C1", "h-repuesto", "sigue")  # it goes on being written: it cannot be told apart
    reponer("C1", "pref-idioma", ahora, hilo="h-viejo", bajo=".notas")  # said in one that was erased
    reponer("C1", "pref-contacto", ahora, hilo="h-repuesto")  # and in one that goes now
    assert vigilar() == 1
    ejecutar()
    assert conversaciones() == {"nuevo-C1"}
    assert claves() == {"pref-horario"}
    assert not propietario.execute(
        "SELECT FROM langgraph.checkpoints WHERE thread_id = 'h-repuesto'"
    ).fetchall()
    assert _todo(propietario) == suya
    assert vigilar() == 0
    with pytest.raises(Exception, match="no vuelve"):
        conversacion("C1", "h-repuesto")


@pytest.mark.parametrize(
    ("desde", "se_va"),
    [
        (-timedelta(seconds=1), True),
        (VALLA - timedelta(minutes=1), True),
        (VALLA + timedelta(minutes=1), False),
    ],
    ids=["antes", "dentro-de-la-valla", "despues"],
)
def test_lo_que_la_vigilancia_llama_vuelto_es_lo_que_se_borra(
    suprimida: Solicitud,
    reponer: Callable[..., None],
    reponer_hilo: Callable[..., None],
    desde: timedelta,
    se_va: bool,
) -> None:
    momento = suprimida.evidencias.get().momento + desde
    reponer("C1", "pref-horario", momento)
    reponer_hilo("C1", "h-dudoso", momento)
    assert vigilar() == int(se_va)
    reponer("C1", "pref-idioma", timezone.now() - timedelta(days=9))
    vigilar()
    ejecutar()
    assert (claves(), conversaciones()) == ((set(), set()) if se_va else ({"pref-horario"}, {"h-dudoso"}))
    assert vigilar() == 0


def test_lo_que_la_persona_ha_vuelto_a_decir_en_la_misma_clave_es_suyo(
    suprimida: Solicitud, reponer: Callable[..., None], preferencia: Callable[..., None]
) -> None:
    reponer("C1", "pref-idioma", timezone.now() - timedelta(days=9))
    preferencia("C1", "idioma", "inglés")
    assert vigilar() == 0
    reponer("C1", "pref-contacto", timezone.now() - timedelta(days=9))
    assert vigilar() == 1
    ejecutar()
    assert claves() == {"pref-idioma"}
    assert vigilar() == 0


def test_la_segunda_vez_que_vuelve_algo_no_alcanza_a_la_ficha_nueva(
    suprimida: Solicitud,
    reponer: Callable[..., None],
    vuelve: Callable[..., None],
    propietario: psycopg.Connection,
) -> None:
    """What was said before the second run is later than the erasure all the same."""
    vuelve()
    suya = _todo(propietario)
    for _vez in range(2):
        reponer("C1", "pref-idioma", timezone.now() - timedelta(days=9))
        assert vigilar() == 1
        ejecutar()
        assert _todo(propietario) == suya
        assert vigilar() == 0
    assert suprimida.evidencias.count() == 3
    assert len({e.hasta for e in suprimida.evidencias.all()[1:]}) == 1


def test_quien_lo_vuelve_a_pedir_lo_pide_todo(
    suprimida: Solicitud,
    reponer: Callable[..., None],
    vuelve: Callable[..., None],
    recibida: Callable[..., Any],
) -> None:
    vuelve()
    reponer("C1", "pref-idioma", timezone.now() - timedelta(days=9))
    assert vigilar() == 1
    assert recibida("C1").estado == Estado.VINCULADA
    ejecutar()
    assert (claves(), conversaciones()) == (set(), set())
    assert suprimida.evidencias.latest("pk").hasta is None
    assert vigilar() == 0


def test_una_retenida_de_lo_que_volvio_espera_y_la_ficha_nueva_no_se_toca(
    suprimida: Solicitud,
    reponer: Callable[..., None],
    vuelve: Callable[..., None],
    otro_dpo: Any,
    propietario: psycopg.Connection,
) -> None:
    vuelve()
    suya = _todo(propietario)
    for clave in ("pref-idioma", "pref-contacto"):
        reponer("C1", clave, timezone.now() - timedelta(days=9))
    vigilar()
    suprimida.refresh_from_db()
    servicios.excluir(
        solicitud=suprimida, destino="memoria", clave="pref-idioma", motivo="reclamacion", por=otro_dpo
    )
    datos, _avisos, codigo = ordenes.ordenar("ejecutar_supresiones")
    assert (datos["retenidas"], codigo) == (1, 0)
    assert claves() == {"pref-horario", "pref-idioma"}
    datos, _avisos, codigo = ordenes.ordenar("ejecutar_supresiones")
    assert (datos["retenidas"], codigo) == (1, 0)
    assert suprimida.evidencias.count() == 2, "nothing is left to do meanwhile"
    assert Restriccion.objects.get(levantada=None).clave == "pref-idioma", "it is out of use meanwhile"
    servicios.liberar(exclusion=suprimida.exclusiones.get(), por=otro_dpo)
    ejecutar()
    assert _todo(propietario) == suya
    assert not Restriccion.objects.filter(levantada=None).exists(), "nor is the next one withheld"
    assert vigilar() == 0


def test_la_copia_bloqueada_es_de_lo_que_volvio(
    hasta: Callable[..., Any],
    preferencia: Callable[..., None],
    hace_tres_dias: Callable[..., datetime],
    reponer: Callable[..., None],
    vuelve: Callable[..., None],
    dpo: Any,
    otro_dpo: Any,
) -> None:
    preferencia("C1")
    solicitud = hasta(Estado.REVISADA, "C1")
    servicios.decidir_copia(
        solicitud=solicitud, hasta=plazos.hoy() + timedelta(days=30), motivo=None, por=dpo
    )
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    hace_tres_dias(solicitud)
    vuelve()
    reponer("C1", "pref-contacto", timezone.now() - timedelta(days=9))
    vigilar()
    ejecutar()
    lineas = b"\n".join(copias.leer(solicitud.copia))
    assert b"pref-idioma" in lineas
    assert b"pref-contacto" in lineas
    assert b"pref-horario" not in lineas
    assert b"nuevo-C1" not in lineas


def test_en_esta_aplicacion_lo_de_despues_es_de_la_ficha_nueva(
    suprimida: Solicitud,
    reponer: Callable[..., None],
    vuelve: Callable[..., None],
    producir: Callable[..., Expediente],
    dpo: Any,
) -> None:
    vuelve()
    expediente = producir("C1")
    servicios.restringir(
        espacio="clientes", sujeto_id="C1", clave="pref-horario", motivo="Lo discute", por=dpo
    )
    reponer("C1", "pref-idioma", timezone.now() - timedelta(days=9))
    assert vigilar() == 1
    ejecutar()
    expediente.refresh_from_db()
    assert expediente.destruido is None
    assert bytes(expediente.pdf) != b""
    assert set(suprimida.evidencias.latest("pk").destinos["casa"]["antes"].values()) == {0}
    assert destino("casa").contar(Sujeto.capturar("clientes", "C1"))["limitaciones"] == 1


@pytest.mark.parametrize("espacio", ["empleados", "proveedores"])
def test_accesos_y_compras_de_despues_se_quedan(
    hasta: Callable[..., Any],
    hace_tres_dias: Callable[..., datetime],
    propietario: psycopg.Connection,
    espacio: str,
) -> None:
    solicitud = hasta(Estado.COMPLETADA, "X1", espacio=espacio)
    borrado = hace_tres_dias(solicitud)
    momentos = [borrado - timedelta(hours=1), borrado + timedelta(hours=1)]
    if espacio == "empleados":
        for momento in momentos:
            propietario.execute(
                "INSERT INTO axes_accesslog"
                " (username, attempt_time, user_agent, http_accept, path_info, session_hash)"
                " VALUES ('X1', %s, '', '', '', '')",
                [momento],
            )
        quedan = "SELECT attempt_time FROM axes_accesslog"
    else:
        proveedor = Proveedor.objects.create(codigo="X1", nombre="Ana Gil")
        for momento in momentos:
            Retirada.objects.create(
                proveedor=proveedor,
                clave=f"a-{momento:%H%M}",
                documento={"texto": "x"},
                escrito=momento,
                version=momento,
                motivo=Retirada.Motivo.values[0],
                momento=momento,
                reponible_hasta=timezone.now(),
            )
        quedan = "SELECT momento FROM compras_retirada"
    assert vigilar() == 1
    ejecutar()
    assert [m for (m,) in propietario.execute(quedan)] == momentos[1:]
    assert vigilar() == 0


def test_menciones_la_fila_que_vuelve_se_va_y_la_que_se_escribio_despues_no(
    almacen_compras: Any,
    recibida: Callable[..., Any],
    hace_tres_dias: Callable[..., datetime],
    sin_guardas: Callable[..., None],
    propietario: psycopg.Connection,
    reponer: Callable[..., None],
    dpo: Any,
    otro_dpo: Any,
) -> None:
    for clave in ("a1", "a2"):
        almacen_compras.put(
            ("proveedores", "P1"), clave, {"texto": "Llamar al 612 345 678", "fecha": "2026-11-20"}
        )
    filas = propietario.execute("SELECT prefix, key, value::text, created_at FROM langgraph.store").fetchall()
    solicitud = recibida("C1", identificadores={"telefono": "612345678"})
    servicios.identificar(solicitud=solicitud, como="DNI en tienda", por=dpo)
    servicios.revisar(solicitud=solicitud, por=dpo)
    for mencion in solicitud.menciones.all():
        servicios.decidir_mencion(mencion=mencion, decision="borrar", motivo="Es el suyo", por=dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    hace_tres_dias(solicitud)
    for prefijo, clave, valor, creado in filas:
        # The second was written again since: it is somebody's new row.
        escrito = creado if clave == "a1" else timezone.now()
        sin_guardas(
            "INSERT INTO langgraph.store (prefix, key, value, created_at, updated_at)"
            " VALUES (%s, %s, %s, %s, %s)",
            [prefijo, clave, valor, creado, escrito],
        )
    almacen_compras.put(
        ("proveedores", "P1"), "a3", {"texto": "Llamar al 612 345 678", "fecha": "2026-11-29"}
    )
    reponer("C1", "pref-idioma", timezone.now() - timedelta(days=9))
    ordenes.ordenar("verificar_supresiones")
    ejecutar()
    assert set(Documento.objects.values_list("key", flat=True)) == {"a2", "a3"}
    assert solicitud.evidencias.latest("pk").destinos["menciones"]["borrados"]["documentos"] == 1
    assert ordenes.ordenar("verificar_supresiones")[0]["menciones_reaparecidas"] == []
    assert vigilar() == 0


def test_fuera_tambien_solo_se_borra_lo_de_entonces(
    servidor: ServidorLangfuse,
    suprimida: Solicitud,
    reponer: Callable[..., None],
    vuelve: Callable[..., None],
) -> None:
    borrado = suprimida.evidencias.get().momento
    vuelve()
    servidor.poner("C1", 120, momento=borrado - timedelta(hours=1))
    servidor.poner("C1", 3, momento=borrado + timedelta(seconds=1))
    assert vigilar() == 1
    suprimida.refresh_from_db()
    servidor.modo = "asincrono"
    ordenes.ordenar("ejecutar_supresiones")
    suprimida.refresh_from_db()
    assert suprimida.estado == Estado.PARCIAL
    servidor.modo = ""
    servidor.procesar()
    ordenes.ordenar("verificar_supresiones")
    suprimida.refresh_from_db()
    assert suprimida.estado == Estado.COMPLETADA
    gestion = suprimida.gestiones.get()
    assert gestion.estado == Gestion.Estado.HECHA
    assert gestion.recuento == {
        "antes": {"trazas": 120},
        "borrados": {"trazas": 120},
        "despues": {"trazas": 0},
    }
    assert servidor.de("C1") == 3
    assert claves() == {"pref-horario"}
    assert vigilar() == 0


def test_mientras_se_espera_a_otro_sistema_quien_vuelve_es_una_ficha_nueva(
    servidor: ServidorLangfuse,
    preferencia: Callable[..., None],
    conversacion: Callable[..., None],
    hasta: Callable[..., Any],
    hace_tres_dias: Callable[..., datetime],
    vuelve: Callable[..., None],
    propietario: psycopg.Connection,
) -> None:
    """Partial since its first run: what it waits for may take days, and the person goes on living."""
    preferencia("C1")
    conversacion("C1", "h-viejo")
    servidor.poner("C1", 2, momento=timezone.now() - timedelta(days=9))
    servidor.modo = "asincrono"
    solicitud = hasta(Estado.APROBADA, "C1")
    ordenes.ordenar("ejecutar_supresiones")
    solicitud.refresh_from_db()
    assert solicitud.estado == Estado.PARCIAL
    hace_tres_dias(solicitud)
    vuelve()
    suya = _todo(propietario)
    servidor.poner("C1", 1, momento=timezone.now())
    ordenes.ordenar("ejecutar_supresiones")
    assert _todo(propietario) == suya
    servidor.modo = ""
    servidor.procesar()
    ordenes.ordenar("ejecutar_supresiones")
    solicitud.refresh_from_db()
    assert solicitud.estado == Estado.COMPLETADA
    assert (_todo(propietario), servidor.de("C1")) == (suya, 1)
    assert vigilar() == 0


def test_lo_retenido_se_borra_al_soltarlo_y_la_ficha_nueva_se_queda(
    preferencia: Callable[..., None],
    hasta: Callable[..., Any],
    dpo: Any,
    otro_dpo: Any,
    hace_tres_dias: Callable[..., datetime],
    sin_guardas: Callable[..., None],
    vuelve: Callable[..., None],
    propietario: psycopg.Connection,
) -> None:
    preferencia("C1")
    preferencia("C1", "recogida", "Getafe")
    solicitud = hasta(Estado.REVISADA, "C1")
    servicios.excluir(
        solicitud=solicitud, destino="memoria", clave="pref-recogida", motivo="reclamacion", por=dpo
    )
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    ordenes.ordenar("ejecutar_supresiones")
    hace_tres_dias(solicitud)
    sin_guardas(
        "UPDATE langgraph.store SET created_at = created_at - interval '3 days',"
        " updated_at = updated_at - interval '3 days'"
    )
    vuelve()
    suya = _todo(propietario)
    servicios.liberar(exclusion=solicitud.exclusiones.get(), por=otro_dpo)
    ejecutar()
    solicitud.refresh_from_db()
    assert solicitud.estado == Estado.COMPLETADA
    assert (_todo(propietario), claves()) == (suya, {"pref-horario"})
    assert vigilar() == 0


def test_de_quien_no_se_ha_completado_nunca_se_borra_todo(hasta: Callable[..., Any]) -> None:
    assert cortes.de(hasta(Estado.APROBADA, "C1")) is None


@de_hypothesis(max_examples=12)
@given(orden=st.permutations(["vieja", "nueva", "hilo", "hilo viejo", "vigila", "ejecuta", "ejecuta"]))
def test_en_cualquier_orden_se_va_lo_viejo_y_se_queda_lo_nuevo(
    hasta: Callable[..., Any],
    preferencia: Callable[..., None],
    conversacion: Callable[..., None],
    hace_tres_dias: Callable[..., datetime],
    reponer: Callable[..., None],
    reponer_hilo: Callable[..., None],
    orden: list[str],
) -> None:
    sujeto = f"P{Solicitud.objects.count() + 1}"
    preferencia(sujeto)
    hace_tres_dias(hasta(Estado.COMPLETADA, sujeto))
    antes = timezone.now() - timedelta(days=9)
    hacer: dict[str, Callable[[], object]] = {
        "vieja": lambda: reponer(sujeto, "pref-idioma", antes),
        "nueva": lambda: preferencia(sujeto, "horario", "tardes"),
        "hilo": lambda: conversacion(sujeto, f"nuevo-{sujeto}"),
        "hilo viejo": lambda: reponer_hilo(sujeto, f"viejo-{sujeto}", antes),
        "vigila": vigilar,
        "ejecuta": ejecutar,
    }
    for que in [*orden, "vigila", "ejecuta"]:
        hacer[que]()
    assert claves(sujeto) == {"pref-horario"}
    assert conversaciones(sujeto) == {f"nuevo-{sujeto}"}
    assert vigilar() == 0
