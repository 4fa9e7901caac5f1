from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group, User
from django.core.management.base import CommandError, CommandParser
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memoria import grupos, servidor
from memoria.almacen import abrir_almacen, embeddings_configurados
from memoria.comandos import ComandoMemoria, Plazo, Resultado, Salida
from memoria.hilos import abrir_checkpointer
from memoria.models import Documento, Ejecucion, Hilo
from memoria.muestra import conversaciones, formularios
from memoria.preparacion import preparar

#: One person per group, a second data protection officer for the four eyes, and an administrator.
PERSONAS = (*((grupo, grupo) for grupo in grupos.GRUPOS), ("dpo2", "dpo"), ("admin", None))

PUERTO_MAXIMO = 65_535


class Command(ComandoMemoria):
    help = gettext_lazy(  # type: ignore[assignment]  # read when shown
        "Prepara el servidor incorporado, lo llena de datos de muestra y sirve la aplicación."
    )
    base_de_datos = "owner"
    antes_de_preparar = True

    def opciones(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=_puerto, default=8000, help=_("puerto en el que servir"))
        parser.add_argument(
            "--no-server", action="store_true", help=_("prepara y llena, y termina sin servir")
        )

    def handle(self, *args: Any, **opciones: Any) -> None:
        if settings.EMBEBIDO and not settings.SITE_URL:
            # What is printed says where it is checked; gunicorn gets it from the environment.
            settings.SITE_URL = os.environ["SITE_URL"] = f"http://localhost:{opciones['port']}"
        super().handle(*args, **opciones)
        if not opciones["no_server"]:
            servir(opciones["port"])

    def ejecutar(self, plazo: Plazo, **opciones: Any) -> Resultado:
        if not settings.EMBEBIDO:
            raise CommandError(
                _("La demostración solo llena el servidor incorporado: quite DATABASE_URL y repita."),
                returncode=Salida.USO,
            )
        if not opciones["no_server"]:
            _comprobar_puerto(opciones["port"])
        self.avisar(_("Preparando la base de datos…"))
        preparar(embeddings_configurados())
        clave = servidor.secreto("clave_demo", prefijo="demo-", octetos=6)
        usuarios = [_persona(nombre, grupo, clave) for nombre, grupo in PERSONAS]
        self._llenar(plazo)
        url = f"http://localhost:{opciones['port']}/"
        datos = {
            "url": url,
            "usuarios": usuarios,
            "clientes": _sujetos("clientes"),
            "avisos": Documento.objects.del_espacio("proveedores").vigentes().count(),
            "hilos": Hilo.objects.count(),
        }
        administracion = _("administración")
        lineas = [
            _("Memoria está en %(url)s") % {"url": url},
            _("Entre con cualquiera de estas personas; la clave de todas es %(clave)s") % {"clave": clave},
            *(f"  {u['usuario']:<12} {u['grupo'] or administracion}" for u in usuarios),
        ]
        recuento = {k: datos[k] for k in ("clientes", "avisos", "hilos")}
        return Resultado(datos, "\n".join(lineas), recuento=recuento)

    def _llenar(self, plazo: Plazo) -> None:
        """Fill once: after a run that ended well, what people change stays as they leave it.

        A run that was told to stop, or killed, is taken up where it stopped: what is already there is not
        written again.
        """
        if Ejecucion.objects.filter(comando="demo", codigo=Salida.HECHO).exists():
            return
        self.avisar(_("Escribiendo los avisos de proveedor en su formulario…"))
        formularios.escribir_avisos(User.objects.get(username="compras"), timezone.localdate())
        _seguir(plazo)
        self.avisar(_("Escribiendo los documentos en su formulario…"))
        formularios.escribir_documentos(User.objects.get(username="admin"))
        self.avisar(_("Conversando con los agentes…"))
        with abrir_almacen() as almacen, abrir_checkpointer() as hilos:
            hechos = set(Hilo.objects.values_list("thread_id", flat=True))
            conversaciones.conversar_clientes(almacen, hilos, hechos)
            _seguir(plazo)
            conversaciones.conversar_empleados(almacen, hilos, hechos)
        _seguir(plazo)
        if not formularios.hay_solicitudes(User.objects.get(username="dpo")):
            self.avisar(_("Tramitando una solicitud de supresión y registrando otra…"))
            formularios.tramitar_supresion(
                User.objects.get(username="dpo"),
                User.objects.get(username="dpo2"),
                suprimido="C7",
                pendiente="C12",
                recibida=timezone.localdate() - timedelta(days=1),
            )
        _seguir(plazo)


def _seguir(plazo: Plazo) -> None:
    """Not, once it has been told to stop: it would go on to serve."""
    if plazo.agotado:
        raise CommandError(
            _("Se ha parado a medias: repita la orden y seguirá donde estaba."), returncode=Salida.PARCIAL
        )


def servir(puerto: int) -> None:
    """Serve with gunicorn until it is told to stop; its signals are ours."""
    entorno = {**os.environ, "HTTPS": "off"}  # localhost, with no certificate
    orden = [
        *(sys.executable, "-m", "gunicorn", "memoria.wsgi", "--bind", f"127.0.0.1:{puerto}"),
        *("--workers", "2", "--threads", "4", "--no-control-socket"),
    ]
    with subprocess.Popen(orden, env=entorno, cwd=settings.BASE_DIR) as gunicorn:  # noqa: S603 - constants
        for senal in (signal.SIGTERM, signal.SIGINT):
            signal.signal(senal, lambda numero, marco: gunicorn.send_signal(numero))
        if gunicorn.wait():
            raise CommandError(_("gunicorn ha terminado con un error."), returncode=Salida.FALLO)


def _puerto(texto: str) -> int:
    """An argparse type: a port that can be listened on."""
    try:
        puerto = int(texto)
    except ValueError:
        puerto = 0
    if not 1 <= puerto <= PUERTO_MAXIMO:
        raise argparse.ArgumentTypeError(
            _("no es un puerto válido: debe ser un número entero entre 1 y %(maximo)s")
            % {"maximo": PUERTO_MAXIMO}
        )
    return puerto


def _comprobar_puerto(puerto: int) -> None:
    with socket.socket() as prueba:
        prueba.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            prueba.bind(("127.0.0.1", puerto))
        except OSError:
            raise CommandError(
                _("El puerto %(puerto)s no está libre: elija otro con --port.") % {"puerto": puerto},
                returncode=Salida.USO,
            ) from None


def _persona(nombre: str, grupo: str | None, clave: str) -> dict[str, Any]:
    with transaction.atomic():  # somebody half made could not log in, and would never be finished
        usuario, nueva = User.objects.get_or_create(
            username=nombre,
            defaults={
                "is_staff": True,
                "is_superuser": grupo is None,
                # Reminders are sent to an address; this one reaches nobody (RFC 2606).
                "email": f"{nombre}@demo.invalid",
            },
        )
        if nueva:
            usuario.set_password(clave)
            usuario.save(update_fields=["password"])
            if grupo:
                usuario.groups.add(Group.objects.get(name=grupo))
    return {"usuario": nombre, "clave": clave, "grupo": grupo}


def _sujetos(espacio: str) -> int:
    return Documento.objects.del_espacio(espacio).values("prefix").distinct().count()
