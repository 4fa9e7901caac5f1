from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memoria.almacen import embeddings_configurados
from memoria.comandos import ComandoMemoria, Plazo, Resultado
from memoria.preparacion import preparar


class Command(ComandoMemoria):
    help = gettext_lazy(  # type: ignore[assignment]  # read when shown
        "Crea o actualiza las tablas, los roles, los índices y los permisos. Se puede repetir."
    )
    base_de_datos = "owner"
    antes_de_preparar = True

    def ejecutar(self, plazo: Plazo, **opciones: Any) -> Resultado:
        datos = preparar(embeddings_configurados())
        return Resultado(
            datos,
            _("Base de datos preparada: pgvector %(version)s, vectores de %(dims)s dimensiones.")
            % {"version": datos["extension_vector"], "dims": datos["dims"]},
            recuento={"dims": datos["dims"]},
        )
