"""Two codes that are one supplier: every notice moves, whole, once, whoever is writing meanwhile."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from django.contrib.admin.models import LogEntry
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, connections
from django.test import Client
from django.utils import timezone

from compras import servicios
from compras.errores import ErrorDeCompras, FusionImposible, ProveedorInactivo, ProveedorOcupado
from compras.importacion import importar
from compras.models import Proveedor, Retirada
from memoria.busqueda import buscar_avisos
from memoria.politica import espacio
from tests.compras.comun import PROVEEDORES, texto_de, url
from tests.esperas import EnOtroHilo, esperar

Escribir = Callable[..., str]
Fila = Callable[..., Any]
UNIR = f"{PROVEEDORES}ficha/P10/unir/"


@pytest.fixture
def fusionar(proveedor: Any, otro_proveedor: Any, compradora: Any) -> Callable[..., Any]:
    """``fusionar()``: P10 into P1, by Lola."""

    def hacerlo(**otros: Any) -> Any:
        return servicios.fusionar(
            **{"origen": otro_proveedor, "destino": proveedor, "por": compradora, **otros}
        )

    return hacerlo


@pytest.fixture
def filas(propietario: psycopg.Connection) -> Callable[[], dict[tuple[str, str], tuple[Any, ...]]]:
    """Every row of the store with its vector, as the owner sees them."""

    def leer() -> dict[tuple[str, str], tuple[Any, ...]]:
        return {
            (f[0], f[1]): tuple(f[2:])
            for f in propietario.execute(
                """
                SELECT s.prefix, s.key, s.value, s.created_at, s.updated_at, s.expires_at, s.ttl_minutes,
                       v.embedding::text, v.created_at, v.updated_at, s.lexemas::text
                FROM langgraph.store s LEFT JOIN langgraph.store_vectors v USING (prefix, key)
                """
            )
        }

    return leer


def test_se_mueve_todo_y_nada_cambia_de_lo_que_son(
    escribir: Escribir,
    otro_proveedor: Any,
    fusionar: Callable[..., Any],
    filas: Any,
    mover: Callable[..., None],
    almacen: Any,
) -> None:
    suyos = [escribir(f"La fábrica cierra en agosto {n}", proveedor=otro_proveedor) for n in range(3)]
    mover(suyos[0], "3 days")
    mover(suyos[1], "-1 hour")
    mover(suyos[2], "-20 days", columna="created_at")
    propio = escribir("El que ya estaba")
    antes = filas()
    hecho = fusionar()
    assert (hecho.movidos, hecho.renombrados) == (3, 0)
    assert filas() == {("proveedores.P1", clave): fila for (_, clave), fila in antes.items()}
    assert propio in {clave for _, clave in filas()}
    assert suyos[0] in [h.key for h in buscar_avisos(almacen, "P1", "fábrica cerrada en agosto")]


def test_un_agente_que_llega_con_el_codigo_viejo_los_encuentra(
    escribir: Escribir, otro_proveedor: Any, fusionar: Callable[..., Any], almacen: Any
) -> None:
    """As the role of the agents, which reads no table of purchasing; and only what was joined is sent on."""
    clave = escribir("La fábrica cierra en agosto", proveedor=otro_proveedor)
    assert buscar_avisos(almacen, "P1", "fábrica cerrada en agosto") == []
    fusionar()
    (hallado,) = buscar_avisos(almacen, "P10", "fábrica cerrada en agosto")
    assert (hallado.namespace, hallado.key) == (("proveedores", "P1"), clave)
    assert buscar_avisos(almacen, "P10", "receta de tortilla") == []
    assert buscar_avisos(almacen, "P101", "fábrica cerrada en agosto") == []


def test_los_agentes_no_leen_la_lista_de_proveedores(proveedor: Any, como: Any) -> None:
    agentes = como("memoria_agentes")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        agentes.execute("SELECT FROM compras_proveedor")
    for rol in ("memoria_agentes", "memoria_web"):
        fila = como(rol).execute("SELECT langgraph.proveedor_vigente('P1')").fetchone()
        assert fila == ("P1",)


def test_el_codigo_viejo_queda_inactivo_y_dice_donde_fue(
    escribir: Escribir, otro_proveedor: Any, proveedor: Any, fusionar: Callable[..., Any], compradora: Any
) -> None:
    clave = escribir(proveedor=otro_proveedor)
    fusionar()
    otro_proveedor.refresh_from_db()
    assert (otro_proveedor.activo, otro_proveedor.fusionado_en) == (False, proveedor)
    with pytest.raises(ProveedorInactivo):
        escribir(proveedor=otro_proveedor)
    with pytest.raises(ErrorDeCompras):
        servicios.cambiar_proveedor(proveedor=otro_proveedor, nombre="x", activo=True, por=compradora)
    with pytest.raises(IntegrityError):
        Proveedor.objects.filter(pk=otro_proveedor.pk).update(activo=True)
    assert servicios.tras_la_fusion(otro_proveedor, clave) == ("P1", clave)
    unidos = LogEntry.objects.filter(change_message__contains="fusionado_en")
    assert {e.object_id for e in unidos} == {str(proveedor.pk), str(otro_proveedor.pk)}
    assert not unidos.filter(change_message__contains="P1").exists()


def test_dos_claves_iguales_no_se_pisan(
    proveedor: Any,
    otro_proveedor: Any,
    almacen_compras: Any,
    fusionar: Callable[..., Any],
    fila: Fila,
    cuantos: Callable[[], int],
) -> None:
    larga = "x" * 200
    for codigo in ("P1", "P10"):
        for clave in ("A1", larga):
            documento = {"texto": f"{clave[:2]} de {codigo}", "fecha": "2026-03-01"}
            almacen_compras.put(espacio("proveedores", codigo), clave, documento)
    almacen_compras.put(espacio("proveedores", "P1"), "A1~P10", {"texto": "Tercero", "fecha": "2026-03-01"})
    assert fusionar().renombrados == 2
    assert cuantos() == 5
    assert fila("P1", "A1")["value"]["texto"] == "A1 de P1"
    assert fila("P1", "A1~P10")["value"]["texto"] == "Tercero"
    assert fila("P1", "A1~P10~P10")["value"]["texto"] == "A1 de P10"
    assert fila("P1", servicios.clave_tras_fusion("P10", larga))["value"]["texto"] == "xx de P10"


def test_las_direcciones_de_antes_siguen_llevando(
    escribir: Escribir, otro_proveedor: Any, fusionar: Callable[..., Any], navegar: Callable[..., Any]
) -> None:
    clave = escribir("El movido", proveedor=otro_proveedor)
    escribir("El propio", clave=clave)
    fusionar()
    respuesta = navegar("consulta").get(url("aviso", clave, "P10"), follow=True)
    assert respuesta.redirect_chain == [(url("aviso", f"{clave}~P10"), 302)]
    assert "El movido" in texto_de(respuesta)
    assert navegar("dpo").get(url("aviso", "no-existe", "P10")).status_code == 404


def test_una_fusion_de_fusionados_no_hace_cadena(
    proveedor: Any, otro_proveedor: Any, compradora: Any, fusionar: Callable[..., Any], escribir: Escribir
) -> None:
    tercero = Proveedor.objects.create(codigo="P3", nombre="Tercero")
    clave = escribir(proveedor=otro_proveedor)
    fusionar()
    fusionar(origen=proveedor, destino=tercero)
    otro_proveedor.refresh_from_db()
    assert otro_proveedor.fusionado_en == tercero
    assert servicios.tras_la_fusion(otro_proveedor, clave) == ("P3", clave)


def test_repetirla_recoge_lo_que_alguien_dejo_despues(
    otro_proveedor: Any, almacen_compras: Any, fusionar: Callable[..., Any], fila: Fila
) -> None:
    fusionar()
    almacen_compras.put(espacio("proveedores", "P10"), "tarde", {"texto": "x", "fecha": "2026-03-01"})
    assert fusionar().movidos == 1
    assert fila("P1", "tarde")


def test_los_retirados_van_tambien(
    escribir: Escribir, otro_proveedor: Any, proveedor: Any, compradora: Any, fusionar: Any, fila: Fila
) -> None:
    clave = escribir("Se retiró", proveedor=otro_proveedor)
    servicios.retirar(proveedor=otro_proveedor, clave=clave, motivo="error", por=compradora)
    fusionar()
    retirada = Retirada.objects.get()
    assert retirada.proveedor == proveedor
    servicios.reponer(retirada=retirada.pk, por=compradora)
    assert fila("P1", clave)["value"]["texto"] == "Se retiró"


# -- when it cannot be ----------------------------------------------------------------------------------


def test_sin_permiso_o_mal_pedida_no_se_hace(
    proveedor: Any, otro_proveedor: Any, fusionar: Callable[..., Any], persona: Any, escribir: Escribir
) -> None:
    escribir(proveedor=otro_proveedor)
    with pytest.raises(PermissionDenied):
        fusionar(por=persona("consulta"))
    tercero = Proveedor.objects.create(codigo="P3", nombre="Tercero", activo=False)
    for mal in ({"destino": otro_proveedor}, {"destino": tercero}):
        with pytest.raises(FusionImposible):
            fusionar(**mal)
    Proveedor.objects.filter(pk=tercero.pk).update(fusionado_en=proveedor)
    with pytest.raises(FusionImposible):
        fusionar(origen=tercero, destino=otro_proveedor)
    otro_proveedor.refresh_from_db()
    assert otro_proveedor.activo


@pytest.mark.parametrize("toda_la_ficha", [True, False])
@pytest.mark.parametrize("codigo", ["P1", "P10"])
def test_lo_limitado_no_se_mueve(
    escribir: Escribir,
    otro_proveedor: Any,
    fusionar: Callable[..., Any],
    propietario: psycopg.Connection,
    filas: Any,
    codigo: str,
    toda_la_ficha: bool,
    persona: Any,
) -> None:
    """A restriction names a place: it stays over what it is over, and nothing comes in under it."""
    claves = {"P10": escribir("El suyo", proveedor=otro_proveedor), "P1": escribir("El otro")}
    dpo = persona("dpo")
    propietario.execute(
        "INSERT INTO public.privacidad_restriccion (prefijo, clave, motivo, motivo_levantada, por_id)"
        " VALUES (%s, %s, 'x', '', %s)",
        [f"proveedores.{codigo}", "" if toda_la_ficha else claves[codigo], dpo.pk],
    )
    antes = filas()
    with pytest.raises(FusionImposible, match="revisando"):
        fusionar()
    assert filas() == antes


def test_con_una_supresion_abierta_no_se_mueve(
    escribir: Escribir, otro_proveedor: Any, fusionar: Callable[..., Any], persona: Any, filas: Any
) -> None:
    from datetime import date

    from privacidad import servicios as privacidad

    escribir(proveedor=otro_proveedor)
    antes = filas()
    dpo = persona("dpo", nombre="dpo-1")
    solicitud = privacidad.recibir(
        espacio="proveedores", sujeto_id="P10", canal="correo", recibida=date(2026, 11, 2), por=dpo
    )
    with pytest.raises(FusionImposible):
        fusionar()
    assert filas() == antes
    privacidad.retirar(solicitud=solicitud, motivo="Se ha pensado mejor", por=dpo)
    assert fusionar().movidos == 1


def test_un_aviso_que_nombra_a_quien_pidio_que_se_le_suprima_no_se_mueve(
    escribir: Escribir, otro_proveedor: Any, fusionar: Callable[..., Any], persona: Any, filas: Any
) -> None:
    """Its request erases it where the review found it."""
    from datetime import date

    from privacidad import servicios as privacidad

    escribir("Llamar a la clienta al 612 345 678", proveedor=otro_proveedor)
    antes, dpo = filas(), persona("dpo", nombre="dpo-1")
    solicitud = privacidad.recibir(
        espacio="clientes",
        sujeto_id="C9",
        canal="correo",
        recibida=date(2026, 11, 2),
        por=dpo,
        identificadores={"telefono": "612345678"},
    )
    privacidad.identificar(solicitud=solicitud, como="DNI en tienda", por=dpo)
    assert "menciones" in privacidad.revisar(solicitud=solicitud, por=dpo)
    with pytest.raises(FusionImposible):
        fusionar()
    assert filas() == antes


def test_lo_que_se_acaba_de_suprimir_no_vuelve_por_aqui(
    escribir: Escribir, otro_proveedor: Any, fusionar: Callable[..., Any], filas: Any, como: Any
) -> None:
    """The fence over the code that would stay is the database's own: nothing comes in under it."""
    escribir(proveedor=otro_proveedor)
    antes = filas()
    como("memoria_web").execute("SELECT vallas.levantar('proveedores.P1', 'proveedores', 'P1', 15, '{}')")
    with pytest.raises(FusionImposible, match="suprimir"):
        fusionar()
    assert filas() == antes
    otro_proveedor.refresh_from_db()
    assert otro_proveedor.activo


