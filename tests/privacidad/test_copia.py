"""Bloqueo: a sealed copy with its date, or the reason for none; opened under register."""

from __future__ import annotations

import base64
import json
import tracemalloc
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.contrib.auth.models import Permission
from django.db import transaction
from hypothesis import given
from hypothesis import settings as ajustes
from hypothesis import strategies as st

from memoria import politica
from memoria.documentos import servicios as documentos
from memoria.models import Documento
from privacidad import copias, plazos, registro, servicios
from privacidad.cifrado import CifradoIlegible
from privacidad.destinos import Sujeto
from privacidad.errores import DatoNoValido, SinPermiso, TransicionNoPermitida
from privacidad.estados import Estado
from privacidad.models import Asiento, Copia, Solicitud, TrozoCopia
from privacidad.resumenes import resumen_de_usuario

#: Not tomorrow: the tests may begin on one day and end on the next.
FECHA = plazos.hoy() + timedelta(days=30)


def abierta(solicitud: Solicitud, por: Any) -> list[dict[str, Any]]:
    lineas = servicios.abrir_copia(copia=solicitud.copia, motivo="La pide el juzgado", por=por)
    return [json.loads(linea) for linea in lineas]


def test_la_copia_guarda_todo_lo_borrado_y_nada_de_otros(
    con_copia: Callable[..., Any], preferencia: Callable[..., None], dpo: Any
) -> None:
    preferencia("C-otro")
    filas = abierta(con_copia(), dpo)
    por_tabla = {f["tabla"]: f["fila"] for f in filas}
    assert sorted(por_tabla) == ["checkpoint_blobs", "checkpoint_writes", "checkpoints", "hilos", "store"]
    assert por_tabla["store"]["value"]["valor"] == "occitano"
    assert por_tabla["store"]["expires_at"]
    assert b"soy canario" in base64.b64decode(por_tabla["checkpoint_blobs"]["blob"])
    assert por_tabla["hilos"]["sujeto_id"] == "C-sellado"
    assert "C-otro" not in json.dumps(filas)


