-- What the agents may read of documents: what is searched and quoted. Not who wrote it, nor its history. Which rows, the
-- row policies of the tables say. Run by `preparar`, in the transaction of the other grants.
DO $$
BEGIN
    IF to_regclass('public.documentos_pagina') IS NOT NULL THEN
        GRANT SELECT (id, espacio, ruta, titulo, importancia, actualizada, borrada)
            ON public.documentos_pagina TO memoria_agentes;
        GRANT SELECT ON public.documentos_seccion TO memoria_agentes;
    END IF;
    IF to_regclass('public.documentos_vector') IS NOT NULL THEN
        GRANT SELECT ON public.documentos_vector TO memoria_agentes;
    END IF;
END $$;

-- Versions that an erasure reached, one by one: the history itself is not the web's to change. The space is asked for
-- here too, in case the owner of the tables is a superuser, whom no policy stops.
CREATE OR REPLACE FUNCTION public.documentos_borrar_versiones(paginas bigint[], numeros integer[])
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog
AS $$
DECLARE
    borradas bigint;
BEGIN
    DELETE FROM public.documentos_version v
    WHERE v.espacio = current_setting('memoria.espacio', true)
      AND (v.pagina_id, v.numero) IN (SELECT p, n FROM unnest(paginas, numeros) AS f (p, n));
    GET DIAGNOSTICS borradas = ROW_COUNT;
    RETURN borradas;
END $$;
REVOKE ALL ON FUNCTION public.documentos_borrar_versiones(bigint[], integer[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION public.documentos_borrar_versiones(bigint[], integer[]) TO memoria_web;
