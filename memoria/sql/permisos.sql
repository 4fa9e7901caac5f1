-- Least privilege for the two roles that are not the owner; safe to run again. The row policies of `store` come
-- from the memory policy (see preparacion.py); these are the rest.
GRANT USAGE ON SCHEMA langgraph TO memoria_web, memoria_agentes;
GRANT USAGE ON SCHEMA public TO memoria_web, memoria_agentes;

REVOKE ALL ON ALL TABLES IN SCHEMA langgraph FROM PUBLIC, memoria_web, memoria_agentes;
GRANT SELECT ON ALL TABLES IN SCHEMA langgraph TO memoria_web;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA langgraph TO memoria_agentes;
REVOKE INSERT, UPDATE, DELETE ON
    langgraph.store_migrations, langgraph.checkpoint_migrations FROM memoria_agentes;
-- Supplier notices are written by purchasing from the web; which rows, the row policy says.
GRANT INSERT, UPDATE, DELETE ON langgraph.store TO memoria_web;

REVOKE ALL ON ALL TABLES IN SCHEMA public FROM memoria_web, memoria_agentes;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO memoria_web;
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO memoria_web;
REVOKE INSERT, UPDATE, DELETE ON public.django_migrations FROM memoria_web;
GRANT SELECT, INSERT, UPDATE, DELETE ON public.hilos TO memoria_agentes;
