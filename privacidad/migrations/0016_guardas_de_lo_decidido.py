from django.db import migrations

# What was decided about a row is evidence. A hold is let go once and never deleted. A decision about a mention may be
# forgotten by a new search while its request is open (its row was written again); closed, it stays as it was. In both,
# the address may give way to its digest (privacidad/olvido.py).
CREAR = """
CREATE FUNCTION public.privacidad_guardar_exclusion() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        RAISE EXCEPTION 'una retención se suelta, no se borra' USING ERRCODE = 'restrict_violation';
    END IF;
    IF (NEW.id, NEW.solicitud_id, NEW.destino, NEW.motivo, NEW.por_id, NEW.creada)
       IS DISTINCT FROM (OLD.id, OLD.solicitud_id, OLD.destino, OLD.motivo, OLD.por_id, OLD.creada)
       OR (OLD.liberada IS NOT NULL AND NEW.liberada IS DISTINCT FROM OLD.liberada) THEN
        RAISE EXCEPTION 'lo que se anotó de una retención no cambia' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER guardar_filas BEFORE UPDATE OR DELETE ON public.privacidad_exclusion
    FOR EACH ROW EXECUTE FUNCTION public.privacidad_guardar_exclusion();

CREATE FUNCTION public.privacidad_guardar_mencion() RETURNS trigger
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
    IF (NEW.id, NEW.solicitud_id, NEW.identificador) IS DISTINCT FROM (OLD.id, OLD.solicitud_id, OLD.identificador)
       OR (cerrada AND (NEW.decision, NEW.motivo, NEW.por_id, NEW.momento)
                       IS DISTINCT FROM (OLD.decision, OLD.motivo, OLD.por_id, OLD.momento)) THEN
        RAISE EXCEPTION 'lo decidido sobre una mención no cambia' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER guardar_filas BEFORE UPDATE OR DELETE ON public.privacidad_mencion
    FOR EACH ROW EXECUTE FUNCTION public.privacidad_guardar_mencion();
"""

QUITAR = """
DROP TRIGGER guardar_filas ON public.privacidad_mencion;
DROP FUNCTION public.privacidad_guardar_mencion();
DROP TRIGGER guardar_filas ON public.privacidad_exclusion;
DROP FUNCTION public.privacidad_guardar_exclusion();
"""


class Migration(migrations.Migration):
    dependencies = [("privacidad", "0015_envio_del_formulario")]
    operations = [migrations.RunSQL(CREAR, QUITAR)]
