"""Fences: what was erased is not written again, whoever writes; and nobody else notices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.store.base import PutOp
from psycopg.types.json import Jsonb

from memoria import politica
from memoria.agentes import ContextoCliente, configuracion, crear_agente_cliente
from memoria.agentes.modelo import ModeloGuionizado
from memoria.hilos import HiloSuprimido
from memoria.models import Documento, Hilo
from memoria.politica import PoliticaIncumplida
from memoria.vallas import CODIGO_HILO, CODIGO_SUJETO, ConversacionSuprimida, SujetoSuprimido
from privacidad import servicios, vallas
from privacidad.estados import Estado
from tests.memoria.procesos import ejecutar as ejecutar_proceso
from tests.privacidad.vallas_comun import NUEVO_DOCUMENTO, NUEVO_HILO, intento

#: What an agent writes: with the thread in which it was said.
DICHO = (
    "INSERT INTO langgraph.store AS s (prefix, key, value)"
    " VALUES (%s, 'x', jsonb_build_object('texto', 'x', 'hilo', %s::text))"
    " ON CONFLICT (prefix, key) DO UPDATE SET value = EXCLUDED.value"
)


@pytest.fixture
def borrado(
    preferencia: Callable[..., None], conversacion: Callable[..., None], hasta: Callable[..., Any]
) -> Any:
    """The completed request of customer C1, who had a preference and the thread ``h-C1-a``."""
    preferencia("C1")
    conversacion("C1", "h-C1-a")
    return hasta(Estado.COMPLETADA)


def levantada(sujeto: str) -> None:
    from django.db import transaction

    with transaction.atomic():
        vallas.levantar("clientes", sujeto)


# -- who is refused -----------------------------------------------------------------------------------


@pytest.mark.parametrize("rol", ["memoria_agentes", "postgres"])
def test_nadie_escribe_del_sujeto_en_el_almacen(
    rol: str, borrado: Any, como: Callable[[str], psycopg.Connection]
) -> None:
    for prefijo in ("clientes.C1", "clientes.C1.notas"):
        with pytest.raises(psycopg.DatabaseError, match="se acaban de suprimir") as error:
            como(rol).execute(NUEVO_DOCUMENTO, [prefijo])
        assert error.value.diag.sqlstate == CODIGO_SUJETO
        assert "C1" not in str(error.value)
    assert not Documento.objects.exists()


@pytest.mark.parametrize("rol", ["memoria_agentes", "memoria_web", "postgres"])
def test_nadie_abre_un_hilo_suyo_ni_de_otro_con_el_identificador_suprimido(
    rol: str, borrado: Any, como: Callable[[str], psycopg.Connection]
) -> None:
    conexion = como(rol)
    for hilo, sujeto, codigo in (
        ("nuevo", "C1", CODIGO_SUJETO),
        ("h-C1-a", "C1", CODIGO_HILO),
        ("h-C1-a", "C10", CODIGO_HILO),
    ):
        with pytest.raises(psycopg.DatabaseError) as error:
            conexion.execute(NUEVO_HILO, [hilo, sujeto])
        assert error.value.diag.sqlstate == codigo
    assert not Hilo.objects.exists()


def test_un_documento_o_un_hilo_de_otro_no_se_le_cambian_a_nombre_del_sujeto(
    borrado: Any, preferencia: Callable[..., None], conversacion: Callable[..., None], propietario: Any
) -> None:
    preferencia("C2")
    conversacion("C2", "h2")
    for cambio, codigo in (
        ("UPDATE langgraph.store SET prefix = 'clientes.C1'", CODIGO_SUJETO),
        ("UPDATE hilos SET sujeto_id = 'C1'", CODIGO_SUJETO),
    ):
        with pytest.raises(psycopg.DatabaseError) as error:
            propietario.execute(cambio)
        assert error.value.diag.sqlstate == codigo


def test_un_aviso_de_un_proveedor_suprimido_lo_rechaza_tambien_a_la_web(
    hasta: Callable[..., Any], almacen_compras: Any
) -> None:
    aviso = {"texto": "Cierra en agosto", "fecha": "2026-11-29"}
    almacen_compras.put(("proveedores", "P1"), "a", aviso)
    hasta(Estado.COMPLETADA, "P1", espacio="proveedores")
    with pytest.raises(SujetoSuprimido):
        almacen_compras.put(("proveedores", "P1"), "a", aviso)
    almacen_compras.put(("proveedores", "P10"), "a", aviso)
    assert [d.prefix for d in Documento.objects.all()] == ["proveedores.P10"]


@pytest.mark.parametrize("sujeto", ["C1", "C.1", "C%1", "C%2E1", "ñandú 1", "ana+1@x.es", "tab\tulado"])
def test_el_sujeto_se_reconoce_por_los_dos_caminos_y_los_parecidos_no(
    sujeto: str, propietario: Any, persona: Callable[..., Any]
) -> None:
    otros = {"C1", "C10", "C", "c1", "C.1", "C%1", "C%2E1", "C%251", "tab\tulado", "tab%09ulado"} - {sujeto}
    levantada(sujeto)
    for cual in (sujeto, *sorted(otros)):
        documento, hilo = (
            intento(propietario, NUEVO_DOCUMENTO, [politica.prefijo("clientes", cual)]),
            intento(propietario, NUEVO_HILO, [f"h-{cual}", cual]),
        )
        assert (documento, hilo) == ((CODIGO_SUJETO,) * 2 if cual == sujeto else ("", "")), cual


def test_tampoco_con_otro_aislamiento(borrado: Any, como: Callable[[str], psycopg.Connection]) -> None:
    # Its snapshot is older than the wait, and in it there is no fence.
    for nivel in ("REPEATABLE READ", "SERIALIZABLE"):
        agente = como("memoria_agentes")
        agente.execute(f"BEGIN ISOLATION LEVEL {nivel}")
        with pytest.raises(psycopg.DatabaseError, match="READ COMMITTED"):
            agente.execute(NUEVO_DOCUMENTO, ["clientes.C1"])


@pytest.mark.parametrize("rol", ["memoria_agentes", "postgres"])
def test_lo_dicho_en_un_hilo_suprimido_no_se_guarda_tampoco_pasado_el_plazo(
    rol: str, borrado: Any, como: Callable[[str], psycopg.Connection], pasa_la_valla: Callable[[], None]
) -> None:
    """A run that waited longer than the window: only the document says where it comes from."""
    conexion = como(rol)
    assert intento(conexion, DICHO, ["clientes.C1", "h-C1-a"]) == CODIGO_SUJETO
    pasa_la_valla()
    for prefijo in ("clientes.C1", "clientes.C1.notas", "clientes.C10"):
        assert intento(conexion, DICHO, [prefijo, "h-C1-a"]) == CODIGO_HILO
    assert not Documento.objects.exists()
    # Who came back said this in another thread: it is kept, and what is late does not go over it.
    for hilo in ("h-C1-b", "h-C1-a ", "H-C1-A"):
        assert intento(conexion, DICHO, ["clientes.C1", hilo]) == ""
    assert intento(conexion, NUEVO_DOCUMENTO, ["clientes.C2"]) == ""
    assert intento(conexion, DICHO, ["clientes.C1", "h-C1-a"]) == CODIGO_HILO
    assert Documento.objects.get(prefix="clientes.C1").value["hilo"] == "H-C1-A"


@pytest.mark.parametrize("hilo", ["ñandú 'y' \"z\"", "日本", "a.b%2Ec", "0", "null"])
def test_el_hilo_de_un_documento_se_reconoce_como_se_suprimio(
    hilo: str,
    conversacion: Callable[..., None],
    hasta: Callable[..., Any],
    propietario: Any,
    pasa_la_valla: Callable[[], None],
) -> None:
    conversacion("C1", hilo)
    hasta(Estado.COMPLETADA)
    pasa_la_valla()
    assert intento(propietario, DICHO, ["clientes.C2", hilo]) == CODIGO_HILO
    for valor in ("{}", "[]", '["hilo"]', '"hilo"', "null", '{"hilo": null}', '{"hilo": {"a": 1}}'):
        sentencia = "INSERT INTO langgraph.store (prefix, key, value) VALUES ('clientes.C2', %s, %s)"
        assert intento(propietario, sentencia, [valor, valor]) == ""


def test_un_dato_retenido_de_un_hilo_suprimido_se_sigue_rectificando(
    borrado: Any, preferencia: Callable[..., None], sin_guardas: Any, dpo: Any, pasa_la_valla: Any
) -> None:
    """It was held back, so it is there; correcting it changes neither its key nor its thread."""
    pasa_la_valla()
    clave, documento = politica.documento_preferencia(
        "clientes", tipo="idioma", valor="catalán", hilo="h-C1-a"
    )
    sin_guardas(
        "INSERT INTO langgraph.store (prefix, key, value) VALUES ('clientes.C1', %s, %s)",
        [clave, Jsonb(documento)],
    )
    visto = Documento.objects.get().updated_at
    servicios.rectificar(
        espacio="clientes", sujeto_id="C1", clave=clave, valor="gallego", visto=visto, por=dpo
    )
    assert Documento.objects.get().value["valor"] == "gallego"


# -- what the agent library makes of it ----------------------------------------------------------------


def test_el_almacen_y_los_hilos_dan_un_error_con_nombre(
    borrado: Any, preferencia: Callable[..., None], conversacion: Callable[..., None]
) -> None:
    with pytest.raises(SujetoSuprimido, match="se acaban de suprimir"):
        preferencia("C1")
    conversacion("C1", "h-C1-nuevo")  # answered, and not kept
    assert not Hilo.objects.exists()
    with pytest.raises(HiloSuprimido, match="no vuelve"):  # E1, lg#7206
        conversacion("C1", "h-C1-a")
    with pytest.raises(HiloSuprimido):
        conversacion("C2", "h-C1-a")
    assert issubclass(SujetoSuprimido, PoliticaIncumplida)  # what a tool turns into a sentence for the model


def test_en_un_lote_de_varios_llamantes_los_demas_se_escriben(borrado: Any, almacen: Any) -> None:
    import asyncio

    clave, documento = politica.documento_preferencia("clientes", tipo="idioma", valor="euskera", hilo="h")
    lote = [PutOp(("clientes", c), clave, documento) for c in ("C2", "C1", "C3")]
    with pytest.raises(SujetoSuprimido):
        asyncio.run(almacen.abatch(lote))
    assert sorted(d.prefix for d in Documento.objects.all()) == ["clientes.C2", "clientes.C3"]


def test_un_agente_a_mitad_de_un_turno_oye_la_frase_y_sigue(
    preferencia: Callable[..., None], hasta: Callable[..., Any], almacen: Any
) -> None:
    """Without a checkpointer: the turn goes on and answers; the model is told that nothing was kept."""
    preferencia("C1")
    solicitud = hasta(Estado.APROBADA)

    def decide(mensajes: list[Any]) -> AIMessage:
        servicios.ejecutar(solicitud=solicitud)  # the erasure falls while the model thinks
        llamada = {"name": "recordar_preferencia", "args": {"tipo": "idioma", "valor": "gallego"}, "id": "1"}
        return AIMessage("", tool_calls=[llamada])

    modelo = ModeloGuionizado([decide, AIMessage("De acuerdo.")])
    agente: Any = crear_agente_cliente(modelo, almacen=almacen)
    contexto = ContextoCliente(cliente_id="C1", tienda="T1")
    final = agente.invoke(
        {"messages": [("user", "Háblame en gallego")]},
        context=contexto,
        config=configuracion(contexto, "h-C1-a"),
    )["messages"]
    assert final[-1].content == "De acuerdo."
    (herramienta,) = (m for m in final if isinstance(m, ToolMessage))
    assert "se acaban de suprimir" in herramienta.content
    assert not Documento.objects.exists()


def test_un_agente_que_guarda_pasado_el_plazo_oye_que_la_conversacion_se_suprimio(
    borrado: Any, almacen: Any, pasa_la_valla: Callable[[], None], propietario: Any
) -> None:
    pasa_la_valla()
    llamada = {"name": "recordar_preferencia", "args": {"tipo": "idioma", "valor": "gallego"}, "id": "1"}
    modelo = ModeloGuionizado([AIMessage("", tool_calls=[llamada]), AIMessage("De acuerdo.")])
    agente: Any = crear_agente_cliente(modelo, almacen=almacen)
    contexto = ContextoCliente(cliente_id="C1", tienda="T1")
    final = agente.invoke(
        {"messages": [("user", "Háblame en gallego")]},
        context=contexto,
        config=configuracion(contexto, "h-C1-a"),
    )["messages"]
    assert final[-1].content == "De acuerdo."
    (herramienta,) = (m for m in final if isinstance(m, ToolMessage))
    assert "Esta conversación se ha suprimido" in herramienta.content
    assert not Documento.objects.exists()
    clave, documento = politica.documento_preferencia("clientes", tipo="idioma", valor="vasco", hilo="h-C1-a")
    with pytest.raises(ConversacionSuprimida):
        almacen.put(("clientes", "C1"), clave, documento)
    assert issubclass(ConversacionSuprimida, PoliticaIncumplida)


def test_quien_vuelve_enseguida_es_atendido_y_no_se_guarda(
    borrado: Any, almacen: Any, hilos: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """The fence must not stop a person who comes back: they are answered as somebody new."""
    modelo = ModeloGuionizado([AIMessage("Hola.")])
    agente: Any = crear_agente_cliente(modelo, almacen=almacen, checkpointer=hilos)
    contexto = ContextoCliente(cliente_id="C1", tienda="T1")
    final = agente.invoke(
        {"messages": [("user", "hola")]}, context=contexto, config=configuracion(contexto, "h-C1-nuevo")
    )
    assert final["messages"][-1].content == "Hola."
    assert "- (ninguna)" in str(modelo.recibidos[0][0].content)
    assert not Hilo.objects.exists()
    assert "sin guardar" in caplog.text
    assert "C1" not in caplog.text


def test_un_agente_con_hilo_se_detiene_con_un_error_con_nombre(
    conversacion: Callable[..., None], hasta: Callable[..., Any], almacen: Any, hilos: Any
) -> None:
    conversacion("C1", "h-C1-a")
    solicitud = hasta(Estado.APROBADA)

    def responde(mensajes: list[Any]) -> AIMessage:
        servicios.ejecutar(solicitud=solicitud)
        return AIMessage("Hola.")

    agente: Any = crear_agente_cliente(ModeloGuionizado([responde]), almacen=almacen, checkpointer=hilos)
    contexto = ContextoCliente(cliente_id="C1", tienda="T1")
    with pytest.raises(HiloSuprimido):
        agente.invoke(
            {"messages": [("user", "hola")]}, context=contexto, config=configuracion(contexto, "h-C1-a")
        )
    assert not Hilo.objects.exists()


def test_lo_borrado_no_se_lee_tampoco_desde_otro_proceso(borrado: Any, almacen: Any) -> None:
    """M18: no warm cache, here or elsewhere, serves what was erased."""
    assert almacen.search(("clientes", "C1")) == []
    proceso = ejecutar_proceso(
        "import json\n"
        "from memoria.almacen import abrir_almacen\n"
        "from memoria.hilos import abrir_checkpointer\n"
        "from memoria.agentes import ContextoCliente, configuracion\n"
        "with abrir_almacen() as a, abrir_checkpointer() as h:\n"
        "    config = configuracion(ContextoCliente(cliente_id='C1', tienda='T1'), 'h-C1-a')\n"
        "    print(json.dumps([len(a.search(('clientes', 'C1'))), h.get_tuple(config) is not None]))\n"
    )
    assert proceso.codigo == 0, proceso.errores
    assert proceso.json == [0, False]


# -- who is not -----------------------------------------------------------------------------------------


def test_los_demas_no_lo_notan(
    borrado: Any, preferencia: Callable[..., None], conversacion: Callable[..., None]
) -> None:
    for n, cliente in enumerate(("C10", "C", "c1", "C_1", "C1X")):
        preferencia(cliente)
        conversacion(cliente, f"h{n}")
    assert Documento.objects.count() == Hilo.objects.count() == 5


def test_quien_vuelve_despues_es_una_ficha_nueva(
    borrado: Any,
    preferencia: Callable[..., None],
    conversacion: Callable[..., None],
    pasa_la_valla: Callable[[], None],
) -> None:
    pasa_la_valla()
    preferencia("C1")
    conversacion("C1", "h-C1-b")
    with pytest.raises(HiloSuprimido):  # a thread, never
        conversacion("C1", "h-C1-a")
    assert Documento.objects.count() == Hilo.objects.count() == 1


def test_la_valla_dura_lo_que_dice_el_ajuste(propietario: Any, settings: Any) -> None:
    settings.VALLA_MINUTOS = 7
    levantada("C1")
    (quedan,) = propietario.execute("SELECT hasta - clock_timestamp() FROM vallas.vallas").fetchone()
    assert 6.9 * 60 < quedan.total_seconds() <= 7 * 60


def test_el_barrido_retira_las_caducadas_y_deja_las_de_los_hilos(
    borrado: Any, propietario: Any, pasa_la_valla: Callable[[], None]
) -> None:
    cuantas = "SELECT count(*), count(*) FILTER (WHERE hasta = 'infinity') FROM vallas.vallas"
    propietario.execute("SELECT * FROM langgraph.barrer_lote(10)")
    assert propietario.execute(cuantas).fetchone() == (2, 1)
    pasa_la_valla()
    propietario.execute("SELECT * FROM langgraph.barrer_lote(10, true)")  # a dry run retires nothing
    assert propietario.execute(cuantas).fetchone() == (2, 1)
    propietario.execute("SELECT * FROM langgraph.barrer_lote(10)")
    assert propietario.execute(cuantas).fetchone() == (1, 1)


def test_un_hilo_retenido_no_tiene_valla(
    conversacion: Callable[..., None], hasta: Callable[..., Any], dpo: Any, otro_dpo: Any, propietario: Any
) -> None:
    conversacion("C1", "h-C1-a")
    conversacion("C1", "h-C1-b")
    solicitud = hasta(Estado.REVISADA)
    servicios.excluir(solicitud=solicitud, destino="hilos", clave="h-C1-a", motivo="reclamacion", por=dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    assert list(Hilo.objects.values_list("thread_id", flat=True)) == ["h-C1-a"]
    (hilos,) = propietario.execute("SELECT count(*) FROM vallas.vallas WHERE hasta = 'infinity'").fetchone()
    assert hilos == 1


# -- what the table tells ---------------------------------------------------------------------------------


def test_ningun_rol_lee_las_vallas_ni_la_sal_y_solo_la_web_las_levanta(
    bd: str, como: Callable[[str], psycopg.Connection]
) -> None:
    for rol in ("memoria_web", "memoria_agentes"):
        for tabla in ("vallas", "sal"):
            for sentencia in (f"TABLE vallas.{tabla}", f"DELETE FROM vallas.{tabla}"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    como(rol).execute(sentencia)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            como(rol).execute("SELECT vallas.purgar()")
    levantar = "SELECT vallas.levantar('clientes.C1', 'clientes', 'C1', 15)"
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        como("memoria_agentes").execute(levantar)
    como("memoria_web").execute(levantar)
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        como("memoria_web").execute("SELECT vallas.levantar('clientes.C1', 'clientes', 'C1', 1441)")


def test_en_la_tabla_no_hay_identificadores_sino_resumenes_con_sal(
    conversacion: Callable[..., None], hasta: Callable[..., Any], propietario: Any, apariciones: Any
) -> None:
    import hashlib

    conversacion("CANARIO-88", "hilo-CANARIO-88")
    hasta(Estado.COMPLETADA, "CANARIO-88")
    assert apariciones("CANARIO-88") == []
    huellas = {bytes(f[0]) for f in propietario.execute("SELECT huella FROM vallas.vallas")}
    (sal,) = propietario.execute("SELECT sal FROM vallas.sal").fetchone()
    textos = [b"sujeto:clientes.CANARIO-88", b"hilo:hilo-CANARIO-88"]
    assert huellas == {hashlib.sha256(bytes(sal) + t).digest() for t in textos}
    assert not huellas & {hashlib.sha256(t).digest() for t in textos}
    assert len(sal) == 32


def test_preparar_otra_vez_no_cambia_la_sal(bd: str, propietario: Any) -> None:
    import io

    from django.core.management import call_command

    leer = "SELECT sal, xmin::text FROM vallas.sal"
    antes = propietario.execute(leer).fetchall()
    call_command("preparar", stdout=io.StringIO(), stderr=io.StringIO())
    assert propietario.execute(leer).fetchall() == antes
    assert len(antes) == 1


def test_la_valla_que_se_llamaba_de_otro_modo_no_se_pone_dos_veces(bd: str, propietario: Any) -> None:
    """Triggers fire in the order of their names, and this one is the first."""
    import io

    from django.core.management import call_command

    propietario.execute("ALTER TRIGGER a_valla ON langgraph.store RENAME TO valla")
    call_command("preparar", stdout=io.StringIO(), stderr=io.StringIO())
    puestas = propietario.execute(
        "SELECT tgname, tgfoid::regproc::text FROM pg_trigger"
        " WHERE tgrelid = 'langgraph.store'::regclass AND NOT tgisinternal ORDER BY tgname"
    ).fetchall()
    assert puestas[0] == ("a_valla", "vallas.vigilar_almacen")
    assert [funcion for _nombre, funcion in puestas].count("vallas.vigilar_almacen") == 1
