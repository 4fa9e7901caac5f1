from django.db import migrations

from memoria.grupos import conceder


def grupos(apps, editor):
    ver = ["view_documento", "view_hilo"]
    conceder(
        apps,
        editor,
        "memoria",
        {"dpo": ver, "consulta": ver, "operaciones": ["view_ejecucion", "view_hilo"]},
    )


class Migration(migrations.Migration):
    dependencies = [
        ("memoria", "0001_initial"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]
    operations = [migrations.RunPython(grupos, migrations.RunPython.noop)]
