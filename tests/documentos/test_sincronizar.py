"""The folder and the documents: both ways, no way out, nothing lost, and every hard case told by its name."""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import os
import socket
import threading
import time
import tracemalloc
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from memoria.documentos import lectura, servicios
from memoria.documentos.acceso import en_espacio
from memoria.documentos.carpeta import Carpeta, FicheroRechazado
from memoria.documentos.models import Pagina, Version
from memoria.models import Ejecucion
from tests.documentos.conftest import Escribir

SECRETO = "esto no sale de fuera"


def sincronizar(donde: Path | str, *opciones: str, espacio: str = "compras") -> tuple[dict[str, Any], int]:
    salida, codigo = io.StringIO(), 0
    try:
        call_command(
            "sincronizar_documentos",
            str(donde),
            f"--espacio={espacio}",
            "--json",
            *opciones,
            stdout=salida,
            stderr=io.StringIO(),
        )
    except CommandError as error:
        codigo = error.returncode
    return json.loads(salida.getvalue()), codigo


def cuentas(datos: dict[str, Any]) -> tuple[int, int, int, int]:
    return datos["creados"], datos["actualizados"], datos["sin_cambios"], len(datos["rechazados"])


def motivos(datos: dict[str, Any]) -> dict[str, str]:
    return {r["ruta"]: r["motivo"] for r in datos["rechazados"]}


def documentos(espacio: str = "compras") -> dict[str, str]:
    with en_espacio(espacio):
        return dict(Pagina.objects.vivas().values_list("ruta", "texto"))


@pytest.fixture
def raiz(bd: str, tmp_path: Path) -> Path:
    """The folder, with a secret beside it."""
    (tmp_path / "fuera").mkdir()
    (tmp_path / "fuera" / "secreto.md").write_text(SECRETO)
    donde = tmp_path / "carpeta"
    donde.mkdir()
    return donde


def poner(raiz: Path, ruta: str, texto: str) -> Path:
    fichero = raiz / ruta
    fichero.parent.mkdir(parents=True, exist_ok=True)
    fichero.write_text(texto)
    return fichero


