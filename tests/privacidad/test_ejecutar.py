"""The run: what it erases, what it leaves alone, the proof it keeps, and what happens when it goes wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memoria.models import Documento, Hilo
from privacidad import servicios, supresion
from privacidad.destinos import Sujeto
from privacidad.errores import FueraDeLaRevision, RevisionVacia
from privacidad.estados import Estado
from privacidad.models import Evidencia, Solicitud
from privacidad.resumenes import resumen


def test_borra_la_memoria_y_los_hilos_y_deja_la_evidencia(
    hasta: Callable[..., Any], preferencia: Callable[..., None], conversacion: Callable[..., None], bd: str
) -> None:
    for tipo in ("idioma", "horario", "contacto"):
        preferencia("C1", tipo)
    conversacion("C1", "h-C1-a")
    conversacion("C1", "h-C1-b")
    solicitud = hasta(Estado.APROBADA)
    assert solicitud.vista_previa["memoria"] == {"documentos": 3, "vectores": 0}
    assert solicitud.vista_previa["hilos"] == {"hilos": 2, "checkpoints": 2, "blobs": 2, "escrituras": 2}

    evidencia = servicios.ejecutar(solicitud=solicitud, por=None)

    assert solicitud.estado == Estado.COMPLETADA
    assert not Documento.objects.exists()
    assert not Hilo.objects.exists()
    assert evidencia.resultado == Evidencia.Resultado.BORRADO
    assert not evidencia.sin_datos
    for nombre, datos in evidencia.destinos.items():
        assert datos["antes"] == datos["borrados"] == solicitud.vista_previa[nombre]
        assert not any(datos["despues"].values())
    assert evidencia.rol == "postgres"
    assert evidencia.sesion == "memoria_web"
    assert evidencia.vectores_huerfanos == 0
    assert evidencia.posicion_wal.count("/") == 1
    textos = "\n".join(evidencia.destinos["memoria"]["sql"])
    assert "DELETE FROM langgraph.store s" in textos
    assert "SECURITY DEFINER" in textos
    assert evidencia.destinos["memoria"]["parametros"] == {"prefijo": resumen("clientes.C1")}
    assert solicitud.resumen == resumen("clientes.C1")


def test_los_vectores_de_un_proveedor_se_van_con_sus_avisos(
    hasta: Callable[..., Any], almacen_compras: Any
) -> None:
    for n in range(3):
        almacen_compras.put(("proveedores", "P1"), f"a{n}", {"texto": f"aviso {n}", "fecha": "2026-11-29"})
    almacen_compras.put(("proveedores", "P10"), "a", {"texto": "otro aviso", "fecha": "2026-11-29"})
    evidencia = servicios.ejecutar(solicitud=hasta(Estado.APROBADA, "P1", espacio="proveedores"))
    assert evidencia.destinos["memoria"]["antes"] == {"documentos": 3, "vectores": 3}
    assert evidencia.destinos["memoria"]["despues"] == {"documentos": 0, "vectores": 0}
    assert [d.prefix for d in Documento.objects.all()] == ["proveedores.P10"]


def test_nadie_se_captura_sin_identificador() -> None:
    """To a system that filters by it, no id is everybody."""
    with pytest.raises(ValueError, match="with no id"):
        Sujeto("clientes", "", ())


@pytest.mark.parametrize("sujeto", ["C1", "C_1", "C%1", "C\\1", "C.1", "ana+1@x.es", "ñandú 1"])
def test_los_demas_quedan_identicos_byte_a_byte(
    sujeto: str,
    hasta: Callable[..., Any],
    preferencia: Callable[..., None],
    conversacion: Callable[..., None],
    volcado: Callable[..., dict[str, list[Any]]],
) -> None:
    otros = [c for c in ("C1", "C10", "C_1", "C1X", "CX1", "C%1", "C\\1", "c1", "C") if c != sujeto]
    for cliente in (sujeto, *otros):
        preferencia(cliente)
        conversacion(cliente, f"h-{'propio' if cliente == sujeto else otros.index(cliente)}-x")
    antes = volcado(sin="propio")
    ajenas = {t: [f for f in filas if not _es_de(f, sujeto)] for t, filas in antes.items()}
    assert len(ajenas["langgraph.store"]) == len(otros)

    servicios.ejecutar(solicitud=hasta(Estado.APROBADA, sujeto))

    assert volcado(sin="propio") == ajenas


def _es_de(fila: str, sujeto: str) -> bool:
    import json

    from memoria import politica

    return bool(json.loads(fila).get("prefix") == politica.prefijo("clientes", sujeto))


def test_tambien_los_espacios_que_cuelgan_del_sujeto(propietario: Any, hasta: Callable[..., Any]) -> None:
    for prefijo in ("clientes.C1", "clientes.C1.notas", "clientes.C1.notas.viejas", "clientes.C10.notas"):
        propietario.execute(
            "INSERT INTO langgraph.store (prefix, key, value) VALUES (%s, 'k', '{}')", [prefijo]
        )
    servicios.ejecutar(solicitud=hasta(Estado.APROBADA, "C1"))
    assert propietario.execute("SELECT prefix FROM langgraph.store").fetchall() == [("clientes.C10.notas",)]


def test_doscientos_cincuenta_documentos_caducados_incluidos(
    propietario: Any, hasta: Callable[..., Any]
) -> None:
    propietario.execute(
        "INSERT INTO langgraph.store (prefix, key, value, expires_at)"
        " SELECT 'clientes.C1', 'k' || n, '{}', now() - make_interval(days => n % 2)"
        " FROM generate_series(1, 250) n"
    )
    evidencia = servicios.ejecutar(solicitud=hasta(Estado.APROBADA))
    assert evidencia.destinos["memoria"]["borrados"]["documentos"] == 250
    assert propietario.execute("SELECT count(*) FROM langgraph.store").fetchone() == (0,)


def test_cinco_mil_hilos(propietario: Any, hasta: Callable[..., Any]) -> None:
    propietario.execute(
        "INSERT INTO hilos (thread_id, espacio, sujeto_id)"
        " SELECT 'h' || n, 'clientes', 'C1' FROM generate_series(1, 5000) n"
    )
    evidencia = servicios.ejecutar(solicitud=hasta(Estado.APROBADA))
    assert evidencia.destinos["hilos"]["borrados"]["hilos"] == 5000
    assert not Hilo.objects.exists()


def test_cero_y_cero_no_es_un_borrado(hasta: Callable[..., Any], preferencia: Callable[..., None]) -> None:
    preferencia("C1")
    evidencia = servicios.ejecutar(solicitud=hasta(Estado.APROBADA, "c1"))
    assert evidencia.sin_datos
    assert evidencia.get_resultado_display() == "Sin datos localizados"
    assert Documento.objects.count() == 1


def test_las_anotaciones_y_los_accesos_de_la_casa(
    hasta: Callable[..., Any], dpo: Any, propietario: Any
) -> None:
    from axes.models import AccessAttempt, AccessFailureLog, AccessLog
    from django.contrib.admin.models import CHANGE, LogEntry
    from django.contrib.contenttypes.models import ContentType

    hilo, ajeno = (
        Hilo.objects.create(thread_id=t, espacio="empleados", sujeto_id=s)
        for t, s in (("h1", "E7"), ("h2", "E70"))
    )
    tipo = ContentType.objects.get_for_model(Hilo)
    for objeto in (hilo, ajeno):
        LogEntry.objects.create(
            user=dpo, content_type=tipo, object_id=objeto.pk, object_repr="x", action_flag=CHANGE
        )
    for modelo in (AccessAttempt, AccessFailureLog, AccessLog):
        for nombre in ("E7", "E70"):
            datos = {"failures_since_start": 1} if modelo is AccessAttempt else {}
            modelo.objects.create(username=nombre, **datos)

    evidencia = servicios.ejecutar(solicitud=hasta(Estado.APROBADA, "E7", espacio="empleados"))

    borrados = evidencia.destinos["casa"]["borrados"]
    assert (borrados["anotaciones"], borrados["accesos"]) == (1, 3)
    assert [e.object_id for e in LogEntry.objects.all()] == ["h2"]
    assert [m.objects.get().username for m in (AccessAttempt, AccessFailureLog, AccessLog)] == ["E70"] * 3


def test_no_queda_el_identificador_en_ninguna_tabla(
    hasta: Callable[..., Any],
    recibida: Callable[..., Any],
    preferencia: Callable[..., None],
    conversacion: Callable[..., None],
    apariciones: Callable[[str], list[str]],
    caplog: pytest.LogCaptureFixture,
) -> None:
    canario, correo = "CANARIO-7319", "canario@ejemplo.es"
    preferencia(canario)
    conversacion(canario, f"hilo-de-{canario}", texto=canario)
    caplog.set_level("DEBUG", logger="privacidad")
    solicitud = hasta(Estado.APROBADA, canario, identificadores={"email": correo})
    donde = apariciones(canario)
    assert {
        "langgraph.store",
        "langgraph.checkpoint_blobs",
        "public.hilos",
        "public.privacidad_solicitud",
    } <= set(donde)
    assert apariciones(correo) == []  # encrypted already while the request is open

    servicios.ejecutar(solicitud=solicitud)

    assert apariciones(canario) == apariciones(correo) == []
    assert canario not in caplog.text
    assert solicitud.referencia in caplog.text


@pytest.mark.parametrize("cierre", ["denegar", "retirar"])
def test_una_solicitud_cerrada_sin_borrar_tampoco_lo_guarda(
    cierre: str, recibida: Callable[..., Any], dpo: Any, apariciones: Callable[[str], list[str]]
) -> None:
    solicitud = recibida("CANARIO-7319", identificadores={"telefono": "600123123"})
    getattr(servicios, cierre)(solicitud=solicitud, motivo="No procede", por=dpo)
    assert apariciones("CANARIO-7319") == apariciones("600123123") == []


def test_lo_que_se_reviso_vacio_no_borra_lo_que_ahora_hay(
    hasta: Callable[..., Any], preferencia: Callable[..., None], dpo: Any, otro_dpo: Any
) -> None:
    """E2: what was approved was an erasure of nothing: what there is now is reviewed and approved again."""
    solicitud = hasta(Estado.APROBADA)
    preferencia("C1")
    with pytest.raises(RevisionVacia, match="Repita la revisión"):
        servicios.ejecutar(solicitud=solicitud)
    assert solicitud.estado == Estado.REVISADA
    assert Documento.objects.count() == 1
    servicios.revisar(solicitud=solicitud, por=dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    evidencia = servicios.ejecutar(solicitud=solicitud)
    assert evidencia.destinos["memoria"]["previsto"]["documentos"] == 1
    assert evidencia.destinos["memoria"]["borrados"]["documentos"] == 1


@pytest.fixture
def viejo(propietario: Any) -> Callable[[str], None]:
    """Run a statement that brings in something from yesterday, as a restore of one table would."""

    def traer(sentencia: str) -> None:
        propietario.execute(sentencia.replace("AYER", "now() - interval '1 day'"))

    return traer


@pytest.mark.parametrize(
    ("sentencia", "frase"),
    [
        (
            "INSERT INTO langgraph.store (prefix, key, value, created_at, updated_at)"
            " SELECT 'clientes.C1', 'k' || n, '{}', AYER, now() FROM generate_series(1, 3) n",
            "la revisión contó 1 documentos y ahora hay 4",
        ),
        (
            "INSERT INTO langgraph.store (prefix, key, value, created_at)"
            " VALUES ('clientes.C1.notas', 'k', '{}', AYER)",
            "contó 1 documentos y ahora hay 2",
        ),
        (
            "INSERT INTO hilos (thread_id, espacio, sujeto_id, creado) VALUES ('h9', 'clientes', 'C1', AYER)",
            "contó 1 hilos y ahora hay 2",
        ),
        (
            "INSERT INTO privacidad_restriccion (prefijo, clave, motivo, creada, motivo_levantada)"
            " VALUES ('clientes.C1', 'x', 'y', AYER, '')",
            "contó 0 limitación",
        ),
    ],
    ids=["documentos", "de debajo", "hilos", "casa"],
)
def test_lo_que_la_revision_no_conto_y_ya_estaba_detiene_la_ejecucion(
    sentencia: str,
    frase: str,
    hasta: Callable[..., Any],
    preferencia: Callable[..., None],
    conversacion: Callable[..., None],
    viejo: Callable[[str], None],
    volcado: Callable[..., dict[str, list[Any]]],
    dpo: Any,
    otro_dpo: Any,
) -> None:
    """E2: what is deleted is what was previewed, or nothing is."""
    preferencia("C1")
    conversacion("C1", "h1")
    solicitud = hasta(Estado.APROBADA)
    viejo(sentencia)
    antes = volcado(sin="nadie")
    with pytest.raises(FueraDeLaRevision, match=frase):
        servicios.ejecutar(solicitud=solicitud, simular=True)
    assert solicitud.estado == Estado.APROBADA
    with pytest.raises(FueraDeLaRevision, match="Repita la revisión"):
        servicios.ejecutar(solicitud=solicitud)
    assert volcado(sin="nadie") == antes
    assert not Evidencia.objects.exists()
    assert solicitud.estado == Solicitud.objects.get().estado == Estado.REVISADA
    assert "no se ha borrado nada" in solicitud.pasos.last().texto
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    with pytest.raises(FueraDeLaRevision):  # approving it again is not reviewing it again
        servicios.ejecutar(solicitud=solicitud)
    servicios.revisar(solicitud=solicitud, por=dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    assert solicitud.estado == Estado.COMPLETADA
    assert not Documento.objects.exists()


def test_quien_sigue_hablando_no_detiene_su_supresion(
    hasta: Callable[..., Any], preferencia: Callable[..., None], conversacion: Callable[..., None]
) -> None:
    preferencia("C1")
    preferencia("C1", "contacto")
    conversacion("C1", "h1")
    solicitud = hasta(Estado.APROBADA)
    preferencia("C1", "idioma", "inglés")  # written again
    preferencia("C1", "horario")
    conversacion("C1", "h1", "sigo")
    conversacion("C1", "h2")
    evidencia = servicios.ejecutar(solicitud=solicitud)
    memoria, hilos = evidencia.destinos["memoria"], evidencia.destinos["hilos"]
    assert (memoria["previsto"]["documentos"], memoria["borrados"]["documentos"]) == (2, 3)
    assert (hilos["previsto"]["hilos"], hilos["borrados"]["hilos"]) == (1, 2)
    assert solicitud.estado == Estado.COMPLETADA


def test_lo_que_se_dice_mientras_se_revisa_no_detiene_la_ejecucion(
    hasta: Callable[..., Any], preferencia: Callable[..., None], otro_dpo: Any
) -> None:
    """A review is of when it began: what came in after it counted is later than it."""
    preferencia("C1")
    contar = supresion.vista_previa

    def y_habla(solicitud: Solicitud) -> Any:
        previa = contar(solicitud)
        preferencia("C1", "horario")
        return previa

    with pytest.MonkeyPatch.context() as parche:
        parche.setattr(supresion, "vista_previa", y_habla)
        solicitud = hasta(Estado.REVISADA)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    assert solicitud.estado == Estado.COMPLETADA
    assert not Documento.objects.exists()


def test_retener_despues_de_aprobar_no_hace_viejo_lo_dicho_entretanto(
    hasta: Callable[..., Any], preferencia: Callable[..., None], otro_dpo: Any
) -> None:
    """It goes back to be approved, not to be counted: what counts as reviewed is still the review."""
    preferencia("C1")
    solicitud = hasta(Estado.APROBADA)
    preferencia("C1", "horario")
    servicios.excluir(
        solicitud=solicitud, destino="memoria", clave="pref-idioma", motivo="obligacion", por=otro_dpo
    )
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    assert [d.key for d in Documento.objects.all()] == ["pref-idioma"]
