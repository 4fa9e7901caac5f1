"""Which tables may name a person, and who answers for each: a destination, or a reason why none has to.

A table whose rows a destination deletes whole needs no more said of it. Of any other, every column that can
hold a text is either emptied by a destination or explained here. A test asks the database, so a new table, or
a new column, is not overlooked: it fails until somebody has thought about it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: ``{table: (why nothing in it has to be erased, the columns that was said of)}``.
SIN_SUJETO: Mapping[str, tuple[str, str]] = {
    "langgraph.checkpoint_migrations": ("Numbers of LangGraph's schema versions.", ""),
    "langgraph.store_migrations": ("Numbers of LangGraph's schema versions.", ""),
    "langgraph.vector_migrations": ("Numbers of LangGraph's schema versions.", ""),
    "public.django_migrations": ("Names of migrations.", "app name"),
    "public.django_content_type": ("Names of models.", "app_label model"),
    "public.auth_permission": ("Names of permissions.", "name codename"),
    "public.auth_group": ("Names of groups.", "name"),
    "public.auth_group_permissions": ("Numbers.", ""),
    "public.auth_user_groups": ("Numbers.", ""),
    "public.auth_user_user_permissions": ("Numbers.", ""),
    "public.auth_user": (
        "The accounts of the people who work here: who did what, kept while they work here. Whoever "
        "administers the users closes one; the memory of an employee is erased without closing it.",
        "password username first_name last_name email",
    ),
    "public.compras_proveedor": (
        "The code by which purchasing keeps what it bought; of an erased supplier, or of one whose name "
        "named somebody erased, it is also the name.",
        "codigo",
    ),
    "public.memoria_ejecucion": ("Runs of commands: counts only.", "comando recuento version"),
    "public.privacidad_contador": ("The number of the last request.", ""),
    "public.privacidad_asiento": (
        "The register: references, counts and keyed digests, and why a sealed copy was opened, a text as "
        "below. It only grows.",
        "tipo referencia resumen datos anterior huella",
    ),
    "public.privacidad_paso": (
        "Texts that are kept: refused when they repeat what the request knows of the person (id, "
        "identifiers, two words of the name), or hold a NIF, an IBAN, a telephone or an e-mail of anybody. A "
        "name that nobody gave cannot be told from any other word: the forms say not to write it, and one of "
        "somebody else stays when they are erased (docs/privacidad/menciones.md).",
        "estado texto",
    ),
    "public.privacidad_solicitud": (
        "What is left of a closed request names nobody: a keyed digest, counts, a text as above, and a "
        "random number of the form it came in.",
        "referencia espacio resumen canal estado vista_previa motivo_sin_copia envio",
    ),
    "public.privacidad_evidencia": (
        "The proof: counts, SQL and keyed digests.",
        "resultado destinos rol sesion posicion_wal",
    ),
    "public.privacidad_escrito": (
        "Documents issued to the person, made from the evidence: no name and no id in them.",
        "numero tipo pdf huella datos huella_datos",
    ),
    "public.privacidad_exclusion": ("The destination and a code of a closed list.", "destino motivo"),
    "public.privacidad_gestion": ("Counts and sentences of ours.", "destino estado recuento detalle"),
    "public.privacidad_mencion": (
        "Which kind of identifier was found, and a reason, a text as above.",
        "identificador decision motivo",
    ),
    "public.privacidad_restriccion": (
        "Reasons: refused when they repeat the person's id or hold an identifier of anybody, as above. An "
        "erasure empties them.",
        "motivo motivo_levantada",
    ),
    "public.privacidad_expediente": ("A keyed digest and a reference.", "resumen espacio referencia"),
    "public.privacidad_copia": ("Dates.", ""),
    "public.privacidad_trozocopia": (
        "The sealed copy (LOPDGDD 32): encrypted, its key elsewhere, until its date of destruction.",
        "cifrado",
    ),
}


def sin_reclamar(cursor: Any) -> list[str]:
    """A sentence for each table or column nobody answers for; empty when all is well.

    ``cursor`` is of a role that sees every table (the owner).
    """
    from privacidad.destinos import DESTINOS

    enteras = frozenset[str]().union(*(d.tablas for d in DESTINOS))
    frases = []
    cursor.execute(_COLUMNAS)
    for tabla, columnas in cursor.fetchall():
        if tabla in enteras:
            continue
        vaciadas = frozenset[str]().union(*(d.columnas.get(tabla, frozenset()) for d in DESTINOS))
        if tabla not in SIN_SUJETO:
            frases.append(
                f"La tabla {tabla} ({', '.join(columnas)}) no la reclama ningún destino: póngala en las "
                "«tablas» o «columnas» de uno, o explique en SIN_SUJETO por qué no nombra a nadie."
            )
            continue
        explicadas = set(SIN_SUJETO[tabla][1].split())
        frases += [
            f"La columna {tabla}.{columna} puede guardar un texto y ningún destino la vacía: póngala en las "
            "«columnas» de uno, o explíquela en SIN_SUJETO."
            for columna in columnas
            if columna not in vaciadas | explicadas
        ]
    return frases


_COLUMNAS = """
SELECT n.nspname || '.' || c.relname,
       coalesce(array_agg(a.attname::text ORDER BY a.attnum) FILTER (
           WHERE t.typname ~
               '^_?(text|varchar|bpchar|char|name|json|jsonb|bytea|xml|inet|cidr|hstore|tsvector|uuid)$'
       ), '{}')
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_type t ON t.oid = a.atttypid
WHERE n.nspname IN ('public', 'langgraph') AND c.relkind IN ('r', 'p', 'm', 'f')
GROUP BY 1 ORDER BY 1
"""