def test_suprimir_al_que_queda_llega_a_los_codigos_que_se_le_unieron(
    escribir: Escribir, otro_proveedor: Any, fusionar: Callable[..., Any], persona: Any
) -> None:
    from privacidad.destinos.base import Sujeto
    from privacidad.destinos.compras import Compras

    escribir(proveedor=otro_proveedor)
    tercero = Proveedor.objects.create(codigo="P3", nombre="Otra persona")
    fusionar()
    sujeto = Sujeto("proveedores", "P1", ())
    assert Compras().contar(sujeto)["nombres"] == 2
    Compras().suprimir(sujeto)
    assert dict(Proveedor.objects.values_list("codigo", "nombre")) == {
        "P1": "P1",
        "P10": "P10",
        "P3": tercero.nombre,
    }
    assert not LogEntry.objects.filter(object_id=str(otro_proveedor.pk)).exists()
    assert set(Compras().contar(sujeto).values()) == {0}


@pytest.mark.parametrize("rol", ["memoria_agentes"])
def test_un_agente_no_puede_mover_avisos(
    escribir: Escribir, otro_proveedor: Any, como: Any, filas: Any, rol: str
) -> None:
    escribir(proveedor=otro_proveedor)
    antes = filas()
    conexion = como(rol)
    cursor = conexion.execute("UPDATE langgraph.store SET prefix = 'proveedores.P1'")
    assert cursor.rowcount == 0
    assert filas() == antes