class TestTraer:
    def test_files_become_documents_and_again_nothing(self, raiz: Path) -> None:
        poner(raiz, "portes.md", "# Portes\n\nDesde 300 euros.\n")
        poner(raiz, "acuerdos/a/plazos-de-entrega.md", "---\nimportancia: alta\n---\nDos días.\n")
        poner(raiz, "LEEME.txt", "no")
        poner(raiz, ".git/config.md", "no")
        datos, codigo = sincronizar(raiz)
        assert (cuentas(datos), codigo) == ((2, 0, 0, 0), 0)
        assert datos["secciones_incrustadas"] == 2
        with en_espacio("compras"):
            paginas = {p.ruta: p for p in Pagina.objects.all()}
            versiones = [(v.accion, v.autor_id) for v in Version.objects.all()]
        assert set(paginas) == {"portes.md", "acuerdos/a/plazos-de-entrega.md"}
        otra = paginas["acuerdos/a/plazos-de-entrega.md"]
        assert (otra.titulo, otra.importancia, otra.texto) == ("Plazos de entrega", "alta", "Dos días.")
        assert versiones == [("creada", None)] * 2
        assert lectura.buscar("compras", "portes")[0][0].ruta == "portes.md"
        assert documentos("sala") == {}
        datos, codigo = sincronizar(raiz)
        assert (cuentas(datos), datos["secciones_incrustadas"], codigo) == ((0, 0, 2, 0), 0, 0)
        ejecucion = Ejecucion.objects.latest("pk")
        assert (ejecucion.comando, ejecucion.codigo, ejecucion.recuento["sin_cambios"]) == (
            "sincronizar_documentos",
            0,
            2,
        )

    def test_a_heading_with_more_than_there_is_a_place_for_is_refused(self, raiz: Path) -> None:
        poner(
            raiz, "portes.md", "---\ntitulo: Normas\nimportancia: alta\netiqueta: x\n---\nDesde 300 euros.\n"
        )
        datos, codigo = sincronizar(raiz)
        assert (cuentas(datos), codigo) == ((0, 0, 0, 1), 3)
        assert "cabecera" in datos["rechazados"][0]["motivo"]
        assert documentos() == {}

    def test_of_two_that_only_differ_in_capitals_one_is_refused(self, raiz: Path, escribir: Escribir) -> None:
        escribir("portes.md")
        for nombre in ("Portes.md", "PLAZOS.md", "plazos.md"):
            poner(raiz, nombre, "De la carpeta.")
        datos, codigo = sincronizar(raiz)
        assert (cuentas(datos), codigo) == ((1, 0, 0, 2), 3)
        assert all("otras mayúsculas" in r["motivo"] for r in datos["rechazados"])
        assert len(documentos()) == 2

    def test_a_changed_file_is_a_version_more(self, raiz: Path) -> None:
        fichero = poner(raiz, "portes.md", "# Portes\n\nUno.")
        sincronizar(raiz)
        fichero.write_text("# Portes\n\nDos.")
        assert cuentas(sincronizar(raiz)[0]) == (0, 1, 0, 0)
        with en_espacio("compras"):
            assert list(Version.objects.order_by("numero").values_list("numero", "accion", "texto")) == [
                (1, "creada", "# Portes\n\nUno."),
                (2, "importada", "# Portes\n\nDos."),
            ]
        assert (
            not lectura.buscar("compras", "uno")[0]
            or "Uno" not in lectura.buscar("compras", "uno")[0][0].texto
        )

    def test_what_changed_in_the_application_alone_is_left(self, raiz: Path, escribir: Escribir) -> None:
        fichero = poner(raiz, "portes.md", "# Portes\n\nUno.")
        sincronizar(raiz)
        _cambiar("portes.md", "De la aplicación.")
        datos, codigo = sincronizar(raiz)
        assert (cuentas(datos), datos["mas_recientes"], codigo) == ((0, 0, 1, 0), 1, 0)
        assert documentos() == {"portes.md": "De la aplicación."}
        # Changed on both sides the file wins, and what the page said is in its history.
        fichero.write_text("# Portes\n\nDe la carpeta.")
        assert cuentas(sincronizar(raiz)[0]) == (0, 1, 0, 0)
        with en_espacio("compras"):
            assert Version.objects.get(numero=2).texto == "De la aplicación."

    def test_what_is_in_the_application_only_is_told_and_not_deleted(
        self, raiz: Path, escribir: Escribir
    ) -> None:
        escribir("solo.md")
        poner(raiz, "portes.md", "Hola.")
        datos, codigo = sincronizar(raiz)
        assert (datos["solo_en_la_aplicacion"], codigo) == (1, 0)
        assert set(documentos()) == {"solo.md", "portes.md"}

    def test_what_somebody_deleted_does_not_come_back_by_itself(self, raiz: Path, persona: Any) -> None:
        poner(raiz, "portes.md", "Hola.")
        sincronizar(raiz)
        with en_espacio("compras"):
            pagina = Pagina.objects.get()
        servicios.borrar(
            espacio="compras", pagina_id=pagina.pk, version=1, motivo="No vale", por=persona("compras")
        )
        datos, codigo = sincronizar(raiz)
        assert (cuentas(datos), codigo) == ((0, 0, 0, 1), 3)
        assert "Se borró en la aplicación" in motivos(datos)["portes.md"]
        assert documentos() == {}

    def test_a_trial_run_writes_nothing(self, raiz: Path) -> None:
        poner(raiz, "portes.md", "Hola.")
        datos, codigo = sincronizar(raiz, "--dry-run")
        assert (cuentas(datos), datos["simulado"], codigo) == ((1, 0, 0, 0), True, 0)
        assert documentos() == {}

    def test_many_in_batches_and_stopping_in_time(self, raiz: Path) -> None:
        for n in range(120):
            poner(raiz, f"c{n % 7}/d{n}.md", f"# D{n}\n\nTexto {n}.")
        (raiz / "c0" / "malo.md").write_bytes(b"\xff")
        datos, codigo = sincronizar(raiz, "--batch-size=25")
        assert (cuentas(datos), codigo) == ((120, 0, 0, 1), 3)
        assert len(documentos()) == 120

    @pytest.mark.parametrize("opciones", [(), ("--export",), ("--dry-run",)])
    def test_no_folder_at_all_is_not_the_one_the_order_was_given_in(
        self, raiz: Path, monkeypatch: pytest.MonkeyPatch, opciones: tuple[str, ...]
    ) -> None:
        poner(raiz, "portes.md", "Hola.")
        monkeypatch.chdir(raiz)
        datos, codigo = sincronizar("", *opciones)
        assert (datos["error"], codigo) == ("No ha dicho qué carpeta.", 2)
        assert documentos() == {}

    def test_ten_thousand_files_in_constant_memory_and_the_bad_by_name(self, raiz: Path) -> None:
        """Ten times the files take no more memory: only the names of the bad ones are kept."""
        picos = []
        for desde, hasta in ((0, 1_000), (1_000, 10_000)):
            paginas = []
            for n in range(desde, hasta):
                ruta, texto = f"c{n % 50}/d{n}.md", f"Texto {n}."
                octetos = poner(raiz, ruta, texto if n % 250 else "nulo\x00").read_bytes()
                if n % 250 and n % 10:
                    huella = hashlib.sha256(octetos).hexdigest()
                    paginas.append(
                        Pagina(
                            espacio="compras", ruta=ruta, titulo=f"D{n}", texto=texto, huella_fichero=huella
                        )
                    )
            with en_espacio("compras"):
                Pagina.objects.bulk_create(paginas)
            tracemalloc.start()
            try:
                datos, codigo = sincronizar(raiz, "--dry-run")
                picos.append(tracemalloc.get_traced_memory()[1])
            finally:
                tracemalloc.stop()
        assert (cuentas(datos), codigo) == ((960, 0, 9_000, 40), 3)
        assert set(motivos(datos)) == {f"c{n % 50}/d{n}.md" for n in range(0, 10_000, 250)}
        assert all("octetos nulos" in motivo for motivo in motivos(datos).values())
        assert picos[1] < 1.5 * picos[0] + 100_000, picos

    @pytest.mark.parametrize("mal", ["no-existe", "fichero.md"])
    def test_what_is_no_folder(self, raiz: Path, mal: str) -> None:
        poner(raiz, "fichero.md", "x")
        datos, codigo = sincronizar(raiz / mal)
        assert codigo == 2
        assert "No se puede abrir la carpeta" in datos["error"]


