-- The closed schema of LangGraph's tables. Run by `preparar` as the owner; safe to run again.
CREATE SCHEMA IF NOT EXISTS langgraph;
REVOKE ALL ON SCHEMA langgraph FROM PUBLIC;
