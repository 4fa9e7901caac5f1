-- Art. 18 GDPR: what is contested stays stored and no agent reads it. The restrictions are rows of privacy
-- (privacidad_restriccion); here each row of the store says of itself whether one is in force over it, so the row
-- policy of the agents costs a read one boolean (memoria/permisos.py), and nobody but the owner reads the list.
-- Guarded: IF NOT EXISTS would wait for every reader at each deployment.
DO $$
DECLARE
    tabla text;
BEGIN
    FOREACH tabla IN ARRAY ARRAY['store', 'store_vectors'] LOOP
        IF to_regclass('langgraph.' || tabla) IS NOT NULL AND NOT EXISTS (
            SELECT FROM pg_attribute
            WHERE attrelid = to_regclass('langgraph.' || tabla) AND attname = 'limitado' AND NOT attisdropped
        ) THEN
            EXECUTE format('ALTER TABLE langgraph.%I ADD COLUMN limitado boolean NOT NULL DEFAULT false', tabla);
        END IF;
    END LOOP;
END $$;

-- Whether a document is, or would be, restricted: itself or its whole card. Writers hold, shared until they commit,
-- what a new restriction asks for alone: so either it finds what they wrote or they find it. Of 256 locks, not one per
-- subject: a load of many subjects would fill the table of locks.
CREATE OR REPLACE FUNCTION langgraph.limitado(del_prefijo text, la_clave text) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog
AS $$
DECLARE
    sujeto text := split_part(del_prefijo, '.', 1) || '.' || split_part(del_prefijo, '.', 2);
BEGIN
    PERFORM pg_advisory_xact_lock_shared(18, hashtext(sujeto) & 255);
    RETURN EXISTS (
        SELECT FROM public.privacidad_restriccion r
        WHERE r.levantada IS NULL AND r.prefijo = sujeto AND r.clave IN ('', la_clave)
    );
END $$;

CREATE OR REPLACE FUNCTION langgraph.exigir_libre(del_prefijo text, la_clave text) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog
AS $$
BEGIN
    IF langgraph.limitado(del_prefijo, la_clave) THEN
        RAISE EXCEPTION 'Ese dato está limitado mientras privacidad revisa si es correcto: hasta entonces no se puede '
            'cambiar ni borrar.' USING ERRCODE = 'MV003';
    END IF;
END $$;

-- Nobody but the owner (that is, the functions below and those of an erasure) changes what is restricted, or adds to a
-- restricted card. BEFORE, so that an upsert gets that sentence before a policy hides the row it collides with.
CREATE OR REPLACE FUNCTION langgraph.guardar_limitados() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
DECLARE
    es_dueno boolean := pg_has_role(
        current_user, (SELECT c.relowner FROM pg_class c WHERE c.oid = TG_RELID), 'USAGE');
BEGIN
    IF TG_NAME = 'limitacion' THEN
        NEW.limitado := langgraph.limitado(NEW.prefix, NEW.key);
        IF NEW.limitado AND NOT es_dueno THEN
            PERFORM langgraph.exigir_libre(NEW.prefix, NEW.key);
        END IF;
    ELSIF NOT es_dueno THEN
        PERFORM langgraph.exigir_libre(OLD.prefix, OLD.key);
    END IF;
    RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
END $$;

-- A restriction that begins or ends marks the rows it is over, whoever wrote it down. An erasure puts a digest in the
-- place of its address, so both are looked at. It marks by what is in force, so those of one subject take turns: none
-- would see what another has not committed.
CREATE OR REPLACE FUNCTION langgraph.aplicar_limitaciones() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog SET row_security = off
AS $$
DECLARE
    sujeto text;
    patron text;
    claves text[];
    toda boolean;