class TestSinSalida:
    """What is hard is refused by its name, and the rest is synchronised."""

    @pytest.fixture
    def con_trampas(self, raiz: Path) -> Path:
        fuera = raiz.parent / "fuera"
        poner(raiz, "bien.md", "Bien.")
        poner(raiz, "carpeta/bien.md", "Bien.")
        (raiz / "enlace.md").symlink_to(fuera / "secreto.md")
        (raiz / "enlace-relativo.md").symlink_to("../fuera/secreto.md")
        (raiz / "roto.md").symlink_to("nada")
        (raiz / "propio.md").symlink_to("bien.md")
        (raiz / "carpeta-enlazada").symlink_to(fuera)
        (raiz / "bucle").symlink_to(raiz)
        os.link(fuera / "secreto.md", raiz / "duro.md")
        os.mkfifo(raiz / "tuberia.md")
        (raiz / "salto\nde linea.md").write_text("x")
        (raiz / "contra\\barra.md").write_text("x")
        (raiz / "..oculto.md").write_text("x")
        (raiz / "MAYUSCULAS.MD").write_text("x")
        (raiz / "a\u0301.md").write_text("x")
        (raiz / "es una carpeta.md").mkdir()
        (raiz / "salto\ncarpeta").mkdir()
        (raiz / "salto\ncarpeta" / "x.md").write_text("x")
        with open(os.path.join(os.fsencode(raiz), b"no-utf8-\xff.md"), "w") as f:
            f.write("x")
        (raiz / "binario.md").write_bytes(b"a\x00b")
        (raiz / "latin1.md").write_bytes("año".encode("latin-1"))
        (raiz / "grande.md").write_bytes(b"a" * 900_001)
        (raiz / "largo.md").write_text("a" * 200_001)
        (raiz / "control.md").write_text("a\x07")
        return raiz

    def test_every_hard_case_is_refused_by_name_and_the_rest_goes_on(self, con_trampas: Path) -> None:
        with suppress(OSError), socket.socket(socket.AF_UNIX) as enchufe:
            enchufe.bind(str(con_trampas / "enchufe.md"))
        datos, codigo = sincronizar(con_trampas)
        assert codigo == 3
        esperados = {
            "enlace.md": "enlace simbólico",
            "enlace-relativo.md": "enlace simbólico",
            "roto.md": "enlace simbólico",
            "propio.md": "enlace simbólico",
            "carpeta-enlazada": "enlace simbólico",
            "bucle": "enlace simbólico",
            "duro.md": "enlace duro",
            "tuberia.md": "corriente",
            "enchufe.md": "corriente",
            "salto\\nde linea.md": "caracteres",
            "contra\\barra.md": "caracteres",
            "..oculto.md": "punto",
            "MAYUSCULAS.MD": "termina en «.md»",
            "a\u0301.md": "acentos",
            "es una carpeta.md": "no termina en «.md»",
            "salto\\ncarpeta": "caracteres",
            "no-utf8-\\xff.md": "caracteres",
            "binario.md": "octetos nulos",
            "latin1.md": "UTF-8",
            "grande.md": "900000 octetos",
            "largo.md": "caben 200000",
            "control.md": "invisibles",
        }
        dichos = motivos(datos)
        assert set(dichos) == set(esperados)
        for nombre, parte in esperados.items():
            assert parte in dichos[nombre].replace(".000", "000"), nombre
        assert cuentas(datos)[0] == 2
        assert documentos() == {"bien.md": "Bien.", "carpeta/bien.md": "Bien."}
        assert SECRETO not in json.dumps(datos)

    def test_a_folder_that_cannot_be_read_is_told(self, raiz: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        poner(raiz, "cerrada/a.md", "x")
        poner(raiz, "bien.md", "Bien.")
        if os.geteuid() == 0:
            abrir = os.open

            def como_otro(donde: Any, *args: Any, **kwargs: Any) -> int:
                if donde == "cerrada":  # root opens everything: this is what another user is told
                    raise PermissionError(13, "Permission denied", donde)
                return abrir(donde, *args, **kwargs)

            monkeypatch.setattr(os, "open", como_otro)
        else:
            (raiz / "cerrada").chmod(0)
        datos, codigo = sincronizar(raiz)
        (raiz / "cerrada").chmod(0o755)
        assert motivos(datos) == {"cerrada": "No hay permiso."}
        assert (datos["creados"], codigo) == (1, 3)

    @pytest.mark.parametrize("que", ["fichero", "carpeta"])
    def test_one_swapped_for_a_link_between_looking_and_opening(
        self, raiz: Path, monkeypatch: pytest.MonkeyPatch, que: str
    ) -> None:
        """At the very moment: after the listing said what it was, before it is opened."""
        fuera = raiz.parent / "fuera"
        poner(raiz, "sub/secreto.md", "Propio.")
        victima = raiz / "sub" / "secreto.md" if que == "fichero" else raiz / "sub"
        abrir = os.open

        def con_cambio(donde: Any, *args: Any, **kwargs: Any) -> int:
            if donde == victima.name and kwargs.get("dir_fd") is not None and not victima.is_symlink():
                victima.rename(raiz.parent / "apartado")
                victima.symlink_to(fuera / "secreto.md" if que == "fichero" else fuera)
            return abrir(donde, *args, **kwargs)

        monkeypatch.setattr(os, "open", con_cambio)
        datos, codigo = sincronizar(raiz)
        assert victima.is_symlink(), "the swap has to have happened"
        assert (cuentas(datos), codigo) == ((0, 0, 0, 1), 3)
        assert "enlace simbólico" in next(iter(motivos(datos).values()))
        assert documentos() == {}

    def test_swapping_all_the_time_never_lets_the_secret_in(self, raiz: Path) -> None:
        fuera = raiz.parent / "fuera"
        poner(raiz, "sub/secreto.md", "Propio.")
        parar = threading.Event()

        def cambiar() -> None:
            while not parar.is_set():
                time.sleep(0.0005)
                (raiz / "sub").rename(raiz.parent / "apartado")
                (raiz / "sub").symlink_to(fuera)
                time.sleep(0.0005)
                (raiz / "sub").unlink()
                (raiz.parent / "apartado").rename(raiz / "sub")

        hilo = threading.Thread(target=cambiar)
        hilo.start()
        vistos: Counter[bytes] = Counter()
        leidos: Counter[bytes | None] = Counter()
        negados = 0
        try:
            with Carpeta(raiz) as abierta:
                for vez in itertools.count():
                    # A busy machine may not let the other thread in for a while.
                    if vez >= 3000 and negados and leidos[b"Propio."] and len(vistos) == 2:
                        break
                    assert vez < 300_000, "the link has to have been met"
                    vistos.update(h.octetos for h in abierta.recorrer())
                    try:
                        leidos[abierta.leer("sub/secreto.md")] += 1
                    except FicheroRechazado:
                        negados += 1
        finally:
            parar.set()
            hilo.join()
        assert set(vistos) == {b"Propio.", b""}, "what is refused has no contents"
        assert set(leidos) <= {b"Propio.", None}


class TestLlevar:
    def test_documents_become_files_and_again_nothing(self, raiz: Path, escribir: Escribir) -> None:
        escribir("portes.md", "# Portes\n\nDesde 300 euros.", titulo="Portes")
        escribir("acuerdos/a/plazos.md", "Dos días.", titulo="Los plazos", importancia="alta")
        escribir("tienda.md", espacio="sala")
        datos, codigo = sincronizar(raiz / "nueva", "--export")
        assert (cuentas(datos), codigo) == ((2, 0, 0, 0), 0)
        nueva = raiz / "nueva"
        assert (nueva / "portes.md").read_text() == "# Portes\n\nDesde 300 euros.\n"
        assert (nueva / "acuerdos/a/plazos.md").read_text() == (
            "---\ntitulo: Los plazos\nimportancia: alta\n---\nDos días.\n"
        )
        assert sorted(p.name for p in nueva.rglob("*")) == ["a", "acuerdos", "plazos.md", "portes.md"]
        antes = (nueva / "portes.md").stat()
        assert cuentas(sincronizar(nueva, "--export")[0]) == (0, 0, 2, 0)
        assert (nueva / "portes.md").stat().st_mtime_ns == antes.st_mtime_ns, "not even written again"
        # There and back: nothing is different.
        assert cuentas(sincronizar(nueva)[0]) == (0, 0, 2, 0)

    def test_a_changed_page_is_written_and_a_changed_file_is_not_lost(
        self, raiz: Path, escribir: Escribir
    ) -> None:
        escribir("a.md", "Uno.")
        escribir("b.md", "Uno.")
        sincronizar(raiz, "--export")
        _cambiar("a.md", "Dos.")
        (raiz / "b.md").write_text("De la carpeta.\n")
        datos, codigo = sincronizar(raiz, "--export")
        assert (cuentas(datos), codigo) == ((0, 1, 0, 1), 3)
        assert "impórtelo antes" in motivos(datos)["b.md"]
        assert (raiz / "a.md").read_text() == "Dos.\n"
        assert (raiz / "b.md").read_text() == "De la carpeta.\n"

    def test_what_is_in_the_folder_only_is_told_and_not_deleted(self, raiz: Path, escribir: Escribir) -> None:
        poner(raiz, "otro.md", "x")
        escribir("a.md")
        datos, codigo = sincronizar(raiz, "--export")
        assert (datos["solo_en_la_carpeta"], datos["creados"], codigo) == (1, 1, 0)
        assert (raiz / "otro.md").read_text() == "x"

    def test_a_trial_run_writes_nothing(self, raiz: Path, escribir: Escribir) -> None:
        escribir("c/a.md")
        assert cuentas(sincronizar(raiz, "--export", "--dry-run")[0]) == (1, 0, 0, 0)
        assert list(raiz.iterdir()) == []
        assert cuentas(sincronizar(raiz / "no-existe", "--export", "--dry-run")[0]) == (1, 0, 0, 0)
        assert not (raiz / "no-existe").exists()

    @pytest.mark.parametrize("trampa", ["fichero", "carpeta", "directorio", "tuberia", "colgante"])
    def test_what_is_in_the_way_is_refused_and_nothing_is_written_outside(
        self, raiz: Path, escribir: Escribir, trampa: str
    ) -> None:
        escribir("sub/secreto.md", "De dentro.")
        escribir("bien.md")
        fuera = raiz.parent / "fuera"
        if trampa == "carpeta":
            (raiz / "sub").symlink_to(fuera)
        else:
            (raiz / "sub").mkdir()
            en = raiz / "sub" / "secreto.md"
            if trampa == "directorio":
                en.mkdir()
            elif trampa == "tuberia":
                os.mkfifo(en)
            else:
                en.symlink_to(fuera / ("secreto.md" if trampa == "fichero" else "nuevo.md"))
        datos, codigo = sincronizar(raiz, "--export")
        assert (cuentas(datos), codigo) == ((1, 0, 0, 1), 3)
        assert list(motivos(datos)) == ["sub/secreto.md"]
        assert {p.name: p.read_text() for p in fuera.iterdir()} == {"secreto.md": SECRETO}
        assert (raiz / "bien.md").exists()

    def test_a_path_that_no_code_of_ours_wrote_goes_nowhere(
        self, raiz: Path, escribir: Escribir, propietario: Any
    ) -> None:
        for n, mala in enumerate(("../fuera/secreto.md", "/tmp/fuera.md", "a\n.md", "..", "a/../../b.md")):  # noqa: S108
            pagina = escribir(f"mala{n}.md", "De dentro.")
            propietario.execute("UPDATE documentos_pagina SET ruta = %s WHERE id = %s", [mala, pagina.pk])
        datos, codigo = sincronizar(raiz, "--export")
        assert (cuentas(datos), codigo) == ((0, 0, 0, 5), 3)
        assert list(raiz.iterdir()) == []
        assert (raiz.parent / "fuera" / "secreto.md").read_text() == SECRETO

    def test_a_file_is_whole_or_not_there(
        self, raiz: Path, escribir: Escribir, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The disk fills up halfway: what there was is still there, and no half of anything."""
        escribir("a.md", "Uno.")
        sincronizar(raiz, "--export")
        _cambiar("a.md", "Dos.")

        def lleno(_fd: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", lleno)
        datos, codigo = sincronizar(raiz, "--export")
        assert (motivos(datos), codigo) == ({"a.md": "No queda sitio en el disco."}, 3)
        assert [(p.name, p.read_text()) for p in raiz.iterdir()] == [("a.md", "Uno.\n")]


def _cambiar(ruta: str, texto: str) -> None:
    from django.contrib.auth.models import User

    with en_espacio("compras"):
        pagina = Pagina.objects.get(ruta=ruta)
    autora, _ = User.objects.get_or_create(username="quien-cambia", defaults={"is_superuser": True})
    servicios.cambiar(
        espacio="compras",
        pagina_id=pagina.pk,
        version=pagina.version,
        titulo=pagina.titulo,
        texto=texto,
        importancia=pagina.importancia,
        por=autora,
    )
