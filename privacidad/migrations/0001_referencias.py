from django.db import migrations

# Numbered by year of Madrid, in the database: the row of the year is locked until the request that took the
# number is committed, so a number is neither given twice nor lost to a rollback.
CREAR = """
CREATE TABLE public.privacidad_contador (
    anio smallint PRIMARY KEY,
    ultimo integer NOT NULL CHECK (ultimo > 0)
);

CREATE FUNCTION public.privacidad_siguiente_referencia() RETURNS text
LANGUAGE sql VOLATILE SET search_path = pg_catalog AS $$
    INSERT INTO public.privacidad_contador AS c (anio, ultimo)
    VALUES (date_part('year', now() AT TIME ZONE 'Europe/Madrid'), 1)
    ON CONFLICT (anio) DO UPDATE SET ultimo = c.ultimo + 1
    RETURNING 'SUP-' || c.anio || '-' || lpad(c.ultimo::text, greatest(4, length(c.ultimo::text)), '0');
$$;
"""

QUITAR = """
DROP FUNCTION public.privacidad_siguiente_referencia();
DROP TABLE public.privacidad_contador;
"""


class Migration(migrations.Migration):
    initial = True
    dependencies = []
    operations = [migrations.RunSQL(CREAR, QUITAR)]
