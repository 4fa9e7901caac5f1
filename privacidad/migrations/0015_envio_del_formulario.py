from django.db import migrations, models


# A form that is sent twice registers one request.
class Migration(migrations.Migration):
    dependencies = [("privacidad", "0014_plazo_de_la_primera")]
    operations = [
        migrations.AddField(
            "solicitud",
            "envio",
            models.UUIDField(blank=True, editable=False, null=True, verbose_name="envío"),
        ),
        migrations.AddConstraint(
            "solicitud", models.UniqueConstraint(fields=["envio"], name="una_solicitud_por_envio")
        ),
    ]
