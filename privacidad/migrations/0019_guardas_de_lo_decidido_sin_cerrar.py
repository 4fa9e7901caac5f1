from django.db import migrations

# As 0016, and while the request is open too: what was decided about a mention changes only where it can be
# decided (privacidad/servicios/menciones.py), so not once it is approved. A new search may still forget it.
MENCION = """
CREATE OR REPLACE FUNCTION public.privacidad_guardar_mencion() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
    estado text;
    cerrada boolean;
BEGIN
    SELECT s.estado, s.cerrada IS NOT NULL INTO estado, cerrada
    FROM public.privacidad_solicitud s WHERE s.id = OLD.solicitud_id;
    IF TG_OP = 'DELETE' THEN
        IF cerrada AND OLD.decision <> 'pendiente' THEN
            RAISE EXCEPTION 'lo decidido sobre una mención se conserva' USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN OLD;
    END IF;
    IF (NEW.id, NEW.solicitud_id, NEW.identificador)
       IS DISTINCT FROM (OLD.id, OLD.solicitud_id, OLD.identificador)
       OR ((cerrada OR estado NOT IN ('revisada', 'parcial', 'reaparecida'))
           AND (NEW.decision, NEW.motivo, NEW.por_id, NEW.momento)
               IS DISTINCT FROM (OLD.decision, OLD.motivo, OLD.por_id, OLD.momento)) THEN
        RAISE EXCEPTION 'lo decidido sobre una mención no cambia' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
"""

# Art. 18: a restriction ends, once, and is never deleted. An erasure of whoever it is about puts a digest in
# the place of its address and empties its texts (privacidad/destinos/casa.py), and it has ended by then.
LIMITACION = """
CREATE FUNCTION public.privacidad_guardar_restriccion() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
    olvidada boolean;
BEGIN
    IF TG_OP = 'DELETE' THEN
        RAISE EXCEPTION 'una limitación se levanta, no se borra' USING ERRCODE = 'restrict_violation';
    END IF;
    olvidada := NEW.prefijo ~ '^[0-9a-f]{64}$' AND NEW.clave = '' AND NEW.levantada IS NOT NULL
        AND NEW.motivo = '' AND NEW.motivo_levantada = '';
    IF (NEW.id, NEW.por_id, NEW.creada) IS DISTINCT FROM (OLD.id, OLD.por_id, OLD.creada)
       OR (OLD.levantada IS NOT NULL AND NEW.levantada IS DISTINCT FROM OLD.levantada)
       OR (NOT olvidada
           AND (NEW.prefijo, NEW.clave, NEW.motivo) IS DISTINCT FROM (OLD.prefijo, OLD.clave, OLD.motivo))
       OR (NOT olvidada AND OLD.levantada IS NOT NULL AND NEW.motivo_levantada <> OLD.motivo_levantada) THEN
        RAISE EXCEPTION 'lo que se anotó de una limitación no cambia' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER guardar_filas BEFORE UPDATE OR DELETE ON public.privacidad_restriccion
    FOR EACH ROW EXECUTE FUNCTION public.privacidad_guardar_restriccion();
"""

QUITAR_LIMITACION = """
DROP TRIGGER guardar_filas ON public.privacidad_restriccion;
DROP FUNCTION public.privacidad_guardar_restriccion();
"""

MENCION_DE_ANTES = """
CREATE OR REPLACE FUNCTION public.privacidad_guardar_mencion() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
    cerrada boolean := EXISTS (
        SELECT FROM public.privacidad_solicitud s WHERE s.id = OLD.solicitud_id AND s.cerrada IS NOT NULL
    );
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF cerrada AND OLD.decision <> 'pendiente' THEN
            RAISE EXCEPTION 'lo decidido sobre una mención se conserva' USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN OLD;
    END IF;
    IF (NEW.id, NEW.solicitud_id, NEW.identificador)
       IS DISTINCT FROM (OLD.id, OLD.solicitud_id, OLD.identificador)
       OR (cerrada AND (NEW.decision, NEW.motivo, NEW.por_id, NEW.momento)
                       IS DISTINCT FROM (OLD.decision, OLD.motivo, OLD.por_id, OLD.momento)) THEN
        RAISE EXCEPTION 'lo decidido sobre una mención no cambia' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("privacidad", "0018_guardas_de_las_copias")]
    operations = [
        migrations.RunSQL(MENCION, MENCION_DE_ANTES),
        migrations.RunSQL(LIMITACION, QUITAR_LIMITACION),
    ]