def test_la_web_no_saca_avisos_del_espacio(escribir: Escribir, como: Any, filas: Any) -> None:
    escribir()
    antes = filas()
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        como("memoria_web").execute("UPDATE langgraph.store SET prefix = 'clientes.C1'")
    assert filas() == antes


# -- whoever is writing meanwhile ------------------------------------------------------------------------


def test_quien_escribe_a_la_vez_no_pierde_nada(
    proveedor: Any, otro_proveedor: Any, compradora: Any, filas: Any
) -> None:
    """Four writers to the old code while it is merged: each notice was moved, or its writer was told."""
    guardados: list[str] = []
    basta = threading.Event()

    def escribir_sin_parar() -> None:
        while not basta.is_set():
            guardados.append(
                servicios.escribir(
                    proveedor=otro_proveedor, texto="Durante la unión", fecha=hoy, por=compradora
                )
            )

    def fusionar() -> bool:
        try:
            servicios.fusionar(origen=otro_proveedor, destino=proveedor, por=compradora)
        except ProveedorOcupado:  # it does not wait for ever for its turn
            return False
        return True

    hoy = timezone.localdate()
    hilos = [EnOtroHilo(escribir_sin_parar).empezar() for _ in range(4)]
    try:
        esperar(lambda: len(guardados) >= 12, "nobody writes")
        esperar(fusionar, "the merge never has its turn")
        for hilo in hilos:
            with pytest.raises(ProveedorInactivo):
                hilo.resultado()
    finally:
        basta.set()
    assert {lugar for lugar, _ in filas()} == {"proveedores.P1"}
    assert sorted(clave for _, clave in filas()) == sorted(guardados)


