-- Run by `preparar` as the owner, one statement at a time, outside any transaction; only with pgvector.

-- The evidence count asks `prefix = … OR prefix LIKE …`. `store` has an index that serves it; without this one
-- the same question reads all of `store_vectors`.
CREATE INDEX CONCURRENTLY IF NOT EXISTS store_vectors_prefix_idx
    ON langgraph.store_vectors USING btree (prefix text_pattern_ops);
