-- Fences: what was erased is not written again by whoever was in the middle of writing it. An erased thread never;
-- anything of an erased subject, for some minutes (VALLA_MINUTOS). Whoever writes: agents, web, owner. Why it is done
-- this way is in docs/decisiones/0003-vallas.md. Safe to run again; run inside the transaction of `conceder`.

CREATE SCHEMA IF NOT EXISTS vallas;
REVOKE ALL ON SCHEMA vallas FROM PUBLIC;

-- No role but the owner can read these two: ids are kept as SHA-256 with a salt of this database.
CREATE TABLE IF NOT EXISTS vallas.sal (
    unica boolean PRIMARY KEY DEFAULT true CHECK (unica),
    sal bytea NOT NULL
);
INSERT INTO vallas.sal (sal)
SELECT uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) WHERE NOT EXISTS (SELECT FROM vallas.sal)
ON CONFLICT DO NOTHING;

CREATE TABLE IF NOT EXISTS vallas.vallas (
    huella bytea PRIMARY KEY,
    hasta timestamptz NOT NULL  -- 'infinity': a thread
);
CREATE INDEX IF NOT EXISTS vallas_hasta_idx ON vallas.vallas (hasta) WHERE hasta < 'infinity';

-- The subject of a row of the registry, as `store` names it (memoria/politica.py): an id may hold what a label cannot.
CREATE OR REPLACE FUNCTION vallas.prefijo(espacio text, sujeto_id text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN espacio || '.' || replace(replace(sujeto_id, '%', '%25'), '.', '%2E');

-- What an erasure and the writes of its subject meet at. A write holds it, shared, until it commits; an erasure, alone.
-- So a write is committed before the erasure counts, or waits and then finds the fence. A transaction that writes more
-- than a hundred rows (a load) would fill the table of locks: from there on it holds one lock that all erasures ask for.
-- Only the two triggers call it, with their search_path: setting it again would cost as much as the rest.
CREATE OR REPLACE FUNCTION vallas.compartir(sujeto text) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    van integer := coalesce(nullif(current_setting('vallas.escrituras', true), ''), '0')::integer;
BEGIN
    -- Under any other level the snapshot is older than the wait, and the fence would not be seen.
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE EXCEPTION 'En la memoria se escribe en READ COMMITTED: con otro aislamiento no se vería una supresión '
            'que acaba de terminar.' USING ERRCODE = 'invalid_transaction_state';
    END IF;
    IF van < 100 THEN
        PERFORM set_config('vallas.escrituras', (van + 1)::text, true);
        PERFORM pg_advisory_xact_lock_shared(hashtextextended(sujeto, 7206));
    ELSE
        PERFORM pg_advisory_xact_lock_shared(7206);
    END IF;
END $$;

-- Before the row and its lock are taken: an erasure waits for rows, so a write that held one must not wait for it.
-- A document says in which thread it was said (`hilo`): what an erased thread still had to say comes too late, also once
-- its subject's window has passed. Both digests in one look at the index; a document that names no thread pays for one.
CREATE OR REPLACE FUNCTION vallas.vigilar_almacen() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    sujeto text := split_part(NEW.prefix, '.', 1) || '.' || split_part(NEW.prefix, '.', 2);
    del_sujeto boolean;
BEGIN
    PERFORM vallas.compartir(sujeto);
    -- clock_timestamp(): now() is when the transaction began, perhaps before the fence was raised.
    SELECT bool_or(v.hasta < 'infinity') INTO del_sujeto
    FROM vallas.sal s
    JOIN vallas.vallas v ON v.huella IN (
        sha256(s.sal || convert_to('sujeto:' || sujeto, 'UTF8')),
        sha256(s.sal || convert_to('hilo:' || (NEW.value ->> 'hilo'), 'UTF8')))
    WHERE v.hasta > clock_timestamp();
    IF del_sujeto THEN
        RAISE EXCEPTION 'Los datos de esta persona se acaban de suprimir: de ella no se guarda nada hasta pasados unos '
            'minutos.' USING ERRCODE = 'MV001';
    ELSIF del_sujeto IS NOT NULL THEN
        RAISE EXCEPTION 'La conversación en la que se dijo se suprimió: de ella no se guarda nada.'
            USING ERRCODE = 'MV002';
    END IF;
    RETURN NEW;
END $$;

-- After the row: INSERT … ON CONFLICT on a thread that is being erased waits for it inside the statement, past any
-- BEFORE trigger, and then inserts. The rows it adds are in nobody's way until it commits.
CREATE OR REPLACE FUNCTION vallas.vigilar_hilos() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    sujeto text := vallas.prefijo(NEW.espacio, NEW.sujeto_id);
    hilo_para_siempre boolean;
BEGIN
    PERFORM vallas.compartir(sujeto);
    SELECT bool_or(v.hasta = 'infinity') INTO hilo_para_siempre
    FROM vallas.sal s
    JOIN vallas.vallas v ON v.huella IN (
        sha256(s.sal || convert_to('sujeto:' || sujeto, 'UTF8')),
        sha256(s.sal || convert_to('hilo:' || NEW.thread_id, 'UTF8')))
    WHERE v.hasta > clock_timestamp();
    IF hilo_para_siempre THEN
        RAISE EXCEPTION 'Este hilo se suprimió y no vuelve: empiece otro.' USING ERRCODE = 'MV002';
    ELSIF hilo_para_siempre IS NOT NULL THEN
        RAISE EXCEPTION 'Los datos de esta persona se acaban de suprimir: de ella no se guarda nada hasta pasados unos '
            'minutos.' USING ERRCODE = 'MV001';
    END IF;
    RETURN NULL;
END $$;

-- Raise the fences of one subject, in the transaction of its erasure and before anything is counted. It waits for the
-- writes in flight, not for ever. `menos` are the threads that are held back: they are not erased. Returns how many
-- threads are fenced. With `hilos_hasta` only what is back is erased: the threads since then are of a new card, and its
-- person is kept out of nothing, so `minutos` is null.
DROP FUNCTION IF EXISTS vallas.levantar(text, text, text, integer, text[]);
CREATE OR REPLACE FUNCTION vallas.levantar(
    prefijo text, espacio text, sujeto_id text, minutos integer, menos text[] DEFAULT '{}',
    hilos_hasta timestamptz DEFAULT 'infinity'
) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog SET lock_timeout = '10s'
AS $$
DECLARE
    sujetos text[] := ARRAY(SELECT DISTINCT unnest(ARRAY[prefijo, vallas.prefijo(espacio, sujeto_id)]) ORDER BY 1);
    sal bytea := (SELECT s.sal FROM vallas.sal s);
    cuantos bigint;
BEGIN
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE EXCEPTION 'Una supresión se ejecuta en READ COMMITTED.' USING ERRCODE = 'invalid_transaction_state';
    END IF;
    IF minutos NOT BETWEEN 1 AND 1440 OR sal IS NULL THEN
        RAISE EXCEPTION 'Falta la sal de las vallas, o su plazo no está entre 1 y 1440 minutos.'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended(s, 7206)) FROM unnest(sujetos) AS s;
    PERFORM pg_advisory_xact_lock(7206);
    INSERT INTO vallas.vallas AS v (huella, hasta)
    SELECT sha256(sal || convert_to('sujeto:' || s, 'UTF8')), clock_timestamp() + make_interval(mins => minutos)
    FROM unnest(sujetos) AS s
    WHERE minutos IS NOT NULL
    ON CONFLICT (huella) DO UPDATE SET hasta = greatest(v.hasta, EXCLUDED.hasta);
    INSERT INTO vallas.vallas (huella, hasta)
    SELECT sha256(sal || convert_to('hilo:' || h.thread_id, 'UTF8')), 'infinity' FROM public.hilos h
    WHERE h.espacio = levantar.espacio AND h.sujeto_id = levantar.sujeto_id AND h.thread_id <> ALL (menos)
      AND h.creado <= hilos_hasta
    ON CONFLICT (huella) DO NOTHING;
    GET DIAGNOSTICS cuantos = ROW_COUNT;
    RETURN cuantos;
