from django.db import migrations, models


# A file too large to be made while somebody waits for a page: whose it is, encrypted, until the command makes it.
class Migration(migrations.Migration):
    dependencies = [("privacidad", "0012_paso_ampliada")]
    operations = [
        migrations.AddField(
            "expediente",
            "pedido",
            models.BinaryField(blank=True, db_default=b"", default=b"", verbose_name="pedido"),
        )
    ]
