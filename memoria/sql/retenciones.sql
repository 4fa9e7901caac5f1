-- Art. 17(3) GDPR: what is held back from an erasure is neither deleted nor changed, whoever tries, from the moment the
-- hold is written down (privacidad_exclusion) until it is let go. Each row of the store says of itself whether it is
-- held, so any other write pays for one boolean; a thread is looked up, as only deletions ask, and its rows by statement.
-- Guarded: IF NOT EXISTS would wait for every reader at each deployment.

-- The address in the store of the subject of an open request (memoria/politica.py: of the control characters, an id may
-- have these three); of a closed one nobody knows it any more.
CREATE OR REPLACE FUNCTION langgraph.prefijo_de_solicitud(solicitud bigint) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog
AS $$
    SELECT espacio || '.' || replace(replace(replace(replace(replace(
        sujeto_id, '%', '%25'), '.', '%2E'), E'\t', '%09'), E'\n', '%0A'), E'\r', '%0D')
    FROM public.privacidad_solicitud WHERE id = solicitud AND sujeto_id <> ''
$$;

DO $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM pg_attribute
        WHERE attrelid = 'langgraph.store'::regclass AND attname = 'retenido' AND NOT attisdropped
    ) THEN
        ALTER TABLE langgraph.store ADD COLUMN retenido boolean NOT NULL DEFAULT false;
        UPDATE langgraph.store s SET retenido = true
        FROM public.privacidad_exclusion x
        WHERE x.destino = 'memoria' AND x.liberada IS NULL AND s.key = x.clave
          AND starts_with(s.prefix || '.', langgraph.prefijo_de_solicitud(x.solicitud_id) || '.');
    END IF;
    IF to_regclass('public.exclusion_en_vigor') IS NULL THEN
        CREATE INDEX exclusion_en_vigor ON public.privacidad_exclusion (clave) WHERE liberada IS NULL;
    END IF;
END $$;

-- Renewing a row, or restricting it, changes nothing it says. Only what follows the hold (the owner's function below)
-- says that a row is no longer held.
CREATE OR REPLACE FUNCTION langgraph.guardar_retenidos() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND (NEW.prefix, NEW.key, NEW.value) IS NOT DISTINCT FROM (OLD.prefix, OLD.key, OLD.value)
        AND pg_has_role(current_user, (SELECT c.relowner FROM pg_class c WHERE c.oid = TG_RELID), 'USAGE')
    THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'Ese dato está retenido porque la ley obliga a conservarlo: mientras lo esté no se puede cambiar '
        'ni borrar.' USING ERRCODE = 'MV004';
END $$;

CREATE OR REPLACE FUNCTION langgraph.guardar_hilos_retenidos() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog
AS $$
BEGIN
    IF EXISTS (
        SELECT FROM public.privacidad_exclusion x
        WHERE x.clave = OLD.thread_id AND x.destino = 'hilos' AND x.liberada IS NULL
    ) THEN
        RAISE EXCEPTION 'Esa conversación está retenida porque la ley obliga a conservarla: mientras lo esté no se '
            'puede borrar.' USING ERRCODE = 'MV004';
    END IF;
    RETURN OLD;
END $$;

-- What a thread holds goes by thousands of rows: looked at once in each statement.
CREATE OR REPLACE FUNCTION langgraph.guardar_contenido_retenido() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog
AS $$
BEGIN
    IF EXISTS (
        SELECT FROM public.privacidad_exclusion x
        WHERE x.destino = 'hilos' AND x.liberada IS NULL
          AND EXISTS (SELECT FROM borradas b WHERE b.thread_id = x.clave)
    ) THEN
        RAISE EXCEPTION 'Esa conversación está retenida porque la ley obliga a conservarla: mientras lo esté no se '
            'puede borrar.' USING ERRCODE = 'MV004';
    END IF;
    RETURN NULL;
END $$;

-- A hold that begins or ends marks the rows it is over, whoever wrote it down. A request that closes puts a digest in
-- the place of the key: nothing of it is held any more. Whoever was deleting the row had it first, or waits and is refused.
CREATE OR REPLACE FUNCTION langgraph.aplicar_retencion() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog SET row_security = off
AS $$
DECLARE
    sujeto text := langgraph.prefijo_de_solicitud(NEW.solicitud_id);
    desde text := sujeto || '.';
    hasta text := sujeto || '/';
BEGIN
    IF NEW.destino = 'hilos' THEN
        PERFORM FROM public.hilos h WHERE h.thread_id = NEW.clave FOR UPDATE;
        RETURN NULL;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        UPDATE langgraph.store s SET retenido = false
        WHERE (s.prefix = sujeto OR s.prefix ~>=~ desde AND s.prefix ~<~ hasta) AND s.key = OLD.clave AND s.retenido
          AND NOT EXISTS (
              SELECT FROM public.privacidad_exclusion x
              WHERE x.solicitud_id = NEW.solicitud_id AND x.destino = 'memoria' AND x.clave = OLD.clave
                AND x.liberada IS NULL);
    ELSIF NEW.liberada IS NULL THEN
        UPDATE langgraph.store s SET retenido = true
        WHERE (s.prefix = sujeto OR s.prefix ~>=~ desde AND s.prefix ~<~ hasta) AND s.key = NEW.clave
          AND NOT s.retenido;
    END IF;
    RETURN NULL;
END $$;

DO $$
DECLARE
    tabla text;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = 'langgraph.store'::regclass AND tgname = 'retencion') THEN
        CREATE TRIGGER retencion BEFORE DELETE ON langgraph.store
            FOR EACH ROW WHEN (OLD.retenido) EXECUTE FUNCTION langgraph.guardar_retenidos();
        CREATE TRIGGER retencion_al_cambiar BEFORE UPDATE ON langgraph.store
            FOR EACH ROW WHEN (OLD.retenido AND (
                NOT NEW.retenido OR NEW.prefix <> OLD.prefix OR NEW.key <> OLD.key OR NEW.value <> OLD.value))
            EXECUTE FUNCTION langgraph.guardar_retenidos();
    END IF;
    -- The registry row by row: it is refused for its hold before the foreign keys say what is left.
    IF NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = 'public.hilos'::regclass AND tgname = 'retencion') THEN
        CREATE TRIGGER retencion BEFORE DELETE ON public.hilos
            FOR EACH ROW EXECUTE FUNCTION langgraph.guardar_hilos_retenidos();
    END IF;
    FOREACH tabla IN ARRAY ARRAY['checkpoints', 'checkpoint_blobs', 'checkpoint_writes'] LOOP
        IF NOT EXISTS (
            SELECT FROM pg_trigger
            WHERE tgrelid = to_regclass('langgraph.' || tabla) AND tgname = 'retencion_de_lo_borrado'
        ) THEN
            EXECUTE format('DROP TRIGGER IF EXISTS retencion ON langgraph.%I', tabla);
            EXECUTE format(
                'CREATE TRIGGER retencion_de_lo_borrado AFTER DELETE ON langgraph.%I '
                'REFERENCING OLD TABLE AS borradas FOR EACH STATEMENT '
                'EXECUTE FUNCTION langgraph.guardar_contenido_retenido()', tabla);
        END IF;
    END LOOP;
    IF NOT EXISTS (
        SELECT FROM pg_trigger WHERE tgrelid = 'public.privacidad_exclusion'::regclass AND tgname = 'aplicar'
    ) THEN
        CREATE TRIGGER aplicar AFTER INSERT OR UPDATE OF clave, liberada ON public.privacidad_exclusion
            FOR EACH ROW EXECUTE FUNCTION langgraph.aplicar_retencion();
    END IF;
END $$;
