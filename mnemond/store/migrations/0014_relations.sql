-- Relations in two times (docs/decisions/0048). `relationship_evidence` holds what was stated and is canonical;
-- `relationships` is derived from it: an interval a row, and a new row where the belief about it changed, so that the
-- belief of any day can be read. `first_id` is that of the first row about an interval.
CREATE TABLE relationship_evidence(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  source_id TEXT NOT NULL REFERENCES entities(id),
  type TEXT NOT NULL,
  slot TEXT NOT NULL DEFAULT '',
  target_id TEXT REFERENCES entities(id),
  value TEXT,
  kind TEXT NOT NULL CHECK(kind = 'start' OR kind = 'seen' OR kind = 'until' OR kind = 'end'),
  at TEXT NOT NULL,
  granularity TEXT NOT NULL DEFAULT 'exact',
  strength REAL NOT NULL CHECK(strength >= 0 AND strength <= 1),
  memory_id TEXT REFERENCES insights(id),
  quote TEXT NOT NULL DEFAULT '',
  origin TEXT NOT NULL CHECK(origin = 'rules' OR origin = 'model' OR origin = 'host' OR origin = 'user'),
  op_id TEXT NOT NULL,
  created_at TEXT NOT NULL,
  expired_op TEXT,
  expired_at TEXT,
  CHECK((target_id IS NULL) <> (value IS NULL)),
  CHECK((expired_op IS NULL) = (expired_at IS NULL))
) STRICT;
CREATE TABLE relationships_in_time(
  id TEXT PRIMARY KEY NOT NULL,
  first_id TEXT NOT NULL,
  source_id TEXT NOT NULL REFERENCES entities(id),
  type TEXT NOT NULL,
  slot TEXT NOT NULL DEFAULT '',
  target_id TEXT REFERENCES entities(id),
  value TEXT,
  strength REAL NOT NULL CHECK(strength >= 0 AND strength <= 1),
  valid_from TEXT,
  granularity TEXT NOT NULL DEFAULT 'exact',
  invalid_at TEXT,
  end_granularity TEXT NOT NULL DEFAULT 'exact',
  invalidated_by TEXT,
  created_at TEXT NOT NULL,
  expired_at TEXT,
  CHECK((target_id IS NULL) <> (value IS NULL)),
  CHECK(valid_from IS NULL OR invalid_at IS NULL OR valid_from < invalid_at)
) STRICT;
-- Nothing wrote relations before; what another program put there is kept as given by a host.
INSERT INTO relationship_evidence(
  source_id, type, target_id, kind, at, strength, memory_id, origin, op_id, created_at
)
SELECT source_id, type, target_id, CASE WHEN valid_from IS NULL THEN 'seen' ELSE 'start' END,
  coalesce(valid_from, created_at), strength, memory_id, 'host', 'migration-14', created_at FROM relationships;
INSERT INTO relationship_evidence(
  source_id, type, target_id, kind, at, strength, memory_id, origin, op_id, created_at
)
SELECT source_id, type, target_id, CASE WHEN valid_from IS NULL THEN 'until' ELSE 'end' END, invalid_at, strength,
  memory_id, 'host', 'migration-14', created_at FROM relationships WHERE invalid_at IS NOT NULL;
DROP TABLE relationships;
ALTER TABLE relationships_in_time RENAME TO relationships;
CREATE UNIQUE INDEX relationships_active ON relationships(
  source_id, type, slot, coalesce(target_id, ''), coalesce(value, ''), coalesce(valid_from, '')
) WHERE expired_at IS NULL;
CREATE INDEX relationships_by_source ON relationships(source_id);
CREATE INDEX relationships_by_target ON relationships(target_id) WHERE target_id IS NOT NULL;
CREATE INDEX evidence_by_source ON relationship_evidence(source_id, type, slot);
CREATE INDEX evidence_by_target ON relationship_evidence(target_id) WHERE target_id IS NOT NULL;
CREATE INDEX evidence_by_memory ON relationship_evidence(memory_id) WHERE memory_id IS NOT NULL;
CREATE INDEX evidence_by_op ON relationship_evidence(op_id);

-- What was decided about names: `same` (the row `other` is a name of `entity_id`; the row stays), `not_same` (never to be
-- proposed again), `alias` (`other` is a canonical name, `name` its spelling).
CREATE TABLE entity_links(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL CHECK(kind = 'same' OR kind = 'not_same' OR kind = 'alias'),
  entity_id TEXT NOT NULL REFERENCES entities(id),
  other TEXT NOT NULL,
  name TEXT NOT NULL DEFAULT '',
  op_id TEXT NOT NULL,
  created_at TEXT NOT NULL,
  expired_op TEXT,
  expired_at TEXT,
  CHECK((expired_op IS NULL) = (expired_at IS NULL))
) STRICT;
CREATE UNIQUE INDEX entity_links_active ON entity_links(kind, entity_id, other) WHERE expired_at IS NULL;

-- Operations on the two tables above, for undo. `behind` is the last row of memory_operations at that time.
CREATE TABLE knowledge_operations(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  op_id TEXT NOT NULL UNIQUE,
  method TEXT NOT NULL,
  detail TEXT NOT NULL DEFAULT '',
  triggered_by TEXT NOT NULL,
  created_at TEXT NOT NULL,
  undoes TEXT,
  behind INTEGER NOT NULL
) STRICT;
CREATE INDEX knowledge_operations_by_undone ON knowledge_operations(undoes) WHERE undoes IS NOT NULL;
