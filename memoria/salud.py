"""Probes: the process is alive; the process can serve."""

from __future__ import annotations

from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from memoria import preparacion


@never_cache
@require_safe
def livez(request: HttpRequest) -> JsonResponse:
    """200 as long as the process answers; it asks nothing of the database."""
    return JsonResponse({"ok": True})


@never_cache
@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """200 when the database answers and ``preparar`` has run; 503 otherwise. No detail: it is public."""
    try:
        with connection.cursor() as cursor:
            listo = preparacion.esta_preparada(cursor)
    except DatabaseError:
        listo = False
    return JsonResponse({"ok": listo}, status=200 if listo else 503)
