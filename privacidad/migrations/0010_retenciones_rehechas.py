from django.conf import settings
from django.db import migrations, models


# A hold that is rebuilt from the register after a restore is nobody's: the register names nobody.
def de_nadie():
    return models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.PROTECT,
        null=True,
        related_name="+",
        verbose_name="por",
    )


class Migration(migrations.Migration):
    dependencies = [
        ("privacidad", "0009_borrado_pedido"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]
    operations = [
        migrations.AlterField("exclusion", "por", de_nadie()),
        migrations.AlterField("restriccion", "por", de_nadie()),
    ]
