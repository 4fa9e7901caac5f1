-- The only ways the web's role may delete in LangGraph's schema. They run as the owner, so row-level security
-- hides nothing from them (row_security = off raises instead of hiding, should that ever change), and they name
-- every object by its schema. `store_vectors` may not exist: without pgvector there is nothing to search by
-- meaning, and erasing must work all the same.

-- "Begins with" is asked by the operators of text_pattern_ops, byte by byte: '/' is what comes after '.'. A LIKE with
-- a pattern that is not a constant is planned anew at each call, which took five times as long as counting.

DROP FUNCTION IF EXISTS langgraph.contar_sujeto(text);
-- With `solo`, only those keys: what is held back from an erasure.
CREATE OR REPLACE FUNCTION langgraph.contar_sujeto(prefijo text, solo text[] DEFAULT NULL)
RETURNS TABLE (documentos bigint, vectores bigint, vectores_huerfanos bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog SET row_security = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    desde text := prefijo || '.';
    hasta text := prefijo || '/';
BEGIN
    SELECT count(*) INTO documentos FROM langgraph.store s
    WHERE (s.prefix = prefijo OR s.prefix ~>=~ desde AND s.prefix ~<~ hasta) AND (solo IS NULL OR s.key = ANY (solo));
    vectores := 0;
    vectores_huerfanos := 0;
    IF to_regclass('langgraph.store_vectors') IS NOT NULL THEN
        -- Vectors cascade from `store`, so their own count proves little: look for any that lost its document.
        SELECT count(*), count(*) FILTER (
            WHERE NOT EXISTS (SELECT FROM langgraph.store s WHERE s.prefix = v.prefix AND s.key = v.key)
        ) INTO vectores, vectores_huerfanos
        FROM langgraph.store_vectors v
        WHERE (v.prefix = prefijo OR v.prefix ~>=~ desde AND v.prefix ~<~ hasta)
          AND (solo IS NULL OR v.key = ANY (solo));
    END IF;
    RETURN NEXT;
END $$;

-- Of those, how many were first written by `momento`: what a review of that moment must have counted.
CREATE OR REPLACE FUNCTION langgraph.contar_sujeto_hasta(prefijo text, momento timestamptz)
RETURNS TABLE (documentos bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog SET row_security = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    desde text := prefijo || '.';
    hasta text := prefijo || '/';
BEGIN
    SELECT count(*) INTO documentos FROM langgraph.store s
    WHERE (s.prefix = prefijo OR s.prefix ~>=~ desde AND s.prefix ~<~ hasta) AND s.created_at <= momento;
    RETURN NEXT;
END $$;

-- How large an erasure would be, as far as a page has to know: rows, up to `tope`.
CREATE OR REPLACE FUNCTION langgraph.tamano_sujeto(prefijo text, espacio text, sujeto_id text, tope integer)
RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog SET row_security = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    desde text := prefijo || '.';
    hasta text := prefijo || '/';
    filas bigint;
BEGIN
    SELECT count(*) INTO filas FROM (
        SELECT 1 FROM langgraph.store s
        WHERE s.prefix = tamano_sujeto.prefijo OR s.prefix ~>=~ desde AND s.prefix ~<~ hasta
        UNION ALL
        SELECT 1 FROM public.hilos h
        WHERE h.espacio = tamano_sujeto.espacio AND h.sujeto_id = tamano_sujeto.sujeto_id
        UNION ALL
        SELECT 1 FROM public.hilos h JOIN langgraph.checkpoints c USING (thread_id)
        WHERE h.espacio = tamano_sujeto.espacio AND h.sujeto_id = tamano_sujeto.sujeto_id
        UNION ALL
        SELECT 1 FROM public.hilos h JOIN langgraph.checkpoint_blobs b USING (thread_id)
        WHERE h.espacio = tamano_sujeto.espacio AND h.sujeto_id = tamano_sujeto.sujeto_id
        UNION ALL
        SELECT 1 FROM public.hilos h JOIN langgraph.checkpoint_writes w USING (thread_id)
        WHERE h.espacio = tamano_sujeto.espacio AND h.sujeto_id = tamano_sujeto.sujeto_id
        LIMIT tope
    ) AS suyas;
    RETURN filas;
END $$;

DROP FUNCTION IF EXISTS langgraph.borrar_sujeto(text);
CREATE OR REPLACE FUNCTION langgraph.borrar_sujeto(prefijo text, menos text[] DEFAULT '{}')
RETURNS TABLE (documentos bigint, vectores bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog SET row_security = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    desde text := prefijo || '.';
    hasta text := prefijo || '/';
BEGIN
    vectores := 0;
    IF to_regclass('langgraph.store_vectors') IS NOT NULL THEN
        DELETE FROM langgraph.store_vectors v
        WHERE (v.prefix = prefijo OR v.prefix ~>=~ desde AND v.prefix ~<~ hasta) AND v.key <> ALL (menos);
        GET DIAGNOSTICS vectores = ROW_COUNT;
    END IF;
    DELETE FROM langgraph.store s
    WHERE (s.prefix = prefijo OR s.prefix ~>=~ desde AND s.prefix ~<~ hasta) AND s.key <> ALL (menos);
    GET DIAGNOSTICS documentos = ROW_COUNT;
    RETURN NEXT;
END $$;

-- What a restored copy brings back of somebody erased at `momento`: what was last written by then. A document keeps
-- its created_at when it is written again, and what was written since was said since.
CREATE OR REPLACE FUNCTION langgraph.borrar_sujeto_hasta(
    prefijo text, momento timestamptz, menos text[] DEFAULT '{}'
)
RETURNS TABLE (documentos bigint, vectores bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog SET row_security = off
AS $$
DECLARE
    desde text := prefijo || '.';
    hasta text := prefijo || '/';
BEGIN
    vectores := 0;
    IF to_regclass('langgraph.store_vectors') IS NOT NULL THEN
        DELETE FROM langgraph.store_vectors v USING langgraph.store s
        WHERE v.prefix = s.prefix AND v.key = s.key
          AND (s.prefix = prefijo OR s.prefix ~>=~ desde AND s.prefix ~<~ hasta)
          AND greatest(s.created_at, s.updated_at) <= momento AND s.key <> ALL (menos);
        GET DIAGNOSTICS vectores = ROW_COUNT;
    END IF;
    DELETE FROM langgraph.store s
    WHERE (s.prefix = prefijo OR s.prefix ~>=~ desde AND s.prefix ~<~ hasta)
      AND greatest(s.created_at, s.updated_at) <= momento AND s.key <> ALL (menos);
    GET DIAGNOSTICS documentos = ROW_COUNT;
    RETURN NEXT;
END $$;

CREATE OR REPLACE FUNCTION langgraph.contar_hilos(hilos text[])
RETURNS TABLE (checkpoints bigint, blobs bigint, escrituras bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog SET row_security = off SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    SELECT count(*) INTO checkpoints FROM langgraph.checkpoints WHERE thread_id = ANY (hilos);
    SELECT count(*) INTO blobs FROM langgraph.checkpoint_blobs WHERE thread_id = ANY (hilos);
    SELECT count(*) INTO escrituras FROM langgraph.checkpoint_writes WHERE thread_id = ANY (hilos);
    RETURN NEXT;
END $$;

CREATE OR REPLACE FUNCTION langgraph.borrar_hilos(hilos text[])
RETURNS TABLE (checkpoints bigint, blobs bigint, escrituras bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog SET row_security = off SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    DELETE FROM langgraph.checkpoint_writes WHERE thread_id = ANY (hilos);
    GET DIAGNOSTICS escrituras = ROW_COUNT;
    DELETE FROM langgraph.checkpoint_blobs WHERE thread_id = ANY (hilos);
    GET DIAGNOSTICS blobs = ROW_COUNT;
    DELETE FROM langgraph.checkpoints WHERE thread_id = ANY (hilos);
    GET DIAGNOSTICS checkpoints = ROW_COUNT;
    RETURN NEXT;
END $$;

-- Rows of anybody else whose text may name somebody: by one regular expression over everything a document says
-- (its values, whatever their type, and its address), folded as memoria/identificadores.py folds. A value as JSON
-- text has escapes where the text had a line break: each counts as a space, or "\n612…" would be one word.
-- It finds too much rather than too little: whoever asks confirms. Expired rows are rows too.
-- Folding and that expression take forty microseconds a row. `tosco` takes five: it is matched to the text as it is
-- and says which rows are worth the rest (privacidad/tosco.py); without it every row is. Every row is read in any case,
-- by several processes where the server has them; never in the order of an index, which takes one and reads at random.
DROP FUNCTION IF EXISTS langgraph.buscar_menciones(text, text);
CREATE OR REPLACE FUNCTION langgraph.buscar_menciones(de text, patron text, tosco text DEFAULT NULL)
RETURNS TABLE (prefijo text, clave text, valor jsonb)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog SET row_security = off
SET enable_indexscan = off SET max_parallel_workers_per_gather = 4
AS $$
BEGIN
    RETURN QUERY
    SELECT s.prefix, s.key, s.value FROM langgraph.store s
    WHERE NOT starts_with(s.prefix || '.', de || '.')
      AND CASE
          WHEN tosco IS NULL OR replace(replace(s.prefix, '%2E', '.'), '%25', '%') || E'\n' || s.key || E'\n'
              || s.value::text ~ tosco
          THEN lower(regexp_replace(normalize(
                  replace(replace(s.prefix, '%2E', '.'), '%25', '%') || E'\n' || s.key || E'\n'
                  || regexp_replace(s.value::text, '\\(\\|["/bfnrt]|u[0-9a-f]{4})', ' ', 'g'),
                  NFKD), '[\u0300-\u036f]', '', 'g')) ~ patron
          ELSE false
      END
    ORDER BY s.prefix, s.key;
END $$;

-- Rows by their address, one by one: what was decided row by row is counted and deleted so.
CREATE OR REPLACE FUNCTION langgraph.contar_filas(prefijos text[], claves text[])
RETURNS TABLE (documentos bigint, vectores bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog SET row_security = off
AS $$
BEGIN
    SELECT count(*) INTO documentos FROM langgraph.store s
    WHERE (s.prefix, s.key) IN (SELECT p, c FROM unnest(prefijos, claves) AS f (p, c));
    vectores := 0;
    IF to_regclass('langgraph.store_vectors') IS NOT NULL THEN
        SELECT count(*) INTO vectores FROM langgraph.store_vectors v
        WHERE (v.prefix, v.key) IN (SELECT p, c FROM unnest(prefijos, claves) AS f (p, c));
    END IF;
    RETURN NEXT;
END $$;

CREATE OR REPLACE FUNCTION langgraph.borrar_filas(prefijos text[], claves text[])
RETURNS TABLE (documentos bigint, vectores bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog SET row_security = off
AS $$
BEGIN
    vectores := 0;
    IF to_regclass('langgraph.store_vectors') IS NOT NULL THEN
        DELETE FROM langgraph.store_vectors v
        WHERE (v.prefix, v.key) IN (SELECT p, c FROM unnest(prefijos, claves) AS f (p, c));
        GET DIAGNOSTICS vectores = ROW_COUNT;
    END IF;
    DELETE FROM langgraph.store s
    WHERE (s.prefix, s.key) IN (SELECT p, c FROM unnest(prefijos, claves) AS f (p, c));
    GET DIAGNOSTICS documentos = ROW_COUNT;
    RETURN NEXT;
END $$;

-- Who counts, when and where the log was, for the evidence of an erasure; and the vectors of any document that is
-- no longer there, over the whole table. On a standby pg_current_wal_lsn() raises: evidence comes from the primary.
CREATE OR REPLACE FUNCTION langgraph.testigo()
RETURNS TABLE (rol text, sesion text, momento timestamptz, posicion_wal pg_lsn, vectores_huerfanos bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog SET row_security = off
AS $$
BEGIN
    rol := current_user;
    sesion := session_user;
    vectores_huerfanos := 0;
    IF to_regclass('langgraph.store_vectors') IS NOT NULL THEN
        SELECT count(*) INTO vectores_huerfanos FROM langgraph.store_vectors v
        WHERE NOT EXISTS (SELECT FROM langgraph.store s WHERE s.prefix = v.prefix AND s.key = v.key);
    END IF;
    momento := clock_timestamp();
    posicion_wal := pg_current_wal_lsn();
    RETURN NEXT;
END $$;

-- One batch of the sweep, skipping what somebody else is touching, so readers and writers are never in its way. A
-- document written again meanwhile is left alone: its condition is checked again once locked. By ctid, which cannot
-- move while the row is locked: 200,000 of 600,000 rows in 1.7 to 2.8 s, against 3.4 to 5.0 s joining by key.
-- What is restricted stays until that ends: it may be what the person needs to claim something (art. 18(1) GDPR). So does
-- what is held back (art. 17(3), retenciones.sql); no agent reads it, as it has expired.
-- With `simular` it counts, by the same condition, all that the batches would delete, and locks nothing.
DROP FUNCTION IF EXISTS langgraph.barrer_lote(integer);
CREATE OR REPLACE FUNCTION langgraph.barrer_lote(cuantos integer, simular boolean DEFAULT false)
RETURNS TABLE (espacio text, borrados bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog SET row_security = off
AS $$
BEGIN
    IF simular THEN
        RETURN QUERY
        SELECT split_part(s.prefix, '.', 1), count(*) FROM langgraph.store s
        WHERE s.expires_at <= now() AND NOT s.limitado AND NOT s.retenido GROUP BY 1;
        RETURN;
    END IF;
    PERFORM vallas.purgar();  -- fences of erased subjects that have come to their end (vallas.sql)
    RETURN QUERY
    WITH lote AS (
        SELECT s.ctid AS fila FROM langgraph.store s
        WHERE s.expires_at <= now() AND NOT s.limitado AND NOT s.retenido
        ORDER BY s.expires_at
        LIMIT cuantos
        FOR UPDATE SKIP LOCKED
    ),
    barridos AS (
        DELETE FROM langgraph.store s WHERE s.ctid = ANY (ARRAY(SELECT fila FROM lote))
        RETURNING split_part(s.prefix, '.', 1) AS raiz
    )
    SELECT b.raiz, count(*) FROM barridos b GROUP BY 1;
END $$;

-- Those of this schema are the web's, but for pgvector's where it is installed here: agents compare vectors with them.
DO $$
DECLARE
    funcion regprocedure;
BEGIN
    FOR funcion IN
        SELECT p.oid::regprocedure FROM pg_proc p
        WHERE p.pronamespace = 'langgraph'::regnamespace AND NOT EXISTS (
            SELECT FROM pg_depend d
            WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
        )
    LOOP
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', funcion);
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO memoria_web', funcion);
    END LOOP;
END $$;
