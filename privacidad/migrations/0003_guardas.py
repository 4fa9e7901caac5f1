from django.db import migrations

# What no session may do, the owner's included. The table of transitions has grown since: see 0006.
SOLICITUD = """
CREATE OR REPLACE FUNCTION public.privacidad_guardar_solicitud() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    IF TG_OP IN ('DELETE', 'TRUNCATE') THEN
        RAISE EXCEPTION 'una solicitud se cierra, no se borra' USING ERRCODE = 'restrict_violation';
    END IF;
    IF TG_OP = 'INSERT' THEN
        IF NEW.estado <> 'recibida' THEN
            RAISE EXCEPTION 'una solicitud empieza recibida' USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF (OLD.estado, NEW.estado) NOT IN (
        ('recibida', 'identificada'), ('recibida', 'denegada'), ('recibida', 'retirada'),
        ('identificada', 'revisada'), ('identificada', 'denegada'), ('identificada', 'retirada'),
        ('revisada', 'revisada'), ('revisada', 'aprobada'), ('revisada', 'denegada'), ('revisada', 'retirada'),
        ('aprobada', 'en_curso'), ('aprobada', 'denegada'), ('aprobada', 'retirada'),
        ('en_curso', 'completada'), ('en_curso', 'parcial'),
        ('parcial', 'en_curso')
    ) THEN
        RAISE EXCEPTION 'transición no permitida: de % a %', OLD.estado, NEW.estado
            USING ERRCODE = 'check_violation';
    END IF;
    IF (NEW.id, NEW.referencia, NEW.espacio, NEW.resumen, NEW.canal, NEW.recibida, NEW.registrada)
       IS DISTINCT FROM
       (OLD.id, OLD.referencia, OLD.espacio, OLD.resumen, OLD.canal, OLD.recibida, OLD.registrada) THEN
        RAISE EXCEPTION 'los datos de entrada de una solicitud no cambian' USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.estado = 'completada'
       AND NOT EXISTS (SELECT FROM public.privacidad_evidencia e WHERE e.solicitud_id = NEW.id) THEN
        RAISE EXCEPTION 'una solicitud no se completa sin evidencia' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
"""

CREAR = SOLICITUD + """
CREATE TRIGGER guardar_filas BEFORE INSERT OR UPDATE OR DELETE ON public.privacidad_solicitud
    FOR EACH ROW EXECUTE FUNCTION public.privacidad_guardar_solicitud();
CREATE TRIGGER guardar_tabla BEFORE TRUNCATE ON public.privacidad_solicitud
    FOR EACH STATEMENT EXECUTE FUNCTION public.privacidad_guardar_solicitud();

CREATE FUNCTION public.privacidad_solo_anexar() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    RAISE EXCEPTION '% solo admite filas nuevas', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;

CREATE TRIGGER solo_anexar BEFORE UPDATE OR DELETE OR TRUNCATE ON public.privacidad_paso
    FOR EACH STATEMENT EXECUTE FUNCTION public.privacidad_solo_anexar();
CREATE TRIGGER solo_anexar BEFORE UPDATE OR DELETE OR TRUNCATE ON public.privacidad_evidencia
    FOR EACH STATEMENT EXECUTE FUNCTION public.privacidad_solo_anexar();
"""

QUITAR = """
DROP TRIGGER solo_anexar ON public.privacidad_evidencia;
DROP TRIGGER solo_anexar ON public.privacidad_paso;
DROP TRIGGER guardar_tabla ON public.privacidad_solicitud;
DROP TRIGGER guardar_filas ON public.privacidad_solicitud;
DROP FUNCTION public.privacidad_solo_anexar();
DROP FUNCTION public.privacidad_guardar_solicitud();
"""


class Migration(migrations.Migration):
    dependencies = [("privacidad", "0002_modelos")]
    operations = [migrations.RunSQL(CREAR, QUITAR)]
