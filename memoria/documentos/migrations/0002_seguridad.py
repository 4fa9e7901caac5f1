"""Row-level security by owner space, enabled and forced, and the keys that tie every row to its page's space.

The policies are for every role, the owner of the tables among them; only a superuser, or a role with
BYPASSRLS, does not obey them. Without the setting there is no row.

A later migration that moves data must say the space first, one after the other:
``SELECT set_config('memoria.espacio', 'compras', true)``.
"""

from django.db import migrations

TABLAS = ("documentos_pagina", "documentos_version", "documentos_seccion")

# Both halves of a composite key: what hangs from a page cannot be in another space, and goes with it.
CLAVES = """
ALTER TABLE documentos_pagina ADD CONSTRAINT documentos_pagina_id_espacio UNIQUE (id, espacio);
ALTER TABLE documentos_seccion ADD CONSTRAINT documentos_seccion_id_espacio UNIQUE (id, espacio);
ALTER TABLE documentos_version ADD CONSTRAINT documentos_version_pagina FOREIGN KEY (pagina_id, espacio)
    REFERENCES documentos_pagina (id, espacio) ON DELETE CASCADE;
ALTER TABLE documentos_seccion ADD CONSTRAINT documentos_seccion_pagina FOREIGN KEY (pagina_id, espacio)
    REFERENCES documentos_pagina (id, espacio) ON DELETE CASCADE;
CREATE INDEX documentos_seccion_espacio ON documentos_seccion (espacio);
"""
SIN_CLAVES = """
DROP INDEX documentos_seccion_espacio;
ALTER TABLE documentos_seccion DROP CONSTRAINT documentos_seccion_pagina;
ALTER TABLE documentos_version DROP CONSTRAINT documentos_version_pagina;
DROP TABLE IF EXISTS documentos_vector;
ALTER TABLE documentos_seccion DROP CONSTRAINT documentos_seccion_id_espacio;
ALTER TABLE documentos_pagina DROP CONSTRAINT documentos_pagina_id_espacio;
"""


def cerrar(tabla):
    return f"""
ALTER TABLE {tabla} ENABLE ROW LEVEL SECURITY;
ALTER TABLE {tabla} FORCE ROW LEVEL SECURITY;
CREATE POLICY espacio ON {tabla}
    USING (espacio = current_setting('memoria.espacio', true))
    WITH CHECK (espacio = current_setting('memoria.espacio', true));
"""


def abrir(tabla):
    return f"""
DROP POLICY espacio ON {tabla};
ALTER TABLE {tabla} NO FORCE ROW LEVEL SECURITY;
ALTER TABLE {tabla} DISABLE ROW LEVEL SECURITY;
"""


class Migration(migrations.Migration):
    dependencies = [("documentos", "0001_initial")]
    operations = [
        migrations.RunSQL(CLAVES, SIN_CLAVES),
        *[migrations.RunSQL(cerrar(tabla), abrir(tabla)) for tabla in TABLAS],
    ]
