"""Art. 16: what a document says is corrected, and nothing else of it; art. 17 of one datum."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from psycopg.errors import InsufficientPrivilege

from memoria import politica
from memoria.almacen import dimensiones
from memoria.models import Documento
from privacidad import servicios
from privacidad.errores import DatoNoValido, SinPermiso
from privacidad.models import Asiento, Restriccion
from privacidad.registro import en_iso

DE = {"espacio": "clientes", "sujeto_id": "C1", "clave": "pref-idioma"}


def el_dato() -> Documento:
    return Documento.objects.get(prefix="clientes.C1", key="pref-idioma")


def todo(documento: Documento) -> dict[str, Any]:
    return {c.attname: getattr(documento, c.attname) for c in documento._meta.concrete_fields}


def test_rectificar_cambia_lo_que_dice_y_nada_mas(
    preferencia: Callable[..., None], almacen: Any, propietario: Any, dpo: Any
) -> None:
    preferencia("C1", valor="catalan")
    preferencia("C10", valor="catalan")
    propietario.execute(
        "UPDATE langgraph.store SET expires_at = now() + interval '30 days', ttl_minutes = 99999"
    )
    antes, vecino = todo(el_dato()), todo(Documento.objects.get(prefix="clientes.C10"))
    servicios.rectificar(**DE, valor="aranés", visto=antes["updated_at"], por=dpo)
    despues = todo(el_dato())
    assert despues["value"] == {
        **antes["value"],
        "valor": "aranés",
        "texto": "Prefiere que se le hable en: aranés",
    }
    assert despues["updated_at"] > antes["updated_at"]
    assert {**despues, "value": 0, "updated_at": 0} == {**antes, "value": 0, "updated_at": 0}
    assert todo(Documento.objects.get(prefix="clientes.C10")) == vecino
    assert almacen.get(politica.espacio("clientes", "C1"), "pref-idioma").value["valor"] == "aranés"


def test_los_vectores_de_lo_que_ya_no_dice_se_van(
    preferencia: Callable[..., None], propietario: Any, dpo: Any
) -> None:
    preferencia("C1")
    propietario.execute(
        "INSERT INTO langgraph.store_vectors (prefix, key, field_name, embedding)"
        " SELECT prefix, key, 'texto', array_fill(0, ARRAY[%s])::vector FROM langgraph.store",
        [dimensiones(propietario.cursor())],
    )
    servicios.rectificar(**DE, valor="aranés", visto=el_dato().updated_at, por=dpo)
    assert propietario.execute("SELECT count(*) FROM langgraph.store_vectors").fetchone() == (0,)


def test_lo_que_cambio_entretanto_no_se_pisa(preferencia: Callable[..., None], dpo: Any) -> None:
    preferencia("C1", valor="catalán")
    visto = el_dato().updated_at
    preferencia("C1", valor="inglés")
    for servicio, datos in (
        (servicios.rectificar, {"valor": "aranés"}),
        (servicios.borrar_dato, {"motivo": "No era suyo"}),
    ):
        with pytest.raises(DatoNoValido, match="ha cambiado"):
            servicio(**DE, **datos, visto=visto, por=dpo)
    assert el_dato().value["valor"] == "inglés"
    assert not Asiento.objects.exists()


@pytest.mark.parametrize("valor", ["", "  ", "x" * 201, "a\x00b"])
def test_lo_que_la_politica_no_admite_se_rechaza(
    valor: str, preferencia: Callable[..., None], dpo: Any
) -> None:
    preferencia("C1", valor="catalán")
    with pytest.raises(DatoNoValido):
        servicios.rectificar(**DE, valor=valor, visto=el_dato().updated_at, por=dpo)
    assert el_dato().value["valor"] == "catalán"


def test_solo_preferencias(almacen_compras: Any, dpo: Any) -> None:
    aviso = {"texto": "Cierran en agosto", "fecha": "2026-11-29"}
    almacen_compras.put(politica.espacio("proveedores", "P1"), "a1", aviso)
    visto = Documento.objects.get().updated_at
    for servicio, datos in ((servicios.rectificar, {"valor": "x"}), (servicios.borrar_dato, {"motivo": "x"})):
        with pytest.raises(DatoNoValido, match="lista cerrada"):
            servicio(espacio="proveedores", sujeto_id="P1", clave="a1", visto=visto, por=dpo, **datos)
    assert Documento.objects.get().value == aviso


def test_la_funcion_no_deja_a_la_web_escribir_otra_cosa(
    preferencia: Callable[..., None], almacen_compras: Any, como: Callable[..., Any]
) -> None:
    almacen_compras.put(
        politica.espacio("proveedores", "P1"), "a1", {"texto": "Cierran en agosto", "fecha": "2026-11-29"}
    )
    visto = Documento.objects.get().updated_at
    llamada = "SELECT langgraph.rectificar('proveedores.P1', 'a1', %s, 'x', 'y')"
    assert como("memoria_web").execute(llamada, [visto]).fetchone() == (False,)
    with pytest.raises(InsufficientPrivilege):
        como("memoria_agentes").execute(llamada, [visto])
    preferencia("C1")
    assert (
        como("memoria_web")
        .execute("UPDATE langgraph.store SET value = '{}' WHERE key = 'pref-idioma'")
        .rowcount
        == 0
    )


def test_lo_limitado_se_puede_rectificar_y_sigue_limitado(
    preferencia: Callable[..., None], almacen: Any, dpo: Any
) -> None:
    preferencia("C1", valor="catalán")
    servicios.restringir(**DE, motivo="Dice que no", por=dpo)
    servicios.rectificar(**DE, valor="aranés", visto=el_dato().updated_at, por=dpo)
    assert (el_dato().value["valor"], el_dato().limitado) == ("aranés", True)
    assert almacen.search(politica.espacio("clientes", "C1")) == []


def test_borrar_un_dato_deja_los_demas_y_acaba_con_su_limitacion(
    preferencia: Callable[..., None], dpo: Any
) -> None:
    preferencia("C1")
    preferencia("C1", "horario", "tarde")
    servicios.restringir(**DE, motivo="Dice que no", por=dpo)
    servicios.borrar_dato(**DE, visto=el_dato().updated_at, motivo="No era suyo", por=dpo)
    assert [d.key for d in Documento.objects.all()] == ["pref-horario"]
    limitacion = Restriccion.objects.get()
    assert limitacion.levantada
    assert limitacion.motivo_levantada == "No era suyo"
    preferencia("C1")  # what the person says afterwards is kept again


def test_el_registro_no_guarda_ni_lo_de_antes_ni_lo_de_ahora(
    preferencia: Callable[..., None], dpo: Any, apariciones: Callable[[str], list[str]]
) -> None:
    preferencia("C1", valor="volapük")
    visto = el_dato().updated_at
    servicios.rectificar(**DE, valor="esperanto", visto=visto, por=dpo)
    assert [(a.tipo, a.datos) for a in Asiento.objects.all()] == [
        ("rectificacion", {"tipo": "idioma", "escrito": en_iso(visto)})
    ]
    assert apariciones("volapük") == []
    assert apariciones("esperanto") == ["langgraph.store"]


def test_sin_permiso_no_se_toca_nada(preferencia: Callable[..., None], persona: Callable[..., Any]) -> None:
    preferencia("C1", valor="catalán")
    otro, visto = persona("operaciones"), el_dato().updated_at
    with pytest.raises(SinPermiso):
        servicios.rectificar(**DE, valor="x", visto=visto, por=otro)
    with pytest.raises(SinPermiso):
        servicios.borrar_dato(**DE, visto=visto, motivo="x", por=otro)
    assert el_dato().value["valor"] == "catalán"


def test_lo_que_no_esta_no_se_rectifica(bd: str, dpo: Any) -> None:
    from django.utils import timezone

    with pytest.raises(DatoNoValido, match="ya no está"):
        servicios.rectificar(**DE, valor="x", visto=timezone.now() - timedelta(1), por=dpo)
