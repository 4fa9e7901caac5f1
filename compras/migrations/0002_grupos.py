from django.db import migrations

from memoria.grupos import conceder


def grupos(apps, editor):
    conceder(
        apps,
        editor,
        "compras",
        {
            "compras": [
                "ver_avisos",
                "escribir_avisos",
                "view_proveedor",
                "add_proveedor",
                "change_proveedor",
            ],
            "consulta": ["ver_avisos", "view_proveedor"],
            "dpo": ["ver_avisos"],
        },
    )


class Migration(migrations.Migration):
    dependencies = [
        ("compras", "0001_initial"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]
    operations = [migrations.RunPython(grupos, migrations.RunPython.noop)]
