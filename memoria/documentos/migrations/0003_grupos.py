from django.db import migrations

from memoria.grupos import conceder

VER = ["ver_compras", "ver_sala", "ver_cliente"]


def grupos(apps, editor):
    conceder(
        apps,
        editor,
        "documentos",
        {
            "compras": [*VER, "escribir_compras"],
            # Operations keep the folders that are synchronised, and what no other group writes.
            "operaciones": [*VER, "escribir_sala", "escribir_cliente"],
            "dpo": VER,
            "consulta": VER,
        },
    )


class Migration(migrations.Migration):
    dependencies = [
        ("documentos", "0002_seguridad"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]
    operations = [migrations.RunPython(grupos, migrations.RunPython.noop)]
