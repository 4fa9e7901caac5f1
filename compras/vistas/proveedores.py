"""The suppliers."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from compras import lectura, servicios
from compras.models import Proveedor
from memoria.explorador.acceso import Peticion, con_permiso

PROVEEDORES_POR_PAGINA = 50


@require_safe
@con_permiso("compras.view_proveedor")
def proveedores(request: Peticion) -> HttpResponse:
    """The suppliers by code, with how many notices in force each has."""
    consulta = Proveedor.objects.order_by("codigo")
    despues = request.GET.get("despues", "").replace("\x00", "")
    filas = list(consulta.filter(codigo__gt=despues)[: PROVEEDORES_POR_PAGINA + 1])
    hay_mas = len(filas) > PROVEEDORES_POR_PAGINA
    filas = filas[:PROVEEDORES_POR_PAGINA]
    recuento = lectura.vigentes_por_proveedor(p.codigo for p in filas)
    return render(
        request,
        "compras/proveedores.html",
        {
            "title": _("Proveedores"),
            "filas": [{"proveedor": p, "avisos": recuento[p.codigo]} for p in filas],
            "primera": "?" if despues else None,
            "siguiente": f"?{urlencode({'despues': filas[-1].codigo})}" if hay_mas else None,
            "puede_ver_avisos": request.user.has_perm(servicios.VER),
        },
    )
