"""The tables of shared stores on a server, and every statement about them (docs/shared-store.md).

Every statement about a store names its `store_id`, with which every key begins, so that a cluster can place a store on
one node.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, LiteralString

SCHEMA: Final[LiteralString] = """
CREATE SCHEMA IF NOT EXISTS mnemond;
CREATE TABLE IF NOT EXISTS mnemond.heads(
  store_id text NOT NULL PRIMARY KEY,
  format integer NOT NULL,
  seq bigint NOT NULL DEFAULT 0,
  entry text NOT NULL DEFAULT '',
  tail bigint NOT NULL DEFAULT 0,
  embedder json,
  jobs_by text,
  jobs_until timestamptz,
  created_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);
CREATE TABLE IF NOT EXISTS mnemond.access(
  store_id text NOT NULL PRIMARY KEY REFERENCES mnemond.heads ON DELETE CASCADE,
  visibility text NOT NULL CHECK (visibility IN ('private', 'project', 'team')),
  created_by text NOT NULL DEFAULT session_user
);
CREATE TABLE IF NOT EXISTS mnemond.operations(
  store_id text NOT NULL REFERENCES mnemond.heads ON DELETE CASCADE,
  seq bigint NOT NULL,
  entry text NOT NULL,
  op_id text NOT NULL,
  method text NOT NULL,
  actor text NOT NULL DEFAULT session_user,
  written_at timestamptz NOT NULL DEFAULT now(),
  line json NOT NULL,
  PRIMARY KEY(store_id, seq)
);
CREATE INDEX IF NOT EXISTS operations_by_op_id ON mnemond.operations(store_id, op_id);
CREATE TABLE IF NOT EXISTS mnemond.rows(
  store_id text NOT NULL REFERENCES mnemond.heads ON DELETE CASCADE,
  kind text NOT NULL,
  key text NOT NULL,
  row json NOT NULL,
  seq bigint NOT NULL,
  model text,
  vector bytea,
  PRIMARY KEY(store_id, kind, key)
);
CREATE TABLE IF NOT EXISTS mnemond.links(
  store_id text NOT NULL REFERENCES mnemond.heads ON DELETE CASCADE,
  memory bigint NOT NULL,
  edges json NOT NULL,
  seq bigint NOT NULL,
  PRIMARY KEY(store_id, memory)
);
CREATE OR REPLACE VIEW mnemond.memories AS
  SELECT store_id, (row->>'number')::bigint AS number, row->>'id' AS id, row->>'content' AS content,
    row->>'category' AS category, (row->>'importance')::integer AS importance, row->>'status' AS status,
    row->>'user_id' AS user_id, row->>'session_id' AS session_id, row->>'agent_id' AS agent_id,
    row->>'created_at' AS created_at, row->>'updated_at' AS updated_at, seq, model, vector, row
  FROM mnemond.rows WHERE kind = 'memory';
ALTER VIEW mnemond.memories SET (security_invoker = true);
CREATE OR REPLACE VIEW mnemond.edges AS
  SELECT store_id, (edge.value->>0)::bigint AS source, (edge.value->>1)::bigint AS target,
    ('{temporal,semantic,causal,entity}'::text[])[(edge.value->>2)::integer + 1] AS kind,
    (edge.value->>3)::double precision AS weight, edge.value->>4 AS metadata, edge.value->>5 AS created_at,
    edge.value->>8 AS created_by, seq
  FROM mnemond.links, json_each(links.edges) AS edge;
ALTER VIEW mnemond.edges SET (security_invoker = true);
ALTER TABLE mnemond.access ENABLE ROW LEVEL SECURITY;
ALTER TABLE mnemond.heads ENABLE ROW LEVEL SECURITY;
ALTER TABLE mnemond.operations ENABLE ROW LEVEL SECURITY;
ALTER TABLE mnemond.rows ENABLE ROW LEVEL SECURITY;
ALTER TABLE mnemond.links ENABLE ROW LEVEL SECURITY;
CREATE POLICY seen ON mnemond.access FOR SELECT USING (
  visibility = 'team' OR created_by = session_user
  OR visibility = 'project' AND EXISTS (
    SELECT FROM pg_catalog.pg_roles WHERE rolname = store_id AND pg_has_role(session_user, oid, 'MEMBER')
  )
);
CREATE POLICY made ON mnemond.access FOR INSERT WITH CHECK (created_by = session_user);
CREATE POLICY changed ON mnemond.access FOR UPDATE
  USING (created_by = session_user) WITH CHECK (created_by = session_user);
CREATE POLICY seen ON mnemond.heads FOR SELECT USING (store_id IN (SELECT store_id FROM mnemond.access));
CREATE POLICY made ON mnemond.heads FOR INSERT WITH CHECK (true);
CREATE POLICY moved ON mnemond.heads FOR UPDATE USING (store_id IN (SELECT store_id FROM mnemond.access));
CREATE POLICY removed ON mnemond.heads FOR DELETE
  USING (store_id IN (SELECT store_id FROM mnemond.access WHERE created_by = session_user));