END $$;

-- Fences of subjects that have come to their end; the sweep calls it.
CREATE OR REPLACE FUNCTION vallas.purgar() RETURNS bigint
LANGUAGE sql VOLATILE SET search_path = pg_catalog
BEGIN ATOMIC
    WITH caducadas AS (DELETE FROM vallas.vallas WHERE hasta <= clock_timestamp() RETURNING 1)
    SELECT count(*) FROM caducadas;
END;

REVOKE ALL ON ALL TABLES IN SCHEMA vallas FROM PUBLIC, memoria_web, memoria_agentes;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA vallas FROM PUBLIC;
GRANT USAGE ON SCHEMA vallas TO memoria_web;
GRANT EXECUTE ON FUNCTION vallas.levantar(text, text, text, integer, text[], timestamptz) TO memoria_web;

-- Guarded: CREATE OR REPLACE TRIGGER would keep every writer waiting at each deployment. A renewal changes no prefix.
-- Triggers fire in the order of their names, and this one is first: an erasure that restricts what is held back asks for
-- the lock of limitaciones.sql, so nobody who has it may be waiting for that erasure.
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_trigger WHERE tgrelid = 'langgraph.store'::regclass AND tgname = 'valla') THEN
        ALTER TRIGGER valla ON langgraph.store RENAME TO a_valla;
    ELSIF NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = 'langgraph.store'::regclass AND tgname = 'a_valla') THEN
        CREATE TRIGGER a_valla BEFORE INSERT OR UPDATE OF prefix ON langgraph.store
            FOR EACH ROW EXECUTE FUNCTION vallas.vigilar_almacen();
    END IF;
    IF NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = 'public.hilos'::regclass AND tgname = 'valla') THEN
        CREATE TRIGGER valla AFTER INSERT OR UPDATE OF thread_id, espacio, sujeto_id ON public.hilos
            FOR EACH ROW EXECUTE FUNCTION vallas.vigilar_hilos();
    END IF;
END $$;
