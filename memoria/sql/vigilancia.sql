-- Whom the store knows, for the nightly watch (privacidad/vigilancia.py), and what of theirs is back: both by the same
-- moment of each document. As the owner: no row policy hides a row from them.

-- Since when each document is there, as it is: a value that is written again was said then. One that was said in an
-- erased thread (vallas.sql) is older than any erasure, whenever it came in. As plain as it is so that who asks takes it in
-- and reads only what it asks about. Not for the web, which may not read the fences.
CREATE OR REPLACE FUNCTION langgraph.desde_cuando()
RETURNS TABLE (prefijo text, clave text, desde timestamptz)
LANGUAGE sql STABLE AS $$
    SELECT s.prefix, s.key,
           CASE WHEN v.huella IS NULL THEN greatest(s.created_at, s.updated_at) ELSE pg_catalog.to_timestamp(0) END
    FROM langgraph.store s
    CROSS JOIN vallas.sal
    LEFT JOIN vallas.vallas v ON v.hasta = 'infinity'
        AND v.huella = pg_catalog.sha256(sal.sal || pg_catalog.convert_to('hilo:' || (s.value ->> 'hilo'), 'UTF8'))
$$;
REVOKE ALL ON FUNCTION langgraph.desde_cuando() FROM PUBLIC, memoria_web;

-- A page of prefixes and, of each, the moment of its oldest document. The page first, so that the rest is by its index.
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
        SELECT min(d.desde) FROM langgraph.desde_cuando() d WHERE d.prefijo = p.prefix
    )
    FROM pagina p
    ORDER BY p.prefix;
END $$;
REVOKE ALL ON FUNCTION langgraph.rastros(text, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION langgraph.rastros(text, integer) TO memoria_web;

-- Of one subject, the addresses of what is there since `hasta` or before: what a run erases of who had been erased and is
-- there again. What is from later is of a new card.
CREATE OR REPLACE FUNCTION langgraph.vueltos(del_prefijo text, hasta timestamptz)
RETURNS TABLE (prefijo text, clave text)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog SET row_security = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    primero text := del_prefijo || '.';
    ultimo text := del_prefijo || '/';
BEGIN
    RETURN QUERY
    SELECT d.prefijo, d.clave FROM langgraph.desde_cuando() d
    WHERE (d.prefijo = del_prefijo OR d.prefijo ~>=~ primero AND d.prefijo ~<~ ultimo) AND d.desde <= hasta;
END $$;
REVOKE ALL ON FUNCTION langgraph.vueltos(text, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION langgraph.vueltos(text, timestamptz) TO memoria_web;

-- With `solo`, only those keys: what is held back.
CREATE OR REPLACE FUNCTION langgraph.contar_vueltos(prefijo text, hasta timestamptz, solo text[] DEFAULT NULL)
RETURNS TABLE (documentos bigint, vectores bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog SET row_security = off
AS $$
BEGIN
    SELECT count(*) INTO documentos FROM langgraph.vueltos(prefijo, hasta) s WHERE solo IS NULL OR s.clave = ANY (solo);
    vectores := 0;
    IF to_regclass('langgraph.store_vectors') IS NOT NULL THEN
        SELECT count(*) INTO vectores
        FROM langgraph.vueltos(contar_vueltos.prefijo, hasta) s
        JOIN langgraph.store_vectors v ON v.prefix = s.prefijo AND v.key = s.clave
        WHERE solo IS NULL OR s.clave = ANY (solo);
    END IF;
    RETURN NEXT;
END $$;
REVOKE ALL ON FUNCTION langgraph.contar_vueltos(text, timestamptz, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION langgraph.contar_vueltos(text, timestamptz, text[]) TO memoria_web;

CREATE OR REPLACE FUNCTION langgraph.borrar_vueltos(prefijo text, hasta timestamptz, menos text[] DEFAULT '{}')
RETURNS TABLE (documentos bigint, vectores bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog SET row_security = off
AS $$
BEGIN
    vectores := 0;
    IF to_regclass('langgraph.store_vectors') IS NOT NULL THEN
        DELETE FROM langgraph.store_vectors v USING langgraph.vueltos(borrar_vueltos.prefijo, hasta) s
        WHERE v.prefix = s.prefijo AND v.key = s.clave AND s.clave <> ALL (menos);
        GET DIAGNOSTICS vectores = ROW_COUNT;
    END IF;
    DELETE FROM langgraph.store d USING langgraph.vueltos(borrar_vueltos.prefijo, hasta) s
    WHERE d.prefix = s.prefijo AND d.key = s.clave AND s.clave <> ALL (menos);
    GET DIAGNOSTICS documentos = ROW_COUNT;
    RETURN NEXT;
END $$;
REVOKE ALL ON FUNCTION langgraph.borrar_vueltos(text, timestamptz, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION langgraph.borrar_vueltos(text, timestamptz, text[]) TO memoria_web;
