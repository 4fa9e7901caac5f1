from django.db import migrations

# A sealed copy is destroyed on its day or later, and not before, by any session; then its pieces may go, and only
# then. Neither a piece nor the day is ever changed. It ends "today" in Madrid, as privacidad/plazos.py.
CREAR = """
CREATE FUNCTION public.privacidad_guardar_copia() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        RAISE EXCEPTION 'una copia bloqueada se destruye, no se borra' USING ERRCODE = 'restrict_violation';
    END IF;
    IF (NEW.id, NEW.solicitud_id, NEW.creada, NEW.destruir_el)
       IS DISTINCT FROM (OLD.id, OLD.solicitud_id, OLD.creada, OLD.destruir_el)
       OR (OLD.destruida IS NOT NULL AND NEW.destruida IS DISTINCT FROM OLD.destruida) THEN
        RAISE EXCEPTION 'lo que se anotó de una copia bloqueada no cambia' USING ERRCODE = 'restrict_violation';
    END IF;
    IF NEW.destruida IS NOT NULL AND NEW.destruir_el > (now() AT TIME ZONE 'Europe/Madrid')::date THEN
        RAISE EXCEPTION 'una copia bloqueada no se destruye antes de su fecha' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER guardar_filas BEFORE UPDATE OR DELETE ON public.privacidad_copia
    FOR EACH ROW EXECUTE FUNCTION public.privacidad_guardar_copia();

CREATE FUNCTION public.privacidad_guardar_trozo() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    IF TG_OP = 'DELETE' AND EXISTS (
        SELECT FROM public.privacidad_copia c WHERE c.id = OLD.copia_id AND c.destruida IS NOT NULL
    ) THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'un trozo de una copia bloqueada no cambia, y solo se borra al destruirla'
        USING ERRCODE = 'restrict_violation';
END $$;

CREATE TRIGGER guardar_filas BEFORE UPDATE OR DELETE ON public.privacidad_trozocopia
    FOR EACH ROW EXECUTE FUNCTION public.privacidad_guardar_trozo();
CREATE TRIGGER guardar_tabla BEFORE TRUNCATE ON public.privacidad_trozocopia
    FOR EACH STATEMENT EXECUTE FUNCTION public.privacidad_solo_anexar();
"""

QUITAR = """
DROP TRIGGER guardar_tabla ON public.privacidad_trozocopia;
DROP TRIGGER guardar_filas ON public.privacidad_trozocopia;
DROP FUNCTION public.privacidad_guardar_trozo();
DROP TRIGGER guardar_filas ON public.privacidad_copia;
DROP FUNCTION public.privacidad_guardar_copia();
"""


class Migration(migrations.Migration):
    dependencies = [("privacidad", "0017_etiqueta_de_lo_borrado")]
    operations = [migrations.RunSQL(CREAR, QUITAR)]
