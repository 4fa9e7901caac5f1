-- Run by `preparar` as the owner, one statement at a time, outside any transaction, after busqueda.sql: the column is
-- made there, and the index goes with a column that is made again.

-- The words of each supplier's notices: each lexeme after a mark of its supplier, so that a word of one supplier is
-- looked for among the words of that supplier only, whatever the others write. A lexeme is letters and digits. One too
-- long for a tsvector with its mark is cut; no question is as long. An expression and no function of ours: PostgreSQL
-- would put its body in place or not depending on who reads the table first in a session, and miss the index.
-- Without a list of what is pending: the words of one supplier are side by side, so writing them where they go is cheap,
-- and nobody who writes or asks waits for the list.
CREATE INDEX CONCURRENTLY IF NOT EXISTS store_avisos_palabras_idx ON langgraph.store USING gin (
    ((CASE WHEN octet_length(strip(lexemas)::text) < 2000
        THEN replace(' ' || strip(lexemas)::text, ' ''', ' ''' || left(md5(prefix), 8))
        ELSE regexp_replace(strip(lexemas)::text, '''([a-z0-9]{1,255}[a-z0-9]{0,250})[a-z0-9]*''',
                            '''' || left(md5(prefix), 8) || '\1''', 'g')
    END)::tsvector)
) WITH (fastupdate = off) WHERE prefix ~>=~ 'proveedores.' AND prefix ~<~ 'proveedores/';
