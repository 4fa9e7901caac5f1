import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("compras", "0003_fusionado_en"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]
    operations = [
        migrations.CreateModel(
            name="Retirada",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("clave", models.CharField(max_length=200)),
                ("documento", models.JSONField()),
                ("escrito", models.DateTimeField()),
                ("version", models.DateTimeField()),
                ("caduca", models.DateTimeField(null=True)),
                ("vida_minutos", models.IntegerField(null=True)),
                (
                    "motivo",
                    models.CharField(
                        choices=[
                            ("no_es_cierto", "Ya no es cierto"),
                            ("repetido", "Está repetido"),
                            ("error", "Se escribió por error"),
                            ("incidencia", "Ya es una incidencia"),
                            ("otro", "Otro motivo"),
                        ],
                        max_length=20,
                    ),
                ),
                ("explicacion", models.CharField(blank=True, max_length=200)),
                ("incidencia", models.CharField(blank=True, max_length=60)),
                ("momento", models.DateTimeField(default=django.utils.timezone.now)),
                ("reponible_hasta", models.DateTimeField(db_index=True)),
                (
                    "por",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "proveedor",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="retiradas",
                        to="compras.proveedor",
                    ),
                ),
            ],
            options={
                "verbose_name": "aviso retirado",
                "verbose_name_plural": "avisos retirados",
                "default_permissions": (),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("incidencia__gt", ""), ("motivo", "incidencia")),
                            models.Q(
                                models.Q(("motivo", "incidencia"), _negated=True), ("incidencia", "")
                            ),
                            _connector="OR",
                        ),
                        name="retirada_incidencia_con_referencia",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("motivo", "otro"), _negated=True),
                            ("explicacion__gt", ""),
                            _connector="OR",
                        ),
                        name="retirada_otro_motivo_explicado",
                    ),
                ],
            },
        ),
    ]
