-- What notice search reads: the Spanish lexemes of each supplier notice, kept by the database beside its text so
-- they can never be of another one. LangGraph names its columns in every statement, so one more is not in its way.
-- Lower case, no accents (`unaccent` is not everywhere), letters and digits only: left alone, the parser reads
-- "TX-18" as the word "tx" and the number -18. memoria/busqueda.py normalises questions the same way.
-- Guarded: IF NOT EXISTS would wait for every reader (the column) or writer (the index) at each deployment.
DO $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM pg_attribute
        WHERE attrelid = 'langgraph.store'::regclass AND attname = 'lexemas' AND NOT attisdropped
    ) THEN
        ALTER TABLE langgraph.store ADD COLUMN lexemas tsvector GENERATED ALWAYS AS (
            CASE WHEN starts_with(prefix, 'proveedores.') THEN
                to_tsvector('pg_catalog.spanish', regexp_replace(
                    regexp_replace(normalize(lower(value ->> 'texto'), NFKD), '[\u0300-\u036f]', '', 'g'),
                    '[^a-z0-9]+', ' ', 'g'))
            END
        ) STORED;
    END IF;
    IF to_regclass('langgraph.store_lexemas_idx') IS NULL THEN
        CREATE INDEX store_lexemas_idx ON langgraph.store USING gin (lexemas) WHERE lexemas IS NOT NULL;
    END IF;
END $$;
