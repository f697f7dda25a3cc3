-- A name has one row whatever its type (docs/decisions/0032). Rows of the same canonical name become one: the user's
-- before a type that says something, that before "concept" and "other", and of equals the oldest. `sense` tells apart
-- things of one name that were split explicitly; it is empty for all others.
CREATE TABLE same_names(
  old TEXT PRIMARY KEY NOT NULL,
  kept TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO same_names(old, kept)
SELECT id, kept FROM (
  SELECT id, first_value(id) OVER (
    PARTITION BY canonical_name
    ORDER BY CASE WHEN entity_type = 'user' THEN 0 WHEN entity_type IN ('concept', 'other') THEN 2 ELSE 1 END, rowid
  ) AS kept FROM entities
) WHERE id <> kept;
UPDATE OR IGNORE memory_entities SET entity_id = (SELECT kept FROM same_names WHERE old = entity_id)
  WHERE entity_id IN (SELECT old FROM same_names);
DELETE FROM memory_entities WHERE entity_id IN (SELECT old FROM same_names);
UPDATE entity_aliases SET entity_id = (SELECT kept FROM same_names WHERE old = entity_id)
  WHERE entity_id IN (SELECT old FROM same_names);
UPDATE relationships SET source_id = (SELECT kept FROM same_names WHERE old = source_id)
  WHERE source_id IN (SELECT old FROM same_names);
UPDATE relationships SET target_id = (SELECT kept FROM same_names WHERE old = target_id)
  WHERE target_id IN (SELECT old FROM same_names);
-- Versions of a summary are numbered anew, in the order of their writing. Negative numbers are free meanwhile.
UPDATE core_summaries SET version = -id
  WHERE entity_id IN (SELECT old FROM same_names UNION SELECT kept FROM same_names);
UPDATE core_summaries SET entity_id = (SELECT kept FROM same_names WHERE old = entity_id)
  WHERE entity_id IN (SELECT old FROM same_names);
UPDATE core_summaries AS one SET version = (
  SELECT count(*) FROM core_summaries AS other WHERE other.entity_id = one.entity_id AND other.id <= one.id
) WHERE version < 0;
CREATE TABLE entities_by_name(
  id TEXT PRIMARY KEY NOT NULL,
  name TEXT NOT NULL,
  canonical_name TEXT NOT NULL,
  entity_type TEXT NOT NULL,
  attributes TEXT,
  embedding BLOB,
  created_at TEXT NOT NULL,
  core_summary TEXT,
  core_summary_updated TEXT,
  sense TEXT NOT NULL DEFAULT '',
  UNIQUE(canonical_name, sense)
) STRICT;
INSERT INTO entities_by_name(
  id, name, canonical_name, entity_type, attributes, embedding, created_at, core_summary, core_summary_updated
)
SELECT
  e.id, e.name, e.canonical_name, e.entity_type,
  coalesce(e.attributes, (SELECT o.attributes FROM entities AS o
    WHERE o.canonical_name = e.canonical_name AND o.attributes IS NOT NULL ORDER BY o.rowid LIMIT 1)),
  e.embedding,
  (SELECT min(o.created_at) FROM entities AS o WHERE o.canonical_name = e.canonical_name),
  coalesce(e.core_summary, (SELECT o.core_summary FROM entities AS o
    WHERE o.canonical_name = e.canonical_name AND o.core_summary IS NOT NULL ORDER BY o.rowid LIMIT 1)),
  coalesce(e.core_summary_updated, (SELECT o.core_summary_updated FROM entities AS o
    WHERE o.canonical_name = e.canonical_name AND o.core_summary IS NOT NULL ORDER BY o.rowid LIMIT 1))
FROM entities AS e WHERE e.id NOT IN (SELECT old FROM same_names) ORDER BY e.rowid;
DROP TABLE entities;
ALTER TABLE entities_by_name RENAME TO entities;
DROP TABLE same_names;
