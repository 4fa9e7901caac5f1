from django.db import migrations

from memoria.grupos import conceder


def grupos(apps, editor):
    conceder(
        apps,
        editor,
        "privacidad",
        {
            "dpo": [
                "view_solicitud",
                "view_paso",
                "view_evidencia",
                "recibir_solicitud",
                "tramitar_solicitud",
                "aprobar_solicitud",
                "ejecutar_solicitud",
            ],
            "operaciones": ["view_solicitud", "ejecutar_solicitud"],
        },
    )


class Migration(migrations.Migration):
    dependencies = [
        ("privacidad", "0003_guardas"),
        ("memoria", "0002_grupos"),
    ]
    operations = [migrations.RunPython(grupos, migrations.RunPython.noop)]
