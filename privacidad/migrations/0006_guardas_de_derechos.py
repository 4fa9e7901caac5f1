from importlib import import_module

from django.db import migrations

# The transition table grew: see privacidad/estados.py (a test keeps the two equal). A linked request is born so.
CREAR = """
CREATE OR REPLACE FUNCTION public.privacidad_guardar_solicitud() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    IF TG_OP IN ('DELETE', 'TRUNCATE') THEN
        RAISE EXCEPTION 'una solicitud se cierra, no se borra' USING ERRCODE = 'restrict_violation';
    END IF;
    IF TG_OP = 'INSERT' THEN
        IF NEW.estado NOT IN ('recibida', 'vinculada') THEN
            RAISE EXCEPTION 'una solicitud empieza recibida' USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF (OLD.estado, NEW.estado) NOT IN (
        ('recibida', 'identificada'), ('recibida', 'denegada'), ('recibida', 'retirada'),
        ('identificada', 'revisada'), ('identificada', 'denegada'), ('identificada', 'retirada'),
        ('revisada', 'revisada'), ('revisada', 'aprobada'), ('revisada', 'denegada'), ('revisada', 'retirada'),
        ('aprobada', 'revisada'), ('aprobada', 'en_curso'), ('aprobada', 'denegada'), ('aprobada', 'retirada'),
        ('en_curso', 'completada'), ('en_curso', 'parcial'),
        ('parcial', 'en_curso'),
        ('completada', 'reaparecida'), ('reaparecida', 'en_curso')
    ) AND (OLD.estado <> NEW.estado OR OLD.estado IN ('completada', 'denegada', 'retirada', 'vinculada')) THEN
        RAISE EXCEPTION 'transición no permitida: de % a %', OLD.estado, NEW.estado
            USING ERRCODE = 'check_violation';
    END IF;
    IF (NEW.id, NEW.referencia, NEW.espacio, NEW.resumen, NEW.canal, NEW.recibida, NEW.registrada,
        NEW.principal_id)
       IS DISTINCT FROM
       (OLD.id, OLD.referencia, OLD.espacio, OLD.resumen, OLD.canal, OLD.recibida, OLD.registrada,
        OLD.principal_id) THEN
        RAISE EXCEPTION 'los datos de entrada de una solicitud no cambian' USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.estado = 'completada' AND NOT EXISTS (
        SELECT FROM public.privacidad_evidencia e WHERE e.solicitud_id = NEW.id
    ) THEN
        RAISE EXCEPTION 'una solicitud no se completa sin evidencia' USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.estado = 'completada' AND (
        EXISTS (SELECT FROM public.privacidad_exclusion x
                WHERE x.solicitud_id = NEW.id AND x.liberada IS NULL)
        OR EXISTS (SELECT FROM public.privacidad_gestion g
                   WHERE g.solicitud_id = NEW.id AND g.estado NOT IN ('hecha', 'sin_datos'))
    ) THEN
        RAISE EXCEPTION 'una solicitud no se completa con algo por borrar' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER solo_anexar BEFORE UPDATE OR DELETE OR TRUNCATE ON public.privacidad_asiento
    FOR EACH STATEMENT EXECUTE FUNCTION public.privacidad_solo_anexar();
CREATE TRIGGER solo_anexar BEFORE UPDATE OR DELETE OR TRUNCATE ON public.privacidad_escrito
    FOR EACH STATEMENT EXECUTE FUNCTION public.privacidad_solo_anexar();
"""

# Backwards too: this guard names a column that 0005 adds.
QUITAR = import_module("privacidad.migrations.0003_guardas").SOLICITUD + """
DROP TRIGGER solo_anexar ON public.privacidad_escrito;
DROP TRIGGER solo_anexar ON public.privacidad_asiento;
"""


class Migration(migrations.Migration):
    dependencies = [("privacidad", "0005_derechos")]
    operations = [migrations.RunSQL(CREAR, QUITAR)]
