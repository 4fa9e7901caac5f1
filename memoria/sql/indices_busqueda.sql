-- Run by `preparar` as the owner, one statement at a time, outside any transaction, after busqueda.sql: the column and
-- the function are made there, and the index goes with a column that is made again.

-- The words of each supplier's notices (memoria/busqueda.py). Without a list of what is pending: the words of one
-- supplier are side by side, so writing them where they go is cheap, and nobody who writes or asks waits for the list.
CREATE INDEX CONCURRENTLY IF NOT EXISTS store_avisos_voces_idx
    ON langgraph.store USING gin (langgraph.avisos_voces(prefix, lexemas)) WITH (fastupdate = off)
    WHERE prefix ~>=~ 'proveedores.' AND prefix ~<~ 'proveedores/';
