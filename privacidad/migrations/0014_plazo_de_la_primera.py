from datetime import timedelta

from django.db import migrations, models
from django.db.models import F, Q


# An older request that is linked sets an earlier deadline, and may set it before the receipt of the active one.
class Migration(migrations.Migration):
    dependencies = [("privacidad", "0013_expediente_pedido")]
    operations = [
        migrations.RemoveConstraint("solicitud", "solicitud_vence"),
        migrations.AddConstraint(
            "solicitud",
            models.CheckConstraint(
                name="solicitud_vence",
                condition=Q(ampliada__isnull=True, vence__lte=F("recibida") + timedelta(days=31))
                | Q(ampliada__isnull=False, ampliada=F("vence"), vence__lte=F("recibida") + timedelta(days=92)),
            ),
        ),
    ]
