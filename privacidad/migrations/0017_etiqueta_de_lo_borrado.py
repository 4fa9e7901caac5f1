from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("privacidad", "0016_guardas_de_lo_decidido")]
    operations = [
        migrations.AlterField(
            "evidencia",
            "resultado",
            models.CharField(
                choices=[
                    ("borrado", "Borrado: después solo queda lo retenido, si lo hay"),
                    ("sin_datos", "Sin datos localizados"),
                ],
                max_length=20,
                verbose_name="resultado",
            ),
        )
    ]
