from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("compras", "0002_grupos")]
    operations = [
        migrations.AddField(
            model_name="proveedor",
            name="fusionado_en",
            field=models.ForeignKey(
                editable=False,
                null=True,
                on_delete=models.PROTECT,
                related_name="fusionados",
                to="compras.proveedor",
                verbose_name="unido a",
            ),
        ),
        migrations.AddConstraint(
            model_name="proveedor",
            constraint=models.CheckConstraint(
                condition=models.Q(fusionado_en=None) | models.Q(activo=False), name="fusionado_es_inactivo"
            ),
        ),
    ]
