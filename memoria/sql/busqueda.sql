-- What notice search reads: the Spanish lexemes of each supplier notice, kept by the database beside its text so
-- they can never be of another one. LangGraph names its columns in every statement, so one more is not in its way.
-- `normalizada` in memoria/terminos.py says why the words are put like this; a test compares the two.
-- The position of a lexeme is that of its word, first those of the text and then those of the subject.
-- Guarded: IF NOT EXISTS would wait for every reader (the column) or writer (the index) at each deployment.
--
-- The comment of the column is its version. One made by an earlier version of this file is made again, which
-- rewrites the table with nobody reading it: about a second for each 100,000 documents, all or nothing.
DO $$
DECLARE
    version constant text := 'avisos 2';
    hallada text := (
        SELECT coalesce(col_description(attrelid, attnum), 'avisos 1') FROM pg_attribute
        WHERE attrelid = 'langgraph.store'::regclass AND attname = 'lexemas' AND NOT attisdropped
    );
BEGIN
    IF hallada <> version THEN
        ALTER TABLE langgraph.store DROP COLUMN lexemas;
    END IF;
    IF hallada IS DISTINCT FROM version THEN
        ALTER TABLE langgraph.store ADD COLUMN lexemas tsvector GENERATED ALWAYS AS (
            CASE WHEN starts_with(prefix, 'proveedores.') THEN
                to_tsvector('pg_catalog.spanish',
                    regexp_replace(regexp_replace(regexp_replace(lower(regexp_replace(
                        normalize((value ->> 'texto') || ' ' || coalesce(value ->> 'asunto', ''), NFKD),
                        '[\u0300-\u036f]', '', 'g') COLLATE "C"),
                        '[^a-z0-9]+', ' ', 'g'),
                        '([a-z])(?=[0-9])|([0-9])(?=[a-z])', '\1\2 ', 'g'),
                        '\m([a-z]{3,})s\M', '\1', 'g'))
            END
        ) STORED;
        COMMENT ON COLUMN langgraph.store.lexemas IS 'avisos 2';
    END IF;
    -- An earlier version had an index of all the words of the house, dearer to ask the more notices there are.
    IF to_regclass('langgraph.store_lexemas_idx') IS NOT NULL THEN
        DROP INDEX langgraph.store_lexemas_idx;
    END IF;
    -- A vector of 512 dimensions is a little too long to stay in its row by itself, and is read in two more
    -- steps: comparing 5,000 of them takes three times as long. Those that were there move when rewritten.
    IF EXISTS (
        SELECT FROM pg_attribute
        WHERE attrelid = to_regclass('langgraph.store_vectors') AND attname = 'embedding' AND attstorage <> 'm'
    ) THEN
        ALTER TABLE langgraph.store_vectors ALTER COLUMN embedding SET STORAGE MAIN;
    END IF;
END $$;

-- Which notices of a supplier have which terms of a question, and whether themselves or only words of their groups. Under
-- a row policy PostgreSQL uses no index for `@@`, which might tell of rows that the policy hides: this looks with the
-- rights of the owner and says itself what the policy says (memoria/permisos.py). Nothing but keys comes out.
-- It asks with the very expression of the index, or the index would not be used.
-- A phrase (a code) is looked for as words, since the index has no positions, and then in the notice itself.
CREATE OR REPLACE FUNCTION langgraph.avisos_con(
    prefijo text, huecos bigint[], terminos tsquery[], propios tsquery[]
) RETURNS TABLE (key text, hueco bigint, es_propio boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog
AS $$
#variable_conflict use_column
DECLARE
    tambien_limitados constant boolean := pg_has_role(session_user, 'memoria_web', 'USAGE');
    marcados constant tsquery[] := (
        SELECT array_agg(replace(' ' || regexp_replace(t::text, '<[-0-9]+>', '&', 'g'),
                                 ' ''', ' ''' || left(md5(prefijo), 8))::tsquery ORDER BY n)
        FROM unnest(terminos) WITH ORDINALITY AS t (t, n)
    );
    frases constant boolean[] := (
        SELECT array_agg(strpos(t::text, '<') > 0 ORDER BY n) FROM unnest(terminos) WITH ORDINALITY AS t (t, n)
    );
BEGIN
    RETURN QUERY
    SELECT a.key, t.hueco, a.es_propio
    FROM unnest(huecos, propios, marcados, frases) AS t (hueco, propio, marcado, es_frase), LATERAL (
        SELECT s.key, s.lexemas @@ t.propio AS es_propio
        FROM langgraph.store s
        WHERE (CASE WHEN octet_length(strip(lexemas)::text) < 2000
            THEN replace(' ' || strip(lexemas)::text, ' ''', ' ''' || left(md5(prefix), 8))
            ELSE regexp_replace(strip(lexemas)::text, '''([a-z0-9]{1,255}[a-z0-9]{0,250})[a-z0-9]*''',
                                '''' || left(md5(prefix), 8) || '\1''', 'g')
        END)::tsvector @@ t.marcado
          AND s.prefix ~>=~ 'proveedores.' AND s.prefix ~<~ 'proveedores/'
          -- Not as the planner would look for them: it takes every supplier for one of few notices.
          AND s.prefix || '' = prefijo
          AND s.expires_at > now() AND (tambien_limitados OR NOT s.limitado)
        OFFSET 0
    ) AS a
    WHERE a.es_propio OR NOT t.es_frase;
END $$;
REVOKE ALL ON FUNCTION langgraph.avisos_con(text, bigint[], tsquery[], tsquery[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION langgraph.avisos_con(text, bigint[], tsquery[], tsquery[]) TO memoria_web, memoria_agentes;

-- Where the notices of a supplier are now, when its code and another's were made one (compras): an agent whose business
-- application still says the old code asks there. plpgsql, so that the table can change under it.
CREATE OR REPLACE FUNCTION langgraph.proveedor_vigente(codigo_dado text) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog
AS $$
BEGIN
    RETURN coalesce((
        SELECT d.codigo FROM public.compras_proveedor o
        JOIN public.compras_proveedor d ON d.id = o.fusionado_en_id AND d.fusionado_en_id IS NULL
        WHERE o.codigo = codigo_dado
    ), codigo_dado);
END $$;
REVOKE ALL ON FUNCTION langgraph.proveedor_vigente(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION langgraph.proveedor_vigente(text) TO memoria_web, memoria_agentes;
