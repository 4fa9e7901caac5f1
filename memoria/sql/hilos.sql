-- "Every thread is in `hilos` before its first checkpoint is" is held by the database, whoever writes.
-- NO ACTION on delete: an entry of the registry cannot go while anything of its thread is left.
DO $$
DECLARE
    tabla text;
BEGIN
    FOREACH tabla IN ARRAY ARRAY['checkpoints', 'checkpoint_blobs', 'checkpoint_writes'] LOOP
        IF NOT EXISTS (
            SELECT FROM pg_constraint
            WHERE conname = tabla || '_hilo' AND conrelid = format('langgraph.%I', tabla)::regclass
        ) THEN
            EXECUTE format(
                'ALTER TABLE langgraph.%I ADD CONSTRAINT %I FOREIGN KEY (thread_id) REFERENCES public.hilos (thread_id)',
                tabla, tabla || '_hilo'
            );
        END IF;
    END LOOP;
END $$;