def test_guarda_tambien_lo_que_se_borra_de_otros_y_de_la_casa(
    almacen_compras: Any,
    preferencia: Callable[..., None],
    hasta: Callable[..., Any],
    propietario: Any,
    persona: Callable[..., Any],
    dpo: Any,
    otro_dpo: Any,
) -> None:
    """Every row that the evidence counts as erased in this database is in the copy, and no other."""
    for clave, texto in (("suyo", "Llamar al 612345678"), ("ajeno", "No mandan el pedido")):
        almacen_compras.put(("proveedores", "P1"), clave, {"texto": texto, "fecha": "2026-11-29"})
    autora = persona("compras", nombre="quien-escribe")
    autora.user_permissions.set(Permission.objects.filter(content_type__app_label="documentos"))
    for ruta, texto in (("suyo.md", "Es el 612 345 678"), ("ajeno.md", "Portes")):
        documentos.crear(espacio="compras", ruta=ruta, titulo="Portes", texto=texto, por=autora)
    almacen_compras.put(
        ("proveedores", "AUT1"), "del-proveedor", {"texto": "Cierra en agosto", "fecha": "2026-11-29"}
    )
    propietario.execute(
        "INSERT INTO compras_proveedor (codigo, nombre, activo)"
        " VALUES ('AUT1', 'Ana', true), ('P1', 'B', true)"
    )
    solicitud = hasta(
        Estado.REVISADA, "AUT1", espacio="proveedores", identificadores={"telefono": "612345678"}
    )
    for mencion in solicitud.menciones.all():
        servicios.decidir_mencion(mencion=mencion, decision="borrar", motivo="La nombra", por=dpo)
    servicios.decidir_copia(solicitud=solicitud, hasta=FECHA, motivo=None, por=dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    filas = abierta(solicitud, dpo)
    borrados = {n: d["borrados"] for n, d in solicitud.evidencias.get().destinos.items()}
    assert Counter(f["tabla"] for f in filas) == {
        "store": borrados["memoria"]["documentos"],
        "menciones": borrados["menciones"]["documentos"],
        "documentos_pagina": borrados["documentos"]["paginas"],
        "documentos_version": borrados["documentos"]["versiones"],
        "compras_proveedor": borrados["compras"]["nombres"],
    }
    assert set(Counter(f["tabla"] for f in filas).values()) == {1}
    por_tabla = {f["tabla"]: f["fila"] for f in filas}
    assert por_tabla["menciones"]["key"] == "suyo"
    assert por_tabla["documentos_pagina"]["texto"] == "Es el 612 345 678"
    assert por_tabla["compras_proveedor"]["nombre"] == "Ana"
    # The person's own, for their access file, is without what is of somebody else.
    propias = [json.loads(linea)["tabla"] for linea in copias.leer(solicitud.copia)]
    assert sorted(propias) == ["compras_proveedor", "store"]


def test_guarda_lo_que_la_casa_tenia_de_una_empleada(
    almacen: Any, hasta: Callable[..., Any], propietario: Any, dpo: Any, otro_dpo: Any
) -> None:
    clave, documento = politica.documento_preferencia("empleados", tipo="seccion", valor="menaje", hilo="h1")
    almacen.put(politica.espacio("empleados", "E7"), clave, documento)
    servicios.restringir(espacio="empleados", sujeto_id="E7", clave=clave, motivo="No es cierto", por=dpo)
    propietario.execute(
        "INSERT INTO axes_accesslog (username, user_agent, ip_address, http_accept, path_info, attempt_time,"
        " logout_time, session_hash) SELECT u, '', '10.0.0.7', '', '/', now(), NULL, '' FROM unnest("
        " ARRAY['E7', 'E8']) u"
    )
    solicitud = hasta(Estado.REVISADA, "E7", espacio="empleados")
    servicios.decidir_copia(solicitud=solicitud, hasta=FECHA, motivo=None, por=dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    por_tabla = {f["tabla"]: f["fila"] for f in abierta(solicitud, dpo)}
    assert sorted(por_tabla) == ["axes_accesslog", "privacidad_restriccion", "store"]
    assert por_tabla["axes_accesslog"]["username"] == "E7"
    assert por_tabla["privacidad_restriccion"]["motivo"] == "No es cierto"
    casa = solicitud.evidencias.get().destinos["casa"]["borrados"]
    assert (casa["accesos"], casa["limitaciones"]) == (1, 1)


def test_el_canario_no_esta_en_ningun_sitio_fuera_de_la_copia(
    con_copia: Callable[..., Any], apariciones: Callable[[str], list[str]], dpo: Any
) -> None:
    solicitud = con_copia("C-canario", valor="habla canariense", texto="llámame canario-mensaje")
    for canario in ("C-canario", "canariense", "canario-mensaje"):
        assert apariciones(canario) == []
    assert {"C-canario", "habla canariense"} <= {
        f["fila"].get("sujeto_id") or f["fila"].get("value", {}).get("valor") for f in abierta(solicitud, dpo)
    }


def test_si_nadie_decide_no_hay_copia_y_queda_el_motivo(
    hasta: Callable[..., Any], preferencia: Callable[..., None]
) -> None:
    preferencia("C1")
    solicitud = hasta(Estado.COMPLETADA)
    solicitud.refresh_from_db()
    assert solicitud.motivo_sin_copia == settings.MOTIVO_SIN_COPIA
    assert not Copia.objects.exists()


def test_el_motivo_decidido_se_conserva(
    hasta: Callable[..., Any], preferencia: Callable[..., None], dpo: Any, otro_dpo: Any
) -> None:
    preferencia("C1")
    solicitud = hasta(Estado.REVISADA)
    servicios.decidir_copia(solicitud=solicitud, hasta=FECHA, motivo=None, por=dpo)
    servicios.decidir_copia(solicitud=solicitud, hasta=None, motivo="Se recogió ayer mismo", por=dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    guardada = Solicitud.objects.get()
    assert (guardada.motivo_sin_copia, guardada.copia_hasta) == ("Se recogió ayer mismo", None)
    assert not Copia.objects.exists()


def test_sin_datos_no_hay_copia_vacia(hasta: Callable[..., Any], dpo: Any, otro_dpo: Any) -> None:
    solicitud = hasta(Estado.REVISADA)
    servicios.decidir_copia(solicitud=solicitud, hasta=FECHA, motivo=None, por=dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    assert not Copia.objects.exists()
    assert Solicitud.objects.get().motivo_sin_copia == "No había datos que copiar."


def test_un_simulacro_no_deja_copia(
    hasta: Callable[..., Any], preferencia: Callable[..., None], dpo: Any
) -> None:
    preferencia("C1")
    solicitud = hasta(Estado.APROBADA)
    servicios.decidir_copia(solicitud=solicitud, hasta=FECHA, motivo=None, por=dpo)
    with transaction.atomic():
        copias.sellar(solicitud, Sujeto.capturar("clientes", "C1"))
        assert TrozoCopia.objects.count() == 1
        transaction.set_rollback(True)
    assert not Copia.objects.exists()


def test_lo_retenido_no_se_copia_hasta_que_se_suelta(
    hasta: Callable[..., Any], preferencia: Callable[..., None], dpo: Any, otro_dpo: Any
) -> None:
    preferencia("C1")
    preferencia("C1", "horario", "tarde")
    solicitud = hasta(Estado.REVISADA)
    servicios.decidir_copia(solicitud=solicitud, hasta=FECHA, motivo=None, por=dpo)
    exclusion = servicios.excluir(
        solicitud=solicitud, destino="memoria", clave="pref-horario", motivo="reclamacion", por=dpo
    )
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    assert solicitud.estado == Estado.PARCIAL
    assert [f["fila"]["key"] for f in abierta(solicitud, dpo)] == ["pref-idioma"]
    servicios.liberar(exclusion=exclusion, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    filas = abierta(solicitud, dpo)
    assert [f["fila"]["key"] for f in filas if f["tabla"] == "store"] == ["pref-idioma", "pref-horario"]
    assert not Documento.objects.exists()


# -- deciding ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hasta_cuando", "motivo", "frase"),
    [
        (None, None, "una de las dos"),
        (FECHA, "Por si acaso", "una de las dos"),
        (plazos.hoy(), None, "posterior a hoy"),
        (plazos.hoy().replace(year=plazos.hoy().year + 11, day=1), None, "como mucho"),
        (None, "Lo pide C1", "identificador"),
    ],
)
def test_lo_que_no_vale_se_dice(
    hasta_cuando: Any, motivo: Any, frase: str, recibida: Callable[..., Any], dpo: Any
) -> None:
    with pytest.raises(DatoNoValido, match=frase):
        servicios.decidir_copia(solicitud=recibida("C1"), hasta=hasta_cuando, motivo=motivo, por=dpo)
    assert not Asiento.objects.filter(tipo="copia_decidida").exists()


def test_despues_de_cerrar_ya_no_se_decide(con_copia: Callable[..., Any], dpo: Any) -> None:
    with pytest.raises(TransicionNoPermitida):
        servicios.decidir_copia(solicitud=con_copia(), hasta=None, motivo="Ya no", por=dpo)


# -- opening and destroying ---------------------------------------------------------------------------


def test_abrirla_pide_permiso_y_motivo_y_queda_en_el_registro(
    con_copia: Callable[..., Any], persona: Callable[..., Any], dpo: Any
) -> None:
    solicitud = con_copia("C-abierto")
    with pytest.raises(SinPermiso):
        servicios.abrir_copia(copia=solicitud.copia, motivo="La pide el juzgado", por=persona("operaciones"))
    for motivo in (" ", "Es de «C-abierto», de tienda"):
        with pytest.raises(DatoNoValido):
            servicios.abrir_copia(copia=solicitud.copia, motivo=motivo, por=dpo)
    assert not Asiento.objects.filter(tipo="copia_abierta").exists()
    servicios.abrir_copia(
        copia=solicitud.copia, motivo="La pide el juzgado", por=dpo
    )  # before reading a line
    asiento = Asiento.objects.get(tipo="copia_abierta")
    assert asiento.referencia == solicitud.referencia
    assert asiento.datos == {"motivo": "La pide el juzgado", "por": resumen_de_usuario(dpo)}


def test_destruida_no_se_dice_que_siga_y_se_anota_por_que_no_hay_otra(
    con_copia: Callable[..., Any],
    sin_guardas: Callable[..., None],
    navegar: Callable[..., Any],
    otro_dpo: Any,
) -> None:
    solicitud = con_copia()
    sin_guardas("UPDATE privacidad_copia SET destruir_el = %s", [plazos.hoy()])
    assert copias.destruir(Copia.objects.get())
    servicios.reabrir(solicitud=solicitud, sujeto_id="C-sellado", hallado=["memoria"])
    solicitud.refresh_from_db()
    pagina = navegar("dpo", nombre="quien-mira").get(f"/privacidad/solicitudes/{solicitud.referencia}/copia/")
    assert "Anotar la decisión" in pagina.content.decode()
    with pytest.raises(DatoNoValido, match=r"se destruyó el .* no se guarda otra"):
        servicios.decidir_copia(solicitud=solicitud, hasta=FECHA, motivo=None, por=otro_dpo)
    servicios.decidir_copia(solicitud=solicitud, hasta=None, motivo="Ya prescribió", por=otro_dpo)
    solicitud.refresh_from_db()
    assert (solicitud.copia_hasta, solicitud.motivo_sin_copia) == (None, "Ya prescribió")


def test_destruida_ya_no_se_abre_y_no_queda_nada(
    con_copia: Callable[..., Any], sin_guardas: Callable[..., None], dpo: Any
) -> None:
    copia = con_copia().copia
    sin_guardas("UPDATE privacidad_copia SET destruir_el = %s", [plazos.hoy()])
    assert copias.destruir(copia)
    assert not copias.destruir(copia)
    assert not TrozoCopia.objects.exists()
    with pytest.raises(DatoNoValido, match="destruido"):
        servicios.abrir_copia(copia=copia, motivo="La pide el juzgado", por=dpo)
    assert Asiento.objects.filter(tipo="copia_destruida").count() == 1


def test_cambiada_o_a_falta_de_un_trozo_no_pasa_por_entera(
    con_copia: Callable[..., Any],
    sin_guardas: Callable[..., None],
    dpo: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(copias, "LARGO_TROZO", 200)
    solicitud = con_copia()
    cuantos = TrozoCopia.objects.count()
    assert cuantos > 4
    entera = abierta(solicitud, dpo)
    trozos = list(TrozoCopia.objects.order_by("orden"))
    for quitado in (trozos[0], trozos[2], trozos[-1]):
        sin_guardas("DELETE FROM privacidad_trozocopia WHERE id = %s", [quitado.pk])
        with pytest.raises(copias.CopiaIncompleta):
            abierta(solicitud, dpo)
        quitado.save(force_insert=True)
    assert abierta(solicitud, dpo) == entera
    sin_guardas("UPDATE privacidad_trozocopia SET orden = orden + 1000 WHERE orden IN (0, 1)")
    sin_guardas("UPDATE privacidad_trozocopia SET orden = 1001 - orden WHERE orden >= 1000")
    with pytest.raises(CifradoIlegible):
        abierta(solicitud, dpo)


@pytest.mark.parametrize("rol", ["memoria_web", "propietario"])
@pytest.mark.parametrize(
    "sentencia",
    [
        "UPDATE privacidad_trozocopia SET cifrado = ''",
        "UPDATE privacidad_trozocopia SET orden = orden + 1",
        "DELETE FROM privacidad_trozocopia",
        "TRUNCATE privacidad_trozocopia",
        "DELETE FROM privacidad_copia",
        "UPDATE privacidad_copia SET destruida = now()",
        "UPDATE privacidad_copia SET destruir_el = '2020-01-01'",
    ],
)
def test_antes_de_su_dia_nadie_la_toca(
    con_copia: Callable[..., Any], como: Any, propietario: Any, dpo: Any, rol: str, sentencia: str
) -> None:
    solicitud = con_copia()
    entera = abierta(solicitud, dpo)
    conexion = propietario if rol == "propietario" else como(rol)
    with pytest.raises((psycopg.errors.RestrictViolation, psycopg.errors.InsufficientPrivilege)):
        conexion.execute(sentencia)
    assert abierta(solicitud, dpo) == entera


@ajustes(max_examples=60)
@given(
    lineas=st.lists(
        st.binary(max_size=60).map(lambda b: b.replace(b"\n", b" ").replace(b"{", b"(")), max_size=12
    ),
    largo=st.integers(1, 40),
)
def test_las_lineas_salen_como_entraron_sea_cual_sea_el_trozo(lineas: list[bytes], largo: int) -> None:
    """The cutting and the joining, without a database: pieces of any size give the same lines back."""
    trozos: list[bytes] = []

    class EnMemoria(copias._Escritor):
        def __init__(self) -> None:
            self._pendiente = bytearray()

        def _sellar(self, contenido: bytes) -> None:
            trozos.append(contenido)

    escritor = EnMemoria()
    antes, copias.LARGO_TROZO = copias.LARGO_TROZO, largo
    try:
        for linea in (*lineas, b'{"tabla":"fin","filas":%d}' % len(lineas)):
            escritor.escribir(linea)
        escritor.terminar()
    finally:
        copias.LARGO_TROZO = antes
    assert all(len(t) == largo for t in trozos[:-1])
    assert list(copias.unir(trozos)) == lineas
    entero = b"".join(trozos)
    for falso in (len(lineas) + 1, len(lineas) - 1):
        with pytest.raises(copias.CopiaIncompleta):
            list(copias.unir([entero.replace(b'"filas":%d}' % len(lineas), b'"filas":%d}' % falso)]))


@pytest.fixture
def en_dos_veces(
    hasta: Callable[..., Any], preferencia: Callable[..., None], dpo: Any, otro_dpo: Any
) -> Solicitud:
    """A request whose copy was made in two runs: what was held back went in the second."""
    preferencia("C1")
    preferencia("C1", "horario", "tarde")
    solicitud: Solicitud = hasta(Estado.REVISADA)
    servicios.decidir_copia(solicitud=solicitud, hasta=FECHA, motivo=None, por=dpo)
    exclusion = servicios.excluir(
        solicitud=solicitud, destino="memoria", clave="pref-horario", motivo="reclamacion", por=dpo
    )
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    servicios.liberar(exclusion=exclusion, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    assert solicitud.estado == Estado.COMPLETADA
    return solicitud


def test_sin_los_trozos_de_una_ejecucion_no_pasa_por_entera(
    en_dos_veces: Solicitud, sin_guardas: Callable[..., None], dpo: Any
) -> None:
    """What is left ends as it should: only the register knows that there was more."""
    assert abierta(en_dos_veces, dpo)[0]["fila"]["key"] == "pref-idioma"
    assert copias.filas_selladas(en_dos_veces.copia) == len(abierta(en_dos_veces, dpo))
    sin_guardas(
        "DELETE FROM privacidad_trozocopia WHERE orden = (SELECT max(orden) FROM privacidad_trozocopia)"
    )
    assert list(copias.unir(copias._trozos(en_dos_veces.copia)))  # nothing in it says so
    with pytest.raises(copias.CopiaIncompleta):
        abierta(en_dos_veces, dpo)


def test_sin_ningun_trozo_tampoco(
    en_dos_veces: Solicitud, sin_guardas: Callable[..., None], dpo: Any
) -> None:
    sin_guardas("DELETE FROM privacidad_trozocopia")
    with pytest.raises(copias.CopiaIncompleta):
        abierta(en_dos_veces, dpo)


def test_los_asientos_de_una_copia_perdida_no_cuentan_en_la_de_ahora(
    con_copia: Callable[..., Any], dpo: Any
) -> None:
    """After a restore the register tells also of a copy that is gone."""
    solicitud = con_copia()
    filas = len(abierta(solicitud, dpo))
    registro.anotar(
        tipo="copia_sellada",
        referencia=solicitud.referencia,
        datos={"filas": 7, "destruir_el": FECHA.isoformat(), "copia": "2020-01-01T00:00:00.000000+00:00"},
    )
    assert len(abierta(solicitud, dpo)) == filas == copias.filas_selladas(solicitud.copia)


def test_una_copia_grande_se_hace_en_memoria_constante(
    propietario: Any, hasta: Callable[..., Any], dpo: Any
) -> None:
    propietario.execute(
        "INSERT INTO langgraph.store (prefix, key, value)"
        " SELECT 'clientes.C1', 'k' || n, jsonb_build_object('texto', repeat('x', 1000))"
        " FROM generate_series(1, 20000) n"
    )
    solicitud = hasta(Estado.APROBADA)
    servicios.decidir_copia(solicitud=solicitud, hasta=FECHA, motivo=None, por=dpo)
    sujeto = Sujeto.capturar("clientes", "C1")
    tracemalloc.start()
    with transaction.atomic():
        copias.sellar(solicitud, sujeto)
    sellando = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    cuantas = sum(1 for _ in copias.leer(solicitud.copia))
    leyendo = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert cuantas == 20_000
    assert TrozoCopia.objects.count() > 80
    assert sellando < 8 * 2**20
    assert leyendo < 12 * 2**20
