"""Reminders: before the deadline, on the day, every day after it, and when something comes back."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable
from datetime import date, timedelta
from smtplib import SMTPServerDisconnected
from typing import Any

import pytest
from django.core import mail
from django.core.mail.backends import locmem
from django.core.management import CommandError, call_command

from privacidad import plazos, recordatorios, servicios
from privacidad.estados import Estado
from privacidad.models import Asiento, Solicitud
from privacidad.recordatorios import Motivo, NadieAQuienAvisar, RecordatorioNoEnviado

Hoy = Callable[[date], None]


@pytest.fixture
def correo(dpo: Any, otro_dpo: Any, persona: Callable[..., Any]) -> list[mail.EmailMessage]:
    """What is sent; one of the two officers has an address, and so do people it is no business of."""
    dpo.email = "dpo@example.com"
    dpo.save()
    baja = persona("dpo", nombre="dpo-baja")
    baja.email, baja.is_active = "baja@example.com", False
    baja.save()
    compras = persona("compras")
    compras.email = "compras@example.com"
    compras.save()
    mail.outbox.clear()
    return mail.outbox


@pytest.fixture
def hoy(monkeypatch: pytest.MonkeyPatch) -> Hoy:
    return lambda dia: monkeypatch.setattr(plazos, "hoy", lambda: dia)


@pytest.fixture
def abierta(recibida: Callable[..., Any]) -> Solicitud:
    solicitud: Solicitud = recibida("canario-C1", dia=date(2026, 11, 2))
    assert solicitud.vence == date(2026, 12, 2)
    return solicitud


@pytest.mark.parametrize(
    ("dias", "asunto"),
    [(-4, None), (-3, "vence pronto"), (-1, "vence pronto"), (0, "vence hoy"), (1, "ha vencido")],
)
def test_segun_lo_que_falta(
    abierta: Solicitud, correo: list[mail.EmailMessage], hoy: Hoy, dias: int, asunto: str | None
) -> None:
    hoy(abierta.vence + timedelta(days=dias))
    assert recordatorios.enviar() == (1 if asunto else 0)
    assert [asunto for m in correo if asunto and asunto in str(m.subject)] == ([asunto] if asunto else [])


def test_dia_a_dia(abierta: Solicitud, correo: list[mail.EmailMessage], hoy: Hoy) -> None:
    enviados = []
    for dias in range(-5, 4):
        hoy(abierta.vence + timedelta(days=dias))
        recordatorios.enviar()
        recordatorios.enviar()  # a second run of the same day sends nothing
        enviados.append(len(correo))
    assert enviados == [0, 0, 1, 1, 1, 2, 3, 4, 5]
    motivos = Asiento.objects.filter(tipo="recordatorio").values_list("datos__motivo", flat=True)
    assert list(motivos) == ["proxima", "vence", "vencida", "vencida", "vencida"]


def test_si_se_amplia_el_plazo_se_vuelve_a_avisar(
    abierta: Solicitud, correo: list[mail.EmailMessage], hoy: Hoy, dpo: Any
) -> None:
    hoy(abierta.vence - timedelta(days=3))
    recordatorios.enviar()
    servicios.ampliar(solicitud=abierta, motivo="Son muchas fuentes.", por=dpo)
    assert recordatorios.enviar() == 0
    hoy(abierta.vence - timedelta(days=3))
    assert recordatorios.enviar() == 1


def test_a_quien_le_toca_y_sin_datos_de_nadie(
    abierta: Solicitud, correo: list[mail.EmailMessage], hoy: Hoy, settings: Any
) -> None:
    settings.SITE_URL = "https://memoria.example"
    hoy(abierta.vence)
    recordatorios.enviar()
    (mensaje,) = correo
    assert mensaje.to == ["dpo@example.com"]
    assert mensaje.from_email == settings.DEFAULT_FROM_EMAIL
    assert abierta.referencia in mensaje.body
    assert "2 de diciembre de 2026" in mensaje.body
    assert f"https://memoria.example/privacidad/solicitudes/{abierta.referencia}/" in mensaje.body
    assert "canario" not in mensaje.message().as_string()
    assert abierta.resumen not in mensaje.message().as_string()


def test_sin_direccion_del_sitio_no_hay_enlace(
    abierta: Solicitud, correo: list[mail.EmailMessage], hoy: Hoy, settings: Any
) -> None:
    settings.SITE_URL = ""
    hoy(abierta.vence)
    recordatorios.enviar()
    assert "/privacidad/" not in correo[0].body


def test_un_mensaje_por_motivo_con_las_suyas(
    recibida: Callable[..., Any], correo: list[mail.EmailMessage], hoy: Hoy
) -> None:
    for n, dia in enumerate([date(2026, 10, 1), date(2026, 10, 2), date(2026, 11, 2), date(2026, 11, 20)]):
        recibida(f"C{n}", dia=dia)
    hoy(date(2026, 12, 2))
    assert recordatorios.enviar() == 3
    assert [m.subject for m in correo] == [
        "Memoria · privacidad: 1 solicitud vence hoy",
        "Memoria · privacidad: 2 solicitudes han vencido",
    ]
    assert correo[1].body.count("SUP-") == 2


def test_lo_que_reaparece_se_dice_una_vez_por_cada_vez(
    hasta: Callable[..., Any], correo: list[mail.EmailMessage]
) -> None:
    solicitud = hasta(Estado.COMPLETADA, "C1")
    for vez in (1, 2):
        servicios.reabrir(solicitud=solicitud, sujeto_id="C1", hallado=["memoria"])
        assert recordatorios.pendientes() == {Motivo.REAPARECIDA: [solicitud]}
        assert recordatorios.enviar() == 1
        assert recordatorios.enviar() == 0
        assert len(correo) == vez
        assert "abrir" in correo[-1].subject
        servicios.ejecutar(solicitud=solicitud)


def test_lo_cerrado_no_se_recuerda(
    abierta: Solicitud, correo: list[mail.EmailMessage], hoy: Hoy, dpo: Any
) -> None:
    servicios.retirar(solicitud=abierta, motivo="Ya no lo pide.", por=dpo)
    hoy(abierta.vence + timedelta(days=1))
    assert recordatorios.enviar() == 0


def test_sin_nadie_a_quien_escribir_se_dice_y_queda_por_enviar(abierta: Solicitud, hoy: Hoy) -> None:
    hoy(abierta.vence)
    with pytest.raises(NadieAQuienAvisar, match="grupo dpo"):
        recordatorios.enviar()
    assert not Asiento.objects.filter(tipo="recordatorio").exists()


def test_si_el_correo_no_sale_no_se_da_por_enviado(
    abierta: Solicitud, correo: list[mail.EmailMessage], hoy: Hoy, settings: Any
) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 9
    hoy(abierta.vence)
    with pytest.raises(RecordatorioNoEnviado, match="EMAIL_URL"):
        recordatorios.enviar()
    assert not Asiento.objects.filter(tipo="recordatorio").exists()
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    assert recordatorios.enviar() == 1


class CorreoQueSeCae(locmem.EmailBackend):
    """A server that takes one message and is gone."""

    def send_messages(self, mensajes: Any) -> int:
        if mail.outbox:
            raise SMTPServerDisconnected
        return super().send_messages(mensajes)


def test_si_el_correo_se_cae_a_medias_se_cuenta_lo_enviado(
    recibida: Callable[..., Any], correo: list[mail.EmailMessage], hoy: Hoy, settings: Any
) -> None:
    recibida("C1", dia=date(2026, 11, 2))
    recibida("C2", dia=date(2026, 10, 1))
    hoy(date(2026, 12, 2))
    settings.EMAIL_BACKEND = f"{__name__}.CorreoQueSeCae"
    assert ordenar()["recordatorios"] == len(correo) == 1
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    assert ordenar()["recordatorios"] == 1


def test_la_medianoche_entre_dos_pasos_no_deja_uno_a_medias(
    abierta: Solicitud, correo: list[mail.EmailMessage], monkeypatch: pytest.MonkeyPatch
) -> None:
    dias = iter(abierta.vence + timedelta(days=n) for n in range(10))
    monkeypatch.setattr(plazos, "hoy", lambda: next(dias))
    assert recordatorios.enviar() == 1
    assert Asiento.objects.get(tipo="recordatorio").datos == {
        "motivo": "vence", "vez": abierta.vence.isoformat(), "vence": abierta.vence.isoformat(),
    }  # fmt: skip


def test_la_orden_los_envia_al_final_y_un_simulacro_solo_los_cuenta(
    abierta: Solicitud, correo: list[mail.EmailMessage], hoy: Hoy
) -> None:
    hoy(abierta.vence)
    assert ordenar("--dry-run")["recordatorios"] == 1
    assert correo == []
    assert ordenar()["recordatorios"] == 1
    assert len(correo) == 1
    assert ordenar()["recordatorios"] == 0


def test_en_la_consola_no_se_mezclan_con_el_resultado(
    abierta: Solicitud,
    correo: list[mail.EmailMessage],
    hoy: Hoy,
    settings: Any,
    capsys: pytest.CaptureFixture[str],
) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    hoy(abierta.vence)
    call_command("verificar_supresiones", "--json")
    impreso = capsys.readouterr()
    assert json.loads(impreso.out)["recordatorios"] == 1
    assert abierta.referencia in impreso.err


def ordenar(*opciones: str) -> dict[str, Any]:
    salida = io.StringIO()
    with contextlib.suppress(CommandError):
        call_command("verificar_supresiones", "--json", *opciones, stdout=salida, stderr=io.StringIO())
    datos: dict[str, Any] = json.loads(salida.getvalue())
    return datos