def test_si_alguien_esta_escribiendo_se_dice_y_no_se_hace(
    escribir: Escribir,
    otro_proveedor: Any,
    fusionar: Callable[..., Any],
    como: Any,
    filas: Any,
    monkeypatch: Any,
) -> None:
    monkeypatch.setattr(servicios.proveedor, "ESPERA", "200ms")
    escribir(proveedor=otro_proveedor)
    antes = filas()
    otra = como("memoria_web")
    with otra.transaction():
        otra.execute("SELECT FROM compras_proveedor WHERE codigo = 'P10' FOR KEY SHARE")
        with pytest.raises(ProveedorOcupado):
            fusionar()
    assert filas() == antes


def test_si_se_corta_a_la_mitad_no_ha_pasado_nada(
    escribir: Escribir, otro_proveedor: Any, fusionar: Callable[..., Any], propietario: Any, filas: Any
) -> None:
    """The connection is cut by the server between the move and the end of the transaction."""
    escribir(proveedor=otro_proveedor)
    antes = filas()
    propietario.execute(
        """
        CREATE FUNCTION public.cortar() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
        CREATE TRIGGER cortar AFTER UPDATE OF fusionado_en_id ON public.compras_proveedor
            FOR EACH ROW EXECUTE FUNCTION public.cortar();
        """
    )
    try:
        with pytest.raises(Exception, match=r"terminating connection|closed"):
            fusionar()
    finally:
        propietario.execute("DROP TRIGGER cortar ON public.compras_proveedor; DROP FUNCTION public.cortar()")
        connections["default"].close()
    assert filas() == antes
    assert fusionar().movidos == 1


