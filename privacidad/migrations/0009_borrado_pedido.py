from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("privacidad", "0008_datos_de_los_escritos")]
    operations = [
        migrations.AddField(
            "gestion", "pedida", models.DateTimeField("borrado pedido", blank=True, null=True)
        ),
    ]
