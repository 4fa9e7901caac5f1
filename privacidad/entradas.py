"""What this application keeps of an employee because they sign in with their id, for their access file.

The account, each sign-in, each attempt and each open session, with the address it came from. Not what would
let somebody in with it (passwords and session keys), nor what else was sent with the form of an attempt:
technical values of the page, which grow with each failure. ``NO_INCLUYE`` says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import connection

#: Rows read at a time.
LOTE = 500
ESPACIO = "empleados"

Elemento = dict[str, Any]

NO_INCLUYE = (
    "Lo que serviría para entrar con su cuenta: de la contraseña solo se guarda un resumen que no se puede "
    "deshacer, y la clave de cada sesión abierta no se da porque con ella se entra.",
    "De los intentos fallidos, lo que se envió con el formulario además del nombre y la contraseña, que no "
    "se guardan: son valores técnicos de la página.",
    "Lo que hizo en esta aplicación con su cuenta, como las solicitudes que atendió o lo que anotó: está en "
    "registros sobre otras personas. Puede pedirlo al responsable, que separa lo suyo.",
)


def cuenta(espacio: str, sujeto_id: str) -> Iterator[Elemento]:
    """The account of that employee; none for anybody else."""
    if usuario := _usuario(espacio, sujeto_id):
        yield {
            "usuario": usuario.username,
            "nombre": usuario.get_full_name(),
            "correo": usuario.email,
            "alta": usuario.date_joined.isoformat(),
            "ultima_entrada": usuario.last_login and usuario.last_login.isoformat(),
            "activa": usuario.is_active,
            "grupos": sorted(usuario.groups.values_list("name", flat=True)),
        }


def accesos(espacio: str, sujeto_id: str) -> Iterator[Elemento]:
    """The sessions of that employee and, the latest first, each sign-in and attempt. Each of bounded size."""
    if espacio != ESPACIO:
        return
    yield from _sesiones(_usuario(espacio, sujeto_id))
    with connection.chunked_cursor() as cursor:
        cursor.execute(f"{_ACCESOS} ORDER BY momento DESC, que", {"empleado": sujeto_id})
        nombres = [columna.name for columna in cursor.description]
        while lote := cursor.fetchmany(LOTE):
            for fila in lote:
                elemento = dict(zip(nombres, fila, strict=True))
                yield {
                    **elemento,
                    **{m: elemento[m] and elemento[m].isoformat() for m in ("momento", "salida")},
                }


def contar(espacio: str, sujeto_id: str) -> int:
    """How many sign-ins and attempts :func:`accesos` reads."""
    if espacio != ESPACIO:
        return 0
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM ({_ACCESOS}) AS a", {"empleado": sujeto_id})
        return int(cursor.fetchone()[0])


def _usuario(espacio: str, sujeto_id: str) -> User | None:
    # Exactly their id, as :class:`privacidad.destinos.casa.Casa` has it; PostgreSQL holds no NUL.
    if espacio != ESPACIO or "\x00" in sujeto_id:
        return None
    return User.objects.filter(username=sujeto_id).first()


def _sesiones(usuario: User | None) -> Iterator[Elemento]:
    """A session has no date but that of its end, and says only inside, encoded, whose it is."""
    if usuario is None:
        return
    for sesion in Session.objects.order_by("-expire_date").iterator(chunk_size=LOTE):
        if sesion.get_decoded().get(SESSION_KEY) == str(usuario.pk):
            yield {"que": "sesión abierta", "caduca": sesion.expire_date.isoformat()}


# An attempt is the row by which axes counts those that fail in a row; each of them, if it is kept, is a log.
_ACCESOS = """
SELECT 'entrada' AS que, attempt_time AS momento, host(ip_address) AS direccion, user_agent AS programa,
       http_accept AS formatos, path_info AS pagina, logout_time AS salida, NULL::int AS cuantos,
       NULL::boolean AS bloqueado
FROM public.axes_accesslog WHERE username = %(empleado)s
UNION ALL
SELECT 'intento fallido', attempt_time, host(ip_address), user_agent, http_accept, path_info, NULL, NULL,
       locked_out
FROM public.axes_accessfailurelog WHERE username = %(empleado)s
UNION ALL
SELECT 'intentos fallidos seguidos', attempt_time, host(ip_address), user_agent, http_accept, path_info, NULL,
       failures_since_start, NULL
FROM public.axes_accessattempt WHERE username = %(empleado)s
"""
