from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memoria.comandos import ComandoMemoria, Plazo, Resultado, Salida
from privacidad import destinos, recordatorios, servicios, vigilancia
from privacidad.errores import ErrorDePrivacidad, OtraSolicitudAbierta, TransicionNoPermitida
from privacidad.estados import Estado
from privacidad.models import Gestion, Solicitud


class Command(ComandoMemoria):
    help = gettext_lazy(  # type: ignore[assignment]  # read when shown
        "Vuelve a buscar a cada persona suprimida, abre de nuevo lo que reaparece y avisa por correo de los "
        "plazos."
    )
    cambia_datos = True

    def ejecutar(self, plazo: Plazo, **opciones: Any) -> Resultado:
        simular = bool(opciones["dry_run"])
        busqueda = vigilancia.buscar(cuantos=opciones["batch_size"], agotado=lambda: plazo.agotado)
        reaparecidas = sum(self._reabrir(hallazgo, simular) for hallazgo in busqueda.hallazgos)
        menciones = self._menciones()
        for referencia in busqueda.sin_solicitud:
            self.avisar(
                _(
                    "%(referencia)s: ha reaparecido, y su solicitud se perdió al restaurar una copia. "
                    "Ejecute «reaplicar_supresiones» con el registro exportado, que la rehace y lo borra."
                )
                % {"referencia": referencia}
            )
        completadas, fallidas = (0, 0) if simular else self._verificar(plazo)
        enviados, avisado = self._recordar(simular)
        for nombre, motivo in busqueda.sin_respuesta.items():
            self.avisar(f"{destinos.destino(nombre).etiqueta}: {motivo}")
        if not busqueda.completa:
            self.avisar(
                _("No ha dado tiempo a buscar en todos los sitios: la próxima ejecución empieza de nuevo.")
            )
        datos = {
            "verificadas": busqueda.suprimidos if busqueda.completa and not busqueda.sin_respuesta else 0,
            "reaparecidas": reaparecidas,
            "sin_solicitud": busqueda.sin_solicitud,
            "menciones_reaparecidas": menciones,
            "completadas": completadas,
            "por_verificar": Gestion.objects.filter(estado=Gestion.Estado.POR_VERIFICAR).count(),
            "recordatorios": enviados,
            "sin_respuesta": sorted(busqueda.sin_respuesta),
            "simulado": simular,
        }
        frase = _(
            "Personas suprimidas que se han vuelto a buscar: %(verificadas)d; reaparecidas: "
            "%(reaparecidas)d; recordatorios: %(recordatorios)d."
        )
        por_hacer = bool(menciones or busqueda.sin_solicitud)
        bien = busqueda.completa and not busqueda.sin_respuesta and avisado and not por_hacer and not fallidas
        return Resultado(datos, frase % datos, Salida.HECHO if bien else Salida.PARCIAL)

    def _reabrir(self, hallazgo: vigilancia.Hallazgo, simular: bool) -> bool:
        """Whether the request of what was found is open again, or was and has it to do again."""
        solicitud = Solicitud.objects.get(pk=hallazgo.solicitud_id)
        if hallazgo.parcial:
            return self._reabrir_fuera(solicitud, hallazgo.destinos, simular)
        try:
            with transaction.atomic():
                servicios.reabrir(
                    solicitud=solicitud, sujeto_id=hallazgo.sujeto_id, hallado=hallazgo.destinos
                )
                transaction.set_rollback(simular)
        except (TransicionNoPermitida, OtraSolicitudAbierta):
            return False  # somebody else was quicker: it is open, and the run will erase it
        self.avisar(_("%(referencia)s: ha reaparecido.") % {"referencia": solicitud.referencia})
        return True

    def _reabrir_fuera(self, solicitud: Solicitud, donde: Collection[str], simular: bool) -> bool:
        """Whether what came back to some external destination of a partial request is to be erased again."""
        with transaction.atomic():
            vuelve = [d for d in donde if servicios.reabrir_fuera(solicitud=solicitud, destino=d)]
            transaction.set_rollback(simular)
        for nombre in vuelve:
            self.avisar(
                _("%(referencia)s: ha vuelto algo a «%(destino)s». La próxima ejecución lo borra otra vez.")
                % {"referencia": solicitud.referencia, "destino": destinos.destino(nombre).etiqueta}
            )
        return bool(vuelve)

    def _menciones(self) -> list[str]:
        """The requests of which a row of somebody else, erased because it named the person, is there again.

        Nobody knows here any more who the person was, so the request cannot be opened again.
        """
        vueltas = Solicitud.objects.filter(pk__in=destinos.menciones.reaparecidas()).order_by("pk")
        for solicitud in vueltas:
            self.avisar(
                _(
                    "%(referencia)s: ha vuelto un dato de otra persona que se borró porque la mencionaba. "
                    "Ejecute «reaplicar_supresiones» con el registro exportado, que lo borra otra vez."
                )
                % {"referencia": solicitud.referencia}
            )
        return [s.referencia for s in vueltas]

    def _verificar(self, plazo: Plazo) -> tuple[int, int]:
        """Read back what was not confirmed yet; how many requests are complete with that, and how many could
        not be looked at."""
        completadas = fallidas = 0
        for solicitud in Solicitud.objects.filter(
            estado=Estado.PARCIAL, gestiones__estado=Gestion.Estado.POR_VERIFICAR
        ).distinct():
            if plazo.agotado:
                break
            try:
                servicios.verificar(solicitud=solicitud)
            except ErrorDePrivacidad as error:
                self.avisar(f"{solicitud.referencia}: {error}")
                fallidas += 1
            completadas += solicitud.estado == Estado.COMPLETADA
        return completadas, fallidas

    def _recordar(self, simular: bool) -> tuple[int, bool]:
        """How many reminders, and whether none failed to go."""
        if simular:
            return sum(map(len, recordatorios.pendientes().values())), True
        try:
            return recordatorios.enviar(), True
        except recordatorios.RecordatorioNoEnviado as error:
            self.avisar(str(error))
            return error.enviados, isinstance(error, recordatorios.NadieAQuienAvisar)
