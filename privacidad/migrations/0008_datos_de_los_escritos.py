import django.db.models.deletion
from django.db import migrations, models

# No document has been issued before this migration: the defaults fill nothing.


class Migration(migrations.Migration):
    dependencies = [("privacidad", "0007_grupos_de_derechos")]
    operations = [
        migrations.AddField(
            model_name="escrito",
            name="evidencia",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="privacidad.evidencia",
                verbose_name="evidencia",
            ),
        ),
        migrations.AddField(
            model_name="escrito",
            name="datos",
            field=models.JSONField(default=dict, verbose_name="datos"),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="escrito",
            name="huella_datos",
            field=models.CharField(default="", max_length=64, verbose_name="huella de los datos"),
            preserve_default=False,
        ),
        migrations.RemoveConstraint(model_name="escrito", name="un_escrito_por_tipo"),
        migrations.AddConstraint(
            model_name="escrito",
            constraint=models.UniqueConstraint(
                condition=models.Q(("evidencia__isnull", True)),
                fields=("solicitud", "tipo"),
                name="un_escrito_por_tipo",
            ),
        ),
        migrations.AddConstraint(
            model_name="escrito",
            constraint=models.UniqueConstraint(fields=("evidencia",), name="un_escrito_por_evidencia"),
        ),
    ]