# -- imports with the old code ---------------------------------------------------------------------------


def test_una_importacion_con_el_codigo_viejo_va_al_nuevo_y_lo_dice(
    proveedor: Any, otro_proveedor: Any, fusionar: Callable[..., Any], filas: Any
) -> None:
    fichero = (
        b"proveedor_id,aviso_id,fecha,texto\nP10,A1,2026-03-09,Del viejo\nP10,,2026-03-09,Sin clave\n"
        b"P1,A1,2026-03-09,Del nuevo\n"
    )
    assert importar(io.BytesIO(fichero)).creados == 3
    fusionar()
    antes = filas()
    otra_vez = importar(io.BytesIO(fichero))
    assert (otra_vez.creados, otra_vez.sin_cambios, otra_vez.rechazados) == (0, 3, [])
    assert [a["linea"] for a in otra_vez.avisados] == [2, 3]
    assert "se unió al P1" in otra_vez.avisados[0]["motivo"]
    assert filas() == antes
    mas = importar(io.BytesIO(b"proveedor_id,aviso_id,fecha,texto\nP10,A2,2026-03-09,Otro\n"))
    assert (mas.creados, mas.proveedores_creados) == (1, [])
    assert ("proveedores.P1", "A2") in filas()


# -- the page ----------------------------------------------------------------------------------------------


def test_la_pagina_pregunta_antes_y_une_despues(
    escribir: Escribir, otro_proveedor: Any, proveedor: Any, navegar: Callable[..., Any], filas: Any
) -> None:
    escribir(proveedor=otro_proveedor)
    antes, cliente = filas(), navegar("compras")
    assert cliente.get(UNIR).status_code == 200
    pregunta = cliente.post(UNIR, {"proveedor": "Cerámicas del Norte (P1)"})
    assert "Va a pasar 1 aviso de Textiles del Sur (P10) a Cerámicas del Norte (P1)." in texto_de(pregunta)
    assert filas() == antes
    hecho = cliente.post(UNIR, {"proveedor": "P1", "confirmado": "P1"}, follow=True)
    assert hecho.redirect_chain == [(f"{PROVEEDORES}ficha/P1/", 302)]
    assert "Se ha movido 1 aviso." in texto_de(hecho)
    assert {lugar for lugar, _ in filas()} == {"proveedores.P1"}
    assert "Este código se unió al P1" in texto_de(cliente.get(f"{PROVEEDORES}ficha/P10/"))
    assert "P10" in texto_de(cliente.get(f"{PROVEEDORES}ficha/P1/"))


@pytest.mark.parametrize("datos", [{"proveedor": ""}, {"proveedor": "NO"}, {"proveedor": "P10"}])
def test_la_pagina_dice_lo_que_no_puede_ser(
    otro_proveedor: Any, proveedor: Any, navegar: Callable[..., Any], datos: dict[str, str]
) -> None:
    respuesta = navegar("compras").post(UNIR, datos)
    assert respuesta.status_code == 422
    assert "errorlist" in texto_de(respuesta)


def test_quien_entra(otro_proveedor: Any, navegar: Callable[..., Any]) -> None:
    assert Client().get(UNIR)["Location"] == f"/admin/login/?next={UNIR}"
    for grupo in ("consulta", "dpo", "operaciones"):
        assert navegar(grupo).get(UNIR).status_code == 403
        assert navegar(grupo, nombre=f"otra-{grupo}").post(UNIR, {"proveedor": "P1"}).status_code == 403
    assert navegar("compras").get(UNIR.replace("P10", "NO")).status_code == 404