CREATE POLICY visible ON mnemond.rows USING (store_id IN (SELECT store_id FROM mnemond.access));
CREATE POLICY visible ON mnemond.links USING (store_id IN (SELECT store_id FROM mnemond.access));
CREATE POLICY seen ON mnemond.operations FOR SELECT USING (store_id IN (SELECT store_id FROM mnemond.access));
CREATE POLICY made ON mnemond.operations FOR INSERT
  WITH CHECK (store_id IN (SELECT store_id FROM mnemond.access) AND actor = session_user);
CREATE POLICY removed ON mnemond.operations FOR DELETE USING (store_id IN (SELECT store_id FROM mnemond.access));
"""
"""Made by the first daemon that uses a database, in one transaction. A role without the right to make tables finds them
there. Policies hold for every role but the owner of the tables: a store is seen by all (team), by members of the role
with its name (project), or by the role that made it (private), which alone changes that and removes the store; no line
can be written in the name of another role, or changed."""

EXTRAS: Final[Mapping[str, LiteralString]] = {
    "compression": """
ALTER TABLE mnemond.operations ALTER COLUMN line SET COMPRESSION lz4;
ALTER TABLE mnemond.links ALTER COLUMN edges SET COMPRESSION lz4;
""",
    "vectors": """
DO $$ BEGIN CREATE EXTENSION IF NOT EXISTS vector; EXCEPTION WHEN OTHERS THEN NULL; END $$;
CREATE OR REPLACE FUNCTION mnemond.floats(vector bytea) RETURNS real[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT array_agg(
    (1 - 2 * sign) * CASE exponent WHEN 0 THEN mantissa * 2.0::double precision ^ -149
      ELSE (mantissa + 8388608) * 2.0::double precision ^ (exponent - 150) END ORDER BY at)
  FROM (SELECT at, get_byte(vector, at + 3) >> 7 AS sign,
      ((get_byte(vector, at + 3) & 127) << 1) | (get_byte(vector, at + 2) >> 7) AS exponent,
      ((get_byte(vector, at + 2) & 127) << 16) | (get_byte(vector, at + 1) << 8) | get_byte(vector, at) AS mantissa
    FROM generate_series(0, length(vector) - 4, 4) AS at) AS bits
$$;
CREATE OR REPLACE VIEW {view} AS
  SELECT store_id, (row->>'number')::bigint AS number, row->>'id' AS id, row->>'content' AS content,
    row->>'status' AS status, model, mnemond.floats(substring(vector FOR 4 * {dimension}))::vector({dimension})
    AS embedding
  FROM mnemond.rows WHERE kind = 'memory' AND length(vector) IN (4 * {dimension}, 8 * {dimension});
ALTER VIEW {view} SET (security_invoker = true);
""",
}
"""Statements that not every server and role can run, and nothing here needs: faster compression, tried as the tables
are made, and, with pgvector, a view of the vectors of one dimension, tried as a store is made or joined. Floats are
read from their bits (IEEE 754)."""

_PUT: Final[LiteralString] = (
    "INSERT INTO mnemond.rows(store_id, kind, key, row, seq, model, vector)"
    " SELECT %(store_id)s, kind, key, line::json, %(new_seq)s, nullif(model, ''), CASE WHEN model <> '' THEN vector END"
    " FROM unnest(%(kinds)b::text[], %(keys)b::text[], %(rows)b::text[], %(models)b::text[], %(vectors)b::bytea[])"
    " AS new(kind, key, line, model, vector) ON CONFLICT (store_id, kind, key)"
    " DO UPDATE SET row = excluded.row, seq = excluded.seq, model = excluded.model, vector = excluded.vector"
)
_LINK: Final[LiteralString] = (
    "INSERT INTO mnemond.links(store_id, memory, edges, seq)"
    " SELECT %(store_id)s, memory, edges::json, %(new_seq)s FROM unnest(%(memories)b::bigint[], %(edges)b::text[])"
    " AS new(memory, edges) ON CONFLICT (store_id, memory)"
    " DO UPDATE SET edges = (links.edges::jsonb || excluded.edges::jsonb)::json, seq = excluded.seq"
)
# A head that moved makes seq NULL, which its column refuses: the comparison needs no answer of its own.
_APPEND: Final[LiteralString] = (
    "WITH moved AS (UPDATE mnemond.heads SET entry = %(new_entry)s, seq ="  # noqa: S608 - constants
    " CASE WHEN seq = %(seq)s AND entry = %(entry)s THEN %(new_seq)s::bigint END,"
    " tail = greatest(tail, %(tail)s), embedder = %(embedder)s::json"
    " WHERE store_id = %(store_id)s RETURNING seq),"
    " appended AS (INSERT INTO mnemond.operations(store_id, seq, entry, op_id, method, line)"
    " SELECT %(store_id)s, seq, %(new_entry)s, op_id, method, line::json"
    " FROM unnest(%(seqs)s::bigint[], %(op_ids)b::text[], %(methods)b::text[], %(lines)b::text[])"
    " AS new(seq, op_id, method, line)),"
    f" put AS ({_PUT}), linked AS ({_LINK})"
)
"""A write, in one statement: each more takes as long to send as all its parts."""

STATEMENTS: Final[Mapping[str, LiteralString]] = {
    "make": "INSERT INTO mnemond.heads(store_id, format, embedder) VALUES(%(store_id)s, %(format)s, %(embedder)s::json)"
    " ON CONFLICT DO NOTHING",
    "own": "INSERT INTO mnemond.access(store_id, visibility) VALUES(%(store_id)s, %(visibility)s)"
    " ON CONFLICT DO NOTHING",
    "access": "SELECT visibility FROM mnemond.access WHERE store_id = %(store_id)s",
    "show": "UPDATE mnemond.access SET visibility = %(visibility)s WHERE store_id = %(store_id)s RETURNING visibility",
    "head": "SELECT format, seq, entry, tail, embedder::text FROM mnemond.heads WHERE store_id = %(store_id)s",
    "lock": "SELECT pg_advisory_xact_lock(hashtextextended('mnemond:' || %(store_id)s, 0))",
    "lease_jobs": "UPDATE mnemond.heads SET jobs_by = %(owner)s,"
    " jobs_until = clock_timestamp() + %(lease_s)s * interval '1 second' WHERE store_id = %(store_id)s"
    " AND (jobs_by IS NULL OR jobs_by = %(owner)s OR jobs_until < clock_timestamp()) RETURNING seq",
    "release_jobs": "UPDATE mnemond.heads SET jobs_by = NULL, jobs_until = NULL WHERE store_id = %(store_id)s"
    " AND jobs_by = %(owner)s",
    "append": f"{_APPEND} SELECT pg_notify(%(channel)s, seq::text) FROM moved",  # noqa: S608
    "put": _PUT,
    "link": _LINK,
    "drop": "DELETE FROM mnemond.rows USING unnest(%(kinds)b::text[], %(keys)b::text[]) AS gone(kind, key)"
    " WHERE rows.store_id = %(store_id)s AND rows.kind = gone.kind AND rows.key = gone.key",
    "unlink": "UPDATE mnemond.links SET edges = (links.edges::jsonb - gone.names)::json, seq = %(seq)s"
    " FROM (SELECT memory, array_agg(name) AS names FROM unnest(%(memories)b::bigint[], %(names)b::text[])"
    " AS each(memory, name) GROUP BY memory) AS gone"
    " WHERE links.store_id = %(store_id)s AND links.memory = gone.memory",
    "prune": "DELETE FROM mnemond.links WHERE store_id = %(store_id)s AND memory = ANY(%(memories)b::bigint[])"
    " AND edges::text = '{}'",
    "clear": "DELETE FROM mnemond.rows WHERE store_id = %(store_id)s",
    "clear_links": "DELETE FROM mnemond.links WHERE store_id = %(store_id)s",
    "trim": "DELETE FROM mnemond.operations WHERE store_id = %(store_id)s AND seq <= %(tail)s",
    "old": "SELECT max(seq) FROM mnemond.operations WHERE store_id = %(store_id)s AND seq < %(seq)s"
    " AND written_at < now() - %(days)s * interval '1 day'",
    "holds": "SELECT entry FROM mnemond.operations WHERE store_id = %(store_id)s AND seq = %(seq)s",
    "lines": "SELECT seq, entry, line FROM (SELECT seq, entry, line::text AS line,"
    " sum(octet_length(line::text)) OVER (ORDER BY seq) AS size FROM mnemond.operations"
    " WHERE store_id = %(store_id)s AND seq > %(seq)s ORDER BY seq LIMIT %(limit)s) AS found"
    " WHERE size <= %(size)s OR seq = %(seq)s + 1 ORDER BY seq",
    "copy": "COPY (SELECT row::text, model, vector FROM mnemond.rows WHERE store_id = %(store_id)s"
    " AND kind = %(kind)s) TO STDOUT (FORMAT BINARY)",
    "copy_links": "COPY (SELECT edges::text FROM mnemond.links WHERE store_id = %(store_id)s)"
    " TO STDOUT (FORMAT BINARY)",
}
"""Every statement about a store. Arrays are sent in binary (%b): as text every quotation mark of a row is escaped."""

SESSION: Final[Mapping[str, LiteralString]] = {
    "begin": "BEGIN",
    "begin_copy": "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    "patience": "SELECT set_config('idle_in_transaction_session_timeout', %(idle_ms)s, true)",
    "commit": "COMMIT",
    "rollback": "ROLLBACK",
    "ready": "SELECT to_regclass('mnemond.heads') IS NOT NULL AND to_regclass('mnemond.rows') IS NOT NULL",
    "has": "SELECT to_regclass(%(name)s) IS NOT NULL",
    "only_one": "SELECT pg_advisory_xact_lock(7167416)",
    "settings": "SELECT set_config('idle_in_transaction_session_timeout', %(idle_ms)s, false),"
    " set_config('lock_timeout', %(turn_ms)s, false), set_config('client_encoding', 'UTF8', false),"
    " CASE WHEN current_setting('synchronous_commit') = 'off'"
    " THEN set_config('synchronous_commit', 'on', false) END",
}
"""Every statement about the session."""