BEGIN
    PERFORM pg_advisory_xact_lock(19, hashtext(CASE TG_OP WHEN 'INSERT' THEN NEW.prefijo ELSE OLD.prefijo END));
    IF TG_OP = 'INSERT' THEN
        PERFORM pg_advisory_xact_lock(18, hashtext(NEW.prefijo) & 255);
    END IF;
    FOREACH sujeto IN ARRAY CASE TG_OP
        WHEN 'INSERT' THEN ARRAY[NEW.prefijo] WHEN 'DELETE' THEN ARRAY[OLD.prefijo]
        ELSE ARRAY[OLD.prefijo, NEW.prefijo] END
    LOOP
        patron := replace(replace(replace(sujeto, '\', '\\'), '%', '\%'), '_', '\_') || '.%';
        SELECT coalesce(array_agg(r.clave), '{}'), coalesce(bool_or(r.clave = ''), false) INTO claves, toda
        FROM public.privacidad_restriccion r WHERE r.levantada IS NULL AND r.prefijo = sujeto;
        UPDATE langgraph.store s SET limitado = NOT s.limitado
        WHERE (s.prefix = sujeto OR s.prefix LIKE patron) AND s.limitado <> (toda OR s.key = ANY (claves));
        IF to_regclass('langgraph.store_vectors') IS NOT NULL THEN
            UPDATE langgraph.store_vectors v SET limitado = NOT v.limitado
            WHERE (v.prefix = sujeto OR v.prefix LIKE patron) AND v.limitado <> (toda OR v.key = ANY (claves));
        END IF;
    END LOOP;
    RETURN NULL;
END $$;

-- Art. 16: one preference, if it still is the one that was seen. What it keeps is what a correction is not about: its
-- kind, its provenance and its lifetime. Vectors of the old text go: preferences are not embedded.
CREATE OR REPLACE FUNCTION langgraph.rectificar(
    del_prefijo text, la_clave text, visto timestamptz, el_texto text, el_valor text
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog SET row_security = off
AS $$
BEGIN
    UPDATE langgraph.store s
    SET value = s.value || jsonb_build_object('texto', el_texto, 'valor', el_valor), updated_at = clock_timestamp()
    WHERE s.prefix = del_prefijo AND s.key = la_clave AND s.updated_at = visto
      AND starts_with(s.key, 'pref-') AND s.value ? 'valor';
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF to_regclass('langgraph.store_vectors') IS NOT NULL THEN
        DELETE FROM langgraph.store_vectors v WHERE v.prefix = del_prefijo AND v.key = la_clave;
    END IF;
    RETURN true;
END $$;

-- Art. 17 of one preference, if it still is the one that was seen. Its vectors cascade.
CREATE OR REPLACE FUNCTION langgraph.borrar_preferencia(del_prefijo text, la_clave text, visto timestamptz)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog SET row_security = off
AS $$
BEGIN
    DELETE FROM langgraph.store s
    WHERE s.prefix = del_prefijo AND s.key = la_clave AND s.updated_at = visto AND starts_with(s.key, 'pref-');
    RETURN FOUND;
END $$;

-- Of a key they can name, agents may know what trying to write it would tell them.
GRANT EXECUTE ON FUNCTION langgraph.limitado(text, text), langgraph.exigir_libre(text, text) TO memoria_agentes;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = 'langgraph.store'::regclass AND tgname = 'limitacion') THEN
        CREATE TRIGGER limitacion BEFORE INSERT OR UPDATE OF prefix, key ON langgraph.store
            FOR EACH ROW EXECUTE FUNCTION langgraph.guardar_limitados();
        CREATE TRIGGER limitacion_en_vigor BEFORE UPDATE OR DELETE ON langgraph.store
            FOR EACH ROW WHEN (OLD.limitado) EXECUTE FUNCTION langgraph.guardar_limitados();
    END IF;
    IF NOT EXISTS (
        SELECT FROM pg_trigger WHERE tgrelid = 'public.privacidad_restriccion'::regclass AND tgname = 'aplicar'
    ) THEN
        CREATE TRIGGER aplicar AFTER INSERT OR DELETE OR UPDATE OF prefijo, clave, levantada ON public.privacidad_restriccion
            FOR EACH ROW EXECUTE FUNCTION langgraph.aplicar_limitaciones();
    END IF;
END $$;
