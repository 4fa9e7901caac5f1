"""Withdrawing a notice and putting it back: in one place or the other, and with the life it had."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.contrib.admin.models import LogEntry
from django.db import DatabaseError
from django.urls import reverse
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from compras import servicios
from compras.errores import AvisoNoExiste, AvisoNoValido, NoSePuedeReponer, ProveedorInactivo, SinPermiso
from compras.models import Retirada
from compras.retencion import barrer
from memoria.comandos import Plazo
from memoria.politica import espacio, prefijo
from tests.compras.comun import retirada_de, texto_de
from tests.esperas import EnOtroHilo, esperar_a_que_espere

Escribir = Callable[..., str]
Fila = Callable[..., Any]
Navegar = Callable[..., Any]
LISTA = "/compras/retirados/"


def vectores(propietario: psycopg.Connection, clave: str) -> list[Any]:
    return propietario.execute(
        "SELECT embedding::text FROM langgraph.store_vectors WHERE key = %s", [clave]
    ).fetchall()


# -- withdrawing --------------------------------------------------------------------------------------


def test_lo_retirado_sale_de_la_memoria_y_se_guarda_entero(
    escribir: Escribir, retirar: Any, fila: Fila, compradora: Any, almacen: Any, propietario: Any
) -> None:
    clave = escribir("Cierran en agosto", asunto="Verano", importancia="alta")
    antes = fila("P1", clave)
    retirada = retirar(clave, motivo="incidencia", incidencia="INC-2026-0031", explicacion="Ya lo llevan")
    assert fila("P1", clave) is None
    assert vectores(propietario, clave) == []
    assert almacen.search(espacio("proveedores", "P1")) == []
    assert retirada.documento == antes["value"]
    assert (retirada.escrito, retirada.version, retirada.caduca, retirada.vida_minutos) == (
        antes["created_at"],
        antes["updated_at"],
        antes["expires_at"],
        antes["ttl_minutes"],
    )
    assert (retirada.motivo, retirada.incidencia, retirada.explicacion, retirada.por) == (
        "incidencia",
        "INC-2026-0031",
        "Ya lo llevan",
        compradora,
    )
    assert retirada.reponible_hasta - retirada.momento == timedelta(days=30)


def test_ningun_agente_lee_lo_retirado(escribir: Escribir, retirar: Any, como: Any) -> None:
    retirar(escribir())
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        como("memoria_agentes").execute("SELECT FROM public.compras_retirada")


def test_no_se_puede_reponer_mas_alla_de_lo_que_le_quedaba(
    escribir: Escribir, retirar: Any, mover: Callable[..., None]
) -> None:
    clave = escribir()
    mover(clave, "3 days")
    retirada = retirar(clave)
    assert retirada.reponible_hasta == retirada.caduca


def test_de_un_caducado_no_queda_nada_que_reponer(
    escribir: Escribir, proveedor: Any, compradora: Any, mover: Callable[..., None], cuantos: Any
) -> None:
    clave = escribir()
    mover(clave, "-1 hour")
    servicios.retirar(proveedor=proveedor, clave=clave, motivo="no_es_cierto", por=compradora)
    assert cuantos() == 0
    assert not Retirada.objects.exists()


def test_con_una_peticion_abierta_se_retira_y_no_se_guarda(
    escribir: Escribir, proveedor: Any, compradora: Any, retirar: Any, navegar: Navegar, cuantos: Any
) -> None:
    """Privacy looks for what a notice says of somebody where its review found it: no copy lies elsewhere."""
    from privacidad import servicios as privacidad

    antes = retirar(escribir("De antes"))
    clave = escribir("Llamar a la clienta")
    dpo = navegar("dpo").usuario
    solicitud = privacidad.recibir(
        espacio="proveedores",
        sujeto_id="P1",
        canal="correo",
        recibida=timezone.localdate(),
        por=dpo,
    )
    pagina = reverse("compras:aviso_retirar", args=["P1", clave])
    cliente = navegar("compras")
    assert "Privacidad está atendiendo una petición" in texto_de(cliente.get(pagina))
    respuesta = texto_de(cliente.post(pagina, retirada_de(clave), follow=True))
    assert "está retirado" in respuesta
    assert "se repone desde" not in respuesta
    assert cuantos() == 0
    assert list(Retirada.objects.all()) == [antes]
    with pytest.raises(NoSePuedeReponer):
        servicios.reponer(retirada=antes.pk, por=compradora)
    privacidad.retirar(solicitud=solicitud, motivo="Ya no lo pide", por=dpo)
    servicios.reponer(retirada=antes.pk, por=compradora)
    assert cuantos() == 1


@pytest.mark.parametrize(
    ("campos", "campo"),
    [
        ({"motivo": ""}, "motivo"),
        ({"motivo": "porque sí"}, "motivo"),
        ({"motivo": "incidencia"}, "incidencia"),
        ({"motivo": "incidencia", "incidencia": "  "}, "incidencia"),
        ({"motivo": "error", "incidencia": "INC-1"}, "incidencia"),
        ({"motivo": "otro"}, "explicacion"),
        ({"motivo": "otro", "explicacion": "x" * 201}, "explicacion"),
        ({"motivo": "otro", "explicacion": "sal\x07to"}, "explicacion"),
        ({"motivo": "error", "explicacion": "lo sabe ana@x.es"}, "explicacion"),
        ({"motivo": "incidencia", "incidencia": "Tel. 612 345 678"}, "incidencia"),
        ({"motivo": "incidencia", "incidencia": "x" * 61}, "incidencia"),
    ],
)
def test_un_motivo_que_no_vale_se_dice_y_no_retira(
    escribir: Escribir, retirar: Any, fila: Fila, campos: dict[str, str], campo: str
) -> None:
    clave = escribir()
    antes = fila("P1", clave)
    with pytest.raises(AvisoNoValido) as error:
        retirar(clave, **campos)
    assert error.value.campo == campo
    assert "ana@" not in str(error.value)
    assert fila("P1", clave) == antes
    assert not Retirada.objects.exists()


def test_el_registro_dice_por_que_y_la_referencia_y_no_lo_que_se_escribio(
    escribir: Escribir, retirar: Any
) -> None:
    clave = escribir("Llamar a Ramona Quiñones")
    retirar(clave, motivo="incidencia", incidencia="INC-7", explicacion="Ramona ya no está")
    mensaje = LogEntry.objects.latest("pk").change_message
    assert '"motivo": "incidencia"' in mensaje
    assert "INC-7" in mensaje
    assert "Ramona" not in mensaje


def test_si_la_base_no_deja_guardarlo_el_aviso_sigue_donde_estaba(
    escribir: Escribir, retirar: Any, fila: Fila, propietario: psycopg.Connection
) -> None:
    clave = escribir()
    antes = fila("P1", clave)
    propietario.execute("REVOKE INSERT ON public.compras_retirada FROM memoria_web")
    try:
        with pytest.raises(DatabaseError):
            retirar(clave)
    finally:
        propietario.execute("GRANT INSERT ON public.compras_retirada TO memoria_web")
    assert fila("P1", clave) == antes
    assert len(vectores(propietario, clave)) == 1
    assert LogEntry.objects.count() == 1  # the writing


@pytest.mark.parametrize("que", ["retirar", "reponer"])
def test_matar_la_conexion_a_medias_no_deja_medio_aviso(
    escribir: Escribir,
    proveedor: Any,
    compradora: Any,
    retirar: Any,
    fila: Fila,
    propietario: psycopg.Connection,
    bd: str,
    que: str,
) -> None:
    """The server ends the session after both halves were done, and before they were committed."""
    clave = escribir()
    antes = fila("P1", clave)
    retirada = retirar(clave) if que == "reponer" else None
    estado = (fila("P1", clave), Retirada.objects.count())

    def cambiar() -> None:
        if retirada:
            servicios.reponer(retirada=retirada.pk, por=compradora)
        else:
            servicios.retirar(proveedor=proveedor, clave=clave, motivo="error", por=compradora)

    with psycopg.connect(bd) as freno:
        # It stops at the log of what it has done, or where the vectors go with their notice.
        tabla = "public.django_admin_log" if retirada else "langgraph.store_vectors"
        freno.execute(f"LOCK TABLE {tabla} IN SHARE MODE")
        with EnOtroHilo(cambiar) as hilo:
            for pid in esperar_a_que_espere(propietario):
                propietario.execute("SELECT pg_terminate_backend(%s)", [pid])
    with pytest.raises(DatabaseError):
        hilo.resultado()
    assert (fila("P1", clave), Retirada.objects.count()) == estado
    assert antes["value"] == (fila("P1", clave) or {"value": Retirada.objects.get().documento})["value"]


# -- putting back ---------------------------------------------------------------------------------------


def test_reponer_devuelve_todo_como_estaba(
    escribir: Escribir, retirar: Any, fila: Fila, proveedor: Any, persona: Any, propietario: Any, mover: Any
) -> None:
    clave = escribir("Cierran la fábrica en agosto", asunto="Verano")
    mover(clave, "10 days")
    mover(clave, "-5 days", columna="created_at")
    antes, vector = fila("P1", clave), vectores(propietario, clave)
    retirada = retirar(clave)
    otra = persona("compras", nombre="otra")
    assert servicios.reponer(retirada=retirada.pk, por=otra) == (proveedor, clave)
    assert fila("P1", clave) == antes
    assert vectores(propietario, clave) == vector
    assert not Retirada.objects.exists()
    assert LogEntry.objects.latest("pk").user == otra
    hallados = servicios.buscar(proveedor=proveedor, consulta="fábrica cerrada en agosto", por=otra)
    assert [h.aviso.clave for h in hallados.hallados] == [clave]


def test_reponer_dos_veces_repone_una(
    escribir: Escribir, retirar: Any, compradora: Any, cuantos: Any
) -> None:
    retirada = retirar(escribir())
    servicios.reponer(retirada=retirada.pk, por=compradora)
    with pytest.raises(NoSePuedeReponer):
        servicios.reponer(retirada=retirada.pk, por=compradora)
    assert cuantos() == 1


def test_pasado_el_plazo_no_se_repone(
    escribir: Escribir, retirar: Any, compradora: Any, cuantos: Any
) -> None:
    retirada = retirar(escribir())
    Retirada.objects.update(reponible_hasta=timezone.now() - timedelta(seconds=1))
    with pytest.raises(NoSePuedeReponer):
        servicios.reponer(retirada=retirada.pk, por=compradora)
    assert cuantos() == 0


def test_con_la_clave_ocupada_no_se_pisa_a_nadie(
    escribir: Escribir, retirar: Any, compradora: Any, fila: Fila
) -> None:
    retirada = retirar(escribir("El de antes", clave="a" * 32))
    escribir("El de ahora", clave="a" * 32)
    with pytest.raises(NoSePuedeReponer):
        servicios.reponer(retirada=retirada.pk, por=compradora)
    assert fila("P1", "a" * 32)["value"]["texto"] == "El de ahora"
    assert Retirada.objects.filter(pk=retirada.pk).exists()


def test_de_un_proveedor_inactivo_no_se_repone(
    escribir: Escribir, retirar: Any, compradora: Any, proveedor: Any, cuantos: Any
) -> None:
    retirada = retirar(escribir())
    type(proveedor).objects.update(activo=False)
    with pytest.raises(ProveedorInactivo):
        servicios.reponer(retirada=retirada.pk, por=compradora)
    assert cuantos() == 0
    assert Retirada.objects.count() == 1


@pytest.mark.parametrize(
    "valor", [{"texto": "Sin fecha"}, ["x"], None, {"texto": "x", "fecha": "2026-03-01", "nota": 1}]
)
def test_lo_danado_se_retira_y_no_vuelve(
    proveedor: Any, compradora: Any, retirar: Any, propietario: psycopg.Connection, cuantos: Any, valor: Any
) -> None:
    propietario.execute(
        "INSERT INTO langgraph.store (prefix, key, value) VALUES ('proveedores.P1', 'raro', %s)",
        [psycopg.types.json.Jsonb(valor)],
    )
    retirada = retirar("raro")
    assert retirada.documento == valor
    with pytest.raises(NoSePuedeReponer):
        servicios.reponer(retirada=retirada.pk, por=compradora)
    assert cuantos() == 0


def test_lo_limitado_no_se_retira_ni_se_repone_en_una_ficha_limitada(
    escribir: Escribir, retirar: Any, compradora: Any, propietario: psycopg.Connection, fila: Fila
) -> None:
    retirada = retirar(escribir("Se retira antes"))
    clave = escribir("Se queda")
    propietario.execute(
        "INSERT INTO public.privacidad_restriccion (prefijo, clave, motivo, motivo_levantada, creada)"
        " VALUES ('proveedores.P1', '', 'lo dice', '', now())"
    )
    with pytest.raises(AvisoNoValido):
        retirar(clave)
    with pytest.raises(AvisoNoValido):
        servicios.reponer(retirada=retirada.pk, por=compradora)
    assert fila("P1", clave)
    assert list(Retirada.objects.all()) == [retirada]


def test_tras_una_supresion_no_se_repone(
    escribir: Escribir, retirar: Any, compradora: Any, propietario: psycopg.Connection, cuantos: Any
) -> None:
    """Should the table still have it (a restored copy), the fence of the database refuses it."""
    retirada = retirar(escribir())
    propietario.execute("SELECT vallas.levantar('proveedores.P1', 'proveedores', 'P1', 15)")
    with pytest.raises(NoSePuedeReponer):
        servicios.reponer(retirada=retirada.pk, por=compradora)
    assert cuantos() == 0


@pytest.mark.parametrize("que", ["retirar", "reponer"])
def test_una_supresion_en_marcha_se_espera_y_no_se_bloquean(
    escribir: Escribir,
    retirar: Any,
    proveedor: Any,
    compradora: Any,
    propietario: psycopg.Connection,
    bd: str,
    cuantos: Any,
    que: str,
) -> None:
    """The erasure has raised its fence and deletes while we wait; nothing of the supplier is left by us."""
    clave = escribir()
    retirada = retirar(clave) if que == "reponer" else None

    def cambiar() -> None:
        if retirada:
            servicios.reponer(retirada=retirada.pk, por=compradora)
        else:
            servicios.retirar(proveedor=proveedor, clave=clave, motivo="error", por=compradora)

    with psycopg.connect(bd) as supresion:
        supresion.execute("SELECT vallas.levantar('proveedores.P1', 'proveedores', 'P1', 15)")
        with EnOtroHilo(cambiar) as hilo:
            esperar_a_que_espere(propietario)
            supresion.execute("DELETE FROM langgraph.store WHERE prefix = %s", [prefijo("proveedores", "P1")])
            supresion.execute("DELETE FROM compras_retirada")
            supresion.commit()
    with pytest.raises(NoSePuedeReponer if retirada else AvisoNoExiste):
        hilo.resultado()
    assert cuantos() == 0
    assert not Retirada.objects.exists()


@pytest.mark.parametrize("grupo", ["consulta", "dpo", "operaciones"])
def test_sin_permiso_no_se_repone(
    escribir: Escribir, retirar: Any, persona: Any, cuantos: Any, grupo: str
) -> None:
    retirada = retirar(escribir())
    with pytest.raises(SinPermiso):
        servicios.reponer(retirada=retirada.pk, por=persona(grupo))
    assert cuantos() == 0


@settings(max_examples=20)
@given(st.lists(st.sampled_from(["retirar", "reponer", "envejecer", "barrer"]), max_size=8))
def test_pase_lo_que_pase_esta_en_un_solo_sitio_y_no_vive_mas(
    proveedor: Any, compradora: Any, escribir: Escribir, fila: Fila, propietario: Any, pasos: list[str]
) -> None:
    clave = escribir("Cierran en agosto")
    caduca = fila("P1", clave)["expires_at"]
    for paso in pasos:
        with suppress(AvisoNoExiste, NoSePuedeReponer):
            if paso == "retirar":
                servicios.retirar(proveedor=proveedor, clave=clave, motivo="error", por=compradora)
            elif paso == "reponer":
                hallada = Retirada.objects.filter(clave=clave).first()
                servicios.reponer(retirada=hallada.pk if hallada else 0, por=compradora)
            elif paso == "barrer":
                barrer(plazo=Plazo(None), simular=False)
            else:  # twenty days go by
                caduca -= timedelta(days=20)
                for tabla, columna in (("langgraph.store", "expires_at"), ("compras_retirada", "caduca")):
                    de = "key" if columna == "expires_at" else "clave"
                    propietario.execute(
                        f"UPDATE {tabla} SET {columna} = {columna} - interval '20 days' WHERE {de} = %s",
                        [clave],
                    )
                propietario.execute(
                    "UPDATE compras_retirada SET reponible_hasta = reponible_hasta - interval '20 days'"
                    " WHERE clave = %s",
                    [clave],
                )
        guardado, retirados = fila("P1", clave), list(Retirada.objects.filter(clave=clave))
        assert (guardado is not None) + len(retirados) <= 1
        for vence in [guardado["expires_at"]] if guardado else [r.caduca for r in retirados]:
            assert vence == caduca
        if guardado:
            assert len(vectores(propietario, clave)) == 1


# -- the sweep ----------------------------------------------------------------------------------------


def test_el_barrido_borra_lo_que_ya_no_se_puede_reponer(escribir: Escribir, retirar: Any) -> None:
    pasada, queda = retirar(escribir("Uno")), retirar(escribir("Dos"))
    Retirada.objects.filter(pk=pasada.pk).update(reponible_hasta=timezone.now())
    plazo = Plazo(None)
    assert barrer(plazo=plazo, simular=True) == {"retiradas_borradas": 1}
    assert Retirada.objects.count() == 2
    assert barrer(plazo=plazo, simular=False) == {"retiradas_borradas": 1}
    assert list(Retirada.objects.all()) == [queda]
    assert barrer(plazo=plazo, simular=False) == {"retiradas_borradas": 0}
