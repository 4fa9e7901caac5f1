-- Run by `preparar` as the owner, one statement at a time, outside any transaction. None of these needs pgvector.

-- The list of supplier notices, newest first, by pages (compras/listado.py): whole, of one supplier, of one author, the
-- important ones. Measured there: 134 ms a page at 100,000 notices without them, 2 ms with them, whichever page.
-- The dates byte by byte ("C"): no order of a language to change under an index when a server is upgraded. A notice
-- without date goes last and is not NULL, so that a page can begin after it; nor is the author of one that nobody
-- wrote, or those would have to be sorted. "Begins with" as two comparisons, which the planner can prove from
-- `prefix = '…'`; it can prove nothing from a LIKE. `left`: what something else wrote may be too long for an index.
CREATE INDEX CONCURRENTLY IF NOT EXISTS store_avisos_idx ON langgraph.store (
    (left(COALESCE(value ->> 'fecha', ''), 40) COLLATE "C") DESC, created_at DESC, (prefix COLLATE "C") DESC,
    (key COLLATE "C") DESC
) WHERE prefix ~>=~ 'proveedores.' AND prefix ~<~ 'proveedores/';

CREATE INDEX CONCURRENTLY IF NOT EXISTS store_avisos_proveedor_idx ON langgraph.store (
    prefix, (left(COALESCE(value ->> 'fecha', ''), 40) COLLATE "C") DESC, created_at DESC, (key COLLATE "C") DESC
) WHERE prefix ~>=~ 'proveedores.' AND prefix ~<~ 'proveedores/';

CREATE INDEX CONCURRENTLY IF NOT EXISTS store_avisos_autor_idx ON langgraph.store (
    COALESCE(left(value ->> 'autor', 40), '') DESC, (left(COALESCE(value ->> 'fecha', ''), 40) COLLATE "C") DESC,
    created_at DESC, (prefix COLLATE "C") DESC, (key COLLATE "C") DESC
) WHERE prefix ~>=~ 'proveedores.' AND prefix ~<~ 'proveedores/';

CREATE INDEX CONCURRENTLY IF NOT EXISTS store_avisos_alta_idx ON langgraph.store (
    (left(COALESCE(value ->> 'fecha', ''), 40) COLLATE "C") DESC, created_at DESC, (prefix COLLATE "C") DESC,
    (key COLLATE "C") DESC
) WHERE prefix ~>=~ 'proveedores.' AND prefix ~<~ 'proveedores/' AND value ->> 'importancia' = 'alta';

-- Without these the planner takes any author and any range of dates for a row in two hundred, and sorts what an index
-- has in order: it looks at no statistics of a partial index.
CREATE STATISTICS IF NOT EXISTS langgraph.store_avisos_fecha
    ON (left(COALESCE(value ->> 'fecha', ''), 40) COLLATE "C") FROM langgraph.store;

CREATE STATISTICS IF NOT EXISTS langgraph.store_avisos_autor
    ON (COALESCE(left(value ->> 'autor', 40), '')) FROM langgraph.store;
