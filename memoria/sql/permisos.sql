-- Least privilege for the two roles that are not the owner; safe to run again. The row policies come from the memory
-- policy (see permisos.py); these are the rest.
GRANT USAGE ON SCHEMA langgraph TO memoria_web, memoria_agentes;
GRANT USAGE ON SCHEMA public TO memoria_web, memoria_agentes;

REVOKE ALL ON ALL TABLES IN SCHEMA langgraph FROM PUBLIC, memoria_web, memoria_agentes;
GRANT SELECT ON ALL TABLES IN SCHEMA langgraph TO memoria_web;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA langgraph TO memoria_agentes;
-- Supplier notices are written by purchasing from the web; which rows, the row policy says.
GRANT INSERT, UPDATE, DELETE ON langgraph.store TO memoria_web;

-- In `public` only what is ours: an extension or somebody else's table may live there too, and is not ours to grant.
DO $$
DECLARE
    tabla regclass;
BEGIN
    FOR tabla IN
        SELECT c.oid FROM pg_class c
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
          AND c.relowner = current_user::regrole
    LOOP
        EXECUTE format('REVOKE ALL ON %s FROM PUBLIC, memoria_web, memoria_agentes', tabla);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO memoria_web', tabla);
    END LOOP;
    FOR tabla IN
        SELECT c.oid FROM pg_class c
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'S' AND c.relowner = current_user::regrole
    LOOP
        EXECUTE format('GRANT USAGE, SELECT ON SEQUENCE %s TO memoria_web', tabla);
    END LOOP;
    -- These two exist only with pgvector.
    IF to_regclass('langgraph.store_vectors') IS NOT NULL THEN
        GRANT INSERT, UPDATE, DELETE ON langgraph.store_vectors TO memoria_web;
        REVOKE INSERT, UPDATE, DELETE ON langgraph.vector_migrations FROM memoria_agentes;
    END IF;
END $$;
REVOKE INSERT, UPDATE, DELETE ON
    langgraph.store_migrations, langgraph.checkpoint_migrations FROM memoria_agentes;
REVOKE INSERT, UPDATE, DELETE ON public.django_migrations FROM memoria_web;
GRANT SELECT, INSERT, UPDATE, DELETE ON public.hilos TO memoria_agentes;

-- A run says how it went, and the last verification of the register keeps the hash that shows whether its end was cut:
-- who runs it writes it down and ends it, and no more. Old ones are deleted by the owner.
REVOKE DELETE, TRUNCATE ON public.memoria_ejecucion FROM memoria_web;
CREATE OR REPLACE FUNCTION public.memoria_guardar_ejecucion() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
BEGIN
    RAISE EXCEPTION 'una ejecución terminada no cambia' USING ERRCODE = 'restrict_violation';
END $$;
DO $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM pg_trigger WHERE tgrelid = 'public.memoria_ejecucion'::regclass AND tgname = 'guardar_filas'
    ) THEN
        CREATE TRIGGER guardar_filas BEFORE UPDATE ON public.memoria_ejecucion
            FOR EACH ROW WHEN (OLD.fin IS NOT NULL) EXECUTE FUNCTION public.memoria_guardar_ejecucion();
    END IF;
END $$;
