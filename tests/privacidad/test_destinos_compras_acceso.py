"""What texts of the house say of a person: in their access file when found, sealed when erased."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.utils import timezone

from compras import servicios as compras
from compras.models import Proveedor
from memoria.documentos import servicios as documentos
from memoria.identificadores import Clase, normalizar
from privacidad import copias, de_la_casa, plazos, servicios
from privacidad.estados import Estado
from privacidad.identificadores import Buscados
from privacidad.models import Expediente, Solicitud
from tests.privacidad.lector import leer
from tests.privacidad.test_acceso import bajado, contenido

TELEFONO = {"telefono": "612345678"}
ADMITIDO = {"identificadores": ["telefono"], "motivo": "Lo pide la del 612345678"}


@pytest.fixture
def lola(persona: Callable[..., Any]) -> Any:
    quien = persona("compras", nombre="lola")
    quien.user_permissions.set(Permission.objects.filter(content_type__app_label="documentos"))
    return quien


@pytest.fixture
def avisar(lola: Any) -> Callable[..., str]:
    """``avisar("Llamar al 612345678")``: the key of a notice of P1, perhaps withdrawn."""

    def uno(texto: str, *, codigo: str = "P1", retirado: str = "", admitidos: Any = None) -> str:
        proveedor = Proveedor.objects.get_or_create(codigo=codigo, defaults={"nombre": "Alfares"})[0]
        clave = compras.escribir(
            proveedor=proveedor, texto=texto, fecha=timezone.localdate(), por=lola, admitidos=admitidos
        )
        if retirado:
            compras.retirar(proveedor=proveedor, clave=clave, motivo="otro", explicacion=retirado, por=lola)
        return clave

    return uno


def expediente(espacio: str, sujeto_id: str, por: Any) -> Expediente:
    return servicios.producir(espacio=espacio, sujeto_id=sujeto_id, por=por)


def test_lo_que_dicen_de_ella_los_textos_de_la_casa_hallados_en_su_solicitud(
    avisar: Callable[..., str],
    preferencia: Callable[..., None],
    lola: Any,
    hasta: Callable[..., Any],
    dpo: Any,
) -> None:
    preferencia("C2", "contacto", "por mi hermana, 612345678")  # of somebody else
    avisar("Nada de nadie.\nLlamar a la del 612 34 56 78 o al 655 111 222.\nCierran.")
    avisar("Espera el 612-345-678", retirado="Ya está", admitidos=ADMITIDO)
    documentos.crear(
        espacio="sala", ruta="uno.md", titulo="Uno", texto="# A\n\nAvisar al +34612345678", por=lola
    )
    assert contenido(expediente("clientes", "C1", dpo), dpo)["menciones"] == []
    solicitud = hasta(Estado.REVISADA, "C1", identificadores=TELEFONO)
    hecho = expediente("clientes", "C1", dpo)
    halladas = contenido(hecho, dpo)["menciones"]
    assert {m["solicitud"] for m in halladas} == {solicitud.referencia}
    por_sitio = {m["donde"].rpartition(" · ")[0].partition(" · ")[0]: m["pasajes"] for m in halladas}
    assert por_sitio == {
        # Of somebody else who is named beside her, not the number.
        "proveedores": ["Llamar a la del 612 34 56 78 o al 6•• ••• ••2."],
        "retirados": ["Espera el 612-345-678"],
        "documentos": ["Avisar al +34612345678"],
        "anotaciones": ["Lo pide la del 612345678"],
    }
    assert len(halladas) == 5  # the document and its version
    pdf = leer(bajado(hecho, "pdf", dpo))
    assert "Espera el 612-345-678" in pdf
    assert "hermana" not in json.dumps(contenido(hecho, dpo))


@pytest.mark.parametrize(
    ("texto", "esperados"),
    [
        ("Nada", []),
        ("Uno\nEl 612\n345 678 dos\ntres", ["El 612\n345 678 dos"]),
        ("612345678 y 612345678\n\n612345678", ["612345678 y 612345678", "612345678"]),
        ("ana@ejemplo.es, 612345678", ["a••@•••••••.•s, 612345678"]),
    ],
)
def test_los_pasajes_son_las_lineas_que_la_nombran(texto: str, esperados: list[str]) -> None:
    buscados: Buscados = [("telefono", normalizar(Clase.TELEFONO, "612345678"))]
    assert de_la_casa.pasajes(buscados, texto) == esperados


def test_un_proveedor_recibe_sus_avisos_retirados(avisar: Callable[..., str], dpo: Any) -> None:
    avisar("Cierra en agosto", codigo="AUT1", retirado="Ya abrió")
    avisar("Suben los portes", codigo="AUT2", retirado="Repetido")
    avisar("De otro", codigo="AUT10", retirado="Nada")
    Proveedor.objects.filter(codigo="AUT2").update(
        fusionado_en=Proveedor.objects.get(codigo="AUT1"), activo=False
    )
    hecho = expediente("proveedores", "AUT1", dpo)
    suyos = contenido(hecho, dpo)["avisos_retirados"]
    assert [(r["contenido"]["texto"], r["motivo"], r["explicacion"]) for r in suyos] == [
        ("Cierra en agosto", "otro", "Ya abrió"),
        ("Suben los portes", "otro", "Repetido"),
    ]
    assert all(r["escrito"] and r["retirado"] and r["se_borra"] for r in suyos)
    pdf = leer(bajado(hecho, "pdf", dpo))
    assert "Cierra en agosto" in pdf
    assert "otro; Ya abrió" in pdf
    assert contenido(expediente("clientes", "AUT1", dpo), dpo)["avisos_retirados"] == []


def _sellada(solicitud: Solicitud, dpo: Any, otro_dpo: Any) -> list[dict[str, Any]]:
    for mencion in solicitud.menciones.all():
        servicios.decidir_mencion(mencion=mencion, decision="borrar", motivo="La nombra", por=dpo)
    hasta = plazos.hoy() + timedelta(days=1)
    servicios.decidir_copia(solicitud=solicitud, hasta=hasta, motivo=None, por=dpo)
    servicios.aprobar(solicitud=solicitud, por=otro_dpo)
    servicios.ejecutar(solicitud=solicitud)
    lineas = servicios.abrir_copia(copia=solicitud.copia, motivo="La pide el juzgado", por=dpo)
    return [json.loads(linea) for linea in lineas]


def test_la_copia_guarda_lo_que_se_borro_de_la_casa_porque_la_nombraba(
    avisar: Callable[..., str], hasta: Callable[..., Any], dpo: Any, otro_dpo: Any
) -> None:
    avisar("Espera la del 612-345-678", retirado="Ya está", admitidos=ADMITIDO)
    avisar("Nada de nadie", retirado="Ya está")
    solicitud = hasta(Estado.REVISADA, "C1", identificadores=TELEFONO)
    filas = _sellada(solicitud, dpo, otro_dpo)
    assert Counter(f["tabla"] for f in filas) == {"retirados": 1, "anotaciones": 1}
    por_tabla = {f["tabla"]: f["fila"] for f in filas}
    assert por_tabla["retirados"]["documento"]["texto"] == "Espera la del 612-345-678"
    assert por_tabla["retirados"]["explicacion"] == "Ya está"
    assert "612345678" in por_tabla["anotaciones"]["change_message"]
    # Nobody's of theirs: not for their access file, which could not tell what in it is.
    assert list(copias.leer(solicitud.copia)) == []
    assert contenido(expediente("clientes", "C1", dpo), dpo)["datos_bloqueados"] == []


def test_la_copia_de_un_proveedor_lleva_lo_de_los_codigos_que_se_le_unieron(
    avisar: Callable[..., str], hasta: Callable[..., Any], dpo: Any, otro_dpo: Any
) -> None:
    for codigo in ("AUT1", "AUT2", "AUT10"):
        avisar(f"De {codigo}", codigo=codigo, retirado="Ya está")
    Proveedor.objects.filter(codigo="AUT2").update(
        fusionado_en=Proveedor.objects.get(codigo="AUT1"), activo=False
    )
    solicitud = hasta(Estado.REVISADA, "AUT1", espacio="proveedores")
    filas = _sellada(solicitud, dpo, otro_dpo)
    borrados = solicitud.evidencias.get().destinos["compras"]["borrados"]
    assert borrados == {"retirados": 2, "anotaciones": 4, "nombres": 2}
    assert Counter(f["tabla"] for f in filas) == {
        "compras_retirada": 2,
        "django_admin_log": 4,
        "compras_proveedor": 2,
    }
    assert sorted(f["fila"]["codigo"] for f in filas if f["tabla"] == "compras_proveedor") == [
        "AUT1",
        "AUT2",
    ]
