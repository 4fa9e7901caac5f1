from django.db import migrations

from memoria.grupos import conceder


def grupos(apps, editor):
    ver = [
        f"view_{modelo}"
        for modelo in (
            "asiento", "copia", "escrito", "exclusion", "expediente", "gestion", "mencion", "restriccion",
        )
    ]
    hacer = ["reservar_dato", "abrir_copia", "restringir_dato", "atender_acceso", "rectificar_dato"]
    conceder(apps, editor, "privacidad", {"dpo": [*ver, *hacer], "operaciones": ["view_asiento"]})


class Migration(migrations.Migration):
    dependencies = [("privacidad", "0006_guardas_de_derechos")]
    operations = [migrations.RunPython(grupos, migrations.RunPython.noop)]
