from django.db import migrations, models


# When the command last set about a file that was asked for: one that always fails goes behind the others.
class Migration(migrations.Migration):
    dependencies = [("privacidad", "0019_guardas_de_lo_decidido_sin_cerrar")]
    operations = [
        migrations.AddField(
            "expediente",
            "intentado",
            models.DateTimeField(blank=True, null=True, verbose_name="intentado"),
        )
    ]
