-- Whom the store knows, for the nightly watch (privacidad/vigilancia.py): a page of prefixes and, of each, the moment of
-- its oldest document. A document said in an erased thread (vallas.sql) is older than any erasure, whenever it came in.
-- As the owner: no row policy hides a row from the watch. The page first, so that the rest is by its index.
CREATE OR REPLACE FUNCTION langgraph.rastros(despues text, cuantos integer)
RETURNS TABLE (prefijo text, desde timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog SET row_security = off
AS $$
BEGIN
    RETURN QUERY
    WITH pagina AS MATERIALIZED (
        SELECT DISTINCT s.prefix FROM langgraph.store s WHERE s.prefix > despues ORDER BY s.prefix LIMIT cuantos
    )
    SELECT p.prefix, (
        SELECT min(CASE WHEN v.huella IS NULL THEN s.created_at ELSE to_timestamp(0) END)
        FROM langgraph.store s
        CROSS JOIN vallas.sal
        LEFT JOIN vallas.vallas v ON v.hasta = 'infinity'
            AND v.huella = sha256(sal.sal || convert_to('hilo:' || (s.value ->> 'hilo'), 'UTF8'))
        WHERE s.prefix = p.prefix
    )
    FROM pagina p
    ORDER BY p.prefix;
END $$;
REVOKE ALL ON FUNCTION langgraph.rastros(text, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION langgraph.rastros(text, integer) TO memoria_web;
