from django.db import migrations, models
from django.db.models import Q


# What the register says of one person: asked for each of those who come back with a restored copy.
class Migration(migrations.Migration):
    dependencies = [("privacidad", "0010_retenciones_rehechas")]
    operations = [
        migrations.AddIndex(
            "asiento",
            models.Index(fields=["resumen", "numero"], name="asiento_resumen", condition=~Q(resumen="")),
        )
    ]
